//! What a store is about to overwrite: where that is, and a port that looks and does nothing else.

use crate::family::atomic;
use crate::family::mbarrier::Arrival;
use crate::lanes::Lanes;
use crate::lower::Address;
use crate::memory::deferred::Operation;
use crate::memory::global::GlobalMemory;
use crate::memory::overlay::WindowPort;
use crate::memory::port::{Batch, Port};
use crate::memory::{self, Named, Size};
use crate::micro::Op;
use crate::service::heap::{BadFree, Request};

/// How an operation on shared memory names its place.
fn on_shared(generic: bool) -> Named {
    if generic {
        Named::Generic
    } else {
        Named::Shared
    }
}

/// Where an instruction overwrites memory at once.
pub(super) fn target(op: &Op) -> Option<(Named, Address, Size)> {
    let size = |bytes: u32| Size {
        bytes: bytes as u8,
        signed: false,
    };
    match *op {
        Op::Memory(memory::Op::Store {
            space,
            address,
            size,
            strong: false,
            ..
        }) => Some((space, address, size)),
        Op::Memory(memory::Op::Copy { to, bytes, .. }) => {
            Some((Named::Shared, to, size(bytes.into())))
        }
        Op::Atomic(atomic::Op::Shared {
            address,
            arithmetic,
            ..
        }) => {
            let bytes = arithmetic.kind.bytes() * u32::from(arithmetic.elements);
            Some((Named::Shared, address, size(bytes)))
        }
        Op::Atomic(atomic::Op::SharedTest {
            address,
            bytes,
            generic,
            ..
        }) => Some((on_shared(generic), address, size(bytes.into()))),
        Op::Atomic(atomic::Op::SharedCount {
            address, generic, ..
        }) => Some((on_shared(generic), address, size(4))),
        _ => None,
    }
}

/// A port that only looks.
pub(super) struct Peek<'a>(pub(super) WindowPort<'a>);

impl Port for Peek<'_> {
    fn memory(&self) -> &GlobalMemory {
        self.0.memory()
    }

    fn load(&mut self, batch: &Batch<'_>, words: &mut [Lanes; 4]) {
        self.0.load(batch, words);
    }

    fn store(&mut self, _batch: &Batch<'_>, _words: &[Lanes; 4]) {}

    fn must_defer(&self, _batch: &Batch<'_>) -> bool {
        false
    }

    fn defer(&mut self, _operation: &Operation) -> Option<source::Token> {
        None
    }

    fn perform(&mut self, _operation: &Operation) -> [Lanes; 4] {
        [Lanes::ZERO; 4]
    }

    fn arrive_with_copies(&mut self, _arrival: &Arrival) -> bool {
        true
    }

    fn print(&mut self, _text: Vec<u8>, _bytes: u64) {}

    fn request(&mut self, _request: &Request, _pc: u32) -> Option<Result<[u64; 32], BadFree>> {
        None
    }
}
