//! Barriers in shared memory (PTX mbarrier): ATOMS.ARRIVE, ATOM.ARRIVE and ARRIVES of sm_80 to sm_89, and
//! the forms of SYNCS on sm_90 that use neither clusters nor the copy engine.
//!
//! The compiler's own code shows both words. Up to sm_89 the upper half counts up from minus the number
//! of threads to come in 31 bits under a phase bit, the lower half holds minus the number of the next
//! phase in 30 bits. On sm_90 bits 1 to 20 hold minus the number of the next phase, bits 21 to 42 the
//! bytes (or other things) that are to come, bits 43 to 62 count up as above, bit 63 is the phase.
//!
//! Copies and their arrival go on by themselves: an ARRIVES takes effect when the timing model says that
//! the copies are complete ([`Arrival`]); without timing they are so at once.

use sass::{Architecture, Modifier, Opcode};
use source::{Effect, Operation as Access, Space};

use super::atomic::{on_shared, shared_addresses, window_addresses};
use crate::lanes::{Lanes, lanes_of};
use crate::lower::{Address, Lowered, Reader, refuse};
use crate::memory::access::{Done, Unit, note, write_words};
use crate::memory::port::Port;
use crate::memory::shared::SharedMemory;
use crate::micro::Operand;

/// How many arrive, or how much is to come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Count {
    Fixed(u8),
    /// What the operand says.
    Operand,
    /// What the operand says has come.
    Come,
}

/// What SYNCS.ARRIVE does to a barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Arriving {
    pub(crate) arrivals: Count,
    pub(crate) announced: Count,
    /// Who arrives takes no part in later phases (`.OPTOUT`).
    pub(crate) leaves: bool,
}

/// Lowered barrier operations.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// Each lane arrives once; sm_80 to sm_89.
    Arrive {
        row: Option<u16>,
        address: Address,
        /// ATOM.ARRIVE: by a generic address.
        generic: bool,
    },
    /// SYNCS.ARRIVE: each lane arrives so often and announces so much to come.
    Transact {
        row: Option<u16>,
        address: Address,
        how: Arriving,
        operand: Operand,
        /// The lower word of the result is the mask of the lanes that did the same (`.TMASK`).
        masked: bool,
    },
    /// ARRIVES: as the warp's copies so far are complete.
    WithCopies { address: Address, what: Completion },
    /// SYNCS.EXCH: the word of a barrier from uniform registers.
    Exchange { row: u8, address: Address, a: u8 },
    /// SYNCS.PHASECHK: whether the phase of a token is over.
    Check {
        out: u8,
        address: Address,
        token: Operand,
    },
    /// SYNCS.CCTL: the barrier ends.
    Invalidate { address: Address },
}

/// What complete copies do to a barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Completion {
    /// ARRIVES.LDGSTSBAR up to sm_89: each lane arrives.
    Arrive,
    /// ARRIVES.LDGSTSBAR of sm_90: the same on its word.
    ArriveTransactional,
    /// ARRIVES.LDGSTSBAR.TRANSCNT: one of what was announced has come.
    Transaction,
}

/// An ARRIVES that was issued and takes effect when the copies of its warp are complete.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    lanes: u32,
    offsets: [u32; 32],
    what: Completion,
}

impl Arrival {
    /// The lanes arrive, in rising order.
    pub(crate) fn perform(&self, shared: &mut SharedMemory) {
        for lane in lanes_of(self.lanes) {
            let at = self.offsets[lane];
            let old = word([shared.word(at), shared.word(at + 4), 0, 0]);
            let new = match self.what {
                Completion::Arrive => arrive(old),
                Completion::ArriveTransactional => transact(old, 1, 0),
                Completion::Transaction => transact(old, 0, -1),
            };
            shared.write(at, &new.to_le_bytes());
        }
    }
}

