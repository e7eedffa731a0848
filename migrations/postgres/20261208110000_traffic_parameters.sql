-- Query parameters of robots: names, approximate numbers of values and pages, no values.
CREATE TABLE traffic_parameters (
    -- Start of the day, in minutes since 1970.
    began  BIGINT           NOT NULL,
    site   TEXT COLLATE "C" NOT NULL,
    robot  TEXT COLLATE "C" NOT NULL,
    -- The program that counted the requests.
    writer TEXT COLLATE "C" NOT NULL,
    packed TEXT             NOT NULL,
    PRIMARY KEY (began, site, robot, writer)
);
