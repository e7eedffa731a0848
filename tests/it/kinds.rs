//! Kinds of visitors that a User-Agent alone does not tell: what many people share, and
//! robots that sign.

mod shared;
mod signed;
