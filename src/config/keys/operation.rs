//! What an administrator sees: the admin page, logs, traces.

use super::super::key::{Key, Kind, key};

pub(super) const OPERATION: &[Key] = &[
    key(
        "admin.path",
        Kind::Text,
        "/robot-detection/admin",
        "Path of the admin page",
    ),
    key(
        "admin.enabled",
        Kind::Bool,
        "true",
        "Whether there is an admin page",
    ),
    key(
        "admin.listen",
        Kind::Text,
        "",
        "Address and port of a listener for the admin page, /healthz, /readyz and /metrics alone; empty: they are on server.listen, the last three for direct requests from this machine only",
    ),
    key(
        "admin.secure_cookies",
        Kind::Bool,
        "false",
        "Whether the session cookie is sent over https only; set it when the site has https",
    ),
    key(
        "access_log.path",
        Kind::Text,
        "",
        "File that a line for every request is added to, with robot and decision; -: standard output; empty: none",
    ),
    key(
        "access_log.format",
        Kind::Text,
        "combined",
        "Format of the access log: common, combined or json",
    ),
    key(
        "otel.endpoint",
        Kind::Text,
        "",
        "URL that traces are posted to, such as http://127.0.0.1:4318/v1/traces, by a program built with the feature otel; empty: none",
    ),
    key(
        "log.level",
        Kind::Text,
        "info",
        "Level of the log: error, warn, info, debug, trace, or a filter such as robot_detection=debug",
    ),
    key(
        "log.format",
        Kind::Text,
        "text",
        "Format of the log: text or json",
    ),
];
