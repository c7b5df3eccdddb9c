//! A run as JSON: an array with one object per launch. Format: docs/json.md, stable within a major
//! version: fields are added, never renamed or removed.

use device::launch::CheckOutcome;
use device::launch::Number;
use device::{HazardReport, LaunchReport, MetricValue, RunReport};
use serde_json::{Map, Value, json};

use crate::instances;

/// The run as a JSON value.
pub fn run(report: &RunReport) -> Value {
    let last = report.launches.len().saturating_sub(1);
    report
        .launches
        .iter()
        .enumerate()
        .map(|(index, launch)| {
            // Checks look at what all launches have left.
            let checks: &[CheckOutcome] = if index == last { &report.checks } else { &[] };
            launch_object(launch, report.title.as_deref(), index, checks)
        })
        .collect()
}

fn launch_object(
    launch: &LaunchReport,
    title: Option<&str>,
    index: usize,
    checks: &[CheckOutcome],
) -> Value {
    let occupancy = &launch.occupancy;
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
    put("kernel", json!(launch.kernel));
    put("title", json!(title));
    put("launch", json!(index));
    put("gpu", json!(launch.gpu));
    put("gpu_title", json!(launch.gpu_title));
    put("architecture", json!(format!("sm_{}", launch.architecture)));
    put("mode", json!(launch.mode.name()));
    put("grid", json!(launch.grid));
    put("block", json!(launch.block));
    put("registers", json!(launch.registers));
    put("static_shared_bytes", json!(launch.static_shared));
    put("dynamic_shared_bytes", json!(launch.dynamic_shared));
    put(
        "occupancy",
        json!({
            "ctas_per_sm": occupancy.ctas_per_sm,
            "warps_per_sm": occupancy.warps_per_sm(),
            "max_warps_per_sm": launch.warps_per_sm,
            "limiter": occupancy.limit.name(),
            "l1d_bytes": occupancy.l1_size,
            "shared_bytes": occupancy.carveout,
        }),
    );
    if let Some(timing) = &launch.timing {
        put("cycles", json!(timing.cycles));
        put("launch_overhead_cycles", json!(timing.launch_overhead));
        put("clock_mhz", json!(timing.clock));
        put("time_ns", json!(timing.nanoseconds()));
    }
    put("warp_instructions", json!(launch.warp_instructions));
    put("thread_instructions", json!(launch.thread_instructions));
    if let Some(timing) = &launch.timing {
        let slots = launch.warp_instructions as f64;
        let per_sm = timing.cycles.max(1) as f64 * f64::from(timing.sms);
        put("ipc_per_sm", json!(slots / per_sm));
        put("schedulers", json!(timing.schedulers));
        let slots: Map<String, Value> = timing
            .issue_slots
            .iter()
            .map(|(reason, count)| (reason.name().to_owned(), json!(count)))
            .collect();
        put("issue_slots", Value::Object(slots));
        let metrics: Map<String, Value> = timing
            .metrics
            .iter()
            .map(|metric| {
                let value = match metric.value {
                    MetricValue::Count(count) => json!(count),
                    MetricValue::Real(real) => json!(real),
                };
                (metric.name.clone(), value)
            })
            .collect();
        put("metrics", Value::Object(metrics));
        if !timing.instances.is_empty() {
            let kinds: Map<String, Value> = timing
                .instances
                .iter()
                .map(|kind| (kind.kind.name().to_owned(), instances::json(kind)))
                .collect();
            put("instances", Value::Object(kinds));
        }
        put(
            "hazards",
            match &timing.hazards {
                Some(list) => json!({
                    "checked": true,
                    "count": list.iter().map(|hazard| hazard.count).sum::<u64>(),
                    "list": list.iter().map(hazard).collect::<Vec<_>>(),
                }),
                None => json!({ "checked": false }),
            },
        );
    }
    put("printed", json!(launch.printed));
    put("not_modelled", json!(launch.not_modelled));
    put("threads", json!(launch.threads));
    put("host_seconds", json!(launch.host_seconds));
    put(
        "host_warp_instructions_per_second",
        json!(launch.host_rate()),
    );
    put("checks", checks.iter().map(check).collect());
    Value::Object(object)
}

fn hazard(hazard: &HazardReport) -> Value {
    let instruction = |(offset, text): &(u64, String)| json!({ "offset": offset, "text": text });
    json!({
        "kind": hazard.kind,
        "what": hazard.what,
        "first": instruction(&hazard.first),
        "second": instruction(&hazard.second),
        "cycles_apart": hazard.found,
        "cycles_needed": (hazard.needed > 0).then_some(hazard.needed),
        "count": hazard.count,
        "place": hazard.place,
    })
}

fn check(check: &CheckOutcome) -> Value {
    let comparison = &check.comparison;
    let first: Vec<Value> = comparison
        .first
        .iter()
        .map(|mismatch| {
            json!({
                "index": mismatch.index,
                "got": number(mismatch.got),
                "expected": number(mismatch.expected),
            })
        })
        .collect();
    json!({
        "expectation": check.expectation,
        "buffer": check.buffer,
        "passed": check.passed(),
        "elements": comparison.elements,
        "mismatches": comparison.mismatches,
        "largest_difference": comparison.largest_difference,
        "first_mismatches": first,
    })
}

/// A number; as text where JSON has none for it (NaN, infinities, beyond 64 bits).
fn number(number: Number) -> Value {
    match number {
        Number::Integer(value) => match (i64::try_from(value), u64::try_from(value)) {
            (Ok(value), _) => json!(value),
            (_, Ok(value)) => json!(value),
            _ => json!(value.to_string()),
        },
        Number::Real(value) if value.is_finite() => json!(value),
        Number::Real(value) => json!(value.to_string()),
    }
}
