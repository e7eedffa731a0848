-- The schema of version 0.1.0.
-- Columns in _ms are milliseconds since 1970.

-- Robots, and the number that grows when one of them changes.
-- Dates are milliseconds since 1970; patterns, status_detail and facts are JSON.
-- COLLATE "C" sorts as SQLite does, whatever the locale of the database.
CREATE TABLE robots (
    source            TEXT COLLATE "C" NOT NULL,
    robot_id          TEXT COLLATE "C" NOT NULL,
    robot_name        TEXT COLLATE "C" NOT NULL,
    robot_details_url TEXT COLLATE "C",
    robot_useragent   TEXT COLLATE "C" NOT NULL,
    patterns          TEXT COLLATE "C" NOT NULL,
    purpose           TEXT COLLATE "C" NOT NULL,
    operator          TEXT COLLATE "C",
    product_token     TEXT COLLATE "C",
    status            TEXT COLLATE "C" NOT NULL,
    status_detail     TEXT COLLATE "C",
    facts             TEXT COLLATE "C" NOT NULL,
    insertion_date    BIGINT           NOT NULL,
    modified_date     BIGINT           NOT NULL,
    PRIMARY KEY (source, robot_id)
);

CREATE INDEX robots_by_id ON robots (robot_id);

CREATE TABLE registry_version (
    id      BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    version BIGINT NOT NULL
);

INSERT INTO registry_version (id, version) VALUES (1, 0);

-- What is remembered of each source, the history of refreshes, and who refreshes.
-- problems is JSON.
CREATE TABLE sources (
    source         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    url            TEXT             NOT NULL,
    etag           TEXT,
    last_modified  TEXT,
    content_sha256 TEXT,
    succeeded_ms   BIGINT
);

CREATE TABLE refreshes (
    refresh_id   BIGINT           GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    source       TEXT COLLATE "C" NOT NULL,
    url          TEXT             NOT NULL,
    triggered_by TEXT             NOT NULL,
    started_ms   BIGINT           NOT NULL,
    finished_ms  BIGINT           NOT NULL,
    outcome      TEXT             NOT NULL,
    error        TEXT             NOT NULL,
    records      BIGINT           NOT NULL,
    added        BIGINT           NOT NULL,
    changed      BIGINT           NOT NULL,
    removed      BIGINT           NOT NULL,
    skipped      BIGINT           NOT NULL,
    quarantined  BIGINT           NOT NULL,
    unusable     BIGINT           NOT NULL,
    problems     TEXT             NOT NULL,
    -- Hash of a document that was held back, so that exactly this one can be accepted.
    held_sha256  TEXT
);

CREATE INDEX refreshes_by_source ON refreshes (source, refresh_id);

CREATE TABLE leases (
    name     TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    holder   TEXT COLLATE "C" NOT NULL,
    until_ms BIGINT           NOT NULL
);

-- The administrator: one password, tokens for scripts, sessions.
-- Tokens and session ids are kept as SHA-256 in hexadecimal, never as such.
CREATE TABLE admin_credentials (
    id            BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    password_hash TEXT   NOT NULL,
    changed_ms    BIGINT NOT NULL
);

CREATE TABLE admin_tokens (
    name       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    sha256     TEXT COLLATE "C" NOT NULL UNIQUE,
    created_ms BIGINT           NOT NULL,
    -- What the token may do.
    scope      TEXT             NOT NULL DEFAULT 'write' CHECK (scope IN ('read', 'write')),
    -- The hour of its last use; nothing where it was never used.
    used_ms    BIGINT,
    -- When it expires; nothing: never.
    ends_ms    BIGINT
);

CREATE TABLE admin_sessions (
    id_sha256  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    data       TEXT             NOT NULL,
    expires_ms BIGINT           NOT NULL,
    -- To some minutes; 0 until it is used.
    seen_ms    BIGINT           NOT NULL DEFAULT 0
);

CREATE INDEX admin_sessions_by_end ON admin_sessions (expires_ms);

