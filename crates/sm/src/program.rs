//! A kernel as the timing model sees it: one row per static instruction, everything the loop needs
//! worked out beforehand (DESIGN.md §4, speed rule 5).

use std::sync::Arc;

use hardware::Gpu;
use hardware::latency::{DistanceKind, LatencyTable, Unit};
use sass::{File, Role, Use};
use source::{Description, MemoryKind, Queue, Special};

use crate::constant_cache::constant_address;
use crate::error::SmError;
use crate::memory_unit::MemoryUnitParameters;
use crate::memory_unit::stages::STAGES;
use crate::parameters::SmParameters;
use crate::units::UnitIndex;

/// How an instruction leaves Control.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Path {
    /// Through Allocate; everything after is fixed.
    Fixed,
    /// To a variable-latency unit of the sub-core.
    Variable,
    /// To the memory unit.
    Memory,
    /// To the queue of the FP64 unit that the SM shares.
    SharedFloat64,
}

/// A general-register source operand as the read ports and the reuse cache see it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operand {
    /// First register.
    pub register: u8,
    /// Registers.
    pub count: u8,
    /// Operand slot.
    pub slot: u8,
    /// Carries `.reuse`.
    pub reuse: bool,
}

/// A register use as the hazard check sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark {
    /// Place in the warp's hazard table.
    pub first: u16,
    /// Registers.
    pub count: u8,
    /// What it needs of an earlier instruction (index of [`hardware::latency::DistanceKind`]).
    pub kind: u8,
    /// Latency class (row of a producer, column of a consumer).
    pub class: u8,
    /// Uniform registers and predicates, sources of matrix instructions: what a write needs of an
    /// earlier reader (index of
    /// [`hardware::latency::DistanceKind`]); [`NO_KIND`] for other files.
    pub overwrite_kind: u8,
    /// Whether it is the guard, which all active lanes read.
    pub guard: bool,
    /// Whether it is a general register: what instructions of variable latency sample after issue.
    pub general: bool,
}

/// No kind of distance.
pub const NO_KIND: u8 = u8::MAX;

/// No constant operand.
pub const NO_CONSTANT: u32 = u32::MAX;

/// One static instruction.
#[derive(Clone, Debug)]
pub struct Row {
    /// Cycles to the warp's next instruction.
    pub distance: u8,
    /// Counters that must be zero.
    pub wait_mask: u8,
    /// Write counter, 7 if none.
    pub write_counter: u8,
    /// Read counter, 7 if none.
    pub read_counter: u8,
    /// Way out of Control.
    pub path: Path,
    /// Whose results come in order.
    pub queue: Option<Queue>,
    /// Unit.
    pub unit: UnitIndex,
    /// Unit that is tried first, equal to `unit` if there is only one.
    pub first_unit: UnitIndex,
    /// Cycles between two instructions in the unit.
    pub interval: u16,
    /// Cycles from the end of the read phase to the result.
    pub latency: u16,
    /// Cycles of the read phase.
    pub read_window: u8,
    /// Reads per bank without the reuse cache.
    pub bank_needs: [u8; 2],
    /// Whether an operand carries `.reuse`.
    pub reuses: bool,
    /// Whether the operands name no register twice.
    pub distinct_operands: bool,
    /// Banks that the result writes.
    pub write_banks: u8,
    /// General registers written.
    pub registers_written: u8,
    /// Cycles the issue port is lost after it.
    pub blocks_port: u8,
    /// Constant line of a fixed-latency instruction's constant operand.
    pub constant_line: u32,
    /// Row of the stage table.
    pub memory_kind: MemoryKind,
    /// Number among the program's memory instructions.
    pub memory_number: u32,
    /// Address without a general register.
    pub uniform_address: bool,
    /// LDSM with two or four matrices.
    pub matrices: bool,
    /// Transfer cycles of its result.
    pub transfer: u8,
    /// Cycles from the last cycle of the last stage to the release of its sources.
    pub sources_read: u8,
    /// Address stages.
    pub stages: [u8; STAGES],
    /// Counts as long-scoreboard producer (global, local, texture).
    pub long: bool,
    /// What else issue does.
    pub special: Special,
    /// Source operands: range of [`Program::operands`].
    pub operands: (u32, u8),
    /// Register reads: range of [`Program::marks`].
    pub reads: (u32, u8),
    /// Register writes: range of [`Program::marks`].
    pub writes: (u32, u8),
    /// Transfer cycles of a shared FP64 instruction.
    pub float64_transfer: u16,
}

