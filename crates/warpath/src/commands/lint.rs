//! `warpath lint`: the control bits of code against what the hardware needs, without running it; with
//! `--mine` the distances that code keeps beside the latency tables.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use cubin::Function;
use report::number::grouped;
use report::table::{Align, Table};
use sass::{Architecture, Decoded, File, Instruction, Word};
use schedule::flow::{NO_TABLES, Tables};
use schedule::{Fault, Finding, Hazard, Mined, Rules, Section, Verdict, mine};
use serde::Serialize;

use super::disasm::{architecture, of_cubin};
use crate::cli::{Format, LintArguments};
use crate::failure::{Failure, Problem};
use crate::input::{load_cubins, load_cubins_for, load_gpu, read_text};

/// One code section to be looked at.
struct Subject {
    file: String,
    name: String,
    architecture: Architecture,
    is_entry: bool,
    code: Vec<Option<Instruction>>,
    tables: Tables,
    /// Lines of the text that the instructions stand in.
    lines: Vec<usize>,
}

/// An instruction as it is told.
#[derive(Serialize)]
struct Place {
    pc: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    text: String,
}

/// A finding as it is told.
#[derive(Serialize)]
struct Told {
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

#[derive(Serialize)]
struct Summary {
    sections: usize,
    instructions: usize,
    unknown: usize,
    findings: Vec<Told>,
}

/// Checks, or mines.
pub fn run(arguments: &LintArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let mut rules = Known::default();
    let gpu = arguments.gpu.as_deref();
    let mut summary = Summary {
        sections: 0,
        instructions: 0,
        unknown: 0,
        findings: Vec::new(),
    };
    let mut mined: BTreeMap<u32, Mined> = BTreeMap::new();
    for file in super::coverage::cubins(&arguments.files)? {
        for subject in subjects(&file, arguments)? {
            let rules = rules.of(gpu, subject.architecture, &subject.file)?;
            let section = Section {
                code: &subject.code,
                is_entry: subject.is_entry,
                tables: &subject.tables,
            };
            let scan = schedule::lint(rules, section);
            summary.sections += 1;
            summary.instructions += subject.code.len();
            summary.unknown += subject.code.iter().filter(|one| one.is_none()).count();
            if arguments.mine {
                let mined = mined.entry(subject.architecture.number()).or_default();
                mined.add(subject.code.len(), &scan);
            } else {
                let told = scan.findings.iter().map(|finding| subject.tell(finding));
                summary.findings.extend(told);
            }
        }
    }
    if summary.sections == 0 {
        let text = match &arguments.kernel {
            Some(name) => format!("no kernel `{name}` in the code"),
            None => "no code to look at".to_owned(),
        };
        return Err(Problem::new(text).input());
    }
    if arguments.mine {
        return write_mined(&mined, &rules, arguments.format, out);
    }
    match arguments.format {
        Format::Json => super::write_json(&summary, out)?,
        Format::Csv => write_csv(&summary, out)?,
        Format::Text => write_text(&summary, out)?,
    }
    match summary.findings.len() {
        0 => Ok(()),
        count => {
            out.flush()?;
            Err(Problem::new(counted(count, "finding")).run())
        }
    }
}

/// The rules of each architecture, loaded once.
#[derive(Default)]
struct Known(BTreeMap<u32, Rules>);

impl Known {
    fn of(
        &mut self,
        gpu: Option<&str>,
        architecture: Architecture,
        file: &str,
    ) -> Result<&Rules, Failure> {
        use std::collections::btree_map::Entry;
        match self.0.entry(architecture.number()) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(new) => Ok(new.insert(rules_of(gpu, architecture, file)?)),
        }
    }
}

/// The rules of a GPU for code of `file`: of the one named, else of one with that architecture.
pub fn rules_of(
    gpu: Option<&str>,
    architecture: Architecture,
    file: &str,
) -> Result<Rules, Failure> {
    let sm = architecture.number();
    let name = gpu.unwrap_or_else(|| super::run::gpu_of(&[sm]));
    let gpu = load_gpu(name, &[])?;
    if gpu.architecture() != sm {
        let text = format!(
            "{file}: code for {architecture}, but {name} is sm_{}",
            gpu.architecture()
        );
        let help = "`warpath gpus` lists the GPUs with their architectures";
        return Err(Problem::new(text).help(help).input());
    }
    Rules::of(&gpu).map_err(|error| Problem::new(error.to_string()).input())
}

/// The sections of a file: of a text's kernels, or of all functions of its cubins.
fn subjects(path: &Path, arguments: &LintArguments) -> Result<Vec<Subject>, Failure> {
    let is_text = path
        .extension()
        .is_some_and(|extension| extension == "sass");
    if is_text {
        return of_text(path, arguments);
    }
    let cubins = match &arguments.gpu {
        Some(gpu) => load_cubins_for(path, Some(gpu), super::run::gpu_of)?.0,
        None => load_cubins(path)?,
    };
    let file = path.display().to_string();
    let mut subjects = Vec::new();
    for cubin in &cubins {
        let architecture = of_cubin(path, cubin.sm())?;
        let wanted = |function: &&Function| {
            arguments.kernel.as_ref().is_none_or(|name| {
                let mut kernels = cubin.kernels().iter();
                kernels.any(|kernel| kernel.name == *name && kernel.section == function.section)
            })
        };
        for function in cubin.functions().iter().filter(wanted) {
            let words = function.code.as_chunks::<16>().0.iter();
            let index = |offset: &u32| (offset / Word::BYTES) as usize;
            let branches = function.indirect_branches();
            let tables = branches
                .iter()
                .map(|(branch, targets)| (index(branch), targets.iter().map(index).collect()));
            subjects.push(Subject {
                file: file.clone(),
                name: function.name.clone(),
                architecture,
                is_entry: function.is_entry,
                code: words
                    .map(|bytes| decoded(Word::from_bytes(*bytes), architecture))
                    .collect(),
                tables: tables.collect(),
                lines: Vec::new(),
            });
        }
    }
    Ok(subjects)
}

