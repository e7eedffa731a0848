"""Checks that need a special setup: sizes, forged headers, a CDN in front, a failing endpoint."""

import random
import signal
import statistics
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import cases as generator
import compare
import fronts
import wire
from cases import AGENTS
from program import Program

# Default limits of a front proxy: header lines, bytes of a line, bytes in total.
LIMITS = {
    "own proxy": (256, 65_000, 130_000), "nginx": (600, 8_100, 32_000), "apache": (100, 8_100, 200_000),
    "caddy": (400, 300_000, 900_000), "traefik": (400, 300_000, 900_000), "haproxy": (101, 15_000, 15_300),
    "envoy": (100, 60_000, 60_000),
}


class Check:
    """Prints and counts faults."""

    def __init__(self):
        self.faults, self.printed = 0, 0

    def begin(self):
        """Starts printing for another front proxy."""
        self.printed = 0

    def __call__(self, is_right, text):
        if not is_right:
            self.faults += 1
            self.printed += 1
            if self.printed <= 12:
                print(f"  WRONG {text}")


def sizes(arguments, send_all):
    """Header counts and sizes up to each front proxy's limit: no crash, no 5xx for a browser, no pass for a robot."""
    check, number = Check(), 200 if arguments.sample else 1_000
    for fails in ("closed", "open"):
        for name, front, port in opened(arguments, Program(arguments.binary, fails=fails), fails=fails):
            check.begin()
            requests = list(sized_requests(random.Random(f"{arguments.seed} {fails}"), number, *LIMITS[name]))
            answers = send_all(requests, lambda request: compare.outcome(wire.exchange(port, request[2])))
            kinds = {}
            for (who, what, raw), answer in zip(requests, answers):
                key = f"{who} {answer.kind} {answer.detail}".strip()
                kinds[key] = kinds.get(key, 0) + 1
                what = f"{name}, fails {fails}: {who} with {what}, {len(raw)} bytes in all: {answer}"
                check(not (who == "firefox" and answer.kind == "failure"), what)
                check(not (who == "gptbot" and answer.kind in ("pass", "failure")), what)
            if front:
                check(front.is_alive(), f"{name} ended with {front.process.returncode}: {front.log()}")
            after = compare.outcome(wire.ask(port, "/open/1", AGENTS["firefox"]))
            check(after.kind == "pass", f"{name} afterwards: {after}")
            print(f"{name}, fails {fails}: " + ", ".join(f"{kind}: {times}" for kind, times in sorted(kinds.items())))
    return check.faults


