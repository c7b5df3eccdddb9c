//! Operands as the disassembly shows them, in printed order. What an opcode reads and writes
//! through them is in `footprint`.

/// A general register number; 255 is RZ.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Register(pub u8);

impl Register {
    /// RZ: reads as zero, writes vanish.
    pub const ZERO: Register = Register(255);
}

/// A uniform register number; 63 is URZ.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct UniformRegister(pub u8);

impl UniformRegister {
    /// URZ: reads as zero, writes vanish.
    pub const ZERO: UniformRegister = UniformRegister(63);
}

/// A predicate (P0 to P6) or uniform predicate (UP0 to UP6) number; 7 is PT or UPT.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Predicate(pub u8);

impl Predicate {
    /// PT: reads as true, writes vanish.
    pub const TRUE: Predicate = Predicate(7);
}

/// What is done to a source value before it is used.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Adjust {
    /// Leading `-`.
    pub negate: bool,
    /// `|…|`; applied before `negate`.
    pub absolute: bool,
    /// Leading `~`: bitwise complement.
    pub invert: bool,
}

/// One operand. Every variant carries all that its text shows.
#[derive(Clone, PartialEq, Debug)]
pub enum Operand {
    /// `R4`, `-R4`, `|R4|`, `R4.reuse`, `R4.H0_H0`, `R4.B1`, `R4.64`.
    Register {
        /// The (first) register.
        register: Register,
        /// Sign, absolute value, complement.
        adjust: Adjust,
        /// `.reuse`: this source's bit of the control field.
        reuse: bool,
        /// Printed suffix that selects or interprets parts of the register.
        select: Select,
    },
    /// `UR4`, `-UR4`.
    UniformRegister {
        /// The (first) uniform register.
        register: UniformRegister,
        /// Sign, absolute value, complement.
        adjust: Adjust,
        /// Printed suffix.
        select: Select,
    },
    /// `P0`, `!P0`, `PT`.
    Predicate {
        /// The predicate.
        predicate: Predicate,
        /// Leading `!`.
        negate: bool,
    },
    /// `UP0`, `!UPT`.
    UniformPredicate {
        /// The uniform predicate.
        predicate: Predicate,
        /// Leading `!`.
        negate: bool,
    },
    /// `PR` / `UPR`: all predicates of the warp as one value (P2R, R2P).
    PredicateSet {
        /// Whether the uniform predicates are meant.
        uniform: bool,
        /// `.B1` and the like.
        select: Select,
    },
    /// A literal. `bits` is what the hardware uses: for floats the bit pattern of the operation's
    /// type (for F64 operations the upper 32 bits of the double), for integers the value
    /// sign- or zero-extended as the field is.
    Immediate {
        /// The literal's bits.
        bits: u64,
        /// How it is printed and to be read.
        kind: ImmediateKind,
    },
    /// `c[0x0][0x160]`, `c[0x2][R12]`, `-|c[0x3][0x8]|`, `c[0x0][UR4]`, `cx[UR4][0x10]`.
    Constant {
        /// Constant bank, or the uniform register of a bindless `cx[UR]`.
        bank: ConstantBank,
        /// Index register, RZ if none.
        index: Register,
        /// Uniform index register, URZ if none.
        uniform_index: UniformRegister,
        /// Byte offset.
        offset: i32,
        /// Sign, absolute value, complement.
        adjust: Adjust,
        /// Printed suffix.
        select: Select,
    },
    /// `[R2.64+UR4+0x10]`, `[R5.X4+0x20]`, `[UR4]`, `[0x40]`, `desc[UR4][R2.64]`.
    Memory {
        /// Base register, RZ if none.
        base: Register,
        /// How wide the base is and how it is scaled: printed suffix (`.64`, `.U32`, `.X4`, …).
        base_select: Select,
        /// Uniform register added to the base, URZ if none.
        uniform: UniformRegister,
        /// Suffix of the uniform register (`.64`).
        uniform_select: Select,
        /// Uniform register of a memory descriptor, if the form names one.
        descriptor: Option<UniformRegister>,
        /// Signed byte offset.
        offset: i32,
    },
    /// `desc[UR4]`: a cache policy in two uniform registers, of a copy that takes one.
    Policy(UniformRegister),
    /// `gdesc[UR4].negA.tnspB`: matrices in shared memory, described by two uniform registers each.
    MatrixDescriptor {
        /// The first uniform register.
        register: UniformRegister,
        /// Whether it describes both factors, or the second alone.
        both: bool,
        /// Set of [`MATRIX_FLAGS`], bit k for entry k.
        flags: u8,
    },
    /// `B0` … `B15`: convergence barrier.
    ConvergenceBarrier(u8),
    /// `SR_TID.X`, by number.
    SpecialRegister(u8),
    /// `SB0`: a dependence counter named as operand (DEPBAR).
    Counter(u8),
    /// `{0,3}`: set of dependence counters, bit k = counter k.
    CounterSet(u8),
    /// A code address relative to the end of this instruction (bytes). Printed absolute.
    Target(i64),
    /// A word printed as it is: texture dimension (`2D`), `ALL`, and the like.
    Keyword(&'static str),
}

/// What a matrix descriptor's suffixes say of its factors, in printed order.
pub const MATRIX_FLAGS: [&str; 4] = ["negA", "negB", "tnspA", "tnspB"];

/// Which constant bank an operand reads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ConstantBank {
    /// `c[bank]`.
    Number(u8),
    /// `cx[UR]`: bindless.
    Bindless(UniformRegister),
}

