//! Which slice of L2 a line is in, and what each channel of the DRAM reads, told by the counters of each slice
//! and channel that a profiler shows.
//!
//! For slices a launch loads some lines, the next always twice as often as the one before, so that what a slice
//! has counted, written in binary, names the lines that it holds. What a launch loads anyway is told by one
//! whose lines are loaded not at all. The DRAM reads a line but once: L2 has it then.

use device::statistics::InstanceKind;

use crate::bench::{Bench, LANES, Shape, Word};
use crate::error::ProbeError;
use crate::kernel::Load;
use crate::scan::Place;

/// The kernel.
pub(crate) const WEIGH: &str = include_str!("kernels/weigh.sass");
/// Packets of loads that each slice has looked up.
const REQUESTS: &str = "lts__t_requests_srcunit_tex_op_read";
/// Bursts that each channel has read.
const READS: &str = "dram__sectors_read";
/// Lines of a launch, and loads of the first of them: more than launches differ by.
const LINES: usize = 10;
const UNIT: u32 = 16;
/// Warps of each SM.
const WARPS: u32 = 8;

/// What each slice counted while those lines were loaded, the first `unit` times.
fn counted(bench: &mut Bench, lines: &[u64], unit: u32) -> Result<Vec<u64>, ProbeError> {
    let entries = lines.iter().copied().cycle().take(LANES as usize);
    let bytes: Vec<u8> = entries.flat_map(u64::to_le_bytes).collect();
    let list = bench.scratch(bytes.len() as u64)?;
    bench.write(list, &bytes)?;
    let sms = bench.card().sms;
    let shape = Shape {
        ctas: sms,
        threads: WARPS * LANES,
    };
    let arguments = [
        Word::U64(list),
        Word::U32(unit),
        Word::U32(lines.len() as u32),
        Word::U32(unit << (lines.len() - 1)),
        Word::U32(sms * WARPS),
    ];
    let counter = (InstanceKind::Slice, REQUESTS);
    let (_, counts) = bench.counting(counter, |bench| {
        bench.launch("weigh", WEIGH, Load::PastL1, shape, &arguments)
    })?;
    Ok(counts)
}

/// How many slices have counters.
///
/// # Errors
/// A launch that fails, counters that are not there.
pub fn slices(bench: &mut Bench) -> Result<usize, ProbeError> {
    let line = bench.scratch(LANES.into())?;
    Ok(counted(bench, &[line], 0)?.len())
}

/// The slice of each line, as the counters are numbered.
///
/// # Errors
/// A launch that fails, counters that say nothing clear.
pub fn slices_of(
    bench: &mut Bench,
    lines: &[u64],
    probe: &'static str,
) -> Result<Vec<u32>, ProbeError> {
    let mut found = Vec::with_capacity(lines.len());
    let Some(without) = lines.get(..1) else {
        return Ok(found);
    };
    let without = counted(bench, without, 0)?;
    for part in lines.chunks(LINES) {
        let with = counted(bench, part, UNIT)?;
        let more = with.iter().zip(&without);
        // Rounded to the unit: a few packets more or less come from lists and waiting.
        let codes: Vec<u64> = more
            .map(|(with, without)| (with + u64::from(UNIT) / 2).saturating_sub(*without))
            .map(|more| more / u64::from(UNIT))
            .collect();
        for (index, line) in part.iter().enumerate() {
            let mut holders = (0..)
                .zip(&codes)
                .filter(|(_, code)| *code >> index & 1 == 1);
            match (holders.next(), holders.next()) {
                (Some((slice, _)), None) => found.push(slice),
                _ => {
                    return Err(ProbeError::Inconclusive {
                        probe,
                        reason: format!(
                            "the counters of the slices do not tell which one has the line at {line:#x}"
                        ),
                    });
                }
            }
        }
    }
    Ok(found)
}

/// Bursts that each channel of the DRAM reads for lines that L2 does not have yet, with those that a launch
/// reads anyway.
///
/// # Errors
/// A launch that fails.
fn reads(bench: &mut Bench, list: &[u64], place: Place) -> Result<Vec<u64>, ProbeError> {
    let counter = (InstanceKind::Channel, READS);
    let (_, counts) = bench.counting(counter, |bench| bench.times(list, Load::PastL1, place))?;
    Ok(counts)
}

/// Bursts that each channel of the DRAM reads for lines that L2 does not have yet.
///
/// # Errors
/// A launch that fails.
pub fn channel_reads(
    bench: &mut Bench,
    list: &[u64],
    place: Place,
) -> Result<Vec<u64>, ProbeError> {
    // The start of the list itself is read anyway.
    let own = bench.scratch(12 * (list.len() as u64 + 4096))?;
    let without = reads(bench, &vec![own; list.len()], place)?;
    let with = reads(bench, list, place)?;
    let both = with.iter().zip(&without);
    Ok(both
        .map(|(with, without)| with.saturating_sub(*without))
        .collect())
}
