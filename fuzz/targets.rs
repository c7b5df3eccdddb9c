//! What each fuzz target does with its input. The targets of fuzz_targets/ call these under the
//! fuzzer; crates/warpath/tests/fuzz_corpora.rs replays the corpora with them.

/// A target: takes any bytes.
pub type Target = fn(&[u8]);

/// All targets with the folder of their corpus: the printer's inputs are the decoder's.
pub const TARGETS: [(&str, &str, Target); 6] = [
    ("decoder", "decoder", decoder),
    ("printer", "decoder", printer),
    ("assembler", "assembler", assembler),
    ("cubin", "cubin", cubin),
    ("fatbin", "fatbin", fatbin),
    ("launch_file", "launch_file", launch_file),
];

/// The words of the input for the architecture that its first byte chooses, with their addresses.
fn words(data: &[u8]) -> impl Iterator<Item = (u64, sass::Word, sass::Architecture)> + '_ {
    let (&choice, code) = data.split_first().unwrap_or((&0, &[]));
    let architectures = sass::Architecture::ALL;
    let architecture = architectures[usize::from(choice) % architectures.len()];
    let words = code.as_chunks::<16>().0;
    (0..)
        .step_by(16)
        .zip(words)
        .map(move |(pc, bytes)| (pc, sass::Word::from_bytes(*bytes), architecture))
}

/// Any word gives an instruction or an unknown; what time and hazards need of it never fails.
pub fn decoder(data: &[u8]) {
    for (_, word, architecture) in words(data) {
        match sass::decode(word, architecture) {
            sass::Decoded::Instruction(instruction) => {
                let _ = sass::footprint(&instruction);
                let _ = device::executes(&instruction);
            }
            sass::Decoded::Unknown(unknown) => assert!(unknown == word),
        }
    }
}

/// Any instruction prints on one line.
pub fn printer(data: &[u8]) {
    for (pc, word, architecture) in words(data) {
        if let sass::Decoded::Instruction(instruction) = sass::decode(word, architecture) {
            let text = instruction.display(pc).to_string();
            assert!(!text.is_empty() && !text.contains('\n'), "{text}");
        }
    }
}

/// Any text assembles or gives an error with its place in the text.
pub fn assembler(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data)
        && let Err(error) = sass::assemble::assemble(text, Some(sass::Architecture::Sm86))
    {
        assert!(!error.to_string().is_empty());
    }
}

fn look_at(cubin: &cubin::Cubin) {
    for kernel in cubin.kernels() {
        let _ = cubin.kernel(&kernel.name);
        let _ = cubin.constant_bank(2, Some(kernel.section));
    }
    let _ = cubin.load(&cubin::LoadBases {
        global: 0x7f00_0000_0000,
        code: 0x7e00_0000_0000,
        externs: 0x7d00_0000_0000,
    });
    if let Ok(table) = cubin.line_table() {
        for function in cubin.functions() {
            for offset in (0..function.code.len() as u64).step_by(16).take(64) {
                let _ = table.chain(function.section, offset);
            }
        }
    }
}

/// Any bytes are a cubin or give an error; a cubin can be looked at and loaded or refused.
pub fn cubin(data: &[u8]) {
    match cubin::Cubin::parse(data) {
        Ok(cubin) => look_at(&cubin),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Any bytes are a container or give an error; its images unpack or are refused.
pub fn fatbin(data: &[u8]) {
    match cubin::Container::parse(data) {
        Ok(cubin::Container::Cubin(_)) => {}
        Ok(container) => {
            let _ = container.cubins_for(86);
            for unpacked in container.cubins().unwrap_or_default() {
                let _ = cubin::Cubin::parse(&unpacked.bytes);
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Any text is a launch file or gives an error.
pub fn launch_file(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data)
        && let Err(error) = device::launch::Workload::parse("fuzz.toml", text)
    {
        assert!(!error.to_string().is_empty());
    }
}
