"""Compares the program's results for a family with its list's statements."""

import re
from collections import Counter
from urllib.parse import urlsplit

import purposes

# Hosts with many people's pages, which do not reveal a robot's operator. If code and pages are stored
# under a person's name, the name does.
SHARED = {
    "archive.org", "datadome.co", "useragentstring.com", "bit.ly", "goo.gl", "chromium.org", "darkvisitors.com", "knownagents.com", "medium.com", "mozilla.org",
    "radar.cloudflare.com", "user-agents.net", "webmasters.stackexchange.com", "wikipedia.org", "npmjs.com",
    "pypi.org", "sourceforge.net", "google.com/site", "docs.google.com", "sites.google.com", "youtube.com", "ietf.org",
    "twitter.com", "x.com", "facebook.com/help", "rubygems.org", "crates.io", "packagist.org", "docs.rs", "pkg.go.dev",
}  # fmt: skip
BY_PERSON = {"github.com", "gitlab.com", "bitbucket.org"}
UNKNOWN = "unlisted operator"  # as in our records
SECOND_LEVEL = {"ac", "co", "com", "edu", "go", "gov", "ne", "net", "or", "org"}
# Names of one company: earlier names, or names abroad.
SAME = [
    {"alphabet", "google", "youtube", "blogger", "feedburner", "doubleclick", "withgoogle", "chrome"},
    {"meta", "facebook", "fb", "instagram", "whatsapp"},
    {"microsoft", "bing", "msn", "live", "skype", "outlook", "office", "azure"},
    {"linkedin"},
    {"amazon", "aws", "alexa", "amazonadbot"},
    {"apple", "icloud"},
    {"yahoo", "oath", "verizonmedia", "inktomi"},
    {"bytedance", "tiktok", "toutiao"},
    {"x", "twitter"},
    {"openai", "chatgpt"},
    {"anthropic", "claude"},
    {"mozilla", "firefox", "pocket", "getpocket"},
    {"automattic", "wordpress", "wp", "tumblr"},
    {"adobe"},
    {"naver", "line"},
    {"360", "qihoo", "so", "haosou"},
    {"tencent", "qq", "wechat", "soso"},
    {"alibaba", "aliyun", "alibabacloud", "yisou", "uc"},
]
FORMS = re.compile(
    r"\b(inc|incorporated|ltd|llc|gmbh|corp|corporation|co|company|limited|ag|sa|sas|srl|bv|b\.v|ab|as|oy|kg|plc|pte|pty|"
    r"s\.?r\.?o|a\.?s|the|group|holdings?|technologies|technology|labs?|software|services|project|foundation|developers)\b\.?",
    re.IGNORECASE,
)


def named(family, answers):
    """Returns the most frequent name of a family's User-Agents, preferring one similar to the list's; or None."""
    found = Counter(answers[agent] for agent in family.agents if answers[agent].is_named)
    return max(found, key=lambda answer: (name_agrees(family, answer), found[answer]), default=None)


def purpose_agrees(family, answer):
    """Checks whether the list's words allow our purpose; None if they specify nothing."""
    allowed = purposes.allowed(family.list, family.words)
    return answer.purpose in allowed if allowed else None


def operator_agrees(family, answer):
    """Checks whether both name one operator, by name or by host; None if either does not specify one."""
    hosts = {of_url(url) for url in family.urls} - {""}
    names = {letters(name) for name in family.operators} - {""}
    ours = {letters(answer.operator), of_url(answer.url)} - {"", letters(UNKNOWN)}
    if not names:
        # A site with the robot's name reveals its author, whoever owns the author's company now.
        ours |= {letters(answer.name), letters(answer.id)}
    if not (names or hosts) or answer.operator == UNKNOWN:
        return None
    return any(same(left, right) for left in ours for right in names | hosts)


def name_agrees(family, answer):
    """Checks whether our name for a family is also the list's, or occurs in its expression or User-Agents."""
    theirs = [letters(text) for text in (family.name, family.key)] + [letters(agent) for agent in family.agents]
    ours = {letters(answer.name), letters(answer.id)} - {""}
    return any(mine in text or (len(text) > 3 and text in mine) for mine in ours for text in theirs)


def their_operator(family):
    """Returns a list's statements about a robot's operator in one line: names, else the owners of its URLs."""
    return " / ".join(family.operators or filter(None, dict.fromkeys(of_url(url) for url in family.urls)))


def plain(name):
    """Returns the name of a company without its legal form."""
    return " ".join(FORMS.sub(" ", name).replace(",", " ").split()) or name


def same(left, right):
    short, long = sorted((left, right), key=len)
    if short == long or (len(short) > 3 and short in long):
        return True
    return any(one(group, left) and one(group, right) for group in SAME)


def one(group, name):
    return any(name == word or (len(word) > 3 and word in name) for word in group)


def letters(name):
    """Returns a name without case, punctuation and legal forms."""
    bare = FORMS.sub(" ", name)
    return re.sub(r"[^a-z0-9]", "", (bare if re.search(r"[A-Za-z0-9]{2}", bare) else name).lower())


def of_url(url):
    """Returns the part of a URL that names its owner: the domain's main label, or the person with the page."""
    parts = urlsplit(url if "//" in url else f"//{url}")
    host = (parts.hostname or "").removeprefix("www.")
    if host in BY_PERSON:
        return letters(parts.path.strip("/").split("/")[0])
    if any(host == shared or host.endswith(f".{shared}") or f"{host}{parts.path}".startswith(shared) for shared in SHARED):
        return ""
    if host.endswith((".github.io", ".blogspot.com", ".wordpress.com", ".gitlab.io")):
        return letters(host.split(".")[0])
    labels = host.split(".")
    if len(labels) > 2 and labels[-2] in SECOND_LEVEL:
        labels.pop(-2)
    return letters(labels[-2]) if len(labels) > 1 else letters(host)
