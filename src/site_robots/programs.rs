//! Runs programs that convert or summarize documents, with limits on time, output and memory.

use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use crate::filter::{CommandLine, Commands};
use crate::site_robot::RobotConf;

/// The memory limit of a program, in KiB.
const MAX_MEMORY_KIB: &str = "1048576";

/// Names of environment variables passed to programs, needed to find other programs and for text
/// encoding.
const HANDED_ON: [&str; 5] = ["PATH", "HOME", "LANG", "LC_ALL", "TZ"];

/// A shell script that starts a program after setting `PATH` and the memory limit.
///
/// The script's arguments are the directory, the memory limit, the program, and the program's
/// arguments.
const PRELUDE: &str = "if [ -n \"$1\" ]; then PATH=\"$1:$PATH\"; export PATH; fi
if [ -n \"$2\" ]; then ulimit -v \"$2\" 2>/dev/null; fi
shift 2
exec \"$@\"";

/// A runner of programs, each in a separate process group and with a time limit.
///
/// # Example
///
/// ```
/// use robot_detection::{
///     app::Programs,
///     filter::{CommandLine, Commands as _},
///     site_robot::RobotConf,
/// };
///
/// let programs = Programs::new(&RobotConf::default(), Vec::new());
/// let command = CommandLine::new("tr").argument("a-z").argument("A-Z");
/// assert_eq!(programs.run(&command, b"salt").unwrap(), b"SALT");
/// ```
#[derive(Clone, Debug)]
pub struct Programs {
    bindir: Option<PathBuf>,
    tmpdir: Option<PathBuf>,
    timeout: Duration,
    max_output_bytes: u64,
    /// Whether each start of a program is logged (`loglevel` 4).
    tells: bool,
    converters: Vec<(String, CommandLine)>,
}

impl Programs {
    /// Creates a runner with the limits and directories from a robot.conf, and with converters for
    /// media types.
    ///
    /// `bindir` comes first in the programs' `PATH`, and `tmpdir` is their `TMPDIR`.
    /// `convert-timeout` limits the run time, and `max-filesize-kb` the output. Memory is limited
    /// to 1 GiB.
    #[must_use]
    pub fn new(conf: &RobotConf, converters: Vec<(String, CommandLine)>) -> Self {
        Self {
            bindir: conf.bindir.clone(),
            tmpdir: conf.tmpdir.clone(),
            timeout: conf.convert_timeout,
            max_output_bytes: conf.max_file_bytes,
            tells: conf.has_own("loglevel") && conf.loglevel >= 4,
            converters,
        }
    }

    fn pdftotext(&self) -> Option<CommandLine> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let own = self.bindir.iter().cloned();
        pdf_command(own.chain(std::env::split_paths(&path)))
    }

    fn start(&self, line: &CommandLine, input: ProgramInput) -> Result<Child, String> {
        let mut command = Command::new("/bin/sh");
        // The program is an argument and not part of the script, so that the shell does not parse
        // it.
        command.args(["-c", PRELUDE, "sh"]);
        command.arg(self.bindir.as_deref().unwrap_or("".as_ref()));
        command.args([MAX_MEMORY_KIB, &line.program]);
        command.args(&line.arguments);
        // Our environment may contain passwords, which a program that reads untrusted documents
        // must not get.
        if input == ProgramInput::Document {
            command.env_clear().envs(handed_on());
        }
        if let Some(tmpdir) = &self.tmpdir {
            command.env("TMPDIR", tmpdir);
        }
        command
            // A converter may be a script that starts other programs, which a signal to the script
            // alone would not end.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Discarded, because a program with a lot of output would block on a full pipe.
            .stderr(Stdio::null());
        let started = command.spawn();
        started.map_err(|error| format!("{:?} cannot be started: {error}", line.program))
    }
}

/// The input of a program.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum ProgramInput {
    /// The input is a document from an untrusted source.
    Document,
    Nothing,
}

/// Returns the names and values of the environment variables passed to programs.
fn handed_on() -> impl Iterator<Item = (&'static str, OsString)> {
    let own = HANDED_ON.iter();
    own.filter_map(|name| Some((*name, std::env::var_os(name)?)))
}

impl Commands for Programs {
    fn converter(&self, media_type: &str) -> Option<CommandLine> {
        let mut converters = self.converters.iter();
        let found = converters.find(|(of, _)| of.eq_ignore_ascii_case(media_type));
        match found {
            Some((_, command)) => Some(command.clone()),
            None if media_type.eq_ignore_ascii_case(MEDIA_TYPE) => self.pdftotext(),
            None => None,
        }
    }

