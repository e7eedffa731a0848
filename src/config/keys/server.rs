//! Listeners, the servers behind the proxy, and limits.

use super::super::key::{Key, Kind, SECONDS, key};

pub(super) const SERVER: &[Key] = &[
    key(
        "server.listen",
        Kind::List,
        "127.0.0.1:8080",
        "Where visitors reach the server: addresses with ports, unix:PATH, systemd or systemd:NAME; with TLS or the PROXY protocol: [[listener]]",
    ),
    key(
        "server.workers",
        Kind::Integer { min: 0, max: 1_024 },
        "0",
        "Threads that serve visitors; 0: one for each processor",
    ),
    key(
        "server.unix_socket_mode",
        Kind::Text,
        "660",
        "Permissions of the files of Unix sockets",
    ),
    key(
        "server.upstream",
        Kind::List,
        "",
        "Servers behind the proxy, one or several that serve the same: http(s)://HOST:PORT, h2c://HOST:PORT or unix:/PATH; empty: the demonstration site",
    ),
    key(
        "server.upstream_http2",
        Kind::Bool,
        "false",
        "Whether HTTP/2 is offered to servers behind https://; h2c:// speaks it always",
    ),
    key(
        "server.upstream_ca_file",
        Kind::Text,
        "",
        "File of certificates (PEM) of the authorities that servers behind https:// are believed by; empty: the system's",
    ),
    key(
        "server.health_path",
        Kind::Text,
        "",
        "Path that each server is asked for to see whether it is well (status 200 to 399); empty: only requests show it",
    ),
    key(
        "server.health_interval_seconds",
        SECONDS,
        "10",
        "Seconds between two such checks of a server",
    ),
    key(
        "server.hosts",
        Kind::List,
        "",
        "Names of this site: an absolute redirect_url on one of them is no loop, and the admin page answers to them alone; empty: any",
    ),
    key(
        "server.trusted_proxies",
        Kind::List,
        "",
        "Networks whose X-Forwarded-For, Forwarded and PROXY headers are believed, such as 10.0.0.0/8, and unix: for Unix sockets; empty: nobody's",
    ),
    key(
        "server.preserve_host",
        Kind::Bool,
        "true",
        "Whether the upstream gets the visitor's Host; false: its own",
    ),
    key(
        "server.connect_timeout_seconds",
        SECONDS,
        "5",
        "Seconds to connect to the upstream",
    ),
    key(
        "server.response_timeout_seconds",
        SECONDS,
        "60",
        "Seconds until the upstream's response begins",
    ),
    key(
        "server.upstream_idle_timeout_seconds",
        SECONDS,
        "300",
        "Seconds that an upstream's response may stand still once it has begun",
    ),
    key(
        "server.header_timeout_seconds",
        SECONDS,
        "10",
        "Seconds in which a visitor's request head must be complete",
    ),
    key(
        "server.idle_timeout_seconds",
        SECONDS,
        "75",
        "Seconds after which an idle connection is closed, and one whose client does not read or sends less than 1 KiB of a body",
    ),
    key(
        "server.drain_timeout_seconds",
        SECONDS,
        "30",
        "Seconds that requests under way get to end at shutdown",
    ),
    key(
        "server.drain_delay_seconds",
        Kind::Integer { min: 0, max: 3_600 },
        "0",
        "Seconds at shutdown in which /readyz says so and requests are still taken, before the listeners close",
    ),
    key(
        "server.max_connections",
        Kind::Integer {
            min: 1,
            max: 1_000_000,
        },
        "10000",
        "Connections at the same time of each listener; further ones wait",
    ),
    key(
        "server.max_connections_per_address",
        Kind::Integer {
            min: 0,
            max: 1_000_000,
        },
        "0",
        "Connections at the same time of one address (IPv6: of a /64); further ones are closed; trusted proxies have no limit; 0: nobody has",
    ),
    key(
        "server.max_headers",
        Kind::Integer {
            min: 1,
            max: 10_000,
        },
        "100",
        "Headers of a request; more are answered with 431",
    ),
    key(
        "server.max_header_bytes",
        Kind::Integer {
            min: 8_192,
            max: 1_048_576,
        },
        "32768",
        "Bytes of a request's head; more are answered with 431",
    ),
    key(
        "server.max_header_line_bytes",
        Kind::Integer {
            min: 1_024,
            max: 1_048_576,
        },
        "8192",
        "Bytes of one line of a request's head, its target too; more are answered with 431 or 414",
    ),
    key(
        "server.max_body_bytes",
        Kind::Integer {
            min: 0,
            max: 1_000_000_000_000_000,
        },
        "0",
        "Bytes of a request's body; more are answered with 413, or cut where the length is not told; 0: no limit",
    ),
    key(
        "server.fast_path",
        Kind::Bool,
        "true",
        "Read requests without a body by a parser of our own, and header lines that a server repeats by comparison; \"false\" leaves all to the ordinary parsers, with the same answers, to find out whether this is at fault",
    ),
];
