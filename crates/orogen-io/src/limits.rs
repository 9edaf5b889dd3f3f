//! How much of a stranger's file we take in.

use crate::error::FormatError;

/// What a vertex takes once read.
const BYTES_PER_VERTEX: u64 = 32;

/// Bounds on what is read; all are checked before memory is reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Largest file, in bytes.
    pub max_bytes_file: u64,
    /// Largest number of samples in a grid; each takes four bytes once read.
    pub max_samples: u64,
    /// Memory that reading a file may take: its samples, and what they are unpacked in.
    pub max_bytes_memory: u64,
    /// Largest number of vertices and properties in a file of features; each takes some 32 bytes once read.
    pub max_vertices: u64,
    /// What a user can do about a refusal, said after it; empty where that is nothing.
    pub advice: &'static str,
}

impl Default for Limits {
    /// Files of 4 GiB, grids of 16385 x 16385 samples, which take 1 GiB of memory and may take another while they are read, and
    /// 64 million vertices, about 2 GiB.
    fn default() -> Self {
        Self {
            max_bytes_file: 4 << 30,
            max_samples: 16385 * 16385,
            max_bytes_memory: 2 << 30,
            max_vertices: 64 << 20,
            advice: "",
        }
    }
}

impl Limits {
    /// Files and grids that fit into so much memory, where work on a grid takes so many bytes for each of its samples.
    #[must_use]
    pub fn of_memory(bytes: u64, bytes_per_sample: u64) -> Self {
        let max_samples = bytes / bytes_per_sample.max(1);
        let max_vertices = Self::default().max_vertices.min(bytes / BYTES_PER_VERTEX);
        Self { max_bytes_file: bytes, max_samples, max_bytes_memory: bytes, max_vertices, ..Self::default() }
    }

    /// What is left of them while so many bytes of memory are taken.
    pub(crate) fn beside(&self, bytes: u64) -> Self {
        let left = self.max_bytes_memory.saturating_sub(bytes);
        let share = |most: u64| {
            let part = u128::from(most) * u128::from(left) / u128::from(self.max_bytes_memory.max(1));
            u64::try_from(part).unwrap_or(most)
        };
        let (max_samples, max_vertices) = (share(self.max_samples), share(self.max_vertices));
        Self { max_samples, max_vertices, max_bytes_memory: left, ..*self }
    }

    /// Refuses a grid whose samples and what unpacks them take more memory than is allowed. A few bytes of a packed file can
    /// stand for gigabytes, so this is asked before any is reserved.
    pub(crate) fn memory(&self, samples: usize, unpacking: u64) -> Result<(), FormatError> {
        let needed = (samples as u64).saturating_mul(4).saturating_add(unpacking);
        if needed <= self.max_bytes_memory {
            return Ok(());
        }
        Err(FormatError::TooMuchMemory { needed, allowed: self.max_bytes_memory, advice: self.advice })
    }

    /// The number of samples of a grid, when it is neither empty nor too large.
    pub(crate) fn samples(&self, format: &'static str, cols: u64, rows: u64) -> Result<usize, FormatError> {
        if cols == 0 || rows == 0 {
            return Err(FormatError::broken(format, format!("a grid of {cols} x {rows} samples is empty")));
        }
        cols.checked_mul(rows)
            .filter(|&n| n <= self.max_samples)
            .and_then(|n| usize::try_from(n).ok())
            .ok_or(FormatError::TooLarge { cols, rows, allowed: self.max_samples, advice: self.advice })
    }
}