impl Row {
    /// LDGDEPBAR: its write counter falls with the copies, not with the instruction.
    #[inline]
    pub fn commits_copies(&self) -> bool {
        self.special == Special::CommitCopies
    }

    /// An atomic operation without write counter that returns a predicate alone: it is known with the
    /// sources (Hopper's generic ATOM that tells whether the address was a shared one).
    #[inline]
    pub fn answers_with_sources(&self) -> bool {
        self.memory_kind == MemoryKind::GlobalAtomic
            && self.write_counter == 7
            && self.registers_written == 0
            && self.writes.1 > 0
    }
}

/// A kernel's rows and tables.
#[derive(Debug)]
pub struct Program {
    /// One row per instruction of the code image.
    pub rows: Vec<Row>,
    /// Source operands of all rows.
    pub operands: Vec<Operand>,
    /// Register uses of all rows.
    pub marks: Vec<Mark>,
    /// Places of a warp's hazard table.
    pub places: usize,
    /// How many of them, at the beginning, are general registers.
    pub registers: usize,
    /// Instructions that go to the memory unit.
    pub memory_instructions: u32,
    /// Whether scoreboards stand in for the control bits.
    pub on_scoreboards: bool,
    /// Whether some instruction needs its sources after issue: then all general writes are checked.
    holds_sources: bool,
    /// Visibility distances: `[kind][producer][consumer]`.
    pub distances: Distances,
}

/// Visibility distances, flat.
#[derive(Debug)]
pub struct Distances {
    classes: usize,
    cycles: Vec<u8>,
    largest: Vec<u8>,
    /// `[kind][producer]`: the largest over all consumers.
    largest_of: Vec<u8>,
}

impl Distances {
    fn new(table: &LatencyTable) -> Distances {
        let classes = sass::Class::ALL.len();
        let mut cycles = Vec::with_capacity(DistanceKind::ALL.len() * classes * classes);
        let mut largest = vec![0u8; classes];
        let mut largest_of = Vec::with_capacity(DistanceKind::ALL.len() * classes);
        for kind in DistanceKind::ALL {
            for (producer, largest) in largest.iter_mut().enumerate() {
                let mut most = 0;
                for consumer in 0..classes {
                    let distance = table.distance(*kind, producer, consumer);
                    let distance = distance.min(u8::MAX as u16) as u8;
                    most = most.max(distance);
                    cycles.push(distance);
                }
                largest_of.push(most);
                *largest = (*largest).max(most);
            }
        }
        Distances {
            classes,
            cycles,
            largest,
            largest_of,
        }
    }

    /// Issue cycles that must lie between `producer` and `consumer`.
    #[inline]
    pub fn get(&self, kind: u8, producer: u8, consumer: u8) -> u64 {
        let index =
            (kind as usize * self.classes + producer as usize) * self.classes + consumer as usize;
        self.cycles[index] as u64
    }

    /// Whether an instruction of `class` still needs its general-register sources after it has been
    /// issued (two-pass matrix instructions).
    fn holds_sources(&self, class: sass::Class) -> bool {
        let kind = DistanceKind::RegisterReadOverwrite as u8;
        (0..self.classes).any(|writer| self.get(kind, class.index() as u8, writer as u8) > 1)
    }

    /// The largest distance of `kind` of any consumer of `producer`.
    #[inline]
    pub fn largest_of(&self, kind: u8, producer: u8) -> u64 {
        self.largest_of[kind as usize * self.classes + producer as usize] as u64
    }

    /// The largest distance of any consumer of `producer`.
    #[inline]
    pub fn largest(&self, producer: u8) -> u64 {
        self.largest[producer as usize] as u64
    }
}

