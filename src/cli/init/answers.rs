//! The questions of `init --interactive`, and the configuration generated from the answers.

use std::fmt::Write as _;

use crate::app::{self, ServerSettings};
use crate::config::{ConfigErrors, Loader, OpenTo, Value};

/// The default schedule of the site robot: every night, in UTC.
pub(in crate::cli) const SCHEDULE: &str = "30 3 * * *";

/// A question of `init --interactive`.
#[derive(Clone, Copy, Debug, Eq, PartialEq, PartialOrd)]
pub(super) enum Question {
    Upstream,
    Hosts,
    Protected,
    AiRobots,
    Heaven,
    /// Visitors that may read robot heaven; asked only if robot heaven is used.
    Readers,
    Certificates,
    /// Paths of the certificate files; asked only if certificates are read from files.
    Files,
    /// Contact address; asked only if certificates are requested from an authority.
    Contact,
    Listen,
    /// Listen address for HTTPS; asked only if certificates are used.
    ListenTls,
}

/// The answers given so far; missing answers have default values.
#[derive(Clone, Debug)]
pub(super) struct Answers {
    upstream: String,
    /// Setting that specifies how the upstream normalizes paths.
    pub(super) path_setting: Option<&'static str>,
    hosts: Vec<String>,
    protected: Vec<String>,
    ai_robots: AiRobots,
    has_heaven: bool,
    /// Visitors that may read heaven; `None` before the question is answered.
    readers: Option<OpenTo>,
    certificates: Certificates,
    /// Files that contain the certificate and its key.
    files: [String; 2],
    contact: String,
    /// Listen addresses for HTTP and HTTPS.
    listen: [String; 2],
}

/// The action for robots that collect pages to train models.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum AiRobots {
    Pass,
    Ask,
    Refuse,
}

/// The source of certificates for HTTPS.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Certificates {
    Elsewhere,
    Files,
    Ordered,
}

const AI_ROBOTS: [(&str, AiRobots); 3] = [
    ("pass", AiRobots::Pass),
    ("ask", AiRobots::Ask),
    ("refuse", AiRobots::Refuse),
];

/// Possible answers to the question about certificates; the last answer requires the feature
/// `acme`.
const CERTIFICATES: [(&str, Certificates); 3] = [
    ("none", Certificates::Elsewhere),
    ("files", Certificates::Files),
    ("acme", Certificates::Ordered),
];

/// The name of the tested configuration, shown in error messages.
const TRIED: &str = "answers";

impl Question {
    /// All questions, in the order in which they are asked.
    pub(super) const ALL: [Self; 11] = [
        Self::Upstream,
        Self::Hosts,
        Self::Protected,
        Self::AiRobots,
        Self::Heaven,
        Self::Readers,
        Self::Certificates,
        Self::Files,
        Self::Contact,
        Self::Listen,
        Self::ListenTls,
    ];

    /// Returns the text of the question, with the possible answers.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Upstream => "URL of the site behind robot-detection (upstream)?",
            Self::Hosts => {
                "Host names of the site, separated by commas? \
                 Enter - to accept any name."
            }
            Self::Protected => {
                "Paths that robots cannot access, such as pages behind a login? Globs separated \
                 by commas; enter - for none."
            }
            Self::AiRobots => {
                "Robots that collect pages for AI training: pass (allow), ask (robots.txt asks these robots to \
                 stay away) or refuse (like ask, and their requests are refused)?"
            }
            Self::Heaven => {
                "Generate pages for robots from these paths (robot heaven)? yes, or no: robots \
                 are refused on these paths."
            }
            Self::Readers => {
                "Which visitors may read the full texts in robot heaven, including pages behind a login? all, robots (human visitors \
                 are redirected to the site) or verified (verified robots; other robots get titles and summaries)?"
            }
            Self::Certificates if cfg!(feature = "acme") => {
                "HTTPS: none (plain HTTP, or TLS is terminated elsewhere), files (certificate and key) or \
                 acme (certificates from Let's Encrypt; you agree to its terms)?"
            }
            Self::Certificates => {
                "HTTPS: none (plain HTTP, or TLS is terminated elsewhere) or files (certificate and key)?"
            }
            Self::Files => {
                "PEM files of the certificate chain and of the key, separated by a comma?"
            }
            Self::Contact => {
                "Contact e-mail address for the certificate authority, such as you@example.com?"
            }
            Self::Listen => {
                "Address and port to listen on? 0.0.0.0 means every \
                 IPv4 address of this machine."
            }
            Self::ListenTls => "Address and port to listen on for HTTPS?",
        }
    }
}

