//! The life of one memory instruction: text of one screen, JSON, and a drawing.

use std::fmt::{self, Write};

use device::{Chosen, Hop, Line, RowState, Structure, WalkReport, packets};
use serde_json::{Map, Value, json};

use crate::table::{Align, Table};

/// What a drawing and its head say beside the walk itself.
#[derive(Debug, Clone)]
pub struct Title {
    /// Name of the GPU.
    pub gpu: String,
    /// The kernel.
    pub kernel: String,
    /// The core clock in MHz.
    pub clock: f64,
    /// Whether the launch began with what copies had left in L2; with an empty L2 if not.
    pub warm_l2: bool,
}

/// What the whole walk came to.
struct Totals {
    sectors: u32,
    lines: usize,
    translations: usize,
    crossings: usize,
    slices: usize,
    activations: usize,
    columns: usize,
    /// Passes through shared memory, of an access that goes there.
    passes: Option<u32>,
    /// Lines of constants, of an access to those.
    constants: Option<u16>,
}

fn totals(walk: &WalkReport) -> Totals {
    let of = |structure| {
        walk.hops
            .iter()
            .filter(move |hop| hop.structure == structure)
    };
    let mut slices: Vec<u32> = of(Structure::RequestNetwork)
        .filter_map(|hop| match hop.chosen {
            Chosen::Slice { slice } => Some(slice),
            _ => None,
        })
        .collect();
    slices.sort_unstable();
    slices.dedup();
    // A row that opens for several of them opens once; what opens for others is not counted.
    let mut rows: Vec<(u64, u32, u32, u8)> = of(Structure::Row)
        .filter_map(|hop| match hop.chosen {
            Chosen::Bank {
                controller,
                channel,
                bank,
                state: RowState::Opened,
                ..
            } => Some((hop.start.0, controller, channel, bank)),
            _ => None,
        })
        .collect();
    rows.sort_unstable();
    rows.dedup();
    Totals {
        sectors: walk
            .lines
            .iter()
            .map(|line| line.sectors.count_ones())
            .sum(),
        lines: walk.lines.len(),
        translations: of(Structure::Translation).count(),
        crossings: packets(&walk.hops).len(),
        slices: slices.len(),
        activations: rows.len(),
        columns: of(Structure::Column).count(),
        passes: walk.hops.iter().find_map(|hop| match hop.chosen {
            Chosen::Passes { passes } => Some(passes),
            _ => None,
        }),
        constants: of(Structure::ConstantCache).find_map(|hop| match hop.chosen {
            Chosen::Constants { lines, .. } => Some(lines),
            _ => None,
        }),
    }
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// What was chosen, in words; cycles are counted from `issued`.
fn chosen(chosen: Chosen, issued: u64) -> String {
    match chosen {
        Chosen::Nothing => String::new(),
        Chosen::Lines { lines, sectors } => format!(
            "{}, {}",
            counted(lines.into(), "line", "lines"),
            counted(sectors.into(), "sector", "sectors")
        ),
        Chosen::Line {
            set,
            way: Some(way),
            found,
        } => format!("set {set}, way {way}: {}", found.name()),
        Chosen::Line { set, found, .. } => format!("set {set}: {}", found.name()),
        Chosen::Passes { passes } => counted(passes as usize, "pass", "passes"),
        Chosen::Constants { lines, found } => format!(
            "{}: {}",
            counted(lines.into(), "line", "lines"),
            found.name()
        ),
        Chosen::Page { found } => found.name().to_owned(),
        Chosen::Slice { slice } => format!("slice {slice}"),
        Chosen::Bank {
            controller,
            channel,
            bank,
            row,
            column,
            state,
        } => {
            let place = format!(
                "controller {controller}, channel {channel}, bank {bank}, row {row}, column {column}"
            );
            match state {
                RowState::Opened => place,
                RowState::OpenedForAnother => format!("{place}, opened for another"),
                RowState::Open { since } => {
                    let since = since.0 as i128 - i128::from(issued);
                    format!("{place}, open since {since}")
                }
            }
        }
    }
}

/// The numbers of the sectors of a mask.
fn sectors(mask: u8) -> String {
    let each = (0..4).filter(|sector| mask >> sector & 1 == 1);
    let each: Vec<String> = each.map(|sector: u8| sector.to_string()).collect();
    each.join(" ")
}

/// The walk as text.
pub fn text(walk: &WalkReport, title: &Title) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_text(&mut out, walk, title);
    out
}

