//! CPU references for the kernels of `kernels/`: what each must leave in memory.
//!
//! A launch file names its reference; the reference gets the initial buffers and the named parameters
//! and returns the expected contents of some buffers, in the kernel's own order of floating-point
//! operations where it can, so that results usually agree to the last bit. The initialisers of launch
//! files ([`init`]) and the comparison with a tolerance ([`compare`]) stand here too.
//!
//! ```
//! use reference::{ElementType, Inputs, Number, Values};
//!
//! let a = Values::F32(vec![1.0, 2.0]).to_bytes();
//! let b = Values::F32(vec![0.5, 0.25]).to_bytes();
//! let c = Values::F32(vec![0.0; 2]).to_bytes();
//! let mut inputs = Inputs::new();
//! inputs.buffer("a", ElementType::F32, &a);
//! inputs.buffer("b", ElementType::F32, &b);
//! inputs.buffer("c", ElementType::F32, &c);
//! inputs.parameter("n", Number::Integer(2));
//!
//! let vadd = reference::find("vadd").expect("vadd is one of the references");
//! let outputs = vadd(&inputs)?;
//! assert_eq!(outputs[0].buffer, "c");
//! assert_eq!(outputs[0].values, Values::F32(vec![1.5, 2.25]));
//! # Ok::<(), reference::ReferenceError>(())
//! ```

// A test that meets an error it does not expect is meant to panic.
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod compare;
pub mod init;
pub mod inputs;
pub mod values;

mod atomics;
mod black_scholes;
mod calls;
mod chase;
mod control_flow;
mod conversions;
mod dispatch;
mod division;
mod expected;
mod ffma;
mod fp64_dot;
mod halves;
mod hgemm;
mod histogram;
mod integers;
mod litmus;
mod mandelbrot;
mod matrix;
mod memory_widths;
mod nbody;
mod reduction;
mod rows;
mod saxpy;
mod services;
mod sgemm;
mod softmax;
mod sort;
mod spmv_csr;
mod stencil2d;
mod stream;
mod synchronisation;
mod texture;
mod transcendental;
mod transpose;
mod vadd;
mod warp_primitives;

pub use compare::{CompareError, Comparison, Mismatch, Tolerance, compare};
pub use init::{InitError, Initializer, SplitMix64, initialize};
pub use inputs::{Buffer, Inputs, Output, ReferenceError};
pub use values::{ElementType, Number, PartialElement, UnknownElementType, Values, half_from_f64};

/// Computes the expected contents of buffers.
pub type Reference = fn(&Inputs) -> Result<Vec<Output>, ReferenceError>;

