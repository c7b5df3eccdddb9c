//! The contract between what executes (or replays) and what is timed.

use crate::effect::Effect;
use crate::fault::Fault;
use crate::id::{CtaSlot, Cycle, LaneMask, Pc, SmId, Token, WarpMask, WarpSlot};
use crate::port::Performed;
use crate::sight::{ReaderId, Register, ResultId, Sight};

/// One SM's share of an instruction source. The timing model owns time and calls; the source owns
/// registers, lanes, control flow and values. One value per SM, so that SMs run on different threads.
pub trait Source: Send {
    /// What all SMs read during a window and only the device changes between windows: the image of
    /// device memory.
    type Shared: Sync + Send;

    /// Starts CTA number `cta` (linear index in the grid) in `slot`. Its warp w (0-based in the CTA)
    /// goes to warp slot `warps[w]`. All start at the kernel's entry.
    fn start_cta(&mut self, shared: &Self::Shared, cta: u64, slot: CtaSlot, warps: &[WarpSlot]);

    /// Pc of the next instruction of `warp`.
    fn pc(&self, warp: WarpSlot) -> Pc;

    /// Executes the next instruction of `warp` (whose pc is `pc`) and fills `effect`. `clock` is the
    /// cycle that a clock read sees. The instruction takes effect at once, except deferred operations,
    /// whose lanes take effect in [`Source::perform`].
    ///
    /// # Errors
    /// The fault that the machine would trap.
    fn issue(
        &mut self,
        shared: &Self::Shared,
        warp: WarpSlot,
        pc: Pc,
        clock: Cycle,
        effect: &mut Effect,
    ) -> Result<(), Fault>;

    /// As [`Source::issue`], where results become visible with time: the instruction sees what `sight`
    /// says, and its own results stay beside the register file until [`Source::land`]. A source without
    /// values has nothing to add.
    ///
    /// # Errors
    /// The fault that the machine would trap.
    fn issue_emulated(
        &mut self,
        shared: &Self::Shared,
        warp: WarpSlot,
        pc: Pc,
        clock: Cycle,
        sight: &Sight<'_>,
        effect: &mut Effect,
    ) -> Result<(), Fault> {
        let _ = sight;
        self.issue(shared, warp, pc, clock, effect)
    }

    /// Results are written to the register file, over whatever it holds by now.
    fn land(&mut self, result: ResultId) {
        let _ = result;
    }

    /// An instruction that was issued with `reader` reads its sources in this cycle, when `seen` have
    /// changed since its issue: it takes effect anew, in the same lanes. Fills `effect` and returns true
    /// if it read other values than at issue.
    ///
    /// # Errors
    /// The fault that the machine would trap.
    fn read_again(
        &mut self,
        shared: &Self::Shared,
        reader: ReaderId,
        seen: &[(Register, ResultId)],
        clock: Cycle,
        effect: &mut Effect,
    ) -> Result<bool, Fault> {
        let _ = (shared, reader, seen, clock, effect);
        Ok(false)
    }

    /// A hint that changes nothing: `warp` will soon use `count` general registers from `first` on. A
    /// source whose state exceeds the host's caches has them fetched meanwhile.
    #[inline(always)]
    fn expect(&self, warp: WarpSlot, first: u16, count: u8) {
        let _ = (warp, first, count);
    }

    /// The copies to shared memory that `warp` had under way when it issued its oldest instruction of
    /// [`Special::ArriveCopies`](crate::Special::ArriveCopies) not told yet are complete: that
    /// instruction takes effect now. Called once for each that was issued in at least one lane, in
    /// order.
    fn arrive(&mut self, warp: WarpSlot) {
        let _ = warp;
    }

    /// All replies of a deferred operation have arrived at the SM: its sectors are ordinary again
    /// (V2). The token may be reused from now on.
    fn complete(&mut self, token: Token);

    /// A deferred packet of this SM takes effect at its slice: applies its lanes to `shared` and
    /// writes result registers.
    fn perform(&mut self, shared: &mut Self::Shared, performed: Performed);

    /// Applies the plain stores of the past quantum of all SMs to `shared` in (cycle, SM, sub-core,
    /// lane) order (V4) and forgets them. `sources[i]` is SM i's share.
    fn publish(sources: &mut [Self], shared: &mut Self::Shared)
    where
        Self: Sized;

    /// Warps of this SM that wait in a convergence barrier or CTA barrier as far as values go, with a
    /// description for the hang report.
    fn waiting(&self, warp: WarpSlot) -> Option<String>;

    /// Lanes in which the next instruction of `warp` would take effect if it were issued now.
    fn next_lanes(&self, warp: WarpSlot) -> LaneMask;

    /// Which SM this is.
    fn sm(&self) -> SmId;

    /// Warps of `slot`'s CTA that have not ended.
    fn live_warps(&self, slot: CtaSlot) -> WarpMask;
}
