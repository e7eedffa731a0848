//! Interface to external programs that filters can run.

/// Runner for the external programs of `convert-to-html` and `harvest-summarizer`.
///
/// Filters perform no I/O themselves; the implementation of this trait selects the programs and
/// limits their run time and memory (`convert-timeout`).
pub trait Commands: Send + Sync {
    /// Returns the program that converts a media type to HTML, if one is configured.
    ///
    /// The program reads the resource from standard input and writes HTML to standard output.
    fn converter(&self, media_type: &str) -> Option<CommandLine>;

    /// Runs a program and returns its standard output.
    ///
    /// # Errors
    ///
    /// Returns a human-readable message if the program fails, times out or writes too much output.
    fn run(&self, command: &CommandLine, input: &[u8]) -> Result<Vec<u8>, String>;
}

/// An external program that a filter runs, with its arguments.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CommandLine {
    /// Name or path of the program.
    pub program: String,
    /// Command-line arguments of the program.
    pub arguments: Vec<String>,
}

impl CommandLine {
    /// Creates a command without arguments.
    pub fn new(program: impl Into<String>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
        }
    }

    /// Adds an argument to the command line.
    #[must_use]
    pub fn argument(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }
}

/// Implementation of [`Commands`] that runs no programs: nothing is converted or summarized.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct NoCommands;

impl Commands for NoCommands {
    fn converter(&self, _media_type: &str) -> Option<CommandLine> {
        None
    }

    fn run(&self, command: &CommandLine, _input: &[u8]) -> Result<Vec<u8>, String> {
        Err(format!(
            "external programs are disabled; cannot run {:?}",
            command.program
        ))
    }
}

/// Reader for the files that directives refer to (`config=`, `file=`).
pub trait Files {
    /// Returns the content of a file, or `None` if the file does not exist.
    ///
    /// # Errors
    ///
    /// Returns a human-readable message if the file cannot be read.
    fn read(&self, path: &str) -> Result<Option<String>, String>;
}

/// Implementation of [`Files`] in which no file exists.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _path: &str) -> Result<Option<String>, String> {
        Ok(None)
    }
}
