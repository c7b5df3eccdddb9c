//! Why a workload cannot be run, or did not run to its end.

use std::path::PathBuf;

use cubin::CubinError;
use exec::ExecError;
use hardware::{HardwareError, LaunchError, OccupancyError};
use reference::{CompareError, InitError, ReferenceError};

use crate::engine::{Hang, HangKind};
use crate::launch::{ArgumentError, LaunchFileError};

/// What can go wrong between a launch file and its report.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The launch file is not as it should be.
    #[error(transparent)]
    LaunchFile(#[from] Box<LaunchFileError>),
    /// The GPU's document is not as it should be.
    #[error("{0}")]
    Hardware(Box<HardwareError>),
    /// A file cannot be read.
    #[error("{}: cannot be read: {reason}", .file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        reason: String,
    },
    /// A file of buffer contents of the wrong size.
    #[error("{}: has {found} bytes; buffer `{buffer}` takes {expected} ({count} x {element})", .file.display())]
    FileSize {
        /// The file.
        file: PathBuf,
        /// The buffer.
        buffer: String,
        /// Bytes of the file.
        found: u64,
        /// Bytes of the buffer.
        expected: u64,
        /// Elements of the buffer.
        count: u64,
        /// Their type.
        element: &'static str,
    },
    /// The cubin is not as it should be, or does not hold the kernel.
    #[error("{}: {error}", .file.display())]
    Cubin {
        /// The cubin.
        file: PathBuf,
        /// What is wrong.
        error: Box<CubinError>,
    },
    /// The cubin is for another architecture than the GPU's.
    #[error(
        "{}: the code is for sm_{code}, which {gpu} (sm_{hardware}) cannot run: it runs sm_{}{}",
        .file.display(), .hardware / 10 * 10, if .hardware % 10 > 0 { format!(" to sm_{hardware}") } else { String::new() }
    )]
    WrongArchitecture {
        /// The cubin.
        file: PathBuf,
        /// Architecture of the code.
        code: u32,
        /// The GPU.
        gpu: String,
        /// Its architecture.
        hardware: u32,
    },
    /// A launch file whose kernels exist for other architectures only.
    #[error(
        "{}: there is no code for {gpu} (sm_{hardware}); the launch file names {}",
        .file.display(), sm_names(.architectures)
    )]
    NoCode {
        /// The cubin, with `{arch}` in its name.
        file: PathBuf,
        /// The GPU.
        gpu: String,
        /// Its architecture.
        hardware: u32,
        /// The architectures that there is code for.
        architectures: Vec<u32>,
    },
    /// Arguments that do not fit the kernel.
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    /// A grid or block that no GPU of this kind accepts.
    #[error("kernel `{kernel}`: {error}")]
    Launch {
        /// The kernel.
        kernel: String,
        /// What is wrong.
        error: LaunchError,
    },
    /// A CTA that does not fit an SM.
    #[error("kernel `{kernel}`: {error}")]
    Occupancy {
        /// The kernel.
        kernel: String,
        /// What is wrong.
        error: OccupancyError,
    },
    /// A cooperative launch whose CTAs do not fit the GPU at the same time.
    #[error(
        "kernel `{kernel}`: {ctas} CTAs of a cooperative launch; the GPU holds {most} at a time"
    )]
    Cooperative {
        /// The kernel.
        kernel: String,
        /// CTAs of the grid.
        ctas: u64,
        /// CTAs that are resident at a time.
        most: u64,
    },
    /// No instruction to follow.
    #[error("kernel `{kernel}`: {error}")]
    Walk {
        /// The kernel.
        kernel: String,
        /// What is wrong.
        error: crate::walk::WalkError,
    },
    /// A launch that cannot be made.
    #[error("kernel `{kernel}`: {error}")]
    Exec {
        /// The kernel.
        kernel: String,
        /// What is wrong.
        error: Box<ExecError>,
    },
    /// A kernel that the timing model of this GPU cannot take.
    #[error("kernel `{kernel}`: {error}")]
    Sm {
        /// The kernel.
        kernel: String,
        /// What is wrong.
        error: Box<sm::SmError>,
    },
    /// Device memory that cannot be had.
    #[error("{0}")]
    Memory(Box<ExecError>),
    /// A texture or surface that cannot be had.
    #[error(transparent)]
    Texture(#[from] exec::texture::TableError),
    /// A buffer that cannot be filled as asked.
    #[error("buffer `{buffer}`: {error}")]
    Init {
        /// The buffer.
        buffer: String,
        /// What is wrong.
        error: InitError,
    },
    /// More first contents than this machine should hold.
    #[error(
        "the buffers' first contents take {bytes} bytes; at most {limit} are filled (zeros take none)"
    )]
    TooMuch {
        /// Bytes of all buffers that do not start as zeros.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// A CPU reference that does not exist.
    #[error("no CPU reference is called `{name}`; known are {}", .known.join(", "))]
    UnknownReference {
        /// The name.
        name: String,
        /// All names.
        known: Vec<&'static str>,
    },
    /// A CPU reference that cannot work on these buffers and parameters.
    #[error("CPU reference `{name}`: {error}")]
    Reference {
        /// The reference.
        name: String,
        /// What is wrong.
        error: ReferenceError,
    },
    /// A buffer that cannot be compared with what is expected.
    #[error("check of buffer `{buffer}`: {error}")]
    Compare {
        /// The buffer.
        buffer: String,
        /// What is wrong.
        error: CompareError,
    },
    /// A visibility quantum longer than the shortest round trip to L2.
    #[error(
        "`engine.visibility_quantum` is {quantum}, but must be at most {most}, the shortest round \
         trip from an SM to an L2 slice and back"
    )]
    Quantum {
        /// The quantum.
        quantum: u64,
        /// The round trip.
        most: u64,
    },
    /// Host threads that cannot be had.
    #[error("{count} host threads cannot be had: {reason}")]
    Threads {
        /// How many were asked for.
        count: usize,
        /// Why not.
        reason: String,
    },
    /// The program did what the machine would trap.
    #[error("{0}")]
    Fault(Box<FaultReport>),
    /// The launch does not end.
    #[error("{}", .0.headline())]
    Hang(Box<HangReport>),
    /// The launch does not end, without time.
    #[error("kernel `{}`: {}", .0.kernel, .0.what)]
    FunctionalHang(Box<FunctionalHang>),
}

