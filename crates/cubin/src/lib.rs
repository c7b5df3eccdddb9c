//! The container SASS comes in: ELF cubins as the CUDA compiler writes them.
//!
//! First stage of a run: bytes of a file go in, kernels with their code, resources, parameters,
//! constant banks and relocations come out. Nothing here knows an instruction; the code is handed
//! on as bytes (`sass` decodes it). No input makes this crate panic or allocate more than a small
//! multiple of the file's length; every error names the section, the file offset and what would
//! be right.
//!
//! One file per concept, in the order a file meets them:
//!
//! * [`mod@container`] — what a file is: a cubin, a fatbin, a host program with fatbins;
//! * [`mod@fatbin`] — images for several architectures, packed or not, and which one a GPU runs;
//! * [`mod@elf`] — ELF header, section headers, symbols;
//! * [`mod@info`] — the `.nv.info` attribute records (EIATTR);
//! * [`mod@kernel`] — code sections, their resources and parameters;
//! * [`mod@constants`] — constant banks;
//! * [`mod@globals`] — `__device__` and `__constant__` variables and the global segment;
//! * [`mod@relocation`] — what the loader has to patch;
//! * [`mod@lines`] — which line of the source an instruction comes from;
//! * [`mod@load`] — code, constants and globals at chosen device addresses;
//! * [`mod@write`] — the way back: a cubin of assembled kernels;
//! * [`mod@error`] — everything that can be wrong with a file.
//!
//! The format facts (which bits hold what, in which CUDA release) were taken from compiler output
//! of CUDA 11.8, 12.9 and 13.x and checked against `cuobjdump -elf`.

pub mod constants;
pub mod container;
mod cubin;
pub mod elf;
pub mod error;
pub mod fatbin;
pub mod globals;
pub mod info;
pub mod kernel;
pub mod lines;
pub mod load;
pub mod relocation;
pub mod write;

pub use constants::ConstantBank;
pub use container::{Container, Unpacked};
pub use cubin::{Cubin, Extern, find_kernel};
pub use elf::{SectionIndex, Symbol, SymbolIndex};
pub use error::CubinError;
pub use globals::{GlobalVariable, Space};
pub use info::{InfoRecord, InfoValue};
pub use kernel::{Function, FunctionSymbol, Kernel, Parameter};
pub use lines::{Line, LineTable};

pub use load::{
    EXTERN_STRIDE, GlobalImage, LoadBases, Loaded, LoadedExtern, LoadedFunction, Reference,
};
pub use relocation::{Relocation, RelocationKind};
pub use write::{NewCubin, NewKernel, WriteError};
