//! Latency tables of an architecture: `gpus/latency/sm_xx.distances.csv` and `sm_xx.units.csv`.
//!
//! *Distances* say how many issue cycles must lie between two instructions of one warp so that the
//! second finds what it needs (DESIGN.md H1): consumer issue − producer issue ≥ distance. *Units* say
//! which execution unit takes an instruction, how long its result takes and how soon the unit takes
//! the next one (MODEL.md §6).
//!
//! A file may begin with `inherit,sm_yy`: that architecture's rows hold unless a row of its own says
//! otherwise. In the distance table a `class` row puts latency classes into a group along one axis
//! (who writes general registers, who reads them, …), a `distance` row gives one number for pairs of
//! groups. Every class must stand on every axis and every pair of groups must have its distance, so
//! that a class that is left out fails when the table is loaded, not when it is first met. Some group
//! names are reserved: `none` for classes that never touch the axis, and `counted…` for writers of
//! variable latency, whose readers wait for a dependence counter.
//!
//! # When a dependence is kept
//!
//! Compiled code keeps these rules without exception (`crates/schedule/tests`), and uses every one.
//!
//! *Fixed latency.* A reader keeps the distance of the class that wrote the register to the class that
//! reads it (`sass::Use::class`), by kind: a general register as data, as address or as stored data
//! (4 in a unit, 5 between units and to the memory unit, 4 to the other decoupled units); a predicate
//! as data (4 or 5 to the ALU and FMA; 13 to FP64, votes, branches, the memory unit); a guard (13,
//! whoever is guarded); a uniform register or predicate. An overwrite keeps the overwrite distance, so
//! that the younger result lands last. An instruction that overwrites what a fixed-latency one reads
//! keeps the read-overwrite distance, which is 1 or 2 but for two-pass matrix instructions (7) and
//! between uniform instructions. A fixed-latency instruction may carry counters all the same
//! (HMMA does): waiting for them stands for the distance.
//!
//! *Variable latency.* Results are pending until the write counter was waited for. Of the sources only
//! general registers are sampled late, and may be overwritten once the read or the write counter was
//! waited for; guards, predicates and uniform registers are read at issue. A wait covers an increment
//! that is at least two cycles old; DEPBAR takes hold four cycles after its issue.
//!
//! *In order.* The compiler relies on order where it saves a counter. Results return in issue order
//! within {MUFU, conversions, POPC, FLO, BREV, FCHK}, within {FP64, 64-bit conversions, DMMA}, within
//! {LDS, LDSM, ATOMS, SHFL, MOVM}, among texture instructions and among REDUX: an instruction without
//! write counter is covered by a wait for a younger one of its group. The memory unit reads the sources
//! of all its instructions in issue order: a wait for any younger one covers the sources of the older,
//! a memory instruction may overwrite a source of an older one, and behind BAR all have been read.
//!
//! *Lanes.* Instructions under complementary guards have no lane in common and no dependence.

mod read;

use sass::{File, Role};
use thiserror::Error;

macro_rules! tables {
    ($($sm:literal)*) => {
        /// The embedded tables: architecture, distances, units.
        const TABLES: &[(u32, &str, &str)] = &[$((
            $sm,
            include_str!(concat!("../../../../gpus/latency/sm_", $sm, ".distances.csv")),
            include_str!(concat!("../../../../gpus/latency/sm_", $sm, ".units.csv")),
        )),*];
    };
}

tables! { 75 80 86 89 90 }

