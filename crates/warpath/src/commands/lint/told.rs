//! Findings as they are told: as text, as CSV and as JSON.

use std::io::Write;

use report::number::grouped;
use sass::{File, Word};
use schedule::{Fault, Finding, Hazard, Rules};
use serde::Serialize;

use super::subject::Subject;
use crate::failure::Failure;

/// An instruction as it is told.
#[derive(Serialize)]
pub struct Place {
    pc: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    text: String,
}

/// A finding as it is told.
#[derive(Serialize)]
pub struct Told {
    file: String,
    kernel: String,
    architecture: String,
    #[serde(serialize_with = "by_name")]
    fault: Fault,
    #[serde(skip_serializing_if = "Option::is_none")]
    dependence: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    register: Option<String>,
    /// Cycles between the two, where distance is the matter.
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    needed: Option<u16>,
    /// The counters of which one must be waited for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    counters: Vec<u8>,
    first: Place,
    #[serde(skip_serializing_if = "Option::is_none")]
    between: Option<Place>,
    second: Place,
}

/// All that a run tells.
#[derive(Serialize)]
pub struct Summary {
    /// Functions looked at.
    pub sections: usize,
    /// Instructions looked at.
    pub instructions: usize,
    /// Words that are no instruction.
    pub unknown: usize,
    /// What was found.
    pub findings: Vec<Told>,
}

impl Subject {
    fn place(&self, index: usize) -> Place {
        let pc = index as u64 * u64::from(Word::BYTES);
        let text = match self.code.get(index) {
            Some(Some(instruction)) => {
                format!("{} {} ;", instruction.control, instruction.display(pc))
            }
            _ => "?".to_owned(),
        };
        Place {
            pc,
            line: self.lines.get(index).copied(),
            text,
        }
    }

    /// A finding in this code as it is told.
    pub fn tell(&self, rules: &Rules, finding: &Finding) -> Told {
        let fault = finding.fault(rules, &self.code);
        let distance = match fault {
            Fault::StallTooSmall | Fault::CollapsedStall => {
                Some((finding.distance, finding.needed))
            }
            Fault::WaitTooEarly => Some((finding.distance, rules.control.counter_visible)),
            _ => None,
        };
        let mask = match finding.hazard {
            Hazard::UnraisedWait(counter) => 1 << counter,
            Hazard::Read | Hazard::Overwrite | Hazard::ReadOverwrite => {
                finding.counters(&self.code)
            }
            _ => 0,
        };
        Told {
            file: self.file.clone(),
            kernel: self.name.clone(),
            architecture: self.architecture.to_string(),
            fault,
            dependence: finding.dependence(),
            kind: match finding.hazard {
                Hazard::Distance(kind) => Some(kind.name()),
                _ => None,
            },
            register: finding
                .register
                .map(|(file, number)| register(file, number)),
            found: distance.map(|(found, _)| found),
            needed: distance.map(|(_, needed)| needed),
            counters: (0..6).filter(|counter| mask >> counter & 1 == 1).collect(),
            first: self.place(finding.earlier),
            between: finding.between.map(|index| self.place(index)),
            second: self.place(finding.later),
        }
    }
}

fn by_name<S: serde::Serializer>(fault: &Fault, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(fault.name())
}

/// `1 finding`, `2 findings`.
pub fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {what}{plural}", grouped(count as u64))
}

fn register(file: File, number: u8) -> String {
    let prefix = match file {
        File::General => "R",
        File::Uniform => "UR",
        File::Predicate => "P",
        File::UniformPredicate => "UP",
        File::Convergence => "B",
    };
    format!("{prefix}{number}")
}

impl Told {
    /// What is wrong and what would be right.
    fn sentence(&self) -> String {
        let cycles = |count: u16| counted(count.into(), "cycle");
        let register = self.register.as_deref().unwrap_or("");
        let dependence = self.dependence.unwrap_or("");
        let counters: Vec<String> = self.counters.iter().map(u8::to_string).collect();
        let counters = counters.join(" or ");
        let (found, needed) = (self.found.unwrap_or(0), self.needed.unwrap_or(0));
        match self.fault {
            Fault::StallTooSmall => format!(
                "{register} {dependence} ({}): {} apart, {needed} needed",
                self.kind.unwrap_or(""),
                cycles(found)
            ),
            Fault::CounterMissing => format!(
                "{register} {dependence}: the first raises no counter, and has variable latency"
            ),
            Fault::WaitMissing => {
                format!("{register} {dependence}: counter {counters} is not waited for")
            }
            Fault::WaitTooEarly => format!(
                "{register} {dependence}: the wait for counter {counters} comes after {}, the counter is \
                 seen after {needed}",
                cycles(found)
            ),
            Fault::UnraisedWait => format!("nothing raises counter {counters} before this wait"),
            Fault::StaleReuse => format!(
                "{register}: kept by .reuse, overwritten, and read from the cache at the same place"
            ),
            Fault::UselessReuse => {
                format!("{register}: kept by .reuse, but not read again at the same place")
            }
            Fault::CollapsedStall => format!(
                "stall {needed} without yield lasts {}: it needs the yield bit",
                cycles(found)
            ),
        }
    }
}

pub fn write_text(summary: &Summary, out: &mut dyn Write) -> Result<(), Failure> {
    let mut last = None;
    for told in &summary.findings {
        let head = (&told.file, &told.kernel, &told.architecture);
        if last != Some(head) {
            writeln!(
                out,
                "{}: {} ({})",
                told.file, told.kernel, told.architecture
            )?;
            last = Some(head);
        }
        writeln!(out, "  {}: {}", told.fault.name(), told.sentence())?;
        let mut places = vec![&told.first];
        places.extend(&told.between);
        if told.second.pc != told.first.pc || told.dependence.is_some() {
            places.push(&told.second);
        }
        for place in places {
            let line = place
                .line
                .map_or(String::new(), |line| format!("line {line}: "));
            writeln!(out, "    {line}/*{:04x}*/ {}", place.pc, place.text)?;
        }
    }
    writeln!(
        out,
        "{} in {} of {}",
        counted(summary.findings.len(), "finding"),
        counted(summary.instructions, "instruction"),
        counted(summary.sections, "function")
    )?;
    if summary.unknown > 0 {
        writeln!(
            out,
            "{} unknown words: ways through them are not followed",
            grouped(summary.unknown as u64)
        )?;
    }
    Ok(())
}

pub fn write_csv(summary: &Summary, out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(
        out,
        "file,kernel,architecture,fault,dependence,kind,register,found,needed,first_pc,second_pc"
    )?;
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    for told in &summary.findings {
        let number =
            |number: Option<u16>| number.map_or(String::new(), |number| number.to_string());
        writeln!(
            out,
            "{},{},{},{},{},{},{},{},{},{:#x},{:#x}",
            quoted(&told.file),
            quoted(&told.kernel),
            told.architecture,
            told.fault.name(),
            told.dependence.unwrap_or(""),
            told.kind.unwrap_or(""),
            told.register.as_deref().unwrap_or(""),
            number(told.found),
            number(told.needed),
            told.first.pc,
            told.second.pc
        )?;
    }
    Ok(())
}
