//! (being written)

mod catalog;

pub use catalog::catalog;
