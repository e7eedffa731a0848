"""Maps the words of the lists to our purposes.

A word that is missing here specifies nothing comparable: crawler-user-agents uses `seo` for everything that the list
could not classify, and Matomo `Crawler` and Arcjet `unknown` likewise.
"""

AI = {"ai-training", "ai-search", "ai-user"}
TAGS = {
    "search-engine": {"search", "ai-search"},
    # Of sites, of brands and media, of vulnerabilities.
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
    # Everything that gathers pages for an index, including indexes of links.
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
    """Returns the purposes allowed by any of a list's words, none if the words specify nothing."""
    if name == "ai-robots-txt":
        return set().union(*(FUNCTIONS.get(word, AI) for word in words))
    table = {"crawler-user-agents": TAGS, "matomo": CATEGORIES, "arcjet": ARCJET}.get(name, {})
    return set().union(*(table.get(word, set()) for word in words))
