//! Divergent control flow.

use crate::inputs::{Inputs, Output, ReferenceError};
use crate::rows::table;

/// One row per construct, for each word of `in`.
pub(crate) fn control_flow(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let n = inputs.size("n")?;
    let values = inputs.words("in", n)?;
    table(inputs, n, |i| {
        let value = values[i];
        let function: fn(u32) -> u32 = if value >> 4 & 1 == 0 {
            |value| value.wrapping_mul(2)
        } else {
            |value| value.wrapping_mul(value)
        };
        [
            collatz(value % 1000 + 1),
            fibonacci(value % 9),
            choose(value % 10, value),
            function(value),
            sorted_hash(value),
            nested_loops(value),
        ]
    })
}

/// Steps to 1, at most 60.
fn collatz(mut value: u32) -> u32 {
    let mut steps = 0;
    while value != 1 && steps < 60 {
        value = if value & 1 == 1 {
            3 * value + 1
        } else {
            value / 2
        };
        steps += 1;
    }
    steps
}

fn fibonacci(n: u32) -> u32 {
    if n < 2 {
        n
    } else {
        fibonacci(n - 1) + fibonacci(n - 2)
    }
}

fn choose(which: u32, value: u32) -> u32 {
    match which {
        0 => value.wrapping_add(17),
        1 => value.wrapping_mul(29),
        2 => value ^ 0x5a5a,
        3 => value.wrapping_sub(collatz(value % 100 + 1)),
        4 => value >> 3,
        5 => !value,
        6 => value / 11,
        7 => value.rotate_left(5),
        8 => value % 1009,
        _ => 0,
    }
}

fn sorted_hash(value: u32) -> u32 {
    let used = (value % 12 + 1) as usize;
    let mut keys: Vec<u32> = (0..used as u32)
        .map(|k| value.wrapping_mul(2 * k + 1) >> (k & 3))
        .collect();
    keys.sort_unstable();
    keys.iter()
        .fold(0, |hash: u32, key| hash.wrapping_mul(31).wrapping_add(*key))
}

fn nested_loops(value: u32) -> u32 {
    for x in 1..20u32 {
        for y in x..20 {
            if (x * x + y * y) % 97 == value % 97 {
                return x * 100 + y;
            }
            if (x + y) % 23 == value % 23 {
                break;
            }
        }
    }
    u32::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        assert_eq!((collatz(1), collatz(6), collatz(27)), (0, 8, 60));
        assert_eq!(fibonacci(8), 21);
    }
}
