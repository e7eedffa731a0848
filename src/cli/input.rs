//! Reads input and confirmations from files, standard input and the terminal.

use std::{
    fs::File,
    io::{self, IsTerminal as _, Read, Write as _},
    path::Path,
};

use super::output::{self, WrongUsage};

/// The maximum number of invalid answers to a question.
pub(super) const MAX_WRONG: usize = 20;

/// Returns `true` if a file name means standard input.
pub(super) fn is_standard_input(file: &Path) -> bool {
    file.as_os_str() == "-"
}

/// Returns the name of a file to show in messages.
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
/// If the input is larger, the error message ends with `too_large`.
pub(super) fn read(file: &Path, max_bytes: u64, too_large: &str) -> Result<Vec<u8>, WrongUsage> {
    let mut bytes = Vec::new();
    // Reads one byte more than the limit, to detect whether the input is too large.
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

/// Returns `true` if `--yes` or an answer at the terminal confirms the question.
///
/// Without a terminal, `--yes` is required, because a script would otherwise wait forever.
pub(super) fn is_confirmed(question: &str, yes: bool) -> anyhow::Result<bool> {
    if yes {
        return Ok(true);
    }
    if !can_ask() {
        let text = format!("not confirmed: {question} Use --yes to confirm");
        anyhow::bail!(WrongUsage(text));
    }
    let answer = answer(&format!("{question} Continue? [y/N] "))?;
    Ok(matches!(&*answer, "y" | "Y" | "yes"))
}

/// Repeats a question until the answer is one of the given words; returns `None` for an empty
/// answer.
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
    // The question is printed to standard error, because standard output is for the result, such as
    // JSON.
    let mut err = io::stderr().lock();
    err.write_all(question.as_bytes())?;
    err.flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(answer.trim().to_owned())
}
