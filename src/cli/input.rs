//! Input of commands from files and standard input, and confirmations.

use std::{
    fs::File,
    io::{self, IsTerminal as _, Read, Write as _},
    path::Path,
};

use super::output::{self, WrongUsage};

/// Maximum number of wrong answers to one question.
pub(super) const MAX_WRONG: usize = 20;

/// Returns `true` if a file name stands for standard input.
pub(super) fn is_standard_input(file: &Path) -> bool {
    file.as_os_str() == "-"
}

/// Returns the name of a file for messages.
pub(super) fn name(file: &Path) -> String {
    if is_standard_input(file) {
        return "standard input".to_owned();
    }
    output::clean(&file.display().to_string())
}

/// Reads at most `max_bytes` from a file or standard input.
///
/// # Errors
///
/// The error for a larger input ends with `too_large`.
pub(super) fn read(file: &Path, max_bytes: u64, too_large: &str) -> Result<Vec<u8>, WrongUsage> {
    let mut bytes = Vec::new();
    // Reading one byte more than the limit shows whether an input is too large.
    let max_read = max_bytes + 1;
    let read = if is_standard_input(file) {
        let stdin = io::stdin().lock();
        stdin.take(max_read).read_to_end(&mut bytes)
    } else {
        File::open(file).and_then(|file| file.take(max_read).read_to_end(&mut bytes))
    };
    let name = name(file);
    read.map_err(|error| WrongUsage(format!("cannot read {name} (is it a file?): {error}")))?;
    if bytes.len() as u64 > max_bytes {
        return Err(WrongUsage(format!("{name} {too_large}")));
    }
    Ok(bytes)
}

/// Returns `true` if standard input is a terminal.
pub(super) fn can_ask() -> bool {
    io::stdin().is_terminal()
}

/// Returns `true` if `--yes` or an answer on the terminal confirms the question.
///
/// Without a terminal, `--yes` is required, because a script would wait for ever.
pub(super) fn is_confirmed(question: &str, yes: bool) -> anyhow::Result<bool> {
    if yes {
        return Ok(true);
    }
    if !can_ask() {
        let text = format!("{question} Use --yes to confirm");
        anyhow::bail!(WrongUsage(text));
    }
    let answer = answer(&format!("{question} Continue? [y/N] "))?;
    Ok(matches!(&*answer, "y" | "Y" | "yes"))
}

/// Asks until the answer is one of several words; returns `None` at an empty answer.
pub(super) fn choose(question: &str, words: &[&'static str]) -> io::Result<Option<&'static str>> {
    let question = format!("{question} [{}] ", words.join("/"));
    for _ in 0..MAX_WRONG {
        let answer = answer(&question)?;
        if answer.is_empty() {
            break;
        }
        if let Some(word) = words.iter().find(|word| **word == answer) {
            return Ok(Some(word));
        }
    }
    Ok(None)
}

fn answer(question: &str) -> io::Result<String> {
    // On standard error, because standard output is for the result, which may be JSON.
    let mut err = io::stderr().lock();
    err.write_all(question.as_bytes())?;
    err.flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(answer.trim().to_owned())
}
