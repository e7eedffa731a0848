//! Reference pages: generated from the program, never edited by hand.

use std::{collections::BTreeSet, env, fmt::Write as _, fs};

use robot_detection::{
    cli,
    config::{KEYS, Key, Kind, TABLES, TableKind, Value, commented_configuration},
};

use super::page::root;
use crate::support::program;

const RENEW: &str = "UPDATE_DOCS=1 cargo test --test it book::";

/// Compares a page of the book with the generated text, or writes the page.
fn check(name: &str, made: &str) {
    let path = root().join("docs/src/reference").join(name);
    if env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, made).unwrap();
        return;
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    let differing = (1..)
        .zip(committed.lines())
        .zip(made.lines())
        .find(|((_, old), new)| old != new);
    assert!(
        committed == made,
        "docs/src/reference/{name} is outdated; run `{RENEW}` to update it\n{differing:?}"
    );
}

/// Returns the beginning of a page.
fn beginning(title: &str, source: &str) -> String {
    format!("# {title}\n\n<!-- Made from {source}: `{RENEW}` renews it. -->\n\n")
}

#[test]
fn the_settings_page_is_generated_from_the_keys() {
    let mut page = beginning("Settings", "the keys of the configuration");
    page.push_str(
        "Every key of `robot-detection.toml`; `robot-detection init` writes them into a file. \
         How they are spelled, and what wins over what:\n[Configuration](../configuration.md).\n",
    );
    let mut table = None;
    for key in KEYS {
        let of = key.name.split_once('.').map_or("", |(table, _)| table);
        if table.replace(of) != Some(of) {
            let heading = match of {
                "" => "Outside of tables".to_owned(),
                of => format!("The table `[{of}]`"),
            };
            let _ = write!(page, "\n## {heading}\n");
        }
        page.push_str(&section(key));
    }
    page.push_str(
        "\n## Tables that can stand several times\n\nThey have no environment variables.\n",
    );
    let mut told: BTreeSet<_> = KEYS.iter().map(|key| key.name).collect();
    for table in TABLES {
        page.push_str(&table_section(table, &mut told));
    }
    let file = commented_configuration();
    let (_, tables) = file.split_once("\n# Additional registries").unwrap();
    let _ = write!(
        page,
        "\n## Examples of these tables\n\n\
         Examples, as `robot-detection init` writes them:\n\n\
         ```toml\n# Additional registries{tables}```\n"
    );
    check("settings.md", &page);
}

fn section(key: &Key) -> String {
    let mut section = format!("\n### `{}`\n\n{}.\n\n", key.name, escaped(key.help));
    let _ = writeln!(section, "- Value: {}", range(key.kind));
    let default = Value::parse(key.kind, key.default).unwrap();
    let _ = writeln!(section, "- Default: `{default}`");
    let _ = writeln!(section, "- Environment: `{}`", key.variable());
    if key.is_secret {
        let (file, variable) = (key.name, key.variable());
        let _ = writeln!(
            section,
            "- From a file: `{file}_file`, or `{variable}_FILE`"
        );
    }
    if let Some(old) = key.old_name {
        let _ = writeln!(section, "- Old name: `{old}`");
    }
    if key.is_per_site() {
        section.push_str("- A `[[site]]` can set it for itself\n");
    }
    section
}

/// Returns the keys of a table; a table that was described before is only linked.
fn table_section(table: &TableKind, told: &mut BTreeSet<&'static str>) -> String {
    let mut section = format!("\n### `[[{}]]`\n", table.name);
    let (own, known): (Vec<&Key>, Vec<&Key>) = table.keys().partition(|key| told.insert(key.name));
    for key in own {
        let name = format!("{}.{}", table.name, key.short_name);
        let _ = write!(section, "\n#### `{name}`\n\n{}.\n\n", escaped(key.help));
        let _ = writeln!(section, "- Value: {}", range(key.kind));
        if key.is_secret {
            let _ = writeln!(section, "- From a file: `{name}_file`");
        }
    }
    let names = |keys: &[&Key], name: fn(&Key) -> &'static str| {
        let names = keys.iter().map(|key| format!("`{}`", name(key)));
        names.collect::<Vec<_>>().join(", ")
    };
    if !known.is_empty() {
        let names = names(&known, |key| key.short_name);
        let _ = write!(section, "\nAs above: {names}.\n");
    }
    if table.name == "site" {
        let keys: Vec<_> = KEYS.iter().filter(|key| key.is_per_site()).collect();
        let names = names(&keys, Key::name_in_site);
        let _ = write!(
            section,
            "\nSettings of a site that override those of all sites: {names}.\n"
        );
    }
    section
}

fn range(kind: Kind) -> String {
    let words = |words: Vec<&str>| {
        let words = words.iter().map(|word| format!("`{word:?}`"));
        words.collect::<Vec<_>>().join(", ")
    };
    match kind {
        Kind::Word(of) => format!("one of {}", words(of())),
        Kind::Words(of) => format!("{}, each one of {}", kind.describe(), words(of())),
        Kind::Integer { min, max } => format!("{} from {min} to {max}", kind.describe()),
        kind => kind.describe().to_owned(),
    }
}

/// Returns a text with Markdown marks escaped, except for code.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    let mut is_code = false;
    for character in text.chars() {
        is_code ^= character == '`';
        if !is_code && matches!(character, '*' | '<' | '[' | ']') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

#[test]
fn the_commands_page_matches_the_help_output() {
    let mut page = beginning("Command line", "what `--help` prints");
    page.push_str(
        "Every command, and what `--help` prints for it. `--config` and `--database` go with all of them.\n",
    );
    let mut program = cli::command();
    program.build();
    add_help(&mut page, &program, &[]);
    check("command-line.md", &page);
}

/// Adds the help of a command and its subcommands.
fn add_help(page: &mut String, command: &clap::Command, names: &[&str]) {
    let directory = tempfile::tempdir().unwrap();
    let help = program::succeed(directory.path(), &[names, &["--help"]].concat());
    let heading = [&["robot-detection"], names].concat().join(" ");
    let help = help.trim_end();
    let _ = write!(page, "\n## {heading}\n\n```text\n{help}\n```\n");
    let commands = command.get_subcommands();
    for below in commands.filter(|below| below.get_name() != "help") {
        add_help(page, below, &[names, &[below.get_name()]].concat());
    }
}