    fn run(&self, line: &CommandLine, input: &[u8]) -> Result<Vec<u8>, String> {
        self.run_on(line, input, ProgramInput::Document)
    }
}

impl Programs {
    /// Runs a hook program with this process's environment and without input.
    pub(super) fn run_hook(&self, line: &CommandLine) -> Result<(), String> {
        self.run_on(line, b"", ProgramInput::Nothing).map(drop)
    }

    fn run_on(
        &self,
        line: &CommandLine,
        input: &[u8],
        kind: ProgramInput,
    ) -> Result<Vec<u8>, String> {
        let program = &line.program;
        if self.tells {
            let bytes = input.len();
            tracing::info!(bytes, "the site robot is starting {program:?}");
        }
        let mut child = self.start(line, kind)?;
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        if let Some(mut stdin) = child.stdin.take() {
            let input = input.to_vec();
            // A program that does not read all of its input closes the pipe.
            thread::spawn(move || stdin.write_all(&input));
        }
        let stdout = child.stdout.take();
        let (tell, told) = mpsc::channel();
        let max = self.max_output_bytes;
        // Reading and waiting have no time limit, but the channel has one.
        thread::spawn(move || tell.send(end(child, stdout, max)));
        match told.recv_timeout(self.timeout) {
            Ok(Ok(output)) if is_command(line) => Ok(page(&output)),
            Ok(Ok(output)) => Ok(output),
            Ok(Err(reason)) => {
                kill(group);
                Err(format!("{program:?} {reason}"))
            }
            Err(_) => {
                kill(group);
                let seconds = self.timeout.as_secs();
                Err(format!(
                    "{program:?} took longer than {seconds} s and was killed"
                ))
            }
        }
    }
}

