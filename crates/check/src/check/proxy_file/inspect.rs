//! Finds places in an nginx configuration, as printed by `nginx -T`, where requests bypass the
//! query to this program.

use std::{
    collections::{HashMap, HashSet},
    fmt,
};

use super::nginx_text::{Directive, Source, TextError, parse};

/// The nginx location that queries this program.
const QUERY_LOCATION: &str = "/robot-detection-check";
/// Directives that an nginx block inherits only if it does not set the same directive itself; each
/// with the name that the printed line sets, and the `--part` that contains this line.
const GROUPS: [(&str, &str, &str); 6] = [
    ("proxy_set_header", "X-Robot-Detection", "location"),
    ("grpc_set_header", "X-Robot-Detection", "location"),
    ("fastcgi_param", "HTTP_X_ROBOT_DETECTION", "location"),
    ("uwsgi_param", "HTTP_X_ROBOT_DETECTION", "location"),
    ("scgi_param", "HTTP_X_ROBOT_DETECTION", "location"),
    ("add_header", "X-Robots-Tag", "response"),
];

/// A problem found at one place in an nginx configuration.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Finding {
    /// File and line of the problem.
    place: String,
    /// The nginx block that contains the problem: a location or a server.
    block: String,
    text: String,
    /// Whether requests reach the site without a query; if `false`, only a part of the response is
    /// lost.
    pub(crate) escapes: bool,
}

/// The result of inspecting an nginx configuration.
#[derive(Clone, Debug, Default)]
pub struct Inspection {
    /// Problems found in the nginx configuration.
    pub findings: Vec<Finding>,
    /// Number of nginx servers that query this program.
    pub servers: usize,
    known: HashSet<Finding>,
}

/// nginx settings inherited from the enclosing blocks.
#[derive(Clone, Default)]
struct Inherited<'d> {
    auth: Option<&'d Directive>,
    satisfies_any: bool,
    /// The block that provides the effective directives, by directive name.
    groups: HashMap<&'static str, &'d Directive>,
}

/// Finds the places in an nginx configuration where requests bypass the query to this program.
///
/// # Errors
///
/// Returns an error if the text is not an nginx configuration, is nested too deeply, or is too
/// long.
pub fn inspect(text: &str) -> Result<Inspection, TextError> {
    let source = Source::new(text);
    let main = parse(&source)?;
    let mut inspection = Inspection::default();
    for http in main.iter().filter(|one| one.name == "http") {
        let above = Inherited::default().below(http);
        for server in http.children("server") {
            inspection.server(server, &above);
        }
    }
    if inspection.servers == 0 {
        inspection.findings.push(Finding {
            place: source.name(),
            block: "http".to_owned(),
            text:
                "no server queries robot-detection; include the file from --part server in each server"
                    .to_owned(),
            escapes: true,
        });
    }
    Ok(inspection)
}

impl Inspection {
    /// Returns the number of places where requests bypass the query to this program.
    pub fn escapes(&self) -> usize {
        self.findings.iter().filter(|one| one.escapes).count()
    }

    fn server(&mut self, server: &Directive, above: &Inherited<'_>) {
        let level = above.below(server);
        let asks = level.asks() || server.contains_any(&|one| is_question(one));
        if asks {
            self.servers += 1;
            self.level(server, above, &level, true);
            return;
        }
        let mut root = server.children("location").filter(|one| one.has("/"));
        if refers(server) || root.any(refers) {
            for location in server.children("location").filter(|one| !refers(one)) {
                self.note(location, "requests bypass robot-detection");
            }
        } else if is_local(server) {
            self.note(
                server,
                "this server sends no queries, because it listens only on loopback or Unix sockets",
            );
        } else {
            self.escape(
                server,
                "this server sends no queries to robot-detection; include the file from --part server",
            );
        }
    }

