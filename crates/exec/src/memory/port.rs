//! The way to device memory. In functional mode operations take effect at once; in timing mode the
//! port of the SM (`overlay`, `deferred`) decides what takes effect when.

use source::Token;

use crate::family::mbarrier::Arrival;
use crate::lanes::{Lanes, lanes_of};
use crate::memory::deferred::Operation;
use crate::memory::global::{GlobalMemory, Place};
use crate::memory::shared::words_of;
use crate::service::heap::{BadFree, Request};

/// Addresses of one access to device memory, found and aligned.
pub(crate) struct Batch<'a> {
    /// Byte address of each lane.
    pub(crate) addresses: &'a [u64; 32],
    /// Lanes that take part, not empty.
    pub(crate) lanes: u32,
    /// Bytes of each lane.
    pub(crate) bytes: u32,
    /// Lowest address and the place of it, if one allocation holds all lanes.
    pub(crate) block: Option<(u64, Place)>,
    /// All lanes take part, each at the address behind the one before.
    pub(crate) consecutive: bool,
}

/// How device memory is reached.
pub(crate) trait Port {
    /// The image that addresses are checked against.
    fn memory(&self) -> &GlobalMemory;

    /// Reads each lane's bytes into words.
    fn load(&mut self, batch: &Batch<'_>, words: &mut [Lanes; 4]);

    /// Writes each lane's bytes.
    fn store(&mut self, batch: &Batch<'_>, words: &[Lanes; 4]);

    /// Whether an access to these sectors has to be deferred although it is plain.
    fn must_defer(&self, batch: &Batch<'_>) -> bool;

    /// Takes an operation over to let it take effect later, or returns `None`: the caller performs
    /// it at once.
    fn defer(&mut self, operation: &Operation) -> Option<Token>;

    /// Performs an operation at once; the results of its lanes.
    fn perform(&mut self, operation: &Operation) -> [Lanes; 4];

    /// Takes over an arrival that waits for the copies of its warp, or returns false: they are
    /// complete, the caller performs it at once.
    fn arrive_with_copies(&mut self, arrival: &Arrival) -> bool;

    /// Text of one device `printf`, with the bytes that it takes in the buffer.
    fn print(&mut self, text: Vec<u8>, bytes: u64);

    /// Serves a request to the heap at once, or takes it over to serve it at the next boundary
    /// (`None`).
    fn request(&mut self, request: &Request, pc: u32) -> Option<Result<[u64; 32], BadFree>>;
}

/// Everything takes effect at once.
pub(crate) struct DirectPort<'a> {
    pub(crate) memory: &'a mut GlobalMemory,
}

impl Port for DirectPort<'_> {
    #[inline(always)]
    fn memory(&self) -> &GlobalMemory {
        self.memory
    }

    #[inline(always)]
    fn load(&mut self, batch: &Batch<'_>, words: &mut [Lanes; 4]) {
        read(self.memory, batch, words);
    }

    #[inline(always)]
    fn store(&mut self, batch: &Batch<'_>, words: &[Lanes; 4]) {
        write(self.memory, batch, words);
    }

    #[inline(always)]
    fn must_defer(&self, _batch: &Batch<'_>) -> bool {
        false
    }

    #[inline(always)]
    fn defer(&mut self, _operation: &Operation) -> Option<Token> {
        None
    }

    fn perform(&mut self, operation: &Operation) -> [Lanes; 4] {
        operation.perform(self.memory, operation.lanes)
    }

    #[inline(always)]
    fn arrive_with_copies(&mut self, _arrival: &Arrival) -> bool {
        false
    }

    fn print(&mut self, text: Vec<u8>, bytes: u64) {
        self.memory.console.print(text, bytes);
    }

    fn request(&mut self, request: &Request, _pc: u32) -> Option<Result<[u64; 32], BadFree>> {
        Some(self.memory.serve(request))
    }
}

/// Reads a batch from an image.
#[inline(always)]
pub(crate) fn read(memory: &GlobalMemory, batch: &Batch<'_>, words: &mut [Lanes; 4]) {
    match batch.bytes {
        1 => gather::<1>(memory, batch, words),
        2 => gather::<2>(memory, batch, words),
        4 => gather::<4>(memory, batch, words),
        8 => gather::<8>(memory, batch, words),
        _ => gather::<16>(memory, batch, words),
    }
}

/// Bytes of one element as up to four words.
#[inline(always)]
pub(crate) fn to_words<const N: usize>(bytes: &[u8; N]) -> [u32; 4] {
    let mut words = [0u32; 4];
    let mut at = 0;
    while at < N {
        words[at / 4] |= u32::from(bytes[at]) << (8 * (at % 4));
        at += 1;
    }
    words
}

/// Up to four words as bytes of one element.
#[inline(always)]
pub(crate) fn from_words<const N: usize>(words: [u32; 4]) -> [u8; N] {
    let mut bytes = [0u8; N];
    let mut at = 0;
    while at < N {
        bytes[at] = (words[at / 4] >> (8 * (at % 4))) as u8;
        at += 1;
    }
    bytes
}

#[inline(always)]
fn gather<const N: usize>(memory: &GlobalMemory, batch: &Batch<'_>, words: &mut [Lanes; 4]) {
    let count = N.div_ceil(4);
    if let Some((lowest, place)) = batch.block {
        if N >= 4 && batch.consecutive && place.to_page_end() >= 32 * N as u64 {
            match memory.page(place) {
                Some(page) => {
                    if let Some(block) = page.get(..32 * N) {
                        if N == 4 {
                            words[0] = words_of(block);
                            return;
                        }
                        for (lane, chunk) in block.chunks_exact(N).enumerate() {
                            for (index, word) in chunk.chunks_exact(4).enumerate() {
                                words[index][lane] =
                                    u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
                            }
                        }
                    }
                }
                None => words[..count].fill(Lanes::ZERO),
            }
            return;
        }
        for lane in lanes_of(batch.lanes) {
            let bytes = memory.read_aligned::<N>(place.advance(batch.addresses[lane] - lowest));
            let element = to_words(&bytes);
            for index in 0..count {
                words[index][lane] = element[index];
            }
        }
        return;
    }
    let mut hint = 0;
    for lane in lanes_of(batch.lanes) {
        if let Some(place) = memory.find(batch.addresses[lane], N as u64, hint) {
            hint = place.allocation();
            let element = to_words(&memory.read_aligned::<N>(place));
            for index in 0..count {
                words[index][lane] = element[index];
            }
        }
    }
}

/// Writes a batch to an image.
#[inline(always)]
pub(crate) fn write(memory: &mut GlobalMemory, batch: &Batch<'_>, words: &[Lanes; 4]) {
    match batch.bytes {
        1 => scatter::<1>(memory, batch, words),
        2 => scatter::<2>(memory, batch, words),
        4 => scatter::<4>(memory, batch, words),
        8 => scatter::<8>(memory, batch, words),
        _ => scatter::<16>(memory, batch, words),
    }
}

#[inline(always)]
fn element<const N: usize>(words: &[Lanes; 4], lane: usize) -> [u8; N] {
    from_words([
        words[0][lane],
        words[1][lane],
        words[2][lane],
        words[3][lane],
    ])
}

#[inline(always)]
fn scatter<const N: usize>(memory: &mut GlobalMemory, batch: &Batch<'_>, words: &[Lanes; 4]) {
    if let Some((lowest, place)) = batch.block {
        if N >= 4 && batch.consecutive && place.to_page_end() >= 32 * N as u64 {
            let page = memory.page_mut(place);
            if let Some(block) = page.get_mut(..32 * N) {
                for (lane, chunk) in block.chunks_exact_mut(N).enumerate() {
                    for (index, word) in chunk.chunks_exact_mut(4).enumerate() {
                        word.copy_from_slice(&words[index][lane].to_le_bytes());
                    }
                }
            }
            return;
        }
        for lane in lanes_of(batch.lanes) {
            memory.write_aligned(
                place.advance(batch.addresses[lane] - lowest),
                &element::<N>(words, lane),
            );
        }
        return;
    }
    let mut hint = 0;
    for lane in lanes_of(batch.lanes) {
        if let Some(place) = memory.find(batch.addresses[lane], N as u64, hint) {
            hint = place.allocation();
            memory.write_aligned(place, &element::<N>(words, lane));
        }
    }
}
