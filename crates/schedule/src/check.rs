//! What is reported of an instruction: its reads and writes against what is under way.

use hardware::latency::DistanceKind;
use sass::{Class, Role, Use};
use source::{Description, Queue};

use crate::finding::{Finding, Hazard, Pair, Scan, Seen};
use crate::state::{Fixed, Lanes, Place, State};
use crate::walk::Walk;

/// A distance kept or not from an earlier instruction of fixed latency.
struct Kept {
    pair: Pair,
    /// An overwrite of what was read since: the reader stands between.
    read: bool,
    earlier: usize,
    distance: u16,
    needed: u16,
}

impl Walk<'_> {
    /// Reports what the instruction at `index` touches too early, and notes the distances that it keeps.
    pub(crate) fn check(
        &self,
        index: usize,
        description: &Description,
        lanes: Lanes,
        state: &State,
        scan: &mut Scan,
    ) {
        let mut kept = Vec::new();
        for read in &description.footprint.reads {
            self.check_read(index, read, lanes, state, scan, &mut kept);
        }
        for write in &description.footprint.writes {
            self.check_write(index, description, write, lanes, state, scan, &mut kept);
        }
        for one in &kept {
            // What needs less than another dependence on the same instruction tells nothing of its own.
            let covered = |other: &Kept| other.earlier == one.earlier && other.needed > one.needed;
            if one.read || kept.iter().any(covered) {
                continue;
            }
            let seen = scan.seen.entry(one.pair).or_insert(Seen::NEVER);
            seen.count += 1;
            seen.least = seen.least.min(one.distance);
        }
    }

    fn check_read(
        &self,
        index: usize,
        read: &Use,
        lanes: Lanes,
        state: &State,
        scan: &mut Scan,
        kept: &mut Vec<Kept>,
    ) {
        let Some(kind) = DistanceKind::of_read(read.file, read.role) else {
            return;
        };
        // A guard is read in every lane.
        let lanes = if read.role == Role::Guard {
            lanes.all()
        } else {
            lanes
        };
        for register in places(read) {
            for &earlier in state.to_write.get(&register).into_iter().flatten() {
                let class = |index: usize| self.described[index].as_ref().map(|of| of.class);
                let accumulates = class(index) == Some(Class::WarpGroupMatrix);
                if !(accumulates && class(earlier) == class(index)) {
                    report(state, Hazard::Read, earlier, index, register, lanes, scan);
                }
            }
            for fixed in state.writes.get(&register).into_iter().flatten() {
                self.check_distance(index, kind, fixed, read.class, register, lanes, scan, kept);
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn check_write(
        &self,
        index: usize,
        description: &Description,
        write: &Use,
        lanes: Lanes,
        state: &State,
        scan: &mut Scan,
        kept: &mut Vec<Kept>,
    ) {
        let Some(kind) = DistanceKind::of_overwrite(write.file) else {
            return;
        };
        let read_kind = DistanceKind::of_read_overwrite(write.file);
        let in_order = |earlier: usize| {
            let earlier = self.described[earlier].as_ref();
            let unit = Queue::of(description).filter(|_| self.variable(description));
            unit.is_some() && earlier.is_some_and(|earlier| Queue::of(earlier) == unit)
        };
        let in_path = |earlier: usize| {
            let earlier = self.described[earlier].as_ref();
            description.memory.is_some() && earlier.is_some_and(|earlier| earlier.memory.is_some())
        };
        for register in places(write) {
            for &earlier in state.to_write.get(&register).into_iter().flatten() {
                if !in_order(earlier) {
                    report(
                        state,
                        Hazard::Overwrite,
                        earlier,
                        index,
                        register,
                        lanes,
                        scan,
                    );
                }
            }
            for &earlier in state.to_read.get(&register).into_iter().flatten() {
                if !in_order(earlier) && !in_path(earlier) {
                    report(
                        state,
                        Hazard::ReadOverwrite,
                        earlier,
                        index,
                        register,
                        lanes,
                        scan,
                    );
                }
            }
            for fixed in state.writes.get(&register).into_iter().flatten() {
                self.check_distance(index, kind, fixed, write.class, register, lanes, scan, kept);
            }
            for fixed in state.reads.get(&register).into_iter().flatten() {
                if let Some(kind) = read_kind {
                    self.check_distance(
                        index,
                        kind,
                        fixed,
                        write.class,
                        register,
                        lanes,
                        scan,
                        kept,
                    );
                }
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn check_distance(
        &self,
        later: usize,
        kind: DistanceKind,
        fixed: &Fixed,
        class: Class,
        register: Place,
        lanes: Lanes,
        scan: &mut Scan,
        kept: &mut Vec<Kept>,
    ) {
        if fixed.waited || fixed.lanes.disjoint(lanes) {
            return;
        }
        let (earlier, distance) = (fixed.instruction, fixed.age);
        let needed = self
            .rules
            .table
            .distance(kind, fixed.class.index(), class.index());
        kept.push(Kept {
            pair: (kind, fixed.class, class),
            read: fixed.read && kind.is_overwrite(),
            earlier,
            distance,
            needed,
        });
        if distance == needed && needed > 1 {
            scan.tight.push((kind, earlier, later));
        }
        if distance < needed {
            let hazard = Hazard::Distance(kind);
            scan.findings.push(Finding {
                hazard,
                earlier,
                later,
                register: Some(register),
                distance,
                needed,
                between: None,
            });
        }
    }
}

/// Reports that `later` touches what the variable-latency instruction `earlier` is not done with.
fn report(
    state: &State,
    hazard: Hazard,
    earlier: usize,
    later: usize,
    register: Place,
    lanes: Lanes,
    scan: &mut Scan,
) {
    let Some(flight) = state.flights.get(&earlier) else {
        return;
    };
    let open = if hazard == Hazard::ReadOverwrite {
        flight.sources
    } else {
        flight.results
    };
    if open && !flight.lanes.disjoint(lanes) {
        let distance = flight.age;
        scan.findings.push(Finding {
            hazard,
            earlier,
            later,
            register: Some(register),
            distance,
            needed: 0,
            between: None,
        });
    }
}

/// The registers of a use.
pub(crate) fn places(of: &Use) -> impl Iterator<Item = Place> + use<> {
    let file = of.file;
    (of.first..of.first.saturating_add(of.count)).map(move |register| (file, register))
}