    /// Inspects a server or location and its nested locations.
    fn level<'d>(
        &mut self,
        block: &'d Directive,
        above: &Inherited<'d>,
        level: &Inherited<'d>,
        is_outer: bool,
    ) {
        let own_auth = block.children("auth_request").last();
        let is_server = block.name == "server";
        if level.asks() {
            let own_satisfy = block.children("satisfy").next();
            if level.satisfies_any && (is_server || own_satisfy.is_some()) {
                self.escape(own_satisfy.unwrap_or(block).within(block), "satisfy any allows requests that robot-detection refuses, and requests that robot-detection allows need no password; use satisfy all");
            }
            self.lost(block, above);
        } else if !is_server && !refers(block) && (is_outer || own_auth.is_some()) {
            let text = match own_auth {
                Some(off) if off.has("off") => {
                    "auth_request off: requests bypass robot-detection; remove this line".to_owned()
                }
                Some(other) => format!(
                    "auth_request {} replaces the query to robot-detection; remove this line, and have your application query the other server",
                    other.first()
                ),
                None => {
                    "requests bypass robot-detection; include the file from --part server in the server"
                        .to_owned()
                }
            };
            self.escape(own_auth.unwrap_or(block).within(block), &text);
        }
        for location in block.children("location").filter(|one| !is_ours(one)) {
            self.level(location, level, &level.below(location), is_server);
        }
    }

    /// Reports the parts of robot-detection's responses that are lost in an nginx block although
    /// the block sends queries.
    fn lost(&mut self, block: &Directive, above: &Inherited<'_>) {
        let is_server = block.name == "server";
        for (group, ours, part) in GROUPS {
            let own: Vec<_> = block.children(group).collect();
            let Some(first) = own.first().filter(|_| uses(block, group)) else {
                continue;
            };
            let is_other = |one: &&Directive| !mentions_us(one);
            let inherited = above.groups.get(group);
            let cancelled = inherited.and_then(|all| all.children(group).find(is_other));
            if !own.iter().any(|one| one.first().eq_ignore_ascii_case(ours)) {
                let what = if part == "response" {
                    "headers added by rules are missing from responses"
                } else {
                    "the site does not get the robot's identity"
                };
                let text = format!(
                    "{what}: these {group} lines replace the lines of robot-detection; include the file from --part {part} next to them"
                );
                self.note(first.within(block), &text);
            } else if let Some(cancelled) = cancelled
                && own.iter().all(|one| mentions_us(one))
            {
                let text = format!(
                    "the {group} lines in the included file replace the lines at {}; repeat those lines here, or remove the include",
                    cancelled.place()
                );
                self.note(first.within(block), &text);
            }
        }
        self.lost_pages(block, above);
        let mut sets = block.children("auth_request_set").peekable();
        if let Some(first) = sets.peek().copied()
            && !sets.any(mentions_us)
        {
            self.note(first.within(block), "this auth_request_set replaces the lines of robot-detection: the robot's identity is missing, and an internal redirect repeats the query; repeat the lines from --part server");
        }
        for found in block.own("return").filter(|one| returns_content(one)) {
            self.note(
                found.within(block),
                "this return sends a response without a query to robot-detection",
            );
        }
        if is_server {
            for found in block.own("rewrite").filter(|one| may_rewrite_question(one)) {
                let text = format!(
                    "this rewrite also applies to the query, because it is in a server: if it matches {QUERY_LOCATION}, every request fails; move it into a location"
                );
                self.note(found.within(block), &text);
            }
        }
    }

    /// Reports `error_page` lines in an nginx block that replace robot-detection's responses.
    fn lost_pages(&mut self, block: &Directive, above: &Inherited<'_>) {
        let is_server = block.name == "server";
        let own: Vec<_> = block.children("error_page").collect();
        let first_403 = own
            .iter()
            .find(|one| one.args.iter().any(|arg| arg == "403"));
        match first_403 {
            Some(page) if !mentions_us(page) => {
                let remedy = if is_server {
                    "include the file from --part server before this line"
                } else {
                    "remove this line, or accept this behaviour"
                };
                let text = format!(
                    "this error_page 403 replaces robot-detection's responses: refused and redirected robots get a plain 403; {remedy}"
                );
                self.note(page.within(block), &text);
            }
            None if let Some(page) = own.first() => self.note(page.within(block), "this error_page replaces the error_page of robot-detection: refused and redirected robots get a plain 403; add: error_page 403 = $robot_detection_error_page;"),
            _ => {}
        }
        if is_server
            && own.iter().all(|one| mentions_us(one))
            && let Some(above) = above.groups.get("error_page")
            && let Some(page) = above.children("error_page").find(|one| !mentions_us(one))
        {
            let text = format!(
                "the error_page in the included file replaces the error_page lines at {}; repeat those lines here",
                page.place()
            );
            self.note(block.within(block), &text);
        }
    }

    fn note(&mut self, at: impl Into<Position>, text: &str) {
        self.add(at.into(), text, false);
    }

    fn escape(&mut self, at: impl Into<Position>, text: &str) {
        self.add(at.into(), text, true);
    }

    fn add(&mut self, at: Position, text: &str, escapes: bool) {
        let finding = Finding {
            place: at.place,
            block: at.block,
            text: text.to_owned(),
            escapes,
        };
        // A problem in a file that two blocks include is reported only once.
        if self.known.insert(finding.clone()) {
            self.findings.push(finding);
        }
    }
}

