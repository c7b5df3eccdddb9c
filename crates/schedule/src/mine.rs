//! Distances that code keeps, beside those of the latency tables: the stall counts that a compiler emits
//! are a second source for what the hardware needs. Per kind of dependence and pair of classes the
//! smallest distance between a producer of fixed latency and what depends on it, over all ways through the
//! code: equal to the table's, larger or smaller (table and code contradict each other). A table gives one
//! number to many pairs: where a pair is never that close, another pair of the row may be.
//!
//! What cannot tell is left out: a dependence beside another on the same instruction that needs more, and
//! the overwrite of a result that was read since, for then the reader stands between.

use std::collections::BTreeMap;
use std::fmt::Write;

use hardware::latency::{DistanceKind, LatencyTable};
use sass::Class;

use crate::finding::{Pair, Scan, Seen};

/// What was seen in the code of one architecture.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Mined {
    /// What code it was, in words.
    pub source: String,
    /// Instructions looked at.
    pub instructions: u64,
    /// Smallest distances.
    pub pairs: BTreeMap<Pair, Seen>,
}

/// How the smallest distance seen compares with the table's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Verdict {
    /// The table is tight.
    Equal,
    /// Never as close as the table allows, but other pairs of its row are.
    RowEqual,
    /// Neither the pair nor any other of its row is as close as the table allows.
    Larger,
    /// Closer than the table allows.
    Smaller,
}

impl Verdict {
    /// Its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Equal => "equal",
            Verdict::RowEqual => "row_equal",
            Verdict::Larger => "larger",
            Verdict::Smaller => "smaller",
        }
    }
}

/// One pair of classes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// Kind of the dependence.
    pub kind: DistanceKind,
    /// Class of the earlier operand.
    pub producer: Class,
    /// Class of the later operand.
    pub consumer: Class,
    /// Distance of the table, in cycles.
    pub needed: u16,
    /// What was seen.
    pub seen: Seen,
    /// The smallest distance of all pairs that share the table's row.
    pub row_least: u16,
}

impl Row {
    /// How the two compare.
    pub fn verdict(&self) -> Verdict {
        match self.seen.least.cmp(&self.needed) {
            std::cmp::Ordering::Equal => Verdict::Equal,
            std::cmp::Ordering::Greater if self.row_least == self.needed => Verdict::RowEqual,
            std::cmp::Ordering::Greater => Verdict::Larger,
            std::cmp::Ordering::Less => Verdict::Smaller,
        }
    }
}

/// What is wrong with a file of mined distances.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct MineError {
    /// Line, from 1.
    pub line: usize,
    /// What is wrong and what would be right.
    pub message: String,
}

const HEADER: &str = "kind,dependence,producer,consumer,needed,least,count,verdict,row_least";
const SOURCE: &str = "# source: ";
const INSTRUCTIONS: &str = "# instructions: ";

impl Mined {
    /// Adds what a walk over `instructions` instructions saw.
    pub fn add(&mut self, instructions: usize, scan: &Scan) {
        self.instructions += instructions as u64;
        for (&pair, &seen) in &scan.seen {
            self.pairs.entry(pair).or_insert(Seen::NEVER).merge(seen);
        }
    }

    /// The pairs beside the table. Pairs that any two instructions keep, with a distance of one cycle, say
    /// nothing and are left out.
    pub fn rows(&self, table: &LatencyTable) -> Vec<Row> {
        let place = |&(kind, producer, consumer): &Pair| (kind, producer.index(), consumer.index());
        let mut row_least: BTreeMap<u16, u16> = BTreeMap::new();
        for (pair, seen) in &self.pairs {
            let (kind, producer, consumer) = place(pair);
            let row = table.row(kind, producer, consumer);
            let least = row_least.entry(row).or_insert(u16::MAX);
            *least = seen.least.min(*least);
        }
        let rows = self.pairs.iter().map(|(pair, &seen)| {
            let (kind, producer, consumer) = place(pair);
            Row {
                kind,
                producer: pair.1,
                consumer: pair.2,
                needed: table.distance(kind, producer, consumer),
                seen,
                row_least: row_least[&table.row(kind, producer, consumer)],
            }
        });
        rows.filter(|row| row.needed > 1).collect()
    }

