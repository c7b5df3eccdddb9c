//! docs/probes.md names exactly the probes that there are, in their order.

#![allow(clippy::unwrap_used)]

use std::path::Path;

#[test]
fn the_page_names_the_probes() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/probes.md");
    let text = std::fs::read_to_string(page).unwrap();
    let headings = text
        .lines()
        .filter_map(|line| line.strip_prefix("## `")?.strip_suffix('`'));
    let names = probe::ALL.iter().map(|probe| probe.name);
    assert_eq!(headings.collect::<Vec<_>>(), names.collect::<Vec<_>>());
}
