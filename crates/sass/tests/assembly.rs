//! Text to words and back: the committed corpora, words that mean nothing, bad text.

use proptest::prelude::*;
use sass::assemble::{AssembleError, Names, Symbols, assemble, assembly_text, instruction};
use sass::{Architecture, Word};

fn hex(text: &str) -> u64 {
    u64::from_str_radix(text, 16).expect("hexadecimal")
}

/// Reads one line at address `pc`.
fn read(text: &str, pc: u64, architecture: Architecture) -> Result<Word, AssembleError> {
    let names = Names {
        labels: &|_| None,
        symbols: &Symbols::new(),
    };
    if text.starts_with(".word") {
        let assembly = assemble(text, Some(architecture))?;
        return Ok(assembly.kernels[0].instructions[0].word);
    }
    instruction(text, 1, pc, architecture, names).map(|line| line.word)
}

fn word_of(text: &str) -> Word {
    read(text, 0, Architecture::Sm86).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The word of a line of the corpus, with its address.
fn words(corpus: &str) -> impl Iterator<Item = (u64, Word)> + '_ {
    let lines = corpus.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| {
        let mut parts = line.splitn(4, ' ');
        let mut part = || parts.next().expect("four parts");
        let pc = hex(part());
        (pc, Word::from_halves(hex(part()), hex(part())))
    })
}

/// Every word of the corpus comes back; the corpus also holds words with flipped bits, which need a mask.
fn round_trips(architecture: Architecture, corpus: &str) {
    let (mut lines, mut masked) = (0, 0);
    for (pc, word) in words(corpus) {
        let text = assembly_text(word, pc, architecture);
        let back = read(&text, pc, architecture);
        assert_eq!(back.as_ref(), Ok(&word), "{text}");
        lines += 1;
        masked += usize::from(text.contains('^'));
    }
    assert!(lines > 3000, "{lines} lines");
    assert!(masked * 5 < lines, "{masked} of {lines} lines need a mask");
}

#[test]
fn corpus_of_sm_80_round_trips() {
    round_trips(Architecture::Sm80, include_str!("corpus/sm_80.txt"));
}

#[test]
fn corpus_of_sm_86_round_trips() {
    round_trips(Architecture::Sm86, include_str!("corpus/sm_86.txt"));
}

#[test]
fn corpus_of_sm_89_round_trips() {
    round_trips(Architecture::Sm89, include_str!("corpus/sm_89.txt"));
}

#[test]
fn random_words_round_trip() {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut instructions = 0;
    for round in 0..60_000usize {
        let word = Word::from_halves(random(), random());
        let architecture = Architecture::ALL[round % Architecture::ALL.len()];
        let text = assembly_text(word, 0x40, architecture);
        assert_eq!(read(&text, 0x40, architecture), Ok(word), "{text}");
        instructions += usize::from(!text.starts_with(".word"));
    }
    assert!(instructions > 500, "{instructions} instructions");
}

#[test]
fn text_stands_for_what_the_compiler_writes() {
    for (text, low, high) in [
        (
            "[B------:R-:W-:-:S04] FFMA R4, R4, R5, R6 ;",
            0x0000_0005_0404_7223,
            0x000f_e800_0000_0006,
        ),
        (
            "[B------:R-:W-:-:S01] NOP",
            0x0000_0000_0000_7918,
            0x000f_e200_0000_0000,
        ),
        (
            "[B------:R-:W-:-:S01] IADD3 R5, P1, R3, R0, RZ ;",
            0x0000_0000_0305_7210,
            0x000f_e200_07f3_e0ff,
        ),
    ] {
        let word = word_of(text);
        assert_eq!(word, Word::from_halves(low, high), "{text}: {word:x?}");
    }
}

#[test]
fn reuse_and_control_reach_their_bits() {
    let word = word_of("[B-1--4-:R3:W5:Y:S00] FFMA R4, R4.reuse, R5, R6.reuse ;");
    let control = sass::Control::decode(word);
    assert_eq!(control.wait_mask, 0b01_0010);
    assert_eq!(control.read_counter, Some(3));
    assert_eq!(control.write_counter, Some(5));
    assert!(control.yields);
    assert_eq!(control.stall, 0);
    assert_eq!(control.reuse, 0b101);
}

