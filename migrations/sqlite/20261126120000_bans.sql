-- Networks that are refused so often that a firewall had better keep them out.

CREATE TABLE bans (
    -- An address of IPv4, a /64 of IPv6.
    network  TEXT    NOT NULL PRIMARY KEY,
    -- Label of the rule that refused it last, or a word for what else did.
    cause    TEXT    NOT NULL,
    since_ms INTEGER NOT NULL,
    until_ms INTEGER NOT NULL
) STRICT;
