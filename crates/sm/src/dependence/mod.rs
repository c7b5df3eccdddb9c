//! Dependences between instructions of a warp, as the compiler states them in the control bits
//! (MODEL.md §1.5, §1.6).

mod control_bits;
