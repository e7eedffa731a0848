//! `traffic import`: imports access logs.

use std::{
    fs::File,
    io::{self, Read, Seek as _, SeekFrom},
    path::Path,
    process::ExitCode,
    time::Duration,
};

use indicatif::ProgressBar;
use serde_json::json;

use crate::access_log::{Lines, is_compressed, open};
use crate::cli::{
    Cli, context,
    log_input::{Input, Sample, bar},
    output,
};
use crate::clock::Clock;
use crate::config::Loaded;
use crate::detect::Detector;
use crate::store::{ImportProgress, Store, TrafficImport};

use super::{
    args::ImportArgs,
    counter::{Counter, Head, LineCounts, Sites},
};

/// The number of lines read between two database writes, which takes a few seconds.
const BATCH_LINES: u64 = 200_000;

/// The maximum number of counts in memory before a database write; each count uses about a hundred
/// bytes.
const BATCH_COUNTS: usize = 50_000;

/// The interval between checks of a followed log.
const FOLLOW_EVERY: Duration = Duration::from_secs(2);

/// The result of importing one log.
#[derive(Debug, Default)]
struct Imported {
    id: String,
    told: LineCounts,
    /// The number of bytes of the log that were imported earlier.
    known: u64,
}

/// The number of digits of an import's id to show.
const ID_DIGITS: usize = 12;

/// The number of imports to list if the given id is unknown.
const LISTED: usize = 10;

/// An error for a log that is not imported because its lines cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct RefusedLog(String);

pub(in crate::cli) async fn run(cli: &Cli, args: &ImportArgs) -> anyhow::Result<ExitCode> {
    let loaded = context::load(cli)?;
    if let Some(id) = &args.undo {
        let store = context::store(&loaded).await?;
        let undone = undo(&store, id).await;
        store.close().await;
        return undone.map(|()| ExitCode::SUCCESS);
    }
    let detector = context::detector(&loaded).await?;
    let store = context::changing_store(&loaded).await?;
    let inputs: Vec<_> = args.files.iter().map(|file| Input::new(file)).collect();
    let bar = bar(&inputs, 1);
    let importer = Importer {
        args,
        loaded: &loaded,
        detector: &detector,
        store: &store,
        bar: &bar,
    };
    let mut failed = false;
    let mut all = Vec::new();
    for path in &args.files {
        match Box::pin(importer.import(path)).await {
            Ok(imported) => {
                let LineCounts {
                    requests,
                    unreadable,
                    live,
                } = imported.told;
                failed |= unreadable > 0 && requests + live == 0;
                all.push((path, imported));
            }
            Err(error) => {
                failed = true;
                let name = output::clean(&path.display().to_string());
                bar.suspend(|| output::note(&format!("error: {name}: {error:#}")));
            }
        }
    }
    bar.finish_and_clear();
    print(args, &all)?;
    if args.follow
        && let Some(path) = args.files.last()
    {
        Box::pin(importer.follow(path)).await?;
    }
    store.close().await;
    Ok(ExitCode::from(u8::from(failed)))
}

/// An importer of access logs.
struct Importer<'i> {
    args: &'i ImportArgs,
    loaded: &'i Loaded,
    detector: &'i Detector,
    store: &'i Store,
    bar: &'i ProgressBar,
}

