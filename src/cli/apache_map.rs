//! `apache-map`: the external program of Apache's `RewriteMap`.
//!
//! Apache sends the requests from all visitors to this program one at a time and waits for each
//! answer without a timeout. The program therefore runs as two processes: a parent that only passes
//! lines on, and a worker that queries the decision endpoint. If the worker fails, the parent
//! answers [`AWAY`] immediately until a worker reaches the endpoint again.

use std::{
    env,
    io::{self, BufRead, BufReader, ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::PathBuf,
    process::{Child, Command, ExitCode, Stdio},
    sync::mpsc::{Receiver, Sender, channel},
    thread,
    time::Duration,
};

use clap::Args;
use tokio::time::Instant;

use crate::alerts::Secret;
use crate::assembly::local_address;
use crate::check::{MAX_LINE_BYTES, line_from_answer, question_from_line};
use crate::listen::ListenAddr;

use super::{Cli, context, output::WrongUsage};

/// The timeout for an answer from the worker process.
const ANSWER_WITHIN: Duration = Duration::from_millis(250);
/// The maximum time for a worker process to start and reach the endpoint; a slower worker is
/// restarted.
const PROBE_WITHIN: Duration = Duration::from_secs(1);
/// The interval between two probes of the worker process.
const PROBE_EVERY: Duration = Duration::from_millis(250);
/// The timeout for the decision endpoint's response; the parent process gives up on the worker much
/// earlier.
const ENDPOINT_WITHIN: Duration = Duration::from_secs(2);

/// The maximum length of an answer to Apache, in bytes.
const MAX_ANSWER_BYTES: usize = 64 << 10;

/// The answer given while the decision endpoint is unavailable.
const AWAY: &[u8] = b"away";
/// The answer to a request line that cannot be converted to a query.
const REFUSED: &[u8] = b"400\tdecision=refuse\tcause=malformed";
/// The health query that the parent sends to the worker, and the worker's answer.
const HEALTH: &[u8] = b"health";
const HEALTHY: &[u8] = b"healthy";
const HEALTH_REQUEST: &[u8] = b"GET /check/health HTTP/1.1\r\nHost: robot-detection\r\n\r\n";

/// Arguments of the `apache-map` command.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Apache starts this command. To print the Apache configuration, run robot-detection proxy-config apache."
)]
pub(super) struct ApacheMapArgs {
    /// Run as the worker process that queries the decision endpoint
    #[arg(long, hide = true)]
    worker: bool,
}

