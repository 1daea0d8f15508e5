//! The graph of all visited states of a model, and the path to each.

use rustc_hash::FxHashMap;

/// The states by number, in the order in which they were met. The first one has the number 0.
pub(super) struct StateGraph<E> {
    /// The parent of each state, the event from there, and whether the model may stop.
    nodes: Vec<(Option<(u32, E)>, bool)>,
    known: FxHashMap<u64, u32>,
    /// Steps without users and faults, backwards: to, from.
    edges: Vec<(u32, u32)>,
}

impl<E: Copy> StateGraph<E> {
    pub(super) fn new() -> Self {
        Self {
            nodes: Vec::new(),
            known: FxHashMap::default(),
            edges: Vec::new(),
        }
    }

    /// The number of states.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The number of the state with this fingerprint, and whether it is new.
    pub(super) fn meet(&mut self, print: u64, is_ended: impl FnOnce() -> bool, from: Option<(u32, E)>) -> (u32, bool) {
        let number = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        let known = *self.known.entry(print).or_insert(number);
        if known == number {
            self.nodes.push((from, is_ended()));
        }
        (known, known == number)
    }

    /// Notes a step that needs neither a user nor a fault.
    pub(super) fn leads(&mut self, from: u32, to: u32) {
        self.edges.push((to, from));
    }

    /// The events that lead to a state, and one more.
    pub(super) fn path(&self, mut at: u32, last: Option<E>) -> Vec<E> {
        let mut events: Vec<E> = last.into_iter().collect();
        while let Some((parent, event)) = self.nodes[at as usize].0 {
            events.push(event);
            at = parent;
        }
        events.reverse();
        events
    }

    /// A state from which no end is reached.
    pub(super) fn endless(&mut self) -> Option<u32> {
        self.edges.sort_unstable();
        let mut ends: Vec<bool> = self.nodes.iter().map(|(_, is_ended)| *is_ended).collect();
        let ended = (0_u32..).zip(&ends).filter(|(_, is_ended)| **is_ended);
        let mut stack: Vec<u32> = ended.map(|(at, _)| at).collect();
        while let Some(at) = stack.pop() {
            let first = self.edges.partition_point(|(to, _)| *to < at);
            for (_, from) in self.edges[first..].iter().take_while(|(to, _)| *to == at) {
                if !std::mem::replace(&mut ends[*from as usize], true) {
                    stack.push(*from);
                }
            }
        }
        (0_u32..).zip(&ends).find(|(_, ends)| !**ends).map(|(at, _)| at)
    }
}
