//! What each fuzz target does with its input. The targets of fuzz_targets/ call these under the
//! fuzzer; crates/warpath/tests/fuzz_corpora.rs replays the corpora with them.

/// A target: takes any bytes.
pub type Target = fn(&[u8]);

/// All targets with the folder of their corpus: the printer's inputs are the decoder's.
pub const TARGETS: [(&str, &str, Target); 7] = [
    ("decoder", "decoder", decoder),
    ("printer", "decoder", printer),
    ("assembler", "assembler", assembler),
    ("cubin", "cubin", cubin),
    ("fatbin", "fatbin", fatbin),
    ("launch_file", "launch_file", launch_file),
    ("schedule", "schedule", schedule),
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

/// Instructions that the checks of control bits are given at most: how long they take is no matter of this.
const MOST_SCHEDULED: usize = 96;

/// The rules of each architecture, by a GPU that has it.
fn rules(architecture: sass::Architecture) -> &'static schedule::Rules {
    static RULES: std::sync::OnceLock<Vec<(u32, schedule::Rules)>> = std::sync::OnceLock::new();
    let known = RULES.get_or_init(|| {
        let names = [
            "rtx-2080-ti",
            "a100-sxm4-40gb",
            "rtx-a6000",
            "rtx-4090",
            "h100-pcie",
        ];
        let load = |name: &str| {
            let gpu = hardware::Gpu::load(name).expect("a GPU that is built in");
            let rules = schedule::Rules::of(&gpu).expect("rules of a GPU that is built in");
            (gpu.architecture(), rules)
        };
        names.map(load).into()
    });
    let of = known.iter().find(|(sm, _)| *sm == architecture.number());
    &of.unwrap_or(&known[0]).1
}

/// Control bits of any words are checked and mined, those of any text filled in, any text is a file of
/// mined distances or gives an error with its line.
pub fn schedule(data: &[u8]) {
    let (&choice, data) = data.split_first().unwrap_or((&0, &[]));
    match (choice, std::str::from_utf8(data)) {
        (b'M', Ok(text)) => {
            if let Err(error) = schedule::Mined::from_csv(text) {
                assert!((1..=text.lines().count()).contains(&error.line));
            }
        }
        (b'T', Ok(text)) => fill(text),
        _ => lint(data),
    }
}

fn decoded(word: sass::Word, architecture: sass::Architecture) -> Option<sass::Instruction> {
    match sass::decode(word, architecture) {
        sass::Decoded::Instruction(instruction) => Some(instruction),
        sass::Decoded::Unknown(_) => None,
    }
}

fn lint(data: &[u8]) {
    let words: Vec<_> = words(data).take(MOST_SCHEDULED).collect();
    let Some(&(_, _, architecture)) = words.first() else {
        return;
    };
    let code: Vec<_> = words
        .iter()
        .map(|&(_, word, _)| decoded(word, architecture))
        .collect();
    let rules = rules(architecture);
    let scan = schedule::lint(rules, schedule::Section::kernel(&code));
    for finding in &scan.findings {
        assert!(finding.earlier < code.len() && finding.later < code.len());
        assert!(!finding.fault(rules, &code).name().is_empty());
    }
    let mut mined = schedule::Mined::default();
    mined.add(code.len(), &scan);
    // A pair that is closer than the table allows is a finding, too.
    let smaller = |row: &schedule::mine::Row| row.verdict() == schedule::Verdict::Smaller;
    if mined.rows(&rules.table).iter().any(smaller) {
        assert!(!scan.findings.is_empty());
    }
    let text = mined.to_csv(&rules.table);
    let (again, rows) = schedule::Mined::from_csv(&text).expect("what was written is read");
    assert!(again.instructions == mined.instructions && rows == mined.rows(&rules.table));
}

fn fill(text: &str) {
    let Ok(assembly) = sass::assemble::assemble(text, Some(sass::Architecture::Sm86)) else {
        return;
    };
    let rules = rules(assembly.architecture);
    for kernel in &assembly.kernels {
        if kernel.instructions.len() > MOST_SCHEDULED {
            continue;
        }
        let lines: Vec<_> = (kernel.instructions.iter())
            .map(|line| schedule::fill::Line {
                instruction: decoded(line.word, assembly.architecture),
                given: line.control,
            })
            .collect();
        let words: Vec<_> = kernel.instructions.iter().map(|line| line.word).collect();
        let tables = &schedule::flow::NO_TABLES;
        let filled = schedule::fill::fill(rules, &lines, &words, tables);
        assert!(filled.len() == words.len());
        for ((line, &old), &new) in lines.iter().zip(&words).zip(&filled) {
            let (Some(before), Some(after)) =
                (&line.instruction, decoded(new, assembly.architecture))
            else {
                assert!(old == new);
                continue;
            };
            assert!(
                before.display(0).to_string().replace(".reuse", "")
                    == after.display(0).to_string().replace(".reuse", "")
            );
            let (given, control) = (line.given, after.control);
            assert!(given.stall.is_none_or(|stall| stall == control.stall));
            assert!(given.yields.is_none_or(|yields| yields == control.yields));
            assert!(given.wait_mask.is_none_or(|mask| mask == control.wait_mask));
            assert!(
                given
                    .write_counter
                    .is_none_or(|counter| counter == control.write_counter)
            );
            assert!(
                given
                    .read_counter
                    .is_none_or(|counter| counter == control.read_counter)
            );
        }
    }
}
