//! What a function is made of: a directive is read once, and its step runs for each resource.

use std::sync::Arc;

use crate::document::LinkKind;
use robot_detection_store::description::ResourceDescription;

use super::{Commands, FilterRun, Parameters, Resource, Stage};

/// Robot Application Function, which makes a step of each directive that names it.
///
/// Write one to add a function of your own, and register it with
/// [`Functions::with`](super::Functions::with).
///
/// # Example
///
/// A function that denies resources with a long path:
///
/// ```
/// use robot_detection_site_robot::filter::{
///     Filters, Function, Functions, NoFiles, Parameters, Stage, Step, StepOutcome, Work,
/// };
///
/// struct FilterByLength;
///
/// impl Function for FilterByLength {
///     fn stages(&self) -> &[Stage] {
///         &[Stage::MetaData]
///     }
///
///     fn step(&self, parameters: &Parameters, _: Stage) -> Result<Box<dyn Step>, String> {
///         let max = parameters.required("max")?;
///         let max = max.parse().map_err(|_| format!("max={max:?} is no number"))?;
///         Ok(Box::new(AtMost(max)))
///     }
/// }
///
/// struct AtMost(usize);
///
/// impl Step for AtMost {
///     fn run(&self, work: &mut Work<'_>) -> StepOutcome {
///         let length = work.resource.url().path().len();
///         if length <= self.0 {
///             return StepOutcome::Continue;
///         }
///         StepOutcome::Deny(format!("path has {length} bytes, more than {}", self.0))
///     }
/// }
///
/// let functions = Functions::new().with("filter-by-length", FilterByLength);
/// let text = "<Filter name=short>\nMetaData fn=filter-by-length max=20\n</Filter>\n";
/// let filters = Filters::compile("filter.conf", text, &functions, &NoFiles).unwrap();
/// assert!(filters.filter("short").is_some());
/// ```
pub trait Function: Send + Sync {
    /// Returns the stages at which it may stand.
    fn stages(&self) -> &[Stage];

    /// Makes the step of one directive; parameters are read here, once.
    ///
    /// # Errors
    ///
    /// Fails with a text for people that names the wrong parameter.
    fn step(&self, parameters: &Parameters, stage: Stage) -> Result<Box<dyn Step>, String>;
}

/// What one directive does with each resource.
pub trait Step: Send + Sync {
    /// Does it.
    fn run(&self, work: &mut Work<'_>) -> StepOutcome;

    /// Returns `true` if it may wait for something else with each page; it does not by default.
    ///
    /// More pages are worked on beside each other then than there are processors.
    fn waits(&self) -> bool {
        false
    }
}

/// One directive, compiled.
pub(super) struct Compiled {
    pub(super) line: usize,
    pub(super) function: Arc<str>,
    pub(super) step: Box<dyn Step>,
    /// Counts resources: it must not see the same one twice.
    pub(super) is_counting: bool,
}

/// Resource at a stage, and what a step may need beside it.
pub struct Work<'a> {
    /// The resource; at `Setup` and `Shutdown` one without any source.
    pub resource: &'a mut Resource,
    /// What the filter remembers of earlier resources.
    pub run: &'a FilterRun,
    /// Runs external programs.
    pub commands: &'a dyn Commands,
    /// The time, in milliseconds since 1970, UTC.
    pub now_ms: i64,
    /// Links found so far, at the stage `Enumerate`.
    pub links: Option<&'a mut Vec<FoundLink>>,
    /// The description, at the stage `Generate`.
    pub description: Option<&'a mut ResourceDescription>,
}

impl std::fmt::Debug for Work<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Work")
            .field("resource", &self.resource)
            .field("run", &self.run)
            .field("now_ms", &self.now_ms)
            .field("links", &self.links)
            .field("description", &self.description)
            .finish_non_exhaustive()
    }
}

/// Outcome of a directive for a resource.
#[derive(Clone, Debug, Eq, PartialEq)]
#[must_use]
pub enum StepOutcome {
    /// It goes on.
    Continue,
    /// It does not, and this is why: source, value, and what it was compared with.
    Deny(String),
}

/// Link that a resource holds, as written.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct FoundLink {
    /// URL, absolute or relative.
    pub url: String,
    /// Where it stands in a page; none in plain text.
    pub kind: Option<LinkKind>,
    /// Whether its `rel` holds `nofollow`.
    pub is_nofollow: bool,
}

/// Context that filters get from the run that they are part of.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// What the filter remembers of earlier resources.
    pub run: &'a FilterRun,
    /// Runs external programs; [`NoCommands`](super::NoCommands) has none.
    pub commands: &'a dyn Commands,
    /// The time, in milliseconds since 1970, UTC.
    pub now_ms: i64,
}

impl std::fmt::Debug for Surroundings<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Surroundings")
            .field("run", &self.run)
            .field("now_ms", &self.now_ms)
            .finish_non_exhaustive()
    }
}
