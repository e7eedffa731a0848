//! The filter.conf language and its Robot Application Functions (Sun 7.1).
//!
//! A filter is a list of directives at six stages. A resource passes `MetaData` before retrieval
//! and `Data` afterwards; then, an enumeration filter extracts its links (`Enumerate`), and a
//! generation filter creates a resource description (`Generate`). [`FilterConf`] is a parsed file,
//! [`Filters`] are its compiled filters, [`FilterRun`] is the state of a filter during a run, and
//! [`Resource`] is the item being processed. This module does no I/O: [`Files`] reads files and
//! [`Commands`] runs programs.
//!
//! # Example
//!
//! ```
//! use robot_detection_store::description::ResourceDescription;
//! use robot_detection_site_robot::filter::{
//!     FilterRun, Filters, Functions, NoCommands, NoFiles, ReceivedResource, Resource, Surroundings,
//! };
//!
//! let text = "<Filter name=mine>
//! MetaData fn=filter-by-prefix src=path deny=/private/
//! Generate fn=extract-html-meta
//! </Filter>";
//! let filters = Filters::compile("filter.conf", text, &Functions::new(), &NoFiles)?;
//! let filter = filters.filter("mine").unwrap();
//! let run = FilterRun::new();
//! let around = Surroundings { run: &run, commands: &NoCommands, now_ms: 0 };
//!
//! let mut private = Resource::new("http://h.example/private/a".parse()?, 1);
//! let denied = filter.metadata(&mut private, &around);
//! assert_eq!(
//!     denied.denial().unwrap().to_string(),
//!     "filter \"mine\", line 2, MetaData fn=filter-by-prefix: \
//!      path \"/private/a\" begins with \"/private/\"",
//! );
//!
//! let mut page = Resource::new("http://h.example/a".parse()?, 1);
//! assert!(filter.metadata(&mut page, &around).is_allowed());
//! page.receive(ReceivedResource {
//!     status: 200,
//!     content_type: Some("text/html".to_owned()),
//!     body: "<title>A page</title>".into(),
//!     ..ReceivedResource::default()
//! });
//! let mut description = ResourceDescription::new(page.url().as_str());
//! assert!(filter.data(&mut page, &around).is_allowed());
//! assert!(filter.generate(&mut page, &mut description, &around).is_allowed());
//! assert_eq!(description.title(), "A page");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod commands;
mod conf;
mod content;
#[expect(clippy::module_inception, reason = "named after its type")]
mod filter;
mod filters;
mod functions;
mod mime_types;
mod note;
mod parameters;
mod pattern;
mod pblock;
mod resource;
mod rules;
mod run;
mod sniff;
mod source;
mod stage;
mod step;

pub(crate) use crate::spelling::{quoted, unknown_word};
pub use commands::{CommandLine, Commands, Files, NoCommands, NoFiles};
pub use conf::{Directive, FilterConf, FilterText};
pub use content::ReceivedResource;
pub use filter::Filter;
pub use filters::{Filters, has_error};
pub use functions::{Functions, LogType};
pub use mime_types::MimeTypes;
pub use note::{FileErrors, Note, Severity};
pub use parameters::{Parameters, boolean};
pub use pblock::{QuoteFault, QuotedValue, is_quote, unquote};
pub use resource::{Resource, RunNames};
pub use rules::{ClassificationRules, FilterRules, RuleVerdict, Site, StartingPoint};
pub use run::{FilterRun, FilterRunState, url_rank};
pub use source::Source;
pub use stage::{Denial, Stage, StageOutcome};
pub use step::{FoundLink, Function, Step, StepOutcome, Surroundings, Work};