-- Resource descriptions: what the site robot says about each resource of a site.
-- attributes is a JSON object in order.
-- Columns in _key are what indexes are sorted by, cut to 255 bytes, empty where nothing is known.
CREATE TABLE resource_descriptions (
    site          TEXT COLLATE "C" NOT NULL,
    url           TEXT COLLATE "C" NOT NULL,
    -- SHA-256 of what the description says, times and place aside.
    fingerprint   TEXT             NOT NULL,
    title         TEXT             NOT NULL,
    title_key     TEXT COLLATE "C" NOT NULL,
    depth_key     TEXT COLLATE "C" NOT NULL,
    md5           TEXT,
    first_seen_ms BIGINT           NOT NULL,
    modified_ms   BIGINT           NOT NULL,
    run_id        BIGINT           NOT NULL,
    attributes    TEXT             NOT NULL,
    -- Long texts, for which attributes has null: last, so that lists need not read them.
    partial_text  TEXT,
    full_text     TEXT,
    contents      TEXT,
    -- Since when a description is not shown, and why; since when its page does not answer.
    hidden_ms     BIGINT,
    hidden_reason TEXT,
    missing_ms    BIGINT,
    -- Marks over the full text: lists, tables, code, links.
    marks         TEXT,
    PRIMARY KEY (site, url)
);

CREATE INDEX resource_descriptions_by_title
    ON resource_descriptions (site, title_key, url) WHERE title_key <> '';

CREATE INDEX resource_descriptions_by_change
    ON resource_descriptions (site, modified_ms, url);

CREATE INDEX resource_descriptions_hidden
    ON resource_descriptions (site, url) WHERE hidden_ms IS NOT NULL;

CREATE INDEX resource_descriptions_missing
    ON resource_descriptions (site, url) WHERE missing_ms IS NOT NULL;

-- The site robot: its runs, and the URLs that it knows (the frontier) with the links of each.
CREATE TABLE site_robot_runs (
    run_id      BIGINT           GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    site        TEXT COLLATE "C" NOT NULL,
    -- running, finished, or abandoned for another run.
    state       TEXT             NOT NULL,
    -- What those who work on it shall do: run, pause or stop.
    wanted      TEXT             NOT NULL,
    -- What the run's decisions depend on: another value asks for whole pages again.
    settings    TEXT             NOT NULL,
    started_ms  BIGINT           NOT NULL,
    finished_ms BIGINT,
    found       BIGINT           NOT NULL,
    fetched     BIGINT           NOT NULL,
    unmodified  BIGINT           NOT NULL,
    bytes       BIGINT           NOT NULL,
    added       BIGINT           NOT NULL,
    changed     BIGINT           NOT NULL,
    same        BIGINT           NOT NULL,
    withdrawn   BIGINT           NOT NULL,
    rejected    BIGINT           NOT NULL,
    failed      BIGINT           NOT NULL,
    -- Why the results of a run are held back.
    held        TEXT
);

-- A site has one run at a time.
CREATE UNIQUE INDEX site_robot_runs_open ON site_robot_runs (site) WHERE finished_ms IS NULL;

CREATE INDEX site_robot_runs_by_site ON site_robot_runs (site, run_id);

-- URLs that the site robot knows, in the order in which it found them: rows that one transaction
-- writes are stored together.
CREATE TABLE site_robot_urls (
    site          TEXT COLLATE "C" NOT NULL,
    url           TEXT COLLATE "C" NOT NULL,
    -- The last run that found it.
    run_id        BIGINT           NOT NULL,
    -- 0 waits, 1 is taken by its holder, 2 waits until due_ms, 3 is done.
    state         BIGINT           NOT NULL,
    host          TEXT COLLATE "C" NOT NULL,
    depth         BIGINT           NOT NULL,
    -- Depth that its links may reach; nothing: any.
    max_depth     BIGINT,
    position      BIGINT           NOT NULL,
    -- 1: found nearer to a starting point than when it was fetched; its links count again.
    relink        BIGINT           NOT NULL,
    attempts      BIGINT           NOT NULL,
    -- 1: it has a resource description.
    described     BIGINT           NOT NULL,
    found_on      TEXT             NOT NULL,
    holder        TEXT COLLATE "C",
    due_ms        BIGINT,
    fetched_ms    BIGINT,
    status        BIGINT,
    outcome       TEXT,
    etag          TEXT,
    last_modified TEXT,
    content_hash  TEXT,
    settings      TEXT,
    -- URLs that were followed, a line each.
    links         TEXT,
    -- How a page came to have no description, and whether it asks for a password.
    loss          TEXT,
    asks_password BIGINT,
    -- URL that one stands for: where it leads, what it names as canonical, or what has its content.
    alias_of      TEXT,
    -- Of URLs with one content, those with the lowest come first.
    preference    BIGINT,
    -- Times in a row that a page was as before, and when it is to be asked for again.
    steady        BIGINT,
    next_ms       BIGINT,
    PRIMARY KEY (site, url)
);

