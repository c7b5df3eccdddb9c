//! Atomic operations and reductions on global, generic and shared memory. Lanes act in rising order.

use sass::{Modifier, Opcode};
use source::{Effect, FaultKind, Operation as Access, Space};

use super::atomic_value::{Arithmetic, Function, Type, combine};
use super::mbarrier;
use crate::lanes::{Lanes, lanes_of};
use crate::lower::{Address, Lowered, Reader, refuse};
use crate::memory::access::{Done, Trouble, Unit, note, write_words};
use crate::memory::address::{check_global, check_offsets, survey, trouble};
use crate::memory::deferred;
use crate::memory::generic;
use crate::memory::port::Port;
use crate::memory::shared::SharedMemory;

/// Lowered atomics.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// ATOM, ATOMG, RED, REDG.
    Global {
        generic: bool,
        row: Option<u16>,
        /// Lanes on device memory: where asked for, the others are left to the program.
        out: u8,
        address: Address,
        operand: Option<u16>,
        second: Option<u16>,
        arithmetic: Arithmetic,
        /// RED: nothing is returned.
        reduction: bool,
    },
    /// ATOMS.
    Shared {
        row: Option<u16>,
        address: Address,
        operand: Option<u16>,
        second: Option<u16>,
        arithmetic: Arithmetic,
    },
    /// ATOMS.CAST.SPIN: stores the second operand if the word still is the first; one if it was.
    /// ATOM.CAST.SPIN: the same by a generic address.
    SharedTest {
        row: Option<u16>,
        address: Address,
        generic: bool,
        operand: Option<u16>,
        second: Option<u16>,
        bytes: u8,
    },
    /// ATOMS.ARRIVE, ARRIVES, SYNCS: a barrier in shared memory.
    Barrier(mbarrier::Op),
    /// ATOMS.POPC.INC: adds one for each lane; ATOM.POPC.INC: the same by a generic address.
    SharedCount {
        row: Option<u16>,
        address: Address,
        generic: bool,
    },
}

/// Type and number of elements.
fn kind_of(r: &Reader<'_>) -> (Type, u8) {
    use Modifier::*;
    let single = if r.has(FTZ) {
        Type::F32
    } else {
        Type::F32Denormal
    };
    r.choose(
        &[
            (S32, (Type::S32, 1)),
            (N64, (Type::U64, 1)),
            (S64, (Type::S64, 1)),
            (N128, (Type::B128, 1)),
            (F32, (single, 1)),
            (F32x2, (single, 2)),
            (F32x4, (single, 4)),
            (F16x2, (Type::F16x2, 1)),
            (F16x4, (Type::F16x2, 2)),
            (F16x8, (Type::F16x2, 4)),
            (BF16x2, (Type::BF16x2, 1)),
            (BF16x4, (Type::BF16x2, 2)),
            (BF16x8, (Type::BF16x2, 4)),
            (F64, (Type::F64, 1)),
        ],
        (Type::U32, 1),
    )
}

fn function_of(r: &Reader<'_>) -> Lowered<Function> {
    use Modifier::*;
    let functions = [
        (ADD, Some(Function::Add)),
        (MIN, Some(Function::Minimum)),
        (MAX, Some(Function::Maximum)),
        (INC, Some(Function::Increment)),
        (DEC, Some(Function::Decrement)),
        (AND, Some(Function::And)),
        (OR, Some(Function::Or)),
        (XOR, Some(Function::Xor)),
        (EXCH, Some(Function::Exchange)),
        (CAS, Some(Function::CompareAndSwap)),
    ];
    match r.choose(&functions, None) {
        Some(function) => Ok(function),
        None => refuse("an atomic operation without a function"),
    }
}

/// Refuses what no unit computes: sums alone of singles and doubles, bit operations and counts of
/// integers alone, of 128 bits swaps alone.
fn check(function: Function, kind: Type, elements: u8) -> Lowered<()> {
    use Function::*;
    let known = match kind {
        Type::U32 | Type::S32 if elements == 1 => {
            kind == Type::U32 || !matches!(function, Increment | Decrement)
        }
        Type::U64 | Type::S64 => !matches!(function, Increment | Decrement),
        Type::F32 | Type::F32Denormal | Type::F64 => function == Add,
        Type::F16x2 | Type::BF16x2 => matches!(function, Add | Minimum | Maximum),
        Type::B128 => matches!(function, Exchange | CompareAndSwap),
        _ => false,
    };
    if known {
        Ok(())
    } else {
        refuse("an atomic operation on a type that it does not exist for")
    }
}

