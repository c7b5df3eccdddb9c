//! A launch without time: results only, many times faster (DESIGN.md W5).

use crate::device::{Device, Prepared};
use crate::error::RunError;
use crate::options::{Mode, RunOptions};
use crate::report::LaunchReport;
use crate::timed::fault_report;

impl Device {
    /// Runs a launch for its results.
    pub(crate) fn run_functional(
        &mut self,
        prepared: &Prepared,
        _options: &RunOptions,
    ) -> Result<LaunchReport, RunError> {
        let mut report = self.blank_report(prepared, Mode::Functional);
        let counted = exec::functional::run(&prepared.launch, &mut self.global)
            .map_err(|fault| RunError::Fault(Box::new(fault_report(&fault, prepared, None))))?;
        report.warp_instructions = counted.warp_instructions;
        report.thread_instructions = counted.thread_instructions;
        Ok(report)
    }
}
