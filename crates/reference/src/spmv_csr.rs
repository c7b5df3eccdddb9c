//! Sparse matrix times vector, compressed sparse rows.

use crate::inputs::{Inputs, Output, ReferenceError};
use crate::values::Values;

struct Matrix {
    offsets: Vec<i32>,
    columns: Vec<i32>,
    values: Vec<f32>,
    x: Vec<f32>,
}

impl Matrix {
    fn read(inputs: &Inputs, rows: usize) -> Result<Self, ReferenceError> {
        Ok(Matrix {
            offsets: inputs.i32s("row_offsets", rows + 1)?,
            columns: inputs.i32s("columns", 0)?,
            values: inputs.f32s("values", 0)?,
            x: inputs.f32s("x", 0)?,
        })
    }

    /// Where the entries of a row start and end.
    fn bounds(&self, row: usize) -> Result<(usize, usize), ReferenceError> {
        let limit = self.columns.len().min(self.values.len()) + 1;
        let bound = |index: usize| {
            let value = self.offsets[index];
            usize::try_from(value)
                .ok()
                .filter(|&offset| offset < limit)
                .ok_or(ReferenceError::BadIndex {
                    buffer: "row_offsets",
                    index,
                    value: i64::from(value),
                    limit,
                })
        };
        Ok((bound(row)?, bound(row + 1)?))
    }

    /// Entry and vector element that meet at position `at`.
    fn term(&self, at: usize) -> Result<(f32, f32), ReferenceError> {
        let column = self.columns[at];
        let x = usize::try_from(column)
            .ok()
            .and_then(|column| self.x.get(column));
        let x = x.ok_or(ReferenceError::BadIndex {
            buffer: "columns",
            index: at,
            value: i64::from(column),
            limit: self.x.len(),
        })?;
        Ok((self.values[at], *x))
    }
}

/// One thread per row: one fused chain along the row.
pub(crate) fn spmv_scalar(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let rows = inputs.size("rows")?;
    let matrix = Matrix::read(inputs, rows)?;
    let mut y = inputs.f32s("y", rows)?;
    for (row, y) in y.iter_mut().enumerate().take(rows) {
        let (start, end) = matrix.bounds(row)?;
        let mut sum = 0.0f32;
        for at in start..end {
            let (value, x) = matrix.term(at)?;
            sum = value.mul_add(x, sum);
        }
        *y = sum;
    }
    Ok(vec![Output::new("y", Values::F32(y))])
}

/// One warp per row: a fused chain per lane, then a butterfly of additions.
pub(crate) fn spmv_vector(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let rows = inputs.size("rows")?;
    let matrix = Matrix::read(inputs, rows)?;
    let mut y = inputs.f32s("y", rows)?;
    for (row, y) in y.iter_mut().enumerate().take(rows) {
        let (start, end) = matrix.bounds(row)?;
        let mut lanes = [0.0f32; 32];
        for at in start..end {
            let (value, x) = matrix.term(at)?;
            let lane = &mut lanes[(at - start) % 32];
            *lane = value.mul_add(x, *lane);
        }
        for offset in [16, 8, 4, 2, 1] {
            lanes = std::array::from_fn(|lane| lanes[lane] + lanes[lane ^ offset]);
        }
        *y = lanes[0];
    }
    Ok(vec![Output::new("y", Values::F32(y))])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ElementType, Number};

    fn run(columns: Vec<i32>) -> Vec<Result<Vec<Output>, ReferenceError>> {
        let offsets = Values::I32(vec![0, 2, 2, 3]).to_bytes();
        let columns = Values::I32(columns).to_bytes();
        let values = Values::F32(vec![2.0, 3.0, 4.0]).to_bytes();
        let x = Values::F32(vec![1.0, 10.0]).to_bytes();
        let y = [0; 12];
        let mut inputs = Inputs::new();
        inputs.buffer("row_offsets", ElementType::I32, &offsets);
        inputs.buffer("columns", ElementType::I32, &columns);
        inputs.buffer("values", ElementType::F32, &values);
        inputs.buffer("x", ElementType::F32, &x);
        inputs.buffer("y", ElementType::F32, &y);
        inputs.parameter("rows", Number::Integer(3));
        vec![spmv_scalar(&inputs), spmv_vector(&inputs)]
    }

    #[test]
    fn both_orders_agree_where_sums_are_exact() {
        for result in run(vec![0, 1, 1]) {
            assert_eq!(
                result.unwrap()[0].values,
                Values::F32(vec![32.0, 0.0, 40.0])
            );
        }
    }

    #[test]
    fn a_column_outside_the_vector_is_an_error() {
        for result in run(vec![0, 2, -1]) {
            assert!(matches!(
                result,
                Err(ReferenceError::BadIndex {
                    index: 1,
                    value: 2,
                    ..
                })
            ));
        }
    }
}
