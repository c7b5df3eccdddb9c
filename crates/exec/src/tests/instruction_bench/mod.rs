//! The instruction bench: every numeric opcode with every modifier, form and sign that the encoding
//! table knows, over edge values and random ones, against references that share nothing with the
//! code under test (soft floats, 128-bit integers). Words are made from the rows of the table, so a
//! modifier that is added there is tested or reported as missing.

mod conversion;
mod float;
mod integer;
mod lane;
mod special_function;
mod values;
pub(super) mod words;

use std::collections::{BTreeMap, BTreeSet};

use sass::Opcode::*;
use sass::{Instruction, Opcode};

use super::{ALL, Banks, Context, HostIsa, Lanes, Op, Random, Warp, isa_dispatch, lower};
use crate::micro::Vector;
use lane::{Lane, Write};
use values::Contents;

/// Rows of the register file: those that words name, and the second of the last pair.
const REGISTERS: u16 = words::REGISTERS as u16 + 2;
/// Bytes of a constant bank.
const BANK: usize = 1 << 16;

/// A family of opcodes with what their sources hold and their reference.
struct Family {
    opcodes: &'static [Opcode],
    contents: Contents,
    expect: fn(&mut Lane<'_>),
}

const INTEGER: Family = Family {
    opcodes: &[
        BMSK, BREV, FLO, IABS, IADD3, IDP, IMAD, IMNMX, ISETP, LEA, LOP3, MOV, P2R, PLOP3, POPC,
        PRMT, R2P, SEL, SGXT, SHF, VABSDIFF, VABSDIFF4, VIADD, VIADDMNMX, VIMNMX, VIMNMX3,
    ],
    contents: Contents::Integers,
    expect: integer::expect,
};
const UNIFORM: Family = Family {
    opcodes: &[
        UBMSK, UBREV, UFLO, UIADD3, UIMAD, UISETP, ULEA, ULOP3, UMOV, UPLOP3, UPOPC, UPRMT, USEL,
        USGXT, USHF,
    ],
    contents: Contents::Integers,
    expect: integer::expect,
};
const SINGLE: Family = Family {
    opcodes: &[FADD, FFMA, FMNMX, FMUL, FSEL, FSET, FSETP, FSWZADD],
    contents: Contents::Singles,
    expect: float::expect_single,
};
const DOUBLE: Family = Family {
    opcodes: &[DADD, DFMA, DMUL, DSETP],
    contents: Contents::Doubles,
    expect: float::expect_double,
};
const SHORT: Family = Family {
    opcodes: &[HADD2, HFMA2, HMNMX2, HMUL2, HSET2, HSETP2],
    contents: Contents::Halves,
    expect: float::expect_half,
};
const CONVERSION: Family = Family {
    opcodes: &[F2F, F2FP, F2I, F2IP, FRND, I2F, I2FP, I2I, I2IP],
    contents: Contents::Mixed,
    expect: conversion::expect,
};
/// Checked by bounds instead of by bits.
const BOUNDED: &[Opcode] = &[FCHK, MUFU];

/// What exec refuses of these families, with the reason; nothing else may be refused. The vendor's
/// compiler emits none of it.
const REFUSED: &[(Opcode, &str)] = &[
    (FLO, "the predicate result of FLO"),
    (UFLO, "the predicate result of UFLO"),
    (VABSDIFF, "the predicate result of VABSDIFF"),
    (VABSDIFF4, "the predicate result of VABSDIFF4"),
    (HFMA2, "HFMA2.RELU under a predicate"),
    (FMNMX, "FMNMX.IS_A"),
    (ISETP, "the last predicate of ISETP without EX"),
    (HMNMX2, "HMNMX2.F32"),
    (UIADD3, "UIADD3.64"),
    (F2FP, "F2FP to eight-bit floats without SATFINITE"),
    (
        F2FP,
        "F2FP between these types, which no PTX conversion names",
    ),
];

/// A warp whose registers, predicates and uniform registers hold values of a kind.
fn filled(contents: Contents, random: &mut Random) -> Warp {
    let mut warp = Warp::empty();
    warp.start(REGISTERS as usize, ALL, 0);
    for row in (0..REGISTERS as usize).step_by(2) {
        let pairs: Vec<(u32, u32)> = (0..32).map(|_| values::pair(contents, random)).collect();
        warp.registers[row] = Lanes::from_fn(|lane| pairs[lane].0);
        warp.registers[row + 1] = Lanes::from_fn(|lane| pairs[lane].1);
    }
    for number in (0..62).step_by(2) {
        let (low, high) = values::pair(contents, random);
        warp.uniforms[number] = low;
        warp.uniforms[number + 1] = high;
    }
    for number in 0..7 {
        warp.predicates[number] = random.word();
    }
    warp.uniform_predicates = random.word() as u8 | 0x80;
    warp
}

/// The same bytes in every constant bank.
fn constants(contents: Contents, random: &mut Random) -> (Vec<u8>, Banks) {
    let mut bytes = Vec::with_capacity(BANK + 8);
    while bytes.len() < BANK {
        let (low, high) = values::pair(contents, random);
        bytes.extend(low.to_le_bytes());
        bytes.extend(high.to_le_bytes());
    }
    let mut banks = Banks::new();
    for number in 0..32 {
        banks.set(number, bytes.clone());
    }
    (bytes, banks)
}

fn apply(warp: &mut Warp, writes: &[Write], lane: usize) {
    for &write in writes {
        match write {
            Write::Register(255, _) | Write::Uniform(63, _) => {}
            Write::Register(number, value) => warp.registers[number as usize][lane] = value,
            Write::Uniform(number, value) => warp.uniforms[number as usize] = value,
            Write::Predicate(7, _) | Write::UniformPredicate(7, _) => {}
            Write::Predicate(number, value) => {
                let bits = &mut warp.predicates[number as usize];
                *bits = *bits & !(1 << lane) | u32::from(value) << lane;
            }
            Write::UniformPredicate(number, value) => {
                let bits = &mut warp.uniform_predicates;
                *bits = *bits & !(1 << number) | u8::from(value) << number;
            }
        }
    }
}

/// Where two warps differ first, rows of RZ's sink apart.
fn difference(found: &Warp, expected: &Warp) -> Option<String> {
    for row in 0..REGISTERS as usize {
        for lane in 0..32 {
            let (f, e) = (found.registers[row][lane], expected.registers[row][lane]);
            if f != e {
                return Some(format!("R{row} of lane {lane} is {f:#x}, not {e:#x}"));
            }
        }
    }
    for number in 0..7 {
        let (f, e) = (found.predicates[number], expected.predicates[number]);
        if f != e {
            return Some(format!("P{number} is {f:#x}, not {e:#x}"));
        }
    }
    for number in 0..63 {
        let (f, e) = (found.uniforms[number], expected.uniforms[number]);
        if f != e {
            return Some(format!("UR{number} is {f:#x}, not {e:#x}"));
        }
    }
    (found.uniform_predicates != expected.uniform_predicates).then(|| {
        format!(
            "uniform predicates are {:#x}, not {:#x}",
            found.uniform_predicates, expected.uniform_predicates
        )
    })
}

/// The mnemonic with its suffixes.
fn name(instruction: &Instruction) -> String {
    let mut name = instruction.opcode.text().to_owned();
    for modifier in &instruction.modifiers {
        name.push('.');
        name.push_str(modifier.text());
    }
    name
}

/// Runs every word of `opcodes`: `run` gets the lowered operation and the state. Panics where a
/// combination of suffixes is refused for another reason than those listed, or never executed.
fn bench(
    opcodes: &[Opcode],
    contents: Contents,
    variants: usize,
    mut run: impl FnMut(&Instruction, &Vector, &Warp, &[u8], u32) -> Result<(), String>,
) {
    let mut random = Random::new(opcodes[0] as u64 + 1);
    let (bytes, banks) = constants(contents, &mut random);
    let warps: Vec<Warp> = (0..16).map(|_| filled(contents, &mut random)).collect();
    let context = Context {
        pc: 0,
        registers: REGISTERS,
        banks: &banks,
    };
    let mut exercised = BTreeSet::new();
    let mut refused = BTreeMap::new();
    let mut faults: BTreeMap<String, (usize, String)> = BTreeMap::new();
    for &opcode in opcodes {
        words::each(opcode, variants, |instruction| {
            let micro = match lower(instruction, context) {
                Ok(micro) => micro,
                Err(reason) => {
                    let known = REFUSED.contains(&(opcode, reason.0.as_str()));
                    if !known {
                        let fault = format!("refused: {reason}: {}", instruction.display(0));
                        faults.entry(name(instruction)).or_insert((0, fault)).0 += 1;
                    }
                    refused.insert(name(instruction), known);
                    return;
                }
            };
            let Op::Vector(op) = micro.op else {
                panic!("{} leaves the register file", instruction.display(0));
            };
            let warp = &warps[random.word() as usize % warps.len()];
            let mask = if random.word().is_multiple_of(8) {
                random.word() | 1
            } else {
                ALL
            };
            match run(instruction, &op, warp, &bytes, mask) {
                Ok(()) => {
                    exercised.insert(name(instruction));
                }
                Err(fault) => {
                    let text = format!(
                        "{} [{}]: {fault}",
                        instruction.display(0),
                        instruction.architecture
                    );
                    faults.entry(name(instruction)).or_insert((0, text)).0 += 1;
                }
            }
        });
    }
    let report: Vec<String> = faults
        .iter()
        .take(40)
        .map(|(name, (count, text))| format!("{name} ({count}): {text}"))
        .collect();
    assert!(
        faults.is_empty(),
        "{} combinations fail:\n{}",
        faults.len(),
        report.join("\n")
    );
    for name in refused.keys().filter(|name| !exercised.contains(*name)) {
        // Refused with every operand, so nothing of it runs; the reason is a listed one.
        assert!(refused[name], "{name} is neither executed nor listed");
    }
    assert!(!exercised.is_empty());
}

/// Executes on every host instruction set; all must agree.
fn execute(op: &Vector, warp: &Warp, mask: u32) -> Result<Warp, String> {
    let mut results = HostIsa::ALL
        .into_iter()
        .filter(|isa| isa.is_available())
        .map(|isa| {
            let mut warp = warp.clone();
            warp.splits.active = mask;
            isa_dispatch::execute(isa, op, &mut warp, mask);
            (isa, warp)
        });
    let (_, first) = results.next().ok_or("no host instruction set")?;
    for (isa, other) in results {
        if let Some(difference) = difference(&other, &first) {
            return Err(format!("on {}: {difference}", isa.name()));
        }
    }
    Ok(first)
}

fn compare(family: &Family, variants: usize) {
    bench(
        family.opcodes,
        family.contents,
        variants,
        |instruction, op, warp, constants, mask| {
            let found = execute(op, warp, mask)?;
            let mut expected = warp.clone();
            for lane in (0..32).filter(|lane| mask >> lane & 1 == 1) {
                let mut reader = Lane::new(instruction, warp, constants, lane);
                (family.expect)(&mut reader);
                if let Some(operand) = reader.peek() {
                    return Err(format!("operand {operand:?} is not read"));
                }
                apply(&mut expected, &reader.writes, lane);
            }
            difference(&found, &expected).map_or(Ok(()), Err)
        },
    );
}

#[test]
fn integer_instructions() {
    compare(&INTEGER, 6);
}

#[test]
fn uniform_instructions() {
    compare(&UNIFORM, 6);
}

#[test]
fn single_precision_instructions() {
    compare(&SINGLE, 4);
}

#[test]
fn double_precision_instructions() {
    compare(&DOUBLE, 8);
}

#[test]
fn half_precision_instructions() {
    compare(&SHORT, 4);
}

#[test]
fn conversions() {
    compare(&CONVERSION, 2);
}

#[test]
fn multi_function_unit_and_division_check() {
    bench(
        BOUNDED,
        Contents::Mixed,
        24,
        |instruction, op, warp, constants, mask| {
            let found = execute(op, warp, mask)?;
            for lane in (0..32).filter(|lane| mask >> lane & 1 == 1) {
                let mut reader = Lane::new(instruction, warp, constants, lane);
                if instruction.opcode == MUFU {
                    if let sass::Operand::Register { register, .. } = &instruction.operands[0]
                        && register.0 != 255
                    {
                        let value = found.registers[register.0 as usize][lane];
                        special_function::check(instruction, &mut reader, value);
                    }
                    continue;
                }
                let sass::Operand::Predicate { predicate, .. } = instruction.operands[0] else {
                    return Err("no predicate".to_owned());
                };
                reader.skip();
                let sources = [0, 1].map(|_| {
                    let (word, adjust, _) = reader.raw();
                    let word = if adjust.absolute {
                        word & 0x7fff_ffff
                    } else {
                        word
                    };
                    if adjust.negate {
                        word ^ 0x8000_0000
                    } else {
                        word
                    }
                });
                if let Some(must) = special_function::must_check(sources[0], sources[1])
                    && predicate.0 != 7
                {
                    let is = found.predicates[predicate.0 as usize] >> lane & 1 == 1;
                    if is != must {
                        return Err(format!("{is} for {:#x} / {:#x}", sources[0], sources[1]));
                    }
                }
            }
            Ok(())
        },
    );
}

#[test]
fn every_opcode_of_the_numeric_families_is_in_the_bench() {
    let families = [&INTEGER, &UNIFORM, &SINGLE, &DOUBLE, &SHORT, &CONVERSION];
    let benched: BTreeSet<Opcode> = families
        .iter()
        .flat_map(|family| family.opcodes)
        .chain(BOUNDED)
        .copied()
        .collect();
    let (_, banks) = constants(Contents::Integers, &mut Random::new(9));
    let context = Context {
        pc: 0,
        registers: REGISTERS,
        banks: &banks,
    };
    for &opcode in Opcode::ALL {
        words::each(opcode, 1, |instruction| {
            let Ok(micro) = lower(instruction, context) else {
                return;
            };
            let numeric = matches!(
                micro.op,
                Op::Vector(
                    Vector::Integer(_)
                        | Vector::Float(_)
                        | Vector::Half(_)
                        | Vector::Double(_)
                        | Vector::Conversion(_)
                        | Vector::Packing(_)
                        | Vector::PackedInteger(_)
                        | Vector::Predicate(_)
                        | Vector::Move(_)
                        | Vector::SpecialFunction(_)
                )
            );
            // MOVM moves across lanes; `tests::integer` and the tensor kernels have it.
            assert!(
                !numeric || opcode == MOVM || benched.contains(&opcode),
                "{} is not in the bench",
                instruction.display(0)
            );
        });
    }
}