/// Places of the hazard table behind the general registers: uniform registers.
pub(crate) const UNIFORM: usize = 64;
/// Predicates of a file, the one that is always true included.
pub(crate) const PREDICATES: usize = 8;

impl Program {
    /// Works out the rows of `descriptions`, one per instruction of the code image.
    ///
    /// # Errors
    /// A latency class without a row, or a parameter that does not load.
    pub fn new(
        descriptions: &[Description],
        gpu: &Gpu,
        parameters: &SmParameters,
    ) -> Result<Arc<Program>, SmError> {
        let table = LatencyTable::load(gpu.architecture(), sass::Class::NAMES)?;
        let registers = descriptions
            .iter()
            .flat_map(|d| d.footprint.reads.iter().chain(&d.footprint.writes))
            .filter(|u| u.file == File::General)
            .map(|u| u.first as usize + u.count as usize)
            .max()
            .unwrap_or(0);
        let mut program = Program {
            rows: Vec::with_capacity(descriptions.len()),
            operands: Vec::new(),
            marks: Vec::new(),
            places: registers + UNIFORM + 2 * PREDICATES,
            registers,
            memory_instructions: 0,
            on_scoreboards: parameters
                .dependence
                .uses_scoreboards(has_no_control_bits(descriptions)),
            holds_sources: false,
            distances: Distances::new(&table),
        };
        program.holds_sources = descriptions
            .iter()
            .flat_map(|d| &d.footprint.reads)
            .any(|read| read.file == File::General && program.distances.holds_sources(read.class));
        for description in descriptions {
            let row = program.row(description, &table, gpu, parameters, registers)?;
            program.rows.push(row);
        }
        Ok(Arc::new(program))
    }

    fn row(
        &mut self,
        description: &Description,
        table: &LatencyTable,
        gpu: &Gpu,
        parameters: &SmParameters,
        registers: usize,
    ) -> Result<Row, SmError> {
        let control = description.control;
        let timing = table.unit(description.class.index());
        let interval = match timing.rate {
            Some(rate) => {
                let per_cycle = tensor_rate(gpu, rate)?;
                (timing.work as f64 / per_cycle).ceil() as u16
            }
            None => timing.interval,
        };
        let shape = description.memory;
        let path = match timing.unit {
            _ if shape.is_some() => Path::Memory,
            Unit::Memory => Path::Memory,
            Unit::Float64 if timing.variable => Path::SharedFloat64,
            _ if timing.variable => Path::Variable,
            _ => Path::Fixed,
        };
        let operands = self.operands_of(description, parameters);
        let (start, count) = operands;
        let own = &self.operands[start as usize..start as usize + count as usize];
        let bank_needs = crate::reuse_cache::ReuseCache::new(0).needs(0, own);
        let reuses = own.iter().any(|operand| operand.reuse);
        let named: u32 = own.iter().map(|operand| operand.count as u32).sum();
        let distinct_operands = bank_needs[0] as u32 + bank_needs[1] as u32 == named;
        let register_sources = own.len() as u64;
        let general = || {
            description
                .footprint
                .writes
                .iter()
                .filter(|u| u.file == File::General)
        };
        let registers_written = general().map(|u| u.count).sum::<u8>();
        let mut write_banks = 0;
        for write in general() {
            write_banks |= if write.count > 1 {
                3
            } else {
                1 << (write.first & 1)
            };
        }
        let reads = self.marks_of(&description.footprint.reads, registers, false);
        let writes = self.marks_of(&description.footprint.writes, registers, true);
        let kind = shape.map_or(MemoryKind::Pass, |shape| shape.kind);
        let uniform = shape.is_none_or(|shape| shape.uniform_address);
        let (transfer, stages, sources_read) = memory_timing(
            &parameters.memory_unit,
            kind,
            uniform,
            shape.map_or(4, |s| s.bytes),
        );
        let issue = &parameters.issue;
        let scoreboards = self.on_scoreboards;
        let distance = if scoreboards {
            1
        } else {
            (parameters.stalls).distance(control.stall, control.yields)
        };
        let commits = description.special == Special::CommitCopies;
        let blocks_port = match description.special {
            Special::ErrorBarrier => issue.error_barrier_block,
            _ if description.class == sass::Class::ImadWide => issue.wide_multiply_block,
            _ => 0,
        };
        let float64 = &parameters.shared_float64;
        let memory_number = self.memory_instructions;
        if path == Path::Memory {
            self.memory_instructions += 1;
        }
        let constant_line = match description.constant {
            Some(constant) if path == Path::Fixed => {
                let address = constant_address(constant.bank, constant.offset);
                address / parameters.constant_operand_cache.line_bytes
            }
            _ => NO_CONSTANT,
        };
        Ok(Row {
            distance,
            wait_mask: if scoreboards { 0 } else { control.wait_mask },
            // DEPBAR waits for copies on scoreboards too.
            write_counter: match control.write_counter {
                Some(counter) if !scoreboards || commits => counter,
                _ => 7,
            },
            read_counter: match control.read_counter {
                Some(counter) if !scoreboards => counter,
                _ => 7,
            },
            path,
            queue: Queue::of(description),
            unit: timing.unit as u8,
            first_unit: timing
                .alternative
                .map_or(timing.unit as u8, |unit| unit as u8),
            interval,
            latency: timing.latency,
            // Long enough for the reads of one bank, whatever the table says.
            read_window: timing
                .read_cycles
                .max(bank_needs[0])
                .max(bank_needs[1])
                .clamp(1, 30),
            bank_needs,
            reuses,
            distinct_operands,
            write_banks,
            registers_written,
            blocks_port: blocks_port as u8,
            constant_line,
            memory_kind: kind,
            memory_number,
            uniform_address: uniform,
            matrices: kind == MemoryKind::MatrixLoad && shape.is_some_and(|shape| shape.bytes > 4),
            transfer,
            sources_read,
            stages,
            long: matches!(
                kind,
                MemoryKind::GlobalLoad
                    | MemoryKind::GlobalStore
                    | MemoryKind::GlobalAtomic
                    | MemoryKind::CopyToShared
            ) && shape.is_some(),
            special: description.special,
            operands,
            reads,
            writes,
            float64_transfer: (float64.transfer_base
                + register_sources * float64.transfer_register
                + float64.sources.saturating_sub(register_sources))
                as u16,
        })
    }

