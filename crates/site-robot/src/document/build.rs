//! Builds a page's content tree from its blocks.

use std::{collections::HashMap, rc::Rc, sync::Arc};

use url::Url;

use super::{
    address::resolve,
    page::{Block, BlockKind, Page},
    structure::{Container, Inline, Kind, Mark},
};
use crate::content_tree::{
    ContentTree, Definition, Line, Link, MAX_DEPTH, Piece, Run, Style, TableCell,
};

/// Minimum cell size, in bytes, at which a short table without a header is treated as a layout
/// table.
const MAX_CELL_BYTES: usize = 300;
/// Maximum number of rows in a layout table: header, columns and footer.
const MAX_LAYOUT_ROWS: usize = 3;
/// Maximum number of columns in a data table.
const MAX_COLUMNS: usize = 64;
/// Maximum length of a `mailto:` link, in bytes.
const MAX_MAILTO_BYTES: usize = 500;

/// Builder of a page's content tree.
pub(super) struct Builder<'p> {
    page: &'p Page,
    /// The page's URL and the base URL for its links; if `None`, all links are dropped.
    urls: Option<(&'p Url, Url)>,
    links: HashMap<u32, Option<Arc<Link>>>,
}

/// A block and the containers that enclose it, outermost first.
struct BlockWithContainers<'p> {
    block: &'p Block,
    path: Rc<[u32]>,
}

impl BlockWithContainers<'_> {
    fn at(&self, depth: usize) -> Option<u32> {
        self.path.get(depth).copied()
    }
}

impl<'p> Builder<'p> {
    pub(super) fn new(page: &'p Page, own: Option<&'p Url>) -> Self {
        Self {
            page,
            urls: own.map(|own| (own, page.base_url(own))),
            links: HashMap::new(),
        }
    }

    pub(super) fn build(mut self, blocks: impl Iterator<Item = &'p Block>) -> ContentTree {
        let mut placed: Vec<BlockWithContainers<'p>> = Vec::new();
        for block in blocks {
            let known = placed.last();
            let known = known.filter(|known| known.block.container == block.container);
            let path = match known {
                Some(known) => Rc::clone(&known.path),
                None => path(&self.page.containers, block.container),
            };
            placed.push(BlockWithContainers { block, path });
        }
        ContentTree {
            pieces: self.pieces(&placed, 0, MAX_DEPTH),
        }
    }

    /// Builds parts of the content tree from blocks that share the same containers above `depth`;
    /// `room` limits the nesting depth.
    fn pieces(
        &mut self,
        blocks: &[BlockWithContainers<'p>],
        depth: usize,
        room: usize,
    ) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for group in groups(blocks, depth) {
            match self.kind(group, depth) {
                None => pieces.extend(group.iter().filter_map(|placed| self.leaf(placed.block))),
                // Content below the nesting limit loses its containers.
                Some(_) if room <= 2 => pieces.extend(self.pieces(group, depth + 1, room)),
                Some(kind) => self.container(kind, group, depth, room, &mut pieces),
            }
        }
        pieces
    }

