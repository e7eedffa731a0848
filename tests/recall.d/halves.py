"""Assigns a robot to a half: the one used for tuning, or the one held out.

The half depends only on the robot's name, so that all versions of a robot are on one side, whatever list they come
from.
"""

import hashlib
import re

# Words of browsers and platforms, which name no robot.
PLATFORM = set(
    """mozilla compatible msie applewebkit webkit khtml like gecko chrome chromium safari version mobile windows nt
    linux android x11 u i macintosh intel mac os x iphone ipad cpu ubuntu firefox opera presto edge edg trident wow64
    win64 x64 rv en us build nexus net clr dalvik""".split()
)
WORD = re.compile(r"[A-Za-z][A-Za-z0-9_.!-]*")


def half(name):
    """Returns `tuned` or `held out` for the name of a robot."""
    return "held out" if hashlib.sha256(letters(name).encode("utf8", "replace")).digest()[-1] & 1 else "tuned"


def letters(name):
    """Returns a name without case, punctuation and versions; for a regular expression, its literal text."""
    return re.sub(r"\\[a-z]|[^a-z]", "", name.lower()) or name


def product(user_agent):
    """Returns the first word of a User-Agent that does not name a browser or platform."""
    after = user_agent.lower().rfind("compatible;")
    for part in (user_agent[after + 11 :] if after >= 0 else "", user_agent):
        for word in WORD.findall(part):
            if word.split(".")[0].lower() not in PLATFORM:
                return word
    return user_agent
