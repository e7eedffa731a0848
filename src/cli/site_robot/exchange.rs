//! `site-robot export` and `import`: descriptions in SOIF and JSON Lines.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, BufWriter, Write},
    process::ExitCode,
};

use crate::cli::output;
use crate::cli::output::WrongUsage;
use crate::description::{
    JsonLinesReader, ResourceDescription, SoifReader, write_json_line, write_soif,
};
use crate::store::{DescriptionCursor, DescriptionQuery};

use super::{
    args::{DescriptionFormat, ExportDescriptionsArgs, ImportArgs},
    command_context::CommandContext,
    file_kind::{is_standard_input, name},
};

/// The number of descriptions in memory at a time.
const BATCH_SIZE: u32 = 100;

/// The run id of imported descriptions, which do not belong to a run.
const NO_RUN: i64 = 0;

pub(super) async fn export(
    context: &CommandContext,
    args: &ExportDescriptionsArgs,
) -> anyhow::Result<ExitCode> {
    let mut out: Box<dyn Write> = match &args.output {
        Some(path) => Box::new(BufWriter::new(File::create(path)?)),
        None => Box::new(BufWriter::new(io::stdout().lock())),
    };
    // Read in batches by cursor, because the descriptions of a site may not fit into memory.
    let mut after = None;
    loop {
        let query = DescriptionQuery::new(&*args.site)
            .after(after.take())
            .limit(BATCH_SIZE);
        let batch = context.store.descriptions().list(&query).await?;
        let Some(last) = batch.last() else { break };
        after = Some(DescriptionCursor::after_url(last.description.url()));
        for stored in &batch {
            match args.format {
                DescriptionFormat::Soif => write_soif(&stored.description, &mut out)?,
                DescriptionFormat::Jsonl => write_json_line(&stored.description, &mut out)?,
            }
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn import(
    context: &CommandContext,
    args: &ImportArgs,
) -> anyhow::Result<ExitCode> {
    let name = name(&args.file);
    let reader: Box<dyn BufRead> = if is_standard_input(&args.file) {
        Box::new(BufReader::new(io::stdin()))
    } else {
        let file = File::open(&args.file);
        let file = file.map_err(|error| WrongUsage(format!("cannot read {name}: {error}")))?;
        Box::new(BufReader::new(file))
    };
    let mut reader = reader;
    // A SOIF object begins with `@` and a JSON line never does, so the format need not be
    // specified.
    let is_soif = reader
        .fill_buf()?
        .iter()
        .find(|byte| !byte.is_ascii_whitespace())
        == Some(&b'@');
    let mut found: Box<Descriptions> = if is_soif {
        Box::new(SoifReader::new(reader).map(|it| it.map_err(|error| error.to_string())))
    } else {
        Box::new(JsonLinesReader::new(reader).map(|it| it.map_err(|error| error.to_string())))
    };
    let (mut imported, mut wrong) = (0_u64, 0_u64);
    while let Some((batch, unreadable)) = next_batch(&mut *found) {
        for error in &unreadable {
            output::note(&format!("error: {name}: {}", output::clean(error)));
        }
        wrong += unreadable.len() as u64;
        if batch.is_empty() {
            continue;
        }
        let now_ms = CommandContext::now_ms();
        context
            .store
            .descriptions()
            .save(&args.site, NO_RUN, &batch, now_ms)
            .await?;
        imported += batch.len() as u64;
    }
    output::line(&format!(
        "{imported} descriptions imported, {wrong} could not be read"
    ))?;
    Ok(if wrong == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

type Descriptions = dyn Iterator<Item = Result<ResourceDescription, String>>;

/// Returns the next descriptions, and errors for unreadable descriptions; `None` at the end.
fn next_batch(found: &mut Descriptions) -> Option<(Vec<ResourceDescription>, Vec<String>)> {
    let (mut batch, mut unreadable) = (Vec::new(), Vec::new());
    for description in found.take(BATCH_SIZE as usize) {
        match description {
            Ok(description) => batch.push(description),
            Err(error) => unreadable.push(error),
        }
    }
    // Only the end of the input yields no descriptions and no errors; a batch may contain only
    // errors.
    let is_over = batch.is_empty() && unreadable.is_empty();
    (!is_over).then_some((batch, unreadable))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreadable_batch_does_not_hide_the_next() {
        let wrong = "none\n".repeat(BATCH_SIZE as usize);
        let lines = format!("{wrong}{{\"url\":\"u\"}}\n");
        let reader = JsonLinesReader::new(io::Cursor::new(lines));
        let mut found = reader.map(|it| it.map_err(|error| error.to_string()));
        let (batch, unreadable) = next_batch(&mut found).unwrap();
        assert_eq!((batch.len(), unreadable.len()), (0, BATCH_SIZE as usize));
        let (batch, unreadable) = next_batch(&mut found).unwrap();
        assert_eq!((batch.len(), unreadable.len()), (1, 0));
        assert!(next_batch(&mut found).is_none());
    }
}
