//! Identifies processes, to detect holders that were killed without releasing their claims.
//!
//! A process is identified by its machine, process id and start time, which are available on Linux.
//! On other systems, nothing is known about other processes, and leases end only when they expire.

use std::{
    fmt, fs,
    hash::{BuildHasher as _, RandomState},
};

use md5::{Digest as _, Md5};

/// Number of bytes in the digest of a machine.
const PLACE_BYTES: usize = 8;

/// A process on a machine.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Process {
    /// Digest that is the same for all processes that can see each other.
    place: String,
    pid: u32,
    /// Start time of the process, in ticks since boot.
    began: u64,
}

/// Returns a unique name for a holder of claims in this process.
pub fn holder_name() -> String {
    let random = RandomState::new().hash_one(std::process::id());
    match place() {
        Some(place) => named(place, std::process::id(), random),
        None => format!("{}-{random:016x}", std::process::id()),
    }
}

/// Returns `true` if the process of a holder is known to have ended.
///
/// The result is `false` for processes on another machine, in another container or of another user,
/// because nothing is known about them.
pub fn has_ended(holder: &str) -> bool {
    let (Some(process), Some(place)) = (Process::from_holder(holder), place()) else {
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

/// Returns a digest of the boot ID, PID namespace and user, which is the same for all processes
/// that can see each other.
fn place() -> Option<String> {
    let pid = fs::read_link("/proc/self").ok()?;
    if pid.to_str()? != std::process::id().to_string() {
        return None;
    }
    let mut digest = Md5::new();
    // Process ids are valid only within the same boot and PID namespace.
    digest.update(fs::read("/proc/sys/kernel/random/boot_id").ok()?);
    let space = fs::read_link("/proc/self/ns/pid").ok()?;
    digest.update(space.as_os_str().as_encoded_bytes());
    // Processes of other users may be hidden, which does not mean that they have ended.
    digest.update(user(&fs::read_to_string("/proc/self/status").ok()?)?);
    let digest = digest.finalize();
    Some(hex::encode(digest.get(..PLACE_BYTES)?))
}

fn user(status: &str) -> Option<&str> {
    status.lines().find(|line| line.starts_with("Uid:"))
}

/// Returns the start time of a process, unless it has ended.
fn began(pid: u32) -> Option<u64> {
    began_in(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Parses `/proc/PID/stat`, where the name is followed by the state and, 19 fields later, the start
/// time.
fn began_in(stat: &str) -> Option<u64> {
    // The program name may contain parentheses and spaces; it ends at the last parenthesis
    // (proc(5)).
    let (_, behind) = stat.rsplit_once(')')?;
    let mut fields = behind.split_ascii_whitespace();
    // A zombie process has ended, even if its parent has not reaped it.
    let is_over = matches!(fields.next()?, "Z" | "X" | "x");
    let began = fields.nth(18)?.parse().ok()?;
    (!is_over).then_some(began)
}

impl Process {
    fn from_holder(holder: &str) -> Option<Self> {
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
    fn unknown_process_counts_as_running() {
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
    fn killed_process_has_ended() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let holder = named(place().unwrap(), child.id(), 1);
        assert!(!has_ended(&holder));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(has_ended(&holder));
        let mut other = Process::from_holder(&holder).unwrap();
        other.place.insert(0, 'x');
        assert!(
            !has_ended(&format!("{other}-1")),
            "the holder is on another machine"
        );
    }

    #[test]
    fn reused_process_id_is_detected() {
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
