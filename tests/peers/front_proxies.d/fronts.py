"""Starts real front proxies: with the files printed by the program, or as plain proxies for comparison."""

import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import wire
from program import free_port, wait_for

ALL = ["nginx", "apache", "caddy", "haproxy", "traefik", "envoy"]
COMMANDS = {"apache": "apache2"}

PLAIN = {
    "nginx": "server {{ listen {port}; location / {{ proxy_pass http://127.0.0.1:{site}; "
             "proxy_set_header Host $http_host; }} }}",
    "apache": 'ProxyRequests Off\nAllowEncodedSlashes NoDecode\nProxyPass "/" "http://127.0.0.1:{site}/" nocanon upgrade=websocket\n',
    "caddy": ":{port} {{\n\treverse_proxy 127.0.0.1:{site}\n}}\n",
    "haproxy": "defaults\n    mode http\n    timeout connect 5s\n    timeout client 30s\n    timeout server 30s\n"
               "listen plain\n    bind :{port}\n    server site 127.0.0.1:{site}\n",
    "traefik": "http:\n  routers:\n    plain:\n      rule: 'PathPrefix(`/`)'\n      service: site\n  services:\n"
               "    site:\n      loadBalancer:\n        servers:\n          - url: 'http://127.0.0.1:{site}'\n",
    "envoy": (Path(__file__).parent / "plain_envoy.yaml").read_text(),
}

# Extra configuration by which a front proxy accepts HTTP/2 without TLS.
HTTP_2 = {"nginx": "{} http2", "haproxy": ":{} proto h2", "envoy": "{}"}

# A CDN at 127.0.0.2 with a trusted X-Forwarded-For: lines that an administrator adds to the printed file.
CDN = "127.0.0.2"


