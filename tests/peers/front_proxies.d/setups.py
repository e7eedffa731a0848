"""Typical sites, changed only by the include: WordPress, Nextcloud, three backends."""

import os
import re
import subprocess
import textwrap

import fronts
from cases import AGENTS
from modes import Check
from program import Program

LEFT_OUT = "/left-out/x"


def wordpress(front):
    """nginx with PHP-FPM, try_files, static files, a password-protected part, and TLS."""
    root = front.directory
    (root / "html/wp-admin").mkdir(parents=True)
    (root / "html/wp-content").mkdir()
    (root / "html/index.php").write_text("<?php foreach ($_SERVER as $name => $value) if (is_string($value)) echo \"$name: $value\\n\";")
    (root / "html/wp-admin/index.php").write_text("<?php echo 'site';")
    (root / "html/wp-content/a.css").write_text("site")
    (root / "users").write_text("user:{PLAIN}password\n")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE", "-keyout", root / "key", "-out", root / "cert"],
                   check=True, capture_output=True)
    (root / "php.conf").write_text(f"[global]\nerror_log = {root}/php.log\ndaemonize = no\n[www]\nlisten = {root}/php.sock\n"
                                   "listen.mode = 0666\nuser = www-data\ngroup = www-data\npm = static\npm.max_children = 2\n")
    for directory in (root, root.parent):
        directory.chmod(0o755)
    php = sorted(name for name in os.listdir("/usr/sbin") if name.startswith("php-fpm"))[-1]
    front.helpers.append(subprocess.Popen([php, "-F", "-y", root / "php.conf"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    part = {name: front.include("nginx", "--part", name) for name in ("http", "server", "location", "response")}
    php = f"""
        fastcgi_pass unix:{root}/php.sock;
        include /etc/nginx/fastcgi_params;
        fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
        include {part["location"]};"""
    return textwrap.dedent(f"""
    include {part["http"]};
    types {{ text/html html; text/css css; }}
    server {{
      listen {front.port} ssl http2; server_name localhost; root {root}/html; index index.php;
      ssl_certificate {root}/cert; ssl_certificate_key {root}/key;
      include {part["server"]};
      location / {{ try_files $uri $uri/ /index.php?$args; }}
      location ~ \\.php$ {{ {php} }}
      location ~* \\.(css|js|png)$ {{ expires max; log_not_found off; add_header X-Cache static; include {part["response"]}; }}
      location /wp-admin/ {{ auth_basic admin; auth_basic_user_file {root}/users; location ~ \\.php$ {{ {php} }} }}
      location ~ /\\.ht {{ deny all; }}
      # left out
    }}
    """), f"location /left-out/ {{ auth_request off; try_files /wp-content/a.css =404; }}", ""


def nextcloud(front):
    """A Caddyfile with two sites and handle blocks."""
    site, shop, docs = (site.port for site in front.program.sites)
    (front.directory / "static").mkdir()
    (front.directory / "static/a.css").write_text("site")
    return f"""import {front.include("caddy")}
http://localhost:{front.port} {{
	# left out
	encode gzip
	header Strict-Transport-Security max-age=31536000
	redir /.well-known/carddav /remote.php/dav 301
	handle /remote.php/* {{
		reverse_proxy 127.0.0.1:{docs}
	}}
	handle_path /static/* {{
		root * {front.directory}/static
		file_server
	}}
	handle {{
		reverse_proxy 127.0.0.1:{site}
	}}
}}
http://shop.example.org:{front.port} {{
	import robot_detection
	reverse_proxy 127.0.0.1:{shop}
}}
""", f"handle /left-out/* {{\n\t\treverse_proxy 127.0.0.1:{site}\n\t}}\n\thandle_path /* {{\n\t\timport robot_detection\n\t\treverse_proxy 127.0.0.1:{site}\n\t}}", "import robot_detection"


def three_backends(front):
    """HAProxy with three backends."""
    text = front.haproxy_including(*(site.port for site in front.program.sites))
    # A rule before the query.
    return re.sub(r"(\n    bind [^\n]*)", r"\1\n    # left out", text, count=1), "http-request allow if { path_beg /left-out/ }", ""


# Setup, front proxy, scheme, path of static files, path that shows headers, and further paths with their statuses.
SETUPS = [
    (wordpress, "nginx", "https", "/wp-content/a.css", "/a/post", [("/wp-admin/", 401), ("/.htaccess", 403)]),
    (nextcloud, "caddy", "http", "/static/a.css", "/echo", [("/.well-known/carddav", 301)]),
    (three_backends, "haproxy", "http", "/assets/a.css", "/echo", []),
]


def setups(arguments, _):
    """Three typical setups, changed only by the include; doctor --front accepts them, and finds an omission."""
    check = Check()
    with Program(arguments.binary) as program:
        for setup, name, scheme, static, echo, more in SETUPS:
            if name not in arguments.fronts:
                continue
            for leaves_out in (False, True):
                def text(front):
                    made, wrong, right = setup(front)
                    return made.replace("# left out", wrong if leaves_out else right)
                with fronts.Front(name, program, text) as front:
                    url = f"{scheme}://localhost:{front.port}"
                    certificate = str(front.directory / "cert")
                    environment = {**os.environ, "SSL_CERT_FILE": certificate, "CURL_CA_BUNDLE": certificate}
                    if not leaves_out:
                        policy(check, name, url, environment, [(static, (200, 200, 200)), (echo, (200, 200, 200)),
                                                               *[(path, (status,) * 3) for path, status in more]])
                    command = [program.binary, "--config", program.config, "doctor", "--front", url, "--echo", echo, "--path", LEFT_OUT]
                    told = subprocess.run(command, capture_output=True, text=True, cwd=program.directory, env=environment)
                    is_right = f"FAIL  front: {LEFT_OUT}: robot-detection is not queried" in told.stdout if leaves_out else told.returncode == 0
                    check(is_right and told.returncode == int(leaves_out), f"{name}, left out: {leaves_out}: {told.stdout}{told.stderr}")
            print(f"{name}: {setup.__doc__} done")
    return check.faults


def policy(check, name, url, environment, more):
    """Googlebot, GPTBot and a browser get the configured responses."""
    for path, statuses in [("/", (200, 200, 200)), ("/members-only-stuff/a", (302, 302, 200)), ("/refused/a", (451, 451, 200)),
                           ("/x/../refused/a", (451, 451, 200)), ("/closed/1", (403, 403, 200)), ("/paid/1", (200, 402, 200)),
                           ("/robots.txt", (200, 200, 200)), ("/robot-heaven/", (200, 200, 200)), *more]:
        for agent, status in zip(("googlebot", "gptbot", "firefox"), statuses):
            got = subprocess.run(["curl", "-s", "-o", os.devnull, "-w", "%{http_code}", "--path-as-is", "-A", AGENTS[agent], url + path],
                                 stdout=subprocess.PIPE, text=True, env=environment).stdout
            check(got == str(status), f"{name}: {path} for {agent}: {got}, not {status}")
