//! Runs scenarios that share a cluster side by side, and prints each result at once.

use std::panic::AssertUnwindSafe;
use std::time::Instant;

use anyhow::ensure;
use futures::FutureExt as _;
use futures::StreamExt as _;
use futures::future::LocalBoxFuture;
use futures::stream;

/// The number of concurrent scenarios: enough that the cluster is busy, and so few that webhooks answer in time.
const SIDE_BY_SIDE: usize = 10;
/// The same for scenarios most of which wait for a minute.
pub(crate) const WAITING: usize = 20;

/// The name of a scenario, and its function.
pub(crate) type Scenario<S> = (
    &'static str,
    for<'a> fn(&'a S) -> LocalBoxFuture<'a, anyhow::Result<()>>,
);

/// The list of scenarios of a cluster, `SCENARIOS` unless it has another name.
macro_rules! scenarios {
    ($list:ident: $env:ty; $($file:ident :: $name:ident),* $(,)?) => {
        pub(crate) const $list: &[crate::world::runner::Scenario<$env>] = &[$((
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
    side_by_side: usize,
    ran: usize,
    failures: String,
}

impl Report {
    /// Starts the clock.
    pub(crate) fn new() -> Self {
        Self::of(std::env::var("SCENARIO").unwrap_or_default())
    }

    fn of(only: String) -> Self {
        Self {
            begun: Instant::now(),
            only,
            side_by_side: SIDE_BY_SIDE,
            ran: 0,
            failures: String::new(),
        }
    }

    /// With another number of concurrent scenarios.
    pub(crate) fn side_by_side(mut self, number: usize) -> Self {
        self.side_by_side = number;
        self
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
        let mut running = stream::iter(futures).buffer_unordered(self.side_by_side);
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
        let again = format!("SCENARIO={name} cargo test -p e2e-tests --test e2e{}", test());
        self.failures
            .push_str(&format!("\n{name}: {failure}\nto run it again: {again}\n"));
    }

    /// Fails if a scenario failed, or if none of this test has `SCENARIO` in its name.
    pub(crate) fn end(self) -> anyhow::Result<()> {
        ensure!(self.failures.is_empty(), "\n{}", self.failures);
        ensure!(
            self.ran > 0,
            "no scenario of this test has SCENARIO={:?} in its name; name the test, too: \
             cargo test -p e2e-tests --test e2e cluster::scenarios",
            self.only
        );
        Ok(())
    }
}

/// The arguments that choose this test, if it has a thread of its own.
fn test() -> String {
    let thread = std::thread::current();
    let name = thread.name().filter(|name| name.contains("::"));
    name.map_or_else(String::new, |name| format!(" -- --exact {name}"))
}

#[tokio::test]
async fn name_of_no_scenario_is_a_failure() {
    for (only, expected) in [("", true), ("this::o", true), ("this::one", true), ("typo", false)] {
        let mut report = Report::of(only.to_owned());
        report.run_one("this::one", async { Ok(()) }).await;
        assert_eq!(report.end().is_ok(), expected, "{only}");
    }
}

#[tokio::test]
async fn failed_scenario_prints_the_command_that_repeats_it() {
    let mut report = Report::of(String::new());
    report.run_one("this::one", async { anyhow::bail!("why") }).await;
    let error = report.end().map_err(|error| error.to_string());
    let again = "to run it again: SCENARIO=this::one cargo test -p e2e-tests --test e2e";
    assert!(error.is_err_and(|error| error.contains("this::one: why") && error.contains(again)));
}
