//! Reading the tables of an architecture, base first: rows, inheritance, and whether anything is missing.

use std::collections::HashMap;

use super::{Axis, DistanceKind, LatencyError, LatencyTable, Provenance, TABLES, Unit, UnitTiming};

/// Distance not given by any row.
const MISSING: u8 = 0;
/// Longest chain of inheriting tables.
const MAX_CHAIN: usize = 8;

/// The tables while they are read, base first.
pub(super) struct Reader<'a> {
    find: &'a dyn Fn(u32) -> Option<(u32, &'static str, &'static str)>,
    names: &'a [&'static str],
    index: HashMap<&'static str, usize>,
    /// Per axis the group of each class.
    groups: Vec<Vec<Option<&'static str>>>,
    cycles: Vec<u8>,
    rows: Vec<u16>,
    provenance: Vec<Provenance>,
    units: Vec<Option<(UnitTiming, Provenance)>>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        names: &'a [&'static str],
        find: &'a dyn Fn(u32) -> Option<(u32, &'static str, &'static str)>,
    ) -> Reader<'a> {
        let pairs = DistanceKind::ALL.len() * names.len() * names.len();
        Reader {
            find,
            names,
            index: names
                .iter()
                .enumerate()
                .map(|(index, &name)| (name, index))
                .collect(),
            groups: vec![vec![None; names.len()]; Axis::ALL.len()],
            cycles: vec![MISSING; pairs],
            rows: vec![0; pairs],
            provenance: Vec::new(),
            units: vec![None; names.len()],
        }
    }

    fn table(&self, sm: u32) -> Result<(u32, &'static str, &'static str), LatencyError> {
        (self.find)(sm).ok_or_else(|| LatencyError::NoTable {
            sm,
            known: TABLES
                .iter()
                .map(|table| format!("sm_{}", table.0))
                .collect::<Vec<_>>()
                .join(", "),
        })
    }

    /// Reads the base of a file, if its first line names one; gives its own rows.
    fn base(
        &self,
        file: &str,
        text: &'static str,
        depth: usize,
    ) -> Result<(Option<u32>, Vec<Row>), LatencyError> {
        let mut rows: Vec<Row> = text
            .lines()
            .enumerate()
            .map(|(line, text)| Row {
                line: line + 1,
                fields: text.split(',').collect(),
            })
            .filter(|row| row.fields.iter().any(|field| !field.is_empty()))
            .collect();
        let base = match rows.first() {
            Some(row) if row.fields[0] == "inherit" => {
                let name = row.fields.get(1).copied().unwrap_or("");
                let sm = name
                    .strip_prefix("sm_")
                    .and_then(|number| number.parse().ok());
                if sm.is_none() || depth >= MAX_CHAIN {
                    return Err(row.error(file, format!("`{name}` is not a table to inherit")));
                }
                sm
            }
            _ => None,
        };
        rows.drain(..(usize::from(base.is_some()) + 1).min(rows.len()));
        Ok((base, rows))
    }

    pub(super) fn read_distances(&mut self, sm: u32, depth: usize) -> Result<(), LatencyError> {
        let file = format!("gpus/latency/sm_{sm}.distances.csv");
        let (base, rows) = self.base(&file, self.table(sm)?.1, depth)?;
        if let Some(base) = base {
            self.read_distances(base, depth + 1)?;
        }
        for row in rows.iter().filter(|row| row.fields[0] == "class") {
            let [_, axis, group, members, ..] = row.fields[..] else {
                return Err(row.error(&file, "a class row is class,axis,group,members".into()));
            };
            let axis = Axis::from_name(axis)
                .ok_or_else(|| row.error(&file, format!("`{axis}` is no axis")))?;
            for name in members.split_whitespace() {
                let class = self.class(&file, row, name)?;
                self.groups[axis as usize][class] = Some(group);
            }
        }
        let mut seen = vec![false; self.cycles.len()];
        for row in &rows {
            match row.fields[0] {
                "class" => {}
                "distance" => self.read_distance(&file, row, &mut seen)?,
                other => return Err(row.error(&file, format!("`{other}` is no kind of row"))),
            }
        }
        Ok(())
    }

    fn read_distance(
        &mut self,
        file: &str,
        row: &Row,
        seen: &mut [bool],
    ) -> Result<(), LatencyError> {
        let [_, kinds, producers, consumers, cycles, confidence, source] = row.fields[..] else {
            return Err(row.error(file, "a distance row has seven fields".into()));
        };
        let cycles = match cycles.parse::<u8>() {
            Ok(cycles @ 1..=100) => cycles,
            _ => return Err(row.error(file, format!("`{cycles}` is no distance of 1 to 100"))),
        };
        self.provenance
            .push(row.provenance(file, confidence, source)?);
        let index = self.provenance.len() as u16;
        for name in kinds.split_whitespace() {
            let kind = DistanceKind::from_name(name)
                .ok_or_else(|| row.error(file, format!("`{name}` is no kind of distance")))?;
            let (from, to) = kind.axes();
            let producers = self.members(file, row, Some(from), producers)?;
            let consumers = self.members(file, row, to, consumers)?;
            for &producer in &producers {
                for &consumer in &consumers {
                    let classes = self.names.len();
                    let place = (kind as usize * classes + producer) * classes + consumer;
                    if std::mem::replace(&mut seen[place], true) {
                        let (producer, consumer) = (self.names[producer], self.names[consumer]);
                        let message = format!("{name} {producer} to {consumer} is given twice");
                        return Err(row.error(file, message));
                    }
                    self.cycles[place] = cycles;
                    self.rows[place] = index;
                }
            }
        }
        Ok(())
    }

    /// The classes of a list of groups; `*` stands for all classes.
    fn members(
        &self,
        file: &str,
        row: &Row,
        axis: Option<Axis>,
        groups: &str,
    ) -> Result<Vec<usize>, LatencyError> {
        let mut members = Vec::new();
        for group in groups.split_whitespace() {
            let before = members.len();
            match axis {
                _ if group == "*" => members.extend(0..self.names.len()),
                None => {}
                Some(axis) => {
                    let all = self.groups[axis as usize].iter().enumerate();
                    members.extend(
                        all.filter(|(_, of)| **of == Some(group))
                            .map(|(class, _)| class),
                    );
                }
            }
            if members.len() == before {
                return Err(row.error(file, format!("no class is in the group `{group}`")));
            }
        }
        Ok(members)
    }

    pub(super) fn read_units(&mut self, sm: u32, depth: usize) -> Result<(), LatencyError> {
        let file = format!("gpus/latency/sm_{sm}.units.csv");
        let (base, rows) = self.base(&file, self.table(sm)?.2, depth)?;
        if let Some(base) = base {
            self.read_units(base, depth + 1)?;
        }
        let mut seen = vec![false; self.names.len()];
        for row in &rows {
            let class = self.class(&file, row, row.fields[0])?;
            if std::mem::replace(&mut seen[class], true) {
                return Err(row.error(&file, format!("`{}` is given twice", row.fields[0])));
            }
            self.units[class] = Some(row.unit(&file)?);
        }
        Ok(())
    }

    fn class(&self, file: &str, row: &Row, name: &str) -> Result<usize, LatencyError> {
        let class = self.index.get(name).copied();
        class.ok_or_else(|| row.error(file, format!("`{name}` is no latency class")))
    }

    /// Checks that nothing is left out.
    pub(super) fn finish(mut self, sm: u32) -> Result<LatencyTable, LatencyError> {
        let file = format!("gpus/latency/sm_{sm}.distances.csv");
        for &axis in Axis::ALL {
            let groups = &self.groups[axis as usize];
            if let Some(class) = groups.iter().position(Option::is_none) {
                let class = self.names[class].to_string();
                return Err(LatencyError::MissingClass {
                    file,
                    axis: axis.name(),
                    class,
                });
            }
        }
        let classes = self.names.len();
        for &kind in DistanceKind::ALL {
            let (from, to) = kind.axes();
            for producer in 0..classes {
                for consumer in 0..classes {
                    let place = (kind as usize * classes + producer) * classes + consumer;
                    if self.cycles[place] != MISSING {
                        continue;
                    }
                    let writes = !matches!(
                        self.groups[from as usize][producer],
                        Some(group) if group == "none" || group.starts_with("counted")
                    );
                    let needs =
                        to.is_none_or(|axis| self.groups[axis as usize][consumer] != Some("none"));
                    if writes && needs {
                        return Err(LatencyError::MissingDistance {
                            file,
                            kind: kind.name(),
                            producer: self.names[producer].to_string(),
                            consumer: self.names[consumer].to_string(),
                        });
                    }
                    self.cycles[place] = 1;
                }
            }
        }
        let file = format!("gpus/latency/sm_{sm}.units.csv");
        let mut units = Vec::with_capacity(classes);
        let mut unit_provenance = Vec::with_capacity(classes);
        for (unit, name) in self.units.into_iter().zip(self.names) {
            let class = || (*name).to_string();
            let (unit, provenance) = unit.ok_or_else(|| LatencyError::MissingUnit {
                file: file.clone(),
                class: class(),
            })?;
            units.push(unit);
            unit_provenance.push(provenance);
        }
        Ok(LatencyTable {
            classes,
            cycles: self.cycles,
            rows: self.rows,
            provenance: self.provenance,
            units,
            unit_provenance,
        })
    }
}

