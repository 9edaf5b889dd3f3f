//! The files that exports write, as they write them.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use orogen_core::{Cancel, LayerName, layer};
use orogen_io::{Hashed, OutputFolder, Sidecar, Watched, Written};

use super::ExportOptions;
use crate::error::BuildError;
use crate::manifest::FileReport;

/// A file that is being written, until the export is cancelled.
pub type Out<'a, 'f> = Watched<'a, BufWriter<Hashed<'f, File>>>;

/// What exports wrote.
#[derive(Clone, Debug, Default)]
pub struct Exported {
    /// The files.
    pub files: Vec<FileReport>,
    /// What a format could not keep.
    pub warnings: Vec<String>,
}

/// What the manifest says of a file besides its size and hash.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts<'a> {
    /// The layer or vectors it holds.
    pub layer: Option<&'a str>,
    /// Unit of its values.
    pub unit: Option<&'static str>,
    /// Smallest and largest value.
    pub range: Option<(f64, f64)>,
}

impl<'a> Facts<'a> {
    /// Of a raster with such a range.
    #[must_use]
    pub fn of_layer(name: &'a LayerName, range: Option<(f64, f64)>) -> Self {
        let unit = Some(layer::unit(name)).filter(|unit| !unit.is_empty());
        Self { layer: Some(name.as_str()), unit, range }
    }

    /// Of a file without values of its own.
    #[must_use]
    pub fn named(layer: &'a str) -> Self {
        Self { layer: Some(layer), ..Self::default() }
    }
}

/// Where an export writes its files. Several threads may write at once.
pub struct Output<'a> {
    folder: &'a OutputFolder,
    cancel: &'a Cancel,
    progress: &'a (dyn Fn(f32) + Sync),
    kind: &'static str,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    expected: usize,
    done: AtomicUsize,
    made: Mutex<Exported>,
}

impl<'a> Output<'a> {
    pub(super) fn new(folder: &'a OutputFolder, options: &ExportOptions<'a>, expected: usize) -> Self {
        let shared = Arc::new(Shared { expected, ..Shared::default() });
        Self { folder, cancel: options.cancel, progress: options.progress, kind: "", shared }
    }

    pub(super) fn of_kind(&self, kind: &'static str) -> Self {
        Self { kind, shared: self.shared.clone(), ..*self }
    }

    /// The switch that stops the export.
    #[must_use]
    pub fn cancel(&self) -> &'a Cancel {
        self.cancel
    }

    /// Writes a file piece by piece: it is hashed on the way, and no more of it is held than the writer holds.
    ///
    /// # Errors
    /// When it cannot be written, and when cancelled.
    pub fn write(
        &self,
        name: &str,
        facts: &Facts<'_>,
        write: impl FnOnce(&mut Out<'_, '_>) -> io::Result<()>,
    ) -> Result<Written, BuildError> {
        if self.cancel.is_cancelled() {
            return Err(BuildError::Cancelled);
        }
        let written = self.folder.write_with(name, self.cancel, write)?;
        let (min, max) = facts.range.unzip();
        let report = FileReport {
            name: name.to_owned(),
            kind: self.kind,
            sha256: hex(&written.sha256),
            bytes: written.bytes,
            layer: facts.layer.map(str::to_owned),
            unit: facts.unit,
            min,
            max,
        };
        self.made().files.push(report);
        let done = self.shared.done.fetch_add(1, Ordering::Relaxed) + 1;
        (self.progress)((done as f32 / self.shared.expected.max(1) as f32).min(1.0));
        Ok(written)
    }

    /// Writes the sidecar of a file, and passes its warning on.
    ///
    /// # Errors
    /// As [`Output::write`].
    pub fn write_sidecar(&self, of: &str, sidecar: &Sidecar) -> Result<(), BuildError> {
        let facts = Facts::named(&sidecar.layer);
        self.write(&format!("{of}.json"), &facts, |out| out.write_all(&sidecar.to_json()))?;
        if let Some(warning) = &sidecar.warning {
            self.warn(format!("{of}: {warning}"));
        }
        Ok(())
    }

    /// Tells the user what a format could not keep.
    pub fn warn(&self, warning: String) {
        self.made().warnings.push(warning);
    }

    fn made(&self) -> std::sync::MutexGuard<'_, Exported> {
        self.shared.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was written, in an order that no thread decides.
    pub(super) fn finish(self) -> Exported {
        let mut all = std::mem::take(&mut *self.made());
        all.files.sort_by(|a, b| a.name.cmp(&b.name));
        all.warnings.sort();
        all.warnings.dedup();
        all
    }
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