/// The position of a directive, with the block that contains the directive.
struct Position {
    place: String,
    block: String,
}

impl From<&Directive> for Position {
    fn from(block: &Directive) -> Self {
        block.within(block)
    }
}

impl Directive {
    fn within(&self, block: &Self) -> Position {
        let names = block.children("server_name").flat_map(|one| &one.args);
        let names: Vec<_> = names.chain(&block.args).map(String::as_str).collect();
        Position {
            place: self.place(),
            block: [block.name.as_str(), &names.join(" ")]
                .join(" ")
                .trim()
                .to_owned(),
        }
    }
}

impl<'d> Inherited<'d> {
    fn below(&self, block: &'d Directive) -> Self {
        let mut level = self.clone();
        level.auth = block.children("auth_request").last().or(level.auth);
        if let Some(satisfy) = block.children("satisfy").last() {
            level.satisfies_any = satisfy.has("any");
        }
        let names = GROUPS.map(|(group, ..)| group);
        for name in names.into_iter().chain(["error_page"]) {
            if block.children(name).next().is_some() {
                level.groups.insert(name, block);
            }
        }
        level
    }

    fn asks(&self) -> bool {
        self.auth.is_some_and(is_question)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.escapes { "escapes" } else { "note" };
        write!(f, "{} {}: {kind}: {}", self.place, self.block, self.text)
    }
}

fn is_question(directive: &Directive) -> bool {
    directive.name == "auth_request" && directive.has(QUERY_LOCATION)
}

/// Returns `true` if a location comes from a file printed by this program.
fn is_ours(location: &Directive) -> bool {
    let name = location.args.last().map_or("", String::as_str);
    let passes = location.children("proxy_pass").next();
    name == QUERY_LOCATION
        || name.starts_with("@robot_detection")
        || passes.is_some_and(|one| one.has("http://robot_detection"))
}

fn mentions_us(directive: &Directive) -> bool {
    let is_ours = |arg: &String| {
        let arg = arg.to_ascii_lowercase().replace('-', "_");
        arg.contains("robot_detection")
    };
    // Lines that clear a header for another protocol have an empty value.
    directive.args.iter().any(is_ours) || directive.args.get(1).is_some_and(String::is_empty)
}

/// Returns `true` if a block or one of its locations passes requests to a server that uses the
/// group's protocol.
fn uses(block: &Directive, group: &str) -> bool {
    let Some((protocol, _)) = group.split_once('_').filter(|(first, _)| *first != "add") else {
        return true;
    };
    block.contains_any(&|one| one.name.strip_suffix("_pass") == Some(protocol))
}

/// Returns `true` if a `return` directive sends a text instead of redirecting or refusing.
fn returns_content(directive: &Directive) -> bool {
    let status = directive.first().parse::<u16>();
    status.is_ok_and(|status| (200..300).contains(&status)) && directive.args.len() > 1
}

/// Returns `true` if a block redirects or refuses all requests and so never serves the site's
/// content.
fn refers(block: &Directive) -> bool {
    block.children("return").any(|one| !returns_content(one))
}

/// Returns `false` if a rewrite's pattern starts with a path other than the query location's path.
fn may_rewrite_question(directive: &Directive) -> bool {
    let Some(pattern) = directive.first().strip_prefix('^') else {
        return true;
    };
    let is_literal = |c: char| c.is_ascii_alphanumeric() || "/_-".contains(c);
    let literal = pattern.split(|c| !is_literal(c)).next().unwrap_or_default();
    // The character after a literal may make the literal's last character optional.
    let sure = literal.strip_suffix(is_literal).unwrap_or_default();
    QUERY_LOCATION.starts_with(sure)
}

