//! Standard input and output are often pipes, and the program at the other end may keep us waiting for ever. The waiting is
//! done on a thread of its own, while this one listens for Ctrl-C.

use std::io::{self, Read as _};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel};
use std::thread;
use std::time::Duration;

use orogen::core::Cancel;

/// How long the switch goes without being looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Bytes of standard input that are read at a time, and pieces that may wait to be taken.
const PIECE: usize = 1 << 18;
const WAITING: usize = 4;

/// What `f` gives, which may wait for ever, or `None` once the work is cancelled; `f` is left to itself then, until the program
/// ends.
pub fn until_cancelled<T: Send + 'static>(
    cancel: &Cancel,
    f: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Option<io::Result<T>> {
    let (send, receive) = channel();
    let thread = thread::Builder::new().name(String::from("stdout")).spawn(move || {
        // Nobody listens any more once the work is cancelled.
        let _ = send.send(f());
    });
    match thread {
        Ok(_) => next(&receive, cancel)?.or_else(|| Some(Err(io::Error::other("the writing thread failed")))),
        Err(e) => Some(Err(e)),
    }
}

/// The next message, `Some(None)` when there will be no more, `None` once the work is cancelled.
fn next<T>(receive: &Receiver<T>, cancel: &Cancel) -> Option<Option<T>> {
    loop {
        match receive.recv_timeout(LOOK_EVERY) {
            Ok(message) => return Some(Some(message)),
            Err(RecvTimeoutError::Disconnected) => return Some(None),
            Err(RecvTimeoutError::Timeout) if cancel.is_cancelled() => return None,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// Why standard input gave nothing.
#[derive(Debug)]
pub enum InputError {
    Cancelled,
    /// In a sentence.
    Refused(String),
}

/// All bytes of standard input, at most so many. `looks_right` sees the first of them, again and again as they grow, and says
/// when it has seen enough (`true`) or what is wrong: a stream that is not what it should be may have no end.
pub fn read_stdin(
    max_bytes: u64,
    cancel: &Cancel,
    looks_right: impl Fn(&[u8]) -> Result<bool, String>,
) -> Result<Vec<u8>, InputError> {
    let refused = |text: String| InputError::Refused(text);
    let (send, receive) = sync_channel(WAITING);
    let reader = thread::Builder::new().name(String::from("stdin")).spawn(move || read_pieces(&send));
    reader.map_err(|e| refused(format!("cannot read it: {e}")))?;
    let (mut bytes, mut is_right) = (Vec::new(), false);
    while let Some(piece) = next(&receive, cancel).ok_or(InputError::Cancelled)? {
        let piece = piece.map_err(|e| refused(format!("cannot read it: {e}")))?;
        if cancel.is_cancelled() {
            return Err(InputError::Cancelled);
        }
        if bytes.len() as u64 + piece.len() as u64 > max_bytes {
            return Err(refused(format!("larger than the {max_bytes} bytes that fit into memory")));
        }
        // Memory may be short without the system saying so beforehand (`ulimit -v`).
        bytes.try_reserve(piece.len()).map_err(|_| {
            refused(format!("does not fit into memory: there is room for {} bytes of it", bytes.len()))
        })?;
        bytes.extend_from_slice(&piece);
        is_right = is_right || looks_right(&bytes).map_err(refused)?;
    }
    Ok(bytes)
}

/// Sends standard input on until it ends, fails, or nobody takes it.
fn read_pieces(send: &SyncSender<io::Result<Vec<u8>>>) {
    let mut input = io::stdin().lock();
    let mut buffer = vec![0; PIECE];
    loop {
        let piece = match input.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => Ok(buffer[..count].to_vec()),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => Err(e),
        };
        let failed = piece.is_err();
        if send.send(piece).is_err() || failed {
            return;
        }
    }
}
