//! Numbers of versions and generations: those of the world, and those that a machine keeps.

use super::memory::{Input, KnownNumbers, SmallProcess};
use crate::replace::canonical::Renumber;

/// The most numbers of a controller and of an input.
const MOST: usize = 24;

/// The numbers of a controller and of an input together. In it, versions are numbered from 1 on in the order in which
/// they are met, and generations by their rank.
pub(super) struct Frame {
    versions: Numbers,
    generations: Numbers,
}

/// Numbers in a row.
#[derive(Clone, Copy, Default)]
struct Numbers {
    all: [u8; MOST],
    count: usize,
}

impl Numbers {
    fn all(&self) -> &[u8] {
        &self.all[..self.count]
    }

    fn add(&mut self, number: u8) {
        if number != 0 && !self.all().contains(&number) {
            self.all[self.count] = number;
            self.count += 1;
        }
    }

    /// The place of a number, from 1 on. 0 stays 0.
    fn place(&self, number: u8) -> u8 {
        let place = self.all().iter().position(|one| *one == number);
        place.map_or(0, |place| u8::try_from(place + 1).unwrap_or(0))
    }

    fn at(&self, place: u8) -> u8 {
        if place == 0 {
            0
        } else {
            self.all[usize::from(place) - 1]
        }
    }

    fn known(&self) -> KnownNumbers {
        let mut known = KnownNumbers::default();
        known[..self.count].copy_from_slice(self.all());
        known
    }
}

impl Frame {
    /// The frame, and the input in its numbers.
    pub(super) fn of(process: &SmallProcess, mut input: Input) -> (Self, Input) {
        let (mut versions, mut generations) = (Numbers::default(), Numbers::default());
        process.versions.iter().for_each(|version| versions.add(*version));
        process.generations.iter().for_each(|one| generations.add(*one));
        input.versions(&mut |version| versions.add(*version));
        input.generations(&mut |generation| generations.add(*generation));
        generations.all[..generations.count].sort_unstable();
        input.versions(&mut |version| *version = versions.place(*version));
        input.generations(&mut |generation| *generation = generations.place(*generation));
        (Self { versions, generations }, input)
    }

    /// The generations of the controller in the numbers of the frame.
    pub(super) fn generations_of(&self, process: &SmallProcess) -> KnownNumbers {
        process.generations.map(|generation| self.generations.place(generation))
    }

    /// Gives the controller the numbers of the world back.
    pub(super) fn restore(&self, process: &mut SmallProcess) {
        process.versions(&mut |version| *version = self.versions.at(*version));
        process.generations(&mut |generation| *generation = self.generations.at(*generation));
    }
}

/// The numbers that a machine keeps, in the order in which it shows them.
#[derive(Default)]
pub(super) struct Collected {
    versions: Numbers,
    generations: Numbers,
}

impl Collected {
    /// What gives each of them the number of its place.
    pub(super) fn renumbered(&mut self) -> Renumbered {
        let generations = &mut self.generations;
        generations.all[..generations.count].sort_unstable();
        Renumbered {
            versions: self.versions,
            generations: *generations,
            is_back: false,
        }
    }

    pub(super) fn versions(&self) -> KnownNumbers {
        self.versions.known()
    }

    pub(super) fn generations(&self) -> KnownNumbers {
        self.generations.known()
    }
}

impl Renumber for Collected {
    fn version(&mut self, version: &mut String) {
        self.versions.add(version.parse().unwrap_or(0));
    }

    fn generation(&mut self, generation: &mut i64) {
        self.generations.add(u8::try_from(*generation).unwrap_or(0));
    }
}

/// Gives numbers their place, or generations the number at their place.
pub(super) struct Renumbered {
    versions: Numbers,
    generations: Numbers,
    is_back: bool,
}

impl Renumbered {
    /// What gives generations the numbers of a frame. The versions of a machine have the same numbers there.
    pub(super) fn back(generations: &KnownNumbers) -> Self {
        let mut numbers = Numbers::default();
        generations.iter().for_each(|generation| numbers.add(*generation));
        Self {
            versions: Numbers::default(),
            generations: numbers,
            is_back: true,
        }
    }
}

impl Renumber for Renumbered {
    fn version(&mut self, version: &mut String) {
        if !self.is_back {
            *version = self.versions.place(version.parse().unwrap_or(0)).to_string();
        }
    }

    fn generation(&mut self, generation: &mut i64) {
        let number = u8::try_from(*generation).unwrap_or(0);
        *generation = if self.is_back {
            self.generations.at(number).into()
        } else {
            self.generations.place(number).into()
        };
    }
}
