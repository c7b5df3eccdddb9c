//! Black-Scholes option prices, in double precision.

use crate::inputs::{Inputs, Output, ReferenceError};
use crate::values::Values;

/// `call` and `put` prices from `price`, `strike` and `years`.
pub(crate) fn black_scholes(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let n = inputs.size("n")?;
    let (price, strike) = (inputs.f32s("price", n)?, inputs.f32s("strike", n)?);
    let years = inputs.f32s("years", n)?;
    let (mut call, mut put) = (inputs.f32s("call", n)?, inputs.f32s("put", n)?);
    let rate = f64::from(inputs.f32("rate")?);
    let volatility = f64::from(inputs.f32("volatility")?);
    for i in 0..n {
        let [s, x, t] = [price[i], strike[i], years[i]].map(f64::from);
        let deviation = volatility * t.sqrt();
        let d1 = ((s / x).ln() + (rate + 0.5 * volatility * volatility) * t) / deviation;
        let (n1, n2) = (normal(d1), normal(d1 - deviation));
        let discounted = x * (-rate * t).exp();
        call[i] = (s * n1 - discounted * n2) as f32;
        put[i] = (discounted * (1.0 - n2) - s * (1.0 - n1)) as f32;
    }
    Ok(vec![
        Output::new("call", Values::F32(call)),
        Output::new("put", Values::F32(put)),
    ])
}

/// The cumulative normal distribution by the kernel's polynomial (Abramowitz and Stegun 26.2.17).
fn normal(d: f64) -> f64 {
    let k = 1.0 / (1.0 + 0.231_641_9 * d.abs());
    let terms = [
        0.319_381_53,
        -0.356_563_782,
        1.781_477_937,
        -1.821_255_978,
        1.330_274_429,
    ];
    let polynomial = terms.iter().rev().fold(0.0, |sum, term| (sum + term) * k);
    let density = (-0.5 * d * d).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let tail = density * polynomial;
    if d > 0.0 { 1.0 - tail } else { tail }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distribution_is_right_at_known_points() {
        assert!((normal(0.0) - 0.5).abs() < 1e-7);
        assert!((normal(1.0) - 0.841_344_746).abs() < 1e-7);
        assert!((normal(-2.0) - 0.022_750_132).abs() < 1e-7);
    }
}
