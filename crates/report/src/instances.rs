//! Counters of each SM, slice or channel: roll-ups in one table, then one line for each.

use std::fmt::{self, Write};

use device::statistics::{InstanceCounter, InstanceKind, Instances};
use serde_json::{Map, Value, json};

use crate::number::grouped;
use crate::table::{Align, Table};

/// Columns of the table with a line for each: heading and counter.
const fn columns(kind: InstanceKind) -> &'static [(&'static str, &'static str)] {
    match kind {
        InstanceKind::Sm => &[
            ("instructions", "smsp__inst_executed"),
            ("active cycles", "sm__cycles_active"),
            ("L1 sectors", "l1tex__t_sectors"),
            ("hits", "l1tex__t_sectors_lookup_hit"),
            ("misses", "l1tex__t_sectors_lookup_miss"),
            (
                "shared cycles",
                "l1tex__data_pipe_lsu_wavefronts_mem_shared",
            ),
        ],
        InstanceKind::Slice => &[
            ("requests", "lts__t_requests"),
            ("sectors", "lts__t_sectors"),
            ("hits", "lts__t_sectors_lookup_hit"),
            ("misses", "lts__t_sectors_lookup_miss"),
            ("read", "lts__t_sectors_op_read"),
            ("written", "lts__t_sectors_op_write"),
            ("dirty", "l2_sectors_dirty"),
        ],
        InstanceKind::Channel => &[
            ("sectors read", "dram__sectors_read"),
            ("written", "dram__sectors_write"),
            ("row hits", "dram_row_hits"),
            ("activations", "dram_row_activations"),
            ("turns", "dram_turns"),
            ("busy", "dram__cycles_active"),
        ],
    }
}

/// The tables of one kind.
pub(crate) fn write(out: &mut String, instances: &Instances) -> fmt::Result {
    let kind = instances.kind.name();
    writeln!(out, "\n  per {kind}, {} of them", instances.count())?;
    let mut table = Table::new(&[
        ("counter", Align::Left),
        ("sum", Align::Right),
        ("avg", Align::Right),
        ("min", Align::Right),
        ("max", Align::Right),
    ])
    .indented(4);
    let whole = |value: Option<u64>| value.map_or(String::new(), grouped);
    for counter in instances.counters.iter().filter(|counter| counts(counter)) {
        table.row([
            counter.name.to_owned(),
            whole(counter.sum()),
            counter
                .average()
                .map_or(String::new(), |a| format!("{a:.1}")),
            whole(counter.smallest()),
            whole(counter.largest()),
        ]);
    }
    write!(out, "{table}")?;

    let columns: Vec<(&str, &InstanceCounter)> = columns(instances.kind)
        .iter()
        .filter_map(|(head, name)| Some((*head, instances.counter(name)?)))
        .collect();
    let mut heads = vec![(kind, Align::Right)];
    heads.extend(columns.iter().map(|(head, _)| (*head, Align::Right)));
    let mut table = Table::new(&heads).indented(4);
    for index in 0..instances.count() {
        let cells = columns
            .iter()
            .map(|(_, counter)| grouped(counter.values[index]));
        table.row(std::iter::once(index.to_string()).chain(cells));
    }
    write!(out, "\n{table}")
}

/// Whether there is anything to tell of it.
fn counts(counter: &InstanceCounter) -> bool {
    counter.values.iter().any(|&value| value > 0)
}

/// The same for programs.
pub(crate) fn json(instances: &Instances) -> Value {
    let counters: Map<String, Value> = instances
        .counters
        .iter()
        .map(|counter| {
            let mut object = Map::new();
            let mut put = |name: &str, value: Option<Value>| {
                value.map(|value| object.insert(name.to_owned(), value))
            };
            put("unit", Some(json!(counter.unit)));
            put("sum", counter.sum().map(|sum| json!(sum)));
            put("avg", counter.average().map(|average| json!(average)));
            put("min", counter.smallest().map(|least| json!(least)));
            put("max", counter.largest().map(|most| json!(most)));
            put("values", Some(json!(counter.values)));
            (counter.name.to_owned(), Value::Object(object))
        })
        .collect();
    json!({ "count": instances.count(), "counters": counters })
}
