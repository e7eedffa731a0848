//! `generate-rd-expires` and `generate-rd-last-modified`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use time::{Date, OffsetDateTime};

use crate::filter::{Source, Step, StepOutcome, Work};

use super::FunctionContext;

/// Makes the date at which the description ends.
pub(super) fn expires(making: &mut FunctionContext<'_>) -> Box<dyn Step> {
    let to = making.parameters.optional("dst").unwrap_or("rd-expires");
    Box::new(Expires {
        from: Source::named("expires"),
        to: Source::named(to),
    })
}

/// Makes the date at which the description is made.
pub(super) fn last_modified(making: &mut FunctionContext<'_>) -> Box<dyn Step> {
    let to = making
        .parameters
        .optional("dst")
        .unwrap_or("rd-last-modified");
    Box::new(LastModified(Source::named(to)))
}

struct Expires {
    from: Source,
    to: Source,
}

struct LastModified(Source);

impl Step for Expires {
    fn run(&self, work: &mut Work<'_>) -> StepOutcome {
        let now = instant(work.now_ms);
        let said = work.resource.source(&self.from);
        let said = said.and_then(|value| httpdate::parse_http_date(value.trim()).ok());
        // Pages made on the fly name a date that has passed, so as not to be cached.
        let expires = said.filter(|date| *date > now);
        let expires = expires.unwrap_or_else(|| three_months_after(now));
        work.resource
            .assign(&self.to, httpdate::fmt_http_date(expires));
        StepOutcome::Continue
    }
}

impl Step for LastModified {
    fn run(&self, work: &mut Work<'_>) -> StepOutcome {
        let now = httpdate::fmt_http_date(instant(work.now_ms));
        work.resource.assign(&self.0, now);
        StepOutcome::Continue
    }
}

/// Returns an instant of the years 1970 to 9998, which HTTP dates can name with three months more.
fn instant(now_ms: i64) -> SystemTime {
    const LAST_MS: u64 = 253_000_000_000_000;
    let now_ms = u64::try_from(now_ms).unwrap_or(0).min(LAST_MS);
    UNIX_EPOCH + Duration::from_millis(now_ms)
}

/// Returns the same day three months later, or the last day of a shorter month.
fn three_months_after(now: SystemTime) -> SystemTime {
    let now = OffsetDateTime::from(now);
    let is_next_year = u8::from(now.month()) > 9;
    let year = now.year() + i32::from(is_next_year);
    let month = now.month().nth_next(3);
    let day = now.day().min(month.length(year));
    match Date::from_calendar_date(year, month, day) {
        Ok(date) => now.replace_date(date).into(),
        Err(_) => (now + Duration::from_hours(90 * 24)).into(),
    }
}
