//! Runs scenarios that share a cluster side by side, and prints each result at once.

use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::time::Instant;

use anyhow::ensure;
use futures::FutureExt as _;
use futures::StreamExt as _;
use futures::future::LocalBoxFuture;
use futures::stream;

use crate::world::repository::root;

/// The number of concurrent scenarios: enough that the cluster is busy, and so few that webhooks answer in time.
const SIDE_BY_SIDE: usize = 10;

/// The name of a scenario, and its function.
pub(crate) type Scenario<S> = (
    &'static str,
    for<'a> fn(&'a S) -> LocalBoxFuture<'a, anyhow::Result<()>>,
);

/// The list of scenarios of a cluster, `SCENARIOS` unless it has another name.
macro_rules! scenarios {
    ($list:ident: $env:ty; $($file:ident :: $name:ident),* $(,)?) => {
        const $list: &[crate::world::runner::Scenario<$env>] = &[$((
            concat!(stringify!($file), "::", stringify!($name)),
            |env| futures::FutureExt::boxed_local($file::$name(env)),
        )),*];
    };
    ($env:ty; $($scenarios:tt)*) => {
        scenarios![SCENARIOS: $env; $($scenarios)*];
    };
}
pub(crate) use scenarios;

/// The results of scenarios.
pub(crate) struct Report {
    begun: Instant,
    /// Only scenarios with this in their names run.
    only: String,
    ran: usize,
    failures: String,
}

impl Report {
    /// Starts the clock.
    pub(crate) fn new() -> Self {
        Self {
            begun: Instant::now(),
            only: std::env::var("SCENARIO").unwrap_or_default(),
            ran: 0,
            failures: String::new(),
        }
    }

    /// Prints a line with the time.
    pub(crate) fn print(&self, what: &str) {
        println!("{:6.1} s  {what}", self.begun.elapsed().as_secs_f64());
    }

    /// Runs the scenarios side by side.
    pub(crate) async fn run<S>(&mut self, env: &S, scenarios: &[Scenario<S>]) {
        let futures = scenarios
            .iter()
            .map(|(name, scenario)| ((*name).to_owned(), scenario(env)));
        self.run_all(futures.collect()).await;
    }

    /// The same for futures, by their names.
    pub(crate) async fn run_all(&mut self, futures: Vec<(String, LocalBoxFuture<'_, anyhow::Result<()>>)>) {
        let chosen = futures.into_iter().filter(|(name, _)| name.contains(&self.only));
        let futures: Vec<_> = chosen
            .map(|(name, future)| async move { (name, AssertUnwindSafe(future).catch_unwind().await) })
            .collect();
        let mut running = stream::iter(futures).buffer_unordered(SIDE_BY_SIDE);
        while let Some((name, result)) = running.next().await {
            self.add(&name, result);
        }
    }

    /// Runs one scenario alone.
    pub(crate) async fn run_one(&mut self, name: &str, scenario: impl Future<Output = anyhow::Result<()>>) {
        if name.contains(&self.only) {
            let result = AssertUnwindSafe(scenario).catch_unwind().await;
            self.add(name, result);
        }
    }

    /// Prints the result of one scenario, and remembers a failure.
    fn add(&mut self, name: &str, result: std::thread::Result<anyhow::Result<()>>) {
        self.ran += 1;
        let failure = match result {
            Ok(Ok(())) => return self.print(&format!("ok      {name}")),
            Ok(Err(error)) => format!("{error:#}"),
            Err(_) => "it panicked, see above".to_owned(),
        };
        self.print(&format!("FAILED  {name}"));
        let again = format!("SCENARIO={name} cargo test -p e2e-tests --test e2e");
        self.failures
            .push_str(&format!("\n{name}: {failure}\nto run it again: {again}\n"));
    }

    /// Fails if a scenario failed, or if none has `SCENARIO` in its name, here or in another test.
    pub(crate) fn end(self) -> anyhow::Result<()> {
        ensure!(self.failures.is_empty(), "\n{}", self.failures);
        let name = self.only.rsplit("::").next().unwrap_or_default();
        let is_known = self.ran > 0 || is_in_source(&root().join("e2e-tests"), name)?;
        ensure!(is_known, "no scenario has {:?} in its name", self.only);
        Ok(())
    }
}

fn is_in_source(folder: &Path, name: &str) -> anyhow::Result<bool> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let is_source = path.extension().is_some_and(|extension| extension == "rs");
        if path.is_dir() && is_in_source(&path, name)? || is_source && std::fs::read_to_string(&path)?.contains(name) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[test]
fn name_of_no_scenario_is_a_failure() {
    for (only, ran, expected) in [
        (["no", "such"].concat(), 0, false),
        (["no", "such"].concat(), 1, true),
        ("runner::name_of_no_scenario".to_owned(), 0, true),
        (String::new(), 0, true),
    ] {
        let report = Report {
            only: only.clone(),
            ran,
            ..Report::new()
        };
        assert_eq!(report.end().is_ok(), expected, "{only} {ran}");
    }
}