/// Returns `true` if a server listens only on loopback addresses and Unix sockets.
fn is_local(server: &Directive) -> bool {
    let local = ["127.", "localhost", "[::1]", "unix:"];
    let is_local = |one: &Directive| local.iter().any(|start| one.first().starts_with(start));
    let mut listens = server.children("listen").peekable();
    listens.peek().is_some() && listens.all(is_local)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three configuration files as printed by `nginx -T`.
    const PRINTED: &str = r#"nginx: the configuration file /etc/nginx/nginx.conf syntax is ok
# configuration file /etc/nginx/nginx.conf:
events { }
http {
    error_page 404 /404.html;
    include sites/*.conf;
    server { listen 80; return 301 https://$host$request_uri; }
    server { listen 80; server_name b.example; root /b; }
    server { listen 127.0.0.1:81; root /b; }
}

# configuration file /etc/nginx/sites/a.conf:
server {
    listen 443 ssl; server_name a.example;
    include /etc/nginx/ask.conf; # a } in a comment
    rewrite ^([^.]*[^/])$ $1/ permanent;
    rewrite ^/wp-(.*)$ /wp/$1 last;
    set $text "a } { ; \" ' ${host}";
    location /api/ { auth_request off; location /api/deep/ { proxy_pass http://a; } }
    location ~ "^/x{1,2}/" { satisfy any; }
    location /sso/ { auth_request /sso; }
    location /own/ { error_page 404 = @app; proxy_set_header Host $host; proxy_pass http://a; }
    location /text { return 200 hello; }
    location /lua { content_by_lua_block { local a = "}{" -- don't
    } }
    location /forbidden { error_page 403 /403.html; }
}

# configuration file /etc/nginx/ask.conf:
auth_request /robot-detection-check;
error_page 403 = $robot_detection_error_page;
location = /robot-detection-check { internal; proxy_pass http://robot_detection_check/check/nginx; }
location ^~ /robot-heaven/ { auth_request off; proxy_pass http://robot_detection; }
"#;

    fn found(text: &str) -> Vec<String> {
        let inspection = inspect(text).unwrap();
        inspection.findings.iter().map(Finding::to_string).collect()
    }

    #[test]
    fn each_place_is_reported_with_file_and_line() {
        let found = found(PRINTED);
        let expected = [
            "/etc/nginx/sites/a.conf:1 server a.example: note: the error_page in the included file replaces the error_page lines at /etc/nginx/nginx.conf:3",
            "/etc/nginx/sites/a.conf:4 server a.example: note: this rewrite also applies",
            "/etc/nginx/sites/a.conf:7 location /api/: escapes: auth_request off",
            "/etc/nginx/sites/a.conf:8 location ~ ^/x{1,2}/: escapes: satisfy any",
            "/etc/nginx/sites/a.conf:9 location /sso/: escapes: auth_request /sso",
            "/etc/nginx/sites/a.conf:10 location /own/: note: the site does not get",
            "/etc/nginx/sites/a.conf:10 location /own/: note: this error_page replaces",
            "/etc/nginx/sites/a.conf:11 location /text: note: this return",
            "/etc/nginx/sites/a.conf:14 location /forbidden: note: this error_page 403",
            "/etc/nginx/nginx.conf:6 server b.example: escapes: this server sends no queries",
            "/etc/nginx/nginx.conf:7 server: note: this server sends no queries",
        ];
        assert_eq!(found.len(), expected.len(), "{found:#?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.starts_with(expected), "{found}\n{expected}");
        }
        assert_eq!(inspect(PRINTED).unwrap().servers, 1);
    }

    #[test]
    fn configuration_without_a_query_is_reported() {
        for text in ["", "http { }", "stream { server { listen 1; } }"] {
            let inspection = inspect(text).unwrap();
            assert_eq!(inspection.escapes(), 1, "{text}");
        }
    }

    #[test]
    fn odd_and_truncated_texts_are_read_or_refused() {
        for (at, _) in PRINTED.char_indices() {
            let (start, end) = PRINTED.split_at(at);
            let _ = inspect(start);
            let _ = inspect(end);
            let _ = inspect(&format!("{start}\\{end}"));
            let _ = inspect(&format!("{start}{{\u{fffd}\"{end}"));
        }
        let deep = "a {".repeat(100_000);
        let itself = "# configuration file /a:\ninclude a; include a;\n";
        let many = "# configuration file /a:\ninclude b*;include b*;include b*;\n# configuration file /b1:\ninclude c*;include c*;\n# configuration file /c1:\nx;\n";
        for (text, is_read) in [
            (deep.as_str(), false),
            (itself, false),
            (many, true),
            ("}", false),
            ("http {", false),
            ("http { server { location / { proxy_pass \"", false),
            ("include ****************b;", true),
            (";;;{}{};", true),
        ] {
            assert_eq!(inspect(text).is_ok(), is_read, "{:?}", text.get(..40));
        }
    }
}
