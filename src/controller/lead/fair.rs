//! A queue that is fair between namespaces: they are served in turn, however many wait in one of them.

use std::collections::{HashMap, VecDeque};

/// Who waits. Within a namespace, the first one comes first.
#[derive(Debug)]
pub(super) struct FairQueue<T> {
    waiting: HashMap<String, VecDeque<T>>,
    /// The namespaces in which somebody waits. The first one has waited the longest since it was served.
    turns: VecDeque<String>,
}

impl<T> Default for FairQueue<T> {
    fn default() -> Self {
        Self {
            waiting: HashMap::new(),
            turns: VecDeque::new(),
        }
    }
}

impl<T> FairQueue<T> {
    /// Adds one that waits.
    pub(crate) fn push(&mut self, namespace: &str, item: T) {
        if let Some(queue) = self.waiting.get_mut(namespace) {
            queue.push_back(item);
            return;
        }
        self.waiting.insert(namespace.to_owned(), VecDeque::from([item]));
        self.turns.push_back(namespace.to_owned());
    }

    /// Removes the next one, of the namespaces that may have one more. Returns it with its namespace.
    pub(crate) fn pop(&mut self, may: impl Fn(&str) -> bool) -> Option<(String, T)> {
        let at = self.turns.iter().position(|namespace| may(namespace))?;
        let namespace = self.turns.remove(at)?;
        let queue = self.waiting.get_mut(&namespace)?;
        let item = queue.pop_front()?;
        if queue.is_empty() {
            self.waiting.remove(&namespace);
        } else {
            self.turns.push_back(namespace.clone());
        }
        Some((namespace, item))
    }

    /// The namespaces in which somebody waits.
    pub(crate) fn namespaces(&self) -> impl Iterator<Item = &str> {
        self.turns.iter().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::FairQueue;

    /// Who waits, which namespaces may have one more, and who is served. The first letter is the namespace.
    const ROWS: &[(&str, &str, &str, &str)] = &[
        ("nobody waits", "", "abc", ""),
        ("one namespace", "a1 a2 a3", "abc", "a1 a2 a3"),
        (
            "many of one namespace, and one of another",
            "a1 a2 a3 a4 b1",
            "abc",
            "a1 b1 a2 a3 a4",
        ),
        ("three namespaces", "a1 a2 b1 b2 c1", "abc", "a1 b1 c1 a2 b2"),
        ("one that may have no more", "a1 a2 b1 b2", "b", "b1 b2"),
        ("none may have more", "a1 b1", "", ""),
    ];

    #[test]
    fn namespaces_are_served_in_turn() {
        for (what, waiting, may, expected) in ROWS {
            let mut queue = FairQueue::default();
            for item in waiting.split_whitespace() {
                queue.push(&item[..1], item);
            }
            let served = std::iter::from_fn(|| queue.pop(|namespace| may.contains(namespace)));
            let served: Vec<&str> = served.map(|(_, item)| item).collect();
            assert_eq!(served.join(" "), *expected, "{what}");
            let left = waiting.split_whitespace().count() > served.len();
            assert_eq!(queue.namespaces().next().is_some(), left, "{what}");
        }
    }

    #[test]
    fn namespace_that_comes_later_is_next_but_one() {
        let mut queue = FairQueue::default();
        for number in 0..1000 {
            queue.push("many", number);
        }
        assert_eq!(queue.pop(|_| true), Some(("many".to_owned(), 0)));
        queue.push("one", -1);
        let next = std::iter::from_fn(|| queue.pop(|_| true)).map(|(_, item)| item);
        let next: Vec<i32> = next.take(3).collect();
        assert_eq!(next, [1, -1, 2]);
    }
}
