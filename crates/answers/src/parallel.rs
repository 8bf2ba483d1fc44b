//! Independent pieces of work on several threads.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

/// What `work` makes of each item, in the order of the items whatever thread made it. Threads take the items one by
/// one from the front, so that a long one does not hold up the others.
///
/// Not a pool that steals work: items wait for what they have in common (`OnceLock`), and a thread that waits must
/// not begin another item that waits for the same.
pub(crate) fn map_in_order<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    map_then_in_order(items, threads, work, |_, made| made)
}

/// As [`map_in_order`]; `then` takes what `work` made of each item and is called for one at a time, in the order of the items, as
/// soon as those before are done.
pub(crate) fn map_then_in_order<T: Sync, M: Send, R: Send>(
    items: &[T],
    threads: usize,
    work: impl Fn(&T) -> M + Sync,
    then: impl FnMut(&T, M) -> R + Send,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Done { ahead: BTreeMap::new(), results: Vec::with_capacity(items.len()), then });
    let take = || {
        while let Some((at, item)) = {
            let at = next.fetch_add(1, Ordering::Relaxed);
            items.get(at).map(|item| (at, item))
        } {
            let made = work(item);
            done.lock().unwrap_or_else(PoisonError::into_inner).add(items, at, made);
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads.min(items.len()) {
            scope.spawn(take);
        }
        take();
    });
    done.into_inner().unwrap_or_else(PoisonError::into_inner).results
}

/// What is done of a list of items.
struct Done<M, R, F> {
    /// What was made of items that others before them are not done for.
    ahead: BTreeMap<usize, M>,
    /// Of the first items, in their order.
    results: Vec<R>,
    then: F,
}

impl<M, R, F> Done<M, R, F> {
    fn add<T>(&mut self, items: &[T], at: usize, made: M)
    where
        F: FnMut(&T, M) -> R,
    {
        self.ahead.insert(at, made);
        while let Some(made) = self.ahead.remove(&self.results.len()) {
            let result = (self.then)(&items[self.results.len()], made);
            self.results.push(result);
        }
    }
}

/// Memory that pieces of work share.
pub(crate) struct MemoryBudget {
    bytes: u64,
    used: Mutex<u64>,
    freed: Condvar,
}

impl MemoryBudget {
    pub(crate) fn new(bytes: u64) -> Self {
        MemoryBudget { bytes, used: Mutex::new(0), freed: Condvar::new() }
    }

    /// Does a piece of work that needs so many bytes, as soon as they are free; what needs more than there is has to itself
    /// what there is.
    pub(crate) fn with<R>(&self, bytes: u64, work: impl FnOnce() -> R) -> R {
        let bytes = bytes.min(self.bytes);
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = self.freed.wait_while(used, |used| *used + bytes > self.bytes);
        *waiting.unwrap_or_else(PoisonError::into_inner) += bytes;
        let _held = Held { budget: self, bytes };
        work()
    }
}

/// Gives memory back, also where the work panics.
struct Held<'b> {
    budget: &'b MemoryBudget,
    bytes: u64,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        *self.budget.used.lock().unwrap_or_else(PoisonError::into_inner) -= self.bytes;
        self.budget.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        let items: Vec<u64> = (0..40).collect();
        for threads in [1, 2, 4, 100] {
            let made = map_in_order(&items, threads, |&item| {
                // The first ones take longest.
                thread::sleep(Duration::from_micros(40 - item));
                item * 2
            });
            assert_eq!(made, items.iter().map(|item| item * 2).collect::<Vec<_>>(), "{threads} threads");
        }
        assert!(map_in_order(&[] as &[u64], 4, |&item| item).is_empty());
    }

    #[test]
    fn what_comes_then_is_done_in_the_order_of_the_items() {
        let items: Vec<u64> = (0..40).collect();
        for threads in [1, 2, 8] {
            let mut order = Vec::new();
            let slow_first = |&item: &u64| thread::sleep(Duration::from_micros(40 - item));
            let then = |&item: &u64, ()| {
                order.push(item);
                item + 1
            };
            let results = map_then_in_order(&items, threads, slow_first, then);
            assert_eq!(order, items, "{threads} threads");
            assert_eq!(results, items.iter().map(|item| item + 1).collect::<Vec<_>>(), "{threads} threads");
        }
    }

    #[test]
    fn several_threads_work_at_once() {
        let both = std::sync::Barrier::new(2);
        // Would wait for ever on one thread.
        let made = map_in_order(&[1, 2], 2, |&item| {
            both.wait();
            item
        });
        assert_eq!(made, [1, 2]);
    }

    #[test]
    fn no_more_memory_is_used_than_there_is() {
        let budget = MemoryBudget::new(10);
        let (used, most, done) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        let needs = [3, 6, 4, 7, 2, 5, 10, 1, 12, 3];
        map_in_order(&needs, 4, |&bytes| {
            budget.with(bytes, || {
                let of_all = usize::try_from(bytes.min(10)).unwrap();
                most.fetch_max(used.fetch_add(of_all, Ordering::SeqCst) + of_all, Ordering::SeqCst);
                thread::sleep(Duration::from_millis(2));
                used.fetch_sub(of_all, Ordering::SeqCst);
                done.fetch_add(1, Ordering::SeqCst);
            });
        });
        let (most, done) = (most.into_inner(), done.into_inner());
        assert_eq!(done, needs.len());
        // The one that takes all of it, and never more.
        assert_eq!(most, 10);
    }
}
