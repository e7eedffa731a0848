//! External programs, run by the application.

/// Runner of the programs that `convert-to-html` and `harvest-summarizer` name.
///
/// Filters do no I/O themselves: who runs them decides which programs there
/// are, and holds them to limits of time and memory (`convert-timeout`).
pub trait Commands: Send + Sync {
    /// Returns the program that turns a media type into HTML, none where there is none.
    ///
    /// It reads the resource on standard input and writes HTML on standard output.
    fn converter(&self, media_type: &str) -> Option<CommandLine>;

    /// Runs a program and returns what it wrote on standard output.
    ///
    /// # Errors
    ///
    /// Fails with a text for people where the program fails, ends too late or
    /// writes too much.
    fn run(&self, command: &CommandLine, input: &[u8]) -> Result<Vec<u8>, String>;
}

/// Program and its arguments.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CommandLine {
    /// Name or path of the program.
    pub program: String,
    /// Its arguments.
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

    /// Adds an argument.
    #[must_use]
    pub fn argument(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }
}

/// [`Commands`] that has none: nothing is converted or summarized.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct NoCommands;

impl Commands for NoCommands {
    fn converter(&self, _media_type: &str) -> Option<CommandLine> {
        None
    }

    fn run(&self, command: &CommandLine, _input: &[u8]) -> Result<Vec<u8>, String> {
        Err(format!("no programs are run here: {:?}", command.program))
    }
}

/// Reads the files that directives name (`config=`, `file=`).
pub trait Files {
    /// Returns a file's text; none where there is no such file.
    ///
    /// # Errors
    ///
    /// Fails with a text for people where it cannot be read.
    fn read(&self, path: &str) -> Result<Option<String>, String>;
}

/// [`Files`] that has none.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _path: &str) -> Result<Option<String>, String> {
        Ok(None)
    }
}