#[test]
fn floating_literals_are_exact() {
    for (literal, bits) in [
        ("1", 0x3f80_0000u64),
        ("-0.0", 0x8000_0000),
        ("+INF", 0x7f80_0000),
        ("-QNAN", 0xffc0_0000),
        ("1.4012984643248170709e-45", 1),
        ("0x7f800001", 0x7f80_0001),
        ("3.4028234663852885981e+38", 0x7f7f_ffff),
    ] {
        let word = word_of(&format!("[B------:R-:W-:-:S04] FADD R20, RZ, {literal} ;"));
        assert_eq!(word.bits(32, 32), bits, "{literal}");
    }
    // Half precision: ties to even, overflow to infinity.
    for (literal, bits) in [
        ("0.5", 0x3800u64),
        ("0.333251953125", 0x3555),
        ("65519", 0x7bff),
        ("65520", 0x7c00),
        ("5.9604644775390625e-08", 1),
    ] {
        let word = word_of(&format!(
            "[B------:R-:W-:-:S04] HADD2 R1, R2, {literal}, {literal} ;"
        ));
        assert_eq!(word.bits(32, 32), bits << 16 | bits, "{literal}");
    }
}

#[test]
fn a_program_of_directives_labels_and_repetition() {
    let text = "\
.arch sm_80
.equ TWICE, 2
.kernel first
.param 4 count
.param 8 out /* aligned to 8 */
.shared 0x80
.const 3, 1, 0xffffffff
start: [B------:R-:W-:-:S01] MOV R1, c[0x0][out] ;
.rept TWICE
    .rept 2
    [B------:R-:W-:-:S04] IADD3 R9, R1, -0x1, RZ ;
    .endr
.endr
    [B------:R-:W-:Y:S05] @P0 BRA start ;
    [B------:R-:W-:Y:S05] EXIT ;
.kernel second
.registers 40
start:
    [B------:R-:W-:Y:S05] BRA start // its own label
";
    let assembly = assemble(text, None).expect("a program");
    assert_eq!(assembly.architecture, Architecture::Sm80);
    let [first, second] = &assembly.kernels[..] else {
        panic!("two kernels");
    };
    assert_eq!(first.name, "first");
    assert_eq!(first.instructions.len(), 7);
    assert_eq!(first.registers, 12, "R0 to R9 and the reserved two");
    assert_eq!(first.shared, 128);
    let offsets: Vec<_> = first
        .parameters
        .iter()
        .map(|p| (p.size, p.offset))
        .collect();
    assert_eq!(offsets, [(4, 0), (8, 8)]);
    assert_eq!(assembly.constant3, [1, 0, 0, 0, 255, 255, 255, 255]);
    // c[0x0][0x168], in words of four bytes.
    assert_eq!(first.instructions[0].word.bits(40, 14), 0x168 / 4);
    let branch = sass::decode(first.instructions[5].word, Architecture::Sm80);
    let sass::Decoded::Instruction(branch) = branch else {
        panic!("a branch");
    };
    assert_eq!(branch.display(0x50).to_string(), "@P0 BRA 0x0");
    assert_eq!(first.instructions[5].line, 14);
    assert_eq!(second.registers, 40);
    assert_eq!(second.instructions.len(), 1);
}

#[test]
fn control_fields_can_be_left_open() {
    let text = "FFMA R4, R4, R5, R6 ;\n[B?:R-:W-:-:S?] NOP ;\n[B------:R-:W-:-:S01] NOP ;";
    let assembly = assemble(text, Some(Architecture::Sm86)).expect("a program");
    let kernel = &assembly.kernels[0];
    assert_eq!(kernel.first_open().map(|line| line.line), Some(1));
    let control = kernel.instructions[1].control;
    assert_eq!((control.wait_mask, control.stall), (None, None));
    assert_eq!(control.yields, Some(false));
    assert!(kernel.instructions[2].control.closed().is_some());
}