impl Importer<'_> {
    /// Imports a log from the position where the last import ended.
    async fn import(&self, path: &Path) -> anyhow::Result<Imported> {
        let Some(head) = Head::read(open(File::open(path)?)?)? else {
            return Ok(Imported::default());
        };
        let known = self.store.traffic().imports(head.first_line()).await?;
        let known = known.into_iter().find(|known| head.matches_import(known));
        let mut import = if let Some(known) = known {
            known
        } else {
            self.check(path)?;
            self.begin(&head, path).await?
        };
        let mut imported = Imported {
            id: shown_id(&import.import_id).to_owned(),
            known: import.counted,
            ..Imported::default()
        };
        let Some(reader) = self.behind(path, import.counted)? else {
            // The log was truncated in the meantime, and the remaining part has already been
            // imported.
            return Ok(imported);
        };
        let sites = Sites::new(self.loaded, self.args.site.as_deref())?;
        let keeps_paths = self.loaded.settings().traffic.paths;
        let mut counter = Counter::new(
            self.detector,
            self.store,
            sites,
            keeps_paths,
            self.args.log.reader(),
        );
        let begun = import.counted;
        let mut lines = Lines::new(reader);
        let mut counted_to = begun;
        let mut in_batch = 0;
        while lines.read_more()? {
            while let Some(line) = lines.next_line() {
                counter.line(line).await?;
                in_batch += 1;
                // An unterminated last line may be incomplete, and is therefore read again later.
                if lines.was_terminated() || counter.was_read() {
                    counted_to = begun + lines.consumed();
                } else {
                    counter.take_back();
                }
            }
            if in_batch >= BATCH_LINES || counter.len() >= BATCH_COUNTS {
                in_batch = 0;
                self.add(&mut import, &head, &mut counter, counted_to)
                    .await?;
            }
        }
        self.add(&mut import, &head, &mut counter, counted_to)
            .await?;
        imported.told = counter.counts();
        Ok(imported)
    }

    /// Prints the fields recognised in a log that was never imported, or rejects the log.
    fn check(&self, path: &Path) -> anyhow::Result<()> {
        let sample = Sample::read(open(File::open(path)?)?, self.args.log.reader())?;
        if let Some(reason) = sample.refusal()
            && !(self.args.without_user_agent && sample.lacks_user_agent())
        {
            let hint = if sample.lacks_user_agent() {
                "; to count all visitors as nameless, use --without-user-agent"
            } else {
                ""
            };
            return Err(RefusedLog(format!("{reason}{hint}; recognised: {sample}")).into());
        }
        let name = output::clean(&path.display().to_string());
        self.bar
            .suspend(|| output::note(&format!("{name}: {sample}")));
        Ok(())
    }

    /// Opens a log and skips the part already imported; returns `None` if the log is shorter.
    fn behind(&self, path: &Path, counted: u64) -> io::Result<Option<Box<dyn Read>>> {
        let mut file = File::open(path)?;
        if is_packed(&mut file)? {
            let mut reader = open(self.bar.wrap_read(file))?;
            let skipped = io::copy(&mut reader.by_ref().take(counted), &mut io::sink())?;
            return Ok((skipped == counted).then_some(reader));
        }
        if file.metadata()?.len() < counted {
            return Ok(None);
        }
        file.seek(SeekFrom::Start(counted))?;
        self.bar.inc(counted);
        Ok(Some(Box::new(self.bar.wrap_read(file))))
    }

    async fn begin(&self, head: &Head, path: &Path) -> anyhow::Result<TrafficImport> {
        let (head_bytes, hash) = head.whole();
        let import = TrafficImport {
            import_id: hash.to_owned(),
            first_line: head.first_line().to_owned(),
            head_bytes,
            head: hash.to_owned(),
            name: path.display().to_string(),
            counted: 0,
            requests: 0,
        };
        let now_ms = Clock::system().now_ms();
        self.store.traffic().begin_import(&import, now_ms).await?;
        Ok(import)
    }

    /// Adds the counts up to a position in the log to the database.
    async fn add(
        &self,
        import: &mut TrafficImport,
        head: &Head,
        counter: &mut Counter<'_>,
        counted_to: u64,
    ) -> anyhow::Result<()> {
        if counted_to == import.counted {
            return Ok(());
        }
        let (counted, paths) = (counter.take(), counter.take_paths());
        let progress = ImportProgress {
            import,
            head: head.whole(),
            counted_to,
            counted: &counted,
            paths: &paths,
        };
        let now_ms = Clock::system().now_ms();
        let is_added = self.store.traffic().import(&progress, now_ms).await?;
        anyhow::ensure!(
            is_added,
            "another import is reading the same log; wait until it has finished, then run this command again"
        );
        for paths in &paths {
            self.store.traffic().trim_paths(paths.minute).await?;
        }
        import.counted = counted_to;
        Ok(())
    }

    /// Imports lines appended to a log until interrupted.
    async fn follow(&self, path: &Path) -> anyhow::Result<()> {
        let mut interrupt = std::pin::pin!(tokio::signal::ctrl_c());
        let mut reason = String::new();
        loop {
            tokio::select! {
                _ = &mut interrupt => return Ok(()),
                () = tokio::time::sleep(FOLLOW_EVERY) => {}
            }
            // A missing log is probably being rotated, and will soon exist again.
            if !path.exists() {
                continue;
            }
            match Box::pin(self.import(path)).await {
                // A new log may contain only part of its first line.
                Err(error) if error.is::<RefusedLog>() => {
                    let text = error.to_string();
                    if text != reason {
                        output::note(&format!("waiting for readable lines: {text}"));
                        reason = text;
                    }
                }
                imported => drop(imported?),
            }
        }
    }
}

