//! The sizes that LimitRanges allow (kubernetes/kubernetes, `plugin/pkg/admission/limitranger`).

use crate::templates::Quantity;

/// The sizes that one LimitRange allows for a PVC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SizeLimits {
    /// The largest request.
    pub max: Option<Quantity>,
    /// The smallest request.
    pub min: Option<Quantity>,
}

impl SizeLimits {
    /// Why a request of this size is denied, with the message of the API server; `None` if it is allowed.
    #[must_use]
    pub fn denial(&self, request: Quantity) -> Option<String> {
        let words = |which, limit: Quantity| {
            format!("{which} storage usage per PersistentVolumeClaim is {limit}, but request is {request}")
        };
        let max = self.max.filter(|max| request > *max).map(|max| words("maximum", max));
        max.or_else(|| self.min.filter(|min| request < *min).map(|min| words("minimum", min)))
    }
}

#[cfg(test)]
mod tests {
    use super::SizeLimits;

    #[test]
    fn limits_deny_with_the_message_of_the_api_server() {
        let size = |text: &str| text.parse().expect("a size");
        let limits = |max: Option<&str>, min: Option<&str>| SizeLimits {
            max: max.map(size),
            min: min.map(size),
        };
        let both = limits(Some("5Gi"), Some("2Gi"));
        let row = |limits: SizeLimits, request| limits.denial(size(request)).unwrap_or_default();
        assert_eq!([row(both, "2Gi"), row(both, "5Gi")], ["", ""]);
        assert_eq!(
            row(both, "6Gi"),
            "maximum storage usage per PersistentVolumeClaim is 5Gi, but request is 6Gi"
        );
        assert_eq!(
            row(both, "1Gi"),
            "minimum storage usage per PersistentVolumeClaim is 2Gi, but request is 1Gi"
        );
        assert_eq!(row(limits(None, None), "1Gi"), "");
        assert_eq!(row(limits(Some("5Gi"), None), "1Gi"), "");
    }
}