CREATE INDEX site_robot_urls_open
    ON site_robot_urls (site, run_id, state, host, depth, position) WHERE state < 3;

-- Which are due, where not all may be asked for.
CREATE INDEX site_robot_urls_next ON site_robot_urls (site, next_ms);

-- Lists of address ranges that operators publish: the last good copy of each, and how
-- the last attempts to get it went; prefixes has one a line.
CREATE TABLE address_ranges (
    -- With its fragment, which selects a part of the document.
    url           TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    prefixes      TEXT,
    created       TEXT,
    unreadable    BIGINT           NOT NULL,
    etag          TEXT,
    last_modified TEXT,
    -- By which rules the document was read: a program with others reads it again.
    rules         BIGINT           NOT NULL,
    fetched_ms    BIGINT,
    checked_ms    BIGINT,
    tried_ms      BIGINT,
    failures      BIGINT           NOT NULL,
    error         TEXT
);

-- The robots.txt of each host as it came last, to ask for another version only.
CREATE TABLE site_robot_robots_txt (
    site          TEXT COLLATE "C" NOT NULL,
    -- URL of the file.
    url           TEXT COLLATE "C" NOT NULL,
    etag          TEXT,
    last_modified TEXT,
    body          TEXT             NOT NULL,
    PRIMARY KEY (site, url)
);

-- Key by which the layers of a fleet know the site robot of their own sites, in hexadecimal.
-- Whoever needs it first makes it.
CREATE TABLE own_robot_key (
    id         BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    secret     TEXT   NOT NULL,
    created_ms BIGINT NOT NULL
);

-- Runs of the site robot that a command hands over to a running server.
CREATE TABLE site_robot_orders (
    order_id  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    site      TEXT             NOT NULL,
    -- What is to be done, as JSON.
    work      TEXT             NOT NULL,
    placed_ms BIGINT           NOT NULL,
    -- run, or stop.
    wanted    TEXT             NOT NULL,
    -- Who has taken it, and when that was last seen at work.
    holder    TEXT,
    seen_ms   BIGINT,
    -- How it goes, and what came of it, as JSON.
    progress  TEXT,
    outcome   TEXT
);

-- Servers that take orders, and when each was last seen.
CREATE TABLE site_robot_servers (
    holder  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    seen_ms BIGINT           NOT NULL
);

-- Numbers that grow: with each order, and when robot heaven may have changed.
CREATE TABLE site_robot_news (
    id      BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    orders  BIGINT NOT NULL,
    heavens BIGINT NOT NULL
);

INSERT INTO site_robot_news (id, orders, heavens) VALUES (1, 0, 0);

-- Descriptions that a run has found, until they are published.
CREATE TABLE staged_descriptions (
    site         TEXT COLLATE "C" NOT NULL,
    url          TEXT COLLATE "C" NOT NULL,
    -- save, hide, remove or miss.
    change       TEXT             NOT NULL,
    reason       TEXT,
    run_id       BIGINT           NOT NULL,
    fingerprint  TEXT             NOT NULL,
    title        TEXT             NOT NULL,
    title_key    TEXT COLLATE "C" NOT NULL,
    depth_key    TEXT COLLATE "C" NOT NULL,
    md5          TEXT,
    seen_ms      BIGINT           NOT NULL,
    attributes   TEXT             NOT NULL,
    partial_text TEXT,
    full_text    TEXT,
    contents     TEXT,
    -- Marks over the full text: lists, tables, code, links.
    marks        TEXT,
    PRIMARY KEY (site, url)
);

