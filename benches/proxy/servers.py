"""The compared servers: their settings, start and stop."""

import os
import socket
import subprocess
import time
import urllib.request

from invent import robots

MEMBERS = "/members-only-stuff/page.html"
PAGE = "/articles/page.html"
FILE = "/files/large"
FILE_BYTES = 1024 * 1024


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Running:
    """A server that runs until it is stopped."""

    def __init__(self, name, command, port, core, directory, tls_port=None):
        self.name, self.port, self.tls_port, self.directory = name, port, tls_port, directory
        # The process that makes its decisions; its time is included.
        self.asked = None
        log = open(directory / f"{name.replace(' ', '-')}.log", "ab")
        self.process = subprocess.Popen(
            ["taskset", "-c", str(core), *map(str, command)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=directory,
        )

    def url(self, path, tls=False):
        return f"https://127.0.0.1:{self.tls_port}{path}" if tls else f"http://127.0.0.1:{self.port}{path}"

    def can(self, case):
        return self.tls_port or not case.tls

    def pids(self):
        """Returns the process, its children, and its decision process."""
        found, todo = [], [self.process.pid]
        if self.asked:
            todo.append(self.asked.process.pid)
        while todo:
            pid = todo.pop()
            found.append(pid)
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/children") as children:
                    todo += map(int, children.read().split())
        return found

    def processor_seconds(self):
        """Returns the user and system time used so far."""
        ticks = 0
        for pid in self.pids():
            with open(f"/proc/{pid}/stat") as stat:
                fields = stat.read().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def memory_kib(self):
        """Returns the memory of this process alone; shared pages count proportionally."""
        total = 0
        for pid in self.pids():
            with open(f"/proc/{pid}/smaps_rollup") as lines:
                total += next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        return total

    def end(self):
        if self.asked:
            self.asked.end()
        self.process.terminate()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}), NoRedirect)


def ask(server, path, user_agent):
    """Returns status, Location and length of a response."""
    request = urllib.request.Request(server.url(path), headers={"User-Agent": user_agent})
    try:
        with OPENER.open(request, timeout=60) as answer:
            return answer.status, None, len(answer.read())
    except urllib.error.HTTPError as answer:
        return answer.code, answer.headers.get("Location"), len(answer.read())


def wait_until(server, is_ready, seconds=120):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if server.process.poll() is not None:
            break
        try:
            if is_ready():
                return
        except OSError:
            pass
        time.sleep(0.05)
    log = (server.directory / f"{server.name.replace(' ', '-')}.log").read_text()
    raise SystemExit(f"{server.name} gives a wrong response:\n{log[-2000:]}")


def upstream(directory, core):
    """Starts a site with pages of 1 KiB at any path, and a large file."""
    port = free_port()
    (directory / "large").write_bytes(b"x" * FILE_BYTES)
    locations = f'location = {FILE} {{ alias {directory}/large; }} location / {{ return 200 "{"x" * 1024}"; }}'
    conf = nginx_conf(directory, port, "sendfile on;", locations, "upstream")
    server = Running("upstream", ["nginx", "-c", conf], port, core, directory)
    wait_until(server, lambda: ask(server, PAGE, "x")[0] == 200)
    return server


def certificate(directory):
    """Writes a certificate for TLS and its key to one file, as HAProxy needs them."""
    path = directory / "certificate.pem"
    if not path.exists():
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-subj", "/CN=site.example", "-addext", "subjectAltName=DNS:site.example",
                        "-days", "2", "-keyout", path, "-out", directory / "only-certificate.pem"],
                       check=True, capture_output=True)
        path.write_text(path.read_text() + (directory / "only-certificate.pem").read_text())
    return path


def nginx_conf(directory, port, http, locations, name, tls_port=None):
    path = directory / f"{name}.conf"
    tls = ""
    if tls_port:
        pem = certificate(directory)
        tls = f"listen 127.0.0.1:{tls_port} ssl http2 backlog=1024; ssl_certificate {pem}; ssl_certificate_key {pem};"
    path.write_text(f"""
daemon off; master_process off; worker_processes 1; pid {directory}/{name}.pid;
error_log stderr warn;
events {{ worker_connections 4096; }}
http {{
    access_log off; keepalive_requests 1000000000; keepalive_timeout 75s; types {{ }}
    default_type text/html; map_hash_max_size 65536; client_body_temp_path {directory}/body;
    proxy_temp_path {directory}/proxy; fastcgi_temp_path {directory}/f;
    uwsgi_temp_path {directory}/u; scgi_temp_path {directory}/s;
    {http}
    server {{ listen 127.0.0.1:{port} backlog=1024; {tls} {locations} }}
}}
""")
    return path


