"""Which purposes of ours fit the words of the lists.

A word that is not here says nothing that could be compared: `seo` of
crawler-user-agents stands on whatever the list could not place, `Crawler` of
Matomo and `unknown` of Arcjet likewise.
"""

AI = {"ai-training", "ai-search", "ai-user"}
TAGS = {
    "search-engine": {"search", "ai-search"},
    # Of sites, of brands and media, of who is open to attack.
    "monitoring": {"monitoring", "seo", "scanner"},
    "scanner": {"scanner", "monitoring", "academic"},
    "advertising": {"advertising"},
    "social-preview": {"preview"},
    "feed-reader": {"feed"},
    "ai-crawler": AI,
    "http-library": {"library", "automation"},
    "archiver": {"archive"},
    "academic": {"academic"},
    "browser-automation": {"automation", "ai-user"},
}
CATEGORIES = {
    # Whatever gathers pages for an index, that of links too.
    "Search bot": {"search", "ai-search", "seo"},
    "Site Monitor": {"monitoring", "seo", "scanner"},
    "Security Checker": {"scanner", "monitoring", "academic"},
    "Security search bot": {"scanner"},
    "AI Data Scraper": AI,
    "AI Assistant": AI,
    "AI Search Crawler": AI | {"search"},
    "AI Agent": AI | {"automation"},
    "Feed Fetcher": {"feed"},
    "Feed Reader": {"feed"},
    "Feed Parser": {"feed"},
    "Social Media Agent": {"preview"},
    "Validator": {"monitoring"},
    "Benchmark": {"monitoring", "library"},
    "Read-it-later Service": {"preview", "archive", "feed"},
    "Network Monitor": {"monitoring"},
}
ARCJET = {
    "monitor": {"monitoring", "seo", "scanner"},
    "ai": AI,
    "search-engine": {"search", "ai-search", "seo"},
    "programmatic": {"library", "automation"},
    "social": {"preview"},
    "preview": {"preview"},
    "feedfetcher": {"feed"},
    "academic": {"academic"},
    "advertising": {"advertising"},
    "optimizer": {"seo", "monitoring", "advertising"},
    "archive": {"archive"},
    "webhook": {"automation", "library"},
}
FUNCTIONS = {
    "AI Search Crawlers": {"ai-search", "search"},
    "AI Agents": {"ai-user", "automation"},
}


def allowed(name, words):
    """Returns the purposes that any of a list's words allows, none where they say nothing."""
    if name == "ai-robots-txt":
        return set().union(*(FUNCTIONS.get(word, AI) for word in words))
    table = {"crawler-user-agents": TAGS, "matomo": CATEGORIES, "arcjet": ARCJET}.get(name, {})
    return set().union(*(table.get(word, set()) for word in words))
