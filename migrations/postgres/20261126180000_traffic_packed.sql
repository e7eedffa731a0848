-- Sums of an hour (1) or a day (2) that has long ended: what `traffic_counts` had of it, in one value.
-- What is added later is there again, and counts beside this until it is packed too.
CREATE TABLE traffic_packed (
    span   BIGINT NOT NULL,
    -- Minutes since 1970.
    began  BIGINT NOT NULL,
    packed BYTEA  NOT NULL,
    PRIMARY KEY (span, began)
);
