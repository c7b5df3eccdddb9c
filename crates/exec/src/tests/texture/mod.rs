//! Textures and surfaces against exact rational arithmetic.

mod blend;
mod exact;
mod fetch;
mod filter;
mod level;
mod surface;

use std::sync::Arc;

use sass::{Instruction, Modifier as M, Opcode, Operand};
use source::{Effect, FaultKind};

use super::*;
use crate::GlobalMemory;
use crate::memory::access::{Done, Unit};
use crate::memory::deferred::Operation;
use crate::memory::local::LocalMemory;
use crate::memory::port::DirectPort;
use crate::memory::shared::SharedMemory;
use crate::texture::taps::Taps;
use crate::texture::{ChannelType, Image, Sampler, Shape, Storage, TexelFormat, TextureTable};

/// Words of constant bank 0 in which tests have handles.
const HANDLE_WORD: u32 = 0x58;

/// One warp with textures.
struct Bench {
    warp: Warp,
    banks: Banks,
    memory: GlobalMemory,
    table: Arc<TextureTable>,
    effect: Effect,
    taps: Taps,
}

impl Bench {
    fn new() -> Bench {
        let mut banks = Banks::new();
        banks.set(0, vec![0; 0x200]);
        Bench {
            warp: warp(),
            banks,
            memory: GlobalMemory::new(),
            table: Arc::default(),
            effect: Effect::new(),
            taps: Taps::new(),
        }
    }

    /// Adds a texture (or surface) whose texels are `texels` in the host's order, and puts its handle
    /// where instructions look for it.
    fn add(
        &mut self,
        format: TexelFormat,
        shape: Shape,
        storage: Storage,
        sampler: Option<Sampler>,
        texels: &[u8],
    ) -> (Image, u32) {
        let image = Image::new("t", format, shape, storage).unwrap();
        assert_eq!(image.host_bytes(), texels.len() as u64);
        let image = image.allocate(&mut self.memory).unwrap();
        image.upload(&mut self.memory, texels).unwrap();
        let table = Arc::make_mut(&mut self.table);
        let index = match sampler {
            Some(sampler) => table.add_texture(image.clone(), sampler).unwrap(),
            None => table.add_surface(image.clone()).unwrap(),
        };
        let handle = self.table.handle(index, sass::Architecture::Sm86) as u32;
        self.banks.write_driver_word(4 * HANDLE_WORD, handle);
        (image, handle)
    }

    fn try_run(&mut self, i: &Instruction, mask: u32) -> Done {
        let context = Context {
            pc: 0,
            registers: REGISTERS,
            banks: &self.banks,
        };
        let micro = lower(i, context).unwrap_or_else(|e| panic!("{}: {e}", i.display(0)));
        let mut unit = Unit {
            host: HostIsa::best(),
            warp: &mut self.warp,
            shared: &mut SharedMemory::default(),
            local: &mut LocalMemory::default(),
            banks: &self.banks,
            operation: &mut Operation::empty(),
            words: &mut [Lanes::ZERO; 4],
            taps: &mut self.taps,
        };
        let mut port = DirectPort {
            memory: &mut self.memory,
        };
        let effect = &mut self.effect;
        match &micro.op {
            Op::Texture(op) => crate::family::texture::execute(
                op,
                &mut unit,
                &self.table,
                sass::Architecture::Sm86,
                mask,
                &mut port,
                effect,
            ),
            Op::Surface(op) => {
                crate::family::surface::execute(op, &mut unit, &self.table, mask, &mut port, effect)
            }
            other => panic!("{other:?}"),
        }
    }

    fn run(&mut self, i: &Instruction) {
        self.try_run(i, ALL).unwrap();
    }

    fn fault(&mut self, i: &Instruction) -> (u8, String) {
        let trouble = self.try_run(i, ALL).unwrap_err();
        match trouble.kind {
            FaultKind::Texture(text) => (trouble.lane.unwrap(), text),
            other => panic!("{other:?}"),
        }
    }

    fn set_floats(&mut self, row: usize, value: impl Fn(usize) -> f32) {
        set(&mut self.warp, row, |lane| value(lane).to_bits());
    }
}

/// A texture instruction with a constant handle: results in R20 to R23 (if all are wanted), arguments
/// in R0 and R8 onwards.
fn fetch(opcode: Opcode, modifiers: &[M], dimension: &'static str, mask: u8) -> Instruction {
    let mut operands = vec![
        r(22),
        r(20),
        r(0),
        r(8),
        imm(0),
        imm(HANDLE_WORD),
        Operand::Keyword(dimension),
    ];
    if mask != 15 {
        operands.push(imm(u32::from(mask)));
    }
    instruction(opcode, modifiers, &operands)
}

/// Texels at random; reals are multiples of 1/64 between -4 and 4.
fn random_texels(format: TexelFormat, count: u64, random: &mut Random) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..count {
        let word = random.word();
        let real = (word % 512) as f32 / 64.0 - 4.0;
        match format.channel {
            ChannelType::F32 => bytes.extend(real.to_le_bytes()),
            ChannelType::F16 => bytes.extend(::half::f16::from_f32(real).to_le_bytes()),
            channel => bytes.extend(&word.to_le_bytes()[..channel.bytes() as usize]),
        }
    }
    bytes
}