PASS = """proxy_pass http://site; proxy_http_version 1.1; proxy_set_header Connection "";
    proxy_set_header Host $host; proxy_set_header X-Forwarded-For $remote_addr;
    proxy_set_header X-Forwarded-Proto $scheme;"""


def nginx(directory, core, name, site, rules):
    """nginx as a proxy; `rules` are optional lines of a map from User-Agent to robot."""
    port, tls_port = free_port(), free_port()
    http = f"upstream site {{ server 127.0.0.1:{site}; keepalive 64; keepalive_requests 1000000000; }}"
    redirect = "return 302 /robot-heaven/;"
    passing = PASS
    if rules is not None:
        lines = "\n".join(rules)
        http += f'\nmap $http_user_agent $robot {{ default ""; {lines} }}'
        redirect = f'if ($robot) {{ {redirect} }} {passing}'
        passing += " proxy_set_header X-Robot-Detection $robot;"
    locations = f"location /members-only-stuff/ {{ {redirect} }} location / {{ {passing} }}"
    conf = nginx_conf(directory, port, http, locations, name.replace(" ", "-"), tls_port)
    return Running(name, ["nginx", "-c", conf], port, core, directory, tls_port)


def nginx_asks(directory, core, name, site, asked, socket, names, program):
    """nginx that queries `asked` on a socket for each request; with ours, using the printed file."""
    port = free_port()
    if asked.name == "asked bare":
        http = f"""upstream site {{ server 127.0.0.1:{site}; keepalive 64; keepalive_requests 1000000000; }}
            upstream asked {{ server unix:{socket}; keepalive 64; keepalive_requests 1000000000; }}"""
        locations = f"""location = /ask {{ internal; proxy_pass http://asked/; proxy_http_version 1.1;
            proxy_pass_request_body off; proxy_set_header Content-Length ""; proxy_set_header Connection "";
            proxy_set_header X-Original-URI $request_uri; proxy_set_header X-Real-IP $remote_addr; }}
            location / {{ auth_request /ask; {PASS} }}"""
        conf = nginx_conf(directory, port, http, locations, name.replace(" ", "-"))
    else:
        config = directory / "asked-ours.toml"
        printed = subprocess.run([program, "--config", config, "proxy-config", "nginx", "--standalone", "--listen", f"127.0.0.1:{port}"],
                                 check=True, capture_output=True, text=True).stdout
        conf = nginx_conf(directory, free_port(), printed, "return 204;", name.replace(" ", "-"))
    running = Running(name, ["nginx", "-c", conf], port, core, directory)
    running.asked = asked
    return running


def asks_bare(directory, core, name, site, names, program):
    socket = directory / "bare.sock"
    bare = program.parent / "examples" / "bare"
    asked = Running("asked bare", [bare, socket], None, core, directory)
    return nginx_asks(directory, core, name, site, asked, socket, names, program)


def asks_ours(directory, core, name, site, names, program):
    socket = directory / "ours.sock"
    settings = f'trusted_proxies = ["127.0.0.1"]\n[check]\nlisten = "unix:{socket}"'
    asked = ours(directory, core, "asked ours", site, names, program, settings)
    return nginx_asks(directory, core, name, site, asked, socket, names, program)


def one_regex_a_robot(names):
    return [f'"~*{name}" 1;' for name in names]


def alternations(names):
    """Returns as few expressions as nginx's limit of 4,096 bytes per parameter allows."""
    lines, part = [], []
    for name in names:
        if sum(map(len, part)) + len(part) + len(name) > 3900:
            lines.append(part)
            part = []
        part.append(name)
    return [f'"~*({"|".join(part)})" 1;' for part in [*lines, part]]


