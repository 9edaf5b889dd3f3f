//! Writing that can be stopped: a file of gigabytes takes longer than anybody waits for Ctrl-C.

use std::io::{self, Seek, SeekFrom, Write};

use orogen_core::{Cancel, Cancelled};

/// Bytes that go out before the switch is looked at again: few enough for a slow disk to take them in a moment.
const PIECE: usize = 1 << 22;

/// A writer that fails as soon as the work is cancelled.
///
/// Even a write of no bytes fails then: a writer that works for long without writing asks so whether to go on
/// (`check`).
#[derive(Debug)]
pub struct Watched<'a, W> {
    out: W,
    cancel: &'a Cancel,
}

impl<'a, W> Watched<'a, W> {
    /// Writes to `out` until the switch is thrown.
    pub fn new(out: W, cancel: &'a Cancel) -> Self {
        Self { out, cancel }
    }

    /// What was written to.
    pub(crate) fn into_inner(self) -> W {
        self.out
    }

    fn go_on(&self) -> io::Result<()> {
        // Not `Interrupted`: the standard library tries that again.
        if self.cancel.is_cancelled() { Err(io::Error::other(Cancelled)) } else { Ok(()) }
    }
}

impl<W: Write> Write for Watched<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.go_on()?;
        if bytes.is_empty() { Ok(0) } else { self.out.write(&bytes[..bytes.len().min(PIECE)]) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.go_on()?;
        self.out.flush()
    }
}

impl<W: Seek> Seek for Watched<'_, W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.out.seek(to)
    }
}

/// Fails where `out` is [`Watched`] and the work is cancelled.
pub(crate) fn check(out: &mut (impl Write + ?Sized)) -> io::Result<()> {
    out.write(&[]).map(|_| ())
}

/// Whether a writer failed because the work was cancelled.
pub(crate) fn was_cancelled(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Cancelled>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancelled_writer_takes_nothing_more() {
        let (cancel, mut out) = (Cancel::new(), Vec::new());
        let mut watched = Watched::new(&mut out, &cancel);
        watched.write_all(&vec![7; PIECE + 3]).unwrap();
        check(&mut watched).unwrap();
        cancel.cancel();
        assert!(was_cancelled(&check(&mut watched).unwrap_err()));
        assert!(was_cancelled(&watched.write_all(b"more").unwrap_err()));
        assert!(was_cancelled(&watched.flush().unwrap_err()));
        assert_eq!(out, vec![7; PIECE + 3]);
    }
}
