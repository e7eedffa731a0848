"""A site with a members' area, as a WSGI application: `python3 app.py 3000`.

nginx queries robot-detection before a request gets here. It removes the headers X-Robot-Detection and
X-Robot-Detection-Verdict that visitors send, and sets them to the detected robot and its verdict.
"""

import hmac
import os
import secrets
import sys
from html import escape
from http.cookies import SimpleCookie
from urllib.parse import parse_qs
from wsgiref.simple_server import make_server

MEMBERS = set()
FORM = (
    '<form method="post" action="/login"><input type="password" name="password" aria-label="Password">'
    "<button>Log in</button></form>"
)


def application(environ, start_response):
    robot = environ.get("HTTP_X_ROBOT_DETECTION", "")
    verdict = environ.get("HTTP_X_ROBOT_DETECTION_VERDICT", "")
    path = environ["PATH_INFO"]

    def page(title, body, status="200 OK", *headers):
        start_response(status, [("Content-Type", "text/html; charset=utf-8"), *headers])
        return [f'<!doctype html><html lang="en"><title>{title}</title><h1>{title}</h1>{body}</html>\n'.encode()]

    if path == "/login" and environ["REQUEST_METHOD"] == "POST":
        password = os.environ.get("MEMBERS_PASSWORD", "").encode()
        if password and not robot and hmac.compare_digest(password, sent_password(environ)):
            session = secrets.token_urlsafe()
            MEMBERS.add(session)
            cookie = f"session={session}; HttpOnly; SameSite=Lax; Path=/"
            return page("Logged in", "", "303 See Other", ("Location", "/members-only-stuff/"), ("Set-Cookie", cookie))
        return page("Wrong password", '<p><a href="/members-only-stuff/">Again</a></p>', "403 Forbidden")
    if path.startswith("/members-only-stuff/"):
        # Redirected robots never get here.
        if is_member(environ):
            return page("Members", "<p>The minutes of the last meeting.</p>")
        return page("Log in", FORM)
    if path == "/":
        who = escape(f"{robot} ({verdict})") if robot else "visitor"
        return page("Harbour Library", f'<p>Welcome, {who}.</p><a href="/members-only-stuff/">Members</a>')
    return page("Not here", "", "404 Not Found")


def sent_password(environ):
    length = min(int(environ.get("CONTENT_LENGTH") or 0), 4096)
    fields = parse_qs(environ["wsgi.input"].read(length).decode("utf-8", "replace"))
    return fields.get("password", [""])[0].encode()


def is_member(environ):
    cookie = SimpleCookie(environ.get("HTTP_COOKIE", "")).get("session")
    return cookie is not None and cookie.value in MEMBERS


if __name__ == "__main__":
    with make_server("127.0.0.1", int(sys.argv[1]), application) as server:
        server.serve_forever()