fn write_text(out: &mut String, walk: &WalkReport, title: &Title) -> fmt::Result {
    writeln!(
        out,
        "{} of warp {} in {} on {}: {:#06x} {}",
        ordinal(walk.nth),
        walk.warp,
        title.kernel,
        title.gpu,
        walk.offset,
        walk.text
    )?;
    writeln!(
        out,
        "SM {}, sub-core {}, CTA {}, {}, issued in cycle {}; {}",
        walk.sm,
        walk.sub_core,
        walk.cta,
        counted(walk.lanes.count_ones() as usize, "lane", "lanes"),
        walk.issued.0,
        match title.warm_l2 {
            true => "L2 began with what copies had left in it",
            false => "L2 began empty",
        }
    )?;
    let t = totals(walk);
    let mut parts = Vec::new();
    if let Some(passes) = t.passes {
        parts.push(counted(passes as usize, "pass", "passes"));
    }
    if let Some(lines) = t.constants {
        parts.push(counted(lines.into(), "constant line", "constant lines"));
    }
    if t.lines > 0 {
        parts.extend([
            counted(t.sectors as usize, "sector", "sectors"),
            counted(t.lines, "line", "lines"),
            counted(t.translations, "translation", "translations"),
        ]);
    }
    if t.lines > 0 || t.crossings > 0 {
        parts.extend([
            counted(t.crossings, "crossing", "crossings"),
            counted(t.slices, "slice", "slices"),
            counted(t.activations, "activation", "activations"),
            counted(t.columns, "column read", "column reads"),
        ]);
    }
    writeln!(
        out,
        "{}: {} cycles = {:.1} ns\n",
        parts.join(", "),
        walk.latency(),
        walk.latency() as f64 * 1000.0 / title.clock
    )?;
    let mut table = Table::new(&[
        ("cycle", Align::Right),
        ("takes", Align::Right),
        ("structure", Align::Left),
        ("chosen", Align::Left),
        ("waited for", Align::Left),
    ]);
    for hop in &walk.way {
        table.row(cells(walk, hop));
    }
    writeln!(out, "{table}")?;
    let (first, last) = (walk.way.first(), walk.way.last());
    if let (Some(first), Some(last)) = (first, last) {
        writeln!(
            out,
            "The steps take {} cycles, from issue to the end.",
            last.end.0 - first.start.0
        )?;
    }
    let others: Vec<&Hop> = walk
        .hops
        .iter()
        .filter(|hop| !walk.way.contains(hop))
        .collect();
    if others.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nOther sectors:")?;
    let mut table = Table::new(&[
        ("cycle", Align::Right),
        ("takes", Align::Right),
        ("structure", Align::Left),
        ("chosen", Align::Left),
        ("waited for", Align::Left),
        ("packet", Align::Right),
        ("sectors", Align::Left),
    ]);
    for hop in others {
        let packet = hop.packet.map_or(String::new(), |id| id.0.to_string());
        let mut row: Vec<String> = cells(walk, hop).into();
        row.extend([packet, sectors(hop.sectors)]);
        table.row(row);
    }
    write!(out, "{table}")
}

fn ordinal(nth: u64) -> String {
    format!("execution {nth}")
}

fn cells(walk: &WalkReport, hop: &Hop) -> [String; 5] {
    [
        (hop.start.0 - walk.issued.0).to_string(),
        hop.cycles().to_string(),
        hop.structure.name().to_owned(),
        chosen(hop.chosen, walk.issued.0),
        hop.wait
            .map_or(String::new(), |wait| wait.name().to_owned()),
    ]
}

/// The walk as JSON.
pub fn json(walk: &WalkReport, title: &Title) -> Value {
    let t = totals(walk);
    let lines: Vec<Value> = walk
        .lines
        .iter()
        .map(|line| {
            json!({
                "virtual_address": line.line.0 * Line::BYTES,
                "sectors": line.sectors,
                "first_packet": line.packets.map(|(id, _)| id.0),
                "packets": line.packets.map_or(0, |(_, count)| count),
            })
        })
        .collect();
    json!({
        "gpu": title.gpu,
        "kernel": title.kernel,
        "clock_mhz": title.clock,
        "warm_l2": title.warm_l2,
        "sm": walk.sm,
        "sub_core": walk.sub_core,
        "cta": walk.cta,
        "warp": walk.warp,
        "nth": walk.nth,
        "pc": walk.offset,
        "instruction": walk.text,
        "lanes": walk.lanes,
        "issued": walk.issued.0,
        "done": walk.done.0,
        "cycles": walk.latency(),
        "sectors": t.sectors,
        "lines": lines,
        "translations": t.translations,
        "crossings": t.crossings,
        "slices": t.slices,
        "activations": t.activations,
        "column_reads": t.columns,
        "passes": t.passes,
        "constant_lines": t.constants,
        "way": walk.way.iter().map(hop).collect::<Vec<_>>(),
        "hops": walk.hops.iter().map(hop).collect::<Vec<_>>(),
    })
}