/// Lowers an atomic.
pub(crate) fn lower(opcode: Opcode, r: &mut Reader<'_>) -> Lowered<Op> {
    use Modifier::*;
    const KNOWN: &[Modifier] = {
        use Modifier::*;
        &[
            E, ADD, MIN, MAX, INC, DEC, AND, OR, XOR, EXCH, CAS, EF, EL, LU, EU, NA, S32, N64, S64,
            N128, F32, F32x2, F32x4, FTZ, RN, F16x2, F16x4, F16x8, BF16x2, BF16x4, BF16x8, F64,
            STRONG, SM, GPU, SYS, PRIVATE, CTA, MMIO,
        ]
    };
    let (kind, elements) = kind_of(r);
    let registers = (kind.bytes() * u32::from(elements) / 4) as u16;
    if matches!(opcode, Opcode::ARRIVES | Opcode::SYNCS) || r.has(ARRIVE) {
        return Ok(Op::Barrier(mbarrier::lower(opcode, r)?));
    }
    // On shared memory, by its own address or by a generic one.
    let generic = opcode == Opcode::ATOM;
    if generic || opcode == Opcode::ATOMS {
        let order: &[Modifier] = if generic { &[E, STRONG, SM] } else { &[] };
        if r.has(POPC) {
            r.only(&[order, &[POPC, INC, N32]].concat())?;
            if generic {
                mbarrier::no_predicate(r)?;
            }
            let row = r.destination_or_none(1)?;
            return Ok(Op::SharedCount {
                row,
                address: r.address(generic && r.has(E))?,
                generic,
            });
        }
        if r.has(CAST) {
            r.only(&[order, &[CAST, SPIN, N64, S32]].concat())?;
            if generic {
                mbarrier::no_predicate(r)?;
            }
            let row = r.destination_or_none(registers)?;
            let address = r.address(generic && r.has(E))?;
            let operand = r.register_source(registers)?;
            let second = r.register_source(registers)?;
            return Ok(Op::SharedTest {
                row,
                address,
                generic,
                operand,
                second,
                bytes: kind.bytes() as u8,
            });
        }
    }
    if opcode == Opcode::ATOMS {
        r.only(KNOWN)?;
        let function = function_of(r)?;
        check(function, kind, elements)?;
        let row = r.destination_or_none(registers)?;
        let address = r.address(false)?;
        let operand = r.register_source(registers)?;
        let second = if function == Function::CompareAndSwap {
            r.register_source(registers)?
        } else {
            None
        };
        return Ok(Op::Shared {
            row,
            address,
            operand,
            second,
            arithmetic: Arithmetic {
                function,
                kind,
                elements,
            },
        });
    }
    r.only(KNOWN)?;
    let function = function_of(r)?;
    check(function, kind, elements)?;
    let reduction = matches!(opcode, Opcode::RED | Opcode::REDG);
    let (out, row) = if reduction {
        (7, None)
    } else {
        (
            r.predicate_destination()?,
            r.destination_or_none(registers)?,
        )
    };
    let address = r.address(r.has(E))?;
    // A compare-and-swap's operands: what is expected, then the new value.
    let operand = r.register_source(registers)?;
    let second = if function == Function::CompareAndSwap {
        r.register_source(registers)?
    } else {
        None
    };
    Ok(Op::Global {
        generic: opcode == Opcode::ATOM,
        row,
        out,
        address,
        operand,
        second,
        arithmetic: Arithmetic {
            function,
            kind,
            elements,
        },
        reduction,
    })
}