/// Every reference by its name.
const REFERENCES: &[(&str, Reference)] = &[
    ("arrivals", synchronisation::arrivals),
    ("atomics", atomics::atomics),
    ("barrier_forms", synchronisation::barrier_forms),
    ("barrier_reductions", synchronisation::barrier_reductions),
    ("black_scholes", black_scholes::black_scholes),
    ("chase", chase::chase),
    ("control_flow", control_flow::control_flow),
    ("conversions", conversions::conversions),
    ("copies_that_arrive", synchronisation::copies_that_arrive),
    ("division_f32", division::division_f32),
    ("division_f64", division::division_f64),
    ("expected", expected::expected),
    ("ffma", ffma::ffma),
    ("ffma_chain", ffma::ffma_chain),
    ("fp64_dot", fp64_dot::fp64_dot),
    ("function_pointers", calls::function_pointers),
    ("grid_barrier", litmus::grid_barrier),
    ("grid_barrier_in_place", litmus::grid_barrier_in_place),
    ("halves", halves::halves),
    ("heap_blocks", services::heap_blocks),
    ("heap_lists", services::heap_lists),
    ("hgemm", hgemm::hgemm),
    ("hgemm_integers", hgemm::hgemm_integers),
    ("histogram", histogram::histogram),
    ("integers", integers::integers),
    ("iota", dispatch::iota),
    ("jump_table", calls::jump_table),
    ("last_block_sum", litmus::last_block_sum),
    ("linked_list", synchronisation::linked_list),
    ("mandelbrot", mandelbrot::mandelbrot),
    ("matrix_bits", matrix::matrix_bits),
    ("matrix_doubles", matrix::matrix_doubles),
    ("matrix_integers", matrix::matrix_integers),
    ("matrix_nibbles", matrix::matrix_nibbles),
    ("matrix_product", sgemm::matrix_product),
    ("matrix_sparse", matrix::matrix_sparse),
    ("matrix_tf32", matrix::matrix_tf32),
    ("memory_widths", memory_widths::memory_widths),
    ("messages", litmus::messages),
    ("nbody", nbody::nbody),
    ("packed_atomics", synchronisation::packed_atomics),
    ("print_lines", services::print_lines),
    (
        "producers_and_consumers",
        synchronisation::producers_and_consumers,
    ),
    ("recursion", calls::recursion),
    ("red_then_load", litmus::red_then_load),
    ("red_then_store", litmus::red_then_store),
    ("reduce_integers", reduction::reduce_integers),
    ("reduce_sum", reduction::reduce_sum),
    ("rounds_of_a_stencil", synchronisation::rounds_of_a_stencil),
    ("saxpy", saxpy::saxpy),
    ("sgemm", sgemm::sgemm),
    ("softmax", softmax::softmax),
    ("sort", sort::sort),
    ("spmv_scalar", spmv_csr::spmv_scalar),
    ("spmv_vector", spmv_csr::spmv_vector),
    ("staged_sum", synchronisation::staged_sum),
    ("stencil2d", stencil2d::stencil2d),
    ("stream", stream::stream),
    ("strong_load_then_store", litmus::strong_load_then_store),
    ("surface_convert", texture::convert),
    ("surface_invert", texture::invert),
    ("surface_shapes", texture::shapes),
    ("surface_votes", texture::votes),
    ("texture_bicubic", texture::bicubic),
    ("texture_box", texture::box_filter),
    ("texture_cubes", texture::cubes),
    ("texture_details", texture::details),
    ("texture_extremes", texture::extremes),
    ("texture_fetches", texture::fetches),
    ("texture_gradients", texture::gradients),
    ("texture_handles", texture::handles),
    ("texture_layers", texture::layers),
    ("texture_march", texture::march),
    ("texture_packed", texture::packed),
    ("texture_references", texture::references),
    ("texture_resize", texture::resize),
    ("transcendental", transcendental::transcendental),
    ("transfers", synchronisation::transfers),
    ("transpose", transpose::transpose),
    ("vadd", vadd::vadd),
    ("virtual_calls", calls::virtual_calls),
    ("warp_primitives", warp_primitives::warp_primitives),
];

/// The reference called `name`.
pub fn find(name: &str) -> Option<Reference> {
    REFERENCES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|&(_, reference)| reference)
}

/// The names of all references, in alphabetical order.
pub fn names() -> impl Iterator<Item = &'static str> {
    REFERENCES.iter().map(|&(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_found() {
        assert!(names().is_sorted());
        assert!(names().all(|name| find(name).is_some()));
        assert!(find("no such reference").is_none());
    }

    #[test]
    fn a_launch_file_that_does_not_fit_is_an_error_for_every_reference() {
        for name in names() {
            let reference = find(name).unwrap();
            assert!(
                reference(&Inputs::new()).is_err(),
                "{name} accepts nothing at all"
            );
        }
    }

    #[test]
    fn sizes_beyond_a_buffer_are_errors() {
        let bytes = [0; 16];
        for name in names() {
            let mut inputs = Inputs::new();
            for buffer in ["a", "b", "c", "x", "y", "in", "out"] {
                inputs.buffer(buffer, ElementType::F32, &bytes);
            }
            for parameter in [
                "n", "m", "k", "width", "height", "rows", "columns", "grid", "block", "steps",
            ] {
                inputs.parameter(parameter, Number::Integer(1 << 31));
            }
            for parameter in ["alpha", "beta", "centre", "side"] {
                inputs.parameter(parameter, Number::Real(1.0));
            }
            // `iota` and `stream` take their size from the buffer or cap it by the buffer.
            let result = find(name).unwrap()(&inputs);
            assert!(result.is_err(), "{name} accepts sizes beyond its buffers");
        }
    }
}
