//! `robots-txt eval`: an object out for each line in.

use std::{
    io::{self, BufReader, BufWriter, Write},
    process::ExitCode,
};

use serde_json::{Value, json};

use super::{
    answer::Answers,
    lines::{Next, next_line},
};

/// Octets that are read and written at once.
const BUFFER_BYTES: usize = 256 * 1024;

pub(super) fn run() -> anyhow::Result<ExitCode> {
    let input = BufReader::with_capacity(BUFFER_BYTES, io::stdin().lock());
    let output = BufWriter::with_capacity(BUFFER_BYTES, io::stdout().lock());
    eval(input, output)?;
    Ok(ExitCode::SUCCESS)
}

fn eval<R: io::Read>(mut input: BufReader<R>, mut output: impl Write) -> io::Result<()> {
    let mut answers = Answers::default();
    let mut line = Vec::new();
    loop {
        // Whoever waits for an answer before the next question gets it.
        if input.buffer().is_empty() {
            output.flush()?;
        }
        let answer = match next_line(&mut input, &mut line)? {
            Next::Line => answers.answer(&line),
            Next::TooLong => json!({"error": "the line is longer than 64 MiB"}),
            Next::End => return output.flush(),
        };
        write(&mut output, &answer)?;
    }
}

fn write(output: &mut impl Write, answer: &Value) -> io::Result<()> {
    serde_json::to_writer(&mut *output, answer)?;
    output.write_all(b"\n")
}
