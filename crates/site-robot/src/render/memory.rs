//! Memory used by a process and its descendants.

/// Command-line argument of the processes from which the processes for pages are forked.
#[cfg(target_os = "linux")]
const ZYGOTE: &[u8] = b"--type=zygote";

/// Returns the memory used by a process tree, in bytes, counting shared memory only once.
///
/// Returns `None` on systems that do not provide this information.
#[cfg(target_os = "linux")]
pub(super) fn process_tree_bytes(root: u32) -> Option<u64> {
    use std::{collections::HashMap, fs};

    let mut below: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in fs::read_dir("/proc").ok()?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|it| it.parse().ok()) else {
            continue;
        };
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else {
            continue;
        };
        if let Some(parent) = parent_in(&stat) {
            below.entry(parent).or_default().push(pid);
        }
    }
    // Each process in the queue is stored with the amount of memory that it still shares with its
    // parent.
    let (mut waiting, mut own, mut shared) = (vec![(root, 0)], 0, 0);
    while let Some((pid, of_parent)) = waiting.pop() {
        let statm = fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
        // The fields in proc_pid_statm(5) are size, resident and shared.
        let mut pages = statm.split_ascii_whitespace().skip(1);
        let mut next = || {
            pages
                .next()
                .and_then(|it| it.parse::<u64>().ok())
                .unwrap_or(0)
        };
        let (resident, of_files) = (next(), next());
        let alone = resident.saturating_sub(of_files);
        own += alone.saturating_sub(of_parent);
        shared = of_files.max(shared);
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        // All other Chromium processes execute a new program.
        let is_zygote = line.windows(ZYGOTE.len()).any(|it| it == ZYGOTE);
        let in_common = if is_zygote { alone } else { 0 };
        let children = below.remove(&pid).unwrap_or_default();
        waiting.extend(children.into_iter().map(|child| (child, in_common)));
    }
    Some((own + shared) * rustix::param::page_size() as u64)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn process_tree_bytes(_root: u32) -> Option<u64> {
    None
}

/// Parses the parent process id from `/proc/<pid>/stat`, where it follows the name and state.
#[cfg(target_os = "linux")]
fn parent_in(stat: &str) -> Option<u32> {
    let (_, behind) = stat.rsplit_once(')')?;
    behind.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn children_are_counted() {
        let own = process_tree_bytes(std::process::id()).unwrap();
        assert!(own > 100_000, "{own}");
        assert_eq!(parent_in("7 (a (b) c) S 42 1 2"), Some(42));
        assert_eq!(parent_in("7"), None);
    }
}
