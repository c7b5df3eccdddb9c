//! Atomic operations and reductions on global, generic and shared memory. Lanes act in rising order.

use sass::{Modifier, Opcode};
use source::{Effect, FaultKind, Operation as Access, Space};

use crate::lanes::{Lanes, lanes_of};
use crate::lower::{Address, Lowered, Reader, refuse};
use crate::memory::access::{Done, Trouble, Unit, note, write_words};
use crate::memory::address::{check_global, check_offsets, survey};
use crate::memory::deferred;
use crate::memory::generic;
use crate::memory::port::Port;
use crate::memory::shared::SharedMemory;
use crate::rounding::{
    DOUBLE_NAN, brain_to_f32, canonical, f32_to_brain, f32_to_half, flush, half_to_f32,
};

/// What an atomic does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub(crate) enum Function {
    Add,
    Minimum,
    Maximum,
    /// Up to the operand, then zero.
    Increment,
    /// Down from the operand.
    Decrement,
    And,
    Or,
    Xor,
    Exchange,
    CompareAndSwap,
}

/// Type of an atomic's operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub(crate) enum Type {
    U32,
    S32,
    U64,
    S64,
    F32,
    F16x2,
    BF16x2,
    F64,
}

impl Type {
    /// Bytes.
    pub(crate) const fn bytes(self) -> u32 {
        match self {
            Type::U64 | Type::S64 | Type::F64 => 8,
            _ => 4,
        }
    }
}

/// Function and type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Arithmetic {
    pub(crate) function: Function,
    pub(crate) kind: Type,
}

/// Lowered atomics.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// ATOM, ATOMG, RED.
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
    SharedTest {
        row: Option<u16>,
        address: Address,
        operand: Option<u16>,
        second: Option<u16>,
        bytes: u8,
    },
    /// ATOMS.ARRIVE, ARRIVES: each lane arrives at a barrier in shared memory.
    SharedArrive { row: Option<u16>, address: Address },
    /// ATOMS.POPC.INC: adds one for each lane.
    SharedCount { row: Option<u16>, address: Address },
}

fn kind_of(r: &Reader<'_>) -> Type {
    use Modifier::*;
    r.choose(
        &[
            (S32, Type::S32),
            (N64, Type::U64),
            (S64, Type::S64),
            (F32, Type::F32),
            (F16x2, Type::F16x2),
            (BF16x2, Type::BF16x2),
            (F64, Type::F64),
        ],
        Type::U32,
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

/// Lowers an atomic.
pub(crate) fn lower(opcode: Opcode, r: &mut Reader<'_>) -> Lowered<Op> {
    use Modifier::*;
    const KNOWN: &[Modifier] = {
        use Modifier::*;
        &[
            E, ADD, MIN, MAX, INC, DEC, AND, OR, XOR, EXCH, CAS, EF, EL, LU, EU, NA, S32, N64, S64,
            F32, FTZ, RN, F16x2, BF16x2, F64, STRONG, SM, GPU, SYS, PRIVATE, CTA, MMIO,
        ]
    };
    let kind = kind_of(r);
    let registers = (kind.bytes() / 4) as u16;
    if opcode == Opcode::ARRIVES {
        // Copies have taken effect at their issue: the lanes arrive at once.
        r.only(&[LDGSTSBAR, N64])?;
        return Ok(Op::SharedArrive {
            row: None,
            address: r.address(false)?,
        });
    }
    if opcode == Opcode::ATOMS {
        if r.has(ARRIVE) {
            r.only(&[ARRIVE, N64])?;
            let row = r.destination_or_none(2)?;
            return Ok(Op::SharedArrive {
                row,
                address: r.address(false)?,
            });
        }
        if r.has(POPC) {
            r.only(&[POPC, INC, N32])?;
            let row = r.destination_or_none(1)?;
            return Ok(Op::SharedCount {
                row,
                address: r.address(false)?,
            });
        }
        if r.has(CAST) {
            r.only(&[CAST, SPIN, N64, S32])?;
            let row = r.destination_or_none(registers)?;
            let address = r.address(false)?;
            let operand = r.register_source(registers)?;
            let second = r.register_source(registers)?;
            return Ok(Op::SharedTest {
                row,
                address,
                operand,
                second,
                bytes: kind.bytes() as u8,
            });
        }
        r.only(KNOWN)?;
        let function = function_of(r)?;
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
            arithmetic: Arithmetic { function, kind },
        });
    }
    r.only(KNOWN)?;
    let function = function_of(r)?;
    let reduction = opcode == Opcode::RED;
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
        arithmetic: Arithmetic { function, kind },
        reduction,
    })
}

/// The new value of a word: `old` combined with the operands.
pub(crate) fn combine(arithmetic: Arithmetic, old: u64, operand: u64, second: u64) -> u64 {
    let kind = arithmetic.kind;
    let (old32, operand32) = (old as u32, operand as u32);
    match arithmetic.function {
        Function::Exchange => operand,
        Function::CompareAndSwap => {
            let same = if kind.bytes() == 8 {
                old == operand
            } else {
                old32 == operand32
            };
            if same { second } else { old }
        }
        Function::And => old & operand,
        Function::Or => old | operand,
        Function::Xor => old ^ operand,
        Function::Increment => u64::from(if old32 >= operand32 { 0 } else { old32 + 1 }),
        Function::Decrement => u64::from(if old32 == 0 || old32 > operand32 {
            operand32
        } else {
            old32 - 1
        }),
        Function::Minimum => choose(kind, old, operand, true),
        Function::Maximum => choose(kind, old, operand, false),
        Function::Add => match kind {
            Type::U32 | Type::S32 => u64::from(old32.wrapping_add(operand32)),
            Type::U64 | Type::S64 => old.wrapping_add(operand),
            Type::F32 => {
                let sum = f32::from_bits(flush(old32)) + f32::from_bits(flush(operand32));
                u64::from(flush(canonical(sum)))
            }
            Type::F64 => {
                let sum = f64::from_bits(old) + f64::from_bits(operand);
                if sum.is_nan() {
                    DOUBLE_NAN
                } else {
                    sum.to_bits()
                }
            }
            Type::F16x2 => halves(old32, operand32, |a, b| {
                f32_to_half(half_to_f32(a) + half_to_f32(b))
            }),
            Type::BF16x2 => halves(old32, operand32, |a, b| {
                f32_to_brain(brain_to_f32(a) + brain_to_f32(b))
            }),
        },
    }
}

