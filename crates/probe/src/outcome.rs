//! What a probe tells: findings, tables and a plot, for the command line to print.

use report::plot::Plot;

/// A cell of a table, or a finding's value.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A count.
    Count(u64),
    /// A measured number.
    Real(f64),
}

impl From<u64> for Cell {
    fn from(value: u64) -> Cell {
        Cell::Count(value)
    }
}

impl From<u32> for Cell {
    fn from(value: u32) -> Cell {
        Cell::Count(value.into())
    }
}

impl From<usize> for Cell {
    fn from(value: usize) -> Cell {
        Cell::Count(value as u64)
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Cell {
        Cell::Real(value)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::Text(text)
    }
}

/// What a probe concluded of one property.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The property, as `l1_hit`.
    pub name: &'static str,
    /// Its value.
    pub value: Cell,
    /// Its unit, empty for plain numbers and words.
    pub unit: &'static str,
}

/// What was measured, row by row.
#[derive(Debug, Clone)]
pub struct Rows {
    /// What it holds; the key in JSON.
    pub name: &'static str,
    /// Columns: name with unit.
    pub columns: Vec<String>,
    /// Rows of as many cells.
    pub rows: Vec<Vec<Cell>>,
}

impl Rows {
    /// A table without rows.
    pub fn new(name: &'static str, columns: &[&str]) -> Rows {
        Rows {
            name,
            columns: columns.iter().map(|column| (*column).to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }
}

/// Everything that a probe tells.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Conclusions.
    pub findings: Vec<Finding>,
    /// Measurements.
    pub tables: Vec<Rows>,
    /// The same drawn.
    pub plot: Plot,
    /// What must be known to read them, and what could not be concluded.
    pub notes: Vec<String>,
}

impl Outcome {
    /// An outcome that is nothing but a plot yet.
    pub fn new(plot: Plot) -> Outcome {
        Outcome {
            findings: Vec::new(),
            tables: Vec::new(),
            plot,
            notes: Vec::new(),
        }
    }

    /// Adds a conclusion.
    pub fn found(&mut self, name: &'static str, value: impl Into<Cell>, unit: &'static str) {
        let value = value.into();
        self.findings.push(Finding { name, value, unit });
    }

    /// The value of a conclusion, if it is a number.
    pub fn number(&self, name: &str) -> Option<f64> {
        let finding = self.findings.iter().find(|finding| finding.name == name)?;
        match finding.value {
            Cell::Count(count) => Some(count as f64),
            Cell::Real(real) => Some(real),
            Cell::Text(_) => None,
        }
    }
}
