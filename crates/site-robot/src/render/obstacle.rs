//! What stands in the way of rendering, as far as it shows before a browser is started.

use std::path::{Path, PathBuf};

/// Names under which the browser is looked for, where none is configured.
const NAMES: [&str; 6] = [
    // Without windows it takes less memory than the others.
    "chromium-headless-shell",
    "chrome-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
];

/// Directories that it is looked for in.
const DIRECTORIES: [&str; 5] = [
    "/usr/local/bin",
    "/usr/bin",
    "/bin",
    "/snap/bin",
    "/opt/google/chrome",
];

/// Files that forbid the sandbox to who is not root, and what stands in them then.
#[cfg(target_os = "linux")]
const FORBIDDEN_BY: [(&str, &str); 3] = [
    ("/proc/sys/user/max_user_namespaces", "0"),
    ("/proc/sys/kernel/unprivileged_userns_clone", "0"),
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
    ),
];

/// Returns why pages cannot be rendered here, and what to do; nothing where nothing is known.
///
/// `program` is the browser as it is configured; empty: it is looked for.
pub fn obstacle(program: &Path) -> Option<String> {
    let Some(found) = find(program) else {
        return Some(if program.as_os_str().is_empty() {
            "no browser is installed: install chromium, or name it in site_robot.browser".to_owned()
        } else {
            format!(
                "there is no browser {}: see to site_robot.browser",
                program.display()
            )
        });
    };
    if is_root() {
        return Some(
            "Chromium has no sandbox as root: run robot-detection as a user of its own".to_owned(),
        );
    }
    forbidden(&found)
}

/// Returns the browser's path.
pub(super) fn find(program: &Path) -> Option<PathBuf> {
    if program.is_absolute() {
        return program.is_file().then(|| program.to_owned());
    }
    let names: Vec<&Path> = if program.as_os_str().is_empty() {
        NAMES.iter().map(Path::new).collect()
    } else {
        vec![program]
    };
    let places = |name: &Path| DIRECTORIES.map(|directory| Path::new(directory).join(name));
    let mut paths = names.into_iter().flat_map(places);
    paths.find(|path| path.is_file())
}

#[cfg(target_os = "linux")]
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[cfg(not(target_os = "linux"))]
fn is_root() -> bool {
    false
}

#[cfg(target_os = "linux")]
fn forbidden(program: &Path) -> Option<String> {
    let real = program
        .canonicalize()
        .unwrap_or_else(|_| program.to_owned());
    // With rights of its own, this program makes the sandbox where users may not.
    let beside = real.parent().map(|it| it.join("chrome-sandbox"));
    let beside = beside
        .into_iter()
        .chain(["/usr/lib/chromium/chrome-sandbox".into()]);
    if beside.into_iter().any(|helper| helper.is_file()) {
        return None;
    }
    let holds = |(path, value): &&(&str, &str)| {
        std::fs::read_to_string(path).is_ok_and(|text| text.trim() == *value)
    };
    let (path, value) = FORBIDDEN_BY.iter().find(holds)?;
    Some(format!(
        "Chromium has no sandbox, as {path} is {value}: allow user namespaces there, or install \
         chromium-sandbox"
    ))
}

#[cfg(not(target_os = "linux"))]
fn forbidden(_program: &Path) -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_that_is_not_there_is_told_with_what_to_do() {
        let told = obstacle(Path::new("/nowhere/chromium")).unwrap();
        assert!(told.contains("/nowhere/chromium") && told.contains("site_robot.browser"));
        assert!(find(Path::new("no-such-browser")).is_none());
        assert_eq!(find(Path::new("/bin/sh")).unwrap(), Path::new("/bin/sh"));
        assert_eq!(find(Path::new("sh")).unwrap().file_name().unwrap(), "sh");
    }
}
