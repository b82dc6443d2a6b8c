//! Planted bugs: the test of the tests.
//!
//! A simulation that cannot fail proves nothing. Each `Mutant` is one bug at one place of a decision;
//! `tests/sim` switches it on, for its own thread, and asserts that the oracle names the rule that is
//! broken. Outside the library's own tests `planted!` is the word `false`, and none of this exists.

#[cfg(test)]
use std::cell::Cell;

/// Whether a planted bug is switched on.
#[cfg(test)]
macro_rules! planted {
    ($bug:ident) => {
        $crate::decide::mutant::is_on($crate::decide::mutant::Mutant::$bug)
    };
}
#[cfg(not(test))]
macro_rules! planted {
    ($bug:ident) => {
        false
    };
}
pub(super) use planted;

/// The bugs that can be switched on.
#[cfg(test)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mutant {
    /// A probe under way keeps nobody out.
    ProbeShared,
    /// A circuit that is open lets a probe in at once.
    WaitSkipped,
    /// An outcome of an older generation counts.
    LateOutcomeCounts,
    /// Attempts begin after the deadline.
    DeadlineIgnored,
    /// What may have been received moves on, whatever the request.
    ResetMovesOn,
    /// A reset is taken for proof that nothing was sent.
    ResetIsNotSent,
    /// An idle connection that died is taken for proof that nothing was executed.
    StaleIsSafe,
    /// A call that may be the probe goes elsewhere first.
    ProbeNotFirst,
    /// The last resort is open to many at once.
    NearestNotAlone,
    /// The caller's advice is followed where it is not safe.
    AdviceBeatsSafety,
    /// Repeats cost nothing.
    BudgetUnpaid,
    /// What a call has tried is a candidate as before.
    TriedNotLeftOut,
    /// An answer from the endpoint held prolongs the hold.
    SuccessProlongsHold,
    /// A failure divides the weight by a hundred.
    DividesByHundred,
    /// A ticket taken back is not settled.
    SettleLost,
    /// A replay counts as an attempt.
    ReplayCounts,
    /// A replay may take an idle connection again.
    ReplayNotFresh,
    /// Jitter may carry a wait beyond the maximum.
    JitterBeyondMax,
    /// An endpoint disabled is picked as before.
    DisabledPicked,
    /// The last answer is forgotten when a later attempt fails.
    AnswerForgotten,
    /// A call that has waited waits again.
    WaitsForever,
    /// A proxy that could not reach a target is blamed without a second opinion.
    SuspectCooled,
    /// An endpoint that one proxy could not reach is blamed without a second opinion.
    EitherIsEndpoint,
    /// A proxy that led nowhere is asked again for the same endpoint.
    ProxyNotUsedUp,
    /// A proxy that refused our credentials is asked again after a wait.
    AuthNotLasting,
    /// Where no proxy may be tried, it goes straight.
    RouteStraight,
    /// A proxy that led nowhere ends the call.
    RouteGivenUp,
}

#[cfg(test)]
thread_local! {
    static SWITCHED_ON: Cell<Option<Mutant>> = const { Cell::new(None) };
}

/// Switches one on for this thread, or all off.
#[cfg(test)]
pub(crate) fn switch(mutant: Option<Mutant>) {
    SWITCHED_ON.set(mutant);
}

#[cfg(test)]
pub(super) fn is_on(mutant: Mutant) -> bool {
    SWITCHED_ON.get() == Some(mutant)
}
