//! Writer of this server's access log lines.

mod escape;
mod line;

pub use line::{Line, LineFormat, LoggedAnswer, UnknownLineFormat};
