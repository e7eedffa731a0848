"""Large bodies: byte for byte, in little memory."""

import hashlib
import socket

from client import HEADERS, connection
from upstream import blocks

LIMIT_KIB = 32 * 1024


def size(is_short):
    return (1 << 26) if is_short else (1 << 30)


def expected(length):
    digest = hashlib.sha256()
    for block in blocks(length):
        digest.update(block)
    return digest.hexdigest()


def download(program, path, length):
    before = program.memory_kib()
    client = connection(program.port)
    client.request("GET", f"{path}/{length}", headers=HEADERS)
    answer = client.getresponse()
    assert answer.status == 200, f"status {answer.status}"
    digest, received = hashlib.sha256(), 0
    while piece := answer.read(1 << 18):
        digest.update(piece)
        received += len(piece)
    client.close()
    assert received == length, f"{received} bytes of {length}"
    return judged(program, before, length, digest.hexdigest())


def upload(program, length, is_chunked):
    before = program.memory_kib()
    framing = "Transfer-Encoding: chunked" if is_chunked else f"Content-Length: {length}"
    head = f"POST / HTTP/1.1\r\nHost: a\r\nUser-Agent: {HEADERS['User-Agent']}\r\n{framing}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", program.port), 60) as client:
        client.sendall(head.encode())
        for block in blocks(length):
            client.sendall(b"%x\r\n%b\r\n" % (len(block), block) if is_chunked else block)
        if is_chunked:
            client.sendall(b"0\r\n\r\n")
        answer = b""
        while len(answer.partition(b"\r\n\r\n")[2]) < 64:
            piece = client.recv(4096)
            assert piece, f"the response ends too early: {answer}"
            answer += piece
    return judged(program, before, length, answer[-64:].decode())


def judged(program, before, length, digest):
    assert digest == expected(length), "the body has changed"
    grown = program.peak_kib() - before
    assert grown < LIMIT_KIB, f"memory grew by {grown} KiB"
    return f"{length >> 20} MiB, the same bytes; memory grew by {grown / 1024:.1f} MiB"


def download_with_length(program, _, is_short):
    return download(program, "/bytes", size(is_short))


def download_chunked(program, _, is_short):
    return download(program, "/chunked", size(is_short))


def upload_with_length(program, _, is_short):
    return upload(program, size(is_short), is_chunked=False)


def upload_chunked(program, _, is_short):
    return upload(program, size(is_short), is_chunked=True)


CHECKS = [download_with_length, download_chunked, upload_with_length, upload_chunked]
