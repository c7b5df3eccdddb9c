//! Reuse bits: an operand is kept for the next read at its place where that is of the same register and
//! nothing overwrites it on the way, inside a block.

use sass::File;
use source::Description;

use super::{Draft, FIRST_WITH_YIELD, with_control};
use crate::flow::Flow;
use crate::reuse::passes_cache;

/// Instructions up to the next read at most: other warps take the place meanwhile.
const FARTHEST: usize = 6;

/// Sets reuse bits on instructions whose control fields are open altogether.
pub(super) fn keep(draft: &mut Draft<'_>) {
    let flow = Flow::new(&draft.code, draft.tables);
    let described: Vec<Option<Description>> = draft
        .code
        .iter()
        .map(|one| one.as_ref().map(source::describe))
        .collect();
    for index in 0..draft.code.len() {
        let given = draft.given[index];
        let open = given.stall.is_none() && given.yields.is_none();
        let (Some(instruction), Some(description)) = (&draft.code[index], &described[index]) else {
            continue;
        };
        // Bits count only without yield, which long stalls need.
        if !open || instruction.control.stall >= FIRST_WITH_YIELD || !passes_cache(instruction) {
            continue;
        }
        let mut reuse = instruction.control.reuse;
        for read in &description.footprint.reads {
            let Some(slot) = read
                .slot
                .filter(|&slot| read.file == File::General && slot < 3)
            else {
                continue;
            };
            let kept = |part: u8| {
                let register = read.first.saturating_add(part);
                is_next(draft, &described, &flow, index, slot, register)
            };
            if read.count <= 2 && (0..read.count).all(kept) {
                reuse |= 1 << slot;
            }
        }
        if reuse == instruction.control.reuse {
            continue;
        }
        let mut control = instruction.control;
        (control.reuse, control.yields) = (reuse, false);
        let changed = with_control(instruction, control);
        // Not every form has every bit.
        let marked = sass::footprint(&changed).reads;
        let shown = marked
            .iter()
            .filter(|read| read.reuse)
            .filter_map(|read| read.slot);
        let shown = shown.fold(0u8, |mask, slot| mask | 1 << slot);
        control.reuse &= shown;
        if control.reuse != 0 {
            draft.code[index] = Some(with_control(instruction, control));
        }
    }
}

/// Whether the next read at a place behind `index` is of `register`, before it is overwritten.
fn is_next(
    draft: &Draft<'_>,
    described: &[Option<Description>],
    flow: &Flow,
    index: usize,
    slot: u8,
    register: u8,
) -> bool {
    let writes = |description: &Description| {
        description.footprint.writes.iter().any(|write| {
            let written = write.first..write.first.saturating_add(write.count);
            write.file == File::General && written.contains(&register)
        })
    };
    if described[index].as_ref().is_none_or(&writes) {
        return false;
    }
    let behind = draft.code.iter().zip(described).enumerate();
    for (next, pair) in behind.skip(index + 1).take(FARTHEST) {
        let (Some(instruction), Some(description)) = pair else {
            return false;
        };
        if flow.is_start(next) {
            return false;
        }
        if passes_cache(instruction) {
            for read in &description.footprint.reads {
                if read.file != File::General || read.slot != Some(slot) {
                    continue;
                }
                for part in 0..read.count.min(2) {
                    let other = read.first.saturating_add(part);
                    if other & 1 == register & 1 {
                        return other == register;
                    }
                }
            }
        }
        if writes(description) {
            return false;
        }
    }
    false
}
