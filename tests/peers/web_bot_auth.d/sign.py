"""Signs requests to servers with http-message-signatures, and reads the servers' verdicts.

Argument: the certificate and key of the key directories, in PEM. The script serves a valid and a too large directory on
loopback, and prints their addresses. Then it reads two lines, each with the HOST:PORT of a server and its log: one that
may fetch from private networks, and one that may not. Both admit only verified robots to /members/.
"""

import base64
import datetime
import hashlib
import http.client
import http.server
import json
import secrets
import ssl
import sys
import threading
import time

from cryptography.hazmat.primitives.asymmetric import ed25519
from http_message_signatures import HTTPMessageSigner, HTTPSignatureKeyResolver, algorithms

DIRECTORY = "/.well-known/http-message-signatures-directory"
MEDIA_TYPE = "application/http-message-signatures-directory+json"
OWN_AGENT = '"signature-agent";key="sig1"'
COVERED = ("@method", "@authority", "@path", "@query", OWN_AGENT)
USER_AGENT = "Mozilla/5.0 (compatible; PeerRobot/1.0)"
REASON = "checked the signature of a request by "
PATIENCE_S = 30

KEY = ed25519.Ed25519PrivateKey.generate()


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


JWK = {"crv": "Ed25519", "kty": "OKP", "x": base64url(KEY.public_key().public_bytes_raw())}
KEYID = base64url(hashlib.sha256(json.dumps(JWK, sort_keys=True, separators=(",", ":")).encode()).digest())
KEYS = json.dumps({"keys": [JWK | {"kid": KEYID, "use": "sig"}]})


def serve_directory(certificate, body):
    """Serves a key directory over TLS, and returns its HOST:PORT."""

    class Directory(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200 if self.path == DIRECTORY else 404)
            self.send_header("Content-Type", MEDIA_TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            try:
                self.wfile.write(body.encode())
            except OSError:
                pass  # It was too large for the other side.

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Directory)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return "127.0.0.1:%d" % server.server_port


class Keys(HTTPSignatureKeyResolver):
    def resolve_private_key(self, key_id):
        return KEY

    def resolve_public_key(self, key_id):
        return KEY.public_key()


class Message:
    def __init__(self, site, method, path, agent):
        self.method = method
        self.url = f"http://{site}{path}"
        self.headers = {"Host": site, "User-Agent": USER_AGENT, "Signature-Agent": agent}


class Site:
    """A server, and its log."""

    def __init__(self, line, agent):
        self.address, self.log = line.strip().split(" ", 1)
        self.agent = agent

    def ask(
        self,
        method="GET",
        path="/members/a?b=c&d=%20e",
        agent=None,
        covered=COVERED,
        age_s=0,
        lifetime_s=60,
        tag="web-bot-auth",
        nonce=None,
        key_id=KEYID,
        change=None,
        again=False,
    ):
        """Signs a request, sends it as modified by `change`, and returns the verdict."""
        message = Message(self.address, method, path, agent or f'sig1="https://{self.agent}"')
        created = datetime.datetime.now() - datetime.timedelta(seconds=age_s)
        HTTPMessageSigner(signature_algorithm=algorithms.ED25519, key_resolver=Keys()).sign(
            message,
            key_id=key_id,
            created=created,
            expires=created + datetime.timedelta(seconds=lifetime_s),
            nonce=nonce or secrets.token_urlsafe(32),
            label="sig1",
            tag=tag,
            covered_component_ids=covered,
        )
        sent = {"method": method, "path": path, "headers": dict(message.headers)}
        if again:
            self.send(sent)
        if change:
            change(sent)
        return self.send(sent)

    def send(self, sent):
        """Sends a request; returns status, verdict or reason, and whether a signature is requested."""
        with open(self.log, "rb") as log:
            log.seek(0, 2)
            connection = http.client.HTTPConnection(self.address, timeout=PATIENCE_S)
            connection.request(sent["method"], sent["path"], headers=sent["headers"])
            response = connection.getresponse()
            verdict = response.read().decode().strip()
            asks = "web-bot-auth" in (response.headers["Accept-Signature"] or "")
            if response.status == 200:
                return response.status, verdict, asks
            if "Signature" not in sent["headers"]:
                return response.status, "", asks
            return response.status, reason(log), asks


