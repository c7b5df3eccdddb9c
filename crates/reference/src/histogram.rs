//! Histogram of bytes.

use crate::inputs::{Inputs, Output, ReferenceError};
use crate::values::Values;

/// Adds the count of each byte value of `in`, whatever its element type, to the 256 `bins`.
pub(crate) fn histogram(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let from = inputs.find("in")?;
    let mut bins = inputs.u32s("bins", 256)?;
    for &byte in from.bytes {
        bins[usize::from(byte)] = bins[usize::from(byte)].wrapping_add(1);
    }
    Ok(vec![Output::new("bins", Values::U32(bins))])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ElementType;

    #[test]
    fn the_bins_sum_to_the_number_of_bytes() {
        let bytes: Vec<u8> = (0..1000u32).map(|i| (i * i % 251) as u8).collect();
        let bins = [0; 1024];
        let mut inputs = Inputs::new();
        inputs.buffer("in", ElementType::U8, &bytes);
        inputs.buffer("bins", ElementType::U32, &bins);
        let outputs = histogram(&inputs).unwrap();
        let Values::U32(bins) = &outputs[0].values else {
            panic!()
        };
        assert_eq!(bins.iter().sum::<u32>(), 1000);
        assert_eq!(bins[255], 0);
    }
}
