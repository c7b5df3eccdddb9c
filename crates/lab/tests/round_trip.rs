//! Every committed cubin comes back from its text: code, resources, parameters, constant banks.

use std::path::{Path, PathBuf};

use cubin::Cubin;
use sass::Architecture;

fn cubins(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).expect("a folder");
    for entry in entries {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            cubins(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "cubin") {
            found.push(path);
        }
    }
}

#[test]
fn every_kernel_comes_back_byte_for_byte() {
    let mut files = Vec::new();
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels");
    cubins(&kernels, &mut files);
    files.sort();
    assert!(files.len() > 100, "{} cubins", files.len());
    let (mut instructions, mut masked) = (0, 0);
    for file in &files {
        let bytes = std::fs::read(file).expect("a cubin");
        let cubin = Cubin::parse(&bytes).expect("a cubin");
        let Some(architecture) = Architecture::from_number(cubin.sm()) else {
            panic!("{}: sm_{}", file.display(), cubin.sm());
        };
        let kernels: Vec<_> = cubin.kernels().iter().collect();
        let text = lab::text_of(&cubin, &kernels, architecture);
        masked += text.lines().filter(|line| line.contains(" ^0x")).count();
        let assembly = sass::assemble::assemble(&text, None)
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let written = lab::new_cubin(&assembly).write().expect("a cubin");
        let back = Cubin::parse(&written).expect("a readable cubin");
        assert_eq!(back.kernels().len(), kernels.len());
        for (ours, theirs) in back.kernels().iter().zip(kernels) {
            let place = format!("{}: {}", file.display(), theirs.name);
            assert!(ours.code == theirs.code, "{place}: code");
            assert_eq!(ours.name, theirs.name, "{place}");
            assert_eq!(ours.registers, theirs.registers, "{place}");
            assert_eq!(ours.barriers, theirs.barriers, "{place}");
            assert_eq!(ours.static_shared, theirs.static_shared, "{place}");
            assert_eq!(ours.local_per_thread, theirs.local_per_thread, "{place}");
            assert_eq!(ours.parameters, theirs.parameters, "{place}");
            assert_eq!(ours.parameter_base, theirs.parameter_base, "{place}");
            assert_eq!(ours.constant2, theirs.constant2, "{place}");
            instructions += ours.code.len() / 16;
        }
        // A text names a bank's words: the last one is filled up with zeros.
        let words = |cubin: &Cubin| {
            let mut bytes = cubin.constant_bank(3, None)?.to_vec();
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            Some(bytes)
        };
        assert_eq!(words(&back), words(&cubin));
    }
    // Code of CUDA 11.8 and 12.9 does not show the descriptor register; few other bits are hidden.
    assert!(
        masked * 50 < instructions,
        "{masked} of {instructions} instructions need a mask"
    );
}
