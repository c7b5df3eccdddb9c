//! Special registers: S2R, S2UR, CS2R; and RPCMOV, whose register the compiler keeps values in.

use sass::{Modifier, Opcode, Operand as Printed};

use crate::lanes::Lanes;
use crate::launch::Launch;
use crate::lower::{Lowered, Reader, refuse};
use crate::memory::{LOCAL_WINDOW, SHARED_WINDOW};
use crate::micro::Operand;
use crate::warp::Warp;

/// A special register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub(crate) enum Special {
    Zero,
    Lane,
    VirtualId,
    ThreadPacked,
    Thread(u8),
    Cta(u8),
    BlockPacked,
    SharedBytes,
    /// Sizes of the virtual machine: warps of an SM in bits 8 to 15.
    VirtualConfiguration,
    /// Upper half of the shared window's generic address.
    SharedWindowHigh,
    SharedWindowLow,
    LocalWindowHigh,
    LocalWindowLow,
    LaneMask(LaneMask),
    Sm,
    ClockLow,
    ClockHigh,
    TimerLow,
    TimerHigh,
}

/// Lanes in relation to the own one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub(crate) enum LaneMask {
    Equal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

/// Lowered reads of special registers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// Into a general register.
    Read { row: u16, special: Special },
    /// Two words into a pair.
    ReadPair { row: u16, special: Special },
    /// Into a uniform register.
    ReadUniform { row: u8, special: Special },
    /// A half of a lane's return address into a general register.
    ReadReturn { row: u16, half: u8 },
    /// The other way.
    WriteReturn { half: u8, a: Operand },
}

/// Numbers follow the disassembler's names.
fn special(number: u8) -> Lowered<Special> {
    Ok(match number {
        0 => Special::Lane,
        2 => Special::VirtualConfiguration,
        3 => Special::VirtualId,
        32 => Special::ThreadPacked,
        33..=35 => Special::Thread(number - 33),
        37..=39 => Special::Cta(number - 37),
        40 => Special::BlockPacked,
        46 => Special::LocalWindowHigh,
        47 => Special::SharedWindowHigh,
        48 => Special::SharedWindowLow,
        50 => Special::SharedBytes,
        // SR_LMEMHIOFF, below which code without optimisation lets no stack grow: local memory is one
        // piece from offset 0 on.
        55 => Special::Zero,
        52 => Special::LocalWindowLow,
        56 => Special::LaneMask(LaneMask::Equal),
        57 => Special::LaneMask(LaneMask::Less),
        58 => Special::LaneMask(LaneMask::LessEqual),
        59 => Special::LaneMask(LaneMask::Greater),
        60 => Special::LaneMask(LaneMask::GreaterEqual),
        67 => Special::Sm,
        80 => Special::ClockLow,
        81 => Special::ClockHigh,
        82 => Special::TimerLow,
        83 => Special::TimerHigh,
        // No counter of the performance monitor is set up: they stand still.
        100..=131 => Special::Zero,
        // SR_CgaCtaId, SR_GpcLocalCgaId: a CTA without a cluster is the only one of its own.
        136 | 137 => Special::Zero,
        255 => Special::Zero,
        _ => return refuse(format!("special register {number}")),
    })
}

/// Lowers a read of a special register.
pub(crate) fn lower(opcode: Opcode, r: &mut Reader<'_>) -> Lowered<Op> {
    r.only(&[Modifier::N32])?;
    let half = |printed: Option<&Printed>| match printed {
        Some(Printed::Keyword("Rpc.LO")) => Some(0),
        Some(Printed::Keyword("Rpc.HI")) => Some(1),
        _ => None,
    };
    Ok(match opcode {
        Opcode::RPCMOV => {
            if let Some(half) = half(r.peek()) {
                r.skip();
                let a = r.plain_source()?;
                return Ok(Op::WriteReturn { half, a });
            }
            let row = r.destination(1)?;
            let Some(half) = half(r.peek()) else {
                return refuse("RPCMOV without a half of the return address");
            };
            r.skip();
            Op::ReadReturn { row, half }
        }
        Opcode::S2R => {
            let row = r.destination(1)?;
            Op::Read {
                row,
                special: special(r.special_register()?)?,
            }
        }
        Opcode::S2UR => {
            let row = r.uniform_destination(1)?;
            Op::ReadUniform {
                row,
                special: special(r.special_register()?)?,
            }
        }
        Opcode::CS2R => {
            let pair = !r.has(Modifier::N32);
            let row = r.destination(if pair { 2 } else { 1 })?;
            let special = special(r.special_register()?)?;
            if pair {
                Op::ReadPair { row, special }
            } else {
                Op::Read { row, special }
            }
        }
        other => return refuse(format!("{} does not read special registers", other.text())),
    })
}

