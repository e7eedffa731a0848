//! Compiles all filters in a file.

use std::{collections::HashMap, sync::Arc};

use super::{
    FileErrors, Filter, FilterConf, FilterText, Functions, Note, Severity, Stage,
    commands::Files,
    functions::{FilterState, FunctionContext, Missing},
    note::Notes,
    step::CompiledDirective,
};

/// Filters that are bundled with the program.
const SHIPPED: &str = include_str!("defaults/filter.conf");

/// Compiled filters of a filter.conf file, by name.
///
/// The bundled filters [`Filters::ENUMERATION`] and [`Filters::GENERATION`] are included unless the
/// file redefines them.
///
/// # Example
///
/// ```
/// use robot_detection_site_robot::filter::{Filters, Functions, NoFiles};
///
/// let text = "<Filter name=mine>\nMetaData fn=filter-by-exact src=host deny=a.example\n</Filter>";
/// let filters = Filters::compile("filter.conf", text, &Functions::new(), &NoFiles).unwrap();
/// assert_eq!(filters.filter("mine").unwrap().name(), "mine");
/// assert!(filters.filter(Filters::ENUMERATION).is_some());
/// ```
#[derive(Clone, Debug)]
pub struct Filters {
    filters: HashMap<String, Arc<Filter>>,
}

impl Filters {
    /// Name of the bundled enumeration filter.
    pub const ENUMERATION: &str = "enumeration-default";
    /// Name of the bundled generation filter.
    pub const GENERATION: &str = "generation-default";
    /// Content of the bundled filter.conf file.
    pub const SHIPPED: &str = SHIPPED;

    /// Compiles a filter.conf file; `name` is the file name that appears in messages.
    ///
    /// # Errors
    ///
    /// Returns all errors: unknown stages, functions and parameters, invalid values, and missing
    /// files.
    pub fn compile(
        name: &str,
        text: &str,
        functions: &Functions,
        files: &dyn Files,
    ) -> Result<Self, FileErrors> {
        let mut filters = Self::shipped(functions, files)?;
        let conf = FilterConf::parse(text);
        let (own, notes) = compile(&conf, functions, files, Missing::Fails);
        FileErrors::check(name, &notes)?;
        filters.filters.extend(own.filters);
        Ok(filters)
    }

    /// Compiles the bundled filters; if `./config/filterrules.conf` is missing, they have no rules.
    ///
    /// # Errors
    ///
    /// Returns an error if `./config/filterrules.conf` exists but is invalid.
    pub fn shipped(functions: &Functions, files: &dyn Files) -> Result<Self, FileErrors> {
        let conf = FilterConf::parse(SHIPPED);
        let (filters, notes) = compile(&conf, functions, files, Missing::Ignored);
        FileErrors::check("bundled filter.conf", &notes)?;
        Ok(filters)
    }

    /// Checks a filter.conf file and returns all notes; a reference to a file that does not exist
    /// is reported as a warning.
    pub fn check(conf: &FilterConf, functions: &Functions, files: &dyn Files) -> Vec<Note> {
        compile(conf, functions, files, Missing::Warns).1
    }

    /// Returns the filter with the given name.
    pub fn filter(&self, name: &str) -> Option<&Arc<Filter>> {
        self.filters.get(name)
    }

    /// Returns the names of all filters, sorted.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<_> = self.filters.keys().map(String::as_str).collect();
        names.sort_unstable();
        names
    }
}

/// Compiles all valid filters, and returns them with all notes.
fn compile(
    conf: &FilterConf,
    functions: &Functions,
    files: &dyn Files,
    missing: Missing,
) -> (Filters, Vec<Note>) {
    let mut notes = Notes::default();
    conf.notes()
        .iter()
        .cloned()
        .for_each(|note| notes.push(note));
    let mut compiler = Compiler {
        functions,
        files,
        missing,
        notes: &mut notes,
    };
    let filters = conf.filters().iter();
    let filters = filters.map(|text| (text.name().to_owned(), Arc::new(compiler.filter(text))));
    let filters = Filters {
        filters: filters.collect(),
    };
    (filters, notes.into_sorted())
}

struct Compiler<'a> {
    functions: &'a Functions,
    files: &'a dyn Files,
    missing: Missing,
    notes: &'a mut Notes,
}

impl Compiler<'_> {
    fn filter(&mut self, text: &FilterText) -> Filter {
        let mut state = FilterState::default();
        let mut directives: [Vec<CompiledDirective>; 6] = Default::default();
        for &stage in Stage::ALL {
            let mut compiled = Vec::new();
            // Tests that were deferred by the previous stage run first.
            compiled.append(&mut state.deferred);
            let of_stage = text.directives().iter().filter(|it| it.stage == stage);
            for directive in of_stage.filter(|it| it.is_enabled) {
                let mut making =
                    FunctionContext::new(directive, self.files, self.missing, &mut state);
                match self.functions.compile(&mut making) {
                    Ok(made) => compiled.push(made),
                    Err(text) => self.notes.error(directive.line, text),
                }
                making
                    .into_notes()
                    .into_iter()
                    .for_each(|note| self.notes.push(note));
            }
            if let Some(place) = directives.get_mut(stage as usize) {
                *place = compiled;
            }
        }
        Filter::new(text.name(), directives, state.log_type)
    }
}

/// Returns `true` if any note is an error.
pub fn has_error(notes: &[Note]) -> bool {
    notes.iter().any(|note| note.severity == Severity::Error)
}
