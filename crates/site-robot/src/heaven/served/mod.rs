//! Heaven from the database: pages are made as they are asked for.

mod heaven;
mod pieces;
mod reply;
mod request;

pub use heaven::ServedHeaven;
pub use request::wants_markdown;

#[cfg(test)]
mod tests;
