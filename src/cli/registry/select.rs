//! Selection of the robots that a command is about.

use std::sync::Arc;

use robot_detection_site_robot::spelling::unknown;

use crate::cli::usage::WrongUsage;
use crate::detect::{Detector, Duplicates};
use crate::registry::{Purpose, Robot, Source, bundled};
use crate::store::Store;

use super::args::SelectArgs;

/// Robot of the table, or of the registry that comes with the program.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) robot: Arc<Robot>,
    /// Times of insertion and last change; `None` for robots that no database holds.
    pub(super) dates_ms: Option<(i64, i64)>,
    /// Robot that the detector names in its place; set by [`mark_duplicates`].
    pub(super) duplicate_of: Option<Arc<Robot>>,
}

/// Conditions that a robot has to meet.
#[derive(Clone, Debug)]
pub(super) struct Selection {
    /// In lower case.
    words: Vec<String>,
    source: Option<Source>,
    status: Option<String>,
    purposes: Vec<Purpose>,
    operator: Option<String>,
}

/// Returns every robot of the database, by source and id.
pub(super) async fn stored_rows(store: &Store) -> anyhow::Result<Vec<Row>> {
    let stored = store.robots().list().await?;
    let rows = stored.into_iter().map(|stored| Row {
        robot: Arc::new(stored.robot),
        dates_ms: Some((stored.insertion_ms, stored.modified_ms)),
        duplicate_of: None,
    });
    Ok(rows.collect())
}

/// Returns the robots that come with the program.
pub(super) fn bundled_rows() -> Vec<Row> {
    let rows = bundled().robots.into_iter().map(|robot| Row {
        robot: Arc::new(robot),
        dates_ms: None,
        duplicate_of: None,
    });
    rows.collect()
}

/// Marks the robots in whose place others of the same table are named.
pub(super) fn mark_duplicates(rows: &mut [Row]) -> anyhow::Result<()> {
    let detector = Detector::new(rows.iter().map(|row| Arc::clone(&row.robot)))?;
    let duplicates = Duplicates::new(&detector);
    for row in rows {
        row.duplicate_of = duplicates.winner(&row.robot).cloned();
    }
    Ok(())
}

impl Selection {
    pub(super) fn parse(args: &SelectArgs) -> anyhow::Result<Self> {
        let source = args
            .source
            .as_deref()
            .map(|name| {
                name.parse::<Source>()
                    .map_err(|error| WrongUsage(format!("--source {name:?}: {error}")))
            })
            .transpose()?;
        let purposes = args.purpose.iter().map(|word| {
            Purpose::from_word(word).ok_or_else(|| {
                let words = Purpose::ALL.iter().map(|purpose| purpose.as_str());
                WrongUsage(unknown("purpose", word, words))
            })
        });
        let words = args.search.iter().flat_map(|text| text.split_whitespace());
        Ok(Self {
            words: words.map(str::to_lowercase).collect(),
            source,
            status: args.status.clone(),
            purposes: purposes.collect::<Result<_, _>>()?,
            operator: args.operator.clone(),
        })
    }

    /// Returns the rows that meet the conditions, in the order of the table.
    pub(super) fn of(&self, mut rows: Vec<Row>) -> Vec<Row> {
        rows.retain(|row| self.includes(&row.robot));
        rows
    }

    fn includes(&self, robot: &Robot) -> bool {
        self.source.as_ref().is_none_or(|it| *it == robot.source)
            && self
                .status
                .as_ref()
                .is_none_or(|it| it == robot.status.as_str())
            && (self.purposes.is_empty() || self.purposes.contains(&robot.purpose))
            && self.operator.as_ref().is_none_or(|it| {
                let operator = robot.operator.as_deref().unwrap_or_default();
                operator.eq_ignore_ascii_case(it)
            })
            && self.has_words(robot)
    }

    fn has_words(&self, robot: &Robot) -> bool {
        let operator = robot.operator.as_deref().unwrap_or_default();
        let text = [&robot.id, &robot.name, &robot.useragent, operator]
            // A line break, so that no word is found across two of them.
            .join("\n")
            .to_lowercase();
        self.words.iter().all(|word| text.contains(word))
    }
}
