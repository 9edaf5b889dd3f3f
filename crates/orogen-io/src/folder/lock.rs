//! The file that shows others that a run is at work in a folder.

#[cfg(feature = "native")]
pub(super) use native::Lock;
#[cfg(not(feature = "native"))]
pub(super) use none::Lock;

#[cfg(feature = "native")]
mod native {
    use std::fs::TryLockError;
    use std::io;
    use std::path::Path;

    use tempfile::NamedTempFile;

    /// A file that this run holds a lock on; removed when dropped.
    #[derive(Debug)]
    pub struct Lock(NamedTempFile);

    impl Lock {
        /// A new file in a folder.
        pub fn new(folder: &Path, prefix: &str) -> io::Result<Self> {
            loop {
                let file = tempfile::Builder::new().prefix(prefix).suffix(".lock").tempfile_in(folder)?;
                match file.as_file().try_lock() {
                    // Another run may have taken the file for an abandoned one before it was locked, and removed it.
                    Ok(()) if file.path().exists() => return Ok(Self(file)),
                    Ok(()) | Err(TryLockError::WouldBlock) => {}
                    // A file system without locks: runs then never take one another's folders for abandoned ones.
                    Err(TryLockError::Error(_)) => return Ok(Self(file)),
                }
            }
        }

        pub fn path(&self) -> &Path {
            self.0.path()
        }

        /// Leaves the file where it is.
        pub fn keep(self) {
            let _ = self.0.keep();
        }
    }
}

/// Where there are no folders, there is nothing to lock.
#[cfg(not(feature = "native"))]
mod none {
    use std::io;
    use std::path::Path;

    #[derive(Debug)]
    pub enum Lock {}

    impl Lock {
        pub fn new(_folder: &Path, _prefix: &str) -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub fn path(&self) -> &Path {
            match *self {}
        }

        pub fn keep(self) {
            match self {}
        }
    }
}