/// Lowers a barrier operation.
pub(crate) fn lower(opcode: Opcode, r: &mut Reader<'_>) -> Lowered<Op> {
    use Modifier::*;
    let hopper = r.instruction.architecture >= Architecture::Sm90;
    if opcode == Opcode::ARRIVES {
        // `.ARVCNT` of sm_90 counts arrivals, as the form without a suffix does.
        r.only(&[LDGSTSBAR, N64, TRANSCNT, ARVCNT])?;
        let what = match (r.has(TRANSCNT), hopper) {
            (true, _) => Completion::Transaction,
            (false, true) => Completion::ArriveTransactional,
            (false, false) => Completion::Arrive,
        };
        let address = r.address(false)?;
        return Ok(Op::WithCopies { address, what });
    }
    if matches!(opcode, Opcode::ATOMS | Opcode::ATOM) {
        let generic = opcode == Opcode::ATOM;
        if generic {
            r.only(&[E, ARRIVE, N64, STRONG, SM])?;
            no_predicate(r)?;
        } else {
            r.only(&[ARRIVE, N64])?;
        }
        let row = r.destination_or_none(2)?;
        let address = r.address(generic && r.has(E))?;
        return Ok(Op::Arrive {
            row,
            address,
            generic,
        });
    }
    // Of the suffixes some name a count of arrivals and one of what is to come, as in A1T0.
    let texts: Vec<&str> = r.instruction.modifiers.iter().map(|m| m.text()).collect();
    let has = |text: &str| texts.contains(&text);
    let only = |known: &[&str]| match texts
        .iter()
        .find(|text| !known.contains(text) && counts(text).is_none())
    {
        Some(other) => refuse(format!("SYNCS.{other}")),
        None => Ok(()),
    };
    if has("EXCH") {
        only(&["EXCH", "64"])?;
        return Ok(Op::Exchange {
            row: r.uniform_destination(2)?,
            address: r.address(false)?,
            a: r.uniform_destination(2)?,
        });
    }
    if has("CCTL") {
        only(&["CCTL", "IV"])?;
        let address = r.address(false)?;
        return Ok(Op::Invalidate { address });
    }
    if has("PHASECHK") {
        only(&["PHASECHK", "TRANS64", "TRYWAIT"])?;
        return Ok(Op::Check {
            out: r.predicate_destination()?,
            address: r.address(false)?,
            token: r.plain_source()?,
        });
    }
    only(&["ARRIVE", "TRANS64", "RED", "TMASK", "OPTOUT"])?;
    if !has("ARRIVE") || !has("TRANS64") {
        return refuse("SYNCS in a form that is not an arrival");
    }
    // Without counts: one arrival, and the operand says what is to come (PTX arrive.expect_tx).
    let (arrivals, announced) = texts
        .iter()
        .find_map(|text| counts(text))
        .unwrap_or((Count::Fixed(1), Count::Operand));
    let row = r.destination_or_none(2)?;
    Ok(Op::Transact {
        row: row.filter(|_| !has("RED")),
        address: r.address(false)?,
        how: Arriving {
            arrivals,
            announced,
            leaves: has("OPTOUT"),
        },
        operand: r.plain_source()?,
        masked: has("TMASK"),
    })
}

/// The predicate in front of a generic atomic's result, which compiled code never asks for.
pub(crate) fn no_predicate(r: &mut Reader<'_>) -> Lowered<()> {
    match r.predicate_destination()? {
        7 => Ok(()),
        _ => refuse("the predicate result of an atomic operation on shared memory"),
    }
}

/// The counts that a suffix such as A1T0, A0TR or A0TX names.
fn counts(text: &str) -> Option<(Count, Count)> {
    let count = |byte: u8| match byte {
        b'0' | b'1' => Some(Count::Fixed(byte - b'0')),
        b'R' => Some(Count::Operand),
        b'X' => Some(Count::Come),
        _ => None,
    };
    match *text.as_bytes() {
        [b'A', arrivals, b'T', announced] => Some((count(arrivals)?, count(announced)?)),
        _ => None,
    }
}

/// One arrival at a barrier of sm_80 to sm_89.
pub(crate) fn arrive(word: u64) -> u64 {
    let (low, high) = (word as u32, (word >> 32) as u32);
    let mut high = high.wrapping_add(1);
    if high & 0x7fff_ffff == 0 {
        // The carry has flipped the phase; the next one begins.
        high |= 0x4000_0000 | low & 0x3fff_ffff;
    }
    u64::from(high) << 32 | u64::from(low)
}

/// Bits of the counts of sm_90, and where they begin.
const ARRIVALS: u64 = (1 << 20) - 1;
const TRANSACTIONS: u64 = (1 << 22) - 1;
const NEXT_AT: u32 = 1;
const TRANSACTIONS_AT: u32 = 21;
const ARRIVALS_AT: u32 = 43;
const PHASE: u64 = 1 << 63;

/// So many fewer take part in later phases of a barrier of sm_90.
pub(crate) fn leave(word: u64, count: u32) -> u64 {
    let mask = ARRIVALS << NEXT_AT;
    let next = (word >> NEXT_AT).wrapping_add(u64::from(count)) << NEXT_AT & mask;
    word & !mask | next
}

/// So many arrivals at a barrier of sm_90, and so much more to come (less where it has come).
pub(crate) fn transact(word: u64, arrivals: u32, announced: i32) -> u64 {
    let next = word >> NEXT_AT & ARRIVALS;
    let come = (word >> TRANSACTIONS_AT).wrapping_add(announced as i64 as u64) & TRANSACTIONS;
    let mut left = (word >> ARRIVALS_AT).wrapping_add(u64::from(arrivals)) & ARRIVALS;
    let mut phase = word & PHASE;
    if left == 0 && come == 0 {
        phase ^= PHASE;
        left = next;
    }
    let kept = word & ((1 << TRANSACTIONS_AT) - 1);
    phase | left << ARRIVALS_AT | come << TRANSACTIONS_AT | kept
}

