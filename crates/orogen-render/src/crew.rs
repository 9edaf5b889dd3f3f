//! Who makes tiles: threads where the system has some, else the caller, in its own time (a page in a browser).

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use orogen_core::Cancel;

use crate::error::RenderError;

/// Makes one thing.
type Work<K, V> = Box<dyn Fn(K, &Cancel) -> Result<V, RenderError> + Send + Sync>;

/// A finished thing.
pub(crate) type Done<K, V> = (K, Result<V, RenderError>);

/// Threads that make what is wanted, the most urgent first.
pub(crate) struct Crew<K, V> {
    shared: Arc<Shared<K, V>>,
    done: Receiver<Done<K, V>>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared<K, V> {
    work: Work<K, V>,
    queue: Mutex<Queue<K>>,
    /// There is something to do, or nothing any more for ever.
    wake: Condvar,
    cancel: Cancel,
}

struct Queue<K> {
    /// The most urgent last.
    waiting: Vec<K>,
    /// What threads are at.
    busy: BTreeSet<K>,
    closed: bool,
}

impl<K, V> Shared<K, V> {
    fn queue(&self) -> MutexGuard<'_, Queue<K>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn make(&self, key: K) -> Result<V, RenderError> {
        catch_unwind(AssertUnwindSafe(|| (self.work)(key, &self.cancel)))
            .unwrap_or_else(|_| Err(RenderError::Call(String::from("a tile of the land could not be made"))))
    }
}

impl<K: Copy + Ord + Send + 'static, V: Send + 'static> Crew<K, V> {
    /// So many threads for a kind of work; none is allowed.
    pub fn new(threads: usize, work: Work<K, V>) -> Self {
        let queue = Queue { waiting: Vec::new(), busy: BTreeSet::new(), closed: false };
        let shared =
            Arc::new(Shared { work, queue: Mutex::new(queue), wake: Condvar::new(), cancel: Cancel::new() });
        let (sender, done) = channel();
        let threads = (0..threads).filter_map(|_| {
            let (shared, sender) = (shared.clone(), sender.clone());
            let thread = std::thread::Builder::new().name(String::from("orogen tiles"));
            thread.spawn(move || serve(&shared, &sender)).ok()
        });
        let threads = threads.collect();
        Self { shared, done, threads }
    }

    /// Replaces what is wanted, the most urgent first; what a thread is at goes on.
    pub fn want(&self, keys: impl DoubleEndedIterator<Item = K>) {
        let mut queue = self.shared.queue();
        let busy = &queue.busy;
        queue.waiting = keys.rev().filter(|key| !busy.contains(key)).collect();
        drop(queue);
        self.shared.wake.notify_all();
    }

    /// Something finished, if there is: without threads it is made now. Waits for a while at most.
    pub fn take(&self, wait: Duration) -> Option<Done<K, V>> {
        if self.threads.is_empty() {
            let key = self.shared.queue().waiting.pop()?;
            return Some((key, self.shared.make(key)));
        }
        let done = match self.done.recv_timeout(wait) {
            Ok(done) => done,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
        };
        self.shared.queue().busy.remove(&done.0);
        Some(done)
    }

    /// Things that are wanted or being made.
    pub fn open(&self) -> usize {
        let queue = self.shared.queue();
        queue.waiting.len() + queue.busy.len()
    }
}

fn serve<K: Copy + Ord, V>(shared: &Shared<K, V>, done: &Sender<Done<K, V>>) {
    loop {
        let mut queue = shared.queue();
        let key = loop {
            if queue.closed {
                return;
            }
            match queue.waiting.pop() {
                Some(key) => break key,
                None => queue = shared.wake.wait(queue).unwrap_or_else(PoisonError::into_inner),
            }
        };
        queue.busy.insert(key);
        drop(queue);
        if done.send((key, shared.make(key))).is_err() {
            return;
        }
    }
}

impl<K, V> Drop for Crew<K, V> {
    fn drop(&mut self) {
        self.shared.cancel.cancel();
        self.shared.queue().closed = true;
        self.shared.wake.notify_all();
        for thread in self.threads.drain(..) {
            // What a thread had to say was said through its results.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(threads: usize) -> Vec<u32> {
        let crew = Crew::new(threads, Box::new(|key: u32, _: &Cancel| Ok(key * key)));
        crew.want(0..20);
        let mut out = Vec::new();
        while crew.open() > 0 {
            if let Some((key, made)) = crew.take(Duration::from_secs(5)) {
                assert_eq!(made.unwrap(), key * key);
                out.push(key);
            }
        }
        out
    }

    #[test]
    fn everything_wanted_is_made_once_and_the_most_urgent_first() {
        assert_eq!(all(0), (0..20).collect::<Vec<_>>());
        let mut found = all(3);
        assert!(found[..3].iter().all(|key| *key < 6), "{found:?}");
        found.sort_unstable();
        assert_eq!(found, (0..20).collect::<Vec<_>>());
    }

    #[test]
    fn what_fails_or_panics_is_said_and_the_others_go_on() {
        let work = |key: u32, _: &Cancel| {
            assert!(key != 1, "on purpose");
            if key == 2 { Err(RenderError::Cancelled) } else { Ok(key) }
        };
        let crew = Crew::new(1, Box::new(work));
        crew.want(0..4);
        let found: Vec<_> = (0..4).map(|_| crew.take(Duration::from_secs(5)).unwrap()).collect();
        assert_eq!(
            found.iter().map(|(_, made)| made.is_ok()).collect::<Vec<_>>(),
            [true, false, false, true]
        );
        assert!(crew.take(Duration::ZERO).is_none());
    }
}