def sized_requests(rng, number, most_lines, most_bytes, most_in_all):
    for index in range(number):
        who = "firefox" if index % 2 else "gptbot"
        lines = rng.choice([1, rng.randint(1, most_lines), rng.randint(max(1, most_lines * 3 // 4), most_lines + 5)])
        most = min(most_bytes, (most_in_all - 400) // lines - 16)
        size = max(0, int(most * rng.choice([0, 0.01, rng.random(), rng.uniform(0.9, 1.02)])))
        name = rng.choice(["X-Line-{}", "X-Line-{}", "Cookie", "X-Same", "Accept-Language"])
        headers = [(name.format(line), "s" * size) for line in range(lines)]
        target = "/open/1" if who == "firefox" else rng.choice(["/refused/x", "/members-only-stuff/a", "/closed/1"])
        longer = int(min(most_bytes - 100, most_in_all - 400 - lines * (size + 16)) * rng.random())
        if rng.random() < 0.2 and longer > 0:
            target += rng.choice(["y", "?y=", "%20"]) + "z" * longer
        agent = AGENTS[who] + (" " + "u" * rng.randint(1, 3_000) if rng.random() < 0.1 else "")
        yield who, f"{lines} lines of {size} bytes, a target of {len(target)}", wire.head(
            "GET", target, [("Host", "example.org"), ("User-Agent", agent), *headers])


def forged(arguments, send_all):
    """Forged headers: an application reads neither identity nor address from the visitor."""
    check = Check()
    forged_cases = list(generator.forged_cases())
    for name, _, port in opened(arguments, Program(arguments.binary)):
        answers = send_all(forged_cases, lambda case: compare.outcome(wire.exchange(port, case.raw)))
        check.begin()
        refused, internal, read = 0, set(), {}
        for case, answer in zip(forged_cases, answers):
            header = case.headers[-1][0]
            if answer.kind != "pass":
                refused += 1
                check(answer.kind == "refusal", f"{name}: {header}: {answer}")
            elif "internal" in case.name:
                internal.update(compare.has_forged(answer.seen))
            elif forged_names := compare.has_forged(answer.seen):
                read.setdefault(", ".join(forged_names), header)
        for variables, header in read.items():
            check(False, f"{name}: {header} is read as {variables}")
        print(f"{name}: {len(forged_cases)} forged headers: {refused} refused, others passed, {len(read)} names are read")
        if internal:
            print(f"  not a fault: the site also gets {', '.join(sorted(internal))}")
    return check.faults


class PublishedList(BaseHTTPRequestHandler):
    """Address list of the robot `listbot`."""

    def do_GET(self):
        text = b'{"creationTime":"2026-11-20T10:00:00","prefixes":[{"ipv4Prefix":"192.0.2.0/24"}]}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


def cdn(arguments, _):
    """A CDN in front: its forwarded addresses are trusted, and those of no other visitor."""
    check = Check()
    server = HTTPServer(("127.0.0.1", 0), PublishedList)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    program = Program(arguments.binary, 'allow_private_addresses = true\nspoofed = "refuse"', trusted=f', "{fronts.CDN}"')
    program.run("registry", "add", "listbot", "--useragent", "listbot",
                "--ranges-url", f"http://127.0.0.1:{server.server_port}/list.json")
    robot, verified = "listbot/1.0", ("listbot", "verified")
    home, elsewhere = "192.0.2.7", "198.51.100.7"
    try:
        for name, _, port in opened(arguments, program, behind_cdn=True):
            def ask(source, forwarded):
                headers = [("X-Forwarded-For", value) for value in forwarded]
                return compare.outcome(wire.ask(port, "/open/1", robot, headers, source=source))
            deadline = time.monotonic() + 20
            while ask(fronts.CDN, [home]).identity != verified and time.monotonic() < deadline:
                time.sleep(0.2)
            for what, source, forwarded, is_genuine in [
                ("the genuine robot", fronts.CDN, [home], True),
                ("an impostor", fronts.CDN, [elsewhere], False),
                ("an impostor that forges the first address", fronts.CDN, [f"{home}, {elsewhere}"], False),
                ("an impostor that forges a header line", fronts.CDN, [home, elsewhere], False),
                ("a visitor that bypasses the CDN and forges an address", wire.VISITOR, [home], None),
                ("a visitor that bypasses the CDN", wire.VISITOR, [], None),
            ]:
                answer = ask(source, forwarded)
                # A loopback address proves nothing, so a visitor from there is no impostor either.
                right = {True: answer.identity == verified, None: answer.identity == ("listbot", "unverifiable"),
                         False: (answer.kind, answer.detail) == ("refusal", "403")}[is_genuine]
                check(right, f"{name}: {what}: {answer}")
            print(f"{name}: done")
    finally:
        server.shutdown()
    return check.faults


def failing(arguments, _):
    """The endpoint stopped, frozen and restarted under load: decisions as configured, within the promised time."""
    check = Check()
    for fails in ("open", "closed"):
        with Program(arguments.binary, fails=fails) as program:
            for name in arguments.fronts:
                with fronts.Front(name, program, usual_setup(name), fails=fails) as front:
                    # Until then, Caddy's own responder for an unavailable program does not listen.
                    time.sleep(1.2)
                    for how in ("stopped", "hanging", "restarted under load"):
                        fail(check, program, front, fails, how)
    return check.faults


def protocols(arguments, _):
    """WebSockets pass, connections stay open, and HTTP/2 requests get the same decisions."""
    check = Check()
    for name, _, port in opened(arguments, Program(arguments.binary)):
        for agent in ("firefox", "gptbot"):
            target = "/open/socket" if agent == "firefox" else "/refused/socket"
            raw = wire.head("GET", target, [
                ("Host", "example.org"), ("User-Agent", AGENTS[agent]), ("Connection", "Upgrade"), ("Upgrade", "websocket"),
                ("Sec-WebSocket-Version", "13"), ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
            ])
            with wire.connect(port) as stream:
                stream.sendall(raw)
                reader = stream.makefile("rb")
                status = wire.read_answer(reader).status
                check(status == (101 if agent == "firefox" else 451), f"{name}: {agent} with a WebSocket: {status}")
                if status == 101:
                    stream.sendall(b"hello")
                    check(reader.read(5) == b"hello", f"{name}: the WebSocket does not pass messages")
        kept_alive(check, name, port)
        print(f"{name}: WebSockets and connections that stay open done")
    with Program(arguments.binary) as program:
        for name in set(arguments.fronts) & set(fronts.HTTP_2):
            with fronts.Front(name, program, listen=fronts.HTTP_2[name]) as front:
                for agent, target, expected in [("firefox", "/refused/a", "2 200"), ("gptbot", "/refused/a", "2 451"),
                                                ("gptbot", "/members-only-stuff/a", "2 302"), ("googlebot", "/", "2 200")]:
                    got = subprocess.run(
                        ["curl", "-s", "-o", "/dev/null", "-w", "%{http_version} %{http_code}", "--http2-prior-knowledge",
                         "-A", AGENTS[agent], "-H", "Host: example.org", f"http://127.0.0.1:{front.port}{target}"],
                        stdout=subprocess.PIPE, text=True).stdout
                    check(got == expected, f"{name}: {agent} requests over HTTP/2 {target}: {got}")
            print(f"{name}: HTTP/2 done")
    return check.faults


def kept_alive(check, name, port):
    """A refused request with a body, or of HEAD, leaves no bytes for the next request on its connection."""
    body = b"GET /refused/x HTTP/1.1\r\nHost: example.org\r\n\r\n"
    chunked = f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n"
    for method, more, sent in [("HEAD", [], b""), ("GET", [], b""), ("POST", [("Content-Length", len(body))], body),
                               ("GET", [("Content-Length", len(body))], body),
                               ("POST", [("Transfer-Encoding", "chunked")], chunked)]:
        headers = [("Host", "example.org"), ("User-Agent", AGENTS["gptbot"]), ("Connection", "keep-alive"), *more]
        then = [("Host", "example.org"), ("User-Agent", AGENTS["firefox"])]
        with wire.connect(port) as stream:
            reader = stream.makefile("rb")
            stream.sendall(wire.head(method, "/refused/x", headers, body=sent))
            first = compare.outcome(wire.read_answer(reader, method == "HEAD"))
            check((first.kind, first.detail) == ("refusal", "451"), f"{name}: {method} with {more}: {first}")
            try:
                stream.sendall(wire.head("GET", "/open/1", then))
                second = compare.outcome(wire.read_answer(reader))
            except OSError:
                second = compare.Outcome("nothing")
            is_right = second.kind in ("pass", "nothing") and second.identity in ((), ("-", "-"))
            check(is_right, f"{name}: after {method} with {more}: {second}")


ALL = {"forged": forged, "sizes": sizes, "protocols": protocols, "cdn": cdn, "failing": failing}


def opened(arguments, program, **how):
    """Starts the program, yields its own proxy, and then one front proxy after the other."""
    with program:
        yield "own proxy", None, program.own
        for name in arguments.fronts:
            with fronts.Front(name, program, usual_setup(name), **how) as front:
                yield name, front, front.port


def usual_setup(name):
    """With Apache's standalone file the program itself is the proxy, so the included file is tested."""
    return "include" if name == "apache" else "standalone"


# Time limits of a request in milliseconds, before and after the failure is noticed; and seconds until recovery.
PROMISED = {"stopped": (50, 10), "hanging": (300, 10)}
BACK_WITHIN = 2.0
# Time of this machine and of the test itself, in milliseconds.
SLACK = 25


def fail(check, program, front, fails, how):
    name = f"{front.name}, fails {fails}, {how}"
    down = program.stop if how != "hanging" else lambda: program.signal(signal.SIGSTOP)
    up = program.start if how != "hanging" else lambda: program.signal(signal.SIGCONT)
    probe(front.port)
    load = Load(front.port) if "load" in how else None
    down()
    start = time.monotonic()
    answers = []
    while time.monotonic() < start + 4:
        answers.append((time.monotonic() - start, probe(front.port)))
        time.sleep(0.02 if len(answers) < 20 else 0.1)
    kinds = sorted({f"{answer.kind} {answer.detail}".strip() for _, (answer, _) in answers})
    noticed = [(answer, seconds) for at, (answer, seconds) in answers if at > 2.5]
    first = [(answer, seconds) for at, (answer, seconds) in answers if at <= 2.5]
    slowest = lambda some: max(seconds for _, seconds in some) * 1_000 if some else 0.0
    up()
    back = time.monotonic()
    while probe_robot(front.port).detail != "451" and time.monotonic() < back + 10:
        time.sleep(0.02)
    back = time.monotonic() - back
    if load:
        load.stop()
    usual = statistics.median(seconds for _, seconds in noticed) * 1_000 if noticed else 0.0
    print(f"{name}: {len(answers)} requests: {', '.join(kinds)}; at first up to {slowest(first):.0f} ms, "
          f"later up to {slowest(noticed):.0f} ms (median {usual:.1f}); back after {back:.2f} s"
          + (f"; under load: {load}" if load else ""))
    check(back <= BACK_WITHIN, f"{name}: back after {back:.2f} s")
    if fails == "closed":
        check(all(answer.kind != "pass" for _, (answer, _) in answers), f"{name}: passes: {kinds}")
        return
    if front.name == "traefik":
        wrong = [at for at, (answer, _) in answers if answer.kind != "pass"]
        check(not wrong or max(wrong) <= 1.0, f"{name}: fails until {max(wrong, default=0):.2f} s")
    else:
        check(all(answer.kind == "pass" for _, (answer, _) in answers), f"{name}: {kinds}")
        before, after = PROMISED.get(how, PROMISED["stopped"])
        check(slowest(first) <= before + SLACK, f"{name}: {slowest(first):.0f} ms at first")
    check(usual <= PROMISED["hanging"][1] + SLACK, f"{name}: {usual:.1f} ms later")


def probe(port):
    answer = wire.ask(port, "/open/1", AGENTS["firefox"], timeout=35)
    return compare.outcome(answer), answer.seconds


def probe_robot(port):
    return compare.outcome(wire.ask(port, "/refused/x", AGENTS["gptbot"], timeout=3))


class Load:
    """Two visitors that send requests all the time."""

    def __init__(self, port):
        self.port, self.is_on, self.kinds = port, True, {}
        self.threads = [threading.Thread(target=self.run, daemon=True) for _ in range(2)]
        for thread in self.threads:
            thread.start()
        time.sleep(0.3)

    def run(self):
        while self.is_on:
            answer, _ = probe(self.port)
            key = f"{answer.kind} {answer.detail}".strip()
            self.kinds[key] = self.kinds.get(key, 0) + 1

    def stop(self):
        self.is_on = False
        for thread in self.threads:
            thread.join(40)

    def __str__(self):
        return ", ".join(f"{kind}: {times}" for kind, times in sorted(self.kinds.items()))
