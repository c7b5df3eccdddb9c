//! Launches that the machine would refuse, and what a launch fills in.

use std::sync::Arc;

use super::machine::kernel;
use crate::constant::driver;
use crate::error::ExecError;
use crate::launch::{Launch, LaunchOptions};
use crate::memory::{LOCAL_WINDOW, SHARED_WINDOW};
use crate::texture::{
    ChannelType, Dimension, Image, Sampler, Shape, Storage, TexelFormat, TextureTable,
};
use crate::{HostIsa, Program};

fn launch(
    grid: [u32; 3],
    block: [u32; 3],
    parameters: usize,
    options: LaunchOptions,
) -> Result<Launch, ExecError> {
    let (cubin, module) = kernel();
    let program = Arc::new(Program::load(&cubin, "vadd", module).unwrap());
    Launch::new(program, grid, block, &vec![0xab; parameters], options)
}

#[test]
fn impossible_shapes_are_refused_by_name() {
    let plain = LaunchOptions::default;
    let text = |grid, block, parameters, options| {
        launch(grid, block, parameters, options)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        text([1, 0, 1], [32, 1, 1], 28, plain()),
        "grid [1, 0, 1]: y must be 1 to 65535"
    );
    assert_eq!(
        text([1, 65536, 1], [32, 1, 1], 28, plain()),
        "grid [1, 65536, 1]: y must be 1 to 65535"
    );
    assert!(text([0x8000_0000, 1, 1], [32, 1, 1], 28, plain()).contains("x must be 1 to"));
    assert!(text([1, 1, 1], [1025, 1, 1], 28, plain()).contains("x must be 1 to 1024"));
    assert!(text([1, 1, 1], [1, 1, 65], 28, plain()).contains("z must be 1 to 64"));
    assert!(text([1, 1, 1], [64, 64, 1], 28, plain()).contains("4096 threads; at most 1024"));
    let shared = LaunchOptions {
        dynamic_shared: 100 << 10,
        shared_per_cta: 99 << 10,
        ..plain()
    };
    assert_eq!(
        text([1, 1, 1], [32, 1, 1], 28, shared),
        "0 bytes of static and 102400 bytes of dynamic shared memory; a block can have 101376"
    );
    let most = LaunchOptions {
        dynamic_shared: u32::MAX,
        ..plain()
    };
    assert!(matches!(
        launch([1; 3], [32, 1, 1], 28, most),
        Err(ExecError::Shared { .. })
    ));
    assert_eq!(
        text([1, 1, 1], [32, 1, 1], 27, plain()),
        "27 bytes of parameters; kernel `vadd` takes 28"
    );
}

#[test]
fn a_kernel_that_is_not_there_is_named_with_its_neighbours() {
    let (cubin, module) = kernel();
    let error = Program::load(&cubin, "vad", module)
        .unwrap_err()
        .to_string();
    assert!(error.contains("vad"), "{error}");
}

/// REGRESSIONS F7: among it the dynamic shared memory of the launch.
#[test]
fn constant_bank_0_is_filled_in() {
    let options = LaunchOptions {
        dynamic_shared: 512,
        sm_count: 84,
        reserved_shared: 1024,
        grid_id: 0x1_0000_0002,
        grid_workspace: 0x7f_1234_5678,
        ..Default::default()
    };
    let launch = launch([5, 6, 7], [8, 4, 2], 28, options).unwrap();
    let word = |offset| launch.banks.read(0, offset, 4).unwrap();
    let pair = |offset| launch.banks.read(0, offset, 8).unwrap();
    assert_eq!([0, 4, 8].map(word), [8, 4, 2]);
    assert_eq!([0xc, 0x10, 0x14].map(word), [5, 6, 7]);
    assert_eq!(pair(driver::SHARED_WINDOW), SHARED_WINDOW);
    assert_eq!(pair(driver::LOCAL_WINDOW), LOCAL_WINDOW);
    assert_eq!(word(0x2c), 512);
    assert_eq!(pair(0x30), 0x1_0000_0002);
    // %envreg1 is the upper word of the workspace's address, %envreg2 the lower one.
    assert_eq!([0x8c, 0x90].map(word), [0x7f, 0x1234_5678]);
    assert_eq!(word(0x10c), 84);
    assert_eq!(word(0x114), 1024);
    assert_eq!(word(0x160), 0xabab_abab);
    assert_eq!(launch.cta_index(5 * 6 * 3 + 5 * 2 + 4), [4, 2, 3]);
    assert_eq!(launch.thread_index(8 * 4 + 8 * 3 + 7), [7, 3, 1]);
    assert_eq!((launch.ctas(), launch.warps_per_cta()), (210, 2));
}

#[test]
fn the_host_instruction_set_can_be_chosen() {
    for host in HostIsa::ALL {
        let options = LaunchOptions {
            host: Some(host),
            ..Default::default()
        };
        match launch([1; 3], [32, 1, 1], 28, options) {
            Ok(launch) => assert_eq!(launch.host(), host),
            Err(error) => {
                assert!(!host.is_available());
                assert_eq!(error, ExecError::HostIsa(host.name()));
            }
        }
    }
    assert!(HostIsa::best().is_available());
}

#[test]
fn every_committed_cubin_lowers() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels");
    let mut cubins = 0;
    for entry in std::fs::read_dir(folder)
        .unwrap()
        .flatten()
        .filter(|e| e.path().is_dir())
    {
        for file in std::fs::read_dir(entry.path()).unwrap().flatten() {
            if file.path().extension().is_none_or(|e| e != "cubin") {
                continue;
            }
            let bytes = std::fs::read(file.path()).unwrap();
            let cubin = cubin::Cubin::parse(&bytes).unwrap();
            let mut memory = crate::GlobalMemory::new();
            let module = Arc::new(crate::Module::load(&cubin, &mut memory).unwrap());
            let mut textures = TextureTable::default();
            for reference in &module.loaded().references {
                let format = TexelFormat {
                    channel: ChannelType::U32,
                    channels: 1,
                };
                let shape = Shape {
                    dimension: Dimension::Two,
                    extent: [1; 3],
                    layers: None,
                    levels: 1,
                };
                let image = Image::new(&reference.name, format, shape, Storage::Array).unwrap();
                if reference.is_surface {
                    textures.add_surface(image).unwrap();
                } else {
                    textures.add_texture(image, Sampler::default()).unwrap();
                }
            }
            let options = LaunchOptions {
                textures: Arc::new(textures),
                ..LaunchOptions::default()
            };
            for kernel in cubin.kernels() {
                let program =
                    Arc::new(Program::load(&cubin, &kernel.name, Arc::clone(&module)).unwrap());
                let parameters = vec![0; kernel.parameter_size as usize];
                let block = kernel.required_threads.unwrap_or([32, 1, 1]);
                let launch =
                    Launch::new(program, [1; 3], block, &parameters, options.clone()).unwrap();
                let refused: Vec<_> = launch.refused().collect();
                assert!(refused.is_empty(), "{}: {refused:?}", file.path().display());
            }
            cubins += 1;
        }
    }
    assert!(cubins > 50);
}
