//! The `Date` header of responses (RFC 9110 §6.6.1), formatted once a second for each thread.

use std::{
    cell::RefCell,
    io::Write as _,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use httpdate::HttpDate;

const EMPTY: [u8; 37] = *b"date: Thu, 01 Jan 1970 00:00:00 GMT\r\n";

/// The header's line, and the second in which it is right.
struct Line {
    bytes: [u8; EMPTY.len()],
    from: SystemTime,
    until: SystemTime,
}

thread_local! {
    static LINE: RefCell<Line> = const {
        RefCell::new(Line {
            bytes: EMPTY,
            from: UNIX_EPOCH,
            until: UNIX_EPOCH,
        })
    };
}

/// Appends the line of the header `Date`.
pub(super) fn append(out: &mut Vec<u8>) {
    LINE.with_borrow_mut(|line| {
        let now = now();
        // The clock may be set back.
        if now >= line.until || now < line.from {
            line.set(now);
        }
        out.extend_from_slice(&line.bytes);
    });
}

impl Line {
    fn set(&mut self, now: SystemTime) {
        let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        self.from = now - Duration::from_nanos(since.subsec_nanos().into());
        self.until = self.from + Duration::from_secs(1);
        let mut value = self.bytes.get_mut("date: ".len()..).unwrap_or_default();
        // It has room for exactly that; a date beyond the year 9999 is cut.
        let _ = write!(value, "{}\r\n", HttpDate::from(now));
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a response tells the system's time, and no decision depends on it"
)]
fn now() -> SystemTime {
    SystemTime::now()
}
