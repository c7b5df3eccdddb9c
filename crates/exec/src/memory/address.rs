//! Addresses of a warp's access: computed for all lanes at once and surveyed (lowest, highest,
//! alignment, whether they follow one another) in code compiled for the host's instruction set, then
//! checked against the limits of their space.

use source::FaultKind;

use crate::isa_dispatch::{self, HostIsa};
use crate::lanes::lanes_of;
use crate::lower::Address;
use crate::memory::Named;
use crate::memory::access::{Done, Trouble};
use crate::memory::generic::{LOCAL_WINDOW, SHARED_WINDOW, Spaces, WINDOW, resolve};
use crate::memory::global::Place;
use crate::memory::local::LocalMemory;
use crate::memory::port::{Batch, Port};
use crate::micro::Operand;
use crate::warp::Warp;

/// What all addresses of an access have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Survey {
    /// Lowest and highest address of the lanes that take part.
    pub(crate) lowest: u64,
    pub(crate) highest: u64,
    /// The bits that are set in any of them.
    pub(crate) any: u64,
    /// All lanes take part, each at the address behind the one before.
    pub(crate) consecutive: bool,
}

/// Computes the addresses of all lanes and surveys those in `mask`. `wide`: 64-bit addresses;
/// else they wrap at 32 bits.
#[inline(always)]
pub(crate) fn survey(
    host: HostIsa,
    warp: &Warp,
    address: &Address,
    wide: bool,
    bytes: u32,
    mask: u32,
    to: &mut [u64; 32],
) -> Survey {
    isa_dispatch::survey(host, warp, address, wide, bytes, mask, to)
}

/// The body of `survey`, compiled for each instruction set.
#[inline(always)]
pub(crate) fn survey_lanes(
    warp: &Warp,
    address: &Address,
    wide: bool,
    bytes: u32,
    mask: u32,
    to: &mut [u64; 32],
) -> Survey {
    if wide {
        addresses_wide(warp, address, to);
    } else {
        addresses_narrow(warp, address, to);
    }
    if mask == u32::MAX {
        let (mut lowest, mut highest, mut any, mut differs) = (u64::MAX, 0, 0, 0);
        let first = to[0];
        let step = u64::from(bytes);
        let mut lane = 0;
        while lane < 32 {
            let address = to[lane];
            lowest = lowest.min(address);
            highest = highest.max(address);
            any |= address;
            differs |= address ^ first.wrapping_add(lane as u64 * step);
            lane += 1;
        }
        Survey {
            lowest,
            highest,
            any,
            consecutive: differs == 0,
        }
    } else {
        let (mut lowest, mut highest, mut any) = (u64::MAX, 0, 0);
        let mut lane = 0;
        while lane < 32 {
            let taken = 0u64.wrapping_sub(u64::from(mask >> lane & 1));
            let address = to[lane] & taken;
            lowest = lowest.min(address | !taken);
            highest = highest.max(address);
            any |= address;
            lane += 1;
        }
        Survey {
            lowest,
            highest,
            any,
            consecutive: false,
        }
    }
}

/// 64-bit addresses of all lanes.
#[inline(always)]
fn addresses_wide(warp: &Warp, address: &Address, result: &mut [u64; 32]) {
    let mut added = address.offset as i64 as u64;
    if address.uniform != 63 {
        let number = address.uniform as usize & 63;
        added = added.wrapping_add(u64::from(warp.uniforms[number]));
        if address.uniform_wide {
            added = added.wrapping_add(u64::from(warp.uniforms[(number + 1) & 63]) << 32);
        }
    }
    match address.base {
        Operand::Register(row) if address.wide => {
            let low = &warp.registers[row as usize];
            let high = &warp.registers[row as usize + 1];
            let mut lane = 0;
            while lane < 32 {
                result[lane] =
                    (u64::from(high[lane]) << 32 | u64::from(low[lane])).wrapping_add(added);
                lane += 1;
            }
        }
        Operand::Register(row) => {
            let low = &warp.registers[row as usize];
            let mut lane = 0;
            while lane < 32 {
                result[lane] = (u64::from(low[lane]) << address.scale).wrapping_add(added);
                lane += 1;
            }
        }
        _ => result.fill(added),
    }
}

/// 32-bit addresses of all lanes, wrapping, as shared and local memory have them.
#[inline(always)]
fn addresses_narrow(warp: &Warp, address: &Address, result: &mut [u64; 32]) {
    let mut added = address.offset as u32;
    if address.uniform != 63 {
        added = added.wrapping_add(warp.uniforms[address.uniform as usize & 63]);
    }
    match address.base {
        Operand::Register(row) => {
            let base = &warp.registers[row as usize];
            let mut lane = 0;
            while lane < 32 {
                result[lane] = u64::from((base[lane] << address.scale).wrapping_add(added));
                lane += 1;
            }
        }
        _ => result.fill(u64::from(added)),
    }
}

/// Which lanes go to which space, with shared and local addresses made offsets, and the survey of
/// each space's lanes if all go to one.
pub(crate) struct Resolved {
    pub(crate) spaces: Spaces,
    /// `None` if the lanes are mixed.
    pub(crate) survey: Option<Survey>,
}

