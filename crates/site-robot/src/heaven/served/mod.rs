//! Heaven from the database: pages are made as they are asked for.

mod heaven;
mod pieces;
mod reply;
mod request;

pub use heaven::ServedHeaven;

#[cfg(test)]
mod tests;
