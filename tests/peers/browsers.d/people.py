"""Browsers that people use, and generated header sets of browsers."""

import json
import os
import socket
import ssl
import subprocess
import tempfile
import time

from h2.config import H2Configuration
from h2.connection import H2Connection

PAGES = ["/", "/members-only-stuff/", "/robot-heaven/"]

PREFERENCES = """
user_pref("network.dns.localDomains", "site.example");
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("browser.aboutwelcome.enabled", false);
user_pref("browser.startup.homepage_override.mstone", "ignore");
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("network.captive-portal-service.enabled", false);
user_pref("dom.security.https_first", false);
user_pref("network.http.http2.enabled", %s);
"""

GENERATE = """
const { HeaderGenerator } = require('header-generator');
const generator = new HeaderGenerator({ browsers: ['chrome', 'firefox', 'safari', 'edge'] });
for (let made = 0; made < +process.argv[1]; made++) {
    const httpVersion = made % 2 ? '1' : '2';
    console.log(JSON.stringify([httpVersion, generator.getHeaders({ httpVersion })]));
}
"""


def browsers(program, tools):
    """Runs each browser over each protocol; returns the browsers with their log lines."""
    display = f":{1000 + os.getpid() % 1000}"
    screen = subprocess.Popen(["Xvfb", display, "-screen", "0", "1024x768x24"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(2)
    environment = os.environ | {"DISPLAY": display}
    plain = f"http://site.example:{program.plain}"
    tls = f"https://site.example:{program.tls}"
    here = f"http://127.0.0.1:{program.plain}"
    rows = []

    def run(who, command, seconds):
        try:
            subprocess.run(command, env=environment, timeout=seconds, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            pass
        rows.append((who, program.lines()))

    try:
        for who, base, more in [
            ("chromium, plain", plain, []),
            ("chromium, HTTP/2", tls, []),
            ("chromium, TLS and HTTP/1.1", tls, ["--disable-http2"]),
            ("chromium, private window", tls, ["--incognito"]),
        ]:
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
                run(who, ["chromium", "--no-sandbox", f"--user-data-dir={profile}", "--no-first-run",
                          "--ignore-certificate-errors", "--host-resolver-rules=MAP site.example 127.0.0.1",
                          *more, *(base + page for page in PAGES)], 20)
        for who, base, http2, more in [
            ("firefox, plain", plain, "true", []),
            ("firefox, HTTP/2", tls, "true", []),
            ("firefox, TLS and HTTP/1.1", tls, "false", []),
            ("firefox, private window", tls, "true", ["--private-window"]),
        ]:
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
                with open(f"{profile}/user.js", "w") as preferences:
                    preferences.write(PREFERENCES % http2)
                subprocess.run(["certutil", "-N", "-d", f"sql:{profile}", "--empty-password"], check=True)
                subprocess.run(["certutil", "-A", "-d", f"sql:{profile}", "-n", "peer", "-t", "CT,,",
                                "-i", program.at / "ca.pem"], check=True)
                pages = [base + page for page in (PAGES[:1] if more else PAGES)]
                run(who, ["firefox-esr", "--no-remote", "--profile", profile, *more, *pages], 30)
        for command in (["w3m", "-dump"], ["lynx", "-dump"], ["elinks", "-dump"]):
            run(command[0], [*command, here + "/"], 10)
        for command in ("dillo", "netsurf"):
            run(command, [command, here + "/"], 8)
    finally:
        screen.terminate()
        screen.wait()
    return rows


def generated(program, tools, number):
    """Sends generated header sets over TLS, each with its own protocol."""
    made = subprocess.run(["node", "-e", GENERATE, str(number)], cwd=tools, check=True, capture_output=True)
    rows = {"1": [], "2": []}
    sets = [json.loads(line) for line in made.stdout.splitlines()]
    for version, send in (("1", send_http1), ("2", send_http2)):
        send(program, [headers for of, headers in sets if of == version])
        rows[version] = program.lines()
    return [("header-generator, HTTP/1.1", rows["1"]), ("header-generator, HTTP/2", rows["2"])]


def connect(program, protocol):
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols([protocol])
    connection = socket.create_connection(("127.0.0.1", program.tls))
    return context.wrap_socket(connection, server_hostname="site.example")


def send_http1(program, sets):
    stream = None
    for headers in sets:
        # Connection headers are the browser's, and not part of the set.
        lines = [f"{name}: {value}" for name, value in headers.items() if name.lower() not in ("host", "connection")]
        is_chromium = "Chrome/" in headers.get("user-agent", headers.get("User-Agent", ""))
        if is_chromium:
            lines.insert(0, "Connection: keep-alive")
        else:
            at = next((at for at, line in enumerate(lines) if line.lower().startswith("accept-encoding")), -1)
            lines.insert(at + 1, "Connection: keep-alive")
        head = "\r\n".join(["GET / HTTP/1.1", "Host: site.example", *lines, "", ""])
        stream = stream or connect(program, "http/1.1")
        stream.sendall(head.encode("latin1"))
        answer = stream.makefile("rb")
        length, line = 0, answer.readline()
        while line not in (b"\r\n", b""):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
            line = answer.readline()
        if not length:
            stream = None
        answer.read(length)


def send_http2(program, sets):
    for start in range(0, len(sets), 50):
        stream = connect(program, "h2")
        connection = H2Connection(H2Configuration(header_encoding="latin1", normalize_outbound_headers=False))
        connection.initiate_connection()
        for headers in sets[start:start + 50]:
            pseudo = [(":method", "GET"), (":authority", "site.example"), (":scheme", "https"), (":path", "/")]
            fields = [(name.lower(), value) for name, value in headers.items()
                      if name.lower() not in ("host", "connection")]
            connection.send_headers(connection.get_next_available_stream_id(), pseudo + fields, end_stream=True)
        stream.sendall(connection.data_to_send())
        ended = 0
        while ended < len(sets[start:start + 50]):
            data = stream.recv(65536)
            if not data:
                break
            for event in connection.receive_data(data):
                name = type(event).__name__
                if name == "DataReceived":
                    connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                ended += name in ("StreamEnded", "StreamReset")
            stream.sendall(connection.data_to_send())
        stream.close()
