//! The access log of the server: its lines as they are written, and read back.

mod asked;
mod escape;
mod line;
mod recognised;
mod served;
mod whole;

pub(crate) use super::open::GZIP;
pub(crate) use asked::Asked;
pub(crate) use line::{Line, LoggedAnswer};
pub use line::{LineFormat, UnknownLineFormat};
pub(crate) use recognised::RecognisedFields;
pub(crate) use served::{Served, ServedLines};
