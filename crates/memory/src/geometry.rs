//! What the ranges of single parameters cannot say: whether a document's slices, ports, masks, rows
//! and channels make one memory. Every fault names its key and what would be right.

use hardware::{Gpu, HardwareError, MemoryParameters};

use crate::address::{AddressMap, LINE_BYTES};
use crate::dram::DramParameters;
use crate::parameters::{CrossbarParameters, L2Parameters, misfit};

/// Checks a GPU's memory side before anything is made of it.
///
/// # Errors
/// The first key that does not fit the others.
pub fn check(
    gpu: &Gpu,
    memory: &MemoryParameters,
    crossbar: &CrossbarParameters,
    l2: &L2Parameters,
    dram: &DramParameters,
) -> Result<(), HardwareError> {
    let require = |holds: bool, key: &str, right: &dyn Fn() -> String| match holds {
        true => Ok(()),
        false => Err(misfit(gpu, key, &right())),
    };
    for (key, value) in [
        ("l2.sets", l2.sets),
        ("dram.banks", dram.banks),
        ("dram.bank_groups", dram.bank_groups),
        ("dram.rows", dram.rows),
    ] {
        require(value.is_power_of_two(), key, &|| {
            "a power of two".to_owned()
        })?;
    }
    let slices = l2.partitions * l2.slices_per_partition;
    require(
        slices <= crossbar.slice_ports,
        "crossbar.slice_ports",
        &|| format!("at least l2.partitions x l2.slices_per_partition, which is {slices}"),
    )?;
    require(dram.bank_groups <= dram.banks, "dram.bank_groups", &|| {
        format!("no more than the {} of dram.banks", dram.banks)
    })?;
    require(dram.write_low < dram.write_high, "dram.write_low", &|| {
        format!("less than the {} of dram.write_high", dram.write_high)
    })?;
    require(dram.queue >= l2.slices_per_partition, "dram.queue", &|| {
        format!(
            "at least one for each of {} slices",
            l2.slices_per_partition
        )
    })?;
    for (one, other, given) in [
        (
            "dram.refresh_stall",
            "dram.refresh_period",
            dram.refresh_stall.is_some(),
        ),
        (
            "dram.refresh_period",
            "dram.refresh_stall",
            dram.refresh_period.is_some(),
        ),
    ] {
        require(!given || gpu.has(other), one, &|| {
            format!("given together with {other}")
        })?;
    }
    if let (Some(stall), Some(period)) = (dram.refresh_stall, dram.refresh_period) {
        require(stall < period, "dram.refresh_stall", &|| {
            format!("less than the {period} ns of dram.refresh_period")
        })?;
    }
    let size = slices * l2.sets * l2.ways * LINE_BYTES;
    require(size == memory.l2_size, "memory.l2_size", &|| {
        format!("slices x sets x ways x {LINE_BYTES} bytes, which is {size}")
    })?;
    let channels = l2.partitions * dram.channels_per_partition;
    let width = channels * dram.pins;
    require(
        width == u64::from(memory.bus_width),
        "memory.bus_width",
        &|| format!("partitions x channels x pins, which is {width}"),
    )?;
    let map = AddressMap::new(gpu, l2, dram)?;
    let size = channels * dram.rows * map.row_bytes();
    require(size == memory.dram_size, "memory.dram_size", &|| {
        format!("partitions x channels x banks x rows x bytes of a row, which is {size}")
    })
}
