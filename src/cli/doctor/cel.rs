//! What a condition of the API server names.

/// True iff the CEL expressions contain this text as a whole string.
pub(super) fn names(expressions: &str, text: &str) -> bool {
    let mut quotes = ['"', '\''].iter();
    quotes.any(|quote| expressions.contains(&format!("{quote}{text}{quote}")))
}

/// The expressions in `matchConditions`, one a line.
pub(super) fn conditions(match_conditions: &serde_json::Value) -> String {
    let conditions = match_conditions.as_array().into_iter().flatten();
    let expressions = conditions.filter_map(|condition| condition["expression"].as_str());
    expressions.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn text_is_named_only_as_a_whole() {
        let account = "system:serviceaccount:claim-rollout:claim-rollout-controller";
        for (expressions, expected) in [
            (format!("request.userInfo.username in [\"{account}\"]"), true),
            (format!("!(request.userInfo.username in ['a', '{account}'])"), true),
            (format!("request.userInfo.username == '{account}-2'"), false),
            (format!("request.userInfo.username == 'my-{account}'"), false),
            (String::new(), false),
        ] {
            assert_eq!(names(&expressions, account), expected, "{expressions}");
        }
    }
}
