//! The memory of a process and all that it has started.

/// What the command lines of processes say that pages' processes are forked from.
#[cfg(target_os = "linux")]
const ZYGOTE: &[u8] = b"--type=zygote";

/// Returns the bytes of a process and of all below it, what they share counted once.
///
/// None where the system does not tell.
#[cfg(target_os = "linux")]
pub(super) fn of_tree(root: u32) -> Option<u64> {
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
    // With each the memory that it still has in common with the process that it was forked from.
    let (mut waiting, mut own, mut shared) = (vec![(root, 0)], 0, 0);
    while let Some((pid, of_parent)) = waiting.pop() {
        let statm = fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
        // Of proc_pid_statm(5): size, resident, shared.
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
        // All other processes of Chromium begin with a program of their own.
        let is_zygote = line.windows(ZYGOTE.len()).any(|it| it == ZYGOTE);
        let in_common = if is_zygote { alone } else { 0 };
        let children = below.remove(&pid).unwrap_or_default();
        waiting.extend(children.into_iter().map(|child| (child, in_common)));
    }
    Some((own + shared) * rustix::param::page_size() as u64)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn of_tree(_root: u32) -> Option<u64> {
    None
}

/// Reads the parent out of `/proc/<pid>/stat`, where it stands behind the name and the state.
#[cfg(target_os = "linux")]
fn parent_in(stat: &str) -> Option<u32> {
    let (_, behind) = stat.rsplit_once(')')?;
    behind.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn children_count() {
        let own = of_tree(std::process::id()).unwrap();
        assert!(own > 100_000, "{own}");
        assert_eq!(parent_in("7 (a (b) c) S 42 1 2"), Some(42));
        assert_eq!(parent_in("7"), None);
    }
}
