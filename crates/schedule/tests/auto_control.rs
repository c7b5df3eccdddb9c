//! Control bits that `fill` gives to code without any: `lint` has nothing to say of them, fields that are
//! given stay, and the warp issues about as fast as with the compiler's.

mod common;

use std::collections::BTreeMap;

use common::{Code, GPUS, rules};
use sass::assemble::ControlText;
use sass::{Control, Decoded, Instruction, Word};
use schedule::fill::{Line, fill};
use schedule::{Finding, Hazard, Rules};
use source::Special;

/// `code` with all control bits filled in, those that `given` says kept.
fn filled(
    code: &Code,
    rules: &Rules,
    given: impl Fn(usize, Control) -> ControlText,
) -> Vec<Option<Instruction>> {
    let line = |(index, one): (usize, &Option<Instruction>)| Line {
        instruction: one.as_ref().map(bare),
        given: one
            .as_ref()
            .map_or(ControlText::default(), |one| given(index, one.control)),
    };
    let lines: Vec<Line> = code.instructions.iter().enumerate().map(line).collect();
    let word = |line: &Line| line.instruction.as_ref().map_or(Word(0), |one| one.word);
    let words: Vec<Word> = lines.iter().map(word).collect();
    let words = fill(rules, &lines, &words, &code.tables);
    let decode = |(word, old): (Word, &Option<Instruction>)| {
        let old = old.as_ref()?;
        match sass::decode(word, old.architecture) {
            Decoded::Instruction(instruction) => Some(instruction),
            Decoded::Unknown(_) => None,
        }
    };
    words
        .into_iter()
        .zip(&code.instructions)
        .map(decode)
        .collect()
}

/// The instruction without control bits.
fn bare(instruction: &Instruction) -> Instruction {
    const FIELD: u128 = ((1 << 21) - 1) << 105;
    let control = Control {
        stall: 0,
        yields: false,
        write_counter: None,
        read_counter: None,
        wait_mask: 0,
        reuse: 0,
    };
    let word = Word(instruction.word.0 & !FIELD | control.encode().0);
    match sass::decode(word, instruction.architecture) {
        Decoded::Instruction(bare) => bare,
        Decoded::Unknown(_) => panic!("control bits do not decide what an instruction is"),
    }
}

fn sections(sm: u32, longest: usize) -> Vec<Code> {
    let files = common::kernels().into_iter();
    files
        .filter(|file| file.to_string_lossy().contains(&format!("sm_{sm}")))
        .flat_map(|file| common::sections(&file))
        .filter(|code| code.instructions.len() <= longest)
        .collect()
}

fn told(code: &Code, filled: &[Option<Instruction>], findings: &[Finding]) -> String {
    let show = |index: usize| {
        let one = filled[index].as_ref();
        one.map_or(String::new(), |one| {
            format!(
                "{:04x} {} {}",
                index * 16,
                one.control,
                one.display(index as u64 * 16)
            )
        })
    };
    let lines = findings.iter().take(4).map(|one| {
        format!(
            "{one:?}\n    {}\n    {}",
            show(one.earlier),
            show(one.later)
        )
    });
    format!(
        "{}: {} findings\n{}",
        code.name,
        findings.len(),
        lines.collect::<Vec<_>>().join("\n")
    )
}

/// Cycles of stall counts alone; long stalls of padding and ERRBAR do not count.
fn stalls(rules: &Rules, code: &[Option<Instruction>]) -> u64 {
    let plain = code.iter().flatten().map(|one| one.control);
    let plain = plain.filter(|control| (control.stall, control.yields) != (0, true));
    plain
        .map(|control| u64::from(rules.distance(control)))
        .sum()
}

#[test]
fn every_kernel_gets_control_bits_that_lint_accepts() {
    let longest = match std::env::var_os("WARPATH_SWEEP") {
        Some(_) => usize::MAX,
        None => 300,
    };
    for (sm, _) in GPUS {
        let rules = rules(sm);
        let (mut kernels, mut ours, mut theirs) = (0, 0, 0);
        let mut barriers = 0;
        for code in sections(sm, longest) {
            let filled = filled(&code, &rules, |_, _| ControlText::default());
            let findings = code.lint_mutant(&rules, &filled).findings;
            assert!(findings.is_empty(), "{}", told(&code, &filled, &findings));
            // Nothing slips past a barrier.
            for one in filled.iter().flatten() {
                let Special::CtaBarrier { deferred } = source::describe(one).special else {
                    continue;
                };
                assert!(
                    rules.distance(one.control) >= rules.hold(deferred),
                    "{}",
                    code.name
                );
                barriers += 1;
            }
            kernels += 1;
            ours += stalls(&rules, &filled);
            theirs += stalls(&rules, &code.instructions);
        }
        println!("sm_{sm}: {kernels} functions, {ours} cycles of stalls, the compiler's {theirs}");
        assert!(barriers > 0, "sm_{sm}: no barrier");
        assert!(kernels > 40, "sm_{sm}: {kernels}");
        assert!(2 * ours < 3 * theirs, "sm_{sm}: {ours} and {theirs}");
    }
}

#[test]
fn given_fields_stay() {
    let rules = rules(86);
    let mut kept: BTreeMap<&str, usize> = BTreeMap::new();
    for code in sections(86, 200) {
        // Of the compiler's fields one of each instruction, in turn.
        let given = |index: usize, control: Control| {
            let mut text = ControlText::default();
            match index % 5 {
                0 => text.stall = Some(control.stall),
                1 => text.yields = Some(control.yields),
                2 => text.wait_mask = Some(control.wait_mask),
                3 => text.write_counter = Some(control.write_counter),
                _ => text.read_counter = Some(control.read_counter),
            }
            text
        };
        let filled = filled(&code, &rules, given);
        for (index, (ours, theirs)) in filled.iter().zip(&code.instructions).enumerate() {
            let (Some(ours), Some(theirs)) = (ours, theirs) else {
                continue;
            };
            let (ours, theirs) = (ours.control, theirs.control);
            let (name, same) = match index % 5 {
                0 => ("stall", ours.stall == theirs.stall),
                1 => ("yield", ours.yields == theirs.yields),
                2 => ("wait mask", ours.wait_mask == theirs.wait_mask),
                3 => ("write counter", ours.write_counter == theirs.write_counter),
                _ => ("read counter", ours.read_counter == theirs.read_counter),
            };
            assert!(same, "{}: {name}: {ours} for {theirs}", code.name);
            *kept.entry(name).or_default() += 1;
        }
    }
    assert_eq!(kept.len(), 5);
}

/// With stalls and yields given as the compiler has them, nothing but counters and waits is left to fill.
#[test]
fn what_given_fields_leave_wrong_is_told_by_lint() {
    let rules = rules(86);
    let code = sections(86, 200)
        .into_iter()
        .find(|code| code.name.starts_with("vadd"))
        .expect("kernels/ holds vadd");
    let filled = filled(&code, &rules, |_, _| ControlText {
        stall: Some(1),
        yields: Some(false),
        ..ControlText::default()
    });
    let findings = code.lint_mutant(&rules, &filled).findings;
    let distance = |one: &Finding| matches!(one.hazard, Hazard::Distance(_));
    assert!(findings.iter().any(distance), "{findings:?}");
    assert!(filled.iter().flatten().all(|one| one.control.stall == 1));
}
