//! Heaven from the database: pages are made as they are asked for.

mod asked;
mod heaven;
mod pieces;
mod reply;

pub use asked::wants_markdown;
pub use heaven::ServedHeaven;

#[cfg(test)]
mod tests;