/// The words of an operand in all lanes.
fn operand_words(unit: &Unit<'_>, row: Option<u16>, bytes: u32) -> [Lanes; 4] {
    let mut words = [Lanes::ZERO; 4];
    if let Some(row) = row {
        let rows = unit.warp.registers.iter().skip(row as usize);
        for (word, row) in words.iter_mut().zip(rows).take(bytes as usize / 4) {
            *word = *row;
        }
    }
    words
}

/// The words of one lane.
#[inline(always)]
pub(crate) fn in_lane(words: &[Lanes; 4], lane: usize) -> [u32; 4] {
    [
        words[0][lane],
        words[1][lane],
        words[2][lane],
        words[3][lane],
    ]
}

/// Addresses of shared memory, checked.
pub(crate) fn shared_addresses(
    unit: &Unit<'_>,
    address: &Address,
    bytes: u32,
    mask: u32,
    effect: &mut Effect,
) -> Done {
    let to = &mut effect.access.addresses;
    let found = survey(unit.host, unit.warp, address, false, bytes, mask, to);
    check_offsets(to, mask, Some(found), bytes, unit.shared.len(), "shared")
}

/// The same from generic addresses, all of which must lie in the shared window.
pub(crate) fn window_addresses(
    unit: &Unit<'_>,
    address: &Address,
    generic: bool,
    bytes: u32,
    mask: u32,
    effect: &mut Effect,
) -> Done {
    if !generic {
        return shared_addresses(unit, address, bytes, mask, effect);
    }
    let to = &mut effect.access.addresses;
    survey(unit.host, unit.warp, address, true, bytes, mask, to);
    let given = *to;
    let outside = mask & !generic::resolve(to, mask).shared;
    if outside != 0 {
        let lane = outside.trailing_zeros() as usize & 31;
        let kind = FaultKind::OutOfBounds {
            space: "shared",
            address: given[lane],
            bytes,
            nearest: None,
        };
        return trouble(lane, kind);
    }
    check_offsets(to, mask, None, bytes, unit.shared.len(), "shared")
}

/// Words at an offset of shared memory.
fn shared_words(shared: &SharedMemory, offset: u32, bytes: u32) -> [u32; 4] {
    let mut words = [0; 4];
    for index in 0..bytes / 4 {
        words[index as usize & 3] = shared.word(offset + 4 * index);
    }
    words
}

/// Applies an atomic to shared memory: `next` makes of a lane's old words the new ones and the result.
pub(crate) fn on_shared(
    unit: &mut Unit<'_>,
    addresses: &[u64; 32],
    lanes: u32,
    bytes: u32,
    row: Option<u16>,
    next: impl Fn([u32; 4], usize) -> ([u32; 4], [u32; 4]),
) {
    let mut results = [Lanes::ZERO; 4];
    for lane in lanes_of(lanes) {
        let at = addresses[lane] as u32;
        let old = shared_words(unit.shared, at, bytes);
        let (new, result) = next(old, lane);
        for index in 0..bytes / 4 {
            let word = new[index as usize & 3];
            unit.shared.write(at + 4 * index, &word.to_le_bytes());
        }
        for (words, word) in results.iter_mut().zip(result) {
            words[lane] = word;
        }
    }
    if let Some(row) = row {
        write_words(unit.warp, row, &results, bytes, lanes);
    }
}