impl Default for Answers {
    fn default() -> Self {
        Self {
            path_setting: None,
            upstream: "http://127.0.0.1:3000".to_owned(),
            hosts: Vec::new(),
            protected: vec!["/members-only-stuff/*".to_owned()],
            ai_robots: AiRobots::Pass,
            has_heaven: true,
            readers: None,
            certificates: Certificates::Elsewhere,
            files: ["fullchain.pem", "privkey.pem"].map(|name| format!("/etc/ssl/site/{name}")),
            contact: String::new(),
            listen: ["0.0.0.0:80", "0.0.0.0:443"].map(str::to_owned),
        }
    }
}

impl Answers {
    /// Returns `true` if the question must be asked, according to the earlier answers.
    pub(super) fn wants(&self, question: Question) -> bool {
        match question {
            Question::Heaven => !self.protected.is_empty(),
            Question::Readers => self.has_heaven && !self.protected.is_empty(),
            Question::ListenTls => self.certificates != Certificates::Elsewhere,
            Question::Files => self.certificates == Certificates::Files,
            Question::Contact => self.certificates == Certificates::Ordered,
            _ => true,
        }
    }

    /// Returns the default answer, used if only Enter is pressed; empty if there is no default.
    pub(super) fn default_of(&self, question: Question) -> String {
        let listed = |items: &[String]| match items {
            [] => "-".to_owned(),
            items => items.join(", "),
        };
        match question {
            Question::Upstream => self.upstream.clone(),
            Question::Hosts => listed(&self.hosts),
            Question::Protected => listed(&self.protected),
            Question::AiRobots => word_of(&AI_ROBOTS, self.ai_robots),
            Question::Heaven => if self.has_heaven { "yes" } else { "no" }.to_owned(),
            Question::Readers => self.readers.map_or("", OpenTo::as_str).to_owned(),
            Question::Certificates => word_of(&CERTIFICATES, self.certificates),
            Question::Files => listed(&self.files),
            Question::Contact => self.contact.clone(),
            Question::Listen | Question::ListenTls => {
                let [plain, tls] = &self.listen;
                if question == Question::Listen {
                    plain
                } else {
                    tls
                }
                .clone()
            }
        }
    }

    /// Sets the answer to a question.
    ///
    /// # Errors
    ///
    /// Returns the reason why the answer is invalid; the answers are then unchanged.
    pub(super) fn take(&mut self, question: Question, answer: &str) -> Result<(), String> {
        if answer.chars().any(char::is_control) {
            return Err("the answer contains control characters".to_owned());
        }
        let mut tried = self.clone();
        tried.set(question, answer.trim())?;
        if question != Question::Certificates {
            // Settings from later questions must not make this answer invalid.
            let mut judged = tried.clone();
            judged.has_heaven &= question >= Question::Heaven;
            judged.check()?;
        }
        *self = tried;
        Ok(())
    }

    fn set(&mut self, question: Question, answer: &str) -> Result<(), String> {
        let text = || match answer {
            "" => Err("an answer is required".to_owned()),
            answer => Ok(answer.to_owned()),
        };
        match question {
            Question::Upstream => self.upstream = text()?,
            Question::Hosts => self.hosts = list(answer),
            Question::Protected => self.protected = list(answer),
            Question::AiRobots => self.ai_robots = one_of(&AI_ROBOTS, answer)?,
            Question::Heaven => self.has_heaven = is_yes(answer)?,
            Question::Readers => self.readers = Some(one_of(&readers(), answer)?),
            Question::Certificates => self.certificates = self.certificates_of(answer)?,
            Question::Files => {
                let files = list(answer).try_into();
                self.files = files.map_err(|_| "two files are required".to_owned())?;
            }
            Question::Contact => {
                let address = text()?;
                if !address.contains('@') {
                    return Err(format!("{address:?} is not an e-mail address"));
                }
                self.contact = address;
            }
            Question::Listen | Question::ListenTls => {
                let [plain, tls] = &mut self.listen;
                *(if question == Question::Listen {
                    plain
                } else {
                    tls
                }) = text()?;
            }
        }
        Ok(())
    }

