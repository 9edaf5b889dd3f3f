//! The recipe engine as a whole, on small operators made for it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

mod bombs;
mod caching;
mod edits;
mod fakes;
mod faults;
mod kinds;
mod running;
mod session;
mod windows;
