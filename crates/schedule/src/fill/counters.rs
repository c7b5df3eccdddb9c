//! Which instructions raise a counter, and which.
//!
//! A walk with nothing filled in tells every dependence on an instruction of variable latency: those that
//! read or overwrite its results need its write counter, those that overwrite its sources its read
//! counter, unless its results are waited for first. Six counters are given out in order of the code:
//! one that is free; one whose waiters are the same; else the one that is waited for nearest to where the
//! new one is, so that little is waited for in vain.

use std::collections::{BTreeMap, BTreeSet};

use sass::{Class, Opcode, Operand};
use source::Special;

use super::Draft;
use crate::finding::Hazard;
use crate::walk::Walk;

/// Dependence counters of a warp.
const COUNTERS: usize = 6;

/// An instruction's need of counters: where each is waited for first, counted on from the instruction.
#[derive(Clone, Copy, Default, Debug)]
struct Need {
    results: Option<usize>,
    sources: Option<usize>,
}

/// Gives counters to all instructions that need one and leave it open.
pub(super) fn assign(draft: &mut Draft<'_>) {
    let mut needs = needs(draft);
    let named = name_by_depbar(draft, &mut needs);
    let mut waited: [Vec<usize>; COUNTERS] = Default::default();
    for index in 0..draft.code.len() {
        let given = draft.given[index];
        let need = needs.get(&index).copied().unwrap_or_default();
        let Some(control) = draft.control(index) else {
            continue;
        };
        // What is given counts as taken until it is waited for.
        for (counter, until) in [
            (control.write_counter, need.results),
            (control.read_counter, need.sources),
        ] {
            if let (Some(counter), Some(until)) = (counter, until) {
                waited[usize::from(counter)].push(until);
            }
        }
        if let (None, Some(until)) = (given.write_counter, need.results)
            && control.write_counter.is_none()
        {
            let counter = choose(&mut waited, index, until, &named);
            draft.set(index, |control| control.write_counter = Some(counter));
        }
        if let (None, Some(until)) = (given.read_counter, need.sources)
            && control.read_counter.is_none()
        {
            let counter = choose(&mut waited, index, until, &named);
            draft.set(index, |control| control.read_counter = Some(counter));
        }
    }
}

/// The dependences of the section, by the instruction that they are on.
fn needs(draft: &Draft<'_>) -> BTreeMap<usize, Need> {
    let mut needs: BTreeMap<usize, Need> = BTreeMap::new();
    let length = draft.code.len();
    for finding in Walk::new(draft.rules, draft.section()).run().findings {
        let group = |index: usize| {
            let instruction = draft.code[index].as_ref();
            instruction.is_some_and(|one| sass::class(one) == Class::WarpGroupMatrix)
        };
        // Warp groups have counters of their own.
        if group(finding.earlier) {
            continue;
        }
        let ahead = |later: usize| {
            if later > finding.earlier {
                later
            } else {
                later + length
            }
        };
        let until = ahead(finding.later);
        let need = needs.entry(finding.earlier).or_default();
        let place = match finding.hazard {
            Hazard::Read | Hazard::Overwrite => &mut need.results,
            Hazard::ReadOverwrite => &mut need.sources,
            _ => continue,
        };
        *place = Some(place.map_or(until, |known| known.min(until)));
    }
    // The cache is emptied for what earlier loads brought to be seen: they come first.
    for (index, instruction) in draft.code.iter().enumerate() {
        let special = instruction
            .as_ref()
            .map(|one| source::describe(one).special);
        if special == Some(Special::InvalidateL1) {
            for load in super::delay::loads_before(draft, index) {
                let need = needs.entry(load).or_default();
                need.results = Some(need.results.map_or(index, |known| known.min(index)));
            }
        }
    }
    needs.retain(|_, need| {
        // Who waits for the results first need not wait for the sources.
        if need.results.is_some() && need.results <= need.sources {
            need.sources = None;
        }
        need.results.is_some() || need.sources.is_some()
    });
    needs
}

/// Gives the counters that DEPBAR names to what it waits for: the commits of copies, where there are any,
/// else the last instruction before it that needs a counter. Gives the counters that others leave alone,
/// as DEPBAR counts on them.
fn name_by_depbar(draft: &mut Draft<'_>, needs: &mut BTreeMap<usize, Need>) -> BTreeSet<u8> {
    let counter_of = |draft: &Draft<'_>, index: usize| {
        let instruction = draft.code[index].as_ref()?;
        if instruction.opcode != Opcode::DEPBAR {
            return None;
        }
        instruction
            .operands
            .iter()
            .find_map(|operand| match *operand {
                Operand::Counter(counter) => Some(counter),
                _ => None,
            })
    };
    let commits: Vec<usize> = (0..draft.code.len())
        .filter(|&index| {
            let instruction = draft.code[index].as_ref();
            instruction.is_some_and(|one| one.opcode == Opcode::LDGDEPBAR)
        })
        .collect();
    let depbars: Vec<(usize, u8)> = (0..draft.code.len())
        .filter_map(|index| Some((index, counter_of(draft, index)?)))
        .collect();
    let mut named = BTreeSet::new();
    for &commit in &commits {
        let next = depbars.iter().find(|depbar| depbar.0 > commit);
        let Some(&(_, counter)) = next.or(depbars.first()) else {
            continue;
        };
        named.insert(counter);
        if draft.given[commit].write_counter.is_none() {
            draft.set(commit, |control| control.write_counter = Some(counter));
        }
    }
    for &(depbar, counter) in &depbars {
        if named.contains(&counter) {
            continue;
        }
        let mut before = needs
            .range(..depbar)
            .rev()
            .map(|(&index, &need)| (index, need));
        let open = |&(index, need): &(usize, Need)| {
            let given = draft.given[index];
            need.results.is_some() && given.write_counter.is_none()
                || need.results.is_none() && given.read_counter.is_none()
        };
        if let Some((index, need)) = before.find(open) {
            draft.set(index, |control| match need.results {
                Some(_) => control.write_counter = Some(counter),
                None => control.read_counter = Some(counter),
            });
        }
    }
    named
}

/// The counter for an instruction at `index` that is waited for at `until`.
fn choose(
    waited: &mut [Vec<usize>; COUNTERS],
    index: usize,
    until: usize,
    named: &BTreeSet<u8>,
) -> u8 {
    for places in waited.iter_mut() {
        places.retain(|&place| place > index);
    }
    let free = |counter: &usize| !named.contains(&(*counter as u8));
    // Those that are waited for at the same place; free ones; the nearest.
    let cost = |counter: &usize| {
        let places = &waited[*counter];
        let apart = places.iter().map(|&place| place.abs_diff(until)).max();
        match apart {
            Some(0) => (0, 0),
            None => (1, 0),
            Some(apart) => (2, apart),
        }
    };
    let best = (0..COUNTERS).filter(free).min_by_key(cost).unwrap_or(0);
    waited[best].push(until);
    best as u8
}
