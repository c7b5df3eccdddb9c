//! Arguments and results of texture and surface instructions.

use super::Role;
use super::layout::{Head, Layout, data_registers};
use crate::instruction::Instruction;
use crate::modifier::Modifier;
use crate::opcode::Opcode;
use crate::operand::Operand;

/// Whether the mnemonic carries a suffix that is written so.
pub(super) fn carries(instruction: &Instruction, text: &str) -> bool {
    instruction
        .modifiers
        .iter()
        .any(|modifier| modifier.text() == text)
}

/// Surface accesses: coordinates in the address, then data, then a handle if it is in a register.
pub(super) fn surface(instruction: &Instruction, access: Layout) -> Layout {
    let has = |text| carries(instruction, text);
    let address = if has("3D") || has("2D_ARRAY") {
        3
    } else if has("2D") || has("1D_ARRAY") {
        2
    } else {
        1
    };
    // A formatted access moves one register per channel.
    let data = if !has("P") {
        data_registers(instruction)
    } else if has("RG") {
        2
    } else if has("R") {
        1
    } else {
        4
    };
    let swap = if instruction.has(Modifier::CAS) {
        data
    } else {
        1
    };
    match instruction.opcode {
        Opcode::SULD => Layout {
            result: data,
            sources: [1; 4],
            address,
            ..access
        },
        Opcode::SUATOM => Layout {
            head: Head::Register,
            result: data,
            sources: [data, swap, 1, 1],
            address,
            ..access
        },
        _ => Layout {
            sources: [data, 1, 1, 1],
            address,
            ..access
        },
    }
}

/// Texture results are two vectors of up to two registers, the upper one printed first; so are the
/// arguments. `.SCR` takes them all in a row and splits the row in the middle.
pub(super) fn texture(instruction: &Instruction) -> Layout {
    let [coordinates, further] = texture_arguments(instruction);
    let (first, second) = if carries(instruction, "SCR") {
        let all = coordinates + further;
        (all.div_ceil(2), all / 2)
    } else {
        (coordinates, further)
    };
    Layout {
        head: Head::Texture,
        result: 0,
        sources: [first.max(1), second.max(1), 1, 1],
        role: Role::Address,
        address: 1,
    }
}

/// Number of coordinates (array index included) and of further arguments of a texture instruction:
/// handle, sample, level, offset, reference value, in this order. TXD has the handle before the
/// coordinates and two derivatives per axis behind.
pub(super) fn texture_arguments(instruction: &Instruction) -> [u8; 2] {
    let dimension = instruction
        .operands
        .iter()
        .find_map(|operand| match operand {
            Operand::Keyword(name) => Some(*name),
            _ => None,
        });
    let name = dimension.unwrap_or("");
    let (array, plain) = match name.strip_prefix("ARRAY_") {
        Some(plain) => (1, plain),
        None => (0, name),
    };
    let axes = match plain {
        "1D" => 1,
        "3D" | "CUBE" => 3,
        _ => 2,
    };
    let count = |names: &[&str]| {
        let named = |modifier: &&Modifier| names.contains(&modifier.text());
        instruction.modifiers.iter().filter(named).count() as u8
    };
    // The first of TLD4's colours is the component that it gathers.
    let bound = match instruction.opcode {
        Opcode::TLD4 => count(&["R", "G", "B", "A"]).saturating_sub(1),
        _ => count(&["B"]),
    };
    let clamp = if array == 0 { count(&["LC"]) } else { 0 };
    match instruction.opcode {
        Opcode::TXD => [
            bound + axes + array + count(&["AOFFI"]).min(1 - array),
            2 * axes,
        ],
        Opcode::TXQ => [bound + 1, 1],
        _ => [
            axes + array + clamp,
            bound + count(&["MS", "LL", "LB", "AOFFI", "DC"]) + 2 * count(&["PTP"]),
        ],
    }
}
