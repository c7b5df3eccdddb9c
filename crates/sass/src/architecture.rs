//! The architectures whose encodings the table holds.

/// A compute architecture, `sm_xx`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum Architecture {
    Sm75,
    Sm80,
    Sm86,
    Sm89,
    Sm90,
}

impl Architecture {
    /// All, oldest first.
    pub const ALL: &'static [Architecture] = &[
        Architecture::Sm75,
        Architecture::Sm80,
        Architecture::Sm86,
        Architecture::Sm89,
        Architecture::Sm90,
    ];

    /// The number in `sm_xx`.
    pub const fn number(self) -> u32 {
        match self {
            Architecture::Sm75 => 75,
            Architecture::Sm80 => 80,
            Architecture::Sm86 => 86,
            Architecture::Sm89 => 89,
            Architecture::Sm90 => 90,
        }
    }

    /// Where the parameters of a kernel start in constant bank 0, in bytes.
    pub const fn parameter_base(self) -> u32 {
        match self {
            Architecture::Sm90 => 0x210,
            _ => 0x160,
        }
    }

    /// The architecture of an `sm_xx` number, if the table holds it.
    pub fn from_number(number: u32) -> Option<Architecture> {
        Architecture::ALL
            .iter()
            .copied()
            .find(|architecture| architecture.number() == number)
    }
}

impl std::fmt::Display for Architecture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "sm_{}", self.number())
    }
}
