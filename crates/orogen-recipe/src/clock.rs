//! How long work takes, where there is a clock.

#[cfg(feature = "native")]
use std::time::Instant;

/// A moment to count seconds from. Without the feature `native` there is no clock, and all work takes 0 s.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch {
    #[cfg(feature = "native")]
    start: Instant,
}

impl Stopwatch {
    /// Starts now.
    #[must_use]
    pub fn start() -> Self {
        Self {
            #[cfg(feature = "native")]
            start: Instant::now(),
        }
    }

    /// Seconds since the start.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        #[cfg(feature = "native")]
        return self.start.elapsed().as_secs_f64();
        #[cfg(not(feature = "native"))]
        0.0
    }
}
