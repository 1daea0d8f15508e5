//! Known bugs that are planted around a decision or a machine: what each breaks, in which scope, and its effect.

use std::fmt;

/// A known bug. The default one is none.
pub(super) trait PlantedBug: Copy + Default + fmt::Debug + Sync + 'static {
    /// All bugs.
    const ALL: &'static [Self];

    /// How the guarantee begins that it breaks, and a fact in its message.
    fn breaks(self) -> [&'static str; 2];

    /// The scope in which it does; empty if the first one that shows it counts.
    fn scope(self) -> &'static str;

    /// The effect, and who had it first.
    fn effect(self) -> &'static str;

    /// True iff this is what the bug was planted for.
    fn is_shown_by(self, broken: &str) -> bool {
        let [begins, fact] = self.breaks();
        broken.starts_with(begins) && broken.contains(fact)
    }
}

/// A list of planted bugs.
macro_rules! planted_bugs {
    ($type:ident: $($name:ident: $begins:literal $(and $fact:literal)? in $scope:literal, $effect:literal;)+) => {
        /// A planted bug.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub(super) enum $type {
            /// None.
            #[default]
            None,
            $(#[doc = $effect] $name,)+
        }

        impl $crate::sim::bugs::PlantedBug for $type {
            const ALL: &'static [Self] = &[$(Self::$name,)+];

            fn breaks(self) -> [&'static str; 2] {
                match self { Self::None => ["", ""], $(Self::$name => [$begins, concat!($($fact)?)],)+ }
            }

            fn scope(self) -> &'static str {
                match self { Self::None => "", $(Self::$name => $scope,)+ }
            }

            fn effect(self) -> &'static str {
                match self { Self::None => "", $(Self::$name => $effect,)+ }
            }
        }
    };
}
pub(super) use planted_bugs;