-- What the last publication replaced. Turn 1: what is being exchanged for it.
CREATE TABLE previous_descriptions (
    site          TEXT COLLATE "C" NOT NULL,
    turn          BIGINT           NOT NULL,
    url           TEXT COLLATE "C" NOT NULL,
    -- 0: there was none.
    was_there     BIGINT           NOT NULL,
    fingerprint   TEXT,
    title         TEXT,
    title_key     TEXT COLLATE "C",
    depth_key     TEXT COLLATE "C",
    md5           TEXT,
    first_seen_ms BIGINT,
    modified_ms   BIGINT,
    run_id        BIGINT,
    hidden_ms     BIGINT,
    hidden_reason TEXT,
    missing_ms    BIGINT,
    attributes    TEXT,
    partial_text  TEXT,
    full_text     TEXT,
    contents      TEXT,
    marks         TEXT,
    PRIMARY KEY (site, turn, url)
);

CREATE TABLE heaven_publications (
    site         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    -- Grows with each change of what is in force.
    version      BIGINT           NOT NULL,
    -- Run whose publication can be put back.
    run_id       BIGINT,
    published_ms BIGINT,
    -- When it was put back; nothing: it is in force.
    undone_ms    BIGINT,
    -- Addresses of the site, separated by spaces: earlier ones, then the current one.
    addresses    TEXT             NOT NULL DEFAULT ''
);

-- Pages that an administrator took out for good.
CREATE TABLE withdrawn_urls (
    site         TEXT COLLATE "C" NOT NULL,
    url          TEXT COLLATE "C" NOT NULL,
    withdrawn_ms BIGINT           NOT NULL,
    PRIMARY KEY (site, url)
);

-- Failed logins, by network of the client: each takes a while to be forgotten.
-- A row that is over is removed, so that the time is all that has to be kept.
CREATE TABLE login_failures (
    client       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    forgotten_ms BIGINT           NOT NULL
);

CREATE INDEX login_failures_by_end ON login_failures (forgotten_ms);

-- Traffic is counted as requests, bytes and time, without an address: the keys that are counted
-- separately. The id is made from the rest, so that every instance has the same.
CREATE TABLE traffic_keys (
    key_id   BIGINT           NOT NULL PRIMARY KEY,
    site     TEXT COLLATE "C" NOT NULL,
    kind     TEXT COLLATE "C" NOT NULL,
    -- Empty for people.
    robot    TEXT COLLATE "C" NOT NULL,
    verdict  TEXT COLLATE "C" NOT NULL,
    decision TEXT COLLATE "C" NOT NULL,
    -- Label of the rule that decided, or a word for what else did.
    cause    TEXT COLLATE "C" NOT NULL,
    -- Class of the status: 2 for 200 to 299; 0 for none of the five.
    status   BIGINT           NOT NULL
);

-- Sums of a minute (0), an hour (1) or a day (2) in UTC; each request is in one of each.
CREATE TABLE traffic_counts (
    span     BIGINT NOT NULL,
    -- Minutes since 1970.
    began    BIGINT NOT NULL,
    key_id   BIGINT NOT NULL,
    requests BIGINT NOT NULL,
    bytes    BIGINT NOT NULL,
    -- Microseconds from the head of a request to the end of its response.
    micros   BIGINT NOT NULL,
    PRIMARY KEY (span, began, key_id)
);

-- The last batch of each writer that is in the sums: one whose end was not heard of is not
-- added twice.
CREATE TABLE traffic_writers (
    writer  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    batch   BIGINT           NOT NULL,
    seen_ms BIGINT           NOT NULL
);

-- Minutes in which a server counted the requests of a site, so that no log is counted beside.
CREATE TABLE traffic_live (
    site   TEXT COLLATE "C" NOT NULL,
    writer TEXT COLLATE "C" NOT NULL,
    began  BIGINT           NOT NULL,
    -- The last minute.
    ended  BIGINT           NOT NULL,
    PRIMARY KEY (site, writer)
);

-- Logs that were counted, by their beginnings: one that has grown since, or was packed, is the same.
CREATE TABLE traffic_imports (
    -- Hash of the first lines when it was first seen.
    import_id  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    -- Hash of the first line, and of as many bytes at the beginning as `head_bytes` says.
    first_line TEXT COLLATE "C" NOT NULL,
    head_bytes BIGINT           NOT NULL,
    head       TEXT COLLATE "C" NOT NULL,
    name       TEXT             NOT NULL,
    -- Bytes, unpacked, that have been counted.
    counted    BIGINT           NOT NULL,
    requests   BIGINT           NOT NULL,
    updated_ms BIGINT           NOT NULL
);