/// Answers the request lines from Apache until the input ends.
pub(super) fn run(cli: &Cli, args: &ApacheMapArgs) -> anyhow::Result<ExitCode> {
    if args.worker {
        work(cli)?;
    } else {
        pass_lines()?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Passes request lines to the worker and prints its answers, one at a time and in order, without
/// buffering.
fn pass_lines() -> io::Result<()> {
    let mut workers = Workers::start();
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let mut line = Vec::new();
    while read_line(&mut input, &mut line)? {
        let answer = if line.len() > MAX_LINE_BYTES {
            REFUSED.to_vec()
        } else {
            workers.ask(&line).unwrap_or_else(|| AWAY.to_vec())
        };
        // Written in one call, because Apache might read before the rest of the line has arrived.
        output.write_all(&[&answer, &b"\n"[..]].concat())?;
        output.flush()?;
    }
    Ok(())
}

/// Reads a line without its line end, truncated to the maximum length; returns `false` at the end
/// of the input.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let limit = MAX_LINE_BYTES as u64 + 2;
    input.by_ref().take(limit).read_until(b'\n', line)?;
    if line.pop_if(|last| *last == b'\n').is_some() {
        return Ok(true);
    }
    if line.len() <= MAX_LINE_BYTES {
        // Apache does not wait for an answer to an unterminated line.
        return Ok(false);
    }
    input.skip_until(b'\n')?;
    Ok(true)
}

/// The current worker process, and the thread that starts or probes the next worker.
struct Workers {
    worker: Option<Worker>,
    found: Receiver<Worker>,
    tell: Sender<Worker>,
}

/// A worker process that queries the decision endpoint.
struct Worker {
    child: Child,
    stream: BufReader<UnixStream>,
    /// The number of queries so far; each answer starts with the number of its query.
    asked: u64,
}

impl Workers {
    fn start() -> Self {
        let (tell, found) = channel();
        let mut workers = Self {
            worker: None,
            found,
            tell,
        };
        workers.find(None, false);
        workers.worker = workers.found.recv_timeout(ANSWER_WITHIN).ok();
        workers
    }

    /// Queries the worker; returns `None` if the worker fails or no worker is available.
    fn ask(&mut self, line: &[u8]) -> Option<Vec<u8>> {
        let worker = self.worker.take().or_else(|| self.found.try_recv().ok());
        let mut worker = worker?;
        let answer = worker.ask(line, ANSWER_WITHIN);
        match answer {
            Ok(answer) if is_answer(&answer) => {
                self.worker = Some(worker);
                Some(answer)
            }
            other => {
                // The process may be running without reaching the endpoint.
                let is_alive = other.is_ok_and(|answer| answer == AWAY);
                self.find(Some(worker), is_alive);
                None
            }
        }
    }

    /// Starts a thread that finds a worker able to reach the decision endpoint and then ends.
    fn find(&self, old: Option<Worker>, is_alive: bool) {
        let tell = self.tell.clone();
        thread::spawn(move || {
            // Replaced processes are stopped in this thread, so that visitors do not wait for them
            // to exit.
            let mut worker = old.filter(|_| is_alive);
            loop {
                worker = worker.or_else(|| Worker::start().ok());
                let health = worker
                    .as_mut()
                    .map(|worker| worker.ask(HEALTH, PROBE_WITHIN));
                match health {
                    Some(Ok(answer)) if answer == HEALTHY => break,
                    Some(Ok(answer)) if answer == AWAY => {}
                    _ => worker = None,
                }
                thread::sleep(PROBE_EVERY);
            }
            // If the receiver no longer exists, the parent has ended.
            let _ = worker.map(|worker| tell.send(worker));
        });
    }
}

impl Worker {
    /// Starts this program again with the same arguments, as a worker process.
    fn start() -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        let mut arguments = env::args_os();
        // Started by path rather than from the running executable, which an update may have
        // replaced.
        let program = arguments.next().unwrap_or_default();
        let child = Command::new(PathBuf::from(program))
            .args(arguments)
            .arg("--worker")
            .stdin(Stdio::from(OwnedFd::from(theirs.try_clone()?)))
            .stdout(Stdio::from(OwnedFd::from(theirs)))
            .spawn()?;
        Ok(Self {
            child,
            stream: BufReader::new(ours),
            asked: 0,
        })
    }

    fn ask(&mut self, line: &[u8], within: Duration) -> io::Result<Vec<u8>> {
        let deadline = Instant::now() + within;
        self.asked += 1;
        let number = format!("{}\t", self.asked).into_bytes();
        let stream = self.stream.get_mut();
        stream.set_write_timeout(Some(within))?;
        stream.write_all(&[&number, line, &b"\n"[..]].concat())?;
        let mut answer = Vec::new();
        while answer.last() != Some(&b'\n') {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || answer.len() > MAX_ANSWER_BYTES {
                return Err(ErrorKind::TimedOut.into());
            }
            self.stream.get_ref().set_read_timeout(Some(left))?;
            let bytes = self.stream.fill_buf()?;
            let end = memchr::memchr(b'\n', bytes).map_or(bytes.len(), |at| at + 1);
            if end == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            answer.extend_from_slice(bytes.get(..end).unwrap_or(bytes));
            self.stream.consume(end);
        }
        answer.pop();
        let answer = answer.strip_prefix(&number[..]).map(<[u8]>::to_vec);
        answer.ok_or_else(|| ErrorKind::InvalidData.into())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // The worker may be unresponsive or may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns `true` if an answer consists of a status and the fields for that status.
fn is_answer(answer: &[u8]) -> bool {
    let status = answer.split(|byte| *byte == b'\t').next();
    status.is_some_and(|status| status.len() == 3 && status.iter().all(u8::is_ascii_digit))
}

/// Runs the worker: queries the endpoint for each line over a persistent connection.
fn work(cli: &Cli) -> anyhow::Result<()> {
    let loaded = context::load(cli)?;
    let check = &loaded.settings().check;
    let listen = match check.listen.as_ref() {
        Some(ListenAddr::Tcp(addr)) => Endpoint::Tcp(local_address(*addr)),
        Some(ListenAddr::Unix(path)) => Endpoint::Unix(path.clone()),
        _ => {
            let text = "apache-map has no decision endpoint to query: set check.listen to unix:PATH or an address";
            return Err(WrongUsage(text.to_owned()).into());
        }
    };
    let token = check.token.as_ref().map(Secret::bytes);
    let mut connection = None;
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let mut line = Vec::new();
    while read_line(&mut input, &mut line)? {
        let tab = memchr::memchr(b'\t', &line).unwrap_or(line.len());
        let (number, line) = line.split_at(tab);
        let line = line.get(1..).unwrap_or_default();
        let answer = if line == HEALTH {
            let head = listen.ask(&mut connection, HEALTH_REQUEST);
            head.map_or(AWAY.to_vec(), |_| HEALTHY.to_vec())
        } else {
            match question_from_line(line, token) {
                Some(question) => {
                    let answer = listen.ask(&mut connection, &question);
                    answer.ok().flatten().unwrap_or_else(|| AWAY.to_vec())
                }
                None => REFUSED.to_vec(),
            }
        };
        output.write_all(&[number, b"\t", &answer, b"\n"].concat())?;
        output.flush()?;
    }
    Ok(())
}

/// The address of the decision endpoint.
enum Endpoint {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

/// A connection to the decision endpoint.
trait Connection: Read + Write {}

impl Connection for TcpStream {}
impl Connection for UnixStream {}

type KeptConnection = Option<BufReader<Box<dyn Connection>>>;

impl Endpoint {
    /// Sends a query over the open connection, or over a new connection if the endpoint closed the
    /// old one.
    fn ask(&self, kept: &mut KeptConnection, question: &[u8]) -> io::Result<Option<Vec<u8>>> {
        if let Some(mut connection) = kept.take()
            && let Ok(answer) = ask_by(&mut connection, question)
        {
            *kept = Some(connection);
            return Ok(answer);
        }
        let mut connection = BufReader::new(self.connect()?);
        let answer = ask_by(&mut connection, question)?;
        *kept = Some(connection);
        Ok(answer)
    }

    fn connect(&self) -> io::Result<Box<dyn Connection>> {
        Ok(match self {
            Self::Tcp(addr) => {
                let stream = TcpStream::connect_timeout(addr, ENDPOINT_WITHIN)?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(ENDPOINT_WITHIN))?;
                Box::new(stream)
            }
            Self::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(ENDPOINT_WITHIN))?;
                Box::new(stream)
            }
        })
    }
}

/// Sends a query and reads the answer; returns `None` if the answer contains no decision.
fn ask_by(
    connection: &mut BufReader<Box<dyn Connection>>,
    question: &[u8],
) -> io::Result<Option<Vec<u8>>> {
    connection.get_mut().write_all(question)?;
    let mut head = Vec::new();
    let limit = MAX_ANSWER_BYTES as u64;
    let mut limited = connection.by_ref().take(limit);
    while !head.ends_with(b"\r\n\r\n") {
        if limited.read_until(b'\n', &mut head)? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
    }
    let (line, length) = line_from_answer(&head);
    io::copy(&mut connection.by_ref().take(length), &mut io::sink())?;
    Ok(line)
}
