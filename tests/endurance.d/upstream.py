"""The server behind the proxy: pages of any size, in a separate process that can be killed.

GET /small: two bytes. GET /slow/MS: two bytes, later. GET /bytes/N and
/chunked/N: N bytes. GET /halves/MS and /chunkedhalves/MS: half of a page of
HALVES bytes, the rest later. POST: the SHA-256 of the body.

Small responses are written at once, head and body: if the server is killed, the other side gets either a complete
response or nothing.
"""

import hashlib
import http.server
import re
import signal
import socket
import subprocess
import sys
import time

BLOCK = 1 << 18
# More than any buffer on the way can hold.
HALVES = 1 << 16


def blocks(size):
    """Yields bytes in which no two blocks are alike."""
    rest = hashlib.shake_256(b"endurance").digest(BLOCK - 8)
    for number in range(-(-size // BLOCK)):
        block = number.to_bytes(8, "big") + rest
        yield block[: size - number * BLOCK]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    # Responses are written when complete, or when larger than this.
    wbufsize = 1 << 13

    def do_GET(self):
        kind, _, number = self.path[1:].partition("/")
        if kind in ("bytes", "chunked"):
            return self.send_large(kind == "chunked", int(number))
        if kind in ("halves", "chunkedhalves"):
            return self.send_halves(kind == "chunkedhalves", int(number))
        if kind == "slow":
            time.sleep(int(number) / 1000)
        return self.send_small(b"ok")

    def do_POST(self):
        digest = hashlib.sha256()
        for piece in self.pieces():
            digest.update(piece)
        self.send_small(digest.hexdigest().encode())

    def send_small(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_large(self, is_chunked, size):
        self.send_response(200)
        if is_chunked:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(size))
        self.end_headers()
        for block in blocks(size):
            self.wfile.write(b"%x\r\n%b\r\n" % (len(block), block) if is_chunked else block)
        if is_chunked:
            self.wfile.write(b"0\r\n\r\n")

    def send_halves(self, is_chunked, milliseconds):
        half = b"x" * (HALVES // 2)
        self.send_response(200)
        if is_chunked:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(HALVES))
        self.end_headers()
        for pause in (milliseconds, 0):
            self.wfile.write(b"%x\r\n%b\r\n" % (len(half), half) if is_chunked else half)
            self.wfile.flush()
            time.sleep(pause / 1000)
        if is_chunked:
            self.wfile.write(b"0\r\n\r\n")

    def pieces(self):
        length = self.headers["Content-Length"]
        if length is None:
            while size := int(self.rfile.readline().split(b";")[0], 16):
                yield self.rfile.read(size)
                self.rfile.readline()
            while self.rfile.readline().strip():
                pass
            return
        left = int(length)
        while left:
            piece = self.rfile.read(min(left, BLOCK))
            if not piece:
                raise ConnectionError("the body ends too early")
            left -= len(piece)
            yield piece

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 4096

    def handle_error(self, *_):
        """A disconnecting client is not an error."""


class Upstream:
    """The server as a process; it keeps its port across a restart."""

    def __init__(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def start(self):
        self.process = subprocess.Popen(
            [sys.executable, "-B", __file__, str(self.port)], stdout=subprocess.PIPE, text=True
        )
        assert re.match("ready", self.process.stdout.readline()), "the upstream does not start"

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()


if __name__ == "__main__":
    with Server(("127.0.0.1", int(sys.argv[1])), Handler) as server:
        print("ready", flush=True)
        server.serve_forever()
