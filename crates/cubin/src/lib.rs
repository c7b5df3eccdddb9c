//! cubin
