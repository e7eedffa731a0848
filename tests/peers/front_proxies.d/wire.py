"""Raw HTTP/1 over sockets: bytes are sent unchanged, because a library would correct them."""

import re
import socket
import time
from dataclasses import dataclass, field

VISITOR = "127.0.0.3"


@dataclass
class Answer:
    """Response to one request; status 0 means that the connection ended without a response."""

    status: int = 0
    headers: list = field(default_factory=list)
    body: bytes = b""
    seconds: float = 0.0

    def header(self, name):
        values = [value for key, value in self.headers if key == name]
        return ", ".join(values) if values else None


def connect(address, source=VISITOR, timeout=10):
    """Connects to a port of 127.0.0.1 or to the path of a Unix socket."""
    if isinstance(address, int):
        return socket.create_connection(("127.0.0.1", address), timeout, (source, 0))
    stream = socket.socket(socket.AF_UNIX)
    stream.settimeout(timeout)
    stream.connect(str(address))
    return stream


def exchange(address, request, source=VISITOR, timeout=10):
    """Sends a request's bytes and reads the final response."""
    start = time.monotonic()
    answer = Answer()
    try:
        with connect(address, source, timeout) as stream:
            try:
                stream.sendall(request)
            except OSError:
                pass  # Refused before its end; the response may still arrive.
            answer = read_answer(stream.makefile("rb"), request.startswith(b"HEAD "))
    except (OSError, ValueError):
        pass
    answer.seconds = time.monotonic() - start
    return answer


def ask(address, target, agent=None, headers=(), method="GET", host="example.org", **more):
    """Sends a plain request."""
    return exchange(address, head(method, target, [("Host", host), *agent_line(agent), *headers]), **more)


def agent_line(agent):
    return [] if agent is None else [("User-Agent", agent)]


def head(method, target, headers, version="HTTP/1.1", body=b""):
    lines = [to_bytes(method) + b" " + to_bytes(target) + b" " + to_bytes(version)]
    lines += [to_bytes(name) + b": " + to_bytes(value) for name, value in headers]
    if not any(to_bytes(name).lower() == b"connection" for name, _ in headers):
        lines.append(b"Connection: close")
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def to_bytes(text):
    return text if isinstance(text, bytes) else str(text).encode("latin-1", "replace")


def read_answer(reader, is_head=False):
    """Reads one response after any 1xx responses."""
    while True:
        line = reader.readline(65_536)
        match = re.match(rb"HTTP/1\.[01] (\d{3})", line)
        if not match:
            # HTTP/0.9 has no head.
            return Answer(9, [], line + reader.read(1_000)) if line else Answer()
        answer = Answer(int(match[1]), read_headers(reader))
        if answer.status >= 200 or answer.status == 101:
            break
    if is_head or answer.status in (101, 204, 304):
        return answer
    answer.body = read_body(reader, dict(answer.headers), is_response=True)
    return answer


def read_headers(reader):
    """Reads header lines up to the blank one, names in lower case."""
    headers = []
    while (line := reader.readline(262_144)) not in (b"\r\n", b"\n", b""):
        name, _, value = line.decode("latin-1").partition(":")
        headers.append((name.lower(), value.strip()))
    return headers


def read_body(reader, headers, is_response=False):
    if "chunked" in headers.get("transfer-encoding", "").lower():
        body = b""
        while (size := int(reader.readline().split(b";")[0], 16)) > 0:
            body += reader.read(size)
            reader.readline()
        read_headers(reader)
        return body
    if "content-length" in headers:
        return reader.read(int(headers["content-length"]))
    return reader.read() if is_response else b""