    /// General-register operands of a fixed-latency instruction that use ports and the reuse cache.
    fn operands_of(&mut self, description: &Description, parameters: &SmParameters) -> (u32, u8) {
        let start = self.operands.len() as u32;
        for read in &description.footprint.reads {
            if let (File::General, Some(slot)) = (read.file, read.slot) {
                self.operands.push(Operand {
                    register: read.first,
                    count: read.count,
                    slot,
                    reuse: read.reuse && parameters.register_file.reuse_cache,
                });
            }
        }
        (start, (self.operands.len() as u32 - start) as u8)
    }

    fn marks_of(&mut self, uses: &[Use], registers: usize, writes: bool) -> (u32, u8) {
        let start = self.marks.len() as u32;
        for used in uses {
            let base = match used.file {
                File::General => 0,
                File::Uniform => registers,
                File::Predicate => registers + UNIFORM,
                File::UniformPredicate => registers + UNIFORM + PREDICATES,
                File::Convergence => continue,
            };
            let kind = if writes {
                DistanceKind::of_overwrite(used.file)
            } else {
                DistanceKind::of_read(used.file, used.role)
            };
            let Some(kind) = kind else { continue };
            let read_overwrite = DistanceKind::of_read_overwrite(used.file);
            let holds = self.holds_sources && (writes || self.distances.holds_sources(used.class));
            let general = used.file == File::General;
            self.marks.push(Mark {
                first: (base + used.first as usize) as u16,
                count: used.count,
                kind: kind as u8,
                class: used.class.index() as u8,
                overwrite_kind: read_overwrite
                    .filter(|_| holds || !general)
                    .map_or(NO_KIND, |kind| kind as u8),
                guard: used.role == Role::Guard,
                general,
            });
        }
        (start, (self.marks.len() as u32 - start) as u8)
    }

