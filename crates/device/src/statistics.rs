//! What a launch is measured by: one list of metrics, each with its name, unit and meaning. Names are
//! Nsight Compute's where they mean the same; names without `__` are ours. A metric that is not
//! modelled is absent, never 0. (The memory side declares its own in `memory::MemoryStatistics`.)

use sm::{SmStatistics, StallReason};

/// What the metrics are computed from.
#[derive(Debug, Clone, Copy)]
pub struct Measured<'a> {
    /// Counters of all SMs, added up.
    pub sm: &'a SmStatistics,
    /// Cycles of the launch.
    pub cycles: u64,
    /// SMs of the GPU.
    pub sms: u64,
    /// Sub-cores of an SM.
    pub sub_cores: u64,
    /// Warps that an SM has room for.
    pub warps_per_sm: u64,
}

/// The value of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MetricValue {
    /// Something counted.
    Count(u64),
    /// A ratio or a rate.
    Real(f64),
}

impl MetricValue {
    /// The value as a floating-point number.
    pub fn as_f64(self) -> f64 {
        match self {
            MetricValue::Count(count) => count as f64,
            MetricValue::Real(real) => real,
        }
    }
}

impl From<u64> for MetricValue {
    fn from(count: u64) -> MetricValue {
        MetricValue::Count(count)
    }
}

impl From<f64> for MetricValue {
    fn from(real: f64) -> MetricValue {
        MetricValue::Real(real)
    }
}

/// A metric as declared.
#[derive(Debug)]
pub struct Declared {
    /// Its name.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// Computes it; `None` where it has no value (no accesses, so no hit rate).
    pub compute: fn(&Measured<'_>) -> Option<MetricValue>,
}

/// One metric of one launch.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Its value.
    pub value: MetricValue,
}

/// `part` of `whole` in percent, if there is a whole.
fn percent(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| 100.0 * part as f64 / whole as f64)
}

/// `part` by `whole`, if there is a whole.
fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

