//! What an instruction sees of results that are under way, where wrong control bits are to give the
//! machine's wrong values (`--hazards emulate`, DESIGN.md H4). Time says who sees what and when a result
//! lands; the source holds the values.

/// A register of a warp.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Register {
    /// R0 to R254.
    General(u8),
    /// UR0 to UR62.
    Uniform(u8),
    /// P0 to P6.
    Predicate(u8),
    /// UP0 to UP6.
    UniformPredicate(u8),
}

/// Names the results of one issued instruction of an SM until they have landed. Reused afterwards.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ResultId(pub u16);

/// Names an instruction of an SM that has been issued and has not read its sources. Reused afterwards.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ReaderId(pub u16);

/// What one instruction sees, and what becomes of its own results.
#[derive(Clone, Copy, Debug)]
pub struct Sight<'a> {
    /// Results that have not landed and that it sees, of each register the one that prevails last.
    pub visible: &'a [(Register, ResultId)],
    /// Registers that it reads, its guard included.
    pub reads: &'a [Register],
    /// Registers that it writes: the register file keeps what it holds until they land.
    pub writes: &'a [Register],
    /// Name of its results.
    pub result: ResultId,
    /// Set if it has not read its sources yet: they are kept under this name for
    /// [`crate::Source::read_again`].
    pub reader: Option<ReaderId>,
}
