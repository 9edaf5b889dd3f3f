//! Operators that shape land (or any other layer) that is there already.
//!
//! A coefficient that may be a number or a layer takes a layer of the step's own input. A hole (NaN) stays a hole.

mod bell;
mod between;
pub mod blur;
pub mod curves;
pub mod features;
pub mod ground;
pub mod gullies;
pub mod overhang;
pub mod paint;
pub mod plain;
pub mod plateau;
pub mod remap;
pub mod sketch;
pub mod terrace;
pub mod turbulence;
pub mod valley;
pub mod warp;
pub mod window;

pub use between::Method;
pub use blur::Blur;
pub use curves::Curves;
pub use features::Features;
pub use ground::Ground;
pub use gullies::Gullies;
pub use overhang::Overhang;
pub use paint::Paint;
pub use plain::Plain;
pub use plateau::Plateau;
pub use remap::Remap;
pub use sketch::Sketch;
pub use terrace::Terrace;
pub use turbulence::Turbulence;
pub use valley::Valley;
pub use warp::Warp;
pub use window::Window;
