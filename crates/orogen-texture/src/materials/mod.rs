//! The materials, one in each file. Each paints a canvas and says how it is finished.

mod ash;
mod basalt;
mod dry_grass;
mod forest_floor;
mod granite;
mod grass;
mod gravel;
mod ice;
mod lichen;
mod limestone;
mod meadow;
mod moss;
mod mud;
mod sand;
mod sandstone;
mod scree;
mod snow;
mod soil;

pub(crate) use ash::ash;
pub(crate) use basalt::basalt;
pub(crate) use dry_grass::dry_grass;
pub(crate) use forest_floor::forest_floor;
pub(crate) use granite::granite;
pub(crate) use grass::grass;
pub(crate) use gravel::gravel;
pub(crate) use ice::ice;
pub(crate) use lichen::lichen;
pub(crate) use limestone::limestone;
pub(crate) use moss::moss;
pub(crate) use mud::mud;
pub(crate) use sand::sand;
pub(crate) use sandstone::sandstone;
pub(crate) use scree::scree;
pub(crate) use snow::snow;
pub(crate) use soil::soil;
