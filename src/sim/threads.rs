//! Divides the work of a search among threads.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The number of cores of the smallest machine that builds this.
const THREADS: u64 = 2;
/// The distance between two schedules of a thread.
pub(super) const STRIDE: usize = 2;

/// Runs the work in threads, and stops all of them at the first error.
pub(super) fn in_threads<T: Send>(
    work: impl Fn(u64, &AtomicBool) -> Result<T, String> + Sync,
) -> Result<Vec<T>, String> {
    let found = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|part| {
                scope.spawn({
                    let (work, found) = (&work, &found);
                    move || work(part, found).inspect_err(|_| found.store(true, Ordering::Relaxed))
                })
            })
            .collect();
        let answers = threads.into_iter().map(|thread| thread.join());
        answers
            .map(|answer| answer.unwrap_or_else(|_| Err("a thread ended without a result".to_owned())))
            .collect()
    })
}

/// Does the same with each item, in threads that take the next one, and stops at the first error. Returns the results in
/// the order of the items.
pub(super) fn each_in_threads<'i, I: Sync, T: Send>(
    items: &'i [I],
    work: impl Fn(&'i I) -> Result<T, String> + Sync,
) -> Result<Vec<T>, String> {
    let begun = AtomicUsize::new(0);
    let parts = in_threads(|_, found| {
        let mut results = Vec::new();
        while !found.load(Ordering::Relaxed) {
            let at = begun.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { break };
            results.push((at, work(item)?));
        }
        Ok(results)
    })?;
    let mut results: Vec<_> = parts.into_iter().flatten().collect();
    results.sort_unstable_by_key(|(at, _)| *at);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use super::each_in_threads;

    #[test]
    fn each_item_has_its_result_or_the_first_error_ends_all() {
        let items: Vec<u32> = (0..100).collect();
        let doubled: Vec<u32> = items.iter().map(|item| item * 2).collect();
        assert_eq!(each_in_threads(&items, |item| Ok(item * 2)), Ok(doubled));
        let odd = |item: &u32| item.is_multiple_of(2).then_some(()).ok_or_else(|| "odd".to_owned());
        assert_eq!(each_in_threads(&items, odd), Err("odd".to_owned()));
        assert_eq!(each_in_threads(&[], odd), Ok(Vec::new()));
    }
}
