//! From decoded texture instructions to operations.

use sass::{Modifier, Opcode, Operand as Printed, Register};

use crate::lower::{Lowered, Reader, refuse};
use crate::micro::Operand;
use crate::texture::image::Dimension;

use super::{Arguments, Fetch, Handle, Kind, Level, Op, Results, coordinates_of};

/// The number that a printed dimension stands for.
fn dimension_of(name: &str) -> Option<(Dimension, bool)> {
    let (plain, layered) = match name.strip_prefix("ARRAY_") {
        Some(plain) => (plain, true),
        None => (name, false),
    };
    let dimension = match plain {
        "1D" => Dimension::One,
        "2D" => Dimension::Two,
        "3D" => Dimension::Three,
        "CUBE" => Dimension::Cube,
        _ => return None,
    };
    Some((dimension, layered))
}

/// The handle of an instruction if it is a constant or in a uniform register.
pub(crate) fn fixed_handle(r: &mut Reader<'_>) -> Lowered<Option<Handle>> {
    if r.at_immediate() {
        let (bank, word) = (r.immediate()?, r.immediate()?);
        let offset = 4 * word as u32;
        return match r.context.banks.read(bank as u8, offset, 4) {
            Some(value) => Ok(Some(Handle::Fixed(Operand::Scalar(value as u32)))),
            None => refuse(format!("c[{bank:#x}][{offset:#x}] lies outside the bank")),
        };
    }
    if matches!(r.peek(), Some(Printed::UniformRegister { .. })) {
        let handle = r.plain_source()?;
        if r.immediate()? != 0 {
            return refuse("an offset beside a handle in a uniform register");
        }
        return Ok(Some(Handle::Fixed(handle)));
    }
    Ok(None)
}

/// A register operand that is not printed if it is RZ.
fn at_register(r: &Reader<'_>) -> bool {
    matches!(r.peek(), Some(Printed::Register { .. }))
}

/// First register of a run that is as long as will be known later.
fn run(r: &mut Reader<'_>) -> Lowered<Register> {
    match r.peek() {
        Some(Printed::Register { register, .. }) => {
            r.skip();
            Ok(*register)
        }
        _ => refuse("an argument that is not a register"),
    }
}

fn rows(r: &Reader<'_>, first: Register, count: u8) -> Lowered<Option<u16>> {
    if first == Register::ZERO || count == 0 {
        return Ok(None);
    }
    r.rows(first, u16::from(count)).map(Some)
}

fn keyword<'a>(r: &mut Reader<'a>) -> Lowered<&'a str> {
    match r.peek() {
        Some(Printed::Keyword(name)) => {
            r.skip();
            Ok(name)
        }
        _ => refuse("an operand that is not a name"),
    }
}

/// Forms that no interface of CUDA leads to, or leads to without saying what they do.
const OF_SHADERS: &[(Modifier, &str)] = &[
    (
        Modifier::DC,
        "a comparison with a depth, whose function no interface of CUDA sets",
    ),
    (
        Modifier::MS,
        "a texture of several samples, which no interface of CUDA makes",
    ),
    (
        Modifier::LC,
        "a lower bound of the level of detail, a form for shaders",
    ),
    (
        Modifier::PTP,
        "an offset for each of four texels, a form for shaders",
    ),
];