/// Each bad text with the place, the token and a part of what is expected there.
#[test]
fn errors_name_line_column_token_and_expectation() {
    for (text, line, column, token, expected) in [
        ("[B------:R-:W-:-:S01] FROB R1 ;", 1, 23, "FROB", "mnemonic"),
        ("\n  [B-----:R-:W-:-:S01] NOP ;", 2, 10, ":", "`5` or `-`"),
        ("[B------:R7:W-:-:S01] NOP ;", 1, 11, "7", "counter 0 to 5"),
        ("[B------:R-:W-:-:S16] NOP ;", 1, 19, "16", "stall count"),
        (
            "[B------:R-:W-:-:S01] FADD R256, R1, R2",
            1,
            28,
            "R256",
            "R0 to R254",
        ),
        ("[B------:R-:W-:-:S01] FADD R1, R2", 1, 34, "", "`,`"),
        (
            "[B------:R-:W-:-:S01] FADD.X R1, R2, R3",
            1,
            28,
            "X",
            ".FTZ",
        ),
        (
            "[B------:R-:W-:-:S01] FADD.QQ R1, R2, R3",
            1,
            28,
            "QQ",
            "suffix of FADD",
        ),
        (
            "[B------:R-:W-:-:S01] NOP ; NOP",
            1,
            29,
            "NOP",
            "end of the line",
        ),
        (
            "[B------:R-:W-:-:S01] BRA nowhere ;",
            1,
            27,
            "nowhere",
            "label",
        ),
        ("[B------:R-:W-:-:S01] @P7 EXIT ;", 1, 24, "P7", "P0 to P6"),
        (
            "[B------:R-:W-:-:S01] IADD3 R1, R2, 0x100000000, R3",
            1,
            37,
            "0x100000000",
            "32 bits",
        ),
        (
            "[B------:R-:W-:-:S01] LDS R1, [R2.X3] ;",
            1,
            34,
            ".X3",
            "`]`",
        ),
        (".rept 2\n NOP", 1, 8, "", ".endr"),
        (".endr", 1, 1, ".endr", ".rept"),
        (".shared -1", 1, 9, "-", "shared memory"),
        ("a:\na:", 2, 1, "a", "label that is new"),
        (".frob 1", 1, 1, ".frob", ".kernel"),
        (
            ".kernel k\n.arch sm_80",
            2,
            1,
            ".arch",
            "before the first kernel",
        ),
    ] {
        let error = assemble(text, Some(Architecture::Sm86)).expect_err(text);
        assert_eq!(
            (error.line, error.column),
            (line, column),
            "{text}: {error}"
        );
        assert_eq!(error.token, token, "{text}: {error}");
        assert!(error.expected.contains(expected), "{text}: {error}");
    }
    let error = assemble("NOP", None).expect_err("no architecture");
    assert!(error.expected.contains(".arch"), "{error}");
}

#[test]
fn repetition_cannot_run_away() {
    let text = ".rept 1000000\n.rept 1000000\n// nothing\n.endr\n.endr";
    assert!(assemble(text, Some(Architecture::Sm86)).is_err());
    let text = ".rept 1000000\n.rept 1000000\nNOP\n.endr\n.endr";
    assert!(assemble(text, Some(Architecture::Sm86)).is_err());
    let text = ".rept 1\n".repeat(100_000);
    assert!(assemble(&text, Some(Architecture::Sm86)).is_err());
}

/// Lines that are nearly right.
fn near_lines() -> impl Strategy<Value = String> {
    let corpus = include_str!("corpus/sm_86.txt");
    let lines: Vec<String> = words(corpus)
        .step_by(7)
        .map(|(pc, word)| assembly_text(word, pc, Architecture::Sm86))
        .collect();
    let place = any::<prop::sample::Index>();
    let piece = prop_oneof![
        Just(String::new()),
        "[\\[\\]{}|.,;:+~!@^/*?-]{1,2}",
        "[0-9a-fxRUPZSBW.]{1,4}",
        "\\PC{1,2}",
        Just(".reuse".to_owned()),
        Just("desc[UR4]".to_owned()),
        Just("c[0x0][0x160]".to_owned()),
    ];
    (prop::sample::select(lines), place.clone(), place, piece).prop_map(
        |(line, from, length, piece)| {
            let starts: Vec<usize> = line.char_indices().map(|(at, _)| at).collect();
            let from = starts[from.index(starts.len())];
            let rest: Vec<usize> = line[from..]
                .char_indices()
                .map(|(at, _)| at)
                .take(6)
                .collect();
            let to = from + rest[length.index(rest.len())];
            format!("{}{piece}{}", &line[..from], &line[to..])
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_text_gives_words_or_an_error(text in "(\\PC{0,40}\n){0,4}") {
        let _ = assemble(&text, Some(Architecture::Sm86));
    }

    #[test]
    fn nearly_right_lines_give_words_or_an_error(lines in prop::collection::vec(near_lines(), 1..3)) {
        let text = lines.join("\n");
        match assemble(&text, Some(Architecture::Sm86)) {
            // What is accepted is canonical after one turn.
            Ok(assembly) => for (index, line) in assembly.kernels.iter().flat_map(|k| &k.instructions).enumerate() {
                let pc = index as u64 * 16;
                let text = assembly_text(line.word, pc, Architecture::Sm86);
                prop_assert_eq!(read(&text, pc, Architecture::Sm86), Ok(line.word), "{}", text);
            },
            Err(error) => {
                prop_assert!(error.line >= 1 && error.line <= lines.len());
                prop_assert!(error.column >= 1 && !error.expected.is_empty(), "{}", error);
            }
        }
    }
}
