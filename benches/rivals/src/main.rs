//! Compares other detectors with ours, by results or by speed.
//!
//! `rivals classify LISTING` reads one User-Agent per line and prints the detectors that classify
//! it as a robot; `rivals bench CORPORA` measures all of them in one run, `rivals robots-txt` the
//! libraries that parse robots.txt. `benches/rivals/run` provides the files.

mod contenders;
#[path = "../../support/invent.rs"]
mod invent;
mod mixes;
mod node;
mod robots_txt;
mod timing;

use std::{
    env,
    error::Error,
    fs,
    io::{self, BufRead, BufWriter, Write},
    path::Path,
};

use contenders::Contender;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["classify", listing] => classify(Path::new(listing)),
        ["bench", corpora] => bench(Path::new(corpora)),
        ["robots-txt"] => {
            robots_txt::bench();
            Ok(())
        }
        _ => Err("usage: rivals classify CRAWLER-USER-AGENTS.JSON | rivals bench CORPORA | rivals robots-txt".into()),
    }
}

/// Prints a header of names, then for each line `1` (robot) or `-` per detector.
fn classify(listing: &Path) -> Result<()> {
    let mut contenders = contenders::crates();
    contenders.push(contenders::crawler_user_agents(listing)?);
    let names: Vec<&str> = contenders.iter().map(|one| one.name).collect();
    let mut out = BufWriter::new(io::stdout().lock());
    writeln!(out, "{}", names.join("\t"))?;
    for line in io::stdin().lock().split(b'\n') {
        let line = line?;
        let user_agent = String::from_utf8_lossy(&line);
        for contender in &contenders {
            out.write_all(if (contender.is_robot)(&user_agent) {
                b"1"
            } else {
                b"-"
            })?;
        }
        out.write_all(b"\n")?;
    }
    Ok(out.flush()?)
}

/// Measures all detectors on all mixes, writes the mixes for Node.js, and prints ratios.
fn bench(corpora: &Path) -> Result<()> {
    let mixes = mixes::all(&corpora.join("lists"));
    let mut rows = Vec::new();
    let contenders = present(contenders::all(corpora));
    for mix in &mixes {
        println!(
            "{}: {} User-Agents, {}",
            mix.name,
            mix.user_agents.len(),
            mix.what
        );
        mix.write(&corpora.join("lists"))?;
    }
    println!();
    for contender in &contenders {
        rows.push(timing::Row::new(contender.name));
    }
    for mix in &mixes {
        for (row, nanoseconds) in rows.iter_mut().zip(timing::measure(&contenders, mix)) {
            row.nanoseconds.push(nanoseconds);
        }
        for (row, contender) in rows.iter_mut().zip(&contenders) {
            row.mistakes.push(mix.mistakes(&contender.is_robot));
        }
    }
    match node::isbot(corpora, &mixes) {
        Ok(row) => rows.push(row),
        Err(reason) => println!("left out: npm isbot in Node.js: {reason}"),
    }
    let table = timing::table(&rows, &mixes);
    fs::write(corpora.join("rivals.txt"), &table)?;
    println!("{table}");
    Ok(())
}

/// Returns the contenders that can take part, and prints the reasons for the others.
fn present(all: Vec<(&'static str, Result<Contender>)>) -> Vec<Contender> {
    let mut present = Vec::new();
    for (name, contender) in all {
        match contender {
            Ok(contender) => present.push(contender),
            Err(reason) => println!("left out: {name}: {reason}"),
        }
    }
    present
}
