//! A compiled filter.

use std::{fmt, sync::Arc};

use url::Url;

use robot_detection_store::description::ResourceDescription;

use super::{
    Denial, FoundLink, LogType, Resource, Stage, StageOutcome, StepOutcome, Surroundings, Work,
    step::Compiled,
};

/// Compiled filter: its directives in order, by stage.
///
/// It never changes and is shared by all workers; what a run remembers is in
/// its [`FilterRun`](super::FilterRun). A resource goes through
/// [`metadata`](Self::metadata) before it is retrieved, then through
/// [`data`](Self::data), then through [`enumerate`](Self::enumerate) or
/// [`generate`](Self::generate); where one denies it, this filter has done with it.
pub struct Filter {
    name: Arc<str>,
    directives: [Vec<Compiled>; 6],
    log_type: LogType,
}

impl Filter {
    pub(super) fn new(name: &str, directives: [Vec<Compiled>; 6], log_type: LogType) -> Self {
        Self {
            name: name.into(),
            directives,
            log_type,
        }
    }

    /// Runs the stage `Setup`, once before the first resource.
    pub fn setup(&self, around: &Surroundings<'_>) -> StageOutcome {
        self.without_resource(Stage::Setup, around)
    }

    /// Runs the stage `MetaData`, once for each URL and before it is retrieved.
    pub fn metadata(&self, resource: &mut Resource, around: &Surroundings<'_>) -> StageOutcome {
        self.pass(Stage::MetaData, &mut work(resource, around))
    }

    /// Assigns once more what the stage `MetaData` assigned to a resource that it let pass.
    ///
    /// Needed where the resource was made anew from its URL in between, by
    /// another process or after a restart; nothing is tested or counted.
    pub fn recall_metadata(&self, resource: &mut Resource, around: &Surroundings<'_>) {
        let mut work = work(resource, around);
        for directive in self.directives(Stage::MetaData) {
            if !directive.is_counting {
                // It let the resource pass the first time: a denial is none now.
                let _ = directive.step.run(&mut work);
            }
        }
    }

    /// Runs the stage `Data`, once for each resource after it is retrieved.
    pub fn data(&self, resource: &mut Resource, around: &Surroundings<'_>) -> StageOutcome {
        self.pass(Stage::Data, &mut work(resource, around))
    }

    /// Runs the stage `Enumerate` and returns the links to other resources, each once.
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

    /// Runs the stage `Generate`, which fills a description.
    ///
    /// A resource that is denied here gets no description, whatever is in it.
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

    /// Runs the stage `Shutdown`, once after the last resource.
    pub fn shutdown(&self, around: &Surroundings<'_>) -> StageOutcome {
        self.without_resource(Stage::Shutdown, around)
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns how much `filterrules-setup` wants logged.
    pub const fn log_type(&self) -> LogType {
        self.log_type
    }

    /// Returns `true` if there is something to do at a stage.
    pub fn has_stage(&self, stage: Stage) -> bool {
        !self.directives(stage).is_empty()
    }

    /// Returns `true` if of resources with the same content one is let pass.
    pub fn drops_duplicates(&self) -> bool {
        let mut all = self.directives.iter().flatten();
        all.any(|directive| *directive.function == *"filter-by-md5")
    }

    /// Returns `true` if a step may wait for something else with each page, such as a program.
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

    fn directives(&self, stage: Stage) -> &[Compiled] {
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
