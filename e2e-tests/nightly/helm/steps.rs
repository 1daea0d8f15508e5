//! The tables: what each step of a release leaves behind, by each way of Helm.

/// A step of a release.
pub(super) enum Does {
    /// An upgrade to this size, image and version of the chart.
    Upgrades(&'static str, u32, &'static str),
    /// The previous upgrade once more.
    Repeats,
    /// An upgrade with `--rollback-on-failure` to this size and image, which fails.
    Fails(&'static str, u32),
    /// An upgrade by server-side apply, whatever the way so far.
    CrossesOver(&'static str, u32, &'static str),
    /// `helm rollback` to this revision, which is applied in the way in which it was applied before.
    RollsBack(u32),
    /// The same by server-side apply.
    RollsBackServerSide(u32),
    /// The controller replaces the StatefulSet with one that has the staged templates.
    IsReplaced,
}

/// What Helm leaves.
pub(super) struct Left {
    /// The staged size of the templates whose size is a value of the chart; empty if nothing is staged.
    pub(super) staged: &'static str,
    /// How the warnings about one StatefulSet begin, in their order. `{}` is its first template.
    pub(super) warnings: &'static [&'static str],
}

/// A row of the table.
pub(super) struct Step {
    pub(super) does: Does,
    pub(super) server_side: Left,
    pub(super) client_side: Left,
    /// The sizes that PVCs of these templates may have.
    pub(super) claims: &'static [&'static str],
    /// The image of every Pod.
    pub(super) image: u32,
}

/// A row that is the same for both ways.
const fn same(
    does: Does,
    staged: &'static str,
    warnings: &'static [&'static str],
    claims: &'static [&'static str],
    image: u32,
) -> Step {
    Step {
        does,
        server_side: Left { staged, warnings },
        client_side: Left { staged, warnings },
        claims,
        image,
    }
}

const SMALLER: &str = "no PVC shrinks: one that asks for more keeps it";

/// 3Gi is staged, after nothing was.
const ANEW: Left = Left {
    staged: "3Gi",
    warnings: &["staged {} 1Gi -> 3Gi"],
};
/// 3Gi stays staged, with a warning.
const STILL: Left = Left {
    staged: "3Gi",
    warnings: &["{} 1Gi -> 3Gi"],
};
/// 3Gi is asked for once more.
const AS_BEFORE: Left = Left {
    staged: "3Gi",
    warnings: &[],
};
const WITHDRAWN: Left = Left {
    staged: "",
    warnings: &["withdrew {} 1Gi -> 3Gi"],
};
const EITHER: &[&str] = &["3Gi", "4Gi"];

/// Each row is a revision of the release; [`Does::Fails`] is two.
pub(super) const STEPS: [Step; 14] = [
    same(Does::Upgrades("1Gi", 1, "1.0.0"), "", &[], &["1Gi"], 1),
    // Only the size
    same(
        Does::Upgrades("2Gi", 1, "1.0.0"),
        "2Gi",
        &["staged {} 1Gi -> 2Gi"],
        &["2Gi"],
        1,
    ),
    same(Does::Repeats, "2Gi", &[], &["2Gi"], 1),
    // Size, image, and the label of the templates
    same(
        Does::Upgrades("3Gi", 2, "1.0.1"),
        "3Gi",
        &["staged {} 2Gi -> 3Gi"],
        &["3Gi"],
        2,
    ),
    same(Does::Repeats, "3Gi", &[], &["3Gi"], 2),
    // Every revision of before but the first: PVCs keep what they have
    same(
        Does::RollsBack(2),
        "2Gi",
        &["staged {} 3Gi -> 2Gi", SMALLER],
        &["3Gi"],
        1,
    ),
    same(Does::RollsBack(3), "2Gi", &[], &["3Gi"], 1),
    same(Does::RollsBack(4), "3Gi", &["staged {} 2Gi -> 3Gi"], &["3Gi"], 2),
    same(
        Does::Fails("4Gi", 3),
        "3Gi",
        &["staged {} 3Gi -> 4Gi", "staged {} 4Gi -> 3Gi", SMALLER],
        EITHER,
        2,
    ),
    // The live templates. The patch of client-side apply does not have them
    Step {
        does: Does::RollsBack(1),
        server_side: WITHDRAWN,
        client_side: STILL,
        claims: EITHER,
        image: 1,
    },
    Step {
        does: Does::CrossesOver("3Gi", 4, "1.0.1"),
        server_side: ANEW,
        client_side: AS_BEFORE,
        claims: EITHER,
        image: 4,
    },
    Step {
        does: Does::RollsBack(1),
        server_side: WITHDRAWN,
        client_side: STILL,
        claims: EITHER,
        image: 1,
    },
    Step {
        does: Does::CrossesOver("3Gi", 5, "1.0.1"),
        server_side: ANEW,
        client_side: AS_BEFORE,
        claims: EITHER,
        image: 5,
    },
    Step {
        does: Does::RollsBackServerSide(1),
        server_side: WITHDRAWN,
        client_side: WITHDRAWN,
        claims: EITHER,
        image: 1,
    },
];

/// With `shrink: Keep`: whatever goes back, the image does, and no size.
pub(super) const KEPT: [Step; 9] = [
    same(Does::Upgrades("1Gi", 1, "1.0.0"), "", &[], &["1Gi"], 1),
    same(
        Does::Upgrades("2Gi", 2, "1.0.0"),
        "2Gi",
        &["staged {} 1Gi -> 2Gi"],
        &["2Gi"],
        2,
    ),
    same(
        Does::Upgrades("3Gi", 3, "1.0.0"),
        "3Gi",
        &["staged {} 2Gi -> 3Gi"],
        &["3Gi"],
        3,
    ),
    same(
        Does::RollsBack(2),
        "3Gi",
        &["ignored {} 3Gi -> 2Gi (setting shrink: Keep); the rest passes"],
        &["3Gi"],
        2,
    ),
    Step {
        does: Does::RollsBack(1),
        server_side: WITHDRAWN,
        client_side: STILL,
        claims: &["3Gi"],
        image: 1,
    },
    Step {
        does: Does::Upgrades("3Gi", 2, "1.0.0"),
        server_side: ANEW,
        client_side: AS_BEFORE,
        claims: &["3Gi"],
        image: 2,
    },
    // The live templates are the larger ones now
    same(Does::IsReplaced, "", &[], &["3Gi"], 2),
    same(Does::Repeats, "", &[], &["3Gi"], 2),
    same(
        Does::RollsBack(1),
        "",
        &["ignored {} 3Gi -> 1Gi (setting shrink: Keep); the rest passes"],
        &["3Gi"],
        1,
    ),
];
