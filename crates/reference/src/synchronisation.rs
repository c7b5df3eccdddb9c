//! `kernels/synchronisation`: results that locks, barriers, pipelines and atomics must leave whatever
//! the order of threads.

use crate::inputs::{Inputs, Output, ReferenceError};
use crate::values::{Values, half_from_f64};

/// What each account holds after all transfers.
pub(crate) fn transfers(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let rounds = inputs.size("rounds")? as u32;
    let threads = inputs.size("threads")? as u32;
    let mut balances = inputs.i32s("balances", 2)?;
    let accounts = balances.len() as u32;
    for thread in 0..threads {
        for round in 0..rounds {
            let from = (thread * 7 + round * 13) % accounts;
            let to = (from + 1 + (thread + round) % (accounts - 1)) % accounts;
            let amount = ((thread * 31 + round * 17) % 100) as i32;
            balances[from as usize] -= amount;
            balances[to as usize] += amount;
        }
    }
    Ok(vec![Output::new("balances", Values::I32(balances))])
}

/// Every node but the null one was taken once.
pub(crate) fn linked_list(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let mut taken = inputs.u32s("taken", 1)?;
    taken.fill(1);
    taken[0] = 0;
    Ok(vec![Output::new("taken", Values::U32(taken))])
}

/// Both arrays after the rounds.
pub(crate) fn rounds_of_a_stencil(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let rounds = inputs.size("rounds")? as u32;
    let a = inputs.u32s("a", 1)?;
    let b = inputs.u32s("b", a.len())?;
    let n = a.len();
    let mut arrays = [a, b];
    for round in 0..rounds {
        let (from, to) = (round as usize % 2, (round as usize + 1) % 2);
        for i in 0..n {
            let at = |k: usize| arrays[from][k % n];
            arrays[to][i] = at(i + n - 1)
                .wrapping_add(at(i).wrapping_mul(2))
                .wrapping_add(at(i + 1))
                .wrapping_add(round);
        }
    }
    let [a, b] = arrays;
    Ok(vec![
        Output::new("a", Values::U32(a)),
        Output::new("b", Values::U32(b)),
    ])
}

/// Words of a batch, and threads of a CTA.
const BATCH: usize = 256;
const THREADS: usize = 64;

/// Each thread's sum over the batches of its CTA.
pub(crate) fn staged_sum(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let batches = inputs.size("batches")?;
    let mut out = inputs.u32s("out", 0)?;
    let input = inputs.u32s("in", out.len().div_ceil(THREADS) * batches * BATCH)?;
    for (index, sum) in out.iter_mut().enumerate() {
        let (block, thread) = (index / THREADS, index % THREADS);
        *sum = 0;
        for batch in 0..batches {
            let from = (block * batches + batch) * BATCH;
            for k in 0..BATCH / THREADS {
                let word = input[from + (thread * 5 + k * THREADS + 1) % BATCH];
                *sum = sum.wrapping_mul(3).wrapping_add(word);
            }
        }
    }
    Ok(vec![Output::new("out", Values::U32(out))])
}

/// Each consumer's sum over what the producer opposite wrote.
pub(crate) fn producers_and_consumers(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let rounds = inputs.size("rounds")?;
    let input = inputs.u32s("in", rounds * THREADS)?;
    let mut out = inputs.u32s("out", 0)?;
    for (index, sum) in out.iter_mut().enumerate() {
        let (block, lane) = (index / THREADS, index % THREADS);
        *sum = 0;
        for round in 0..rounds {
            let word = input[round * THREADS + THREADS - 1 - lane];
            let made = word.wrapping_mul(3).wrapping_add(block as u32);
            *sum = sum.wrapping_mul(5).wrapping_add(made);
        }
    }
    Ok(vec![Output::new("out", Values::U32(out))])
}

/// Each block of 512 words backwards.
pub(crate) fn copies_that_arrive(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let mut words = inputs.u32s("in", 0)?;
    words.chunks_mut(512).for_each(<[u32]>::reverse);
    Ok(vec![Output::new("out", Values::U32(words))])
}

/// Per CTA the arrivals pending where every other thread has left, their sum where all but one arrive three
/// at a time, that a phase with something to come is not over, all threads of a new phase; then its words
/// backwards.
pub(crate) fn barrier_forms(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let block = inputs.positive("block")?;
    let mut out = Vec::new();
    for words in inputs.u32s("in", 0)?.chunks(block) {
        let threads = words.len() as u32;
        let early = (1..threads).map(|before| (3 * threads - 2).wrapping_sub(3 * (before - 1)));
        out.push(threads.div_ceil(2));
        out.push(early.fold(0, u32::wrapping_add));
        out.push(0);
        out.push(threads);
        out.extend(words.iter().rev());
    }
    Ok(vec![Output::new("out", Values::U32(out))])
}

