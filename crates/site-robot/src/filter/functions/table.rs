//! All built-in functions: where they may stand, and what makes them.

use crate::filter::{Stage, Step};

use super::{
    FunctionContext, assign, attributes, convert, enumerate, extract_meta, extract_source,
    extract_text, extract_toc, filter_by, filter_by_max, filter_by_md5, filter_rules, generate_by,
    generate_dates, generate_md5, harvest, setup,
};

/// Built-in function.
pub(super) struct BuiltIn {
    pub(super) name: &'static str,
    pub(super) stages: &'static [Stage],
    /// May stand once in a filter.
    pub(super) is_once: bool,
    /// Counts resources.
    pub(super) is_counting: bool,
    pub(super) make: Make,
}

type Make = fn(&mut FunctionContext<'_>) -> Result<Box<dyn Step>, String>;

use Stage::{Data, Enumerate, Generate, MetaData, Setup, Shutdown};

const TESTED: &[Stage] = &[MetaData, Data];
const RETRIEVED: &[Stage] = &[Data, Enumerate, Generate];
const ANY_RESOURCE: &[Stage] = &[MetaData, Data, Enumerate, Generate];

const fn at(stages: &'static [Stage], name: &'static str, make: Make) -> BuiltIn {
    BuiltIn {
        name,
        stages,
        is_once: false,
        is_counting: false,
        make,
    }
}

const fn once(stages: &'static [Stage], name: &'static str, make: Make) -> BuiltIn {
    BuiltIn {
        is_once: true,
        is_counting: true,
        ..at(stages, name, make)
    }
}

/// The thirty functions of the reference, in its order.
pub(super) const BUILT_IN: [BuiltIn; 30] = [
    at(&[Setup], "filterrules-setup", filter_rules::setup),
    at(&[Setup], "setup-regex-cache", setup::regex_cache),
    at(
        &[Setup],
        "setup-type-by-extension",
        setup::type_by_extension,
    ),
    at(TESTED, "filter-by-exact", filter_by::exact),
    once(TESTED, "filter-by-max", filter_by_max::make),
    once(RETRIEVED, "filter-by-md5", |it| Ok(filter_by_md5::make(it))),
    at(TESTED, "filter-by-prefix", filter_by::prefix),
    at(TESTED, "filter-by-regex", filter_by::regex),
    at(TESTED, "filterrules-process", |it| {
        Ok(filter_rules::process(it))
    }),
    at(ANY_RESOURCE, "assign-source", assign::source),
    at(ANY_RESOURCE, "assign-type-by-extension", |it| {
        Ok(assign::type_by_extension(it))
    }),
    at(ANY_RESOURCE, "clear-source", assign::clear),
    at(RETRIEVED, "convert-to-html", convert::make),
    at(&[Generate], "copy-attribute", attributes::copy),
    at(ANY_RESOURCE, "generate-by-exact", generate_by::exact),
    at(ANY_RESOURCE, "generate-by-prefix", generate_by::prefix),
    at(ANY_RESOURCE, "generate-by-regex", generate_by::regex),
    at(RETRIEVED, "generate-md5", |it| Ok(generate_md5::make(it))),
    at(RETRIEVED, "generate-rd-expires", |it| {
        Ok(generate_dates::expires(it))
    }),
    at(RETRIEVED, "generate-rd-last-modified", |it| {
        Ok(generate_dates::last_modified(it))
    }),
    at(&[Generate], "rename-attribute", attributes::rename),
    at(&[Enumerate], "enumerate-urls", enumerate::urls),
    at(
        &[Enumerate],
        "enumerate-urls-from-text",
        enumerate::urls_from_text,
    ),
    at(&[Generate], "extract-full-text", extract_text::full),
    at(&[Generate], "extract-html-meta", extract_meta::make),
    at(&[Generate], "extract-html-text", extract_text::partial),
    at(&[Generate], "extract-html-toc", extract_toc::make),
    at(&[Generate], "extract-source", extract_source::make),
    at(&[Generate], "harvest-summarizer", harvest::make),
    at(&[Shutdown], "filterrules-shutdown", |it| {
        Ok(filter_rules::shutdown(it))
    }),
];

/// Returns the right name where a function is known by another one.
///
/// Both stand in the reference: one as an alias, one where two lines ran together.
pub(in crate::filter) fn canonical_name(name: &str) -> Option<&'static str> {
    match name {
        "generate-last-modified" => Some("generate-rd-last-modified"),
        "assign-type-by-extclear-source" => Some("assign-type-by-extension"),
        _ => None,
    }
}
