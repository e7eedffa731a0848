"""User-Agents generated from a list's regular expression, if it has no example."""

import re

try:
    from re import _parser as parser
except ImportError:  # Python before 3.11
    import sre_parse as parser

MAX_REPEATS = 3


def agents(pattern):
    """Returns User-Agents that match an expression: the name alone, with a version, and in a comment."""
    text = shortest(pattern)
    return forms(text.strip()) if text and text.strip() else []


def forms(name):
    """Returns the usual spellings of a robot's name."""
    if name.startswith("Mozilla/"):
        return [name]
    version = "" if re.search(r"/[\d.x]*$", name) else "/1.0"
    full = name + ("1.0" if name.endswith("/") else version)
    return [full, f"Mozilla/5.0 (compatible; {full})", name]


def name(pattern):
    """Returns the literal text of an expression, for readers."""
    text = shortest(pattern) or pattern
    return re.sub(r"/[\d.]*$", "", text.strip()).strip(" /(;:+") or text


def shortest(pattern):
    """Returns a text that matches an expression, or None if Python cannot parse the expression."""
    try:
        return walk(parser.parse(pattern))
    except (re.error, OverflowError, RecursionError):
        return None


def walk(parts):
    return "".join(text(kind, value) for kind, value in parts)


def text(kind, value):
    kind = str(kind)
    if kind == "LITERAL":
        return chr(value)
    if kind == "IN":
        return chosen(value)
    if kind == "BRANCH":
        return max((walk(branch) for branch in value[1]), key=len)
    if kind == "SUBPATTERN":
        return walk(value[-1])
    if kind in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        least, _, repeated = value
        return walk(repeated) * min(least, MAX_REPEATS)
    if kind in ("ANY", "NOT_LITERAL"):
        return " "
    return ""  # anchors and look-around


def chosen(members):
    """Returns a character of a set; for a negated set, a blank."""
    for kind, value in members:
        kind = str(kind)
        if kind == "NEGATE":
            return " "
        if kind == "LITERAL":
            return chr(value)
        if kind == "RANGE":
            return chr(value[0])
        if kind == "CATEGORY":
            return {"CATEGORY_DIGIT": "1", "CATEGORY_WORD": "a", "CATEGORY_SPACE": " "}.get(str(value), " ")
    return ""