    /// As a file of `gpus/latency/mined_sm_xx.csv`.
    pub fn to_csv(&self, table: &LatencyTable) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        if !self.source.is_empty() {
            let _ = writeln!(text, "{SOURCE}{}", self.source);
        }
        let _ = writeln!(text, "{INSTRUCTIONS}{}\n{HEADER}", self.instructions);
        for row in self.rows(table) {
            let _ = writeln!(
                text,
                "{},{},{},{},{},{},{},{},{}",
                row.kind.name(),
                dependence(row.kind),
                row.producer.name(),
                row.consumer.name(),
                row.needed,
                row.seen.least,
                row.seen.count,
                row.verdict().name(),
                row.row_least
            );
        }
        text
    }

    /// Reads such a file; the rows as they stand there, with the table's distances of that time.
    ///
    /// # Errors
    /// A line that is no row, an unknown kind or class.
    pub fn from_csv(text: &str) -> Result<(Mined, Vec<Row>), MineError> {
        let mut mined = Mined::default();
        let mut rows = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let wrong = |message: &str| MineError {
                line: index + 1,
                message: message.to_owned(),
            };
            if let Some(count) = line.strip_prefix(INSTRUCTIONS) {
                mined.instructions = count.parse().map_err(|_| wrong("no number"))?;
                continue;
            }
            if let Some(source) = line.strip_prefix(SOURCE) {
                mined.source = source.to_owned();
                continue;
            }
            if line == HEADER || line.starts_with('#') || line.is_empty() {
                continue;
            }
            let fields: Vec<&str> = line.split(',').collect();
            let [
                kind,
                _,
                producer,
                consumer,
                needed,
                least,
                count,
                verdict,
                row_least,
            ] = fields[..]
            else {
                return Err(wrong(&format!("must have the columns {HEADER}")));
            };
            let kinds = DistanceKind::ALL.iter().copied();
            let kind = kinds.into_iter().find(|known| known.name() == kind);
            let row = Row {
                kind: kind.ok_or_else(|| wrong("unknown kind"))?,
                producer: Class::from_name(producer).ok_or_else(|| wrong("unknown class"))?,
                consumer: Class::from_name(consumer).ok_or_else(|| wrong("unknown class"))?,
                needed: needed.parse().map_err(|_| wrong("`needed` is no number"))?,
                seen: Seen {
                    least: least.parse().map_err(|_| wrong("`least` is no number"))?,
                    count: count.parse().map_err(|_| wrong("`count` is no number"))?,
                },
                row_least: (row_least.parse()).map_err(|_| wrong("`row_least` is no number"))?,
            };
            if row.verdict().name() != verdict {
                return Err(wrong(&format!(
                    "the verdict must be {}",
                    row.verdict().name()
                )));
            }
            mined
                .pairs
                .insert((row.kind, row.producer, row.consumer), row.seen);
            rows.push(row);
        }
        Ok((mined, rows))
    }

    /// Adds what was mined elsewhere.
    pub fn merge(&mut self, other: &Mined) {
        self.instructions += other.instructions;
        for (&pair, &seen) in &other.pairs {
            self.pairs.entry(pair).or_insert(Seen::NEVER).merge(seen);
        }
    }
}

/// RAW, WAW or WAR.
pub const fn dependence(kind: DistanceKind) -> &'static str {
    use DistanceKind::*;
    match kind {
        Register | Address | StoreData | PredicateData | Guard | Uniform | UniformPredicateData
        | UniformGuard => "RAW",
        RegisterOverwrite | PredicateOverwrite | UniformOverwrite | UniformPredicateOverwrite => {
            "WAW"
        }
        RegisterReadOverwrite | UniformReadOverwrite | UniformPredicateReadOverwrite => "WAR",
    }
}