fn hop(hop: &Hop) -> Value {
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
    put("structure", json!(hop.structure.name()));
    put("start", json!(hop.start.0));
    put("end", json!(hop.end.0));
    if let Some(packet) = hop.packet {
        put("packet", json!(packet.0));
    }
    if hop.sectors != 0 {
        put("sectors", json!(hop.sectors));
    }
    if let Some(wait) = hop.wait {
        put("wait", json!(wait.name()));
    }
    match hop.chosen {
        Chosen::Nothing => {}
        Chosen::Lines { lines, sectors } => {
            put("lines", json!(lines));
            put("line_sectors", json!(sectors));
        }
        Chosen::Line { set, way, found } => {
            put("set", json!(set));
            if let Some(way) = way {
                put("way", json!(way));
            }
            put("found", json!(found.name()));
        }
        Chosen::Passes { passes } => {
            put("passes", json!(passes));
        }
        Chosen::Constants { lines, found } => {
            put("lines", json!(lines));
            put("found", json!(found.name()));
        }
        Chosen::Page { found } => {
            put("found", json!(found.name()));
        }
        Chosen::Slice { slice } => {
            put("slice", json!(slice));
        }
        Chosen::Bank {
            controller,
            channel,
            bank,
            row,
            column,
            state,
        } => {
            put("controller", json!(controller));
            put("channel", json!(channel));
            put("bank", json!(bank));
            put("row", json!(row));
            put("column", json!(column));
            let open = matches!(state, RowState::Open { .. });
            put("row_was_open", json!(open));
            match state {
                RowState::Opened => put("row_opened_for", json!("this access")),
                RowState::OpenedForAnother => put("row_opened_for", json!("another access")),
                RowState::Open { since } => put("row_open_since", json!(since.0)),
            };
        }
    }
    Value::Object(object)
}

/// Pixels of the drawing: of all cycles, of a lane, beside and above the lanes.
const WIDTH: f64 = 1000.0;
const LANE: usize = 18;
const LEFT: usize = 130;
const TOP: usize = 56;
/// Colours of steps that work and of steps that wait, told apart by eyes that do not see red and green
/// too (Okabe and Ito); others are drawn pale.
const WORKS: &str = "#0072b2";
const WAITS: &str = "#e69f00";

/// A drawing for a browser: structures from top to bottom as the load meets them, time from left to
/// right. What was chosen stands in the title of each mark.
pub fn svg(walk: &WalkReport, title: &Title) -> String {
    let mut lanes: Vec<Structure> = walk.hops.iter().map(|hop| hop.structure).collect();
    lanes.sort_unstable();
    lanes.dedup();
    let cycles = walk.latency().max(1);
    let scale = WIDTH / cycles as f64;
    let (width, height) = (LEFT + WIDTH as usize + 20, TOP + lanes.len() * LANE + 16);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         font-family=\"monospace\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"4\" y=\"14\">{}</text>\n",
        crate::timeline::escaped(&format!(
            "{:#06x} {} of {}, warp {}, on {}: {} cycles",
            walk.offset,
            walk.text,
            title.kernel,
            walk.warp,
            title.gpu,
            walk.latency()
        ))
    );
    let step = [10, 20, 50, 100, 200, 500]
        .into_iter()
        .find(|step| cycles / step <= 20)
        .unwrap_or(cycles.div_ceil(10));
    for cycle in (0..=cycles).step_by(step as usize) {
        let x = LEFT as f64 + cycle as f64 * scale;
        let _ = writeln!(
            svg,
            "<line x1=\"{x:.1}\" y1=\"{}\" x2=\"{x:.1}\" y2=\"{}\" stroke=\"#ddd\"/>\
             <text x=\"{x:.1}\" y=\"40\">{cycle}</text>",
            TOP - 8,
            height - 8
        );
    }
    for (row, structure) in lanes.iter().enumerate() {
        let y = TOP + row * LANE;
        let _ = writeln!(
            svg,
            "<text x=\"4\" y=\"{}\">{}</text>",
            y + 11,
            structure.name()
        );
        for hop in walk.hops.iter().filter(|hop| hop.structure == *structure) {
            let from = hop.start.0.saturating_sub(walk.issued.0) as f64 * scale;
            let wide = (hop.cycles() as f64 * scale).max(1.5);
            let (colour, opacity) = match (hop.wait, walk.way.contains(hop)) {
                (Some(_), true) => (WAITS, 1.0),
                (None, true) => (WORKS, 1.0),
                (Some(_), false) => (WAITS, 0.35),
                (None, false) => (WORKS, 0.35),
            };
            let [start, takes, _, what, wait] = cells(walk, hop);
            let text = [what, wait].join(" ");
            let _ = writeln!(
                svg,
                "<rect x=\"{:.1}\" y=\"{y}\" width=\"{wide:.1}\" height=\"{}\" fill=\"{colour}\" \
                 opacity=\"{opacity}\"><title>{start}, {takes} cycles: {}</title></rect>",
                LEFT as f64 + from,
                LANE - 5,
                crate::timeline::escaped(text.trim())
            );
        }
    }
    svg.push_str("</svg>\n");
    svg
}
