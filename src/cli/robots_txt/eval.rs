//! `robots-txt eval`: prints an object for each line of standard input.

use std::{
    io::{self, BufReader, BufWriter, Write},
    process::ExitCode,
};

use serde_json::{Value, json};

use super::{
    evaluator::Evaluator,
    lines::{NextLine, next_line},
};

/// Octets that are read or written with one system call.
const BUFFER_BYTES: usize = 256 * 1024;

pub(super) fn run() -> anyhow::Result<ExitCode> {
    let input = BufReader::with_capacity(BUFFER_BYTES, io::stdin().lock());
    let output = BufWriter::with_capacity(BUFFER_BYTES, io::stdout().lock());
    eval(input, output)?;
    Ok(ExitCode::SUCCESS)
}

fn eval<R: io::Read>(mut input: BufReader<R>, mut output: impl Write) -> io::Result<()> {
    let mut evaluator = Evaluator::default();
    let mut line = Vec::new();
    loop {
        // A program that waits for each answer before it asks again must not wait for ever.
        if input.buffer().is_empty() {
            output.flush()?;
        }
        let answer = match next_line(&mut input, &mut line)? {
            NextLine::Line => evaluator.answer(&line),
            NextLine::TooLong => json!({"error": "the line is longer than 64 MiB"}),
            NextLine::End => return output.flush(),
        };
        write(&mut output, &answer)?;
    }
}

fn write(output: &mut impl Write, answer: &Value) -> io::Result<()> {
    serde_json::to_writer(&mut *output, answer)?;
    output.write_all(b"\n")
}
