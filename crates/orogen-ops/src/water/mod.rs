//! Operators on water: where it stands, where it runs.

pub mod fill;
pub mod flow;
pub mod rivers;

pub use fill::Fill;
pub use flow::Flow;
pub use rivers::Rivers;

/// The level at which water is gone: that of the sea, or none.
#[must_use]
pub fn sea_level(sea: bool) -> f32 {
    if sea { 0.0 } else { f32::NEG_INFINITY }
}