def reason(log):
    """Returns the next reason in a log."""
    text, deadline = "", time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        text += log.read().decode()
        for line in text.splitlines(keepends=True):
            if REASON in line and line.endswith("\n"):
                return line.split(REASON, 1)[1].split(" is ", 1)[1].strip()
        time.sleep(0.02)
    return "no reason"


def to(**changes):
    return lambda sent: sent.update(changes)


def to_other_host(sent):
    sent["headers"]["Host"] = "other.example"


def to_unsigned(sent):
    for name in ("Signature", "Signature-Input", "Signature-Agent"):
        del sent["headers"][name]


def accepted(right):
    yield "whole", {}
    yield "whole, posted", {"method": "POST"}
    yield "whole, target URI", {"covered": ("@target-uri", OWN_AGENT)}
    yield "whole, scheme", {"covered": ("@scheme", "@authority", OWN_AGENT)}
    yield "whole, query parameter", {"covered": ("@authority", '"@query-param";name="d"', OWN_AGENT)}
    yield "older form", {"agent": f'"https://{right}"', "covered": ("@authority", "signature-agent")}
    yield "nonce, first", {"nonce": "once"}


def refused(right, large):
    unfit = "spoofed: the signature does not match the request and the key"
    yield "altered path", unfit, {"change": to(path="/members/b")}
    yield "altered method", unfit, {"change": to(method="DELETE")}
    yield "altered authority", unfit, {"change": to_other_host}
    yield "expired", "spoofed: the signature expired", {"age_s": 600}
    yield "not yet valid", "spoofed: the signature is from the future", {"age_s": -600}
    yield "too long", "spoofed: the signature is valid for", {"lifetime_s": 2 * 86400}
    yield "replayed", "spoofed: the signature's nonce was used before", {"again": True}
    yield "nonce, again", "spoofed: the signature's nonce was used before", {"nonce": "once"}
    yield "wrong tag", "spoofed: no signature has the tag", {"tag": "other"}
    yield "agent not covered", "spoofed: the signature does not cover Signature-Agent", {
        "covered": ("@authority",)}
    yield "unknown key", f"unverifiable: https://{right} has no key", {"key_id": "A" * 43}
    yield "unknown agent", 'unverifiable: signed by "https://192.0.2.1"', {
        "agent": 'sig1="https://192.0.2.1"'}
    yield "directory without TLS", "unverifiable: Signature-Agent", {"agent": f'sig1="http://{right}"'}
    yield "oversized directory", f"unverifiable: could not fetch the key directory of https://{large}", {
        "agent": f'sig1="https://{large}"'}
    yield "unsigned", "", {"change": to_unsigned}


def main():
    right = serve_directory(sys.argv[1], KEYS)
    large = serve_directory(sys.argv[1], KEYS + " " * 65536)
    print(right, large, flush=True)
    site, strict = (Site(sys.stdin.readline(), right) for _ in range(2))
    cases = [(name, site, 200, "verified", case) for name, case in accepted(right)]
    cases += [(name, site, 403, why, case) for name, why, case in refused(right, large)]
    cases += [("private network", strict, 403, f"unverifiable: the key directory of https://{right}", {})]
    right_ones = 0
    for name, at, status, said, arguments in cases:
        found, text, asks = at.ask(**arguments)
        # Refused clients are told that a signature would help.
        fits = found == status and text.startswith(said) and asks == (status == 403)
        right_ones += fits
        print(f"{'ok   ' if fits else 'WRONG'} {name}: {found} {text}{', asked to sign' if asks else ''}")
    print(f"{right_ones} of {len(cases)} are right")
    sys.exit(right_ones != len(cases))


if __name__ == "__main__":
    main()