/// Reductions over each CTA's threads and over each half of them.
pub(crate) fn barrier_reductions(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let block = inputs.positive("block")?;
    let input = inputs.u32s("in", 0)?;
    let mut out = Vec::with_capacity(input.len());
    for values in input.chunks(block) {
        let count = values.iter().filter(|&&value| value & 1 == 1).count() as u32;
        let all = values.iter().all(|&value| value & 0xff_ffff != 0);
        let any = values.iter().any(|&value| value > 0xffff_fff0);
        let result = (count * 2 + u32::from(all)) * 2 + u32::from(any);
        for half in values.chunks(block / 2) {
            let count = half.iter().filter(|&&value| value >> 4 & 1 == 1).count() as u32;
            out.extend(half.iter().map(|_| result * 1024 + count));
        }
    }
    Ok(vec![Output::new("out", Values::U32(out))])
}

/// Each consumer's sum over the rounds.
pub(crate) fn arrivals(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let rounds = inputs.size("rounds")? as u32;
    let input = inputs.u32s("in", THREADS)?;
    let mut out = inputs.u32s("out", 0)?;
    for (index, sum) in out.iter_mut().enumerate() {
        let (block, lane) = (index / THREADS, index % THREADS);
        *sum = 0;
        for round in 0..rounds {
            let word = input[THREADS - 1 - lane]
                .wrapping_add(round * 3)
                .wrapping_add(block as u32);
            *sum = sum.wrapping_mul(7).wrapping_add(word);
        }
    }
    Ok(vec![Output::new("out", Values::U32(out))])
}

/// The cells after the updates of `threads`, as 32-bit words.
fn cells(threads: std::ops::Range<u32>) -> [u32; 16] {
    let sum = |value: fn(u32) -> u64| {
        threads
            .clone()
            .fold(0u64, |sum, i| sum.wrapping_add(value(i)))
    };
    let count = f64::from(threads.end - threads.start);
    let half = |value: f64| u32::from(half_from_f64(value).to_bits());
    // A bfloat is the upper half of a single; these are exact.
    let brain = |value: f64| (value as f32).to_bits() >> 16;
    let words = |value: u64| [value as u32, (value >> 32) as u32];
    let halves = half(sum(|i| u64::from(i % 3)) as f64) | half(-count) << 16;
    let brains = brain(sum(|i| u64::from(i % 2)) as f64) | brain(-count) << 16;
    let single = (sum(|i| u64::from(i % 17)) as f32 * 0.25).to_bits();
    let least = threads.clone().map(|i| i.wrapping_mul(2_654_435_761)).min();
    let wide = (sum(u64::from) as f64 * 0.125).to_bits();
    let shifted = sum(|i| u64::from(i) << 33);
    let most = threads
        .clone()
        .map(|i| u64::from(i * 40503 % 65536) << 40 | u64::from(i));
    let lowest = threads
        .clone()
        .map(|i| i64::from(i % 1000) * -1_000_000_007);
    let bits = threads.clone().fold(0, |bits, i| bits | 1u64 << (i % 64));
    let mut cells = [
        halves,
        brains,
        single,
        least.unwrap_or(0),
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
    ];
    for (index, value) in [
        wide,
        shifted,
        most.max().unwrap_or(0),
        lowest.min().unwrap_or(0) as u64,
        bits,
        sum(|i| u64::from(i) * 3),
    ]
    .into_iter()
    .enumerate()
    {
        cells[4 + 2 * index..6 + 2 * index].copy_from_slice(&words(value));
    }
    cells
}

/// The cells of the grid, and those of each CTA.
pub(crate) fn packed_atomics(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let block = inputs.positive("block")? as u32;
    let blocks = inputs.u32s("blocks", 0)?.len() as u32 / 16;
    let of_blocks: Vec<u32> = (0..blocks)
        .flat_map(|b| cells(b * block..(b + 1) * block))
        .collect();
    let all = cells(0..blocks * block).to_vec();
    Ok(vec![
        Output::new("cells", Values::U32(all)),
        Output::new("blocks", Values::U32(of_blocks)),
    ])
}
