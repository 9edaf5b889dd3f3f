//! Operators that join two terrains.
//!
//! All of them change one layer (`layer`) of the step's input by an `operand`: a number, or a layer. A layer is that
//! of the second terrain, the step named by `with`, so that two landscapes can be joined; to combine two layers of
//! one terrain, name the same step with `from` and `with`. A number needs no second terrain; a recipe that names
//! one gets an error before it runs.
//!
//! Holes: where the operand is a hole (NaN), the layer stays as it is; a hole in the layer stays a hole. So a patch
//! with holes round it can be laid on land.

pub mod add;
pub mod blend;
pub mod max;
pub mod min;
pub mod multiply;
pub(crate) mod pair;

pub use add::Add;
pub use blend::Blend;
pub use max::Max;
pub use min::Min;
pub use multiply::Multiply;
