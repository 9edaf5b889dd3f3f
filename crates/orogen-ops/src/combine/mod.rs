//! Operators that join two terrains.
