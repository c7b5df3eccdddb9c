//! What is reported of an instruction: its reads and writes against what is under way.

use hardware::latency::DistanceKind;
use sass::{Class, File, Role, Use};
use source::{Description, Queue};

use crate::finding::{Finding, Hazard, Scan, Seen};
use crate::state::{Fixed, Lanes, Place, State};
use crate::walk::Walk;

impl Walk<'_> {
    pub(crate) fn check_read(
        &self,
        index: usize,
        read: &Use,
        lanes: Lanes,
        state: &State,
        scan: &mut Scan,
    ) {
        let Some(kind) = read_kind(read) else { return };
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
                self.check_distance(index, kind, fixed, read.class, register, lanes, scan);
            }
        }
    }

    pub(crate) fn check_write(
        &self,
        index: usize,
        description: &Description,
        write: &Use,
        lanes: Lanes,
        state: &State,
        scan: &mut Scan,
    ) {
        let Some((kind, read_kind)) = overwrite_kinds(write.file) else {
            return;
        };
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
                self.check_distance(index, kind, fixed, write.class, register, lanes, scan);
            }
            for fixed in state.reads.get(&register).into_iter().flatten() {
                if let Some(kind) = read_kind {
                    self.check_distance(index, kind, fixed, write.class, register, lanes, scan);
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
    ) {
        if fixed.waited || fixed.lanes.disjoint(lanes) {
            return;
        }
        let (earlier, distance) = (fixed.instruction, fixed.age);
        let needed = self
            .rules
            .table
            .distance(kind, fixed.class.index(), class.index());
        let seen = scan
            .seen
            .entry((kind, fixed.class, class))
            .or_insert(Seen::NEVER);
        seen.count += 1;
        seen.least = seen.least.min(distance);
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

/// The kind of distance that a read keeps from the write.
pub(crate) fn read_kind(read: &Use) -> Option<DistanceKind> {
    Some(match (read.file, read.role) {
        (File::General, Role::Address) => DistanceKind::Address,
        (File::General, Role::StoreData) => DistanceKind::StoreData,
        (File::General, _) => DistanceKind::Register,
        (File::Predicate, Role::Guard) => DistanceKind::Guard,
        (File::Predicate, _) => DistanceKind::PredicateData,
        (File::Uniform, _) => DistanceKind::Uniform,
        (File::UniformPredicate, Role::Guard) => DistanceKind::UniformGuard,
        (File::UniformPredicate, _) => DistanceKind::UniformPredicateData,
        (File::Convergence, _) => return None,
    })
}

/// The kinds of distance that a write keeps from a write and from a read.
pub(crate) fn overwrite_kinds(file: File) -> Option<(DistanceKind, Option<DistanceKind>)> {
    use DistanceKind::*;
    Some(match file {
        File::General => (RegisterOverwrite, Some(RegisterReadOverwrite)),
        File::Predicate => (PredicateOverwrite, None),
        File::Uniform => (UniformOverwrite, Some(UniformReadOverwrite)),
        File::UniformPredicate => (
            UniformPredicateOverwrite,
            Some(UniformPredicateReadOverwrite),
        ),
        File::Convergence => return None,
    })
}
