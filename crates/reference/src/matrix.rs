//! Matrix products of the types that tensor cores take: `c = a * b` with a of m rows of k elements and b
//! of n columns of k elements, both in memory order.

use crate::inputs::{Inputs, Output, ReferenceError};
use crate::values::{ElementType, Values, half_from_f64};

struct Shape {
    m: usize,
    n: usize,
    k: usize,
}

fn shape(inputs: &Inputs) -> Result<Shape, ReferenceError> {
    Ok(Shape {
        m: inputs.size("m")?,
        n: inputs.size("n")?,
        k: inputs.size("k")?,
    })
}

/// Every element of the product: `dot` of the first indices of a row of a and of a column of b.
fn sums<T>(shape: &Shape, dot: impl Fn(usize, usize) -> T) -> Vec<T> {
    (0..shape.m)
        .flat_map(|row| (0..shape.n).map(move |column| (row * shape.k, column * shape.k)))
        .map(|(a, b)| dot(a, b))
        .collect()
}

/// Bytes as integers by the type of their buffer.
fn bytes(inputs: &Inputs, name: &str, needed: usize) -> Result<Vec<i64>, ReferenceError> {
    Ok(match inputs.find(name)?.element {
        ElementType::U8 => inputs
            .u8s(name, needed)?
            .into_iter()
            .map(i64::from)
            .collect(),
        _ => inputs
            .i8s(name, needed)?
            .into_iter()
            .map(i64::from)
            .collect(),
    })
}

/// The integers of a factor: in `<name>_integers` if the kernel converts them, else in `name`.
fn factor(inputs: &Inputs, name: &str, needed: usize) -> Result<Vec<i64>, ReferenceError> {
    let converted = format!("{name}_integers");
    if inputs.find(&converted).is_ok() {
        bytes(inputs, &converted, needed)
    } else {
        bytes(inputs, name, needed)
    }
}

/// Buffer `c` with the sums, which it must hold exactly, in its type.
fn output(inputs: &Inputs, shape: &Shape, sums: Vec<i64>) -> Result<Vec<Output>, ReferenceError> {
    let size = shape.m * shape.n;
    let values = match inputs.find("c")?.element {
        ElementType::F32 => {
            let mut c = inputs.f32s("c", size)?;
            c.iter_mut().zip(sums).for_each(|(c, sum)| *c = sum as f32);
            Values::F32(c)
        }
        ElementType::F16 => {
            let mut c = inputs.f16s("c", size)?;
            c.iter_mut()
                .zip(sums)
                .for_each(|(c, sum)| *c = half_from_f64(sum as f64));
            Values::F16(c)
        }
        _ => {
            let mut c = inputs.i32s("c", size)?;
            c.iter_mut().zip(sums).for_each(|(c, sum)| *c = sum as i32);
            Values::I32(c)
        }
    };
    Ok(vec![Output::new("c", values)])
}

/// Factors of 8-bit integers, or of numbers that a kernel makes of such integers.
pub(crate) fn matrix_integers(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let shape = shape(inputs)?;
    let a = factor(inputs, "a", shape.m * shape.k)?;
    let b = factor(inputs, "b", shape.n * shape.k)?;
    inputs.find("c")?;
    let dot = |at: usize, bt: usize| (0..shape.k).map(|l| a[at + l] * b[bt + l]).sum();
    output(inputs, &shape, sums(&shape, dot))
}

/// Factors of signed 4-bit integers, the lower half of each byte first.
pub(crate) fn matrix_nibbles(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let shape = shape(inputs)?;
    let nibbles = |name: &str, needed: usize| -> Result<Vec<i64>, ReferenceError> {
        let bytes = inputs.u8s(name, needed.div_ceil(2))?;
        let signed = |nibble: u8| i64::from((nibble << 4) as i8 >> 4);
        Ok(bytes
            .iter()
            .flat_map(|&b| [signed(b), signed(b >> 4)])
            .collect())
    };
    let a = nibbles("a", shape.m * shape.k)?;
    let b = nibbles("b", shape.n * shape.k)?;
    let dot = |at: usize, bt: usize| (0..shape.k).map(|l| a[at + l] * b[bt + l]).sum();
    output(inputs, &shape, sums(&shape, dot))
}

/// Factors of bits: the number of places in which a row and a column differ.
pub(crate) fn matrix_bits(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let shape = shape(inputs)?;
    let a = inputs.u8s("a", (shape.m * shape.k).div_ceil(8))?;
    let b = inputs.u8s("b", (shape.n * shape.k).div_ceil(8))?;
    let bit = |bytes: &[u8], at: usize| bytes[at / 8] >> (at % 8) & 1;
    let dot = |at: usize, bt: usize| {
        let differ = |l: &usize| bit(&a, at + l) != bit(&b, bt + l);
        (0..shape.k).filter(differ).count() as i64
    };
    output(inputs, &shape, sums(&shape, dot))
}