/// Lowers a texture instruction.
pub(crate) fn lower(opcode: Opcode, r: &mut Reader<'_>) -> Lowered<Op> {
    use Modifier::*;
    const KNOWN: &[Modifier] = &[
        SCR, B, F16, RN, LZ, LL, LB, CL, AOFFI, EF, EL, LU, EU, NA, NDV, NODEP, R, G, A,
    ];
    if opcode == Opcode::TMML {
        return refuse("the level of detail as a result, an instruction of shaders");
    }
    for (modifier, reason) in OF_SHADERS {
        if r.has(*modifier) {
            return refuse(*reason);
        }
    }
    r.only(KNOWN)?;
    let out = if opcode == Opcode::TXQ {
        7
    } else {
        r.predicate_destination_or_none()?
    };
    let (upper, lower) = (run(r)?, run(r)?);
    let first = run(r)?;
    if opcode == Opcode::TXQ && keyword(r)? != "TEX_HEADER_DIMENSION" {
        return refuse("a property of a texture other than its extents");
    }
    let second = if at_register(r) {
        run(r)?
    } else {
        Register::ZERO
    };
    let handle = fixed_handle(r)?;
    let letters = r
        .instruction
        .modifiers
        .iter()
        .filter(|modifier| **modifier == B)
        .count();
    // The first letter of TLD4 is its channel.
    let channel = r.choose(&[(R, 0), (G, 1), (B, 2), (A, 3)], 0u8);
    let beside = letters > usize::from(opcode == Opcode::TLD4 && channel == 2);
    if handle.is_some() && beside {
        return refuse("two handles");
    }
    let handle = handle.unwrap_or(Handle::Argument);
    let bound = u8::from(handle == Handle::Argument);
    let shape = if opcode == Opcode::TXQ {
        None
    } else {
        let name = keyword(r)?;
        match dimension_of(name) {
            Some(shape) => Some(shape),
            None => return refuse(format!("textures of dimension {name}")),
        }
    };
    let mask = if r.at_immediate() {
        r.immediate()? as u8 & 15
    } else {
        15
    };
    let halves = r.has(F16);
    let components = mask.count_ones() as u8;
    let registers = if halves {
        components.div_ceil(2)
    } else {
        components
    };
    // Halves take one register on either side.
    let (low, high) = match halves {
        true => (registers.min(1), registers.saturating_sub(1)),
        false => (registers.min(2), registers.saturating_sub(2)),
    };
    let sink = r.context.registers;
    let results = Results {
        lower: rows(r, lower, low)?.unwrap_or(sink),
        upper: rows(r, upper, high)?.unwrap_or(sink),
        mask,
        halves,
    };
    let Some((dimension, layered)) = shape else {
        // A handle among the arguments comes first, then the level.
        let arguments = Arguments {
            first: rows(r, first, 1 + bound)?,
            second: None,
            split: 1 + bound,
        };
        return Ok(Op::Extents {
            handle,
            arguments,
            results,
        });
    };
    let axes = coordinates_of(dimension);
    let offset = r.has(AOFFI);
    let (kind, level) = match opcode {
        Opcode::TEX => (
            Kind::Sample,
            r.choose(
                &[(LZ, Level::Zero), (LL, Level::Explicit), (LB, Level::Bias)],
                Level::Implicit,
            ),
        ),
        Opcode::TXD => (Kind::Sample, Level::Gradient),
        Opcode::TLD => (
            Kind::Load,
            r.choose(&[(LZ, Level::Zero), (LL, Level::Explicit)], Level::Zero),
        ),
        _ => (Kind::Gather(channel), Level::Zero),
    };
    if opcode == Opcode::TXD && dimension.axes() == 3 || dimension == Dimension::Cube && offset {
        return refuse("a dimension that the instruction does not have");
    }
    let layer = u8::from(layered);
    let with_level = u8::from(matches!(level, Level::Explicit | Level::Bias));
    let (coordinates, further) = match opcode {
        Opcode::TXD => (bound + axes + layer.max(u8::from(offset)), 2 * axes),
        _ => (layer + axes, bound + with_level + u8::from(offset)),
    };
    let all = coordinates + further;
    let split = if r.has(SCR) {
        all.div_ceil(2)
    } else {
        coordinates
    };
    Ok(Op::Fetch(Fetch {
        kind,
        dimension,
        layered,
        handle,
        arguments: Arguments {
            first: rows(r, first, split)?,
            second: rows(r, second, all - split)?,
            split,
        },
        level,
        clamp_level: r.has(CL),
        offset,
        results,
        out,
    }))
}
