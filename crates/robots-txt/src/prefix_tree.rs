//! A prefix tree of plain paths. A search examines each octet of the requested path once,
//! regardless of the number of rules.

use memchr::memchr;

/// The rank that means "no rule".
pub(super) const NONE: u32 = u32::MAX;

/// The plain path of a rule to be inserted into a tree.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Entry<'t> {
    pub(super) text: &'t [u8],
    /// Whether a matching path must end where the rule's path ends.
    pub(super) ends: bool,
    pub(super) rank: u32,
}

/// A tree of paths that share prefixes.
#[derive(Debug, Default)]
pub(super) struct PrefixTree {
    nodes: Vec<Node>,
    /// The first octet of each node's text, by which a child is found without visiting all
    /// children.
    firsts: Vec<u8>,
    texts: Vec<u8>,
}

/// A node, which stands for a part of one or more paths; the children of a node are adjacent.
#[derive(Clone, Copy, Debug)]
struct Node {
    start: u32,
    length: u32,
    first_child: u32,
    children: u32,
    /// The lowest rank of a rule that ends at or above this node and matches all paths below.
    prefix: u32,
    /// The lowest rank of a rule that requires the path to end at this node.
    exact: u32,
}

/// A node whose children have not been created yet, with its entries and the length of their common
/// prefix.
struct Pending<'e, 't> {
    node: usize,
    entries: &'e [Entry<'t>],
    alike: usize,
}

impl PrefixTree {
    pub(super) fn new(mut entries: Vec<Entry<'_>>) -> Self {
        entries.sort_unstable();
        let mut tree = Self::default();
        // The tree is built breadth-first, so that the children of a node are adjacent.
        let mut pending = std::collections::VecDeque::new();
        if !entries.is_empty() {
            pending.push_back(tree.push(&entries, 0, NONE));
        }
        while let Some(parent) = pending.pop_front() {
            let first = tree.nodes.len();
            let inherited = tree.nodes.get(parent.node).map_or(NONE, |node| node.prefix);
            let is_below = |entry: &&Entry<'_>| entry.text.len() == parent.alike;
            let here = parent.entries.iter().take_while(is_below).count();
            let below = parent.entries.get(here..).unwrap_or_default();
            let octet = |entry: &Entry<'_>| entry.text.get(parent.alike).copied();
            for entries in below.chunk_by(|one, other| octet(one) == octet(other)) {
                let child = tree.push(entries, parent.alike, inherited);
                pending.push_back(child);
            }
            let children = tree.nodes.len() - first;
            if let Some(node) = tree.nodes.get_mut(parent.node) {
                node.first_child = number(first);
                node.children = number(children);
            }
        }
        tree
    }

    /// Adds a node for entries whose first `alike` octets are the same.
    fn push<'e, 't>(
        &mut self,
        entries: &'e [Entry<'t>],
        alike: usize,
        inherited: u32,
    ) -> Pending<'e, 't> {
        let first = entries.first().map_or(&[][..], |entry| entry.text);
        let last = entries.last().map_or(&[][..], |entry| entry.text);
        // The common prefix of the first and last sorted entries is common to all entries.
        let end = common_prefix(first, last);
        let text = first.get(alike..end).unwrap_or_default();
        let here = entries.iter().take_while(|entry| entry.text.len() == end);
        let lowest = |ends: bool| {
            let ranks = here.clone().filter(|entry| entry.ends == ends);
            ranks.map(|entry| entry.rank).min().unwrap_or(NONE)
        };
        self.nodes.push(Node {
            start: number(self.texts.len()),
            length: number(text.len()),
            first_child: NONE,
            children: 0,
            prefix: lowest(false).min(inherited),
            exact: lowest(true),
        });
        self.firsts.push(text.first().copied().unwrap_or_default());
        self.texts.extend_from_slice(text);
        Pending {
            node: self.nodes.len() - 1,
            entries,
            alike: end,
        }
    }

    /// Returns the lowest rank of a rule that matches a path.
    pub(super) fn best(&self, path: &[u8]) -> u32 {
        let mut rest = path;
        let mut best = NONE;
        let mut at = 0;
        while let Some(node) = self.nodes.get(at) {
            let Some(behind) = rest.strip_prefix(self.text(node)) else {
                break;
            };
            // The rank includes the ranks of all nodes above, which are inherited.
            best = node.prefix;
            let Some(next) = behind.first() else {
                return best.min(node.exact);
            };
            let first = node.first_child as usize;
            let firsts = self.firsts.get(first..first + node.children as usize);
            let Some(child) = firsts.and_then(|firsts| place_of(*next, firsts)) else {
                break;
            };
            at = first + child;
            rest = behind;
        }
        best
    }

    fn text(&self, node: &Node) -> &[u8] {
        let start = node.start as usize;
        self.texts
            .get(start..start + node.length as usize)
            .unwrap_or_default()
    }
}

/// Returns the position of an octet in a list; a linear search is faster for few octets.
fn place_of(octet: u8, among: &[u8]) -> Option<usize> {
    if among.len() > 16 {
        memchr(octet, among)
    } else {
        among.iter().position(|other| *other == octet)
    }
}

/// Converts an index to the type stored in nodes, which is sufficient because a file has at most 4
/// GiB.
fn number(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(NONE)
}

fn common_prefix(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lowest_rank_on_the_path_wins() {
        let entry = |text: &'static str, rank: u32| Entry {
            text: text.trim_end_matches('$').as_bytes(),
            ends: text.ends_with('$'),
            rank,
        };
        let tree = PrefixTree::new(vec![
            entry("/a", 5),
            entry("/ab", 3),
            entry("/abc", 4),
            entry("/ac$", 1),
            entry("/b/c", 2),
            entry("/ab", 9),
        ]);
        for (path, rank) in [
            ("/", NONE),
            ("/a", 5),
            ("/abd", 3),
            ("/abcd", 3),
            ("/ac", 1),
            ("/acd", 5),
            ("/b", NONE),
            ("/b/cd", 2),
            ("", NONE),
        ] {
            assert_eq!(tree.best(path.as_bytes()), rank, "{path}");
        }
        assert_eq!(PrefixTree::new(Vec::new()).best(b"/a"), NONE);
    }
}