/// Kills the processes that remain in a process group; most groups have none.
fn kill(group: Option<Pid>) {
    if let Some(group) = group {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// Reads all output, then waits for the program to exit.
fn end(mut child: Child, stdout: Option<ChildStdout>, max: u64) -> Result<Vec<u8>, String> {
    let mut output = Vec::new();
    if let Some(stdout) = stdout {
        // Reading one byte more than the limit shows whether there is more output.
        let read = stdout.take(max.saturating_add(1)).read_to_end(&mut output);
        read.map_err(|error| format!("produced output that cannot be read: {error}"))?;
    }
    if output.len() as u64 > max {
        let _ = child.kill();
        let _ = child.wait();
        return Err(format!("wrote more than {max} bytes"));
    }
    match child.wait() {
        Ok(status) if status.success() => Ok(output),
        Ok(status) => Err(format!("failed: {status}")),
        Err(error) => Err(format!("did not report an exit status: {error}")),
    }
}

/// The media type of PDF.
const MEDIA_TYPE: &str = "application/pdf";

/// The name of the program that converts PDF to text (poppler-utils).
const PROGRAM: &str = "pdftotext";

/// Names of a document's dates in the program's output, each with the name to use in a page.
const DATES: [(&str, &str); 2] = [
    ("name=\"CreationDate\"", "name=\"article:published_time\""),
    ("name=\"ModDate\"", "name=\"article:modified_time\""),
];

/// Returns the command that converts PDF to text, if one of the given directories contains the
/// program.
fn pdf_command(mut directories: impl Iterator<Item = PathBuf>) -> Option<CommandLine> {
    let is_there = directories.any(|directory| directory.join(PROGRAM).is_file());
    // Includes the document's metadata: title, author, dates.
    let words = ["-htmlmeta", "-enc", "UTF-8", "-q", "-", "-"].into_iter();
    is_there.then(|| words.fold(CommandLine::new(PROGRAM), CommandLine::argument))
}

/// Returns `true` if `pdf_command` created the command.
fn is_command(line: &CommandLine) -> bool {
    line.program == PROGRAM && line.arguments.first().is_some_and(|it| it == "-htmlmeta")
}

/// Converts the program's output into a page; the page's text is a single block, with empty lines
/// between paragraphs.
fn page(written: &[u8]) -> Vec<u8> {
    let written = String::from_utf8_lossy(written);
    let Some((head, text)) = written.split_once("<pre>") else {
        return written.into_owned().into();
    };
    let text = text.rsplit_once("</pre>").map_or(text, |(text, _)| text);
    let head = DATES
        .iter()
        .fold(head.to_owned(), |head, (from, to)| head.replace(from, to));
    // A form feed ends a printed page, but usually not a paragraph.
    let text = text.replace('\u{c}', "\n").replace("\r\n", "\n");
    let paragraphs = text.split("\n\n").map(str::trim);
    let paragraphs = paragraphs.filter(|it| !it.is_empty());
    let paragraphs = paragraphs.flat_map(|it| ["<p>", it, "</p>\n"]);
    let paragraphs: String = paragraphs.collect();
    format!("{head}<main>\n{paragraphs}</main>\n</body>\n</html>\n").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn programs(lines: &str) -> Programs {
        let conf = RobotConf::parse("robot.conf", lines).unwrap();
        Programs::new(&conf, Vec::new())
    }

    fn shell(programs: &Programs, script: &str) -> Result<String, String> {
        let command = CommandLine::new("sh").argument("-c").argument(script);
        let output = programs.run(&command, b"input")?;
        Ok(String::from_utf8(output).unwrap())
    }

    #[test]
    fn program_reads_the_resource_and_writes_its_output() {
        assert_eq!(shell(&programs(""), "cat; echo !").unwrap(), "input!\n");
        assert_eq!(shell(&programs(""), "true").unwrap(), "");
        assert!(shell(&programs(""), "exit 3").unwrap_err().contains('3'));
        assert!(
            programs("")
                .run(&CommandLine::new("/nowhere/x"), b"")
                .is_err()
        );
    }

    #[test]
    fn directories_reach_the_program() {
        let programs = programs("bindir=/opt/first\ntmpdir=/tmp/ours\n");
        let told = shell(&programs, "echo \"$PATH $TMPDIR\"").unwrap();
        assert!(told.starts_with("/opt/first:"), "{told}");
        assert!(told.ends_with(" /tmp/ours\n"), "{told}");
    }

    #[test]
    fn slow_program_is_killed_with_its_children() {
        let directory = tempfile::tempdir().unwrap();
        let pid = directory.path().join("pid");
        let script = format!("sleep 1000 & echo $! > {}; wait", pid.display());
        let error = shell(&programs("convert-timeout=1\n"), &script).unwrap_err();
        assert!(error.contains("longer than 1 s"), "{error}");
        let pid = std::fs::read_to_string(pid).unwrap();
        let state = || std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
        while state().is_ok_and(|state| !state.contains(" Z ")) {
            thread::yield_now();
        }
    }

    #[test]
    fn program_with_endless_output_is_killed() {
        let error = shell(&programs("max-filesize-kb=64\n"), "yes").unwrap_err();
        assert!(error.contains("more than 65536 bytes"), "{error}");
    }

    #[test]
    fn memory_of_a_program_is_limited() {
        let limit = shell(&programs(""), "ulimit -v").unwrap();
        assert_eq!(limit.trim(), MAX_MEMORY_KIB);
    }

    #[test]
    fn converters_are_found_by_media_type() {
        let converters = vec![("application/pdf".to_owned(), CommandLine::new("p"))];
        let programs = Programs::new(&RobotConf::default(), converters);
        assert!(programs.converter("Application/PDF").is_some());
        assert!(programs.converter("text/html").is_none());
    }
}

#[cfg(test)]
mod pdf_tests {
    use super::*;
    use crate::document::Page;

    #[test]
    fn paragraphs_title_and_dates_are_those_of_the_document() {
        let written = "<html><head><title>Salt &amp; people</title>\
            <meta name=\"CreationDate\" content=\"2024-03-02T12:00:00Z\"/></head><body>\n\
            <pre>\nOf salt\nand stone.\n\nSecond &lt;part&gt;.\n\u{c}</pre>\n</body></html>";
        let page = page(written.as_bytes());
        let page = Page::read(str::from_utf8(&page).unwrap());
        assert_eq!(page.title.as_deref(), Some("Salt & people"));
        let texts: Vec<_> = page.blocks.iter().map(|it| it.text.clone()).collect();
        assert_eq!(texts, ["Of salt and stone.", "Second <part>."]);
        assert_eq!(page.metas[0].name, "article:published_time");
    }

    #[test]
    fn output_without_a_page_is_unchanged() {
        assert_eq!(page(b"words"), b"words");
        assert!(pdf_command([PathBuf::from("/nowhere")].into_iter()).is_none());
    }
}
