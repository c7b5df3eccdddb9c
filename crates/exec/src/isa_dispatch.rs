//! The choice of host instruction set: lane loops are compiled three times and give the same bits
//! each time. The only place with `unsafe`: calling code compiled for instructions that this machine
//! was found to have, and prefetching.

use crate::family::vector;
use crate::lanes::Lanes;
use crate::lower::Address;
use crate::memory::address::{Survey, survey_lanes};
use crate::micro::Vector;
use crate::warp::Warp;

/// A host instruction set that lane loops are compiled for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum HostIsa {
    /// What every machine of this architecture has.
    Baseline,
    /// x86-64 with AVX2 and FMA.
    Avx2,
    /// x86-64 with AVX-512 F, BW, CD, DQ and VL.
    Avx512,
}

impl HostIsa {
    /// All.
    pub const ALL: [HostIsa; 3] = [HostIsa::Baseline, HostIsa::Avx2, HostIsa::Avx512];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            HostIsa::Baseline => "baseline",
            HostIsa::Avx2 => "avx2",
            HostIsa::Avx512 => "avx512",
        }
    }

    /// Whether this machine has it.
    pub fn is_available(self) -> bool {
        match self {
            HostIsa::Baseline => true,
            #[cfg(target_arch = "x86_64")]
            HostIsa::Avx2 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("fma")
                    && is_x86_feature_detected!("bmi1")
                    && is_x86_feature_detected!("bmi2")
                    && is_x86_feature_detected!("lzcnt")
                    && is_x86_feature_detected!("popcnt")
            }
            #[cfg(target_arch = "x86_64")]
            HostIsa::Avx512 => {
                HostIsa::Avx2.is_available()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512cd")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
            }
            #[cfg(not(target_arch = "x86_64"))]
            HostIsa::Avx2 | HostIsa::Avx512 => false,
        }
    }

    /// The widest that this machine has.
    pub fn best() -> HostIsa {
        static BEST: std::sync::OnceLock<HostIsa> = std::sync::OnceLock::new();
        *BEST.get_or_init(|| {
            HostIsa::ALL
                .into_iter()
                .rev()
                .find(|isa| isa.is_available())
                .unwrap_or(HostIsa::Baseline)
        })
    }
}

/// Has the host fetch a row of the register file while it does other things.
#[inline(always)]
#[allow(unsafe_code)]
pub(crate) fn prefetch(row: &Lanes) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let [first, .., last] = &row.0;
        for line in [first, last] {
            // SAFETY: a prefetch is a hint that reads nothing, and every x86-64 machine has it.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(line).cast()) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = row;
}

/// Properties of an instruction set that code chooses by.
pub(crate) trait Host {
    /// Whether a fused multiply-add is one instruction.
    const FMA: bool;
}

/// No particular features.
pub(crate) struct Baseline;

/// Fused multiply-add in hardware.
pub(crate) struct Fused;

impl Host for Baseline {
    const FMA: bool = cfg!(any(target_arch = "aarch64", target_feature = "fma"));
}

impl Host for Fused {
    const FMA: bool = true;
}

/// Compiles a function for each instruction set and calls the chosen one.
macro_rules! for_each_isa {
    (
        $(#[$doc:meta])*
        $name:ident in $module:ident ($($arg:ident: $type:ty),*) $(-> $result:ty)?,
        baseline $baseline:expr, fused $fused:expr
    ) => {
        mod $module {
            use super::*;

            #[inline(never)]
            pub(super) fn baseline($($arg: $type),*) $(-> $result)? {
                $baseline
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
            #[inline(never)]
            pub(super) fn avx2($($arg: $type),*) $(-> $result)? {
                $fused
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(
                enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,lzcnt,popcnt"
            )]
            #[inline(never)]
            pub(super) fn avx512($($arg: $type),*) $(-> $result)? {
                $fused
            }
        }

        $(#[$doc])*
        #[inline(always)]
        #[allow(unsafe_code)]
        pub(crate) fn $name(host: HostIsa, $($arg: $type),*) $(-> $result)? {
            match host {
                HostIsa::Baseline => $module::baseline($($arg),*),
                // SAFETY: a launch holds `HostIsa::Avx2` only if `is_available` found every feature
                // that this function is compiled for (`Launch::new`).
                #[cfg(target_arch = "x86_64")]
                HostIsa::Avx2 => unsafe { $module::avx2($($arg),*) },
                // SAFETY: as above for every feature that this function is compiled for.
                #[cfg(target_arch = "x86_64")]
                HostIsa::Avx512 => unsafe { $module::avx512($($arg),*) },
                #[cfg(not(target_arch = "x86_64"))]
                HostIsa::Avx2 | HostIsa::Avx512 => $module::baseline($($arg),*),
            }
        }
    };
}

for_each_isa! {
    /// Executes a register-file operation in `lanes` of `warp`.
    execute in execute_as (op: &Vector, warp: &mut Warp, lanes: u32),
    baseline vector::execute::<Baseline>(op, warp, lanes),
    fused vector::execute::<Fused>(op, warp, lanes)
}

for_each_isa! {
    /// Computes and surveys the addresses of an access.
    survey in survey_as (
        warp: &Warp, address: &Address, wide: bool, bytes: u32, mask: u32, to: &mut [u64; 32]
    ) -> Survey,
    baseline survey_lanes(warp, address, wide, bytes, mask, to),
    fused survey_lanes(warp, address, wide, bytes, mask, to)
}
