//! `warpath lint`: the control bits of code against what the hardware needs, without running it; with
//! `--mine` the distances that code keeps beside the latency tables.

mod mined;
mod subject;
mod told;

use std::collections::BTreeMap;
use std::io::Write;

use sass::Architecture;
use schedule::{Mined, Rules, Section};

pub use subject::decoded;
use subject::subjects;
use told::{Summary, counted, write_csv, write_text};

use crate::cli::{Format, LintArguments};
use crate::failure::{Failure, Problem};
use crate::input::load_gpu;

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
                let told = scan
                    .findings
                    .iter()
                    .map(|finding| subject.tell(rules, finding));
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
        return mined::write(&mined, &rules, arguments.format, out);
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
