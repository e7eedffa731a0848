//! The site robot's form login and its password.

use std::{fs, os::unix::fs::MetadataExt as _, path::Path};

use url::Url;

use crate::config::{ConfigErrors, Loaded, Settings, SiteRobotKeys, SiteRobotSection};
use crate::site_robot::source::{Credentials, FormLogin};

use super::read_text;

const KEYS: SiteRobotKeys = SiteRobotSection::KEY;

/// The permission bits of a file for users other than its owner and group.
const OTHERS: u32 = 0o007;

/// Reads a site's form login; returns the login and warnings about its password.
///
/// # Errors
///
/// Returns an error that shows the place of the invalid value.
pub(crate) fn form_login(
    loaded: &Loaded,
    settings: &Settings,
) -> Result<(Option<FormLogin>, Vec<String>), ConfigErrors> {
    let own = &settings.site_robot;
    if own.login_form.is_empty() {
        return Ok((None, Vec::new()));
    }
    if matches!(own.login, Some(Credentials::Cookie(_))) {
        let reason = "a cookie and login_form both log in by cookie: remove one of them";
        return Err(loaded.invalid(&KEYS.login, reason));
    }
    let url = Url::parse(own.login_form.trim()).map_err(|error| error.to_string());
    let url = url.and_then(|url| match url.scheme() {
        "http" | "https" => Ok(url),
        scheme => Err(format!("{scheme}: does not lead to a page with a form")),
    });
    let url = url.map_err(|reason| {
        let reason = format!("{reason}; write it as https://www.example.com/login");
        loaded.invalid(&KEYS.login_form, reason)
    })?;
    let (password, warnings) = password(loaded, settings)?;
    let mut login = FormLogin::new(url, &own.login_password_field, &password);
    for (name, value) in own.login_fields.pairs() {
        login = login.field(name, value);
    }
    if !own.login_token_field.is_empty() {
        login = login.token_field(&own.login_token_field);
    }
    // With an upstream, the URL of the form does not show how the password is transmitted.
    if settings.server.upstream.is_empty() && !login.is_private() {
        let reason = "a password must not be sent over http: use the form's https URL";
        return Err(loaded.invalid(&KEYS.login_form, reason));
    }
    Ok((Some(login), warnings))
}

fn password(loaded: &Loaded, settings: &Settings) -> Result<(String, Vec<String>), ConfigErrors> {
    let own = &settings.site_robot;
    let (password, file, key) = match (&own.login_password_file, &own.login_password) {
        (Some(_), Some(_)) => {
            let reason = "login_password_file and login_password are both set: remove one of them";
            return Err(loaded.invalid(&KEYS.login_password, reason));
        }
        (Some(path), None) => {
            let read = read_text(&path.display().to_string());
            let text = read.map_err(|reason| loaded.invalid(&KEYS.login_password_file, reason))?;
            let line = text.trim_end_matches(['\r', '\n']).to_owned();
            (line, Some(path.as_path()), &KEYS.login_password_file)
        }
        (None, Some(password)) => {
            let text = String::from_utf8_lossy(password.bytes()).into_owned();
            // The origin is a place such as `c.toml:3`, or an environment variable, which is not a
            // path.
            let place = loaded.origin(&KEYS.login_password).rsplit_once(':');
            (
                text,
                place.map(|(path, _)| Path::new(path)),
                &KEYS.login_password,
            )
        }
        (None, None) => {
            let reason = "the form needs a password: set login_password_file, or the variable \
                          ROBOT_DETECTION_SITE_ROBOT_LOGIN_PASSWORD";
            return Err(loaded.invalid(&KEYS.login_form, reason));
        }
    };
    if password.is_empty() {
        return Err(loaded.invalid(key, "the password is empty"));
    }
    Ok((password, file.and_then(warning).into_iter().collect()))
}

/// Returns a warning if all users of the machine can read a password file.
fn warning(path: &Path) -> Option<String> {
    let mode = fs::metadata(path).ok()?.mode();
    let shown = path.display();
    (mode & OTHERS != 0).then(|| {
        format!("{shown} contains the site robot's password, but other users can read it: chmod o= {shown}")
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::config::Loader;

    fn read(text: &str) -> Result<(Option<FormLogin>, Vec<String>), ConfigErrors> {
        let text = format!("[site_robot]\n{text}");
        let loaded = Loader::new().file("c.toml", &text).load().unwrap();
        form_login(&loaded, loaded.settings())
    }

    fn error(text: &str) -> String {
        read(text).unwrap_err().to_string()
    }

    #[test]
    fn errors_name_their_place() {
        let form = "login_form = 'https://h.example/login'\n";
        for (text, expected) in [
            (
                form.to_owned(),
                "c.toml:2: site_robot.login_form: the form needs a password",
            ),
            (
                "login_form = 'http://h.example/login'\nlogin_password = 'geheim'".to_owned(),
                "c.toml:2: site_robot.login_form: a password must not be sent over http",
            ),
            (
                "login_form = 'ftp://h/'\nlogin_password = 'geheim'".to_owned(),
                "c.toml:2: site_robot.login_form: ftp: does not lead to a page",
            ),
            (
                format!("{form}login_password_file = '/nowhere'"),
                "c.toml:3: site_robot.login_password_file: cannot read /nowhere",
            ),
            (
                format!("{form}login_password = 'geheim'\nlogin = 'cookie a=geheim'"),
                "c.toml:4: site_robot.login: a cookie and login_form",
            ),
        ] {
            let error = error(&text);
            assert!(error.starts_with(expected), "{error}");
            assert!(!error.contains("geheim"), "{error}");
        }
        assert!(read("").unwrap().0.is_none());
    }

    #[test]
    fn password_file_readable_for_others_causes_a_warning() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("password");
        fs::write(&path, "geheim\n").unwrap();
        let text = format!(
            "login_form = 'http://127.0.0.1/login'\nlogin_password_file = '{}'",
            path.display()
        );
        let warnings = |mode| {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            read(&text).unwrap().1
        };
        assert!(warnings(0o600).is_empty());
        let told = warnings(0o644);
        assert!(
            told[0].contains("chmod o=") && !told[0].contains("geheim"),
            "{told:?}"
        );
    }
}
