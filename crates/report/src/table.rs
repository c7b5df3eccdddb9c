//! Aligned columns for a terminal.

use std::fmt;

/// On which side a column's text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// A table with a head line; printed with two blanks between columns.
#[derive(Debug, Clone)]
pub struct Table {
    heads: Vec<String>,
    aligns: Vec<Align>,
    rows: Vec<Vec<String>>,
    indent: usize,
}

impl Table {
    /// A table of those columns.
    pub fn new(columns: &[(&str, Align)]) -> Table {
        Table {
            heads: columns.iter().map(|(head, _)| (*head).to_owned()).collect(),
            aligns: columns.iter().map(|(_, align)| *align).collect(),
            rows: Vec::new(),
            indent: 0,
        }
    }

    /// The table moved right by that many columns.
    pub fn indented(mut self, indent: usize) -> Table {
        self.indent = indent;
        self
    }

    /// Adds a row; cells that are missing are empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let mut row: Vec<String> = cells.into_iter().collect();
        row.resize(self.heads.len(), String::new());
        self.rows.push(row);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |text: &String| text.chars().count();
        let mut widths: Vec<usize> = self.heads.iter().map(width).collect();
        for row in &self.rows {
            for (widest, cell) in widths.iter_mut().zip(row) {
                *widest = (*widest).max(width(cell));
            }
        }
        let headed = self.heads.iter().any(|head| !head.is_empty());
        for row in headed.then_some(&self.heads).into_iter().chain(&self.rows) {
            let mut line = " ".repeat(self.indent);
            for ((cell, align), widest) in row.iter().zip(&self.aligns).zip(&widths) {
                let gap = " ".repeat(widest - width(cell));
                match align {
                    Align::Left => line.extend([cell.as_str(), gap.as_str()]),
                    Align::Right => line.extend([gap.as_str(), cell.as_str()]),
                }
                line.push_str("  ");
            }
            writeln!(formatter, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let mut table = Table::new(&[("name", Align::Left), ("n", Align::Right)]);
        table.row(["a".to_owned(), "10".to_owned()]);
        table.row(["longer".to_owned(), "2".to_owned()]);
        assert_eq!(table.to_string(), "name     n\na       10\nlonger   2\n");
    }
}
