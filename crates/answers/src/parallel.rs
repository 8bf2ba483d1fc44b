//! Independent pieces of work on several threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
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
    let next = AtomicUsize::new(0);
    let made: Mutex<Vec<Option<R>>> = Mutex::new(items.iter().map(|_| None).collect());
    let take = || {
        while let Some((at, item)) = {
            let at = next.fetch_add(1, Ordering::Relaxed);
            items.get(at).map(|item| (at, item))
        } {
            let result = work(item);
            made.lock().unwrap_or_else(PoisonError::into_inner)[at] = Some(result);
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads.min(items.len()) {
            scope.spawn(take);
        }
        take();
    });
    made.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().flatten().collect()
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
    fn several_threads_work_at_once() {
        let both = std::sync::Barrier::new(2);
        // Would wait for ever on one thread.
        let made = map_in_order(&[1, 2], 2, |&item| {
            both.wait();
            item
        });
        assert_eq!(made, [1, 2]);
    }
}
