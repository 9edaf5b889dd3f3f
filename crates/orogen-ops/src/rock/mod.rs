//! What lies under the land: how fast it rises, and the beds it is made of.

pub mod beds;
mod line;
pub mod outcrop;
pub mod strata;
pub mod uplift;

pub use beds::{Bed, Places, STRATA, Strata as Beds};
pub use outcrop::Outcrop;
pub use strata::Strata;
pub use uplift::Uplift;
