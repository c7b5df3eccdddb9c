//! A probe's kernel: one SASS text for all architectures, assembled for the GPU at hand with control bits
//! filled in by its own latency tables.

use std::path::PathBuf;

use cubin::Cubin;
use hardware::Gpu;
use sass::Architecture;
use schedule::Rules;

use crate::error::ProbeError;

/// What a load that is measured looks like: how it treats the L1 cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// Through the L1 cache.
    Cached,
    /// Past the L1 cache, as `ld.global.cg` is compiled.
    PastL1,
}

const HEAD: &str = include_str!("kernels/head.sass");
const TAIL: &str = include_str!("kernels/tail.sass");

impl Load {
    /// What it adds to the mnemonic.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Load::Cached => "",
            Load::PastL1 => ".STRONG.GPU",
        }
    }
}

/// A text that says what an architecture's own spelling makes of it. Written as for sm_80 to sm_89, with
/// these words besides:
///
/// * `DESCRIPTOR` fills UR4, the descriptor that global addresses name;
/// * `LOAD` and `LOAD32` are the loads of 64 and 32 bits that are measured;
/// * `HEAD` and `TAIL` number threads and warps, and store the two clocks of each warp
///   ([`crate::stamps`]).
pub(crate) fn spelled(text: &str, load: Load, architecture: Architecture) -> String {
    let mut spelled = format!(".arch {architecture}\n");
    let text = text.replace("HEAD\n", HEAD).replace("TAIL\n", TAIL);
    for line in text.lines() {
        let mut line = line
            .replace("LOAD32", &format!("LDG.E{}", load.suffix()))
            .replace("LOAD", &format!("LDG.E.64{}", load.suffix()));
        match architecture {
            Architecture::Sm75 => {
                line = line
                    .replace("DESCRIPTOR", "")
                    .replace(".64]", "]")
                    .replace(".64+", "+");
                line = with_system_scope(&line);
            }
            Architecture::Sm90 => {
                line = line
                    .replace("DESCRIPTOR", "ULDC.64 UR4, c[0x0][0x208] ;")
                    .replace("RED.E", "REDG.E");
            }
            _ => line = line.replace("DESCRIPTOR", "ULDC.64 UR4, c[0x0][0x118] ;"),
        }
        spelled.push_str(&line);
        spelled.push('\n');
    }
    spelled
}

/// A weak global load or store of sm_75, which is compiled with the system's scope.
fn with_system_scope(line: &str) -> String {
    let Some(start) = line.find("LDG.E").or_else(|| line.find("STG.E")) else {
        return line.to_owned();
    };
    let end = line[start..].find(' ').map_or(line.len(), |at| start + at);
    if line[start..end].contains("STRONG") {
        return line.to_owned();
    }
    format!("{}.SYS{}", &line[..end], &line[end..])
}

/// The texts of all kernels, with the loads that they are launched with, those that a probe makes from a
/// pattern once for each of its widths.
pub fn texts() -> Vec<(&'static str, String, Load)> {
    let written = [
        ("scan", include_str!("kernels/scan.sass"), Load::Cached),
        ("scan", include_str!("kernels/scan.sass"), Load::PastL1),
        (
            "gathers",
            include_str!("kernels/gathers.sass"),
            Load::PastL1,
        ),
        ("touch", include_str!("kernels/touch.sass"), Load::PastL1),
        ("weigh", crate::counters::WEIGH, Load::PastL1),
        ("gather", include_str!("kernels/gather.sass"), Load::PastL1),
        (
            "atomics",
            include_str!("kernels/atomics.sass"),
            Load::Cached,
        ),
        ("load", include_str!("kernels/load.sass"), Load::PastL1),
    ];
    let written = written.map(|(name, text, load)| (name, text.to_owned(), load));
    let made = crate::bandwidth::texts().into_iter();
    let made = made.map(|(text, load)| ("stream", text, load));
    let banks = crate::shared_banks::texts().into_iter();
    let banks = banks.map(|text| ("banks", text, Load::Cached));
    let loads = [Load::Cached, Load::PastL1].into_iter();
    let chases = loads.flat_map(|load| {
        [false, true].map(|bare| {
            let (name, text) = crate::ring::kernel(bare);
            (name, text, load)
        })
    });
    chases.chain(written).chain(made).chain(banks).collect()
}

/// Assembles a text's only kernel for a GPU.
///
/// # Errors
/// An architecture without encodings or latency tables, a text at fault.
pub fn assembled(name: &str, text: &str, load: Load, gpu: &Gpu) -> Result<Cubin, ProbeError> {
    let number = gpu.architecture();
    let architecture =
        Architecture::from_number(number).ok_or_else(|| ProbeError::Architecture {
            gpu: gpu.name().to_owned(),
            architecture: number,
        })?;
    let text = spelled(text, load, architecture);
    let assembled = sass::assemble::assemble(&text, Some(architecture));
    let mut assembly = assembled.map_err(|error| ProbeError::Assemble {
        kernel: name.to_owned(),
        text: text
            .lines()
            .nth(error.line.saturating_sub(1))
            .unwrap_or("")
            .to_owned(),
        error: Box::new(error),
    })?;
    let rules = Rules::of(gpu)?;
    for kernel in &mut assembly.kernels {
        let findings = schedule::fill::kernel(&rules, kernel, architecture);
        if findings > 0 {
            return Err(ProbeError::Control {
                kernel: name.to_owned(),
                findings,
            });
        }
    }
    let bytes = lab::new_cubin(&assembly).write()?;
    Cubin::parse(&bytes).map_err(|error| ProbeError::Run {
        kernel: name.to_owned(),
        error: Box::new(device::RunError::Cubin {
            file: PathBuf::from(name),
            error: Box::new(error),
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_spelled_as_the_architecture_does() {
        let text = "DESCRIPTOR\n@P1 LOAD32 R2, [R4.64+0x8] ;\nRED.E.ADD [R4.64], R2 ;";
        let spelled = |load, architecture| spelled(text, load, architecture);
        let of_75 = spelled(Load::Cached, Architecture::Sm75);
        assert!(of_75.contains("@P1 LDG.E.SYS R2, [R4+0x8] ;"), "{of_75}");
        assert!(!of_75.contains("ULDC"), "{of_75}");
        let of_90 = spelled(Load::PastL1, Architecture::Sm90);
        assert!(
            of_90.contains("LDG.E.STRONG.GPU R2, [R4.64+0x8]"),
            "{of_90}"
        );
        assert!(
            of_90.contains("c[0x0][0x208]") && of_90.contains("REDG.E.ADD"),
            "{of_90}"
        );
    }
}
