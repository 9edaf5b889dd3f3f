//! Operators that measure land without changing it.