fn of_text(path: &Path, arguments: &LintArguments) -> Result<Vec<Subject>, Failure> {
    let file = path.display().to_string();
    let text = read_text(path)?;
    let given = arguments.arch.as_deref().map(architecture).transpose()?;
    let assembly = sass::assemble::assemble(&text, given)
        .map_err(|error| super::asm::misread(&file, &text, &error))?;
    super::asm::closed(&file, &text, &assembly)?;
    let wanted = |name: &str| {
        arguments
            .kernel
            .as_ref()
            .is_none_or(|kernel| kernel == name)
    };
    let kernels = assembly
        .kernels
        .iter()
        .filter(|kernel| wanted(&kernel.name));
    let subject = |kernel: &sass::assemble::AssembledKernel| Subject {
        file: file.clone(),
        name: kernel.name.clone(),
        architecture: assembly.architecture,
        is_entry: true,
        code: kernel
            .instructions
            .iter()
            .map(|line| decoded(line.word, assembly.architecture))
            .collect(),
        tables: NO_TABLES.clone(),
        lines: kernel.instructions.iter().map(|line| line.line).collect(),
    };
    Ok(kernels.map(subject).collect())
}

/// The instruction of a word, if it is one.
pub fn decoded(word: Word, architecture: Architecture) -> Option<Instruction> {
    match sass::decode(word, architecture) {
        Decoded::Instruction(instruction) => Some(instruction),
        Decoded::Unknown(_) => None,
    }
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

    fn tell(&self, finding: &Finding) -> Told {
        let fault = finding.fault(&self.code);
        let distance = match fault {
            Fault::StallTooSmall | Fault::CollapsedStall => {
                Some((finding.distance, finding.needed))
            }
            Fault::WaitTooEarly => Some((finding.distance, schedule::rules::COUNTER_VISIBLE)),
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
fn counted(count: usize, what: &str) -> String {
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

fn write_text(summary: &Summary, out: &mut dyn Write) -> Result<(), Failure> {
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

fn write_csv(summary: &Summary, out: &mut dyn Write) -> Result<(), Failure> {
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

/// A row of mined distances as it is told.
#[derive(Serialize)]
struct MinedRow {
    architecture: String,
    kind: &'static str,
    dependence: &'static str,
    producer: &'static str,
    consumer: &'static str,
    needed: u16,
    least: u16,
    count: u64,
    verdict: &'static str,
}

/// Writes what was mined; fails if code and table contradict each other.
fn write_mined(
    mined: &BTreeMap<u32, Mined>,
    rules: &Known,
    format: Format,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let mut contradictions = 0;
    let mut all = Vec::new();
    for (sm, mined) in mined {
        let Some(rules) = rules.0.get(sm) else {
            continue;
        };
        let rows = mined.rows(&rules.table);
        let count = |verdict| rows.iter().filter(|row| row.verdict() == verdict).count();
        contradictions += count(Verdict::Smaller);
        let told = rows.iter().map(|row| MinedRow {
            architecture: format!("sm_{sm}"),
            kind: row.kind.name(),
            dependence: mine::dependence(row.kind),
            producer: row.producer.name(),
            consumer: row.consumer.name(),
            needed: row.needed,
            least: row.seen.least,
            count: row.seen.count,
            verdict: row.verdict().name(),
        });
        match format {
            Format::Csv => write!(out, "{}", mined.to_csv(&rules.table))?,
            Format::Json => all.extend(told),
            Format::Text => {
                let mut table = Table::new(&[
                    ("kind", Align::Left),
                    ("", Align::Left),
                    ("producer", Align::Left),
                    ("consumer", Align::Left),
                    ("needed", Align::Right),
                    ("least", Align::Right),
                    ("count", Align::Right),
                    ("verdict", Align::Left),
                ]);
                for row in told {
                    table.row([
                        row.kind.to_owned(),
                        row.dependence.to_owned(),
                        row.producer.to_owned(),
                        row.consumer.to_owned(),
                        row.needed.to_string(),
                        row.least.to_string(),
                        grouped(row.count),
                        row.verdict.to_owned(),
                    ]);
                }
                writeln!(out, "{table}")?;
                writeln!(
                    out,
                    "sm_{sm}: {} instructions, {} pairs: {} equal, {} larger, {} smaller\n",
                    grouped(mined.instructions),
                    rows.len(),
                    count(Verdict::Equal),
                    count(Verdict::Larger),
                    count(Verdict::Smaller)
                )?;
            }
        }
    }
    if format == Format::Json {
        super::write_json(&all, out)?;
    }
    match contradictions {
        0 => Ok(()),
        count => {
            out.flush()?;
            let text = format!("{count} pairs closer than the latency table allows");
            Err(Problem::new(text).run())
        }
    }
}
