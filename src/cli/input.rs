//! What a command is about, a file or standard input, and whether it may be done.

use std::{
    fs::File,
    io::{self, IsTerminal as _, Read, Write as _},
    path::Path,
};

use super::output::{self, WrongUsage};

/// Most wrong answers to one question.
pub(super) const MAX_WRONG: usize = 20;

/// Returns `true` if a file name stands for standard input.
pub(super) fn is_standard_input(file: &Path) -> bool {
    file.as_os_str() == "-"
}

/// Returns the name of a file as messages print it.
pub(super) fn name(file: &Path) -> String {
    if is_standard_input(file) {
        return "standard input".to_owned();
    }
    output::clean(&file.display().to_string())
}

/// Reads a file or standard input of at most `max_bytes`.
///
/// # Errors
///
/// The error of a larger one ends with `too_large`.
pub(super) fn read(file: &Path, max_bytes: u64, too_large: &str) -> Result<Vec<u8>, WrongUsage> {
    let mut bytes = Vec::new();
    // One byte more than the limit tells a file that is too large from one that just fits.
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
/// Without a terminal nobody can answer: a script has to say `--yes`, else it would hang.
pub(super) fn is_confirmed(question: &str, yes: bool) -> anyhow::Result<bool> {
    if yes {
        return Ok(true);
    }
    if !can_ask() {
        let text = format!("{question} Say --yes for that");
        anyhow::bail!(WrongUsage(text));
    }
    let answer = answer(&format!("{question} Go on? [y/N] "))?;
    Ok(matches!(&*answer, "y" | "Y" | "yes"))
}

/// Asks for one of several words until one is answered; nothing where the answers end.
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
    // On standard error: standard output belongs to the result, also where it is JSON.
    let mut err = io::stderr().lock();
    err.write_all(question.as_bytes())?;
    err.flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(answer.trim().to_owned())
}
