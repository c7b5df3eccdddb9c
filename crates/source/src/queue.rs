//! Units whose instructions finish in the order of issue.

use sass::Class;

use crate::description::{Description, MemoryKind};

/// Units that return results in the order of issue: an instruction without counter is covered by a
/// later one of its queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Queue {
    /// MUFU, conversions, bit scans, FCHK.
    SpecialFunction,
    /// FP64, 64-bit conversions, DMMA.
    Double,
    /// LDS, LDSM, ATOMS, SHFL, MOVM.
    Shared,
    /// Textures.
    Texture,
    /// REDUX.
    Redux,
    /// S2UR.
    SpecialToUniform,
    /// Matrix instructions of a warp group, which hand their accumulators on.
    WarpGroup,
}

impl Queue {
    /// The unit of an instruction, if it is such a one.
    pub fn of(description: &Description) -> Option<Queue> {
        let kind = description.memory.map(|shape| shape.kind);
        Some(match description.class {
            Class::SpecialFunction | Class::Conversion | Class::BitScan | Class::DivisionCheck => {
                Queue::SpecialFunction
            }
            Class::RedirectedFp64
            | Class::Conversion64
            | Class::Dmma884
            | Class::Dmma1684
            | Class::Dmma1688
            | Class::Dmma16816 => Queue::Double,
            Class::Texture => Queue::Texture,
            Class::Shuffle | Class::Movm => Queue::Shared,
            Class::Redux => Queue::Redux,
            Class::SpecialToUniform => Queue::SpecialToUniform,
            Class::WarpGroupMatrix => Queue::WarpGroup,
            _ => match kind? {
                MemoryKind::SharedLoad | MemoryKind::MatrixLoad | MemoryKind::SharedAtomic => {
                    Queue::Shared
                }
                _ => return None,
            },
        })
    }
}
