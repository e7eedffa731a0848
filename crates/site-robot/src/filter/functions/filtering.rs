//! Filter functions that deny resources, and the function `filterrules-setup`.

use std::sync::Arc;

use crate::filter::{
    FileErrors, FilterRules, LogType, RuleVerdict, Source, Stage, Step, StepOutcome, Work,
    pattern::{Pattern, shown},
    quoted, unknown_word,
};

use super::context::{FunctionContext, StepResult, no_op_step, test_step};

/// Builds a test that compares a source with an exact value.
pub(super) fn exact(making: &mut FunctionContext<'_>) -> StepResult {
    test_by(making, "equals", |text| Ok(Pattern::exact(text)))
}

/// Builds a test that compares the start of a source with a prefix.
pub(super) fn prefix(making: &mut FunctionContext<'_>) -> StepResult {
    test_by(making, "begins with", |text| Ok(Pattern::prefix(text)))
}

/// Builds a test that matches a source against a regular expression.
pub(super) fn regex(making: &mut FunctionContext<'_>) -> StepResult {
    test_by(making, "matches", Pattern::regex)
}

/// A test of a source: `deny` denies matching values, and `allow` denies all other values.
#[derive(Clone)]
struct Test {
    source: Source,
    pattern: Pattern,
    written: String,
    verb: &'static str,
    is_allow: bool,
    /// Whether a resource passes if its source has no value yet, and is tested again later.
    waits: bool,
}

fn test_by(
    making: &mut FunctionContext<'_>,
    verb: &'static str,
    pattern: impl Fn(&str) -> Result<Pattern, String>,
) -> StepResult {
    let source = making.parameters.source("src")?;
    let allow = making.parameters.optional("allow");
    let (written, is_allow) = match (allow, making.parameters.optional("deny")) {
        (Some(allow), None) => (allow, true),
        (None, Some(deny)) => (deny, false),
        (None, None) => return Err("allow= or deny= is missing; add one of them".to_owned()),
        (Some(_), Some(_)) => {
            return Err("allow= and deny= cannot be combined; write two directives".to_owned());
        }
    };
    let mut test = Test {
        pattern: pattern(written)?,
        written: written.to_owned(),
        source,
        verb,
        is_allow,
        waits: false,
    };
    // Sources that are known only after retrieval are tested at the `Data` stage; before that, they
    // are tested only if assigned.
    if making.stage == Stage::MetaData && !test.source.is_metadata() {
        making.warn(format!(
            "{} is known only after retrieval, unless assigned earlier; it is tested again at Data",
            quoted(test.source.name())
        ));
        let again = making.compiled(Box::new(test.clone()), false);
        making.state.deferred.push(again);
        test.waits = true;
    }
    Ok(Box::new(test))
}

impl Step for Test {
    fn run(&self, work: &mut Work<'_>) -> StepOutcome {
        let resource = &*work.resource;
        if self.waits && resource.source(&self.source).is_none() {
            return StepOutcome::Continue;
        }
        if self.pattern.matches(resource, &self.source) == self.is_allow {
            return StepOutcome::Continue;
        }
        let value = shown(resource, &self.source);
        let (verb, written) = (self.verb, quoted(&self.written));
        StepOutcome::Deny(if self.is_allow {
            format!("{value} is denied: only a value that {verb} {written} is allowed")
        } else {
            format!("{value} {verb} {written}")
        })
    }
}

/// Builds a test that compares a number with a maximum; `content-length` is tested at the `Data`
/// stage.
pub(super) fn max(making: &mut FunctionContext<'_>) -> StepResult {
    let source = making.parameters.source("src")?;
    making.parameters.required("value")?;
    let max = making.parameters.number("value")?.unwrap_or_default();
    let names = ["hosts", "objects", "depth", "content-length"];
    Ok(match source.name() {
        "hosts" => test_step(move |work| {
            let host = work.resource.host_and_port();
            ensure(work.run.count_host(host, max), || {
                format!("host {host:?} exceeds the limit of {max} hosts")
            })
        }),
        "objects" => test_step(move |work| {
            ensure(work.run.count_object(max), || {
                format!("the limit of {max} objects has been reached")
            })
        }),
        "depth" => test_step(move |work| {
            let depth = work.resource.depth();
            ensure(u64::from(depth) <= max, || {
                format!("depth {depth} is more than {max}")
            })
        }),
        // Sun's reference does not list this source, but uses it in an example, in KiB.
        "content-length" => length(making, max),
        other => return Err(unknown_word("source for filter-by-max", other, names)),
    })
}

fn length(making: &mut FunctionContext<'_>, max: u64) -> Box<dyn Step> {
    let step = test_step(move |work| {
        let length = work.resource.received().map_or(0, |it| it.body.len());
        ensure((length as u64).div_ceil(1024) <= max, || {
            format!("content-length {length} exceeds {max} KiB")
        })
    });
    if making.stage != Stage::MetaData {
        return step;
    }
    making.warn("content-length is known only after retrieval; the test runs at Data");
    let later = making.compiled(step, false);
    making.state.deferred.push(later);
    no_op_step()
}

fn ensure(is_in: bool, reason: impl FnOnce() -> String) -> Result<(), String> {
    if is_in { Ok(()) } else { Err(reason()) }
}

/// Builds a test that denies a resource if another resource with a better URL has the same
/// checksum.
pub(super) fn md5(making: &mut FunctionContext<'_>) -> Box<dyn Step> {
    if !making.state.has_md5 {
        making.warn("there is no generate-md5 before filter-by-md5; using the body's checksum");
    }
    let source = Source::from_name("md5");
    test_step(move |work| {
        let resource = &*work.resource;
        let url = resource.url().as_str();
        let assigned = resource.source(&source);
        let of_body = || Some(resource.content()?.md5().into());
        let Some(md5) = assigned.or_else(of_body) else {
            return Ok(());
        };
        let better = work.run.register_checksum(&md5, url, resource.preference());
        let Some(better) = better else {
            return Ok(());
        };
        let reason = format!("md5 {md5:?} was seen in another resource");
        work.resource.set_preferred_url(better);
        Err(reason)
    })
}

/// Builds a step that reads the rules file of the filter.
pub(super) fn setup_rules(making: &mut FunctionContext<'_>) -> StepResult {
    let log_type = making.parameters.optional("logtype");
    making.state.log_type = log_type.map_or(Ok(LogType::default()), read_log_type)?;
    let path = making.parameters.required("config")?.to_owned();
    if let Some(text) = making.read(&path)? {
        let rules = FilterRules::parse(&text);
        FileErrors::check(&path, rules.notes()).map_err(|error| error.to_string())?;
        making.state.rules = Some(Arc::new(rules));
    } else {
        making.state.rules.get_or_insert_default();
    }
    Ok(no_op_step())
}

/// Builds a test that applies the filter's rules.
pub(super) fn process_rules(making: &mut FunctionContext<'_>) -> Box<dyn Step> {
    let Some(rules) = making.state.rules.clone() else {
        making.warn("no rules to process: the filter has no Setup fn=filterrules-setup");
        return no_op_step();
    };
    test_step(move |work| match rules.verdict(work.resource) {
        RuleVerdict::Included => Ok(()),
        RuleVerdict::Excluded(reason) => Err(reason),
    })
}

fn read_log_type(name: &str) -> Result<LogType, String> {
    match name {
        "verbose" => Ok(LogType::Verbose),
        "normal" => Ok(LogType::Normal),
        "terse" => Ok(LogType::Terse),
        _ => Err(unknown_word(
            "logtype",
            name,
            ["verbose", "normal", "terse"],
        )),
    }
}
