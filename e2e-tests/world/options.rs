//! The options of a control plane.

use anyhow::Context as _;

use super::Driver;

/// The control plane to start.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// The minor version, such as `1.37`. Default: the environment variable `K8S`, or 1.37.
    pub(crate) minor: String,
    /// Keeps the folder with the logs after a success. Default: whether the environment variable `E2E_KEEP` is set.
    pub(crate) keep: bool,
    /// The initial behaviour of the CSI driver.
    pub(crate) driver: Driver,
    /// Whether controllers run. Default: yes. Without controllers there is only the API server, and what it needs.
    pub(crate) controllers: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            minor: std::env::var("K8S").unwrap_or_else(|_| "1.37".to_owned()),
            keep: std::env::var_os("E2E_KEEP").is_some(),
            driver: Driver::default(),
            controllers: true,
        }
    }
}

impl Options {
    /// An API server, and what it needs.
    pub(crate) fn without_controllers() -> Self {
        Self {
            controllers: false,
            ..Self::default()
        }
    }

    /// Volumes take this long to grow: long enough that something else can happen meanwhile.
    pub(crate) fn expanding_in(millis: u64) -> Self {
        Self {
            driver: Driver {
                expand_delay_millis: millis,
                ..Driver::default()
            },
            ..Self::default()
        }
    }
}

/// The number in an environment variable, if it is set.
pub(crate) fn number(variable: &str) -> anyhow::Result<Option<u64>> {
    let text = std::env::var(variable).ok();
    let number = text.map(|text| text.parse()).transpose();
    number.with_context(|| format!("expected a number in {variable}"))
}
