//! Interfaces of filter functions: a directive is compiled once, and its step runs for each
//! resource.

use std::sync::Arc;

use crate::document::LinkKind;
use robot_detection_store::description::ResourceDescription;

use super::{Commands, FilterRun, Parameters, Resource, Stage};

/// A Robot Application Function, which builds a step for each directive that uses the function.
///
/// Implement this trait to add a custom function, and register the function with
/// [`Functions::with`](super::Functions::with).
///
/// # Example
///
/// The following function denies resources with a long path:
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
    /// Returns the stages at which the function is allowed.
    fn stages(&self) -> &[Stage];

    /// Builds the step of a directive; the directive's parameters are parsed only at this point.
    ///
    /// # Errors
    ///
    /// Returns a human-readable message that identifies the invalid parameter.
    fn step(&self, parameters: &Parameters, stage: Stage) -> Result<Box<dyn Step>, String>;
}

/// A compiled directive, which runs for each resource.
pub trait Step: Send + Sync {
    /// Runs the step for a resource.
    fn run(&self, work: &mut Work<'_>) -> StepOutcome;

    /// Returns `true` if the step may block on each page; the default is `false`.
    ///
    /// If the result is `true`, the robot processes more pages in parallel than there are
    /// processors.
    fn waits(&self) -> bool {
        false
    }
}

/// A compiled filter directive.
pub(super) struct CompiledDirective {
    pub(super) line: usize,
    pub(super) function: Arc<str>,
    pub(super) step: Box<dyn Step>,
    /// Whether the step counts resources, and therefore must not see the same resource twice.
    pub(super) is_counting: bool,
}

/// A resource at a stage, and the context in which a step runs.
pub struct Work<'a> {
    /// The resource; at `Setup` and `Shutdown`, a resource that has no sources.
    pub resource: &'a mut Resource,
    /// State that the filter has accumulated from earlier resources.
    pub run: &'a FilterRun,
    /// Runs external programs.
    pub commands: &'a dyn Commands,
    /// Current time, in milliseconds since 1970 UTC.
    pub now_ms: i64,
    /// Links found so far, at the `Enumerate` stage.
    pub links: Option<&'a mut Vec<FoundLink>>,
    /// Description to be filled in, at the `Generate` stage.
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

/// Outcome of running a directive for a resource.
#[derive(Clone, Debug, Eq, PartialEq)]
#[must_use]
pub enum StepOutcome {
    /// The resource continues to the next directive.
    Continue,
    /// The resource is denied; the reason contains the source, its value and the compared text.
    Deny(String),
}

/// A link found in a resource, as written.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct FoundLink {
    /// URL of the link, absolute or relative.
    pub url: String,
    /// Kind of the element that contains the link; `None` in plain text.
    pub kind: Option<LinkKind>,
    /// Whether the link's `rel` contains `nofollow`.
    pub is_nofollow: bool,
}

/// Context that a run provides to its filters.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// State that the filter has accumulated from earlier resources.
    pub run: &'a FilterRun,
    /// Runs external programs; [`NoCommands`](super::NoCommands) runs none.
    pub commands: &'a dyn Commands,
    /// Current time, in milliseconds since 1970 UTC.
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