macro_rules! metrics {
    ($($name:literal, $unit:literal, $doc:literal, $compute:expr;)*) => {
        /// Every metric of the SMs, in the order in which reports list them.
        pub const METRICS: &[Declared] = &[$(Declared {
            name: $name,
            unit: $unit,
            doc: $doc,
            compute: |measured| {
                let compute: fn(&Measured<'_>) -> _ = $compute;
                Optional::optional(compute(measured))
            },
        },)*];
    };
}

/// A value that may be missing.
trait Optional {
    fn optional(self) -> Option<MetricValue>;
}

impl Optional for u64 {
    fn optional(self) -> Option<MetricValue> {
        Some(self.into())
    }
}

impl Optional for Option<f64> {
    fn optional(self) -> Option<MetricValue> {
        self.map(MetricValue::from)
    }
}

metrics! {
    "sm__cycles_elapsed.max", "cycle", "Cycles of the launch, without its overhead.", |m| m.cycles;
    "sm__cycles_active.sum", "cycle", "Cycles in which an SM had a resident warp, summed over the SMs.", |m| m.sm.active_cycles;
    "sm__cycles_active.avg", "cycle", "The same, by SM.", |m| ratio(m.sm.active_cycles, m.sms);
    "smsp__inst_executed.sum", "inst", "Warp instructions issued.", |m| m.sm.warp_instructions;
    "smsp__thread_inst_executed_pred_on.sum", "inst", "Thread instructions: lanes in which an issued instruction took effect.", |m| m.sm.thread_instructions;
    "sm__inst_executed.avg.per_cycle_elapsed", "inst/cycle", "Warp instructions per cycle and SM, over the whole launch.", |m| ratio(m.sm.warp_instructions, m.cycles * m.sms);
    "sm__inst_executed.avg.per_cycle_active", "inst/cycle", "Warp instructions per cycle and SM, while it had a resident warp.", |m| ratio(m.sm.warp_instructions, m.sm.active_cycles);
    "smsp__issue_active.sum", "slot", "Issue slots in which an instruction was issued.", |m| m.sm.slots(StallReason::Selected);
    "smsp__issue_active.avg.pct_of_peak_sustained_elapsed", "%", "The same, of all issue slots of the launch.", |m| percent(m.sm.slots(StallReason::Selected), m.cycles * m.sms * m.sub_cores);
    "sm__ctas_launched.sum", "cta", "CTAs that ran to their end.", |m| m.sm.ctas;
    "sm__warps_active.avg.per_cycle_active", "warp", "Resident warps of an SM while it had one.", |m| ratio(m.sm.resident_warp_cycles, m.sm.active_cycles);
    "sm__warps_active.avg.pct_of_peak_sustained_active", "%", "The same, of the warps that an SM has room for: achieved occupancy.", |m| percent(m.sm.resident_warp_cycles, m.sm.active_cycles * m.warps_per_sm);
    "l1tex__t_sectors_lookup_hit.sum", "sector", "Sector lookups of loads and stores in L1D that hit.", |m| m.sm.l1_load_hits + m.sm.l1_store_hits;
    "l1tex__t_sectors_lookup_miss.sum", "sector", "Sector lookups of loads and stores in L1D that missed.", |m| m.sm.l1_load_misses + m.sm.l1_store_misses;
    "l1tex__t_sector_hit_rate.pct", "%", "Hits of all sector lookups in L1D.", |m| percent(m.sm.l1_load_hits + m.sm.l1_store_hits, m.sm.l1_load_hits + m.sm.l1_store_hits + m.sm.l1_load_misses + m.sm.l1_store_misses);
    "l1d_load_hit_rate.pct", "%", "Hits of the sector lookups of loads in L1D.", |m| percent(m.sm.l1_load_hits, m.sm.l1_load_hits + m.sm.l1_load_misses);
    "l1d_load_hits.sum", "sector", "Sector lookups of loads in L1D that hit.", |m| m.sm.l1_load_hits;
    "l1d_load_misses.sum", "sector", "Sector lookups of loads in L1D that missed.", |m| m.sm.l1_load_misses;
    "l1d_store_hits.sum", "sector", "Sector lookups of stores in L1D whose line was present.", |m| m.sm.l1_store_hits;
    "l1d_store_misses.sum", "sector", "Other sector lookups of stores in L1D.", |m| m.sm.l1_store_misses;
    "tlb_lookups.sum", "packet", "Translations that packets of data looked for on their way out of the SM.", |m| m.sm.translations;
    "tlb_hits.sum", "packet", "Those at hand in the SM's translation buffer.", |m| m.sm.translation_hits;
    "tlb_misses.sum", "packet", "Those that waited for a refill.", |m| m.sm.translation_misses;
    "tlb_refills.sum", "refill", "Refills of the translation buffers; misses of one page under way share one.", |m| m.sm.translation_refills;
    "tlb_refills_at_once.max", "refill", "Most refills of an SM under way at once; the entries of its buffer at most.", |m| m.sm.translation_refills_at_once;
    "tlb_hit_rate.pct", "%", "Hits of all lookups in the translation buffers.", |m| percent(m.sm.translation_hits, m.sm.translations);
    "global_instructions.sum", "inst", "Global and local memory instructions handed to the SM's memory unit.", |m| m.sm.global_instructions;
    "global_sectors.sum", "sector", "Sectors that they touched.", |m| m.sm.global_sectors;
    "sectors_per_global_instruction.ratio", "sector/inst", "Sectors per global or local memory instruction.", |m| ratio(m.sm.global_sectors, m.sm.global_instructions);
    "l1tex2xbar_packets.sum", "packet", "Packets that SMs sent to L2, each with sectors of one line.", |m| m.sm.packets;
    "l1tex__m_l1tex2xbar_req_cycles_active.sum", "cycle", "Cycles in which an SM sent a packet to L2.", |m| m.sm.port_cycles;
    "l1tex_packets_under_way.max", "packet", "High-water mark of an SM's packets to L2 without an answer; `sm_port.outstanding` at most, and the lines under way to the L1 instruction cache.", |m| m.sm.packets_most;
    "l1d_sectors_missing.max", "sector", "High-water mark of the sectors missing in an SM's L1D; `l1_data_cache.outstanding` at most.", |m| m.sm.l1_missing_most;
    "shared_instructions.sum", "inst", "Shared-memory instructions handed to the SM's memory unit.", |m| m.sm.shared_instructions;
    "shared_conflict_cycles.sum", "cycle", "Cycles that shared memory spent on them beyond one each.", |m| m.sm.shared_conflicts;
    "l0i_hits.sum", "access", "Accesses of the L0 instruction caches that hit.", |m| m.sm.l0_instruction_hits;
    "l0i_misses.sum", "access", "Accesses of the L0 instruction caches that missed.", |m| m.sm.l0_instruction_misses;
    "l0i_hit_rate.pct", "%", "Hits of all accesses of the L0 instruction caches.", |m| percent(m.sm.l0_instruction_hits, m.sm.l0_instruction_hits + m.sm.l0_instruction_misses);
    "l1i_hits.sum", "access", "Lookups in the L1 instruction caches that hit.", |m| m.sm.l1_instruction_hits;
    "l1i_misses.sum", "access", "Lookups in the L1 instruction caches that missed.", |m| m.sm.l1_instruction_misses;
    "l1i_hit_rate.pct", "%", "Hits of all lookups in the L1 instruction caches.", |m| percent(m.sm.l1_instruction_hits, m.sm.l1_instruction_hits + m.sm.l1_instruction_misses);
    "constant_hits.sum", "access", "Lookups of constant operands that hit.", |m| m.sm.constant_hits;
    "constant_misses.sum", "access", "Lookups of constant operands that missed.", |m| m.sm.constant_misses;
    "constant_hit_rate.pct", "%", "Hits of all lookups of constant operands.", |m| percent(m.sm.constant_hits, m.sm.constant_hits + m.sm.constant_misses);
    "reuse_cache_hits.sum", "operand", "Source operands taken from the reuse cache.", |m| m.sm.reuse_hits;
    "register_port_stalls.sum", "cycle", "Cycles that instructions waited in Allocate for read ports.", |m| m.sm.register_port_stalls;
}

/// The metrics of the SMs that have a value.
pub fn sm_metrics(measured: &Measured<'_>) -> Vec<Metric> {
    METRICS
        .iter()
        .filter_map(|declared| {
            Some(Metric {
                name: declared.name.to_owned(),
                unit: declared.unit.to_owned(),
                value: (declared.compute)(measured)?,
            })
        })
        .collect()
}

/// Reasons of issue slots with their meaning.
pub fn stall_reasons() -> impl Iterator<Item = (&'static str, &'static str)> {
    StallReason::ALL
        .iter()
        .map(|reason| (reason.name(), reason.description()))
}

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
    let counted = memory::MemoryStatistics::default().list();
    let counted = counted
        .into_iter()
        .map(|entry| (entry.name, entry.unit.name(), entry.doc));
    counted.chain(DERIVED.iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_a_rate_of_nothing_is_absent() {
        let sm = SmStatistics::default();
        let measured = Measured {
            sm: &sm,
            cycles: 100,
            sms: 2,
            sub_cores: 4,
            warps_per_sm: 48,
        };
        let metrics = sm_metrics(&measured);
        assert!(
            !metrics
                .iter()
                .any(|metric| metric.name == "l1tex__t_sector_hit_rate.pct")
        );
        let mut names: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
