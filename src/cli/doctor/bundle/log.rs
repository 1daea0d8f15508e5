//! Lines of a log without the annotations that the controller writes to StatefulSets: they contain those of templates.

use serde_json::Value;

use super::allowed::LEFT_OUT;

/// The field of the log.
const FIELD: &str = "annotations";

/// The text without the values of this field.
pub(super) fn without_annotations(log: &str) -> String {
    log.lines().map(|line| line_without(line) + "\n").collect()
}

fn line_without(line: &str) -> String {
    if !line.contains(FIELD) {
        return line.to_owned();
    }
    if let Ok(mut entry) = serde_json::from_str::<Value>(line) {
        if let Some(annotations) = entry.get_mut(FIELD) {
            *annotations = LEFT_OUT.into();
        }
        return entry.to_string();
    }
    // In the form for people, the end of the value cannot be found.
    match line.split_once("annotations=") {
        Some((before, _)) => format!("{before}annotations={LEFT_OUT}"),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::without_annotations;

    #[test]
    fn annotations_are_left_out_in_both_formats() {
        let log = concat!(
            r#"{"level":"INFO","message":"patch","annotations":"{\"a\":\"hunter2\"}","set":"web"}"#,
            "\n",
            "INFO patch StatefulSet: annotation staged set=web annotations={\"a\":\"hunter2\"} outcome=\"done\"\n",
            "WARN the annotations of web cannot be read\n",
        );
        let expected = concat!(
            r#"{"annotations":"(left out)","level":"INFO","message":"patch","set":"web"}"#,
            "\n",
            "INFO patch StatefulSet: annotation staged set=web annotations=(left out)\n",
            "WARN the annotations of web cannot be read\n",
        );
        assert_eq!(without_annotations(log), expected);
    }
}