/// One line of a table.
struct Row {
    line: usize,
    fields: Vec<&'static str>,
}

impl Row {
    fn error(&self, file: &str, message: String) -> LatencyError {
        LatencyError::Row {
            file: file.to_string(),
            line: self.line,
            message,
        }
    }

    fn provenance(
        &self,
        file: &str,
        confidence: &'static str,
        source: &'static str,
    ) -> Result<Provenance, LatencyError> {
        if !matches!(confidence, "measured" | "modelled" | "guess") {
            return Err(self.error(file, format!("`{confidence}` is no confidence")));
        }
        if source.is_empty() {
            return Err(self.error(file, "a number needs its source".into()));
        }
        Ok(Provenance { confidence, source })
    }

    /// A row of the unit table.
    fn unit(&self, file: &str) -> Result<(UnitTiming, Provenance), LatencyError> {
        let [
            _,
            unit,
            alternative,
            latency,
            interval,
            timing,
            read,
            work,
            rate,
            confidence,
            source,
        ] = self.fields[..]
        else {
            return Err(self.error(file, "a unit row has eleven fields".into()));
        };
        let number = |text: &str, what: &str, most: u32| match text {
            "" => Ok(0),
            _ => text
                .parse::<u32>()
                .ok()
                .filter(|&number| number <= most)
                .ok_or_else(|| self.error(file, format!("`{text}` is no {what} of 0 to {most}"))),
        };
        let known = |name: &str| {
            Unit::from_name(name).ok_or_else(|| self.error(file, format!("`{name}` is no unit")))
        };
        let variable = match timing {
            "fixed" => false,
            "variable" => true,
            _ => return Err(self.error(file, format!("`{timing}` is neither fixed nor variable"))),
        };
        let work = number(work, "work", 1 << 20)?;
        if (work == 0) != rate.is_empty() {
            return Err(self.error(file, "work and rate go together".into()));
        }
        let timing = UnitTiming {
            unit: known(unit)?,
            alternative: if alternative.is_empty() {
                None
            } else {
                Some(known(alternative)?)
            },
            latency: number(latency, "latency", 1000)? as u16,
            interval: number(interval, "interval", 1000)? as u16,
            variable,
            read_cycles: number(read, "number of read cycles", 16)? as u8,
            work,
            rate: (!rate.is_empty()).then_some(rate),
        };
        Ok((timing, self.provenance(file, confidence, source)?))
    }
}