CREATE INDEX traffic_imports_by_line ON traffic_imports (first_line);

-- Who changed what, and when: rules, settings, refreshes, logins, tokens.
CREATE TABLE audit_log (
    entry_id BIGINT           GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at_ms    BIGINT           NOT NULL,
    -- Who: admin, token NAME, command line, schedule.
    actor    TEXT             NOT NULL,
    -- What was done, in a word such as rule-added.
    event    TEXT COLLATE "C" NOT NULL,
    -- What it was done to, such as a robot's id or the label of a rule.
    subject  TEXT             NOT NULL,
    detail   TEXT             NOT NULL
);

CREATE INDEX audit_log_by_time ON audit_log (at_ms);

-- What was not simply passed, request by request: bounded by number and age.
CREATE TABLE evidence (
    evidence_id BIGINT           GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at_ms       BIGINT           NOT NULL,
    -- What it is kept as: redirect, serve, refuse, slow, impostor or violation.
    event       TEXT COLLATE "C" NOT NULL,
    site        TEXT COLLATE "C" NOT NULL,
    kind        TEXT COLLATE "C" NOT NULL,
    -- Empty for people.
    robot       TEXT COLLATE "C" NOT NULL,
    verdict     TEXT COLLATE "C" NOT NULL,
    decision    TEXT COLLATE "C" NOT NULL,
    -- Label of the rule that decided, or a word for what else did.
    cause       TEXT COLLATE "C" NOT NULL,
    status      BIGINT           NOT NULL,
    method      TEXT             NOT NULL,
    host        TEXT             NOT NULL,
    -- Without the query; of people a pattern.
    path        TEXT             NOT NULL,
    -- Whole, or as a network such as 203.0.113.0/24; empty where none is kept.
    address     TEXT             NOT NULL,
    user_agent  TEXT             NOT NULL,
    -- Host alone.
    referrer    TEXT             NOT NULL,
    -- What contradicts the claim of an impostor.
    proof       TEXT             NOT NULL,
    -- What is broken of robots.txt: empty, rule or delay.
    broken      TEXT COLLATE "C" NOT NULL,
    -- Line of the rule as robots.txt stood then; 0 where a setting refuses the robot.
    line        BIGINT           NOT NULL,
    rule        TEXT             NOT NULL,
    group_line  BIGINT           NOT NULL,
    -- Names of the group.
    agents      TEXT             NOT NULL,
    -- Crawl-delay that is asked for, and time that the robot let pass.
    delay_ms    BIGINT           NOT NULL,
    gap_ms      BIGINT           NOT NULL,
    -- Codes of the reasons why the visitor was suspect, with commas between them; empty where it was not.
    suspect     TEXT             NOT NULL DEFAULT ''
);

-- Rules that are made while servers run, on the admin page, by its JSON or by a command.
CREATE TABLE live_rules (
    -- Never given twice: what decided is told, and counted, under it.
    rule_id    BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- JSON: action, whom it is about, paths, site.
    definition TEXT   NOT NULL,
    -- No other rule in force has it.
    name       TEXT COLLATE "C",
    created_ms BIGINT NOT NULL,
    -- Who: admin, token NAME, command line.
    created_by TEXT   NOT NULL,
    -- None: it lasts until it is removed.
    ends_ms    BIGINT,
    -- None: it has not been removed. One that was can be brought back for a while.
    removed_ms BIGINT
);

-- What servers watch; one row.
CREATE TABLE live_rules_state (
    id            BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    -- Grows with each change.
    version       BIGINT NOT NULL,
    -- All enforcement is paused until then.
    pause_ends_ms BIGINT,
    paused_ms     BIGINT,
    paused_by     TEXT
);

INSERT INTO live_rules_state (id, version) VALUES (1, 0);

