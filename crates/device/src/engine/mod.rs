//! The engine: SMs and the memory side run in turns, in windows in which neither can influence the
//! other (DESIGN.md §4). Files in the order of one turn: `dispatch`, `window` (with `threads`),
//! `publish`; `hang` tells why nothing moves any more.

mod dispatch;
mod hang;
mod publish;
mod threads;
mod window;

pub use hang::{Hang, HangKind, StuckWarp};
pub use threads::Threads;
pub use window::{Ended, Engine, EngineParameters, Parts, Progress, Stop};
