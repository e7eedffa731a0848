//! Reader of all that a line of the combined form tells.

use crate::access_log::combined::{
    RawEntry, after_request_at, next_quoted, quoted, read, request, word,
};

/// All that a line tells of a response, still escaped.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Whole<'a> {
    /// `01/Mar/2026:10:00:00 +0000`.
    pub(super) time: &'a [u8],
    pub(super) status: &'a [u8],
    pub(super) bytes: u64,
    /// None in the common form.
    pub(super) referrer: Option<&'a [u8]>,
    pub(super) user_agent: &'a [u8],
    /// Quoted fields behind the User-Agent, as many as there are.
    pub(super) more: [Option<&'a [u8]>; 4],
    /// What follows the last of them.
    pub(super) rest: &'a [u8],
}

/// Reads all of a line; `None` where [`read`] has none.
pub(super) fn whole(line: &[u8]) -> Option<Whole<'_>> {
    let RawEntry { user_agent, bytes } = read(line)?;
    let request = request(line)?;
    let (_, mut rest, end) = after_request_at(request)?;
    let status = request.get(end + 2..).map(word).unwrap_or_default().0;
    let before = line.get(..line.len() - request.len())?;
    // Before the request stands `[time] "`.
    let time = before.strip_suffix(b"] \"")?;
    let time = time.get(memchr::memrchr(b'[', time)? + 1..)?;
    // Referer and User-Agent first.
    let mut fields = [None; 6];
    for field in &mut fields {
        let Some((text, behind)) = next_quoted(rest).and_then(quoted) else {
            break;
        };
        (*field, rest) = (Some(text), behind);
    }
    let [referrer, _, more @ ..] = fields;
    Some(Whole {
        time,
        status,
        bytes,
        referrer,
        user_agent,
        more,
        rest,
    })
}
