//! Asks on standard output, and reads the answers from standard input.

use std::io::{self, BufRead as _, Read as _};

use super::super::{input::MAX_WRONG, output, usage::WrongUsage};
use super::{
    answers::{Answers, Question},
    server_kind::path_setting,
};

/// Bytes of an answer at most.
const MAX_BYTES: u64 = 8 * 1024;

/// Asks all questions, except for the readers of robot heaven if a flag names them.
///
/// # Errors
///
/// Fails where standard input ends before, or gives wrong answers only.
pub(super) fn ask(readers: Option<&str>) -> anyhow::Result<Answers> {
    let mut answers = Answers::default();
    output::line("Enter takes what stands in brackets.")?;
    for question in Question::ALL {
        if !answers.wants(question) {
            continue;
        }
        match readers {
            Some(readers) if question == Question::Readers => {
                answers.take(question, readers).map_err(WrongUsage)?;
            }
            _ => ask_one(question, &mut answers)?,
        }
    }
    Ok(answers)
}

fn ask_one(question: Question, answers: &mut Answers) -> anyhow::Result<()> {
    output::line(&format!("\n{}", question.text()))?;
    for _ in 0..MAX_WRONG {
        let default = answers.default_of(question);
        output::text(&format!("[{default}] "))?;
        let Some(line) = read_line()? else {
            if question == Question::Readers {
                let text = "heaven.open_to: nobody says who may read the pages: say --open-to \
                            everybody, robots or verified";
                return Err(WrongUsage(text.to_owned()).into());
            }
            anyhow::bail!("standard input ended before the last question; nothing was written");
        };
        let answer = match line.trim() {
            "" => default.as_str(),
            answer => answer,
        };
        match take(question, answer, answers)? {
            Ok(()) => return Ok(()),
            Err(wrong) => output::line(&output::clean(&wrong))?,
        }
    }
    anyhow::bail!("{MAX_WRONG} answers were wrong; nothing was written")
}

/// Takes an answer, unless it is wrong or nothing answers there.
fn take(question: Question, answer: &str, answers: &mut Answers) -> io::Result<Result<(), String>> {
    let mut tried = answers.clone();
    if let Err(wrong) = tried.take(question, answer) {
        return Ok(Err(wrong));
    }
    if question == Question::Upstream {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        match runtime.block_on(tried.upstream_failure()) {
            Ok(None) => {
                let found = runtime.block_on(path_setting(tried.upstream()));
                tried.path_setting = found.map(|(setting, _)| setting);
                if let Some((setting, word)) = found {
                    output::line(&format!(
                        "{word} answers there: server.{setting} is set, so that paths are read as it does."
                    ))?;
                }
            }
            Ok(Some(failure)) => return Ok(Err(format!("nothing answers there: {failure}"))),
            Err(errors) => return Ok(Err(errors.to_string())),
        }
    }
    *answers = tried;
    Ok(Ok(()))
}

/// Reads a line; nothing where standard input has ended.
fn read_line() -> anyhow::Result<Option<String>> {
    let mut line = Vec::new();
    let stdin = io::stdin().lock();
    stdin.take(MAX_BYTES).read_until(b'\n', &mut line)?;
    let is_whole = line.pop() == Some(b'\n');
    Ok(is_whole.then(|| String::from_utf8_lossy(&line).into_owned()))
}
