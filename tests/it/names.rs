//! Names that users write, frozen in `tests/data/names.txt`.

use std::{collections::BTreeSet, env, fs, path::Path};

use regex::Regex;
use robot_detection::{cli, config};
use serde_json::Value;

use crate::support::program::{Server, admin_json, succeed};

const FILE: &str = "tests/data/names.txt";

const ROUTES: &str = r#"\.route\(\s*"([^"]+)""#;

#[test]
fn names_that_users_write_are_frozen() {
    let directory = tempfile::tempdir().unwrap();
    let config = "web_robots_db = ''\nserver.upstream = 'http://127.0.0.1:9'\nadmin.listen = '127.0.0.1:0'\n";
    fs::write(directory.path().join("robot-detection.toml"), config).unwrap();
    let server = Server::start(directory.path(), &["serve"]);
    let token = succeed(directory.path(), &["admin", "token", "names"]);
    let asked = ("GET", "openapi.json");
    let document = admin_json(server.admin.unwrap(), token.trim(), asked, "").text();
    let document: Value = serde_json::from_str(&document).unwrap();

    let (mut commands, mut schemas) = (BTreeSet::new(), BTreeSet::new());
    let mut program = cli::command();
    program.build();
    add_command(&program, "", &mut commands);
    for (name, schema) in members(&document["components"]["schemas"]) {
        add_schema(name, schema, &mut schemas);
    }
    let mut made =
        "Names that users write, each with the values it may have. They are frozen.\n".to_owned();
    for (title, names, least) in [
        ("Commands", commands, 300),
        ("Settings", settings(), 300),
        ("Operations of the API", operations(&document), 150),
        ("Schemas of the API", schemas, 300),
        (
            "Pages of the console",
            literals("crates/console/src", ROUTES),
            40,
        ),
        (
            "Listener of health checks and metrics",
            literals("src/app/server", ROUTES),
            4,
        ),
        (
            "Metrics",
            literals("src/app/server", r#""(robot_detection_[a-z_]+)""#),
            30,
        ),
    ] {
        assert!(names.len() >= least, "{title}: {names:?}");
        let lines = names.into_iter().collect::<Vec<_>>().join("\n");
        made = format!("{made}\n# {title}\n\n{lines}\n");
    }

    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE);
    if env::var_os("UPDATE_DOCS").is_some() {
        return fs::write(&file, made).unwrap();
    }
    let frozen = fs::read_to_string(&file).unwrap();
    let (old, new): (BTreeSet<_>, BTreeSet<_>) = (frozen.lines().collect(), made.lines().collect());
    let gone = old.difference(&new).map(|name| format!("- {name}"));
    let added = new.difference(&old).map(|name| format!("+ {name}"));
    let changes = gone.chain(added).collect::<Vec<_>>().join("\n");
    assert!(
        frozen == made,
        "names that users write are frozen in {FILE}; differences:\n{changes}\n\
         List every changed name in CHANGELOG.md; update the file with \
         `UPDATE_DOCS=1 cargo test --test it names::`"
    );
}

fn add_command(command: &clap::Command, name: &str, names: &mut BTreeSet<String>) {
    for argument in command.get_arguments() {
        let id = argument.get_id().as_str();
        if ["help", "version"].contains(&id) || argument.is_global_set() && !name.is_empty() {
            continue;
        }
        let long = argument.get_long().map(|long| format!("--{long}"));
        let short = argument.get_short().map(|short| format!("-{short}"));
        let place = argument
            .is_positional()
            .then(|| format!("<{}>", id.to_uppercase()));
        let spelled = long
            .into_iter()
            .chain(short)
            .chain(place)
            .collect::<Vec<_>>()
            .join(", ");
        let values = argument.get_possible_values();
        let values = values.iter().map(clap::builder::PossibleValue::get_name);
        names.insert(line(&format!("{name} {spelled}"), values));
    }
    for below in command
        .get_subcommands()
        .filter(|below| below.get_name() != "help")
    {
        let name = format!("{name} {}", below.get_name());
        names.insert(line(&name, below.get_all_aliases()));
        add_command(below, &name, names);
    }
}

fn settings() -> BTreeSet<String> {
    let keys = config::KEYS.iter().map(|key| (key.name.to_owned(), key));
    let in_site = config::KEYS.iter().filter(|key| key.is_per_site());
    let in_site = in_site.map(|key| (format!("[[site]] {}", key.name_in_site()), key));
    let in_tables = config::TABLES.iter().flat_map(|table| {
        table
            .keys()
            .map(|key| (format!("[[{}]] {}", table.name, key.short_name), key))
    });
    let lines = keys.chain(in_site).chain(in_tables).map(|(name, key)| {
        let words = match key.kind {
            config::Kind::Word(words) | config::Kind::Words(words) => words(),
            _ => Vec::new(),
        };
        let old = key
            .old_name
            .map_or(String::new(), |old| format!(" (also {old})"));
        line(&(name + &old), words)
    });
    lines.collect()
}

fn operations(document: &Value) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (path, methods) in members(&document["paths"]) {
        for (method, described) in members(methods) {
            let name = format!("{} {path}", method.to_uppercase());
            names.insert(line(&name, described["operationId"].as_str()));
            let parameters = described["parameters"].as_array().unwrap().iter();
            for parameter in parameters.filter(|parameter| parameter["in"] == "query") {
                let name = format!("{name} ?{}", parameter["name"].as_str().unwrap());
                add_schema(&name, &parameter["schema"], &mut names);
            }
            let body = &described["requestBody"]["content"]["application/json"]["schema"];
            if body.is_object() {
                add_schema(&format!("{name} body"), body, &mut names);
            }
        }
    }
    names
}

/// Adds a schema with its values, and its fields and nested fields.
fn add_schema(name: &str, schema: &Value, names: &mut BTreeSet<String>) {
    names.insert(line(name, values(schema)));
    for (field, schema) in members(&schema["properties"]) {
        add_schema(&format!("{name}.{field}"), schema, names);
    }
    let inside = ["oneOf", "anyOf", "allOf"]
        .iter()
        .flat_map(|kind| list(&schema[*kind]));
    for schema in inside.chain([&schema["items"], &schema["additionalProperties"]]) {
        if schema["properties"].is_object() {
            add_schema(name, schema, names);
        }
    }
}

fn values(schema: &Value) -> Vec<&str> {
    let words = list(&schema["enum"])
        .chain([&schema["const"]])
        .filter_map(Value::as_str);
    let inside = list(&schema["oneOf"])
        .chain(list(&schema["anyOf"]))
        .chain([&schema["items"]]);
    words
        .chain(inside.filter(|it| it.is_object()).flat_map(values))
        .collect()
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn line<'v>(name: &str, values: impl IntoIterator<Item = &'v str>) -> String {
    let values = values.into_iter().collect::<Vec<_>>().join(", ");
    let name = name.trim();
    if values.is_empty() {
        name.to_owned()
    } else {
        format!("{name} = {values}")
    }
}

/// Returns the matches of a pattern in a directory's files, excluding unit tests.
fn literals(directory: &str, pattern: &str) -> BTreeSet<String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
    let pattern = Regex::new(pattern).unwrap();
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let text = fs::read_to_string(path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap();
            let captures = pattern.captures_iter(code);
            found.extend(captures.map(|found| found[1].to_owned()));
        }
    }
    found
}