/// "sm_80, sm_86 and sm_89".
fn sm_names(architectures: &[u32]) -> String {
    let names: Vec<String> = architectures.iter().map(|sm| format!("sm_{sm}")).collect();
    match names.split_last() {
        None => "none".to_owned(),
        Some((only, [])) => only.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}

impl From<HardwareError> for RunError {
    fn from(error: HardwareError) -> RunError {
        RunError::Hardware(Box::new(error))
    }
}

impl From<ExecError> for RunError {
    fn from(error: ExecError) -> RunError {
        RunError::Memory(Box::new(error))
    }
}

impl RunError {
    /// Whether the input is at fault, not the run.
    pub fn is_input(&self) -> bool {
        !matches!(
            self,
            RunError::Fault(_) | RunError::Hang(_) | RunError::FunctionalHang(_)
        )
    }
}

/// A fault with everything that is known about its place.
#[derive(Debug, Clone)]
pub struct FaultReport {
    /// The kernel.
    pub kernel: String,
    /// Function that holds the instruction, if it is not the kernel's own.
    pub function: String,
    /// Byte offset of the instruction in that function.
    pub offset: u64,
    /// The instruction.
    pub instruction: String,
    /// Thread in its CTA, if a lane is at fault.
    pub thread: Option<[u32; 3]>,
    /// CTA in the grid.
    pub cta: [u32; 3],
    /// SM and cycle, if the run is timed.
    pub place: Option<(u16, u64)>,
    /// What happened.
    pub what: String,
    /// What may help, if anything.
    pub help: Option<String>,
}

impl std::fmt::Display for FaultReport {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let FaultReport {
            kernel,
            offset,
            instruction,
            what,
            ..
        } = self;
        write!(formatter, "kernel `{kernel}`, pc {offset:#06x}")?;
        if self.function != self.kernel {
            write!(formatter, " of `{}`", self.function)?;
        }
        write!(formatter, " (`{instruction}`), ")?;
        if let Some([x, y, z]) = self.thread {
            write!(formatter, "thread ({x}, {y}, {z}) of ")?;
        }
        let [x, y, z] = self.cta;
        write!(formatter, "CTA ({x}, {y}, {z})")?;
        if let Some((sm, cycle)) = self.place {
            write!(formatter, ", SM {sm}, cycle {cycle}")?;
        }
        write!(formatter, ": {what}")
    }
}

/// A hang of a run without time.
#[derive(Debug, Clone)]
pub struct FunctionalHang {
    /// The kernel.
    pub kernel: String,
    /// What hangs.
    pub what: String,
    /// Who waits for what.
    pub waiting: Vec<String>,
}

/// A hang with the kernel and its instructions named.
#[derive(Debug, Clone)]
pub struct HangReport {
    /// The kernel.
    pub kernel: String,
    /// What hangs.
    pub hang: Hang,
    /// For each warp of the hang: byte offset and text of its instruction.
    pub instructions: Vec<(u64, String)>,
}

impl HangReport {
    /// Warps of the wait graph that are told one by one.
    const SHOWN: usize = 24;

    /// One line: what hangs and when.
    pub fn headline(&self) -> String {
        let HangReport { kernel, hang, .. } = self;
        let warps = hang.warps.len();
        let live = if warps == 1 {
            "1 live warp".to_owned()
        } else {
            format!("{warps} live warps")
        };
        match hang.kind {
            HangKind::Deadlock => format!(
                "kernel `{kernel}`: deadlock in cycle {}: {live} and nothing can happen any more",
                hang.cycle.0
            ),
            HangKind::MaxCycles(limit) => format!(
                "kernel `{kernel}`: not finished after {limit} cycles (--max-cycles), {live}"
            ),
        }
    }

    /// Who waits for what, warp by warp.
    pub fn wait_graph(&self) -> String {
        let mut lines: Vec<String> = self
            .hang
            .warps
            .iter()
            .zip(&self.instructions)
            .take(HangReport::SHOWN)
            .map(|(warp, (offset, text))| {
                format!(
                    "SM {}, CTA slot {}, warp slot {}: pc {offset:#06x} `{text}`: {}",
                    warp.sm, warp.cta_slot, warp.slot, warp.reason
                )
            })
            .collect();
        if self.hang.warps.len() > HangReport::SHOWN {
            lines.push(format!(
                "and {} more",
                self.hang.warps.len() - HangReport::SHOWN
            ));
        }
        if self.hang.waiting_ctas > 0 {
            lines.push(format!("{} CTAs have not started", self.hang.waiting_ctas));
        }
        lines.join("\n")
    }
}