    fn certificates_of(&self, answer: &str) -> Result<Certificates, String> {
        let certificates = match one_of(&CERTIFICATES, answer) {
            Ok(Certificates::Ordered) if !cfg!(feature = "acme") => {
                return Err("this program was built without the feature acme".to_owned());
            }
            certificates => certificates?,
        };
        if certificates == Certificates::Ordered && self.hosts.is_empty() {
            return Err(
                "a certificate requires host names, but no host names were specified".to_owned(),
            );
        }
        Ok(certificates)
    }

    /// Checks the configuration generated from the answers.
    fn check(&self) -> Result<(), String> {
        let judge = || {
            let loaded = Loader::new().file(TRIED, &self.configuration()).load()?;
            app::assemble(&loaded).map(drop)?;
            ServerSettings::new(&loaded, false).map(drop)
        };
        judge().map_err(|errors: ConfigErrors| {
            let errors = errors.0.into_iter().map(|error| error.message);
            errors.collect::<Vec<_>>().join("; ")
        })
    }

    /// Connects to the upstream; returns the reason if the connection fails.
    pub(super) async fn upstream_failure(&self) -> Result<Option<String>, ConfigErrors> {
        let loaded = Loader::new().file(TRIED, &self.configuration()).load()?;
        let server = ServerSettings::new(&loaded, false)?;
        let checked = server.check_upstreams().await;
        let mut failures = checked.into_iter().filter_map(|(.., result)| result.err());
        Ok(failures.next().map(|error| error.to_string()))
    }

    pub(super) fn upstream(&self) -> &str {
        &self.upstream
    }

    /// Returns the configuration generated from the answers.
    pub(super) fn configuration(&self) -> String {
        let mut text = String::from(
            "# Configuration of robot-detection, written by `init --interactive`.\n\
             # `robot-detection init --stdout` prints all settings with comments.\n\n",
        );
        let protected = Value::List(self.protected.clone());
        let _ = writeln!(text, "filter_pattern = {protected}");
        let upstream = Value::Text(self.upstream.clone());
        let _ = writeln!(text, "\n[server]\nupstream = {upstream}");
        if !self.hosts.is_empty() {
            let _ = writeln!(text, "hosts = {}", Value::List(self.hosts.clone()));
        }
        if let Some(setting) = self.path_setting {
            let _ = writeln!(text, "{setting} = true");
        }
        if self.certificates == Certificates::Elsewhere {
            let [plain, _] = self.listen.clone().map(Value::Text);
            let _ = writeln!(text, "listen = {plain}");
        }
        if self.ai_robots != AiRobots::Pass {
            text.push_str(ASKED);
        }
        if self.ai_robots == AiRobots::Refuse {
            text.push_str(ENFORCED);
        }
        text.push_str(&match (self.protected.is_empty(), self.has_heaven) {
            (true, _) => String::new(),
            (false, true) => self.heaven(),
            (false, false) => CLOSED.to_owned(),
        });
        text.push_str(&self.listeners());
        text
    }

    /// Returns the heaven settings; the site robot visits the site under its public name, if known.
    fn heaven(&self) -> String {
        let scheme = match self.certificates {
            Certificates::Elsewhere => "http",
            Certificates::Files | Certificates::Ordered => "https",
        };
        let site = self.hosts.first().map_or_else(
            || self.upstream.trim_end_matches('/').to_owned(),
            |host| format!("{scheme}://{host}"),
        );
        let globs = self.protected.iter();
        let starts = globs.map(|glob| format!("{site}{}", fixed_beginning(glob)));
        let readers = self
            .readers
            .map(|readers| format!("open_to = \"{}\"\n", readers.as_str()));
        format!(
            "\n[site_robot]\nstarting_points = {}\nschedule = \"{SCHEDULE}\"\n\n\
             [heaven]\nsource = \"database\"\nurl = {}\n{}",
            Value::List(starts.collect()),
            Value::Text(site),
            readers.unwrap_or_default(),
        )
    }

    fn listeners(&self) -> String {
        let [plain, tls] = self.listen.clone().map(Value::Text);
        let plain = format!(
            "\n[[listener]]\nlisten = {plain}\n\n[[listener]]\nlisten = {tls}\ntls = true\n"
        );
        match self.certificates {
            Certificates::Elsewhere => String::new(),
            Certificates::Files => {
                let [certificate, key] = self.files.clone().map(Value::Text);
                format!(
                    "{plain}\n[[certificate]]\ncertificate_file = {certificate}\nkey_file = {key}\n"
                )
            }
            Certificates::Ordered => {
                let contact = self.contact.trim_start_matches("mailto:");
                format!(
                    "{plain}acme.hosts = {}\nacme.contact = {}\nacme.agree_to_terms = true\nacme.cache = \"acme\"\n",
                    Value::List(self.hosts.clone()),
                    Value::List(vec![format!("mailto:{contact}")]),
                )
            }
        }
    }
}

