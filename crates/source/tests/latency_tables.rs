//! The latency tables fit the classes that instructions have.

use hardware::latency::{DistanceKind, LatencyTable, Unit};
use sass::Class;

#[test]
fn every_architecture_loads() {
    for sm in [80, 86, 89] {
        let table = LatencyTable::load(sm, Class::NAMES).unwrap_or_else(|error| panic!("{error}"));
        let fma = Class::CoupledFma.index();
        assert_eq!(table.distance(DistanceKind::Register, fma, fma), 4);
        assert_eq!(table.unit(Class::Memory.index()).unit, Unit::Memory);
        let double = table.unit(Class::RedirectedFp64.index());
        assert!(
            double.variable,
            "compiled code guards FP64 by counters on every architecture"
        );
        let own_unit = double.unit == Unit::SubCoreFloat64;
        assert_eq!(
            own_unit,
            sm == 80,
            "GA100 alone has FP64 units in its sub-cores"
        );
        let single = table.unit(fma);
        assert_eq!(
            single.alternative.is_some(),
            sm != 80,
            "only GA10x and AD10x double FP32"
        );
    }
}

#[test]
fn names_and_classes_agree() {
    for &class in Class::ALL {
        assert_eq!(Class::from_name(class.name()), Some(class));
    }
    assert_eq!(Class::from_name("Nonesuch"), None);
}
