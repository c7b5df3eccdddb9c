//! A variant as a kernel: frame and fragment around each other, and the code that stores what is asked
//! for. On hardware the same text runs too.

use std::collections::BTreeMap;
use std::fmt::Write;

use sass::Architecture;
use sass::assemble::{Assembly, assemble};

use crate::document::{Experiment, Frame};
use crate::error::LabError;
use crate::expand::{substitute, unroll};

/// Name of the kernel.
pub const NAME: &str = "experiment";

/// One variant, ready to be assembled.
pub struct Variant {
    /// The text.
    pub text: String,
    /// Registers that every thread stores, in this order.
    pub stored: Vec<u8>,
}

/// The text of a variant whose row substitutes `values`.
pub fn variant(
    experiment: &Experiment,
    frame: &Frame,
    values: &BTreeMap<String, String>,
    architecture: Architecture,
) -> Result<Variant, String> {
    let mut all = frame.bindings.clone();
    all.extend(values.clone());
    let fragment = unroll(&substitute(&experiment.sass, &all)?)?;
    let before = unroll(&substitute(&frame.before, &all)?)?;
    let after = unroll(&substitute(&frame.after, &all)?)?;
    let window = match frame.window {
        Some(window) => Some(window),
        None => clocks(&fragment),
    };
    let mut stored: Vec<u8> = window.into_iter().flatten().collect();
    stored.extend(frame.value);

    let mut text = format!(".arch {architecture}\n.kernel {NAME}\n.param 8 out\n");
    // Writing to a string does not fail.
    for name in frame.buffers.keys() {
        let _ = writeln!(text, ".param 8 {name}");
    }
    if frame.shared > 0 {
        let _ = writeln!(text, ".shared {}", frame.shared);
    }
    if let Some(registers) = experiment.declared_registers {
        let _ = writeln!(text, ".registers {registers}");
    }
    text.push_str(&before);
    text.push('\n');
    text.push_str(without_last_exit(&fragment));
    text.push('\n');
    text.push_str(&after);
    text.push('\n');
    store(&mut text, &stored, architecture);
    Ok(Variant { text, stored })
}

/// Assembles a variant.
pub fn assembled(
    variant: &Variant,
    architecture: Architecture,
    place: (&str, &str),
) -> Result<Assembly, LabError> {
    assemble(&variant.text, Some(architecture)).map_err(|error| LabError::Assemble {
        experiment: place.0.to_owned(),
        variant: place.1.to_owned(),
        text: variant
            .text
            .lines()
            .nth(error.line - 1)
            .unwrap_or("")
            .to_owned(),
        error: Box::new(error),
    })
}

/// The registers that the last and the first read of the clock in a fragment write.
fn clocks(fragment: &str) -> Option<[u8; 2]> {
    let mut registers = fragment
        .lines()
        .filter(|line| !line.trim().starts_with("//") && line.contains("SR_CLOCKLO"))
        .filter_map(|line| {
            let (_, operands) = line.split_once("CS2R")?;
            let (_, register) = operands.split_once(" R")?;
            register.split(',').next()?.trim().parse().ok()
        });
    let first = registers.next()?;
    Some([registers.next_back().unwrap_or(first), first])
}

/// The fragment up to its last EXIT, if that is what it ends with.
fn without_last_exit(fragment: &str) -> &str {
    let trimmed = fragment.trim_end();
    let start = trimmed.rfind('\n').map_or(0, |at| at + 1);
    let last = &trimmed[start..];
    if last.contains(" EXIT") && !last.contains('@') {
        &trimmed[..start]
    } else {
        trimmed
    }
}

/// Appends the code by which every thread stores its registers to `out[thread]`: waits for everything,
/// then computes the place in three registers that are not asked for.
fn store(text: &mut String, stored: &[u8], architecture: Architecture) {
    let free = |register: u8| !stored.contains(&register);
    let pair = (0..254)
        .step_by(2)
        .find(|&even| free(even) && free(even + 1))
        .unwrap_or(0);
    let factor = (0..254)
        .find(|&one| free(one) && one != pair && one != pair + 1)
        .unwrap_or(2);
    let stride = stored.len().max(1) * 4;
    let global = if architecture == Architecture::Sm75 {
        ("STG.E.SYS", format!("[R{pair}"))
    } else {
        ("STG.E", format!("[R{pair}.64"))
    };
    let _ = writeln!(
        text,
        "[B012345:R-:W-:Y:S15] NOP ;\n\
         [B------:R-:W-:Y:S15] NOP ;\n\
         [B------:R-:W0:-:S02] S2R R{pair}, SR_TID.X ;\n\
         [B------:R-:W1:-:S02] S2R R{factor}, SR_CTAID.X ;\n\
         [B01----:R-:W-:Y:S15] IMAD R{pair}, R{factor}, c[0x0][0x0], R{pair} ;\n\
         [B------:R-:W-:Y:S15] MOV R{factor}, {stride:#x} ;\n\
         [B------:R-:W-:Y:S15] IMAD.WIDE.U32 R{pair}, R{pair}, R{factor}, c[0x0][out] ;"
    );
    if architecture != Architecture::Sm75 {
        let _ = writeln!(text, "[B------:R-:W-:Y:S15] ULDC.64 UR4, c[0x0][0x118] ;");
    }
    for (place, register) in stored.iter().enumerate() {
        let _ = writeln!(
            text,
            "[B------:R0:W-:-:S02] {} {}+{:#x}], R{register} ;",
            global.0,
            global.1,
            place * 4
        );
    }
    text.push_str("[B0-----:R-:W-:-:S05] EXIT ;\n");
}