/// Undoes the import whose id begins with `id`.
async fn undo(store: &Store, id: &str) -> anyhow::Result<()> {
    let all = store.traffic().last_imports(i64::MAX).await?;
    let mut meant = all.iter().filter(|import| import.import_id.starts_with(id));
    let (Some(import), None) = (meant.next(), meant.next()) else {
        let row = |import: &TrafficImport| {
            let name = output::clean(&import.name);
            format!("\n  {} {name}", shown_id(&import.import_id))
        };
        let last: String = all.iter().take(LISTED).map(row).collect();
        anyhow::bail!(
            "the id {id:?} does not identify a single import; the most recent imports are:{last}"
        );
    };
    let requests = store.traffic().undo_import(&import.import_id).await?;
    let name = output::clean(&import.name);
    context::caller(store)
        .record("traffic-import-undone", &name, &import.import_id)
        .await;
    output::line(&format!("{name}: {requests} requests subtracted"))?;
    Ok(())
}

fn shown_id(id: &str) -> &str {
    id.get(..ID_DIGITS).unwrap_or(id)
}

/// Returns `true` if a file is compressed and must therefore be read from its start.
fn is_packed(file: &mut File) -> io::Result<bool> {
    let is_packed = is_compressed(file.by_ref())?;
    file.rewind()?;
    Ok(is_packed)
}

fn print(args: &ImportArgs, all: &[(&std::path::PathBuf, Imported)]) -> anyhow::Result<()> {
    if args.json {
        let value = all.iter().map(|(path, imported)| {
            let told = &imported.told;
            json!({
                "file": path.display().to_string(),
                "import": imported.id,
                "requests": told.requests,
                "unreadable": told.unreadable,
                "counted_live": told.live,
                "known_bytes": imported.known,
            })
        });
        return Ok(output::json(&value.collect::<Vec<_>>())?);
    }
    for (path, imported) in all {
        let name = output::clean(&path.display().to_string());
        let LineCounts {
            requests,
            unreadable,
            live,
        } = imported.told;
        let known = imported.known;
        let parts = [
            (known, format!("{known} bytes were already imported")),
            (
                live,
                format!("{live} skipped because a server had already counted them"),
            ),
            (unreadable, format!("{unreadable} lines could not be read")),
        ];
        let mut line = format!("{name}: {requests} requests counted");
        if requests > 0 {
            line.push_str(", import ");
            line.push_str(&imported.id);
        }
        for (_, part) in parts.iter().filter(|(number, _)| *number > 0) {
            line.push_str(", ");
            line.push_str(part);
        }
        output::line(&line)?;
    }
    Ok(())
}
