//! Functions that a cubin calls and the system provides: `vprintf`, `malloc`, `free` and
//! `__assertfail`. A call jumps to the function's magic address with arguments from R4 on and the
//! return address in R20 and R21; the machine stops it there and this module does the work.
//!
//! Order: what is printed is told in the order of (cycle, SM, sub-core, lane); requests to the heap
//! take effect in the same order at the next multiple of the visibility quantum, and the warp sleeps
//! until then, so that neither depends on host threads or windows (DESIGN.md W4).

pub(crate) mod console;
pub(crate) mod format;
pub(crate) mod heap;

use crate::lanes::{Lanes, lanes_of};
use crate::memory::generic::{LOCAL_WINDOW, SHARED_WINDOW, WINDOW};
use crate::memory::local::LocalMemory;
use crate::memory::port::{Batch, Port};
use crate::memory::shared::SharedMemory;
use crate::warp::Warp;

/// First register of the arguments and of the result.
const ARGUMENTS: usize = 4;
/// Register pair that holds where to return to.
const RETURN: usize = 20;
/// Longest string that is read from the program: what the buffer of `printf` holds.
const LONGEST: usize = console::CAPACITY as usize;

/// A function that is provided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Service {
    /// `vprintf(format, arguments)`: the number of arguments, or -1.
    Print,
    /// `malloc(bytes)`: an address or null.
    Allocate,
    /// `free(address)`.
    Free,
    /// `__assertfail(message, file, line, function, size of a character)`: does not return.
    AssertFail,
}

impl Service {
    /// The service of that name, if it is one.
    pub(crate) fn named(name: &str) -> Option<Service> {
        Some(match name {
            "vprintf" => Service::Print,
            "malloc" => Service::Allocate,
            "free" => Service::Free,
            "__assertfail" => Service::AssertFail,
            _ => return None,
        })
    }
}

/// What a warp that calls a service works on.
pub(crate) struct Caller<'a> {
    pub(crate) warp: &'a mut Warp,
    pub(crate) shared: &'a SharedMemory,
    pub(crate) local: &'a LocalMemory,
}

impl Caller<'_> {
    fn word(&self, register: usize, lane: usize) -> u32 {
        self.warp.registers.get(register).map_or(0, |row| row[lane])
    }

    /// A 64-bit argument, `register` counted from the first argument's.
    fn wide(&self, register: usize, lane: usize) -> u64 {
        let low = self.word(ARGUMENTS + register, lane);
        let high = self.word(ARGUMENTS + register + 1, lane);
        u64::from(high) << 32 | u64::from(low)
    }

    fn result(&mut self, lane: usize, value: u32) {
        if let Some(row) = self.warp.registers.get_mut(ARGUMENTS) {
            row[lane] = value;
        }
    }

    /// The byte at a generic address, as the lane sees it.
    fn byte<P: Port>(&self, port: &mut P, lane: usize, address: u64) -> Option<u8> {
        if address.wrapping_sub(SHARED_WINDOW) < WINDOW {
            let offset = (address - SHARED_WINDOW) as u32;
            return (offset < self.shared.len()).then(|| self.shared.read::<1>(offset)[0]);
        }
        if address.wrapping_sub(LOCAL_WINDOW) < WINDOW {
            let offset = (address - LOCAL_WINDOW) as u32;
            let word = || self.local.word(offset, lane) >> (8 * (offset % 4));
            return (offset < self.local.len()).then(|| word() as u8);
        }
        let place = port.memory().find(address, 1, 0)?;
        let addresses = [address; 32];
        let batch = Batch {
            addresses: &addresses,
            lanes: 1 << lane,
            bytes: 1,
            block: Some((address, place)),
            consecutive: false,
        };
        let mut words = [Lanes::ZERO; 4];
        port.load(&batch, &mut words);
        Some(words[0][lane] as u8)
    }

    fn bytes<const N: usize, P: Port>(
        &self,
        port: &mut P,
        lane: usize,
        address: u64,
    ) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        for (offset, byte) in bytes.iter_mut().enumerate() {
            *byte = self.byte(port, lane, address.wrapping_add(offset as u64))?;
        }
        Some(bytes)
    }

    /// The bytes of a string before its zero.
    fn string<P: Port>(&self, port: &mut P, lane: usize, address: u64) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        while text.len() < LONGEST {
            match self.byte(port, lane, address.wrapping_add(text.len() as u64))? {
                0 => return Some(text),
                byte => text.push(byte),
            }
        }
        Some(text)
    }
}