-- Alerts: what each is about, how it stands, and what its receiver was told last.
CREATE TABLE alerts (
    name      TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    -- What is watched, such as impostor.
    watch     TEXT             NOT NULL,
    -- Scheme and host of the receiver; the rest of its address is a secret.
    receiver  TEXT             NOT NULL,
    -- 1 while what it is about lasts.
    is_firing BIGINT           NOT NULL,
    -- When it last began or ended.
    since_ms  BIGINT           NOT NULL,
    -- When it was last seen to last.
    seen_ms   BIGINT           NOT NULL,
    -- What was found, one sentence a line.
    findings  TEXT             NOT NULL,
    -- 1 where the receiver believes that it lasts.
    is_told   BIGINT           NOT NULL,
    -- When the receiver took a message; 0: never.
    told_ms   BIGINT           NOT NULL,
    -- Attempts in a row that failed, the last of them, and why.
    failures  BIGINT           NOT NULL,
    tried_ms  BIGINT           NOT NULL,
    error     TEXT             NOT NULL
);

-- The last messages that were sent, or were not taken.
CREATE TABLE alert_attempts (
    attempt_id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at_ms      BIGINT NOT NULL,
    name       TEXT   NOT NULL,
    -- What the message was: begun, lasting, ended, report, test.
    event      TEXT   NOT NULL,
    -- Empty where the receiver took it.
    error      TEXT   NOT NULL
);

-- Which pages are asked for: the most frequent paths of an hour (1) or a day (2) in UTC, and patterns
-- with which the rest is counted. Of people patterns only.
CREATE TABLE traffic_paths (
    span          BIGINT           NOT NULL,
    -- Minutes since 1970.
    began         BIGINT           NOT NULL,
    site          TEXT COLLATE "C" NOT NULL,
    -- Empty for people; `other` for robots of which there were too many.
    robot         TEXT COLLATE "C" NOT NULL,
    path          TEXT COLLATE "C" NOT NULL,
    -- 1: a path; 0: a pattern.
    is_path       BIGINT           NOT NULL,
    -- Patterns above it.
    depth         BIGINT           NOT NULL,
    requests      BIGINT           NOT NULL,
    redirects     BIGINT           NOT NULL,
    client_errors BIGINT           NOT NULL,
    server_errors BIGINT           NOT NULL,
    PRIMARY KEY (span, began, site, robot, path)
);

-- How much higher than what is kept the number of one visitor may be.
CREATE TABLE traffic_path_cuts (
    span     BIGINT           NOT NULL,
    began    BIGINT           NOT NULL,
    site     TEXT COLLATE "C" NOT NULL,
    paths    BIGINT           NOT NULL,
    patterns BIGINT           NOT NULL,
    -- Requests of which nobody knows the path.
    skipped  BIGINT           NOT NULL,
    PRIMARY KEY (span, began, site)
);

-- Networks that are refused so often that a firewall had better keep them out.
CREATE TABLE bans (
    -- An address of IPv4, a /64 of IPv6.
    network  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    -- Label of the rule that refused it last, or a word for what else did.
    cause    TEXT             NOT NULL,
    since_ms BIGINT           NOT NULL,
    until_ms BIGINT           NOT NULL
);

-- Token buckets that are not full, so that the instances share the pace of a rule. A server that crashes may forget them.
CREATE UNLOGGED TABLE pace (
    -- Hashes: of the rule with its site, and of who is slowed.
    rule       BIGINT NOT NULL,
    bucket     BIGINT NOT NULL,
    -- When it is full again, in microseconds since 1970 by the clock of the database.
    full_us    BIGINT NOT NULL,
    -- What was taken from it last.
    added_us   BIGINT NOT NULL,
    changed_ms BIGINT NOT NULL,
    PRIMARY KEY (rule, bucket)
);

CREATE INDEX pace_changed ON pace (changed_ms);

-- Seed of the hashes that instances share, which nobody else knows.
CREATE TABLE fleet_seed (
    id     BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    first  BIGINT NOT NULL,
    second BIGINT NOT NULL
);

-- Who is flagged as a fleet of robots, or for odd conduct: what each instance says now.
CREATE TABLE suspects (
    -- A name of a process.
    instance TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    at_ms    BIGINT           NOT NULL,
    -- JSON.
    flags    TEXT             NOT NULL,
    -- What it has seen in this window, in Base64; empty where it is alone.
    sketch   TEXT             NOT NULL
);