    /// Register uses of a range.
    #[inline]
    pub fn marks(&self, range: (u32, u8)) -> &[Mark] {
        &self.marks[range.0 as usize..range.0 as usize + range.1 as usize]
    }

    /// Source operands of a range.
    #[inline]
    pub fn operands(&self, range: (u32, u8)) -> &[Operand] {
        &self.operands[range.0 as usize..range.0 as usize + range.1 as usize]
    }
}

/// Whether code comes without control bits: all zero, which no compiler writes.
fn has_no_control_bits(descriptions: &[Description]) -> bool {
    !descriptions.is_empty() && descriptions.iter().all(|d| d.control.encode().0 == 0)
}

/// Multiply-adds per cycle and sub-core of the GPU's tensor rate `name`.
fn tensor_rate(gpu: &Gpu, name: &str) -> Result<f64, SmError> {
    let key = format!("tensor.{name}");
    if !gpu.has(&key) {
        return Err(SmError::NoTensorUnit { key });
    }
    let rate = match gpu.value(&key)? {
        hardware::Value::Integer(rate) => *rate as f64,
        hardware::Value::Float(rate) => *rate,
        _ => 0.0,
    };
    if rate > 0.0 {
        Ok(rate)
    } else {
        Err(SmError::NoTensorUnit { key })
    }
}

/// Transfer cycles, address stages and release of the sources of a memory instruction.
fn memory_timing(
    unit: &MemoryUnitParameters,
    kind: MemoryKind,
    uniform: bool,
    bytes: u8,
) -> (u8, [u8; STAGES], u8) {
    let warp_bytes = 32 * bytes.max(4) as u32;
    let global = warp_bytes.div_ceil(unit.global_transfer);
    let shared = warp_bytes
        .div_ceil(unit.shared_transfer)
        .max(unit.shared_transfer_least);
    let (stages, transfer, read, is_store) = match (kind, uniform) {
        (MemoryKind::GlobalLoad | MemoryKind::GlobalAtomic, true) => {
            (&unit.load_uniform, global, unit.load_uniform_read, false)
        }
        (MemoryKind::GlobalLoad | MemoryKind::GlobalAtomic, false) => {
            (&unit.load_register, global, unit.load_register_read, false)
        }
        (MemoryKind::GlobalStore, true) => (&unit.store_uniform, global, unit.store_read, true),
        (MemoryKind::GlobalStore, false) => (&unit.store_register, global, unit.store_read, true),
        (MemoryKind::SharedLoad | MemoryKind::MatrixLoad | MemoryKind::SharedAtomic, true) => (
            &unit.shared_load_uniform,
            shared,
            unit.shared_load_read,
            false,
        ),
        (MemoryKind::SharedLoad | MemoryKind::MatrixLoad | MemoryKind::SharedAtomic, false) => (
            &unit.shared_load_register,
            shared,
            unit.shared_load_read,
            false,
        ),
        (MemoryKind::SharedStore, true) => (
            &unit.shared_store_uniform,
            global,
            unit.shared_store_read,
            true,
        ),
        (MemoryKind::SharedStore, false) => (
            &unit.shared_store_register,
            global,
            unit.shared_store_read,
            true,
        ),
        (MemoryKind::ConstantLoad, true) => (
            &unit.constant_load_uniform,
            1,
            unit.constant_load_read,
            false,
        ),
        (MemoryKind::ConstantLoad, false) => (
            &unit.constant_load_register,
            1,
            unit.constant_load_read,
            false,
        ),
        (MemoryKind::CopyToShared, _) => (&unit.copy, 1, unit.copy_read, false),
        (MemoryKind::Pass, _) => (&unit.pass, 1, unit.pass_read, false),
    };
    let mut lengths = [0u8; STAGES];
    for (length, &cycles) in lengths.iter_mut().zip(stages) {
        *length = cycles.min(64) as u8;
    }
    if is_store {
        lengths[STAGES - 1] += transfer as u8;
    }
    (transfer as u8, lengths, read as u8)
}