/// A structured-sparse first factor: of every four elements of a row, `a` holds the two that `choices`
/// names (0 to 5 for the pairs 01, 02, 03, 12, 13, 23).
pub(crate) fn matrix_sparse(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    const PAIRS: [[usize; 2]; 6] = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];
    let shape = shape(inputs)?;
    let kept = factor(inputs, "a", shape.m * shape.k / 2)?;
    let choices = inputs.u8s("choices", shape.m * shape.k / 4)?;
    let b = factor(inputs, "b", shape.n * shape.k)?;
    inputs.find("c")?;
    let mut a = vec![0; shape.m * shape.k];
    for (group, &choice) in choices.iter().enumerate().take(a.len() / 4) {
        for (which, place) in PAIRS[usize::from(choice) % 6].into_iter().enumerate() {
            a[4 * group + place] = kept[2 * group + which];
        }
    }
    let dot = |at: usize, bt: usize| (0..shape.k).map(|l| a[at + l] * b[bt + l]).sum();
    output(inputs, &shape, sums(&shape, dot))
}

/// Factors in single precision that lose the 13 bits below TF32; sums in double precision. Tensor cores
/// cut theirs, so launch files state a tolerance.
pub(crate) fn matrix_tf32(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let shape = shape(inputs)?;
    let cut = |name: &str, needed: usize| -> Result<Vec<f64>, ReferenceError> {
        let cut = |value: f32| f64::from(f32::from_bits(value.to_bits() & 0xffff_e000));
        Ok(inputs.f32s(name, needed)?.into_iter().map(cut).collect())
    };
    let a = cut("a", shape.m * shape.k)?;
    let b = cut("b", shape.n * shape.k)?;
    let mut c = inputs.f32s("c", shape.m * shape.n)?;
    let dot = |at: usize, bt: usize| (0..shape.k).map(|l| a[at + l] * b[bt + l]).sum::<f64>();
    c.iter_mut()
        .zip(sums(&shape, dot))
        .for_each(|(c, sum)| *c = sum as f32);
    Ok(vec![Output::new("c", Values::F32(c))])
}

/// Factors in double precision: every element is one chain of fused multiply-adds along k.
pub(crate) fn matrix_doubles(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let shape = shape(inputs)?;
    let a = inputs.f64s("a", shape.m * shape.k)?;
    let b = inputs.f64s("b", shape.n * shape.k)?;
    let mut c = inputs.f64s("c", shape.m * shape.n)?;
    let dot = |at: usize, bt: usize| {
        (0..shape.k).fold(0.0f64, |sum, l| a[at + l].mul_add(b[bt + l], sum))
    };
    c.iter_mut()
        .zip(sums(&shape, dot))
        .for_each(|(c, sum)| *c = sum);
    Ok(vec![Output::new("c", Values::F64(c))])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::Number;

    fn product(
        reference: crate::Reference,
        buffers: &[(&str, Values)],
        [m, n, k]: [i128; 3],
    ) -> Values {
        let contents: Vec<Vec<u8>> = buffers.iter().map(|(_, v)| v.to_bytes()).collect();
        let mut inputs = Inputs::new();
        for ((name, values), bytes) in buffers.iter().zip(&contents) {
            inputs.buffer(name, values.element(), bytes);
        }
        for (name, value) in [("m", m), ("n", n), ("k", k)] {
            inputs.parameter(name, Number::Integer(value));
        }
        reference(&inputs).unwrap().remove(0).values
    }

    #[test]
    fn small_products() {
        let c = || ("c", Values::I32(vec![0; 1]));
        let bytes = [
            ("a", Values::U8(vec![255, 1])),
            ("b", Values::I8(vec![-1, 2])),
            c(),
        ];
        let found = product(matrix_integers, &bytes, [1, 1, 2]);
        assert_eq!(found, Values::I32(vec![-253]));
        // -1 and 2 by 3 and -8.
        let nibbles = [
            ("a", Values::U8(vec![0x2f])),
            ("b", Values::U8(vec![0x83])),
            c(),
        ];
        let found = product(matrix_nibbles, &nibbles, [1, 1, 2]);
        assert_eq!(found, Values::I32(vec![-19]));
        let bits = [
            ("a", Values::U8(vec![0b1100])),
            ("b", Values::U8(vec![0b1010])),
            c(),
        ];
        assert_eq!(product(matrix_bits, &bits, [1, 1, 8]), Values::I32(vec![2]));
        // 5 and 7 in places 1 and 3.
        let sparse = [
            ("a", Values::I8(vec![5, 7])),
            ("choices", Values::U8(vec![4])),
            ("b", Values::I8(vec![1, 10, 100, 2])),
            c(),
        ];
        let found = product(matrix_sparse, &sparse, [1, 1, 4]);
        assert_eq!(found, Values::I32(vec![64]));
    }
}