fn halves(a: u32, b: u32, add: impl Fn(u32, u32) -> u32) -> u64 {
    u64::from(add(a & 0xffff, b & 0xffff) | add(a >> 16, b >> 16) << 16)
}

fn choose(kind: Type, old: u64, operand: u64, minimum: bool) -> u64 {
    let less = match kind {
        Type::S32 => (old as i32) < operand as i32,
        Type::S64 => (old as i64) < operand as i64,
        Type::U64 => old < operand,
        _ => (old as u32) < operand as u32,
    };
    if less == minimum { old } else { operand }
}

fn pair(unit: &Unit<'_>, row: Option<u16>, bytes: u32) -> [Lanes; 2] {
    let mut words = [Lanes::ZERO; 2];
    if let Some(row) = row {
        words[0] = unit.warp.registers[row as usize];
        if bytes == 8 {
            words[1] = unit.warp.registers[row as usize + 1];
        }
    }
    words
}

fn value(words: &[Lanes; 2], lane: usize) -> u64 {
    u64::from(words[1][lane]) << 32 | u64::from(words[0][lane])
}

/// Addresses of shared memory, checked.
fn shared_addresses(
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

/// Reads 4 or 8 bytes of shared memory.
fn shared_value(shared: &SharedMemory, offset: u32, bytes: u32) -> u64 {
    if bytes == 8 {
        u64::from_le_bytes(shared.read::<8>(offset))
    } else {
        u64::from(shared.word(offset))
    }
}

/// Applies an atomic to shared memory.
fn on_shared(
    unit: &mut Unit<'_>,
    addresses: &[u64; 32],
    lanes: u32,
    bytes: u32,
    row: Option<u16>,
    next: impl Fn(u64, usize) -> (u64, u64),
) {
    let mut results = [Lanes::ZERO; 4];
    for lane in lanes_of(lanes) {
        let at = addresses[lane] as u32;
        let old = shared_value(unit.shared, at, bytes);
        let (new, result) = next(old, lane);
        unit.shared.write(at, &new.to_le_bytes()[..bytes as usize]);
        results[0][lane] = result as u32;
        results[1][lane] = (result >> 32) as u32;
    }
    if let Some(row) = row {
        write_words(unit.warp, row, &results, bytes, lanes);
    }
}

/// One arrival at a barrier in shared memory (PTX mbarrier). The compiler's own code shows the word:
/// the upper half counts up from minus the number of threads to come in 31 bits under a phase bit,
/// the lower half holds minus the number of the next phase in 30 bits.
fn arrive(word: u64) -> u64 {
    let (low, high) = (word as u32, (word >> 32) as u32);
    let mut high = high.wrapping_add(1);
    if high & 0x7fff_ffff == 0 {
        // The carry has flipped the phase; the next one begins.
        high |= 0x4000_0000 | low & 0x3fff_ffff;
    }
    u64::from(high) << 32 | u64::from(low)
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
            let bytes = arithmetic.kind.bytes();
            shared_addresses(unit, address, bytes, mask, effect)?;
            let (first, second) = (pair(unit, operand, bytes), pair(unit, second, bytes));
            on_shared(
                unit,
                &effect.access.addresses,
                mask,
                bytes,
                row,
                |old, lane| {
                    (
                        combine(arithmetic, old, value(&first, lane), value(&second, lane)),
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
        } => {
            let bytes = u32::from(bytes);
            shared_addresses(unit, address, bytes, mask, effect)?;
            let (first, second) = (pair(unit, operand, bytes), pair(unit, second, bytes));
            on_shared(
                unit,
                &effect.access.addresses,
                mask,
                bytes,
                row,
                |old, lane| {
                    if old == value(&first, lane) {
                        (value(&second, lane), 1)
                    } else {
                        (old, 0)
                    }
                },
            );
            note(effect, Space::Shared, Access::Atomic, mask, bytes);
            Ok(())
        }
        Op::SharedArrive { row, ref address } => {
            shared_addresses(unit, address, 8, mask, effect)?;
            on_shared(unit, &effect.access.addresses, mask, 8, row, |old, _| {
                (arrive(old), old)
            });
            note(effect, Space::Shared, Access::Atomic, mask, 8);
            Ok(())
        }
        Op::SharedCount { row, ref address } => {
            shared_addresses(unit, address, 4, mask, effect)?;
            on_shared(unit, &effect.access.addresses, mask, 4, row, |old, _| {
                (u64::from((old as u32).wrapping_add(1)), old)
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
            let bytes = arithmetic.kind.bytes();
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
            let (first, second) = (pair(unit, operand, bytes), pair(unit, second, bytes));
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
                            combine(arithmetic, old, value(&first, lane), value(&second, lane)),
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
            operation.operands = [first[0], first[1], second[0], second[1]];
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
