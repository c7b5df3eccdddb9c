//! What the pages of docs/stages name exists: experiments of `lab/` and parameters of GPUs.

use std::path::Path;

/// Words in backticks of all pages, with their page.
fn words() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/stages");
    let mut words = Vec::new();
    for entry in std::fs::read_dir(folder).expect("docs/stages") {
        let path = entry.expect("a page").path();
        let page = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let text = std::fs::read_to_string(&path).expect("a page");
        for word in text.split('`').skip(1).step_by(2) {
            words.push((page.clone(), word.to_owned()));
        }
    }
    words
}

#[test]
fn experiments_exist() {
    let documents = lab::built_in::documents().expect("the built-in files");
    let known: Vec<&str> = documents
        .iter()
        .flat_map(|document| &document.experiments)
        .map(|experiment| experiment.id.as_str())
        .collect();
    let mut named = 0;
    for (page, word) in words() {
        let of_lab = ["a100_", "ga106_", "tu_", "paper_", "rtx4090_"];
        if of_lab.iter().any(|prefix| word.starts_with(prefix)) {
            assert!(
                known.contains(&word.as_str()),
                "{page}: no experiment `{word}`"
            );
            named += 1;
        }
    }
    assert!(named >= 60, "{named} experiments named");
}

#[test]
fn parameters_exist() {
    let declared = device::declarations();
    let sections: Vec<&str> = declared
        .iter()
        .flat_map(|list| list.iter())
        .map(|declaration| declaration.key.split('.').next().unwrap_or(""))
        .collect();
    let mut named = 0;
    for (page, word) in words() {
        let Some((section, _)) = word.split_once('.') else {
            continue;
        };
        let plain = word
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "._".contains(c));
        if plain && sections.contains(&section) {
            let mut all = declared.iter().flat_map(|list| list.iter());
            assert!(
                all.any(|declaration| declaration.key == word),
                "{page}: no parameter `{word}`"
            );
            named += 1;
        }
    }
    assert!(named >= 25, "{named} parameters named");
}

#[test]
fn every_stage_of_the_sm_has_its_page() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for stage in [
        "front_end",
        "issue",
        "dependence",
        "constant_cache",
        "control",
        "allocate",
        "register_file",
        "reuse_cache",
        "units",
        "memory_unit",
        "barrier",
        "fence",
    ] {
        let source = root.join("crates/sm/src").join(stage);
        assert!(
            source.is_dir() || source.with_extension("rs").is_file(),
            "{stage}"
        );
        let page = root.join("docs/stages").join(stage).with_extension("md");
        assert!(page.is_file(), "{}", page.display());
    }
}
