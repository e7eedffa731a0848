//! The order of a table's rows, which users change by clicking the column headings.

/// The heading of a table column.
pub(super) struct Column {
    pub(super) label: &'static str,
    pub(super) link: String,
    /// Sort order: "ascending", "descending" or "none".
    pub(super) order: &'static str,
}

/// A column by which rows can be sorted.
#[derive(Clone, Copy, Debug)]
pub(super) struct SortColumn {
    pub(super) word: &'static str,
    pub(super) label: &'static str,
    /// Whether the first click sorts in ascending order, as is usual for names; otherwise in
    /// descending order.
    pub(super) is_name: bool,
}

/// The column and the direction by which a table is sorted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Sorting {
    pub(super) word: &'static str,
    pub(super) is_descending: bool,
}

impl SortColumn {
    pub(super) const fn name(word: &'static str, label: &'static str) -> Self {
        Self {
            is_name: true,
            ..Self::number(word, label)
        }
    }

    pub(super) const fn number(word: &'static str, label: &'static str) -> Self {
        Self {
            word,
            label,
            is_name: false,
        }
    }
}

impl Sorting {
    /// Parses the parameters `sort` and `dir`; by default, the rows with the most requests come
    /// first.
    ///
    /// # Errors
    ///
    /// Returns a message that lists the valid words.
    pub(super) fn parse(columns: &[SortColumn], sort: &str, dir: &str) -> Result<Self, String> {
        let asked = if sort.is_empty() { "requests" } else { sort };
        let Some(column) = columns.iter().find(|column| column.word == asked) else {
            let words: Vec<_> = columns.iter().map(|column| column.word).collect();
            return Err(format!("sort must be one of {}", words.join(", ")));
        };
        let is_descending = match dir {
            "" => !column.is_name,
            "asc" => false,
            "desc" => true,
            _ => return Err("dir must be asc or desc".to_owned()),
        };
        Ok(Self {
            word: column.word,
            is_descending,
        })
    }

    /// Returns a column's heading; `link` is called with the column's word and the next sort
    /// direction.
    pub(super) fn heading(self, column: SortColumn, link: impl Fn(&str, &str) -> String) -> Column {
        let is_sorted = column.word == self.word;
        let is_descending = if is_sorted {
            !self.is_descending
        } else {
            !column.is_name
        };
        Column {
            label: column.label,
            link: link(column.word, if is_descending { "desc" } else { "asc" }),
            order: match (is_sorted, self.is_descending) {
                (false, _) => "none",
                (true, false) => "ascending",
                (true, true) => "descending",
            },
        }
    }
}