/// What can be wrong with a latency table.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum LatencyError {
    /// There is no table for that architecture.
    #[error("no latency table for sm_{sm}; known are {known}")]
    NoTable {
        /// The architecture asked for.
        sm: u32,
        /// Those there are.
        known: String,
    },
    /// A line is not a row of the table.
    #[error("{file}:{line}: {message}")]
    Row {
        /// The file.
        file: String,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong and what would be right.
        message: String,
    },
    /// A class has no row in the unit table.
    #[error("{file}: latency class `{class}` has no row")]
    MissingUnit {
        /// The file.
        file: String,
        /// The class.
        class: String,
    },
    /// A class stands in no group of an axis.
    #[error("{file}: latency class `{class}` is in no group of `{axis}` (`none` is one)")]
    MissingClass {
        /// The file.
        file: String,
        /// The axis.
        axis: &'static str,
        /// The class.
        class: String,
    },
    /// A pair of classes has no distance.
    #[error("{file}: no `{kind}` distance from `{producer}` to `{consumer}`")]
    MissingDistance {
        /// The file.
        file: String,
        /// The kind.
        kind: &'static str,
        /// The class of the earlier instruction.
        producer: String,
        /// The class of the later instruction.
        consumer: String,
    },
}

macro_rules! names {
    ($(#[$doc:meta])* $enum:ident { $($(#[$item:meta])* $name:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum $enum { $($(#[$item])* $name),* }

        impl $enum {
            /// All, in order.
            pub const ALL: &'static [$enum] = &[$($enum::$name),*];

            /// The name used in the tables.
            pub const fn name(self) -> &'static str {
                match self { $($enum::$name => $text),* }
            }

            fn from_name(name: &str) -> Option<$enum> {
                $enum::ALL.iter().copied().find(|known| known.name() == name)
            }
        }
    };
}

names! {
    /// What the later instruction needs of the earlier one.
    DistanceKind {
        /// Reads a general register as data.
        Register = "register",
        /// Reads a general register as part of an address (or another operand that a
        /// variable-latency unit samples).
        Address = "address",
        /// Reads a general register as data to be stored.
        StoreData = "store_data",
        /// Reads a predicate as data.
        PredicateData = "predicate_data",
        /// Is guarded by a predicate.
        Guard = "guard",
        /// Reads a uniform register.
        Uniform = "uniform",
        /// Reads a uniform predicate as data.
        UniformPredicateData = "uniform_predicate_data",
        /// Is guarded by a uniform predicate.
        UniformGuard = "uniform_guard",
        /// Overwrites a general register.
        RegisterOverwrite = "register_overwrite",
        /// Overwrites a predicate.
        PredicateOverwrite = "predicate_overwrite",
        /// Overwrites a uniform register.
        UniformOverwrite = "uniform_overwrite",
        /// Overwrites a uniform predicate.
        UniformPredicateOverwrite = "uniform_predicate_overwrite",
        /// Overwrites a general register that the earlier instruction reads.
        RegisterReadOverwrite = "register_read_overwrite",
        /// Overwrites a uniform register that the earlier instruction reads.
        UniformReadOverwrite = "uniform_read_overwrite",
        /// Overwrites a uniform predicate that the earlier instruction reads.
        UniformPredicateReadOverwrite = "uniform_predicate_read_overwrite",
    }
}

names! {
    /// What a class is grouped by.
    Axis {
        /// Writers of general registers.
        GeneralWriter = "general_writer",
        /// Readers of general registers.
        GeneralReader = "general_reader",
        /// Writers of predicates.
        PredicateWriter = "predicate_writer",
        /// Readers of predicates as data.
        PredicateReader = "predicate_reader",
        /// Writers of uniform registers.
        UniformWriter = "uniform_writer",
        /// Readers of uniform registers.
        UniformReader = "uniform_reader",
        /// Writers of uniform predicates.
        UniformPredicateWriter = "uniform_predicate_writer",
        /// Readers of uniform predicates as data.
        UniformPredicateReader = "uniform_predicate_reader",
    }
}

