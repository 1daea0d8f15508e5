use super::Refusal;
use crate::api::Seconds;
use crate::rollout::fixtures::label;

#[test]
fn retry_pause_doubles_from_one_second_to_five_minutes() {
    let pauses: [(u32, Seconds); 8] = [
        (0, 1),
        (1, 1),
        (2, 2),
        (3, 4),
        (9, 256),
        (10, 300),
        (11, 300),
        (u32::MAX, 300),
    ];
    for (attempts, pause) in pauses {
        let failed = Refusal {
            label: label("r"),
            resource_version: "1".to_owned(),
            cause: "Forbidden".to_owned(),
            message: "exceeded quota".to_owned(),
            attempts,
            last: 1000,
        };
        assert_eq!(failed.retry_at(1100), 1000 + pause, "{attempts}");
        assert_eq!(failed.retry_at(400), 400, "{attempts}: the clock was set back");
    }
}
