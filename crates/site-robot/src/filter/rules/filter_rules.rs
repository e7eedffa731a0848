//! Parser for filterrules.conf.

use std::fmt;

use crate::filter::{
    Note, Resource,
    note::Notes,
    pblock::{self, Block, Entry, Item, Tag},
    quoted,
};

use super::{
    rule::reject_unknown_keys,
    site::{Decision, Host, Rules, Site, StartingPoint},
};

/// Keywords that can start a line in filterrules.conf.
const BLOCK: Block = Block {
    tags: &["Site", "Rules", "NewSites"],
    what: "line of filterrules.conf",
    words: &["Host", "Start", "Rule", "Otherwise"],
};

/// Sites, starting points and rules in a filterrules.conf file.
///
/// The format is specific to this program and covers the options of Sun's 7.1 console. `<Site
/// name="…">` encloses the hosts of a site (`Host name=…`; `*.` includes all hosts of a domain),
/// its starting points (`Start url=… depth=…`; their hosts belong to the site) and its rules.
/// `<NewSites>` contains rules for hosts that belong to no site, and `<Rules>` contains rules for
/// all hosts. A rule has the form `Rule src=… operator=… string=… behaviour=…`. The source is url,
/// protocol, host, path or type. The operator is is, contains, begins-with, ends-with or regex. The
/// behaviour is exclude (the default) or include. The first matching rule wins; a site's own rules
/// are tried before the rules for all hosts. `Otherwise behaviour=exclude` excludes resources that
/// match no rule of the block; by default, they are included.
///
/// # Example
///
/// ```
/// use robot_detection_site_robot::filter::{FilterRules, Resource};
///
/// let rules = FilterRules::parse("
/// <Site name=\"intranet\">
/// Start url=http://www.example.com/ depth=3
/// Rule src=path operator=begins-with string=/cgi-bin/
/// </Site>
/// <NewSites>
/// Otherwise behaviour=exclude
/// </NewSites>
/// ");
/// assert!(rules.notes().is_empty());
/// let is_visited = |url: &str| {
///     let resource = Resource::new(url.parse().unwrap(), 1);
///     rules.verdict(&resource).is_included()
/// };
/// assert!(is_visited("http://www.example.com/a"));
/// assert!(!is_visited("http://www.example.com/cgi-bin/a"));
/// assert!(!is_visited("http://elsewhere.example/"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct FilterRules {
    items: Vec<Item>,
    sites: Vec<Site>,
    new_sites: Rules,
    everywhere: Rules,
    notes: Vec<Note>,
}

/// Verdict of the filter rules on a resource.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum RuleVerdict {
    /// The site robot visits the resource.
    Included,
    /// The site robot does not visit the resource; the text identifies the rule.
    Excluded(String),
}

impl RuleVerdict {
    /// Returns `true` if the site robot visits the resource.
    pub const fn is_included(&self) -> bool {
        matches!(self, Self::Included)
    }
}

impl FilterRules {
    /// Parses a filterrules.conf file. Errors are returned by [`Self::notes`].
    pub fn parse(text: &str) -> Self {
        let mut notes = Notes::default();
        let mut rules = Self {
            items: pblock::read(text, BLOCK, &mut notes),
            ..Self::default()
        };
        rules.collect(&mut notes);
        rules.notes = notes.into_sorted();
        rules
    }

    /// Returns the verdict on a resource; before retrieval, rules about the media type are
    /// undecided.
    pub fn verdict(&self, resource: &Resource) -> RuleVerdict {
        // If several sites cover the URL, the first one in the file is used.
        let site = self.sites.iter().find(|site| site.covers(resource.url()));
        let (of_site, name) = match site {
            Some(site) => (&site.rules, site.name.as_str()),
            None => (&self.new_sites, "new sites"),
        };
        match of_site.decide(resource) {
            Decision::Include => return RuleVerdict::Included,
            Decision::Exclude(reason) => {
                return RuleVerdict::Excluded(format!("{reason} ({})", quoted(name)));
            }
            Decision::None => {}
        }
        match self.everywhere.decide(resource) {
            Decision::Exclude(reason) => RuleVerdict::Excluded(reason),
            Decision::Include | Decision::None => RuleVerdict::Included,
        }
    }

    /// Returns the sites in the order of the file.
    pub fn sites(&self) -> &[Site] {
        &self.sites
    }

    /// Returns the errors, sorted by line number.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    fn collect(&mut self, notes: &mut Notes) {
        let items = std::mem::take(&mut self.items);
        let mut open: Option<&Tag> = None;
        for item in &items {
            match item {
                Item::Open(tag) => {
                    if let Some(before) = open.replace(tag) {
                        notes.error(before.line, not_closed(before));
                    }
                    self.open(tag, notes);
                }
                Item::Close { line, tag } => {
                    if open.take().is_none_or(|open| open.name != *tag) {
                        notes.error(*line, format!("</{tag}> has no opening tag"));
                    }
                }
                Item::Entry(entry) => self.entry(open, entry, notes),
                Item::Blank | Item::Comment(_) => {}
            }
        }
        if let Some(open) = open {
            notes.error(open.line, not_closed(open));
        }
        self.items = items;
    }

    fn open(&mut self, tag: &Tag, notes: &mut Notes) {
        if tag.name != "Site" {
            return reject_unknown_keys(&tag.pairs, &[], &tag.name, notes);
        }
        reject_unknown_keys(&tag.pairs, &["name"], "Site", notes);
        let name = tag.value("name").unwrap_or_default().to_owned();
        if name.is_empty() || self.sites.iter().any(|site| site.name == name) {
            let text = "the site has no unique name; write <Site name=\"…\">";
            notes.error(tag.line, text);
        }
        self.sites.push(Site {
            name,
            ..Site::default()
        });
    }

    fn entry(&mut self, open: Option<&Tag>, entry: &Entry, notes: &mut Notes) {
        let word = entry.word.as_str();
        let Some(tag) = open else {
            let text = format!("{word} is outside a block; move it into <Site name=\"…\">");
            return notes.error(entry.line, text);
        };
        let site = self.sites.last_mut().filter(|_| tag.name == "Site");
        match (word, site) {
            ("Host", Some(site)) => site.hosts.extend(Host::read(entry, notes)),
            ("Start", Some(site)) => {
                site.starting_points
                    .extend(StartingPoint::read(entry, notes));
            }
            ("Host" | "Start", None) => {
                notes.error(entry.line, format!("{word} is allowed only in <Site>"));
            }
            (_, Some(site)) => site.rules.add(entry, notes),
            (_, None) if tag.name == "NewSites" => self.new_sites.add(entry, notes),
            (_, None) => self.everywhere.add(entry, notes),
        }
    }
}

impl fmt::Display for FilterRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        pblock::write(&self.items, f)
    }
}

fn not_closed(tag: &Tag) -> String {
    format!("<{0}> is not closed; add </{0}>", tag.name)
}