/// Rule that refuses robots on protected paths if robot heaven is not used.
const CLOSED: &str = "
[heaven]
serve = false

[[rule]]
action = \"refuse\"
";

const ASKED: &str = "
[robots_txt]
serve = \"merge\"
refuse_purposes = [\"ai-training\"]
";

/// Setting to append to its table if robots.txt is enforced.
const ENFORCED: &str = "enforce = \"on\"\n";

/// Returns the part of a glob before the first wildcard.
pub(in crate::cli) fn fixed_beginning(glob: &str) -> &str {
    let plain = glob.split(['*', '?', '[']).next().unwrap_or_default();
    // The pattern of a single page starts at that page instead of its parent.
    if plain.len() == glob.len() {
        return glob;
    }
    let end = plain.rfind('/').map_or(0, |slash| slash + 1);
    plain.get(..end).unwrap_or("/")
}

fn readers() -> Vec<(&'static str, OpenTo)> {
    let all = OpenTo::ALL.iter();
    all.map(|readers| (readers.as_str(), *readers)).collect()
}

fn list(answer: &str) -> Vec<String> {
    let items = answer.split(',').map(str::trim);
    let items = items.filter(|item| !item.is_empty() && *item != "-");
    items.map(str::to_owned).collect()
}

fn is_yes(answer: &str) -> Result<bool, String> {
    match answer.to_ascii_lowercase().as_str() {
        "yes" | "y" => Ok(true),
        "no" | "n" => Ok(false),
        _ => Err(format!("{answer:?} is neither yes nor no")),
    }
}

fn one_of<T: Copy>(words: &[(&str, T)], answer: &str) -> Result<T, String> {
    let mut found = words.iter();
    let found = found.find(|(word, _)| word.eq_ignore_ascii_case(answer));
    found.map(|(_, meant)| *meant).ok_or_else(|| {
        let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        format!("{answer:?} is not one of {}", words.join(", "))
    })
}

fn word_of<T: Copy + PartialEq>(words: &[(&str, T)], meant: T) -> String {
    let mut found = words.iter();
    let found = found.find(|(_, one)| *one == meant);
    found.map_or_else(String::new, |(word, _)| (*word).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Loaded;

    /// Answers the questions in order; a question without a given answer gets the default answer.
    fn answered(given: &[(Question, &str)]) -> Result<Answers, String> {
        let mut answers = Answers::default();
        for question in Question::ALL {
            if answers.wants(question) {
                let mut found = given.iter().filter(|(about, _)| *about == question);
                let default = match question {
                    // This question has no default.
                    Question::Readers => "robots".to_owned(),
                    _ => answers.default_of(question),
                };
                let answer = found.next().map_or(&*default, |(_, answer)| answer);
                answers.take(question, answer)?;
            }
        }
        Ok(answers)
    }

    fn loaded(answers: &Answers) -> Loaded {
        let text = answers.configuration();
        Loader::new().file("f", &text).load().unwrap()
    }

    #[test]
    fn default_answers_make_a_short_working_file() {
        let text = answered(&[]).unwrap().configuration();
        let expected = "filter_pattern = [\"/members-only-stuff/*\"]\n\n\
            [server]\nupstream = \"http://127.0.0.1:3000\"\nlisten = \"0.0.0.0:80\"\n\n\
            [site_robot]\nstarting_points = [\"http://127.0.0.1:3000/members-only-stuff/\"]\n\
            schedule = \"30 3 * * *\"\n\n\
            [heaven]\nsource = \"database\"\nurl = \"http://127.0.0.1:3000\"\nopen_to = \"robots\"\n";
        assert_eq!(text.split_once("\n\n").unwrap().1, expected);
    }

    /// Writes certificate files to a directory, and returns their paths as an answer.
    fn files(directory: &std::path::Path) -> String {
        let made = rcgen::generate_simple_self_signed(["example.com".to_owned()]).unwrap();
        let files = [
            ("c.pem", made.cert.pem()),
            ("k.pem", made.signing_key.serialize_pem()),
        ];
        let written = files.map(|(name, text)| {
            let file = directory.join(name);
            std::fs::write(&file, text).unwrap();
            file.display().to_string()
        });
        written.join(", ")
    }

    #[test]
    fn all_combinations_of_answers_are_valid() {
        let directory = tempfile::tempdir().unwrap();
        let files = files(directory.path());
        let hosts = "www.example.com, example.com";
        for (ai_robots, _) in AI_ROBOTS {
            for heaven in ["yes", "NO"] {
                for certificates in ["none", "files", "acme"] {
                    let given = [
                        (Question::Hosts, hosts),
                        (Question::AiRobots, ai_robots),
                        (Question::Heaven, heaven),
                        (Question::Certificates, certificates),
                        (Question::Files, &*files),
                        (Question::Contact, "you@example.com"),
                    ];
                    if certificates == "acme" && cfg!(not(feature = "acme")) {
                        assert!(answered(&given).unwrap_err().contains("feature acme"));
                        continue;
                    }
                    let loaded = loaded(&answered(&given).unwrap());
                    let settings = loaded.settings();
                    assert_eq!(settings.server.hosts, ["www.example.com", "example.com"]);
                    let listeners = if certificates == "none" { 0 } else { 2 };
                    assert_eq!(settings.tables.listeners.len(), listeners);
                    let starts = usize::from(heaven == "yes");
                    assert_eq!(settings.tables.rules.len(), 1 - starts);
                    assert_eq!(settings.site_robot.starting_points.len(), starts);
                }
            }
        }
    }

    #[test]
    fn heaven_url_matches_the_public_host() {
        let directory = tempfile::tempdir().unwrap();
        let answers = answered(&[
            (Question::Hosts, "example.com,www.example.com"),
            (Question::Protected, "/a/*, /b/c*d/*,/e"),
            (Question::Certificates, "files"),
            (Question::Files, &*files(directory.path())),
        ]);
        let text = answers.unwrap().configuration();
        for line in [
            "starting_points = [\"https://example.com/a/\", \"https://example.com/b/\", \"https://example.com/e\"]",
            "url = \"https://example.com\"",
        ] {
            assert!(text.lines().any(|one| one == line), "{text}");
        }
    }

    #[test]
    fn wrong_answer_is_reported_and_changes_nothing() {
        for (question, answer, expected) in [
            (Question::Upstream, "gopher://a/", "gopher"),
            (Question::Upstream, "http://a\u{7}", "control characters"),
            (Question::Upstream, "", "an answer is required"),
            (Question::Hosts, "a b", "a b"),
            (Question::Hosts, "\"]\nupstream = 1", "control characters"),
            (Question::Hosts, "\"]#", "host"),
            (Question::Hosts, "bücher.example", "xn--"),
            (Question::Protected, "/a/[b", "[b"),
            (Question::AiRobots, "maybe", "not one of pass, ask, refuse"),
            (Question::Heaven, "1", "neither yes nor no"),
            (Question::Readers, "", "not one of all, robots, verified"),
            (Question::Listen, "80", "80"),
            (Question::Certificates, "acme", ""),
            (Question::Files, "/nowhere/a.pem", "two files"),
            (Question::Contact, "nobody", "not an e-mail address"),
        ] {
            let mut answers = Answers::default();
            let before = answers.configuration();
            let wrong = answers.take(question, answer).unwrap_err();
            assert!(wrong.contains(expected), "{answer}: {wrong}");
            assert_eq!(answers.configuration(), before);
        }
    }

    #[test]
    fn unusual_answers_are_kept_verbatim() {
        let odd = "/a\"b\\c/*";
        let answers = answered(&[
            (Question::Upstream, "http://[::1]:3000"),
            (Question::Hosts, "xn--bcher-kva.example,[::1]:80"),
            (Question::Protected, odd),
            (Question::Heaven, "no"),
        ]);
        let loaded = loaded(&answers.unwrap());
        let settings = loaded.settings();
        assert_eq!(settings.server.hosts.len(), 2);
        assert_eq!(
            Value::List(vec![odd.to_owned()]).to_string(),
            "[\"/a\\\"b\\\\c/*\"]"
        );
        assert!(loaded.effective_values().any(|(key, found)| {
            key.name == "filter_pattern" && found.value == Value::List(vec![odd.to_owned()])
        }));
        let none = answered(&[(Question::Protected, "-")]).unwrap();
        assert!(!none.wants(Question::Heaven) && !none.configuration().contains("[heaven]"));
    }
}
