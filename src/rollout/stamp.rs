//! Times as users read them: `2026-11-23T14:00:00Z` (RFC 3339). Small and own, because the decisions know no library of time.

use super::snapshot::Seconds;

const DAY: Seconds = 24 * 60 * 60;

/// The days of 400 years, after which the calendar repeats itself.
const ERA: u64 = 146_097;

/// From 0000-03-01, where the years of the algorithm begin, to 1970-01-01.
const TO_1970: u64 = 719_468;

/// The last second of the year 9999, after which there is no such text.
const LAST: Seconds = 253_402_300_799;

/// The time as it is written. One that has no such text is the last that has.
#[must_use]
pub(super) fn write(time: Seconds) -> String {
    let time = time.min(LAST);
    let (day, second) = (time / DAY, time % DAY);
    let (year, month, day) = date(day);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The time that is written so; nothing where none is.
#[must_use]
pub(super) fn read(text: &str) -> Option<Seconds> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let [year, month, day] = numbers(date, '-')?;
    let [hour, minute, second] = numbers(time, ':')?;
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let found = days(year, month, day) * DAY + hour * 3600 + minute * 60 + second;
    // Whatever is no time (a 30th of February, a minute 61) is written otherwise.
    (write(found) == text).then_some(found)
}

fn numbers(text: &str, between: char) -> Option<[u64; 3]> {
    let mut parts = text.split(between);
    let mut next = || parts.next().filter(|part| part.len() <= 4)?.parse().ok();
    let numbers = [next()?, next()?, next()?];
    parts.next().is_none().then_some(numbers)
}

/// Year, month and day of a day since 1970-01-01 (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
const fn date(day: u64) -> (u64, u64, u64) {
    let day = day + TO_1970;
    let (era, of_era) = (day / ERA, day % ERA);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + next, month, day)
}

/// The other way round.
const fn days(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let (era, of_era) = (year / 400, year % 400);
    let of_year = (153 * month + 2) / 5 + day - 1;
    era * ERA + of_era * 365 + of_era / 4 - of_era / 100 + of_year - TO_1970
}

#[cfg(test)]
mod tests {
    use super::{LAST, read, write};

    #[test]
    fn times_are_written_and_read_back() {
        for (time, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (86_399, "1970-01-01T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_795_442_400, "2026-11-23T14:00:00Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (LAST, "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(write(time), text);
            assert_eq!(read(text), Some(time), "{text}");
        }
        assert_eq!(write(u64::MAX), write(LAST));
    }

    #[test]
    fn every_day_of_the_calendar_reads_back() {
        let days = (0..=LAST / 86_400).map(|day| day * 86_400 + 3_661);
        let wrong = days.filter(|time| read(&write(*time)) != Some(*time));
        assert_eq!(wrong.collect::<Vec<_>>(), Vec::<u64>::new());
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "",
            "2026-11-23",
            "2026-11-23T14:00:00",
            "2026-11-23T14:00Z",
            "2026-02-30T00:00:00Z",
            "2026-00-10T00:00:00Z",
            "2026-11-00T00:00:00Z",
            "2026-11-23T14:61:00Z",
            "2026-11-23T24:00:00Z",
            "2026-1-23T14:00:00Z",
            "0001-01-01T00:00:00Z",
            "12026-01-01T00:00:00Z",
            "2026-11-23T14:00:00:00Z",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