/// Computes addresses into `to` and sorts lanes by space.
#[inline(always)]
pub(crate) fn resolved(
    host: HostIsa,
    warp: &Warp,
    space: Named,
    address: &Address,
    bytes: u32,
    mask: u32,
    to: &mut [u64; 32],
) -> Resolved {
    const NONE: Spaces = Spaces {
        global: 0,
        shared: 0,
        local: 0,
    };
    match space {
        Named::Global => {
            let survey = survey(host, warp, address, true, bytes, mask, to);
            Resolved {
                spaces: Spaces {
                    global: mask,
                    ..NONE
                },
                survey: Some(survey),
            }
        }
        Named::Shared => {
            let survey = survey(host, warp, address, false, bytes, mask, to);
            Resolved {
                spaces: Spaces {
                    shared: mask,
                    ..NONE
                },
                survey: Some(survey),
            }
        }
        Named::Local => {
            survey(host, warp, address, false, bytes, mask, to);
            // The window has 24 bits.
            for address in to.iter_mut() {
                *address &= WINDOW - 1;
            }
            Resolved {
                spaces: Spaces {
                    local: mask,
                    ..NONE
                },
                survey: None,
            }
        }
        Named::Generic => {
            let survey = survey(host, warp, address, true, bytes, mask, to);
            let clear = |base: u64| survey.highest < base || survey.lowest >= base + WINDOW;
            if clear(SHARED_WINDOW) && clear(LOCAL_WINDOW) {
                return Resolved {
                    spaces: Spaces {
                        global: mask,
                        ..NONE
                    },
                    survey: Some(survey),
                };
            }
            Resolved {
                spaces: resolve(to, mask),
                survey: None,
            }
        }
    }
}

/// A fault of a lane.
pub(crate) fn trouble<T>(lane: usize, kind: FaultKind) -> Result<T, Box<Trouble>> {
    Err(Box::new(Trouble {
        lane: Some(lane as u8),
        kind,
    }))
}

/// Checks alignment and limit of offsets in shared or local memory.
#[inline(always)]
pub(crate) fn check_offsets(
    offsets: &[u64; 32],
    lanes: u32,
    survey: Option<Survey>,
    bytes: u32,
    limit: u32,
    space: &'static str,
) -> Done {
    if let Some(survey) = survey {
        let aligned = survey.any & (u64::from(bytes) - 1) == 0;
        if aligned && survey.highest + u64::from(bytes) <= u64::from(limit) {
            return Ok(());
        }
    }
    check_each_offset(offsets, lanes, bytes, limit, space)
}

#[inline(never)]
fn check_each_offset(
    offsets: &[u64; 32],
    lanes: u32,
    bytes: u32,
    limit: u32,
    space: &'static str,
) -> Done {
    for lane in lanes_of(lanes) {
        let address = offsets[lane];
        if !address.is_multiple_of(u64::from(bytes)) {
            return trouble(
                lane,
                FaultKind::Misaligned {
                    space,
                    address,
                    bytes,
                },
            );
        }
        if address + u64::from(bytes) > u64::from(limit) {
            let nearest = Some(match (limit, space) {
                (0, "local") => "the kernel has no local memory".to_owned(),
                (0, _) => "the block has no shared memory".to_owned(),
                (_, "local") => format!("each thread has {limit} bytes"),
                _ => format!("the block has {limit} bytes"),
            });
            return trouble(
                lane,
                FaultKind::OutOfBounds {
                    space,
                    address,
                    bytes,
                    nearest,
                },
            );
        }
    }
    Ok(())
}

/// Checks addresses of device memory and finds the block that holds them.
#[inline(always)]
pub(crate) fn check_global<'a, P: Port>(
    port: &P,
    addresses: &'a [u64; 32],
    lanes: u32,
    survey: Option<Survey>,
    bytes: u32,
) -> Result<Batch<'a>, Box<Trouble>> {
    if let Some(survey) = survey {
        let length = survey
            .highest
            .wrapping_sub(survey.lowest)
            .saturating_add(u64::from(bytes));
        if survey.any & (u64::from(bytes) - 1) == 0
            && let Some(place) = port.memory().find(survey.lowest, length, 0)
        {
            return Ok(Batch {
                addresses,
                lanes,
                bytes,
                block: Some((survey.lowest, place)),
                consecutive: survey.consecutive,
            });
        }
    }
    check_each_address(port, addresses, lanes, bytes)?;
    Ok(Batch {
        addresses,
        lanes,
        bytes,
        block: None,
        consecutive: false,
    })
}

#[inline(never)]
fn check_each_address<P: Port>(
    port: &P,
    addresses: &[u64; 32],
    lanes: u32,
    bytes: u32,
) -> Result<Option<Place>, Box<Trouble>> {
    let mut hint = 0;
    for lane in lanes_of(lanes) {
        let address = addresses[lane];
        if !address.is_multiple_of(u64::from(bytes)) {
            return trouble(
                lane,
                FaultKind::Misaligned {
                    space: "global",
                    address,
                    bytes,
                },
            );
        }
        match port.memory().find(address, u64::from(bytes), hint) {
            Some(place) => hint = place.allocation(),
            None => {
                let nearest = Some(port.memory().nearest(address));
                return trouble(
                    lane,
                    FaultKind::OutOfBounds {
                        space: "global",
                        address,
                        bytes,
                        nearest,
                    },
                );
            }
        }
    }
    Ok(None)
}

/// Replaces local offsets by device addresses.
pub(crate) fn interleave(local: &LocalMemory, addresses: &mut [u64; 32], lanes: u32) {
    for lane in lanes_of(lanes) {
        addresses[lane] = local.device_address(addresses[lane] as u32, lane);
    }
}
