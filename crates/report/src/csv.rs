//! A run as comma-separated values: a head line, then one line per launch.

use device::{LaunchReport, MetricValue, RunReport};

/// The run as CSV.
pub fn run(report: &RunReport) -> String {
    let rows: Vec<Vec<(String, String)>> = report.launches.iter().map(columns).collect();
    let mut heads: Vec<&str> = Vec::new();
    for (head, _) in rows.iter().flatten() {
        if !heads.contains(&head.as_str()) {
            heads.push(head);
        }
    }
    let mut text = heads
        .iter()
        .map(|head| quoted(head))
        .collect::<Vec<_>>()
        .join(",");
    text.push('\n');
    for row in &rows {
        let cells: Vec<String> = heads
            .iter()
            .map(|head| {
                let cell = row.iter().find(|(name, _)| name == head);
                cell.map_or(String::new(), |(_, value)| quoted(value))
            })
            .collect();
        text.push_str(&cells.join(","));
        text.push('\n');
    }
    text
}

fn columns(launch: &LaunchReport) -> Vec<(String, String)> {
    let extent = |[x, y, z]: [u32; 3]| format!("{x}x{y}x{z}");
    let mut columns = Vec::new();
    let mut put = |name: &str, value: String| columns.push((name.to_owned(), value));
    put("kernel", launch.kernel.clone());
    put("gpu", launch.gpu.clone());
    put("mode", launch.mode.name().to_owned());
    put("grid", extent(launch.grid));
    put("block", extent(launch.block));
    put("ctas_per_sm", launch.occupancy.ctas_per_sm.to_string());
    put("warp_instructions", launch.warp_instructions.to_string());
    put(
        "thread_instructions",
        launch.thread_instructions.to_string(),
    );
    put("host_seconds", launch.host_seconds.to_string());
    if let Some(timing) = &launch.timing {
        put("cycles", timing.cycles.to_string());
        put("time_ns", timing.nanoseconds().to_string());
        if let Some(hazards) = &timing.hazards {
            let count: u64 = hazards.iter().map(|hazard| hazard.count).sum();
            put("hazards", count.to_string());
        }
        for (reason, count) in &timing.issue_slots {
            put(&format!("issue_slots.{}", reason.name()), count.to_string());
        }
        for metric in &timing.metrics {
            let value = match metric.value {
                MetricValue::Count(count) => count.to_string(),
                MetricValue::Real(real) => real.to_string(),
            };
            put(&metric.name, value);
        }
        for kind in &timing.instances {
            let kind_name = kind.kind.name();
            for counter in &kind.counters {
                for (index, value) in counter.values.iter().enumerate() {
                    let name = format!("{}[{kind_name} {index}]", counter.name);
                    put(&name, value.to_string());
                }
            }
        }
    }
    columns
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
