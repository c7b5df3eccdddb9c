//! What can be wrong with a cubin: one variant per kind of fault, each naming the place in the
//! file and what would be right there. Only the command line renders these for people.

use crate::elf::SectionIndex;

/// A fault of a cubin, or of what was asked of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CubinError {
    /// The first four bytes are not `7f 45 4c 46`.
    #[error(
        "byte 0: not an ELF file: it starts with {found}, a cubin starts with 7f 45 4c 46{hint}"
    )]
    NotElf {
        /// The first bytes of the file (at most four), in hexadecimal.
        found: String,
        /// What the file seems to be instead, or empty.
        hint: &'static str,
    },
    /// The ELF class byte does not say 64-bit.
    #[error("byte 4: ELF class {found} ({meaning}), a cubin has class 2 (64-bit)")]
    Class {
        /// The class byte.
        found: u8,
        /// What it stands for.
        meaning: &'static str,
    },
    /// The ELF data-encoding byte does not say little-endian.
    #[error(
        "byte 5: ELF data encoding {found} ({meaning}), a cubin has encoding 1 (little-endian)"
    )]
    Endianness {
        /// The data-encoding byte.
        found: u8,
        /// What it stands for.
        meaning: &'static str,
    },
    /// The file is for another machine than an NVIDIA GPU.
    #[error("byte 18: ELF machine {found} ({meaning}), a cubin has machine 190 (NVIDIA CUDA)")]
    Machine {
        /// The `e_machine` field.
        found: u16,
        /// What it stands for.
        meaning: &'static str,
    },
    /// OS/ABI and ABI version are not a pair that is known.
    #[error(
        "byte 7: OS/ABI {os_abi:#04x} with ABI version {abi_version}; known are 0x33 with version 7 \
         (CUDA 11.8 and 12.x) and 0x41 with version 8 (CUDA 13.x)"
    )]
    Abi {
        /// The `EI_OSABI` byte.
        os_abi: u8,
        /// The `EI_ABIVERSION` byte.
        abi_version: u8,
    },
    /// The ELF type is neither executable nor relocatable.
    #[error("byte 16: ELF type {found}, a cubin has type 2 (executable) or 1 (relocatable)")]
    FileType {
        /// The `e_type` field.
        found: u16,
    },
    /// The file ends before something that it says it holds.
    #[error(
        "{what} at byte {offset} needs {needed} bytes, but the file ends at byte {length}: \
         it is truncated, or the length is wrong"
    )]
    Truncated {
        /// What was to be read, with the section where there is one.
        what: String,
        /// Offset of it in the file, in bytes.
        offset: u64,
        /// Its length in bytes.
        needed: u64,
        /// Length of the file in bytes.
        length: u64,
    },
    /// A field holds a value that it cannot hold.
    #[error("{place}, byte {offset} of the file: found {found}, expected {expected}")]
    Malformed {
        /// The section (name and index) or header the field is in.
        place: String,
        /// Offset of the field in the file, in bytes.
        offset: u64,
        /// What the file says.
        found: String,
        /// What would be right.
        expected: String,
    },
    /// No kernel of that name.
    #[error("no kernel named `{name}`{}", suggestion(.nearest, .all))]
    NoSuchKernel {
        /// The name asked for.
        name: String,
        /// The names most like it, best first (at most three).
        nearest: Vec<String>,
        /// The names of all kernels in section order.
        all: Vec<String>,
    },
    /// Several kernels bear the name.
    #[error("{} kernels are named `{name}` (sections {}): choose one by its section index",
        .sections.len(), list_sections(.sections))]
    AmbiguousKernel {
        /// The name asked for.
        name: String,
        /// The code sections of the kernels that bear it.
        sections: Vec<SectionIndex>,
    },
    /// The cubin is a relocatable object, which has no final addresses.
    #[error(
        "the cubin is a relocatable object (ELF type 1, from -rdc=true or -c): \
         it has to be linked (nvlink) before it can be loaded"
    )]
    Relocatable,
    /// A relocation of a kind that the loader does not do, against a section that is loaded.
    #[error(
        "section {section}: relocation {index} at section offset {offset:#x} against `{symbol}` \
         is of type {kind} ({name}); the loader knows R_CUDA_NONE, R_CUDA_64, R_CUDA_G64, \
         R_CUDA_ABS32_LO_32, R_CUDA_ABS32_HI_32 and R_CUDA_ABS47_34"
    )]
    UnsupportedRelocation {
        /// The section to be patched.
        section: String,
        /// Position of the relocation among those of its table.
        index: u64,
        /// Offset in the section to be patched, in bytes.
        offset: u64,
        /// Name of the symbol whose address is wanted.
        symbol: String,
        /// The relocation type's number.
        kind: u32,
        /// The relocation type's name, or `unknown`.
        name: &'static str,
    },
    /// A relocation asks for the address of a symbol that has none at load time.
    #[error(
        "section {section}: relocation at section offset {offset:#x} wants the address of \
         `{symbol}`, which {reason}"
    )]
    UnresolvedSymbol {
        /// The section to be patched.
        section: String,
        /// Offset in the section to be patched, in bytes.
        offset: u64,
        /// The symbol's name.
        symbol: String,
        /// Why it has no address.
        reason: String,
    },
    /// An image of a fatbin cannot be unpacked.
    #[error("the fatbin's image for {image} at byte {offset} is no {method} data: {reason}")]
    Compression {
        /// What the image is for, as the compiler's options name it.
        image: String,
        /// Offset of the image's entry in the file, in bytes.
        offset: u64,
        /// `LZ4` or `zstd`.
        method: &'static str,
        /// What the decompressor found, or how lengths differ.
        reason: String,
    },
    /// No image of a fatbin runs on the GPU.
    #[error("no code for sm_{hardware}: the file holds {}; {}", list_images(.holds),
        "compile with -arch=sm_".to_owned() + &.hardware.to_string())]
    NoImage {
        /// The GPU's architecture.
        hardware: u32,
        /// What there is, as the compiler's options name it, in file order.
        holds: Vec<String>,
    },
    /// A host executable or object without device code that could be loaded.
    #[error("a host file with {}", if *.relocatable {
        "objects of separate compilation only (-rdc=true): link it (nvcc) before it can be loaded"
    } else {
        "no device code: it has no section .nv_fatbin"
    })]
    NoFatbin {
        /// Whether it holds device code that is not linked.
        relocatable: bool,
    },
    /// The debug information is not what it should be.
    #[error("section {section}: {reason}")]
    Lines {
        /// The section.
        section: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// An address that the caller chose does not fit.
    #[error("{what} cannot lie at {address:#x}: {expected}")]
    Address {
        /// What was to be placed there.
        what: String,
        /// The device address.
        address: u64,
        /// What would be right.
        expected: String,
    },
}

/// The tail of [`CubinError::NoSuchKernel`]: the nearest names, then how many there are.
fn suggestion(nearest: &[String], all: &[String]) -> String {
    if all.is_empty() {
        return "; the cubin holds no kernel".to_owned();
    }
    let quoted: Vec<String> = nearest.iter().map(|name| format!("`{name}`")).collect();
    if quoted.is_empty() {
        format!("; the cubin holds {} kernels", all.len())
    } else {
        format!("; nearest of {}: {}", all.len(), quoted.join(", "))
    }
}

fn list_images(holds: &[String]) -> String {
    if holds.is_empty() {
        "no image".to_owned()
    } else {
        holds.join(", ")
    }
}

fn list_sections(sections: &[SectionIndex]) -> String {
    let numbers: Vec<String> = sections.iter().map(SectionIndex::to_string).collect();
    numbers.join(", ")
}
