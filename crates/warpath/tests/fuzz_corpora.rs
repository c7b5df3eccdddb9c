//! Replays the corpora of the fuzz targets on the stable compiler: what once made a parser fail, and
//! a sample of what the fuzzer found interesting, stays right.

#[path = "../../../fuzz/targets.rs"]
mod targets;

use std::path::Path;

#[test]
fn every_corpus_is_replayed() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (name, corpus, target) in targets::TARGETS {
        let folder = corpora.join(corpus);
        let entries = std::fs::read_dir(&folder);
        let entries = entries.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut inputs = 0;
        for entry in entries.flatten() {
            if let Ok(bytes) = std::fs::read(entry.path()) {
                target(&bytes);
                inputs += 1;
            }
        }
        assert!(inputs >= 10, "{name}: a corpus of {inputs} inputs");
    }
}
