//! Access to one of the two files to merge, by robots' names.

use std::{collections::HashMap, time::Duration};

use super::{
    super::{
        Group, LineReading, RobotsTxt, field::lines, policy::is_policy, preferences::Vocabulary,
    },
    union::RuleLine,
};

/// One of the two files to merge, indexed by robots' names.
pub(super) struct Side<'f> {
    pub(super) file: &'f RobotsTxt,
    groups: Vec<(Group<'f>, Vec<Field>)>,
    /// The size in octets of each group's content.
    octets: Vec<usize>,
    /// The indexes of the groups that name each robot, by the robot's name in lower case.
    pub(super) by_name: HashMap<String, Vec<usize>>,
    /// The fields that precede the first group.
    pub(super) before: Vec<Field>,
    /// The lines that apply to the whole file, regardless of their position.
    pub(super) whole: Vec<Field>,
    has_host: bool,
}

/// A line that is not a rule, split into field and value.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Field {
    pub(super) key: String,
    pub(super) line: Vec<u8>,
}

impl Field {
    /// Returns `true` for a `Host` line that is replaced by a `Host` line in our file.
    pub(super) fn is_void(&self, ours: &Side<'_>) -> bool {
        self.key == "host" && ours.has_host
    }

    /// Returns `true` for a line with license terms, which apply in addition to the other file's
    /// terms.
    pub(super) fn is_license(&self) -> bool {
        self.key == "license"
    }

    /// Returns `true` for a line with preferences about the use of content.
    pub(super) fn is_preference(&self) -> bool {
        Vocabulary::for_field(&self.key).is_some()
    }

    /// Returns the field's name as written.
    pub(super) fn name(&self) -> &[u8] {
        let name = self.line.split(|octet| *octet == b':').next();
        name.unwrap_or_default().trim_ascii()
    }

    pub(super) fn value(&self) -> &[u8] {
        let colon = self.line.iter().position(|octet| *octet == b':');
        colon.map_or(&[], |colon| self.line.get(colon + 1..).unwrap_or_default())
    }
}

impl<'f> Side<'f> {
    pub(super) fn new(file: &'f RobotsTxt) -> Self {
        let mut side = Self {
            file,
            groups: file.groups().map(|group| (group, Vec::new())).collect(),
            octets: Vec::new(),
            by_name: HashMap::new(),
            before: Vec::new(),
            whole: Vec::new(),
            has_host: file.host().is_some(),
        };
        for (place, (group, _)) in side.groups.iter().enumerate() {
            for name in &group.agents {
                let places = side.by_name.entry(name.to_ascii_lowercase()).or_default();
                places.push(place);
            }
        }
        side.sort_fields();
        // The size is computed once per group, because it is needed for each robot in the group.
        side.octets = side.groups.iter().map(octets).collect();
        side
    }

    pub(super) fn octets(&self, key: &str) -> usize {
        let octets = self.places(key).iter();
        octets.filter_map(|place| self.octets.get(*place)).sum()
    }

    fn places(&self, key: &str) -> &[usize] {
        let all = || self.by_name.get("*").filter(|_| !is_policy(key.as_bytes()));
        let places = self.by_name.get(key).or_else(all);
        places.map_or(&[], Vec::as_slice)
    }

    fn sort_fields(&mut self) {
        let mut begun = 0;
        for line in lines(self.file.as_bytes(), LineReading::Standard) {
            let is_begun = |(group, _): &(Group<'_>, _)| group.line <= line.number as usize;
            while self.groups.get(begun).is_some_and(is_begun) {
                begun += 1;
            }
            let Some(field) = field(line.before_comment()) else {
                continue;
            };
            let group = begun.checked_sub(1);
            match group.and_then(|group| self.groups.get_mut(group)) {
                // Yandex reads this field anywhere in the file, regardless of groups.
                _ if field.key == "clean-param" => self.whole.push(field),
                Some((_, fields)) => fields.push(field),
                None => self.before.push(field),
            }
        }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let agents = self.groups.iter().flat_map(|(group, _)| &group.agents);
        agents.map(AsRef::as_ref)
    }

    /// Returns the groups that apply to the robot with the given lower-case name.
    pub(super) fn groups(&self, key: &str) -> impl Iterator<Item = &(Group<'f>, Vec<Field>)> {
        let places = self.places(key).iter();
        places.filter_map(|place| self.groups.get(*place))
    }

    pub(super) fn rules(&self, key: &str) -> Vec<RuleLine> {
        self.groups(key)
            .flat_map(|(group, _)| &group.rules)
            .filter(|rule| !rule.path().is_empty())
            .map(|rule| RuleLine {
                allow: rule.is_allow(),
                path: rule.path().to_vec(),
            })
            .collect()
    }

    pub(super) fn fields(&self, key: &str) -> impl Iterator<Item = &Field> {
        self.groups(key).flat_map(|(_, fields)| fields)
    }

    /// Returns the values of a field for a robot, including values before the first group.
    ///
    /// RFC 9309 defines no fields before the first group; preferences in that position are meant
    /// for all robots.
    pub(super) fn values(&self, key: &str, name: &str) -> Vec<&[u8]> {
        let fields = self.before.iter().chain(self.fields(key));
        let fields = fields.filter(|field| field.key == name);
        fields.map(Field::value).collect()
    }

    pub(super) fn crawl_delay(&self, key: &str) -> Option<Duration> {
        let is_named = self.by_name.contains_key(key);
        let name = if is_named { key } else { "*" };
        self.file.for_robot(name).crawl_delay()
    }
}

/// Returns the size of a group's content in octets, including an overhead for each rule.
fn octets((group, fields): &(Group<'_>, Vec<Field>)) -> usize {
    let rules = group
        .rules
        .iter()
        .map(|rule| rule.path().len() + size_of::<RuleLine>());
    let fields = fields.iter().map(|field| field.line.len());
    rules.chain(fields).sum()
}

/// Parses a line that is neither a rule nor one of the fields that are handled elsewhere.
fn field(line: &[u8]) -> Option<Field> {
    let text = line.trim_ascii();
    let colon = text.iter().position(|octet| *octet == b':')?;
    let key = std::str::from_utf8(text.get(..colon)?.trim_ascii()).ok()?;
    let is_name = |octet: u8| octet.is_ascii_alphanumeric() || octet == b'-' || octet == b'_';
    // These fields are written from the parser's result.
    let is_known = ["user-agent", "allow", "disallow", "crawl-delay", "sitemap"];
    let key = key.to_ascii_lowercase();
    let is_kept = !key.is_empty()
        && key.bytes().all(is_name)
        && !is_known.contains(&key.as_str())
        && !text.iter().any(u8::is_ascii_control);
    is_kept.then(|| Field {
        key,
        line: text.to_vec(),
    })
}