/// Executes an atomic in the lanes of `mask`.
///
/// # Errors
/// The fault of the first lane at fault.
pub(crate) fn execute<P: Port>(
    op: &Op,
    unit: &mut Unit<'_>,
    mask: u32,
    port: &mut P,
    effect: &mut Effect,
) -> Done {
    match *op {
        Op::Shared {
            row,
            ref address,
            operand,
            second,
            arithmetic,
        } => {
            let bytes = arithmetic.bytes();
            shared_addresses(unit, address, bytes, mask, effect)?;
            let first = operand_words(unit, operand, bytes);
            let second = operand_words(unit, second, bytes);
            on_shared(
                unit,
                &effect.access.addresses,
                mask,
                bytes,
                row,
                |old, lane| {
                    (
                        combine(
                            arithmetic,
                            old,
                            in_lane(&first, lane),
                            in_lane(&second, lane),
                        ),
                        old,
                    )
                },
            );
            let kind = if row.is_some() {
                Access::Atomic
            } else {
                Access::Reduction
            };
            note(effect, Space::Shared, kind, mask, bytes);
            Ok(())
        }
        Op::SharedTest {
            row,
            ref address,
            operand,
            second,
            bytes,
            generic,
        } => {
            let bytes = u32::from(bytes);
            window_addresses(unit, address, generic, bytes, mask, effect)?;
            let first = operand_words(unit, operand, bytes);
            let second = operand_words(unit, second, bytes);
            on_shared(
                unit,
                &effect.access.addresses,
                mask,
                bytes,
                row,
                |old, lane| {
                    if old == in_lane(&first, lane) {
                        (in_lane(&second, lane), [1, 0, 0, 0])
                    } else {
                        (old, [0; 4])
                    }
                },
            );
            note(effect, Space::Shared, Access::Atomic, mask, bytes);
            Ok(())
        }
        Op::Barrier(ref op) => mbarrier::execute(op, unit, mask, port, effect),
        Op::SharedCount {
            row,
            ref address,
            generic,
        } => {
            window_addresses(unit, address, generic, 4, mask, effect)?;
            on_shared(unit, &effect.access.addresses, mask, 4, row, |old, _| {
                ([old[0].wrapping_add(1), 0, 0, 0], old)
            });
            let kind = if row.is_some() {
                Access::Atomic
            } else {
                Access::Reduction
            };
            note(effect, Space::Shared, kind, mask, 4);
            Ok(())
        }
        Op::Global {
            generic,
            row,
            out,
            ref address,
            operand,
            second,
            arithmetic,
            reduction,
        } => {
            let bytes = arithmetic.bytes();
            let to = &mut effect.access.addresses;
            let found = survey(unit.host, unit.warp, address, true, bytes, mask, to);
            let mut lanes = mask;
            let mut on_chip = 0;
            let mut found = Some(found);
            if generic {
                let spaces = generic::resolve(&mut effect.access.addresses, mask);
                if spaces.local != 0 && out == 7 {
                    return Err(Box::new(Trouble {
                        lane: Some(spaces.local.trailing_zeros() as u8),
                        kind: FaultKind::Unsupported(
                            "an atomic operation on local memory".to_owned(),
                        ),
                    }));
                }
                (lanes, on_chip) = (spaces.global, spaces.shared);
                if lanes != mask {
                    found = None;
                }
            }
            if out != 7 {
                on_chip = 0;
                unit.warp.write_predicate(out, lanes, mask);
                if lanes == 0 {
                    return Ok(());
                }
            }
            let first = operand_words(unit, operand, bytes);
            let second = operand_words(unit, second, bytes);
            if on_chip != 0 {
                let offsets = &effect.access.addresses;
                check_offsets(offsets, on_chip, None, bytes, unit.shared.len(), "shared")?;
                on_shared(
                    unit,
                    &effect.access.addresses,
                    on_chip,
                    bytes,
                    row,
                    |old, lane| {
                        (
                            combine(
                                arithmetic,
                                old,
                                in_lane(&first, lane),
                                in_lane(&second, lane),
                            ),
                            old,
                        )
                    },
                );
            }
            let kind = if reduction {
                Access::Reduction
            } else {
                Access::Atomic
            };
            if lanes == 0 {
                note(effect, Space::Shared, kind, on_chip, bytes);
                return Ok(());
            }
            check_global(port, &effect.access.addresses, lanes, found, bytes)?;
            let operation = &mut *unit.operation;
            operation.kind = deferred::Kind::Atomic(arithmetic);
            operation.lanes = lanes;
            operation.bytes = bytes;
            operation.addresses = effect.access.addresses;
            operation.operands[..4].copy_from_slice(&first);
            operation.operands[4..].copy_from_slice(&second);
            operation.row = row;
            let token = port.defer(operation);
            if token.is_none() {
                let results = port.perform(operation);
                if let Some(row) = row {
                    write_words(unit.warp, row, &results, bytes, lanes);
                }
            }
            note(effect, Space::Global, kind, lanes, bytes);
            effect.access.bypass = true;
            effect.access.deferred = token;
            Ok(())
        }
    }
}
