//! `[heaven]`.

use crate::config::{
    section::section,
    types::{HeavenSource, OpenTo, OwnPath, ParityAction},
};

section! {
    /// Robot heaven.
    pub struct HeavenSection, HeavenKeys = "heaven." @site;
    /// Whether this program serves the pages of robot heaven; false: the upstream does
    serve: bool = "true";
    /// Path under which they are served
    path: OwnPath = "/robot-heaven/";
    /// Directory of the pages; empty: the page that comes with the program
    directory: String;
    /// Where the pages come from: files (heaven.directory), or database (made from the site robot's
    /// descriptions as they are asked for)
    source: HeavenSource = "files";
    /// URL of the site that the pages are about, such as https://www.example.com; empty: the first
    /// of server.hosts
    url: String;
    /// Name of the site on these pages; empty: its host
    name: String;
    /// Who may read them: everybody; robots (people are sent to the original of a page, once a minute);
    /// or verified (robots that are not proven get title and lead); the last two need pages from
    /// the database. What the site robot reads with a login is published only once this is set
    open_to: OpenTo = "everybody";
    /// What becomes of a page that says what its original, as the site robot gets it, does not: report
    /// (the run, doctor, the page Site robot and alerts tell it), or withdraw (it is not shown either
    /// until it agrees again; where many would go, none does)
    parity: ParityAction = "report";
    /// Pages that are compared with their originals after each run, of those that it has not fetched
    /// as wholes, and those first that were compared longest ago; 0: none
    parity_pages: u32 = "50", 0..=10_000;
    /// Whether a robot that is sent to heaven.path, by redirect_url or by a rule, is redirected to
    /// the page made from the one it asked for, where there is one; pages of a heaven.directory
    /// that is published to are known within seconds
    own_pages: bool = "true";
    /// Whether heaven that the site robot publishes as files has one in Markdown beside each page;
    /// pages made from the database always have one
    markdown_files: bool = "false";
    /// Whether whoever prefers text/markdown (Accept), with neither cookie nor password, gets the
    /// Markdown of a page at its original URL, where the page is made from the database and opens
    /// without a login; HTML of such pages gets Vary: Accept
    markdown_for_agents: bool = "true";
}
