//! Reads robot.conf and the configuration lines that override it.

use std::{fs::File, io::Read as _};

use crate::config::{ConfigErrors, Loaded, ServerSection, Settings, SiteRobotSection};
use crate::filter::{Severity, has_error};
use crate::site_robot::{RobotConf, RobotConfFile};

/// The maximum size of a settings file, in bytes.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Keys of robot.conf that have no effect, each with an alternative.
const UNUSED: [(&str, &str); 2] = [("command-port", API), ("remote-access", API)];

/// An alternative to robot.conf's command port, which has no login.
const API: &str = "use the API: the admin page's JSON API accepts commands with a token, and \
                   admin.listen sets its address";

/// An explanation that a proxy auto-configuration script is not supported.
const SCRIPT: &str = "auto-proxy: proxy.pac files are not supported; set the proxy itself, such as \
                      http://proxy.example.com:3128";

/// Reads robot.conf; returns its settings, its text, and warnings about the settings.
///
/// # Errors
///
/// Returns an error that shows the place of the invalid value.
pub(crate) fn robot_conf(
    loaded: &Loaded,
    settings: &Settings,
) -> Result<(RobotConf, String, Vec<String>), ConfigErrors> {
    let lines = settings.site_robot.robot.text();
    let own = RobotConfFile::parse(lines);
    if let Some(note) = own.notes().iter().find(|it| it.severity == Severity::Error) {
        return Err(loaded.invalid(&SiteRobotSection::KEY.robot, &note.text));
    }
    let path = &settings.site_robot.robot_conf;
    let text = if path.is_empty() {
        String::new()
    } else {
        let text =
            read(path).map_err(|error| loaded.invalid(&SiteRobotSection::KEY.robot_conf, error))?;
        let file = RobotConfFile::parse(&text);
        if has_error(file.notes()) {
            let error = RobotConf::parse(path, &text).err();
            let reason = error.map_or_else(String::new, |error| error.to_string());
            return Err(loaded.invalid(&SiteRobotSection::KEY.robot_conf, reason));
        }
        text
    };
    // Added after the lines of the file, because the last value of a repeated key takes effect.
    let all = format!("{}\n{lines}\n", text.trim_end_matches('\\'));
    let conf = RobotConfFile::parse(&all).conf().clone();
    if conf.auto_proxy.as_deref().is_some_and(is_script) {
        // Without the configured proxy, requests would take unintended routes.
        let has_line = own.conf().auto_proxy.is_some();
        let place = if has_line {
            &SiteRobotSection::KEY.robot
        } else {
            &SiteRobotSection::KEY.robot_conf
        };
        return Err(loaded.invalid(place, SCRIPT));
    }
    let warnings = warnings(&conf);
    Ok((conf, all, warnings))
}

/// Replaces texts for visitors by those of `server.texts_file`.
pub(crate) fn replace_texts(loaded: &Loaded) -> Result<(), ConfigErrors> {
    let Some(file) = &loaded.settings().server.texts_file else {
        return Ok(());
    };
    let replaced =
        read(&file.to_string_lossy()).and_then(|text| robot_detection_texts::replace(&text));
    replaced.map_err(|reason| loaded.invalid(&ServerSection::KEY.texts_file, reason))
}

/// Reads a settings file.
///
/// # Errors
///
/// Returns an error message if the file cannot be read or is too large.
pub(crate) fn read(path: &str) -> Result<String, String> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| {
        // One byte more than the limit shows that a file is too large, and an endless device cannot
        // fill the memory.
        let mut file = file.take(MAX_BYTES + 1);
        file.read_to_string(&mut text)
    });
    match read {
        Ok(_) if text.len() as u64 > MAX_BYTES => Err(format!("{path} is larger than 4 MiB")),
        Ok(_) => Ok(text),
        Err(error) => Err(format!("cannot read {path} (is it a file?): {error}")),
    }
}

fn warnings(conf: &RobotConf) -> Vec<String> {
    let unused = unused_keys(conf);
    let warning = |(key, reason)| format!("{key} of robot.conf is not used: {reason}");
    unused.map(warning).collect()
}

/// Returns the keys of robot.conf that are set but have no effect, each with an alternative.
pub(crate) fn unused_keys(conf: &RobotConf) -> impl Iterator<Item = (&'static str, &'static str)> {
    // `remote-access=false` requests the behaviour of this program.
    let is_off = |value: Option<&str>| matches!(value, None | Some("false"));
    let set = conf.rows().into_iter().filter(|row| !row.is_default);
    let set = set.filter(move |row| !is_off(row.value.as_deref()));
    set.filter_map(|row| UNUSED.iter().find(|(key, _)| *key == row.key).copied())
}

/// Returns `true` if the proxy setting names an auto-configuration script.
fn is_script(proxy: &str) -> bool {
    let path = proxy.split(['?', '#']).next().unwrap_or_default();
    path.to_ascii_lowercase().ends_with(".pac")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Loader;

    fn read_conf(text: &str) -> Result<(RobotConf, String, Vec<String>), ConfigErrors> {
        let loaded = Loader::new().file("c.toml", text).load().unwrap();
        robot_conf(&loaded, loaded.settings())
    }

    #[test]
    fn lines_of_the_configuration_override_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("robot.conf");
        std::fs::write(&path, "depth=3\nmax-connections=5\n").unwrap();
        let text = format!(
            "[site_robot]\nrobot_conf = '{}'\nrobot = ['depth=4']",
            path.display()
        );
        let (conf, ..) = read_conf(&text).unwrap();
        assert_eq!((conf.depth, conf.max_connections), (Some(4), 5));
    }

    #[test]
    fn errors_name_their_place() {
        for (text, expected) in [
            (
                "robot = 'dpeth=1'",
                "c.toml:2: site_robot.robot: \"dpeth\" is not a key",
            ),
            (
                "robot_conf = '/nowhere'",
                "c.toml:2: site_robot.robot_conf: cannot read /nowhere",
            ),
        ] {
            let error = read_conf(&format!("[site_robot]\n{text}")).unwrap_err();
            let error = error.to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn unused_key_is_reported_with_the_reason() {
        let text = "[site_robot]\nrobot = ['command-port=21445', 'remote-access=false', 'depth=2']";
        let (_, _, warnings) = read_conf(text).unwrap();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].starts_with("command-port of robot.conf is not used: "));
    }

    #[test]
    fn proxy_script_is_refused() {
        let text = "[site_robot]\nrobot = 'auto-proxy=http://p.example/proxy.pac'";
        let error = read_conf(text).unwrap_err().to_string();
        assert!(
            error.starts_with(
                "c.toml:2: site_robot.robot: auto-proxy: proxy.pac files are not supported"
            ),
            "{error}"
        );
        let text = "[site_robot]\nrobot = 'auto-proxy=http://p.example:3128'";
        assert!(read_conf(text).unwrap().2.is_empty());
    }
}
