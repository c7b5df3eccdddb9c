//! Metrics of the memory side.

/// Metrics of the memory side that follow from what it counts: name, unit, meaning.
const DERIVED: &[(&str, &str, &str)] = &[
    (
        L2_HIT_RATE,
        "%",
        "Sectors found of all that were looked up in L2.",
    ),
    (
        DRAM_THROUGHPUT,
        "byte/s",
        "Bytes read from and written to DRAM, by the time of the launch.",
    ),
    (DRAM_SHARE, "%", "The same, of the data sheet's bandwidth."),
];

/// Hit rate of L2.
pub(crate) const L2_HIT_RATE: &str = "lts__t_sector_hit_rate.pct";
/// DRAM throughput.
pub(crate) const DRAM_THROUGHPUT: &str = "dram__bytes.sum.per_second";
/// DRAM throughput as a share of the data sheet's bandwidth.
pub(crate) const DRAM_SHARE: &str = "dram__throughput.avg.pct_of_peak_sustained_elapsed";

/// Every metric of the memory side: name, unit, meaning.
pub fn memory_side() -> Vec<(&'static str, &'static str, &'static str)> {
    let counted = ::memory::MemoryStatistics::default().list();
    let counted = counted
        .into_iter()
        .map(|entry| (entry.name, entry.unit.name(), entry.doc));
    counted.chain(DERIVED.iter().copied()).collect()
}