-- Keys that sign the word of visitors that they are people: one for each day, kept for some.
CREATE TABLE way_out_keys (
    -- Days since 1970 in UTC.
    day    BIGINT NOT NULL PRIMARY KEY,
    secret TEXT   NOT NULL
);

-- Sums of an hour (1) or a day (2) that has long ended: what `traffic_counts` had of it, in one value.
-- What is added later is there again, and counts beside this until it is packed too.
CREATE TABLE traffic_packed (
    span   BIGINT NOT NULL,
    -- Minutes since 1970.
    began  BIGINT NOT NULL,
    packed BYTEA  NOT NULL,
    PRIMARY KEY (span, began)
);

-- URLs that the site's pages say are known by another one, as told to robots that asked for them.
CREATE TABLE canonicals (
    site      TEXT COLLATE "C" NOT NULL,
    -- Host and path, without a scheme.
    url       TEXT COLLATE "C" NOT NULL,
    canonical TEXT COLLATE "C" NOT NULL,
    learnt_ms BIGINT           NOT NULL,
    PRIMARY KEY (site, url)
);

CREATE INDEX canonicals_lead_to ON canonicals (site, canonical);

-- Whether robot heaven says of a page what the page says itself, as it was compared last.
CREATE TABLE heaven_parity (
    site        TEXT COLLATE "C" NOT NULL,
    url         TEXT COLLATE "C" NOT NULL,
    compared_ms BIGINT           NOT NULL,
    -- Since when heaven says more, and a sentence of that; nothing: they agree.
    since_ms    BIGINT,
    sentence    TEXT,
    -- 1: it is not shown for that.
    withdrawn   BIGINT           NOT NULL,
    PRIMARY KEY (site, url)
);

CREATE INDEX heaven_parity_differs ON heaven_parity (site, url) WHERE since_ms IS NOT NULL;

-- URLs that IndexNow is still to be told of, and how that went last.
CREATE TABLE index_now_urls (
    site     TEXT COLLATE "C" NOT NULL,
    url      TEXT COLLATE "C" NOT NULL,
    noted_ms BIGINT           NOT NULL,
    PRIMARY KEY (site, url)
);

CREATE TABLE index_now (
    site     TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    -- When it was told last, how many URLs it took then, and why it did not; nothing: it did.
    told_ms  BIGINT           NOT NULL,
    taken    BIGINT           NOT NULL,
    failure  TEXT,
    -- Times in a row that it did not, and before when it is not asked again.
    failures BIGINT           NOT NULL,
    next_ms  BIGINT           NOT NULL
);

-- Processes that serve from this database, as they say themselves; all times are the database's.
CREATE TABLE instances (
    -- Number of a start of a process, in hexadecimal; the keys of its leases begin with it.
    instance TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    host     TEXT COLLATE "C" NOT NULL,
    process  BIGINT           NOT NULL,
    version  TEXT COLLATE "C" NOT NULL,
    -- Where its health, metrics and console are; empty where it has no listener for them.
    address  TEXT COLLATE "C" NOT NULL,
    since_ms BIGINT           NOT NULL,
    seen_ms  BIGINT           NOT NULL,
    -- By how many milliseconds the clock of its machine is ahead of the database's; negative: behind.
    ahead_ms BIGINT           NOT NULL DEFAULT 0
);

-- What was seen of the requests by which `doctor` checks a proxy; removed after ten minutes.
CREATE TABLE probes (
    id       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    noted_ms BIGINT           NOT NULL,
    note     TEXT COLLATE "C" NOT NULL
);

-- What an import has added, so that it can be undone; removed a week later.
CREATE TABLE traffic_import_sums (
    import_id TEXT COLLATE "C" NOT NULL,
    -- Minutes since 1970, at which the shortest span of the sum begins.
    began     BIGINT           NOT NULL,
    key_id    BIGINT           NOT NULL,
    requests  BIGINT           NOT NULL,
    bytes     BIGINT           NOT NULL,
    micros    BIGINT           NOT NULL,
    added_ms  BIGINT           NOT NULL,
    PRIMARY KEY (import_id, began, key_id)
);

CREATE INDEX traffic_import_sums_by_time ON traffic_import_sums (added_ms);
