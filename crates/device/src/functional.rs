//! A launch without time: results only, many times faster (DESIGN.md W5).

use exec::RunFault;
use source::Pc;

use crate::device::{Device, Prepared};
use crate::error::{FunctionalHang, RunError};
use crate::options::{Mode, RunOptions};
use crate::report::LaunchReport;
use crate::timed::{fault_report, instruction, skipped};

impl Device {
    /// Runs a launch for its results. As many warp instructions are allowed as the GPU's schedulers
    /// could issue in the cycles allowed.
    pub(crate) fn run_functional(
        &mut self,
        prepared: &Prepared,
        options: &RunOptions,
    ) -> Result<LaunchReport, RunError> {
        let mut report = self.blank_report(prepared, Mode::Functional);
        let schedulers = u64::from(self.card.sms * self.card.sub_cores_per_sm);
        let limit = options.max_cycles.saturating_mul(schedulers);
        let counted = exec::functional::run(&prepared.launch, &mut self.global, limit)
            .map_err(|fault| failed(fault, prepared))?;
        report.warp_instructions = counted.warp_instructions;
        report.thread_instructions = counted.thread_instructions;
        let counts = counted.skipped.iter().enumerate();
        let counts = counts.map(|(pc, &count)| (Pc(pc as u32), count));
        report.not_modelled.extend(skipped(prepared, counts));
        Ok(report)
    }
}

fn failed(fault: RunFault, prepared: &Prepared) -> RunError {
    let kernel = prepared.launch.program().name().to_owned();
    let hang = match fault {
        RunFault::Fault(fault) => {
            return RunError::Fault(Box::new(fault_report(&fault, prepared, None)));
        }
        RunFault::Deadlock { waiting } => FunctionalHang {
            kernel,
            what: "deadlock: no warp can go on".to_owned(),
            waiting,
        },
        RunFault::TooLong { limit, pc } => {
            let (offset, text) = instruction(prepared, pc);
            let what = format!("not finished after {limit} warp instructions (--max-cycles)");
            FunctionalHang {
                kernel,
                what,
                waiting: vec![format!("now at pc {offset:#06x} `{text}`")],
            }
        }
    };
    RunError::FunctionalHang(Box::new(hang))
}
