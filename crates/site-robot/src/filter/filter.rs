//! A compiled filter.

use std::{fmt, sync::Arc};

use url::Url;

use robot_detection_store::description::ResourceDescription;

use super::{
    Denial, FoundLink, LogType, Resource, Stage, StageOutcome, StepOutcome, Surroundings, Work,
    step::CompiledDirective,
};

/// A compiled filter, whose directives are grouped by stage and keep their order.
///
/// A filter is immutable and shared by all workers; its [`FilterRun`](super::FilterRun) contains
/// the state during a run. A resource passes [`metadata`](Self::metadata) before retrieval, then
/// [`data`](Self::data), then [`enumerate`](Self::enumerate) or [`generate`](Self::generate). A
/// filter does not process a resource any further after denying it.
pub struct Filter {
    name: Arc<str>,
    directives: [Vec<CompiledDirective>; 6],
    log_type: LogType,
}

impl Filter {
    pub(super) fn new(
        name: &str,
        directives: [Vec<CompiledDirective>; 6],
        log_type: LogType,
    ) -> Self {
        Self {
            name: name.into(),
            directives,
            log_type,
        }
    }

    /// Runs the `Setup` stage, once before the first resource is processed.
    pub fn setup(&self, around: &Surroundings<'_>) -> StageOutcome {
        self.without_resource(Stage::Setup, around)
    }

    /// Runs the `MetaData` stage, once per URL, before retrieval.
    pub fn metadata(&self, resource: &mut Resource, around: &Surroundings<'_>) -> StageOutcome {
        self.pass(Stage::MetaData, &mut work(resource, around))
    }

    /// Repeats the assignments of the `MetaData` stage for a resource that has already passed the
    /// stage.
    ///
    /// This method is needed if the resource was recreated from its URL by another process or after
    /// a restart. No tests or counts are repeated.
    pub fn reapply_metadata(&self, resource: &mut Resource, around: &Surroundings<'_>) {
        let mut work = work(resource, around);
        for directive in self.directives(Stage::MetaData) {
            if !directive.is_counting {
                // The resource passed this stage before, so a denial is ignored.
                let _ = directive.step.run(&mut work);
            }
        }
    }

    /// Runs the `Data` stage, once per resource, after retrieval.
    pub fn data(&self, resource: &mut Resource, around: &Surroundings<'_>) -> StageOutcome {
        self.pass(Stage::Data, &mut work(resource, around))
    }

    /// Runs the `Enumerate` stage and returns the distinct links to other resources.
    pub fn enumerate(
        &self,
        resource: &mut Resource,
        around: &Surroundings<'_>,
    ) -> (StageOutcome, Vec<FoundLink>) {
        let mut links = Vec::new();
        let mut work = work(resource, around);
        work.links = Some(&mut links);
        let passage = self.pass(Stage::Enumerate, &mut work);
        (passage, links)
    }

    /// Runs the `Generate` stage, which fills in a resource description.
    ///
    /// If a resource is denied at this stage, it gets no description.
    pub fn generate(
        &self,
        resource: &mut Resource,
        description: &mut ResourceDescription,
        around: &Surroundings<'_>,
    ) -> StageOutcome {
        let mut work = work(resource, around);
        work.description = Some(description);
        self.pass(Stage::Generate, &mut work)
    }

    /// Runs the `Shutdown` stage, once after the last resource has been processed.
    pub fn shutdown(&self, around: &Surroundings<'_>) -> StageOutcome {
        self.without_resource(Stage::Shutdown, around)
    }

    /// Returns the name of the filter.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the log level set by the filter's `filterrules-setup` directive.
    pub const fn log_type(&self) -> LogType {
        self.log_type
    }

    /// Returns `true` if the filter denies all but one of several resources with the same content.
    pub fn drops_duplicates(&self) -> bool {
        let mut all = self.directives.iter().flatten();
        all.any(|directive| *directive.function == *"filter-by-md5")
    }

    /// Returns `true` if a step of the filter may block on each page, for example on an external
    /// program.
    pub fn waits(&self) -> bool {
        let mut steps = self.directives.iter().flatten();
        steps.any(|directive| directive.step.waits())
    }

    fn without_resource(&self, stage: Stage, around: &Surroundings<'_>) -> StageOutcome {
        let Ok(nowhere) = Url::parse("about:blank") else {
            return StageOutcome::Allowed;
        };
        let mut resource = Resource::new(nowhere, 0);
        self.pass(stage, &mut work(&mut resource, around))
    }

    fn pass(&self, stage: Stage, work: &mut Work<'_>) -> StageOutcome {
        for directive in self.directives(stage) {
            if let StepOutcome::Deny(reason) = directive.step.run(work) {
                return StageOutcome::Denied(Denial {
                    filter: Arc::clone(&self.name),
                    stage,
                    line: directive.line,
                    function: Arc::clone(&directive.function),
                    reason,
                });
            }
        }
        StageOutcome::Allowed
    }

    pub(super) fn directives(&self, stage: Stage) -> &[CompiledDirective] {
        self.directives
            .get(stage as usize)
            .map_or(&[], Vec::as_slice)
    }
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.directives.iter().map(Vec::len).sum::<usize>();
        f.debug_struct("Filter")
            .field("name", &self.name)
            .field("directives", &count)
            .field("log_type", &self.log_type)
            .finish()
    }
}

fn work<'a>(resource: &'a mut Resource, around: &Surroundings<'a>) -> Work<'a> {
    Work {
        resource,
        run: around.run,
        commands: around.commands,
        now_ms: around.now_ms,
        links: None,
        description: None,
    }
}