    fn container(
        &mut self,
        kind: Kind,
        group: &[BlockWithContainers<'p>],
        depth: usize,
        room: usize,
        pieces: &mut Vec<Piece>,
    ) {
        let inner = depth + 1;
        match kind {
            Kind::List(start) => {
                let items = self.items(group, inner, room - 1);
                pieces.push(Piece::List { start, items });
            }
            Kind::Item => {
                // The list that contains this item was dropped.
                let item = self.pieces(group, inner, room - 1);
                match pieces.last_mut() {
                    Some(Piece::List { items, .. }) => items.push(item),
                    _ => pieces.push(Piece::List {
                        start: None,
                        items: vec![item],
                    }),
                }
            }
            Kind::Definitions => {
                let all = self.definitions(group, inner, room - 1);
                if all.iter().any(|one| one.is_term) {
                    pieces.push(Piece::Definitions(all));
                } else {
                    // A definition list without terms is used only for indentation.
                    pieces.extend(all.into_iter().flat_map(|one| one.pieces));
                }
            }
            Kind::Table => match self.table(group, depth) {
                Some(table) => pieces.push(table),
                None => pieces.extend(self.pieces(group, inner, room)),
            },
            Kind::Quote => match self.pieces(group, inner, room - 1) {
                quoted if quoted.is_empty() => {}
                quoted => pieces.push(Piece::Quote(quoted)),
            },
            Kind::Figure => self.figure(group, inner, room - 1, pieces),
            Kind::Term | Kind::Meaning | Kind::Caption | Kind::Row | Kind::Cell { .. } => {
                pieces.extend(self.pieces(group, inner, room));
            }
        }
    }

    fn items(
        &mut self,
        blocks: &[BlockWithContainers<'p>],
        depth: usize,
        room: usize,
    ) -> Vec<Vec<Piece>> {
        let mut items: Vec<Vec<Piece>> = Vec::new();
        for group in groups(blocks, depth) {
            let is_item = self.kind(group, depth) == Some(Kind::Item);
            let inner = if is_item { depth + 1 } else { depth };
            let item = self.pieces(group, inner, room);
            match items.last_mut() {
                _ if item.is_empty() => {}
                // A list that is directly inside another list belongs to the preceding item.
                Some(last) if !is_item => last.extend(item),
                _ => items.push(item),
            }
        }
        items
    }

    fn definitions(
        &mut self,
        blocks: &[BlockWithContainers<'p>],
        depth: usize,
        room: usize,
    ) -> Vec<Definition> {
        let mut all = Vec::new();
        for group in groups(blocks, depth) {
            let kind = self.kind(group, depth);
            let is_own = matches!(kind, Some(Kind::Term | Kind::Meaning));
            let pieces = self.pieces(group, if is_own { depth + 1 } else { depth }, room);
            if !pieces.is_empty() {
                all.push(Definition {
                    is_term: kind == Some(Kind::Term),
                    pieces,
                });
            }
        }
        all
    }

    fn figure(
        &mut self,
        group: &[BlockWithContainers<'p>],
        depth: usize,
        room: usize,
        pieces: &mut Vec<Piece>,
    ) {
        let mut shown = Vec::new();
        let mut caption = Line::default();
        for part in groups(group, depth) {
            if self.kind(part, depth) == Some(Kind::Caption) {
                caption = self.joined(part);
            } else {
                shown.extend(self.pieces(part, depth, room));
            }
        }
        if caption.is_empty() {
            pieces.extend(shown);
        } else if shown.is_empty() {
            pieces.push(Piece::Paragraph(caption));
        } else {
            pieces.push(Piece::Figure(shown, caption));
        }
    }

    /// Builds a data table, or returns `None` for a layout table.
    ///
    /// A table is a layout table if it contains tables or multi-line code, if it has only one
    /// column, or if it has few rows and contains either headings or, without a header, long cells.
    fn table(&mut self, group: &[BlockWithContainers<'p>], depth: usize) -> Option<Piece> {
        let kinds = || {
            group
                .iter()
                .flat_map(|placed| placed.path.iter().skip(depth + 1))
        };
        let kinds = || kinds().filter_map(|number| kind_of(&self.page.containers, *number));
        let is_header = |kind| {
            matches!(
                kind,
                Kind::Cell {
                    is_header: true,
                    ..
                }
            )
        };
        let has_header = kinds().any(is_header);
        let is_low = groups(group, depth + 1).count() <= MAX_LAYOUT_ROWS;
        let is_layout = kinds().any(|kind| kind == Kind::Table)
            || group.iter().any(|placed| match placed.block.kind {
                BlockKind::Code => placed.block.text.contains('\n'),
                BlockKind::Heading(_) => is_low,
                BlockKind::Text => {
                    is_low && !has_header && placed.block.text.len() > MAX_CELL_BYTES
                }
            });
        if is_layout {
            return None;
        }
        let mut caption = Line::default();
        let mut rows: Vec<Vec<TableCell>> = Vec::new();
        for part in groups(group, depth + 1) {
            match self.kind(part, depth + 1)? {
                Kind::Caption => caption = self.joined(part),
                Kind::Row => rows.push(self.row(part, depth + 2)?),
                _ => return None,
            }
        }
        let width = rows.iter().map(Vec::len).max().unwrap_or_default();
        for row in &mut rows {
            row.resize(width, TableCell::default());
        }
        (width > 1).then_some(Piece::Table { caption, rows })
    }

    fn row(&mut self, blocks: &[BlockWithContainers<'p>], depth: usize) -> Option<Vec<TableCell>> {
        let mut row: Vec<TableCell> = Vec::new();
        for group in groups(blocks, depth) {
            let Kind::Cell { column, is_header } = self.kind(group, depth)? else {
                return None;
            };
            let column = column as usize;
            if column < row.len() || column >= MAX_COLUMNS {
                return None;
            }
            row.resize(column, TableCell::default());
            let line = self.joined(group);
            row.push(TableCell { is_header, line });
        }
        Some(row)
    }

    /// Joins blocks into one line, separated by line breaks.
    fn joined(&mut self, blocks: &[BlockWithContainers<'p>]) -> Line {
        let mut runs = Vec::new();
        for placed in blocks {
            let line = self.line(placed.block);
            if !runs.is_empty() && !line.is_empty() {
                runs.push(Run::Break);
            }
            runs.extend(line.runs);
        }
        Line { runs }
    }

    fn leaf(&mut self, block: &Block) -> Option<Piece> {
        if block.kind == BlockKind::Code {
            return Some(Piece::Code {
                language: block.language.clone(),
                text: block.text.clone(),
            });
        }
        let line = self.line(block);
        if line.is_empty() {
            return None;
        }
        Some(match block.kind {
            BlockKind::Heading(level) => Piece::Heading(level, line),
            BlockKind::Code | BlockKind::Text => Piece::Paragraph(line),
        })
    }

    fn line(&mut self, block: &Block) -> Line {
        let mut runs: Vec<Run> = Vec::new();
        let mut from = 0;
        let mut style = Style {
            is_code: block.kind == BlockKind::Code,
            ..Style::default()
        };
        for span in &block.spans {
            // The span may lie beyond the end of the text, because trailing white space was
            // removed.
            let to = span.at.max(from).min(block.text.len());
            push_text(&mut runs, block.text.get(from..to), &style);
            from = to;
            match &span.mark {
                Mark::Style(inline) => style = self.style(*inline),
                Mark::Image { source, alt } => {
                    let url = self.image(source);
                    runs.push(Run::Image(url, one_line(alt), style.clone()));
                }
                Mark::Break => runs.push(Run::Break),
            }
        }
        push_text(&mut runs, block.text.get(from..), &style);
        Line::new(runs)
    }

    fn style(&mut self, inline: Inline) -> Style {
        Style {
            link: self.link(inline.link),
            is_strong: inline.is_strong,
            is_emphasis: inline.is_emphasis,
            is_code: inline.is_code,
        }
    }

    fn link(&mut self, number: u32) -> Option<Arc<Link>> {
        let (own, base) = self.urls.as_ref()?;
        let link = self.page.links.get(number.checked_sub(1)? as usize)?;
        let known = self.links.entry(number).or_insert_with(|| {
            let is_letter = link.url.get(..7)?.eq_ignore_ascii_case("mailto:");
            let is_plain = |c: char| !c.is_whitespace() && !c.is_control();
            if is_letter && link.url.len() <= MAX_MAILTO_BYTES && link.url.chars().all(is_plain) {
                let address = link.url.get(7..)?;
                return Some(Arc::new(Link {
                    url: format!("mailto:{address}"),
                    is_nofollow: link.is_nofollow,
                }));
            }
            None
        });
        if known.is_none() {
            // Links to the page itself are dropped.
            let url = resolve(base, &link.url).filter(|url| is_web(url) && !is_same(url, own));
            *known = url.map(|url| {
                Arc::new(Link {
                    url: url.into(),
                    is_nofollow: link.is_nofollow,
                })
            });
        }
        known.clone()
    }

    fn image(&self, source: &str) -> String {
        let base = self.urls.as_ref().map(|(_, base)| base);
        let url = base.and_then(|base| resolve(base, source)).filter(is_web);
        url.map(String::from).unwrap_or_default()
    }

    fn kind(&self, group: &[BlockWithContainers<'p>], depth: usize) -> Option<Kind> {
        kind_of(&self.page.containers, group.first()?.at(depth)?)
    }
}

/// Returns `true` if a block is a standalone paragraph outside lists, tables and captions.
pub(super) fn is_loose(containers: &[Container], number: u32) -> bool {
    path(containers, number).is_empty()
}

/// Groups adjacent blocks by their container at a depth; blocks without such a container form one
/// group.
fn groups<'b, 'p>(
    blocks: &'b [BlockWithContainers<'p>],
    depth: usize,
) -> impl Iterator<Item = &'b [BlockWithContainers<'p>]> {
    blocks.chunk_by(move |one, next| one.at(depth) == next.at(depth))
}

/// Returns the chain of containers that leads to the given container, outermost first.
fn path(containers: &[Container], number: u32) -> Rc<[u32]> {
    let mut path = Vec::new();
    let mut number = number;
    // A container's parent always has a lower number, so the loop ends.
    while let Some(at) = number.checked_sub(1) {
        path.push(number);
        number = containers.get(at as usize).map_or(0, |it| it.parent);
    }
    path.reverse();
    path.into()
}

fn kind_of(containers: &[Container], number: u32) -> Option<Kind> {
    let container = containers.get(number.checked_sub(1)? as usize)?;
    Some(container.kind)
}

fn is_web(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https")
}

fn is_same(url: &Url, own: &Url) -> bool {
    let mut own = own.clone();
    own.set_fragment(None);
    *url == own
}

fn push_text(runs: &mut Vec<Run>, text: Option<&str>, style: &Style) {
    if let Some(text) = text.filter(|text| !text.is_empty()) {
        runs.push(Run::Text(text.to_owned(), style.clone()));
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