/// What special registers read.
pub(crate) struct Surroundings<'a> {
    pub(crate) launch: &'a Launch,
    /// Cycle of the clock.
    pub(crate) clock: u64,
    pub(crate) sm: u32,
    /// Number of the warp's place in its SM.
    pub(crate) slot: u32,
    /// Warps that an SM has room for.
    pub(crate) warps: u32,
}

fn value(special: Special, warp: &Warp, around: &Surroundings<'_>) -> Lanes {
    let threads = &warp.threads;
    match special {
        Special::Zero => Lanes::ZERO,
        Special::Lane => Lanes::from_fn(|lane| lane as u32),
        // Bits 8 to 14 are the warp, 20 and up the SM.
        Special::VirtualId => Lanes::splat(around.slot << 8 | around.sm << 20),
        Special::ThreadPacked => Lanes::from_fn(|lane| {
            threads[0][lane] | threads[1][lane] << 16 | threads[2][lane] << 26
        }),
        Special::Thread(axis) => threads[axis as usize % 3],
        Special::Cta(axis) => Lanes::splat(warp.cta_index[axis as usize % 3]),
        Special::BlockPacked => {
            let [x, y, z] = around.launch.block();
            Lanes::splat(x | y << 16 | z << 26)
        }
        Special::SharedBytes => {
            Lanes::splat(around.launch.shared_bytes() + around.launch.reserved_shared())
        }
        Special::VirtualConfiguration => Lanes::splat(around.warps << 8),
        Special::SharedWindowHigh => Lanes::splat((SHARED_WINDOW >> 32) as u32),
        Special::SharedWindowLow => Lanes::splat(SHARED_WINDOW as u32),
        Special::LocalWindowHigh => Lanes::splat((LOCAL_WINDOW >> 32) as u32),
        Special::LocalWindowLow => Lanes::splat(LOCAL_WINDOW as u32),
        Special::LaneMask(relation) => Lanes::from_fn(|lane| {
            let own = 1u32 << lane;
            let below = own - 1;
            match relation {
                LaneMask::Equal => own,
                LaneMask::Less => below,
                LaneMask::LessEqual => below | own,
                LaneMask::Greater => !(below | own),
                LaneMask::GreaterEqual => !below,
            }
        }),
        Special::Sm => Lanes::splat(around.sm),
        Special::ClockLow | Special::TimerLow => Lanes::splat(around.clock as u32),
        Special::ClockHigh | Special::TimerHigh => Lanes::splat((around.clock >> 32) as u32),
    }
}

/// Reads a special register in the lanes of `mask`.
pub(crate) fn execute(op: &Op, warp: &mut Warp, mask: u32, around: &Surroundings<'_>) {
    match *op {
        Op::Read { row, special } => {
            let value = value(special, warp, around);
            warp.write(row, &value, mask);
        }
        Op::ReadPair { row, special } => {
            let (low, high) = match special {
                Special::Zero => (Lanes::ZERO, Lanes::ZERO),
                Special::ClockLow | Special::TimerLow => (
                    Lanes::splat(around.clock as u32),
                    Lanes::splat((around.clock >> 32) as u32),
                ),
                other => (value(other, warp, around), Lanes::ZERO),
            };
            warp.write(row, &low, mask);
            warp.write(row + 1, &high, mask);
        }
        Op::ReadReturn { row, half } => {
            let value = match &warp.return_address {
                Some(halves) => halves[half as usize & 1],
                None => Lanes::ZERO,
            };
            warp.write(row, &value, mask);
        }
        Op::WriteReturn { half, a } => {
            let value = warp.fetch(a);
            let halves = warp
                .return_address
                .get_or_insert_with(|| Box::new([Lanes::ZERO; 2]));
            halves[half as usize & 1].blend(&value, mask);
        }
        Op::ReadUniform { row, special } => {
            let lane = warp.splits.active.trailing_zeros() as usize & 31;
            let value = value(special, warp, around)[lane];
            warp.write_uniform(row, value);
        }
    }
}
