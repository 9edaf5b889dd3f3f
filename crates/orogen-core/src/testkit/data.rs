//! Surveyed elevation models, which lie beside the repository and not in it.

use std::path::{Path, PathBuf};

/// The file of a surveyed elevation model, `None` where the machine has none: a line of the test's output then says what
/// was not tested. `cargo xtask test` says it too, as test runners hide the output of tests that pass.
#[must_use]
#[allow(clippy::print_stderr, reason = "a test without its data says so")]
pub fn surveyed_model(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/dem").join(name);
    if path.is_file() {
        return Some(path);
    }
    eprintln!("missing test data: {} is not there, so what it would show is not tested", path.display());
    None
}
