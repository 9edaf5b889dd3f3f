//! Noise that repeats: every basis takes how many of its cells lie across the tile, so opposite edges meet.

mod cellular;
mod gradient;
mod octaves;
mod value;
mod warp;

pub use cellular::{Cells, Nearest};
pub use gradient::Gradient;
pub use octaves::Octaves;
pub use value::Value;
pub use warp::Warp;

/// Something with a number at each place (u, v) that repeats when either grows by 1.
pub trait Noise: Sync {
    /// The number there, about -1 to 1.
    fn at(&self, u: f32, v: f32) -> f32;
}

/// The cell of a lattice that a place lies in, from 0 to `period`, and how far in it. The lattice is shifted by a share of a
/// cell, so that its lines do not fall together with the edges of the tile or with those of another.
#[inline]
fn cell(place: f32, period: u32, shift: f32) -> (u32, f32) {
    let x = place * period as f32 + shift;
    // `floor` is a call where the processor may be an old one; this is not.
    let whole = x as i32;
    let whole = if whole as f32 > x { whole - 1 } else { whole };
    (wrapped(whole, period), x - whole as f32)
}

/// An index brought into 0 to `period`; quickly where it is less than a period away, as nearly all are.
#[inline]
fn wrapped(index: i32, period: u32) -> u32 {
    let period = period as i32;
    let near = if index < 0 {
        index + period
    } else if index >= period {
        index - period
    } else {
        index
    };
    if (0..period).contains(&near) { near as u32 } else { index.rem_euclid(period) as u32 }
}

/// How far the lattice of a seed is shifted, in cells.
#[inline]
fn shifts(seed: u32) -> [f32; 2] {
    let unit = |k: u32| (seed.wrapping_mul(k) >> 16) as f32 * (1.0 / 65536.0);
    [unit(0x9e37_79b1), unit(0x85eb_ca77)]
}

/// The cell after this one.
#[inline]
fn next(index: u32, period: u32) -> u32 {
    if index + 1 >= period { 0 } else { index + 1 }
}

/// A curve from 0 to 1 whose first two derivatives vanish at both ends.
#[inline]
fn fade(t: f32) -> f32 {
    t * t * t * (t * (t * 6.0 - 15.0) + 10.0)
}