/// An address that an argument of a service points to and that nothing lies at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BadPointer {
    pub(crate) lane: usize,
    pub(crate) address: u64,
}

/// Prints for each of `lanes` in rising order and leaves the number of arguments in R4.
///
/// # Errors
/// The first lane whose strings or arguments lie nowhere.
pub(crate) fn print<P: Port>(
    caller: &mut Caller<'_>,
    lanes: u32,
    port: &mut P,
) -> Result<(), BadPointer> {
    for lane in lanes_of(lanes) {
        let (format_at, arguments) = (caller.wide(0, lane), caller.wide(2, lane));
        if format_at == 0 {
            caller.result(lane, u32::MAX);
            continue;
        }
        let bad = |address| BadPointer { lane, address };
        let format = caller.string(port, lane, format_at).ok_or(bad(format_at))?;
        let mut reading = Reading {
            caller,
            port,
            lane,
            next: arguments,
            trouble: None,
            string_bytes: 0,
        };
        let (text, count) = format::format(&format, &mut reading);
        let string_bytes = reading.string_bytes;
        if let Some(address) = reading.trouble {
            return Err(bad(address));
        }
        let bytes = console::record_bytes(count, string_bytes);
        port.print(text, bytes);
        caller.result(lane, count);
    }
    Ok(())
}

/// The argument buffer of a `vprintf`: values one behind the other, each aligned to its size.
struct Reading<'a, 'b, P> {
    caller: &'a Caller<'b>,
    port: &'a mut P,
    lane: usize,
    next: u64,
    trouble: Option<u64>,
    string_bytes: u64,
}

impl<P: Port> Reading<'_, '_, P> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let address = self.next.next_multiple_of(N as u64);
        self.next = address.wrapping_add(N as u64);
        match self.caller.bytes::<N, P>(self.port, self.lane, address) {
            Some(bytes) => bytes,
            None => {
                self.trouble.get_or_insert(address);
                [0; N]
            }
        }
    }
}

impl<P: Port> format::Arguments for Reading<'_, '_, P> {
    fn word(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    fn wide(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }

    fn string(&mut self, address: u64) -> Vec<u8> {
        if self.trouble.is_some() {
            return Vec::new();
        }
        match self.caller.string(self.port, self.lane, address) {
            Some(text) => {
                self.string_bytes += (text.len() as u64 + 1).next_multiple_of(8);
                text
            }
            None => {
                self.trouble.get_or_insert(address);
                Vec::new()
            }
        }
    }
}

/// The request that `malloc` (or `free`) in `lanes` makes to the heap.
pub(crate) fn heap_request(caller: &Caller<'_>, lanes: u32, free: bool) -> heap::Request {
    let mut words = [0; 32];
    for lane in lanes_of(lanes) {
        words[lane] = caller.wide(0, lane);
    }
    heap::Request { free, lanes, words }
}

/// Where a lane returns to.
pub(crate) fn return_address(warp: &Warp, lane: usize) -> u64 {
    let word = |register: usize| warp.registers.get(register).map_or(0, |row| row[lane]);
    u64::from(word(RETURN + 1)) << 32 | u64::from(word(RETURN))
}

/// Writes the addresses that `malloc` gave.
pub(crate) fn write_addresses(warp: &mut Warp, lanes: u32, addresses: &[u64; 32]) {
    let low = Lanes::from_fn(|lane| addresses[lane] as u32);
    let high = Lanes::from_fn(|lane| (addresses[lane] >> 32) as u32);
    for (register, words) in [(ARGUMENTS, low), (ARGUMENTS + 1, high)] {
        if let Some(row) = warp.registers.get_mut(register) {
            row.blend(&words, lanes);
        }
    }
}

/// Where an assertion stands, and what it says: `file:line: function: ` and the expression.
pub(crate) fn assertion<P: Port>(
    caller: &Caller<'_>,
    lane: usize,
    port: &mut P,
) -> (String, String) {
    let mut text = |register: usize| {
        let address = caller.wide(register, lane);
        let bytes = caller.string(port, lane, address).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let (message, file) = (text(0), text(2));
    let line = caller.word(ARGUMENTS + 4, lane);
    // The function's name is the next 64-bit argument: aligned to an even register.
    let function = text(6);
    (format!("{file}:{line}: {function}: "), message)
}
