//! Loading committed kernels and running them in either mode.
#![allow(dead_code, missing_docs, clippy::unwrap_used)]

use std::path::PathBuf;
use std::sync::Arc;

use exec::{GlobalMemory, Launch, LaunchOptions, Module, Program};

/// A file below `kernels/`.
pub fn kernel_file(path: &str) -> Vec<u8> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../kernels")
        .join(path);
    std::fs::read(&root).unwrap_or_else(|e| panic!("{}: {e}", root.display()))
}

/// A loaded cubin.
pub struct Loaded {
    pub cubin: cubin::Cubin,
    pub module: Arc<Module>,
    pub memory: GlobalMemory,
}

impl Loaded {
    pub fn new(path: &str) -> Loaded {
        let cubin = cubin::Cubin::parse(&kernel_file(path)).unwrap();
        let mut memory = GlobalMemory::new();
        let module = Arc::new(Module::load(&cubin, &mut memory).unwrap());
        Loaded {
            cubin,
            module,
            memory,
        }
    }

    pub fn launch(
        &self,
        kernel: &str,
        grid: [u32; 3],
        block: [u32; 3],
        parameters: &[u8],
        options: LaunchOptions,
    ) -> Arc<Launch> {
        let program = Program::load(&self.cubin, kernel, Arc::clone(&self.module)).unwrap();
        Arc::new(Launch::new(Arc::new(program), grid, block, parameters, options).unwrap())
    }

    pub fn upload<T: Copy + Into<Word>>(&mut self, name: &str, words: &[T]) -> u64 {
        let bytes: Vec<u8> = words
            .iter()
            .flat_map(|&w| w.into().0.to_le_bytes())
            .collect();
        let address = self.memory.allocate(bytes.len() as u64, name).unwrap();
        self.memory.write(address, &bytes).unwrap();
        address
    }

    pub fn words(&self, address: u64, count: usize) -> Vec<u32> {
        let mut bytes = vec![0; 4 * count];
        self.memory.read(address, &mut bytes).unwrap();
        bytes
            .chunks_exact(4)
            .map(|c| u32::from_le_bytes(c.try_into().unwrap()))
            .collect()
    }
}

/// A 32-bit word of any type.
pub struct Word(pub u32);

impl From<u32> for Word {
    fn from(value: u32) -> Word {
        Word(value)
    }
}

impl From<i32> for Word {
    fn from(value: i32) -> Word {
        Word(value as u32)
    }
}

impl From<f32> for Word {
    fn from(value: f32) -> Word {
        Word(value.to_bits())
    }
}

/// Parameters with their natural alignment.
#[derive(Default)]
pub struct Parameters(pub Vec<u8>);

impl Parameters {
    pub fn wide(mut self, value: u64) -> Parameters {
        self.0.resize(self.0.len().next_multiple_of(8), 0);
        self.0.extend(value.to_le_bytes());
        self
    }

    pub fn word(mut self, value: u32) -> Parameters {
        self.0.extend(value.to_le_bytes());
        self
    }
}
