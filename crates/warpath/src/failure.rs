//! What a command can fail with, and how it is shown: an error on standard error and an exit code.

use std::fmt;
use std::io::IsTerminal;
use std::process::ExitCode;

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};

/// Why a command ended without success.
#[derive(Debug)]
pub enum Failure {
    /// Bad usage or input: exit code 2.
    Input(Box<Problem>),
    /// The run failed: exit code 1.
    Run(Box<Problem>),
    /// Nobody reads the output any more: no failure of ours.
    BrokenPipe,
}

/// One error with what helps to mend it.
#[derive(Debug)]
pub struct Problem {
    message: String,
    help: Option<String>,
    source: Option<NamedSource<String>>,
    label: Option<LabeledSpan>,
}

impl Problem {
    /// An error of that text.
    pub fn new(message: impl Into<String>) -> Problem {
        Problem {
            message: message.into(),
            help: None,
            source: None,
            label: None,
        }
    }

    /// With a hint.
    pub fn help(mut self, help: impl Into<String>) -> Problem {
        self.help = Some(help.into());
        self
    }

    /// With the piece of text that it is about.
    pub fn snippet(
        mut self,
        name: &str,
        text: &str,
        span: std::ops::Range<usize>,
        label: &str,
    ) -> Problem {
        self.source = Some(NamedSource::new(name, text.to_owned()));
        self.label = Some(LabeledSpan::new_with_span(Some(label.to_owned()), span));
        self
    }

    /// As bad usage or input.
    pub fn input(self) -> Failure {
        Failure::Input(Box::new(self))
    }

    /// As a failed run.
    pub fn run(self) -> Failure {
        Failure::Run(Box::new(self))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

impl Diagnostic for Problem {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help
            .as_ref()
            .map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source.as_ref().map(|source| source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.label
            .clone()
            .map(|label| Box::new(std::iter::once(label)) as Box<dyn Iterator<Item = LabeledSpan>>)
    }
}

impl From<device::RunError> for Failure {
    fn from(error: device::RunError) -> Failure {
        use device::RunError;
        let text = error.to_string();
        match &error {
            RunError::LaunchFile(wrong) => Problem::new(text)
                .snippet(&wrong.file, &wrong.text, wrong.span.clone(), &wrong.found)
                .input(),
            RunError::Fault(fault) => {
                let problem = Problem::new(text);
                match &fault.help {
                    Some(help) => problem.help(help.clone()).run(),
                    None => problem.run(),
                }
            }
            RunError::FunctionalHang(hang) => {
                Problem::new(text).help(hang.waiting.join("\n")).run()
            }
            RunError::Hang(hang) => Problem::new(text).help(hang.wait_graph()).run(),
            _ if error.is_input() => Problem::new(text).input(),
            _ => Problem::new(text).run(),
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            Failure::BrokenPipe
        } else {
            Problem::new(format!("cannot write the output: {error}")).run()
        }
    }
}

impl Failure {
    /// Shows the failure and gives the exit code.
    pub fn render(self) -> ExitCode {
        let (problem, code) = match self {
            Failure::BrokenPipe => return ExitCode::SUCCESS,
            Failure::Run(problem) => (problem, 1),
            Failure::Input(problem) => (problem, 2),
        };
        let terminal = std::io::stderr().is_terminal();
        let colour = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let theme = match (terminal, colour) {
            (true, true) => miette::GraphicalTheme::unicode(),
            (true, false) => miette::GraphicalTheme::unicode_nocolor(),
            (false, _) => miette::GraphicalTheme::none(),
        };
        let mut handler = miette::GraphicalReportHandler::new_themed(theme)
            .with_links(false)
            .with_break_words(false);
        if !terminal {
            // One error per line for whoever reads it by program.
            handler = handler.with_wrap_lines(false);
        }
        let mut text = String::new();
        if handler.render_report(&mut text, problem.as_ref()).is_err() || text.is_empty() {
            text = problem.to_string();
        }
        eprintln!(
            "error: {}",
            text.trim_start_matches(['\n', ' ', '×', 'x']).trim_end()
        );
        ExitCode::from(code)
    }
}
