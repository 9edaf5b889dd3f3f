//! Operators that wear land down and lay it elsewhere.