impl DistanceKind {
    /// What a read of an operand needs of the earlier writer; `None`: convergence barriers are no matter of
    /// distances.
    pub fn of_read(file: File, role: Role) -> Option<DistanceKind> {
        Some(match (file, role) {
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

    /// What a write needs of the earlier writer.
    pub fn of_overwrite(file: File) -> Option<DistanceKind> {
        Some(match file {
            File::General => DistanceKind::RegisterOverwrite,
            File::Predicate => DistanceKind::PredicateOverwrite,
            File::Uniform => DistanceKind::UniformOverwrite,
            File::UniformPredicate => DistanceKind::UniformPredicateOverwrite,
            File::Convergence => return None,
        })
    }

    /// What a write needs of the earlier reader; `None`: predicates are read at issue.
    pub fn of_read_overwrite(file: File) -> Option<DistanceKind> {
        Some(match file {
            File::General => DistanceKind::RegisterReadOverwrite,
            File::Uniform => DistanceKind::UniformReadOverwrite,
            File::UniformPredicate => DistanceKind::UniformPredicateReadOverwrite,
            File::Predicate | File::Convergence => return None,
        })
    }

    /// Whether the later instruction overwrites a result of the earlier one.
    pub fn is_overwrite(self) -> bool {
        use DistanceKind::*;
        matches!(
            self,
            RegisterOverwrite | PredicateOverwrite | UniformOverwrite | UniformPredicateOverwrite
        )
    }

    /// How the earlier and the later instruction are grouped; `None`: any class may be guarded.
    fn axes(self) -> (Axis, Option<Axis>) {
        use DistanceKind::*;
        match self {
            Register | Address | StoreData => (Axis::GeneralWriter, Some(Axis::GeneralReader)),
            PredicateData => (Axis::PredicateWriter, Some(Axis::PredicateReader)),
            Guard => (Axis::PredicateWriter, None),
            Uniform => (Axis::UniformWriter, Some(Axis::UniformReader)),
            UniformPredicateData => (
                Axis::UniformPredicateWriter,
                Some(Axis::UniformPredicateReader),
            ),
            UniformGuard => (Axis::UniformPredicateWriter, None),
            RegisterOverwrite => (Axis::GeneralWriter, Some(Axis::GeneralWriter)),
            PredicateOverwrite => (Axis::PredicateWriter, Some(Axis::PredicateWriter)),
            UniformOverwrite => (Axis::UniformWriter, Some(Axis::UniformWriter)),
            UniformPredicateOverwrite => (
                Axis::UniformPredicateWriter,
                Some(Axis::UniformPredicateWriter),
            ),
            RegisterReadOverwrite => (Axis::GeneralReader, Some(Axis::GeneralWriter)),
            UniformReadOverwrite => (Axis::UniformReader, Some(Axis::UniformWriter)),
            UniformPredicateReadOverwrite => (
                Axis::UniformPredicateReader,
                Some(Axis::UniformPredicateWriter),
            ),
        }
    }
}

names! {
    /// An execution unit of a sub-core, or of the SM where it is shared.
    Unit {
        /// Integer and logic.
        Integer = "integer",
        /// Single precision and integer multiply-add.
        Float32 = "float32",
        /// Half precision.
        Half = "half",
        /// Double precision, one unit for the whole SM.
        Float64 = "float64",
        /// The uniform datapath.
        Uniform = "uniform",
        /// Control flow.
        Branch = "branch",
        /// What needs no unit of its own.
        Miscellaneous = "miscellaneous",
        /// The same with a queue and variable latency.
        MiscellaneousQueued = "miscellaneous_queued",
        /// Special functions and conversions.
        SpecialFunction = "special_function",
        /// The tensor core.
        Tensor = "tensor",
        /// The memory unit.
        Memory = "memory",
        /// Double precision in every sub-core (GA100).
        SubCoreFloat64 = "sub_core_float64",
    }
}

/// How an execution unit treats a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnitTiming {
    /// The unit that takes it.
    pub unit: Unit,
    /// A second unit that may take it, tried first (single precision in the integer unit of GA10x).
    pub alternative: Option<Unit>,
    /// Cycles from the hand-over of the operands to the result: MODEL.md §6's latency *plus*
    /// interval, so that an instruction with a distance of 4 to its own kind has latency 4. 0 where
    /// the memory unit decides.
    pub latency: u16,
    /// Cycles during which the unit takes nothing else. For matrix instructions `work` divided by
    /// the GPU's rate instead, and 0 here.
    pub interval: u16,
    /// Variable latency: readers wait for a dependence counter, the distance table does not apply.
    /// (The compiler treats FP64 and DMMA so on every architecture, GA100 included.)
    pub variable: bool,
    /// Cycles in which the operands are read from the register file; 0: not by the fixed-latency
    /// read stage.
    pub read_cycles: u8,
    /// Multiply-adds of one warp instruction of the matrix unit; 0 for all others.
    pub work: u32,
    /// Key in the GPU document's `[tensor]` table that `work` is to be divided by.
    pub rate: Option<&'static str>,
}

/// Where a number of the distance table comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Provenance {
    /// `measured`, `modelled` or `guess`.
    pub confidence: &'static str,
    /// The source.
    pub source: &'static str,
}

/// The loaded tables of one architecture. Indices are positions in the list of class names that it
/// was loaded for.
#[derive(Clone, Debug)]
pub struct LatencyTable {
    classes: usize,
    /// `[kind][producer][consumer]`.
    cycles: Vec<u8>,
    /// The same, index into `provenance`; 0 stands for implied distances of 1.
    rows: Vec<u16>,
    provenance: Vec<Provenance>,
    units: Vec<UnitTiming>,
    unit_provenance: Vec<Provenance>,
}

impl LatencyTable {
    /// Loads the tables of `sm` for the latency classes named in `classes`.
    ///
    /// # Errors
    /// An architecture without tables; a malformed row; a class of `classes` that has no unit or no
    /// place on an axis; a pair that needs a distance and has none; a row that names a class which is
    /// not in `classes`.
    pub fn load(sm: u32, classes: &[&'static str]) -> Result<LatencyTable, LatencyError> {
        let find = |sm| TABLES.iter().find(|table| table.0 == sm).copied();
        LatencyTable::load_from(sm, classes, &find)
    }

    /// Loads from other texts than the embedded ones.
    fn load_from(
        sm: u32,
        classes: &[&'static str],
        find: &dyn Fn(u32) -> Option<(u32, &'static str, &'static str)>,
    ) -> Result<LatencyTable, LatencyError> {
        let mut reader = read::Reader::new(classes, find);
        reader.read_distances(sm, 0)?;
        reader.read_units(sm, 0)?;
        reader.finish(sm)
    }

    /// Least distance in issue cycles from an instruction of class `producer` to one of class
    /// `consumer`. 1 where the producer has variable latency or the pair cannot occur.
    pub fn distance(&self, kind: DistanceKind, producer: usize, consumer: usize) -> u16 {
        self.cycles[self.place(kind, producer, consumer)].into()
    }

    /// Where a distance comes from, unless it is implied.
    pub fn distance_provenance(
        &self,
        kind: DistanceKind,
        producer: usize,
        consumer: usize,
    ) -> Option<Provenance> {
        let row = usize::from(self.rows[self.place(kind, producer, consumer)]);
        row.checked_sub(1)
            .and_then(|row| self.provenance.get(row))
            .copied()
    }

    /// Which row of the table gives a distance: pairs of one row share their number. 0 for implied distances.
    pub fn row(&self, kind: DistanceKind, producer: usize, consumer: usize) -> u16 {
        self.rows[self.place(kind, producer, consumer)]
    }

    /// The execution unit of a class.
    pub fn unit(&self, class: usize) -> UnitTiming {
        self.units[class]
    }

    /// Where the unit's numbers come from.
    pub fn unit_provenance(&self, class: usize) -> Provenance {
        self.unit_provenance[class]
    }

    fn place(&self, kind: DistanceKind, producer: usize, consumer: usize) -> usize {
        (kind as usize * self.classes + producer) * self.classes + consumer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISTANCES: &str = "record,kind,producer,consumer,cycles,confidence,source\n\
        class,general_writer,A,Add Mul,,,\n\
        class,general_reader,A,Add Mul,,,\n\
        class,predicate_writer,none,Add Mul,,,\n\
        class,predicate_reader,none,Add Mul,,,\n\
        class,uniform_writer,none,Add Mul,,,\n\
        class,uniform_reader,none,Add Mul,,,\n\
        class,uniform_predicate_writer,none,Add Mul,,,\n\
        class,uniform_predicate_reader,none,Add Mul,,,\n\
        distance,register address store_data,A,A,4,measured,test\n\
        distance,register_overwrite register_read_overwrite,A,A,1,measured,test\n";
    const UNITS: &str = "class,unit,alternative,latency,interval,timing,read_cycles,work,rate,confidence,source\n\
        Add,integer,,4,2,fixed,3,,,measured,test\n\
        Mul,float32,integer,4,2,fixed,3,,,measured,test\n";

    fn load(
        classes: &[&'static str],
        distances: &'static str,
        units: &'static str,
    ) -> Result<LatencyTable, LatencyError> {
        LatencyTable::load_from(1, classes, &|_| Some((1, distances, units)))
    }

    #[test]
    fn loads() {
        let table = load(&["Add", "Mul"], DISTANCES, UNITS).expect("a complete table");
        assert_eq!(table.distance(DistanceKind::Register, 0, 1), 4);
        assert_eq!(table.distance(DistanceKind::Guard, 0, 1), 1);
        assert_eq!(table.unit(1).alternative, Some(Unit::Integer));
    }

    #[test]
    fn a_class_left_out_fails() {
        let error = load(&["Add", "Mul", "Sub"], DISTANCES, UNITS).expect_err("Sub is nowhere");
        assert!(matches!(error, LatencyError::MissingClass { ref class, .. } if class == "Sub"));
        let error = load(&["Add"], DISTANCES, UNITS).expect_err("Mul is unknown");
        assert!(
            error.to_string().contains("`Mul` is no latency class"),
            "{error}"
        );
    }

    #[test]
    fn a_unit_left_out_fails() {
        let units = "class\nAdd,integer,,4,2,fixed,3,,,measured,test\n";
        let error = load(&["Add", "Mul"], DISTANCES, units).expect_err("Mul has no unit");
        assert!(matches!(error, LatencyError::MissingUnit { ref class, .. } if class == "Mul"));
    }

    #[test]
    fn a_distance_left_out_fails() {
        let distances = DISTANCES.strip_suffix(
            "distance,register_overwrite register_read_overwrite,A,A,1,measured,test\n",
        );
        let error = load(&["Add", "Mul"], distances.expect("the last row"), UNITS)
            .expect_err("no overwrite distance");
        assert!(matches!(
            error,
            LatencyError::MissingDistance {
                kind: "register_overwrite",
                ..
            }
        ));
    }

    #[test]
    fn a_malformed_row_is_named() {
        for (row, message) in [
            ("distance,register,A,A,0,measured,x\n", "no distance"),
            (
                "distance,register,B,A,3,measured,x\n",
                "no class is in the group `B`",
            ),
            ("distance,colour,A,A,3,measured,x\n", "no kind of distance"),
            ("distance,register,A,A,3,hearsay,x\n", "no confidence"),
            ("distance,register,A,A,3,measured,\n", "needs its source"),
            ("distance,register,A,A,3,measured,x\n", "given twice"),
        ] {
            let text: &'static str = Box::leak(format!("{DISTANCES}{row}").into_boxed_str());
            let error = load(&["Add", "Mul"], text, UNITS)
                .expect_err(row)
                .to_string();
            assert!(
                error.contains(message) && error.contains(":12:"),
                "{row}: {error}"
            );
        }
    }
}
