//! Decides whether a call may still repeat itself: the retry budget (R20).
//!
//! Retries multiply load exactly when a service has least to spare. The budget bounds them over all
//! calls of a client: over any time T in which S calls were answered at their first attempt, no more
//! than `cap + S * P/100 + F * T` withdrawals are granted, however many calls there are. A share of
//! the *concurrent* calls (Envoy) was rejected, as attempts that fail in a millisecond are hardly
//! bound by it.
//!
//! Exact: one ledger of whole units of 10^-12 token, in which both a thousandth of a percent and a
//! thousandth of a token per second times a nanosecond are whole numbers. So refills lose nothing
//! however unevenly time is asked for, and 0.3 % means 0.3 %.
//!
//! A budget starts full: a program that makes one call and ends, or meets an outage in its first
//! second, may repeat as any other.
//!
//! Flow: `next` withdraws before a paid attempt; `record` deposits for a call answered at its first.
//!
//! Not here: which attempts cost a token (`retry`), what happens when there is none (`call`).

use std::fmt;
use std::time::Instant;

/// What refills a retry budget: `P%+F/s`.
///
/// # Default
///
/// Off: [`parse`](Self::parse) gives `None`, and nothing but the attempts of each call bounds it.
/// `20%+1/s` is what we would run: one retry per five good calls, and one per second when none is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetSettings {
    /// Thousandths of a percent.
    share: u64,
    /// Thousandths of a token per second.
    floor: u64,
}

impl BudgetSettings {
    /// Reads `P%+F/s`, `P%`, `F/s`, or `off`, which is `None`. Blanks may stand around the parts.
    ///
    /// P is the share of a token that a call answered at its first attempt brings, 0.001 to 1000; F
    /// the tokens that come in each second, up to half the cap, 0.001 to 1000000. Both take up to
    /// three decimals.
    ///
    /// # Errors
    ///
    /// [`BudgetError`] for any other text. A part of 0 is refused too: leave it out, or say `off`.
    ///
    /// ```
    /// use anyhost::decide::BudgetSettings;
    ///
    /// assert!(BudgetSettings::parse("20%+1/s")?.is_some());
    /// assert!(BudgetSettings::parse("off")?.is_none());
    /// assert!(BudgetSettings::parse("20").is_err());
    /// # Ok::<(), anyhost::decide::BudgetError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Option<Self>, BudgetError> {
        let text = text.trim();
        if text == "off" {
            return Ok(None);
        }
        let (share, floor) = match text.split_once('+') {
            Some((share, floor)) => (Some(share), Some(floor)),
            None if text.ends_with('%') => (Some(text), None),
            None => (None, Some(text)),
        };
        let share = share.map(|part| amount(part, "%", MAX_SHARE, BudgetError::Share));
        let floor = floor.map(|part| amount(part, "/s", MAX_FLOOR, BudgetError::Floor));
        Ok(Some(BudgetSettings {
            share: share.transpose()?.unwrap_or(0),
            floor: floor.transpose()?.unwrap_or(0),
        }))
    }
}

/// Why a text is not a retry budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BudgetError {
    /// It has another form.
    Form,
    /// The share is out of bounds.
    Share,
    /// The tokens per second are out of bounds.
    Floor,
}

impl fmt::Display for BudgetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BudgetError::Form => {
                "a retry budget is written like 20%+1/s, 20%, 1/s or off, with up to three decimals"
            }
            BudgetError::Share => "the share of a retry budget is 0.001% to 1000%, or left out",
            BudgetError::Floor => {
                "the tokens per second of a retry budget are 0.001/s to 1000000/s, or left out"
            }
        })
    }
}

impl std::error::Error for BudgetError {}

/// The ledger of one client.
#[derive(Debug, Clone)]
pub struct Budget {
    settings: BudgetSettings,
    cap: u128,
    balance: u128,
    /// Up to when the balance holds the tokens that come in with time.
    counted_to: Instant,
}

impl Budget {
    /// A full ledger for a client of so many endpoints: it holds 10 * (1 + endpoints/4) tokens at most,
    /// not rounded (2 endpoints: 15 tokens).
    pub fn new(settings: BudgetSettings, endpoints: usize, now: Instant) -> Self {
        let cap = cap(endpoints);
        Budget { settings, cap, balance: cap, counted_to: now }
    }

    /// Takes one token, or says `false` and takes nothing where less than one is left.
    #[must_use]
    pub fn withdraw(&mut self, now: Instant) -> bool {
        self.count(now);
        match self.balance.checked_sub(TOKEN) {
            Some(rest) => {
                self.balance = rest;
                true
            }
            None => false,
        }
    }

    /// Adds the share of a call that was answered at its first attempt, up to the cap.
    pub fn deposit(&mut self, now: Instant) {
        self.count(now);
        let share = u128::from(self.settings.share) * SHARE_UNIT;
        self.balance = (self.balance + share).min(self.cap);
    }

    /// Adapts the cap to another number of endpoints (R22). Tokens beyond it are lost, and a higher cap
    /// brings none.
    pub fn set_endpoints(&mut self, endpoints: usize, now: Instant) {
        self.count(now);
        self.cap = cap(endpoints);
        self.balance = self.balance.min(self.cap);
    }

    /// Whole tokens that could be withdrawn at `now`.
    pub fn tokens(&self, now: Instant) -> u64 {
        u64::try_from(self.balance_at(now) / TOKEN).unwrap_or(u64::MAX)
    }

    fn count(&mut self, now: Instant) {
        self.balance = self.balance_at(now);
        self.counted_to = self.counted_to.max(now);
    }

    /// Time fills the ledger to half its cap and no further, and takes nothing away above it.
    fn balance_at(&self, now: Instant) -> u128 {
        let nanos = now.saturating_duration_since(self.counted_to).as_nanos();
        let filled = self.balance + nanos * u128::from(self.settings.floor);
        self.balance.max(filled.min(self.cap / 2))
    }
}

/// 10 * (1 + endpoints/4) tokens.
fn cap(endpoints: usize) -> u128 {
    (4 + endpoints as u128) * (10 * TOKEN / 4)
}

/// A number with this unit, in thousandths, from one thousandth to `most`.
fn amount(
    text: &str,
    unit: &str,
    most: u64,
    out_of_bounds: BudgetError,
) -> Result<u64, BudgetError> {
    let number = text.trim().strip_suffix(unit).and_then(thousandths).ok_or(BudgetError::Form)?;
    if (1..=most).contains(&number) { Ok(number) } else { Err(out_of_bounds) }
}

/// A decimal number in thousandths, as many as fit; `None` unless it is digits, or digits, a point and
/// one to three digits.
fn thousandths(text: &str) -> Option<u64> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    if !digits(whole) || !digits(decimals) || decimals.len() > 3 {
        return None;
    }
    // More whole digits than a u64 holds are out of every bound.
    let whole: u64 = whole.parse().unwrap_or(u64::MAX);
    let decimals: u64 = format!("{decimals:0<3}").parse().ok()?;
    Some(whole.saturating_mul(1000).saturating_add(decimals))
}

/// One token, in units.
const TOKEN: u128 = 1_000_000_000_000;

/// A thousandth of a percent of a token, in units.
const SHARE_UNIT: u128 = TOKEN / 100 / 1000;

/// 1000 %, in thousandths of a percent. Ten retries for each good call bound nothing any more.
const MAX_SHARE: u64 = 1_000_000;

/// A million tokens per second, in thousandths: beyond it nothing is bounded, and up to it the
/// refill of any `Duration` (2^94 ns) fits the ledger.
const MAX_FLOOR: u64 = 1_000_000_000;
