"""The task for Scrapy: follow all links, and store the text and fields of each page."""

from pathlib import Path

import scrapy


class SiteSpider(scrapy.Spider):
    name = "site"

    def __init__(self, start, store, **named):
        super().__init__(**named)
        self.start_urls = [start]
        self.store = Path(store)

    def parse(self, response):
        below = response.url.split("/", 3)[3]
        file = self.store / below
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(response.body)
        yield {
            "url": response.url,
            "title": response.css("title::text").get(),
            "description": response.css("meta[name=description]::attr(content)").get(),
            "text": " ".join(response.css("body ::text").getall()),
        }
        yield from response.follow_all(css="a")