def haproxy(directory, core, name, site, names, threads=1):
    port, tls_port = free_port(), free_port()
    rules = "http-request redirect location /robot-heaven/ code 302 if members"
    if names is not None:
        (directory / "robots.lst").write_text("\n".join(names) + "\n")
        rules = f"""acl robot hdr_sub(user-agent) -i -f {directory}/robots.lst
    http-request set-header X-Robot-Detection 1 if robot
    http-request redirect location /robot-heaven/ code 302 if members robot"""
    path = directory / f"{name.replace(' ', '-')}.cfg"
    path.write_text(f"""
global
    nbthread {threads}
    maxconn 4096
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
    timeout http-request 10s
    option http-keep-alive
    option forwardfor
    http-reuse always
frontend all
    bind 127.0.0.1:{port}
    bind 127.0.0.1:{tls_port} ssl crt {certificate(directory)} alpn h2,http/1.1
    acl members path_beg /members-only-stuff/
    {rules}
    default_backend site
backend site
    server one 127.0.0.1:{site}
""")
    return Running(name, ["haproxy", "-db", "-f", path], port, core, directory, tls_port)


def ours(directory, core, name, site, names, program, settings=""):
    """Our program; `settings` are more lines of its `[server]`. It uses one thread for each of its cores."""
    port, tls_port = free_port(), free_port()
    (directory / "list.txt").write_text("\n".join(names) + "\n")
    config = directory / f"{name.replace(' ', '-')}.toml"
    config.write_text(f"""
web_robots_db = ""
bundled_registry = false
[[source]]
name = "invented"
url = "file://{directory}/list.txt"
format = "list"
[database]
url = "sqlite://{directory}/{name.replace(' ', '-')}.db"
[server]
listen = "127.0.0.1:{port}"
upstream = "http://127.0.0.1:{site}"
{settings}
[[listener]]
listen = "127.0.0.1:{tls_port}"
tls = true
[[certificate]]
certificate_file = "{certificate(directory)}"
key_file = "{certificate(directory)}"
[log]
level = "warn"
""")
    command = [program, "--config", config, "serve"]
    return Running(name, command, port, core, directory, tls_port)


def everyone(servers, directory, core, site, count, options):
    """Yields the selected servers with the same robots, each checked before it is measured."""
    names = robots(count)
    makers = {
        "ours": lambda name: ours(directory, core, name, site, names, options.program),
        "ours fast_path off": lambda name: ours(
            directory, core, name, site, names, options.program, "fast_path = false"),
        "ours two threads": lambda name: ours(directory, f"{core},{core + 1}", name, site, names, options.program),
        "nginx off": lambda name: nginx(directory, core, name, site, None),
        "nginx map": lambda name: nginx(directory, core, name, site, one_regex_a_robot(names)),
        "nginx alternations": lambda name: nginx(directory, core, name, site, alternations(names)),
        "nginx asks bare": lambda name: asks_bare(directory, core, name, site, names, options.program),
        "nginx asks ours": lambda name: asks_ours(directory, core, name, site, names, options.program),
        "haproxy off": lambda name: haproxy(directory, core, name, site, None),
        "haproxy list": lambda name: haproxy(directory, core, name, site, names),
        "haproxy list two threads": lambda name: haproxy(directory, f"{core},{core + 1}", name, site, names, 2),
    }
    wanted = options.server or [""]
    # Ours is always included, because the others' costs are ratios to ours.
    servers += [make(name) for name, make in makers.items()
                if name == "ours" or any(part in name for part in wanted)]
    for server in servers:
        check(server, names)
        # The server's start is not part of a request.
        wait_until(server, lambda: is_idle(server))


def is_idle(server):
    """Waits until a server is idle for a second; returns whether it is."""
    before = server.processor_seconds()
    time.sleep(1)
    return server.processor_seconds() - before < 0.05


def check(server, names):
    """Checks that the server recognises the first and the last robot, and passes people."""
    robot = "Mozilla/5.0 (compatible; {}/2.1; +http://robots.example/about)"
    person = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"

    def redirects(user_agent):
        status, location, _ = ask(server, MEMBERS, user_agent)
        return status == 302 and location.partition("?")[0].endswith("/robot-heaven/")

    def passes(path, user_agent):
        return ask(server, path, user_agent) == (200, None, 1024)

    if server.name != "nginx asks bare":
        wait_until(server, lambda: all(redirects(robot.format(names[at])) for at in (0, len(names) // 2, -1)))
    wait_until(server, lambda: passes(PAGE, person), 5)
    wait_until(server, lambda: passes(PAGE, robot.format(names[0])), 5)
    if server.name not in ("nginx off", "haproxy off"):
        wait_until(server, lambda: passes(MEMBERS, person), 5)
