//! Operands of Hopper's units: runs of uniform registers that describe a copy, matrices of a warp
//! group. Widths follow the PTX manual's operands as the vendor's compiler lays them out.

use super::Role;
use super::layout::{Head, Layout};
use crate::class::accumulator_bits;
use crate::instruction::Instruction;
use crate::modifier::Modifier;
use crate::opcode::Opcode;

/// Uniform registers of address number `index` of a tensor or block copy; `None` for any other
/// instruction.
pub(super) fn address_registers(instruction: &Instruction, index: usize) -> Option<u8> {
    let dimensions = || {
        let text = |dimensions: u8| match dimensions {
            1 => Modifier::N1D,
            2 => Modifier::N2D,
            3 => Modifier::N3D,
            4 => Modifier::N4D,
            _ => Modifier::N5D,
        };
        (1..=5)
            .find(|&dimensions| instruction.has(text(dimensions)))
            .unwrap_or(5)
    };
    Some(match (instruction.opcode, index) {
        // Destination, barrier, coordinates.
        (Opcode::UTMALDG, 0) => 2 + dimensions(),
        // Shared address, coordinates.
        (Opcode::UTMASTG | Opcode::UTMAREDG, 0) => 1 + dimensions(),
        (Opcode::UTMAPF, 0) => dimensions(),
        // The tensor map's 64-bit address.
        (Opcode::UTMALDG | Opcode::UTMASTG | Opcode::UTMAREDG | Opcode::UTMAPF, _) => 2,
        (Opcode::UTMACCTL | Opcode::UBLKPF, _) => 2,
        // A global address is a pair, so are a shared one and its barrier.
        (Opcode::UBLKCP | Opcode::UBLKRED, _) => {
            let spaces = instruction.modifiers.iter();
            let shared: Vec<bool> = spaces
                .filter(|space| matches!(space, Modifier::G | Modifier::S))
                .map(|&space| space == Modifier::S)
                .take(2)
                .collect();
            let source_is_shared = shared.get(1).copied().unwrap_or(false);
            if index == 1 && source_is_shared { 1 } else { 2 }
        }
        _ => return None,
    })
}

/// SYNCS: the state of a barrier has 64 bits, a count of arrivals or transactions 32.
pub(super) fn shared_barrier(instruction: &Instruction) -> Layout {
    let (result, source) = if instruction.has(Modifier::ARRIVE) {
        (2, 1)
    } else if instruction.has(Modifier::N64) {
        (2, 2)
    } else {
        (1, 1)
    };
    Layout {
        head: Head::Register,
        result,
        sources: [source; 4],
        role: Role::StoreData,
        address: 1,
    }
}

/// A warp group's matrix: 64 rows over 128 lanes give each lane half of the columns.
pub(super) fn matrix(instruction: &Instruction) -> Layout {
    let columns: u16 = instruction
        .modifiers
        .iter()
        .find_map(|modifier| modifier.text().strip_prefix("64x")?.parse().ok())
        .unwrap_or(8);
    let sum = (columns / 2 * accumulator_bits(instruction) / 32).max(1) as u8;
    // The first factor, if in registers, spans 32 bytes of depth: four registers. A descriptor in its
    // place counts its own uniform registers.
    let from_registers = instruction.operands.iter().any(|operand| {
        matches!(
            operand,
            crate::operand::Operand::MatrixDescriptor { both: false, .. }
        )
    });
    Layout {
        head: Head::Register,
        result: sum,
        sources: if from_registers {
            [4, 1, sum, 1]
        } else {
            [1, sum, 1, 1]
        },
        role: Role::Data,
        address: 1,
    }
}
