//! Robot heaven served from the database, with pages rendered on request.

mod heaven;
mod pieces;
mod reply;
mod request;

pub use heaven::ServedHeaven;

#[cfg(test)]
mod tests;