fn word(words: [u32; 4]) -> u64 {
    u64::from(words[1]) << 32 | u64::from(words[0])
}

fn words(word: u64) -> [u32; 4] {
    [word as u32, (word >> 32) as u32, 0, 0]
}

/// Executes a barrier operation in the lanes of `mask`, in rising order.
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
        Op::Arrive {
            row,
            ref address,
            generic,
        } => {
            window_addresses(unit, address, generic, 8, mask, effect)?;
            on_shared(unit, &effect.access.addresses, mask, 8, row, |old, _| {
                (words(arrive(word(old))), old)
            });
        }
        Op::Transact {
            row,
            ref address,
            how,
            operand,
            masked,
        } => {
            shared_addresses(unit, address, 8, mask, effect)?;
            let operand = unit.warp.fetch(operand);
            let count = |count, lane: usize| match count {
                Count::Fixed(count) => u32::from(count),
                Count::Operand => operand[lane],
                Count::Come => operand[lane].wrapping_neg(),
            };
            let next = |old: [u32; 4], lane: usize| {
                let arrivals = count(how.arrivals, lane);
                let mut old = word(old);
                if how.leaves {
                    old = leave(old, arrivals);
                }
                transact(old, arrivals, count(how.announced, lane) as i32)
            };
            // Lanes that do the same at the same barrier do so together and get the word from before all
            // of them: the compiler counts on that (it multiplies by the number of lanes instead of
            // adding over them).
            let addresses = &effect.access.addresses;
            let mut results = [Lanes::ZERO; 4];
            let mut left = mask;
            while left != 0 {
                let first = left.trailing_zeros() as usize & 31;
                let same = |&lane: &usize| {
                    addresses[lane] == addresses[first] && operand[lane] == operand[first]
                };
                let group = lanes_of(left)
                    .filter(same)
                    .fold(0, |group, lane| group | 1 << lane);
                left &= !group;
                let at = addresses[first] as u32;
                let before = [unit.shared.word(at), unit.shared.word(at + 4)];
                for lane in lanes_of(group) {
                    let old = [unit.shared.word(at), unit.shared.word(at + 4), 0, 0];
                    unit.shared.write(at, &next(old, lane).to_le_bytes());
                    results[0][lane] = if masked { group } else { before[0] };
                    results[1][lane] = before[1];
                }
            }
            if let Some(row) = row {
                write_words(unit.warp, row, &results, 8, mask);
            }
        }
        Op::WithCopies { ref address, what } => {
            shared_addresses(unit, address, 8, mask, effect)?;
            let arrival = Arrival {
                lanes: mask,
                offsets: effect.access.addresses.map(|address| address as u32),
                what,
            };
            if !port.arrive_with_copies(&arrival) {
                arrival.perform(unit.shared);
            }
        }
        Op::Exchange {
            row,
            ref address,
            a,
        } => {
            // Once for the warp.
            let first = mask & mask.wrapping_neg();
            shared_addresses(unit, address, 8, first, effect)?;
            let lane = first.trailing_zeros() as usize & 31;
            let at = effect.access.addresses[lane] as u32;
            let old = [unit.shared.word(at), unit.shared.word(at + 4)];
            for (index, register) in [(0, a), (1, a.saturating_add(1))] {
                let value = unit.warp.uniforms[register as usize & 63];
                unit.shared.write(at + 4 * index, &value.to_le_bytes());
            }
            if row != 63 {
                unit.warp.write_uniform(row, old[0]);
                unit.warp.write_uniform(row + 1, old[1]);
            }
            note(effect, Space::Shared, Access::Atomic, first, 8);
            return Ok(());
        }
        Op::Check {
            out,
            ref address,
            token,
        } => {
            shared_addresses(unit, address, 8, mask, effect)?;
            let token = unit.warp.fetch(token);
            let mut over = 0;
            for lane in lanes_of(mask) {
                let high = unit.shared.word(effect.access.addresses[lane] as u32 + 4);
                over |= ((high ^ token[lane]) >> 31) << lane;
            }
            unit.warp.write_predicate(out, over, mask);
            note(effect, Space::Shared, Access::Load, mask, 8);
            return Ok(());
        }
        Op::Invalidate { ref address } => {
            shared_addresses(unit, address, 8, mask, effect)?;
            on_shared(unit, &effect.access.addresses, mask, 8, None, |_, _| {
                ([0; 4], [0; 4])
            });
            note(effect, Space::Shared, Access::Store, mask, 8);
            return Ok(());
        }
    }
    note(effect, Space::Shared, Access::Atomic, mask, 8);
    Ok(())
}
