//! Commands in the documents: the program accepts each one, with the output shown.

use std::{
    env, fs,
    path::Path,
    process::{Command, Stdio},
};

use robot_detection::cli;

use super::{
    page::{Block, Page, pages},
    shell::commands,
};

const PROGRAM: &str = "robot-detection";

/// Runs a page's commands in a separate directory; returns the problems.
fn wrong_on(page: &Page) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let blocks = page.blocks();
    let mut wrong = Vec::new();
    for (at, block) in blocks.iter().enumerate() {
        if let Some(name) = block.note("file: ") {
            fs::write(directory.path().join(name), &block.text).unwrap();
        } else if block.language == "sh" && is_run(block) {
            let shown = blocks.get(at + 1).filter(|next| is_output(next));
            let shown = shown.map_or("", |next| &next.text);
            let problems = problems_of(directory.path(), block, shown);
            wrong.extend(problems.map(|text| format!("{}:{}: {text}", page.name(), block.line)));
        }
    }
    wrong
}

fn is_run(block: &Block) -> bool {
    block.note("not run: ").is_none() && block.note("run by: ").is_none()
}

fn is_output(block: &Block) -> bool {
    block.follows && block.language == "text" && block.note("file: ").is_none()
}

/// Runs a block; returns the problems with its exit code and output.
fn problems_of(directory: &Path, block: &Block, shown: &str) -> Option<String> {
    let code = block.note("exit code: ").unwrap_or("0");
    let code = code.split(',').next().unwrap_or(code);
    let output = sh(directory, &block.text);
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed);
    if output.status.code().map(|code| code.to_string()).as_deref() != Some(code) {
        return Some(format!("{}, not {code}\n{printed}", output.status));
    }
    let has = |line: &str| printed.lines().any(|printed| printed.trim_end() == line);
    let mut lines = shown.lines().filter(|line| !matches!(*line, "" | "…"));
    let missing = lines.find(|line| !has(line))?;
    Some(format!("no line is {missing:?}\n{printed}"))
}

/// Runs a script with our program on the path, without the caller's settings and without downloads.
fn sh(directory: &Path, script: &str) -> std::process::Output {
    let program = Path::new(env!("CARGO_BIN_EXE_robot-detection"));
    let path = env::var_os("PATH").unwrap_or_default();
    let mut path: Vec<_> = env::split_paths(&path).collect();
    path.insert(0, program.parent().unwrap().to_owned());
    let mut command = Command::new("sh");
    for (name, _) in env::vars_os() {
        if name.to_string_lossy().starts_with("ROBOT_DETECTION_") {
            command.env_remove(name);
        }
    }
    let command = command
        .args(["-e", "-c", script])
        .current_dir(directory)
        .env("PATH", env::join_paths(path).unwrap())
        .env("ROBOT_DETECTION_WEB_ROBOTS_DB", "")
        .stdin(Stdio::null());
    command.output().unwrap()
}

#[test]
fn commands_print_the_documented_output() {
    let wrong: Vec<_> = pages().iter().flat_map(wrong_on).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn commands_are_accepted_by_the_program() {
    let mut wrong = Vec::new();
    let mut parsed = 0;
    for page in pages() {
        for block in page.blocks().iter().filter(|block| block.language == "sh") {
            let ours = commands(&block.text).into_iter();
            for words in ours.filter(|words| words[0] == PROGRAM) {
                parsed += 1;
                if let Err(error) = cli::command().try_get_matches_from(words) {
                    wrong.push(format!("{}:{}: {error}", page.name(), block.line));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(parsed > 50, "only {parsed} commands found");
}

/// Returns the part of a command in running text that the program does not have. Only names of
/// commands and flags are compared, because values may be omitted there.
fn unknown(span: &str, command: &clap::Command) -> Option<String> {
    let mut command = command;
    for word in span.split(' ') {
        if let Some(flag) = word.strip_prefix("--") {
            let flag = flag.split(['=', '[']).next().unwrap_or(flag);
            let mut flags = command.get_arguments().filter_map(clap::Arg::get_long);
            if !flags.any(|known| known == flag) {
                return Some(format!("--{flag}"));
            }
        } else if let Some(found) = command.find_subcommand(word) {
            command = found;
        } else if command.has_subcommands() {
            return Some(word.to_owned());
        }
    }
    None
}

/// Returns `true` if a text without the program's name begins with a command and a subcommand.
fn is_subcommand(span: &str, program: &clap::Command) -> bool {
    let mut words = span.split(' ');
    let group = words.next().and_then(|word| program.find_subcommand(word));
    let below = words.next();
    below.is_some_and(|word| group.is_some_and(|group| group.find_subcommand(word).is_some()))
}

#[test]
fn commands_in_running_text_exist() {
    let mut program = cli::command();
    program.build();
    let mut wrong = Vec::new();
    for page in pages() {
        for span in page.code_spans() {
            let named = span.strip_prefix("robot-detection ");
            let unknown = named
                .or_else(|| is_subcommand(&span, &program).then_some(span.as_str()))
                .and_then(|span| unknown(span, &program));
            wrong.extend(unknown.map(|word| format!("{}: `{span}`: {word}", page.name())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