class Front:
    """A running front proxy; `port` accepts visitors."""

    def __init__(self, name, program, setup="standalone", behind_cdn=False, fails="closed", listen="{}"):
        self.name, self.program, self.behind_cdn = name, program, behind_cdn
        self.port = free_port()
        # Other programs that belong to it, such as PHP.
        self.helpers = []
        self.directory = Path(tempfile.mkdtemp(dir=program.directory, prefix=f"{name}-"))
        if setup == "plain":
            text = PLAIN[name].format(port=self.port, site=program.sites[0].port)
        elif callable(setup):
            text = setup(self)
        elif setup == "include":
            text = getattr(self, f"{name}_including")(*(site.port for site in program.sites))
        else:
            text = self.printed(name, fails, listen.format(self.port))
        self.start(getattr(self, name)(text))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self, command):
        environment = {**os.environ, "HOME": str(self.directory), "XDG_DATA_HOME": str(self.directory),
                       "XDG_CONFIG_HOME": str(self.directory)}
        with open(self.directory / "log", "ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.directory, env=environment)
        wait_for(self.port, self.process, self.log)
        # Traefik listens before it has read its provider's files.
        deadline = time.monotonic() + 15
        while wire.ask(self.port, "/open/1").status == 404 and time.monotonic() < deadline:
            time.sleep(0.05)

    def printed(self, file, fails, listen):
        usage = self.program.run("proxy-config", "--help")
        more = ["--standalone"] if "--standalone" in usage else ["--fails", fails]
        return self.program.run("proxy-config", file, *more, "--listen", listen)

    def include(self, file, *arguments):
        """Writes the printed parts for inclusion, and returns their paths."""
        path = self.directory / "-".join([file, *arguments]).replace("--", "")
        path.write_text(self.program.run("proxy-config", file, *arguments))
        return path

    def nginx_including(self, site, shop, docs):
        parts = {part: self.include("nginx", "--part", part) for part in ("http", "server", "location", "response")}

        def server(head, locations):
            text = "".join(
                f"location {path} {{ proxy_pass http://127.0.0.1:{port}; proxy_set_header Host $http_host; "
                f"proxy_set_header X-Forwarded-For $remote_addr; include {parts['location']}; }}\n"
                for path, port in locations
            )
            return f"server {{ listen {self.port}{head}; include {parts['server']};\n{text}}}\n"
        return (f"include {parts['http']};\n" + server(" default_server", [("/", site)])
                + server("; server_name example.org", [("/", site), ("/docs/", docs), ("= /docs", docs)])
                + server("; server_name shop.example.org *.shop.example.org", [("/", shop)]))

    def nginx(self, text):
        directory = self.directory
        real_ip = f"set_real_ip_from {CDN}; real_ip_header X-Forwarded-For;" if self.behind_cdn else ""
        temporary = " ".join(f"{name}_temp_path {directory}/{name};" for name in
                             ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        (directory / "robot-detection.conf").write_text(text)
        (directory / "nginx.conf").write_text(
            f"daemon off; pid {directory}/pid; error_log {directory}/error.log; worker_processes 1;\n"
            f"events {{ worker_connections 1024; }}\nhttp {{ access_log off; {temporary} {real_ip}\n"
            f"include {directory}/robot-detection.conf; }}\n"
        )
        command = ["nginx", "-c", directory / "nginx.conf", "-p", directory]
        return command + (["-g", "user root;"] if os.getuid() == 0 else [])

    def apache_including(self, site, shop, docs):
        """The RewriteMap; the standalone file is the arrangement with Apache in front of the program."""
        # The program runs as the test's own user, because the packaged user does not exist.
        printed = self.program.run("proxy-config", "apache").replace(" robot-detection:robot-detection", "")
        path = self.directory / "robot-detection.conf"
        path.write_text(printed)

        def host(names, *passes):
            text = "".join(f'ProxyPass "{where}" "http://127.0.0.1:{port}{where}" nocanon upgrade=websocket\n' for where, port in passes)
            return (f"<VirtualHost *:{self.port}>\n{names}\nInclude {path}\nAllowEncodedSlashes NoDecode\n"
                    f"ProxyPreserveHost On\n{text}</VirtualHost>\n")
        return (host("ServerName other.example", ("/", site)) + host("ServerName example.org", ("/docs", docs), ("/", site))
                + host("ServerName shop.example.org\nServerAlias *.shop.example.org", ("/", shop)))

    def apache(self, text):
        modules = "mpm_event authz_core proxy proxy_http rewrite headers remoteip setenvif".split()
        loaded = "".join(f"LoadModule {m}_module /usr/lib/apache2/modules/mod_{m}.so\n" for m in modules)
        remote_ip = f"RemoteIPHeader X-Forwarded-For\nRemoteIPTrustedProxy {CDN}\n" if self.behind_cdn else ""
        user = "User www-data\nGroup www-data\n" if os.getuid() == 0 else ""
        listen = "" if re.search(r"^Listen ", text, re.MULTILINE) else f"Listen {self.port}\n"
        (self.directory / "apache.conf").write_text(
            f"ServerRoot {self.directory}\nServerName localhost\nPidFile {self.directory}/pid\n{user}"
            f"ErrorLog {self.directory}/error.log\nDefaultRuntimeDir {self.directory}\n{listen}"
            f"{loaded}{remote_ip}{text}"
        )
        self.directory.chmod(0o755)
        return ["apache2", "-D", "FOREGROUND", "-f", self.directory / "apache.conf"]

    def caddy_including(self, site, shop, docs):
        def host(names, handled):
            return f"{names} {{\n\timport robot_detection\n{handled}}}\n"
        port = self.port
        return (f"import {self.include('caddy')}\n" + host(f":{port}", f"\treverse_proxy 127.0.0.1:{site}\n")
                + host(f"http://shop.example.org:{port}, http://*.shop.example.org:{port}",
                       f"\treverse_proxy 127.0.0.1:{shop}\n")
                + host(f"http://example.org:{port}",
                       f"\t@docs path /docs /docs/*\n\thandle @docs {{\n\t\treverse_proxy 127.0.0.1:{docs}\n\t}}\n"
                       f"\thandle {{\n\t\treverse_proxy 127.0.0.1:{site}\n\t}}\n"))

    def caddy(self, text):
        cdn = f"\tservers {{\n\t\ttrusted_proxies static {CDN}/32\n\t\ttrusted_proxies_strict\n\t}}\n"
        options = "{\n\tadmin off\n\tauto_https off\n" + (cdn if self.behind_cdn else "") + "}\n"
        (self.directory / "Caddyfile").write_text(options + text)
        return ["caddy", "run", "--config", self.directory / "Caddyfile", "--adapter", "caddyfile"]

    def haproxy_including(self, site, shop, docs):
        printed = self.include("haproxy").read_text()
        lines = [line[2:] for line in printed.splitlines() if line.startswith("#>")]
        in_global, in_frontend = lines[0], "\n".join(lines[1:])
        backends = "".join(f"backend {name}\n    server {name} 127.0.0.1:{port}\n"
                           for name, port in (("site", site), ("shop", shop), ("docs", docs)))
        return f"""global
{in_global}
defaults
    mode http
    timeout connect 5s
    timeout client 30s
    timeout server 30s
frontend visitors
    bind :{self.port}
{in_frontend}
    acl is_shop hdr(host),field(1,:),lower,rtrim(.) -m str shop.example.org
    acl is_shop hdr(host),field(1,:),lower,rtrim(.) -m end .shop.example.org
    use_backend shop if is_shop
    use_backend docs if {{ hdr(host),field(1,:),lower,rtrim(.) -m str example.org }} {{ path -m reg ^/docs(/|$) }}
    default_backend site
{backends}{printed}"""

    def haproxy(self, text):
        if "robot-detection.lua" in text:
            lua = self.directory / "robot-detection.lua"
            lua.write_text(self.program.run("proxy-config", "haproxy-lua"))
            text = text.replace("/etc/haproxy/robot-detection.lua", str(lua))
        if self.behind_cdn:
            set_src = f"    http-request set-src req.hdr_ip(X-Forwarded-For,-1) if {{ src {CDN} }}\n"
            text = insert_after(text, "    bind ", set_src)
        (self.directory / "haproxy.cfg").write_text(text)
        return ["haproxy", "-db", "-f", self.directory / "haproxy.cfg"]

    def traefik_including(self, site, shop, docs):
        routers = [("site", site, "PathPrefix(`/`)"), ("docs", docs, "Host(`example.org`) && PathRegexp(`^/docs(/|$)`)"),
                   ("shop", shop, "HostRegexp(`(^|\\.)shop\\.example\\.org$`)")]
        text = "http:\n  routers:\n"
        for name, _, rule in routers:
            text += f"    {name}: {{ rule: '{rule}', service: {name}, middlewares: [robot-detection] }}\n"
        text += "  services:\n"
        for name, port, _ in routers:
            text += f"    {name}: {{ loadBalancer: {{ servers: [{{ url: 'http://127.0.0.1:{port}' }}] }} }}\n"
        (self.directory / "sites.yml").write_text(text)
        return self.program.run("proxy-config", "traefik")

    def traefik(self, text):
        dynamic = self.directory / "dynamic"
        dynamic.mkdir()
        (dynamic / "robot-detection.yml").write_text(text)
        if (self.directory / "sites.yml").exists():
            (self.directory / "sites.yml").rename(dynamic / "sites.yml")
        trusted = f", forwardedHeaders: {{ trustedIPs: ['{CDN}/32'] }}" if self.behind_cdn else ""
        # The comment of a fail-open file contains the lines for the static configuration.
        more = re.search(r'address: "([\d.:]+)"\n.*\n#   ping', text)
        question = (f", robot-detection: {{ address: '{more[1]}', forwardedHeaders: {{ trustedIPs: ['127.0.0.1/32'] }} }}"
                    if more else "")
        (self.directory / "traefik.yml").write_text(
            f"global: {{ checkNewVersion: false, sendAnonymousUsage: false }}\n"
            f"entryPoints: {{ web: {{ address: ':{self.port}'{trusted} }}{question} }}\n"
            + ("ping: { manualRouting: true }\n" if more else "")
            + f"providers: {{ file: {{ directory: {dynamic} }} }}\n"
        )
        return ["traefik", "--configFile=" + str(self.directory / "traefik.yml")]

    def envoy_including(self, site, shop, docs):
        """Copies the printed lists into a configuration with three sites."""
        _, filters, *routes, clusters = self.program.run("proxy-config", "envoy").split("\n---\n")
        below = lambda part: part.split("\n", 2)[2].rstrip("\n") + "\n"
        route = "              - {{ match: {{ {} }}, route: {{ cluster: {} }} }}\n".format
        hosts = ""
        for number, part in enumerate(routes):
            domains = re.search(r"for (\[.*\])", part.split("\n")[0])
            domains = domains[1] if domains else '["*"]'
            hosts += f"            - name: host_{number}\n              domains: {domains}\n              routes:\n" + below(part)
            if "shop" in domains:
                hosts += route("prefix: /", "shop")
            elif "example.org" in domains:
                hosts += route("path_separated_prefix: /docs", "docs") + route("prefix: /", "site")
            else:
                hosts += route("prefix: /", "site")
        head, _, rest = PLAIN["envoy"].format(port=self.port, site=site).partition("          http_filters:\n")
        router, _, rest = rest.partition("          route_config:\n")
        cluster = rest[rest.index("  - name: site\n"):]
        sites = "".join(cluster.replace(" site\n", f" {name}\n").replace(f"port_value: {site} ", f"port_value: {port} ")
                        for name, port in (("site", site), ("shop", shop), ("docs", docs)))
        return (f"{head}          upgrade_configs: [{{ upgrade_type: websocket }}]\n          http_filters:\n{below(filters)}{router}"
                f"          route_config:\n            virtual_hosts:\n{hosts}  clusters:\n"
                + re.sub("^  ", "", below(clusters), flags=re.MULTILINE) + sites)

    def envoy(self, text):
        if self.behind_cdn:
            text = text.replace("use_remote_address: true", f"""use_remote_address: false
          original_ip_detection_extensions:
          - name: envoy.http.original_ip_detection.xff
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.http.original_ip_detection.xff.v3.XffConfig
              xff_trusted_cidrs: {{ cidrs: [{{ address_prefix: {CDN}, prefix_len: 32 }}] }}""")
        (self.directory / "envoy.yaml").write_text(text)
        return ["envoy", "-c", self.directory / "envoy.yaml", "--disable-hot-restart", "--concurrency", "1",
                "--log-level", "warning"]

    def is_alive(self):
        return self.process.poll() is None

    def log(self):
        names = [self.directory / "log", self.directory / "error.log"]
        return "\n".join(name.read_text(errors="replace")[-3000:] for name in names if name.exists())

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for helper in self.helpers:
            helper.terminate()
            helper.wait()


def insert_after(text, before, line):
    """Inserts a line after the first one with a prefix."""
    at = text.index("\n", text.index(before)) + 1
    return text[:at] + line + text[at:]


def is_installed(name):
    return shutil.which(COMMANDS.get(name, name)) is not None
