//! Descriptions of the instructions in our kernels: what issue has to know is there, and agrees with
//! the unit table.

mod common;

use std::collections::BTreeMap;

use hardware::latency::{LatencyTable, Unit};
use sass::{Class, Instruction, Opcode};

use source::{MemoryKind, Scope, Special, describe};

fn instructions() -> Vec<Instruction> {
    let sections = common::kernels()
        .into_iter()
        .flat_map(|file| common::sections(&file));
    sections
        .flat_map(|code| code.instructions.into_iter().flatten())
        .collect()
}

/// Base mnemonic and suffixes.
fn mnemonic(instruction: &Instruction) -> String {
    let modifiers = instruction.modifiers.iter().map(|modifier| modifier.text());
    std::iter::once(instruction.opcode.text())
        .chain(modifiers)
        .collect::<Vec<_>>()
        .join(".")
}

#[test]
fn special_instructions_are_named() {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for instruction in instructions() {
        let special = describe(&instruction).special;
        let name = mnemonic(&instruction);
        let expected = match name.as_str() {
            "LDGDEPBAR" => Special::CommitCopies,
            "MEMBAR.SC.CTA" => Special::Fence(Scope::Cta),
            "MEMBAR.SC.GPU" | "MEMBAR.ALL.GPU" => Special::Fence(Scope::Gpu),
            "MEMBAR.SC.SYS" => Special::Fence(Scope::System),
            "BAR.SYNC" => Special::CtaBarrier { deferred: false },
            "BAR.SYNC.DEFER_BLOCKING" => Special::CtaBarrier { deferred: true },
            "ERRBAR" => Special::ErrorBarrier,
            "CCTL.IVALL" => Special::InvalidateL1,
            "EXIT" => Special::Exit,
            "FFMA" | "LDG.E" | "BSYNC" => Special::None,
            _ => continue,
        };
        assert_eq!(special, expected, "{name}");
        *seen.entry(name).or_default() += 1;
    }
    for name in ["LDGDEPBAR", "MEMBAR.SC.GPU", "ERRBAR", "CCTL.IVALL", "EXIT"] {
        assert!(seen.contains_key(name), "no {name} in kernels/");
    }
}

#[test]
fn dependence_waits_name_their_counters() {
    let mut waits = 0;
    for instruction in instructions().iter().filter(|i| i.opcode == Opcode::DEPBAR) {
        let Special::WaitCounter {
            counter,
            at_most,
            others,
        } = describe(instruction).special
        else {
            panic!("DEPBAR is no wait");
        };
        assert!(counter < 6 && at_most < 64 && others < 64);
        waits += 1;
    }
    assert!(waits > 0, "no DEPBAR in kernels/");
}

#[test]
fn clocks_are_clocks_and_zeroing_is_not() {
    let mut kinds: BTreeMap<bool, u32> = BTreeMap::new();
    for instruction in instructions().iter().filter(|i| i.opcode == Opcode::CS2R) {
        let number = instruction
            .operands
            .iter()
            .find_map(|operand| match operand {
                sass::Operand::SpecialRegister(number) => Some(*number),
                _ => None,
            });
        let clock = matches!(number, Some(80..=83));
        assert_eq!(describe(instruction).special == Special::Clock, clock);
        *kinds.entry(clock).or_default() += 1;
    }
    assert!(kinds.contains_key(&false), "no CS2R in kernels/");
}

#[test]
fn the_memory_unit_is_described_where_the_table_sends_it() {
    let table = LatencyTable::load(86, Class::NAMES).unwrap_or_else(|error| panic!("{error}"));
    let mut kinds: BTreeMap<MemoryKind, u32> = BTreeMap::new();
    for instruction in instructions() {
        let description = describe(&instruction);
        let unit = table.unit(description.class.index()).unit;
        let name = mnemonic(&instruction);
        assert_eq!(description.memory.is_some(), unit == Unit::Memory, "{name}");
        let Some(shape) = description.memory else {
            continue;
        };
        assert!(matches!(shape.bytes, 1 | 2 | 4 | 8 | 16), "{name}");
        assert!(description.constant.is_none(), "{name}");
        *kinds.entry(shape.kind).or_default() += 1;
    }
    for kind in [
        MemoryKind::GlobalLoad,
        MemoryKind::GlobalStore,
        MemoryKind::GlobalAtomic,
        MemoryKind::SharedLoad,
        MemoryKind::MatrixLoad,
        MemoryKind::SharedStore,
        MemoryKind::CopyToShared,
        MemoryKind::Pass,
    ] {
        assert!(kinds.contains_key(&kind), "no {kind:?} in kernels/");
    }
}