/// How a literal is printed and to be read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ImmediateKind {
    /// Hexadecimal, a leading minus sign if negative.
    Signed,
    /// Hexadecimal.
    Unsigned,
    /// Single precision.
    Float32,
    /// Double precision, of which only the upper 32 bits are stored.
    Float64High,
    /// Half precision.
    Float16,
    /// Two half-precision values.
    Float16Pair,
    /// Brain float.
    BFloat16,
    /// Two brain floats.
    BFloat16Pair,
}

macro_rules! selects {
    ($($(#[$doc:meta])* $name:ident = $text:literal),* $(,)?) => {
        /// Printed suffix of an operand, other than `.reuse`.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
        #[allow(missing_docs)]
        pub enum Select {
            /// No suffix.
            #[default]
            None,
            $($(#[$doc])* $name),*
        }

        impl Select {
            /// The suffix as printed, with its dot; empty for `None`.
            pub const fn text(self) -> &'static str {
                match self {
                    Select::None => "",
                    $(Select::$name => $text),*
                }
            }

            /// The suffix of this text, dot included; `None` for no suffix at all or an unknown one.
            pub fn from_text(text: &str) -> Option<Select> {
                match text {
                    $($text => Some(Select::$name),)*
                    _ => None,
                }
            }
        }
    };
}

selects! {
    /// 64-bit pair.
    Wide = ".64",
    U32 = ".U32",
    S32 = ".S32",
    X4 = ".X4",
    X8 = ".X8",
    X16 = ".X16",
    /// Low half in both places.
    H0H0 = ".H0_H0",
    /// High half in both places.
    H1H1 = ".H1_H1",
    /// Both halves swapped.
    H1H0 = ".H1_H0",
    /// Low and high half, the high one negated.
    H0NegatedH1 = ".H0_NH1",
    H0 = ".H0",
    H1 = ".H1",
    F32 = ".F32",
    B0 = ".B0",
    B1 = ".B1",
    B2 = ".B2",
    B3 = ".B3",
    Row = ".ROW",
    Col = ".COL",
    /// The sign bit alone.
    Sign = ".SIGN",
    /// The low 24 bits.
    Low24 = ".24",
    /// The low 28 bits.
    Low28 = ".28",
}
