//! The access log of the server: its lines as they are written, and read back.

mod asked;
mod escape;
mod line;
mod recognised;
mod served;
mod whole;

pub use super::open::GZIP;
pub use asked::Asked;
pub use line::{Line, LoggedAnswer};
pub use line::{LineFormat, UnknownLineFormat};
pub use recognised::RecognisedFields;
pub use served::{Served, ServedLines};
