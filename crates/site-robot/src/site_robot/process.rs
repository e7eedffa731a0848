//! Identity of processes, to find out whether a holder was killed and cannot release.
//!
//! A process is known by the machine that it runs on, its number there, and when
//! it began, as Linux tells them. Elsewhere nothing is known of other processes,
//! and leases end by their time alone.

use std::{
    fmt, fs,
    hash::{BuildHasher as _, RandomState},
};

use md5::{Digest as _, Md5};

/// Bytes of a digest that stand for a machine.
const PLACE_BYTES: usize = 8;

/// Process on a machine.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Process {
    /// Place that a process must share with us, so that we can see whether it has ended.
    place: String,
    pid: u32,
    /// When it began, in ticks since the machine did.
    began: u64,
}

/// Returns a name for a holder in this process; no other holder has it.
pub fn holder_name() -> String {
    let random = RandomState::new().hash_one(std::process::id());
    match place() {
        Some(place) => named(place, std::process::id(), random),
        None => format!("{}-{random:016x}", std::process::id()),
    }
}

/// Returns `true` if the process of a holder is known to have ended.
///
/// Of one on another machine, in another container or of another user nothing
/// is known.
pub fn has_ended(holder: &str) -> bool {
    let (Some(process), Some(place)) = (Process::of(holder), place()) else {
        return false;
    };
    process.place == place && began(process.pid) != Some(process.began)
}

fn named(place: String, pid: u32, random: u64) -> String {
    match began(pid) {
        Some(began) => format!("{}-{random:016x}", Process { place, pid, began }),
        None => format!("{pid}-{random:016x}"),
    }
}

/// Returns a digest that processes share if they see each other: boot, name space, user.
fn place() -> Option<String> {
    let pid = fs::read_link("/proc/self").ok()?;
    if pid.to_str()? != std::process::id().to_string() {
        return None;
    }
    let mut digest = Md5::new();
    // Numbers of processes are those of one boot and one name space: elsewhere they mean
    // others.
    digest.update(fs::read("/proc/sys/kernel/random/boot_id").ok()?);
    let space = fs::read_link("/proc/self/ns/pid").ok()?;
    digest.update(space.as_os_str().as_encoded_bytes());
    // Processes of others may be hidden, which is not to have ended.
    digest.update(user(&fs::read_to_string("/proc/self/status").ok()?)?);
    let digest = digest.finalize();
    Some(hex::encode(digest.get(..PLACE_BYTES)?))
}

fn user(status: &str) -> Option<&str> {
    status.lines().find(|line| line.starts_with("Uid:"))
}

/// Returns when a process began, unless it has ended.
fn began(pid: u32) -> Option<u64> {
    began_in(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Reads `/proc/PID/stat`: behind the name come the state and, 19 fields on, the beginning.
fn began_in(stat: &str) -> Option<u64> {
    // The name of a program may hold parentheses and spaces: the last one ends it (proc(5)).
    let (_, behind) = stat.rsplit_once(')')?;
    let mut fields = behind.split_ascii_whitespace();
    // One that nobody has asked for its end is over all the same.
    let is_over = matches!(fields.next()?, "Z" | "X" | "x");
    let began = fields.nth(18)?.parse().ok()?;
    (!is_over).then_some(began)
}

impl Process {
    fn of(holder: &str) -> Option<Self> {
        let mut parts = holder.split('-');
        let process = Self {
            place: parts.next()?.to_owned(),
            pid: parts.next()?.parse().ok()?,
            began: parts.next()?.parse().ok()?,
        };
        (parts.count() == 1).then_some(process)
    }
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.place, self.pid, self.began)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_of_which_nothing_is_known_may_go_on() {
        assert!(!has_ended(&holder_name()));
        assert_ne!(holder_name(), holder_name());
        for holder in [
            "",
            "17",
            "17-0123456789abcdef",
            "a-b-c-d",
            "0-1-2-3",
            "1-2-3-4-5",
        ] {
            assert!(!has_ended(holder), "{holder}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_that_was_killed_has_ended() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let holder = named(place().unwrap(), child.id(), 1);
        assert!(!has_ended(&holder));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(has_ended(&holder));
        let mut other = Process::of(&holder).unwrap();
        other.place.insert(0, 'x');
        assert!(
            !has_ended(&format!("{other}-1")),
            "it is on another machine"
        );
    }

    #[test]
    fn another_process_may_have_its_number_by_now() {
        let stat = |state: &str, began: u64| {
            let zeros = "0 ".repeat(18);
            format!("7 (a (b) c) {state} {zeros}{began} 1 2 3\n")
        };
        assert_eq!(began_in(&stat("S", 42)), Some(42));
        assert_eq!(began_in(&stat("Z", 42)), None);
        assert_eq!(began_in("7 (a"), None);
        assert_eq!(began_in("7 (a) S 1 2"), None);
    }
}
