"""Holds what the program says of a family against what its list says."""

import re
from collections import Counter
from urllib.parse import urlsplit

import purposes

# Hosts of many people's pages: they tell nothing of who runs a robot. Of code and pages kept
# under a person's name, the name tells.
SHARED = {
    "archive.org", "datadome.co", "useragentstring.com", "bit.ly", "goo.gl", "chromium.org", "darkvisitors.com", "knownagents.com", "medium.com", "mozilla.org",
    "radar.cloudflare.com", "user-agents.net", "webmasters.stackexchange.com", "wikipedia.org", "npmjs.com",
    "pypi.org", "sourceforge.net", "google.com/site", "docs.google.com", "sites.google.com", "youtube.com", "ietf.org",
    "twitter.com", "x.com", "facebook.com/help", "rubygems.org", "crates.io", "packagist.org", "docs.rs", "pkg.go.dev",
}  # fmt: skip
BY_PERSON = {"github.com", "gitlab.com", "bitbucket.org"}
UNKNOWN = "unknown author"  # as our records say it
SECOND_LEVEL = {"ac", "co", "com", "edu", "go", "gov", "ne", "net", "or", "org"}
# Names of one company: what it was called before, or calls itself abroad.
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
    """Returns the name that most of a family's User-Agents get, one like the list's before others; or None."""
    found = Counter(answers[agent] for agent in family.agents if answers[agent].is_named)
    return max(found, key=lambda answer: (name_agrees(family, answer), found[answer]), default=None)


def purpose_agrees(family, answer):
    """Tells whether our purpose is one that the list's words allow; None where they say nothing."""
    allowed = purposes.allowed(family.list, family.words)
    return answer.purpose in allowed if allowed else None


def operator_agrees(family, answer):
    """Tells whether both name one operator, by name or by host; None where the list says nothing, or nobody knows."""
    hosts = {of_url(url) for url in family.urls} - {""}
    names = {letters(name) for name in family.operators} - {""}
    ours = {letters(answer.operator), of_url(answer.url)} - {"", letters(UNKNOWN)}
    if not names:
        # A site named as the robot is says who made it, whoever owns the maker by now.
        ours |= {letters(answer.name), letters(answer.id)}
    if not (names or hosts) or answer.operator == UNKNOWN:
        return None
    return any(same(left, right) for left in ours for right in names | hosts)


def name_agrees(family, answer):
    """Tells whether our name for a family is also the list's, or stands in its expression or User-Agents."""
    theirs = [letters(text) for text in (family.name, family.key)] + [letters(agent) for agent in family.agents]
    ours = {letters(answer.name), letters(answer.id)} - {""}
    return any(mine in text or (len(text) > 3 and text in mine) for mine in ours for text in theirs)


def their_operator(family):
    """Returns what a list says of who runs a robot, in one line: names, else the owners of its URLs."""
    return " / ".join(family.operators or filter(None, dict.fromkeys(of_url(url) for url in family.urls)))


def plain(name):
    """Returns the name of a company without its form."""
    return " ".join(FORMS.sub(" ", name).replace(",", " ").split()) or name


def same(left, right):
    short, long = sorted((left, right), key=len)
    if short == long or (len(short) > 3 and short in long):
        return True
    return any(one(group, left) and one(group, right) for group in SAME)


def one(group, name):
    return any(name == word or (len(word) > 3 and word in name) for word in group)


def letters(name):
    """Returns a name without case, signs and the forms of companies."""
    bare = FORMS.sub(" ", name)
    return re.sub(r"[^a-z0-9]", "", (bare if re.search(r"[A-Za-z0-9]{2}", bare) else name).lower())


def of_url(url):
    """Returns what of a URL names its owner: the domain's own label, or the person whose page it is."""
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
