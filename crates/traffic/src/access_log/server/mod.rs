//! Writes and reads the access log lines of this server.

mod escape;
mod line;
mod recognised;
mod served;

pub use super::lines::GZIP;
pub use line::{Line, LoggedAnswer};
pub use line::{LineFormat, UnknownLineFormat};
pub use recognised::RecognisedFields;
pub use served::LoggedClient;
pub use served::{LoggedResponse, ResponseParser};
