-- Changes are no longer submitted to search engines.
DROP TABLE index_now_urls;
DROP TABLE index_now;
