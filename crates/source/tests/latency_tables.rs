//! The latency tables fit the classes that instructions have.

use hardware::latency::{DistanceKind, LatencyTable, Unit};
use sass::Class;

#[test]
fn every_architecture_loads() {
    for sm in [75, 80, 86, 89, 90] {
        let table = LatencyTable::load(sm, Class::NAMES).unwrap_or_else(|error| panic!("{error}"));
        let fma = Class::CoupledFma.index();
        assert_eq!(table.distance(DistanceKind::Register, fma, fma), 4);
        assert_eq!(table.unit(Class::Memory.index()).unit, Unit::Memory);
        let double = table.unit(Class::RedirectedFp64.index());
        assert_eq!(
            double.variable,
            sm != 90,
            "compiled code guards FP64 by counters on every architecture but Hopper"
        );
        let own_unit = double.unit == Unit::SubCoreFloat64;
        assert_eq!(
            own_unit,
            matches!(sm, 80 | 90),
            "GA100 and GH100 alone have FP64 units in their sub-cores"
        );
        let single = table.unit(fma);
        assert_eq!(
            single.alternative.is_some(),
            matches!(sm, 86 | 89),
            "only GA10x and AD10x run FP32 in the INT unit too"
        );
        assert_eq!(
            single.interval,
            if sm == 90 { 1 } else { 2 },
            "16 lanes, and 32 on GH100"
        );
    }
}

/// Turing against Ampere (MODEL.md §6, NAK): half precision has a pipe of its own, guards are visible
/// a cycle earlier, the memory unit samples its sources three cycles later.
#[test]
fn turing_differs_from_ampere() {
    let [turing, ampere] = [75, 86]
        .map(|sm| LatencyTable::load(sm, Class::NAMES).unwrap_or_else(|error| panic!("{error}")));
    let distances = |kind, from: Class, to: Class| {
        [&turing, &ampere].map(|table| table.distance(kind, from.index(), to.index()))
    };
    let (alu, half, memory) = (Class::CoupledAlu, Class::Fp16, Class::Memory);
    assert_eq!(distances(DistanceKind::Register, alu, alu), [4, 4]);
    assert_eq!(distances(DistanceKind::Register, alu, half), [6, 5]);
    assert_eq!(distances(DistanceKind::Register, half, half), [6, 4]);
    assert_eq!(distances(DistanceKind::Register, half, alu), [8, 5]);
    assert_eq!(distances(DistanceKind::Guard, alu, alu), [12, 13]);
    assert_eq!(distances(DistanceKind::Address, alu, memory), [8, 5]);
    let mma = Class::Hmma1688F16;
    assert_eq!(distances(DistanceKind::Register, mma, alu), [14, 16]);
}

#[test]
fn names_and_classes_agree() {
    for &class in Class::ALL {
        assert_eq!(Class::from_name(class.name()), Some(class));
    }
    assert_eq!(Class::from_name("Nonesuch"), None);
}
