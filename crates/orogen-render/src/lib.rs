//! Pictures of a land: ground with its materials, water, sky and air, as they look from a place at an hour of a day.
//!
//! The work is done by a graphics device ([`Gpu`]), or by a driver that does without one, and no window is needed. What is asked
//! of the device is what a browser with WebGL2 has. Land comes through [`Land`]: a session over a recipe answers for every tile
//! at its own spacing, a finished terrain for all.
//!
//! This crate reads no files, prints nothing and knows no window.

mod air;
mod apron;
mod camera;
mod cascades;
mod crew;
mod device_land;
mod draw;
mod error;
mod flight;
mod fog;
mod gpu;
mod land;
mod light;
#[cfg(test)]
mod looks;
mod materials;
mod noises;
pub mod overlay;
mod overview;
mod passes;
mod pattern;
mod picture;
mod plants;
mod quadtree;
mod rim;
mod shade;
mod slots;
mod stage;
mod sun;
mod tile;
mod vec3;
mod view;

pub use camera::Camera;
pub use device_land::DeviceLand;
pub use error::RenderError;
pub use flight::Flight;
pub use gpu::Gpu;
pub use land::{Land, PlantsOf, RecipeLand};
pub use materials::Materials;
pub use overlay::{Legend, Overlay};
pub use overview::Overview;
pub use picture::{Aim, Height, Options, Rendered, render, shot, take};
pub use plants::Counts as PlantCounts;
pub use stage::{Budget, Frame, Shot, Stage};
pub use sun::{Moment, Sun, sun};
pub use vec3::Vec3;
pub use view::find;
