//! Checks whether rendering is possible, without starting a browser.

use std::path::{Path, PathBuf};

/// Program names of the browsers to search for if no browser is configured.
const NAMES: [&str; 6] = [
    // The headless shell uses less memory than the other browsers.
    "chromium-headless-shell",
    "chrome-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
];

/// Directories that are searched for a browser.
const DIRECTORIES: [&str; 5] = [
    "/usr/local/bin",
    "/usr/bin",
    "/bin",
    "/snap/bin",
    "/opt/google/chrome",
];

/// Files that can disable the sandbox for users other than root, each with the content that does
/// so.
#[cfg(target_os = "linux")]
const FORBIDDEN_BY: [(&str, &str); 3] = [
    ("/proc/sys/user/max_user_namespaces", "0"),
    ("/proc/sys/kernel/unprivileged_userns_clone", "0"),
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
    ),
];

/// Returns the reason why pages cannot be rendered, with advice; `None` if there is no known
/// problem.
///
/// `program` is the configured browser; if it is empty, an installed browser is used.
pub fn obstacle(program: &Path) -> Option<String> {
    let Some(found) = find(program) else {
        return Some(if program.as_os_str().is_empty() {
            "no browser is installed: install chromium, or set its path in site_robot.browser"
                .to_owned()
        } else {
            format!(
                "browser {} does not exist: correct site_robot.browser",
                program.display()
            )
        });
    };
    if is_root() {
        return Some(
            "Chromium cannot use its sandbox as root: run robot-detection as a separate user"
                .to_owned(),
        );
    }
    forbidden(&found)
}

/// Returns the path of the browser.
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
    // This setuid program provides the sandbox if users are not allowed to create one.
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
        "Chromium cannot use its sandbox because {path} is {value}: allow user namespaces or install \
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
    fn missing_browser_is_reported_with_advice() {
        let told = obstacle(Path::new("/nowhere/chromium")).unwrap();
        assert!(told.contains("/nowhere/chromium") && told.contains("site_robot.browser"));
        assert!(find(Path::new("no-such-browser")).is_none());
        assert_eq!(find(Path::new("/bin/sh")).unwrap(), Path::new("/bin/sh"));
        assert_eq!(find(Path::new("sh")).unwrap().file_name().unwrap(), "sh");
    }
}
