//! Asks on standard output, and reads the answers from standard input.

use std::io::{self, BufRead as _, Read as _};

use super::super::output;
use super::answers::{Answers, Question};

/// Bytes of an answer at most.
const MAX_BYTES: u64 = 8 * 1024;

/// Wrong answers to one question, after which nobody seems to read what is said.
const MAX_WRONG: usize = 20;

/// Asks all questions.
///
/// # Errors
///
/// Fails where standard input ends before, or gives wrong answers only.
pub(super) fn ask() -> anyhow::Result<Answers> {
    let mut answers = Answers::default();
    output::line("Enter takes what stands in brackets.")?;
    for question in Question::ALL {
        if answers.wants(question) {
            ask_one(question, &mut answers)?;
        }
    }
    Ok(answers)
}

fn ask_one(question: Question, answers: &mut Answers) -> anyhow::Result<()> {
    output::line(&format!("\n{}", question.text()))?;
    for _ in 0..MAX_WRONG {
        let default = answers.default_of(question);
        output::text(&format!("[{default}] "))?;
        let line = read_line()?;
        let answer = match line.trim() {
            "" => default.as_str(),
            answer => answer,
        };
        match answers.take(question, answer) {
            Ok(()) => return Ok(()),
            Err(wrong) => output::line(&output::clean(&wrong))?,
        }
    }
    anyhow::bail!("{MAX_WRONG} answers were wrong; nothing was written")
}

fn read_line() -> anyhow::Result<String> {
    let mut line = Vec::new();
    let stdin = io::stdin().lock();
    stdin.take(MAX_BYTES).read_until(b'\n', &mut line)?;
    if line.pop() != Some(b'\n') {
        anyhow::bail!("standard input ended before the last question; nothing was written");
    }
    Ok(String::from_utf8_lossy(&line).into_owned())
}
