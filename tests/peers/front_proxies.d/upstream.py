"""Web site behind every proxy: it returns the request as CGI, WSGI and raw applications read it."""

import base64
import hashlib
import json
import re
import socket
import threading
from urllib.parse import unquote_to_bytes

import wire

IDENTITY = ("X_ROBOT_DETECTION", "X_ROBOT_DETECTION_VERDICT")
# Value of all forged headers.
FORGED = "203.0.113.66"


class Site:
    """Upstream server that describes each request in the header `X-Site` of its response."""

    def __init__(self, name):
        self.name = name
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            stream, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(stream,), daemon=True).start()

    def serve(self, stream):
        try:
            reader = stream.makefile("rb")
            while line := reader.readline():
                method, target, _ = (line.decode("latin-1").strip() + "  ").split(" ", 2)
                headers = wire.read_headers(reader)
                named = dict(headers)
                if named.get("upgrade", "").lower() == "websocket":
                    key = named.get("sec-websocket-key", "") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
                    accept = base64.b64encode(hashlib.sha1(key.encode()).digest())
                    stream.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                                   b"Sec-WebSocket-Accept: " + accept + b"\r\n" + self.described(method, target, headers) + b"\r\n")
                    stream.sendall(reader.read(5))
                    return
                if named.get("expect", "").lower() == "100-continue":
                    stream.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
                wire.read_body(reader, named)
                text = b"site\n"
                if target == "/echo":
                    text += "".join(f"{name}: {value}\n" for name, value in headers).encode("latin-1", "replace")
                length, text = len(text), b"" if method == "HEAD" else text
                stream.sendall(
                    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n" % length +
                    b"Content-Usage: train-ai=y\r\nLink: </a.css>; rel=preload\r\n"
                    + self.described(method, target, headers) + b"\r\n" + text
                )
        except (OSError, ValueError):
            pass
        finally:
            stream.close()

    def described(self, method, target, headers):
        seen = {"site": self.name, "method": method, "target": target[:300], "lines": len(headers)}
        seen["refused"] = resolved(target)[:1] == [b"refused"] and len(resolved(target)) > 1
        for way, fold in (("cgi", cgi), ("wsgi", wsgi), ("raw", raw)):
            identity = {}
            for name, value in headers:
                if is_identity(cgi(name)):
                    identity.setdefault(fold(name), []).append(value[:120])
            seen[way] = identity
        return b"X-Site: " + json.dumps(seen).encode() + b"\r\n"


def cgi(name):
    """CGI variable without `HTTP_`; servers fold names differently, so this is the most lenient folding."""
    return re.sub(r"[^A-Z0-9]", "_", name.upper())


def wsgi(name):
    return name.upper().replace("-", "_")


def raw(name):
    return name.lower()


def is_identity(folded):
    return folded.startswith(("X_ROBOT_DETECTION", "X_FORWARDED", "X_ORIGINAL", "X_REAL_IP")) or folded == "FORWARDED"


def resolved(target):
    """Segments of the path as an application reads it: decoded once, without dot segments and empty ones."""
    path = target.encode("latin-1", "replace").split(b"?")[0].split(b"#")[0]
    path = re.sub(rb"^[a-zA-Z]+://[^/]*", b"", path)
    segments = []
    for segment in unquote_to_bytes(path).split(b"/"):
        if segment == b"..":
            segments = segments[:-1]
        elif segment not in (b"", b"."):
            segments.append(segment)
    return segments
