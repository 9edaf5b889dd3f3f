//! Operators that say where other steps act.
