//! Errors before execution: a kernel that cannot be loaded, a launch that the machine would refuse.
//! What goes wrong during execution is a [`source::Fault`].

/// Why a kernel cannot be loaded or launched.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum ExecError {
    /// The cubin cannot be loaded, or holds no such kernel.
    #[error(transparent)]
    Cubin(#[from] cubin::CubinError),
    /// The cubin is for an architecture whose code is not understood.
    #[error("the cubin is for sm_{found}; sm_75, sm_80, sm_86, sm_89 and sm_90 can be read")]
    Architecture {
        /// SM number of the cubin.
        found: u32,
    },
    /// A texture or surface reference that nothing is bound to.
    #[error(
        "the kernel has a {kind} reference `{name}`, and there is no {kind} of that name: a launch file binds it with `[{kind}s.{name}]`"
    )]
    Reference {
        /// Its name.
        name: String,
        /// `texture` or `surface`.
        kind: &'static str,
    },
    /// The code image does not fit.
    #[error("{bytes} bytes of code; at most {limit} can be loaded")]
    CodeSize {
        /// Bytes of code.
        bytes: u64,
        /// Largest size.
        limit: u64,
    },
    /// No room for an allocation.
    #[error(
        "{bytes} bytes for `{name}` do not fit in device memory, of which {free} bytes are free"
    )]
    OutOfMemory {
        /// What the memory is for.
        name: String,
        /// Bytes asked for.
        bytes: u64,
        /// Bytes left.
        free: u64,
    },
    /// A host access outside an allocation.
    #[error("{bytes} bytes at {address:#x} are in no allocation; {nearest}")]
    NoAllocation {
        /// First byte.
        address: u64,
        /// Number of bytes.
        bytes: u64,
        /// The nearest allocation, described.
        nearest: String,
    },
    /// A grid that cannot be launched.
    #[error("grid {grid:?}: {reason}")]
    Grid {
        /// Blocks in x, y, z.
        grid: [u32; 3],
        /// What is wrong.
        reason: String,
    },
    /// A block that cannot be launched.
    #[error("block {block:?}: {reason}")]
    Block {
        /// Threads in x, y, z.
        block: [u32; 3],
        /// What is wrong.
        reason: String,
    },
    /// More shared memory than an SM has.
    #[error(
        "{fixed} bytes of static and {dynamic} bytes of dynamic shared memory; a block can have {limit}"
    )]
    Shared {
        /// Static bytes.
        fixed: u32,
        /// Dynamic bytes.
        dynamic: u32,
        /// Most that a block can have.
        limit: u32,
    },
    /// Parameters of the wrong size.
    #[error("{found} bytes of parameters; kernel `{kernel}` takes {expected}")]
    Parameters {
        /// The kernel.
        kernel: String,
        /// Bytes given.
        found: usize,
        /// Bytes it takes.
        expected: u32,
    },
    /// More local memory than a thread can have.
    #[error("{bytes} bytes of local memory per thread; at most {limit} can be had")]
    Local {
        /// Bytes needed.
        bytes: u64,
        /// Most that a thread can have.
        limit: u64,
    },
    /// A host instruction set that this machine lacks.
    #[error("this machine lacks the host instruction set {0}")]
    HostIsa(&'static str),
}
