//! Committed kernels in functional mode.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::sync::Arc;

use common::{Loaded, Parameters};
use exec::{Launch, LaunchOptions, Program, functional};

#[test]
fn vadd_adds() {
    for architecture in ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90"] {
        let mut loaded = Loaded::new(&format!("vadd/vadd.{architecture}.cubin"));
        let n = 1000usize;
        let a: Vec<f32> = (0..n).map(|i| i as f32 * 0.5).collect();
        let b: Vec<f32> = (0..n).map(|i| 1.0 / (i + 1) as f32).collect();
        let (pa, pb) = (loaded.upload("a", &a), loaded.upload("b", &b));
        let pc = loaded.upload("c", &vec![0u32; n]);
        let parameters = Parameters::default()
            .wide(pa)
            .wide(pb)
            .wide(pc)
            .word(n as u32);
        let launch = loaded.launch(
            "vadd",
            [4, 1, 1],
            [256, 1, 1],
            &parameters.0,
            LaunchOptions::default(),
        );
        let statistics = functional::run(&launch, &mut loaded.memory, 1 << 30).unwrap();
        assert!(statistics.warp_instructions > 100);
        let c = loaded.words(pc, n);
        for i in 0..n {
            assert_eq!(f32::from_bits(c[i]), a[i] + b[i], "element {i}");
        }
    }
}

#[test]
fn a_reference_that_nothing_is_bound_to_is_named() {
    let loaded = Loaded::new("texture/references.sm_86.cubin");
    let program = Program::load(&loaded.cubin, "bound", Arc::clone(&loaded.module)).unwrap();
    let one = [1, 1, 1];
    let options = LaunchOptions::default();
    let error = Launch::new(Arc::new(program), one, one, &[0; 12], options).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("`colours`") || text.contains("`words`"),
        "{text}"
    );
}
