//! The list of metrics and stall reasons as a document, from their declarations: docs/metrics.md.

use std::fmt::Write;

/// The document.
pub fn markdown() -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write_markdown(&mut text);
    text
}

fn write_markdown(out: &mut String) -> std::fmt::Result {
    out.push_str(
        "# Metrics\n\n\
         Made from the declarations in the code; `BLESS=1 cargo test -p report` writes it anew.\n\n\
         Names are Nsight Compute's where they mean the same; names without `__` are Warpath's. A metric\n\
         that has no value (a hit rate without accesses) is absent. `--format json` gives them under\n\
         `metrics`, the issue slots under `issue_slots`. `--per sm,slice,channel` tells what ends in `.sum`\n\
         apart for each SM, L2 slice and DRAM channel, with sum, average, smallest and largest value.\n\n\
         ## Issue slots\n\n\
         A slot is one scheduler in one cycle. Each is charged to one reason; an empty one to the warp that\n\
         the scheduler would have tried first.\n\n\
         | reason | what became of the slot |\n|---|---|\n",
    );
    for (name, doc) in device::statistics::stall_reasons() {
        writeln!(out, "| `{name}` | {doc} |")?;
    }
    for (part, list) in device::statistics::METRICS {
        write!(
            out,
            "\n## {part}\n\n| metric | unit | meaning |\n|---|---|---|\n"
        )?;
        for metric in *list {
            writeln!(
                out,
                "| `{}` | {} | {} |",
                metric.name, metric.unit, metric.doc
            )?;
        }
    }
    out.push_str("\n## Crossbar, L2 and DRAM\n\n| metric | unit | meaning |\n|---|---|---|\n");
    for (name, unit, doc) in device::statistics::memory_side() {
        writeln!(out, "| `{name}` | {unit} | {doc} |")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_document_is_up_to_date() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metrics.md");
        let text = super::markdown();
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(path, &text).unwrap();
        }
        let committed = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            committed == text,
            "docs/metrics.md: BLESS=1 cargo test -p report"
        );
    }
}
