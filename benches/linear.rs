//! `make linear`: checks that the cost of an answer is linear in the input, from a usual review to two objects of 3 MiB.
//!
//! For each shape of a review and each length, it measures:
//!
//! * *instructions* per byte in the guest. The number is the same on every machine; a number that is not linear is an
//!   error.
//! * *time* per byte of a call in a fresh instance, with memory that was touched before: the work of the guest.
//! * *fresh*: the same in the host of policy-server, which copies payload and answer, and where the call touches each
//!   page for the first time. Part of this time is that of the operating system, which needs more for each page once a
//!   process requests megabytes at once.
//!
//! A ratio is the worst pair of a shorter and a longer review: the cost of a byte of the longer one, divided by that of
//! the shorter one. (Short reviews cost more per byte, because of the fixed cost of a call.) All parts must be linear:
//! unread ones, read ones, and denied ones. A policy-server stops a guest after two seconds, and then nobody can update
//! the StatefulSet.
//!
//! A quadratic control compares each line with all others. If the control is found to be linear, the benchmark does not
//! work, and that is an error.

mod bare;
mod module;

use std::error::Error;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use claim_rollout::templates::{ClaimTemplate, Phase, StagedChange, Staging, UpdatePolicy};
use wapc::WapcHost;
use wasmtime_provider::wasmtime::{Config, Engine, Module};
use wasmtime_provider::{WasmtimeEngineProviderBuilder, WasmtimeEngineProviderPre};

use bare::{Bare, Call};
use module::DEADLINES;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The lengths of the reviews, in bytes.
const LENGTHS: [usize; 6] = [15 << 10, 60 << 10, 250 << 10, 659 << 10, 2 << 20, 6 << 20];
/// The largest ratio.
const TARGET: f64 = 1.3;
/// The time for one measurement, and the fewest calls.
const BUDGET: Duration = Duration::from_millis(100);
const FEWEST: usize = 5;
/// Each round measures all lengths, and the best result of each length counts. A machine that is slow for a second then
/// spoils at most one round.
const ROUNDS: usize = 6;
/// A measurement that takes longer is not repeated with longer reviews.
const PATIENCE: Duration = Duration::from_secs(2);

/// The field that makes a review long.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Annotations,
    /// `spec.volumeClaimTemplates[0].metadata.labels`
    TemplateLabels,
    /// `metadata.managedFields` of a StatefulSet with a staged change, which the policy reads to detect a withdrawal.
    Managers,
    /// `metadata.ownerReferences`
    Owners,
    /// `spec.selector.matchLabels`
    Selector,
    /// `metadata.labels` of a PVC that is created, and `spec.selector.matchLabels` of its StatefulSet.
    ClaimLabels,
}

/// A review with many entries in one field.
struct Shape {
    name: &'static str,
    place: Place,
    /// One entry; `{n}` is its number.
    item: &'static str,
    /// The size in the new template; the old one has 10Gi.
    target: &'static str,
}

const TEXT: &str = r#""example.com/{n}":"some text that somebody has written here, 64 bytes of it.""#;
const LABEL: &str = r#""label-{n}":"x""#;

const SHAPES: [Shape; 10] = [
    shape("nothing changes, unread", Place::Annotations, TEXT, "10Gi"),
    shape("grow, unread", Place::Annotations, TEXT, "20Gi"),
    shape(
        "grow, unread and escaped",
        Place::Annotations,
        r#""example.com/{n}":"\"some\\text\n\u00e9\"\t\t\t\t\t\t\t\t\t\t\t\t""#,
        "20Gi",
    ),
    shape(
        "grow, our annotations",
        Place::Annotations,
        r#""claim-rollout.io/{n}":"some text that somebody has written here""#,
        "20Gi",
    ),
    shape("grow, labels (denied)", Place::TemplateLabels, LABEL, "20Gi"),
    shape("error at the end", Place::Annotations, TEXT, "20Gi\""),
    shape(
        "staged, managers",
        Place::Managers,
        r#"{"manager":"m-{n}","operation":"Update","fieldsV1":{"f:metadata":{"f:labels":{"f:a":{}}}}}"#,
        "10Gi",
    ),
    shape(
        "grow, owners",
        Place::Owners,
        r#"{"apiVersion":"v1","kind":"ConfigMap","name":"o-{n}","uid":"u-{n}"}"#,
        "20Gi",
    ),
    shape("grow, selector", Place::Selector, LABEL, "20Gi"),
    shape("a claim's labels", Place::ClaimLabels, LABEL, "10Gi"),
];

const fn shape(name: &'static str, place: Place, item: &'static str, target: &'static str) -> Shape {
    Shape {
        name,
        place,
        item,
        target,
    }
}

/// The payload, and the result of each lookup.
struct Review {
    text: String,
    found: String,
}

impl Review {
    fn call(&self) -> Call {
        Call::with(&self.text, &self.found)
    }
}

/// A staged change of 20Gi, as an annotation.
fn staged() -> String {
    let templates = r#"[{"metadata":{"name":"data"},"spec":{"resources":{"requests":{"storage":"20Gi"}}}}]"#;
    let change = StagedChange {
        by: "alice".to_owned(),
        manager: "helm".to_owned(),
        phase: Phase::RollingOut,
        replicas: 0,
        staging: Staging::read("xz245").expect("a staging"),
        templates: ClaimTemplate::read_list(templates).unwrap_or_default(),
        uid: "u-1".to_owned(),
        update_policy: UpdatePolicy::InPlace,
    };
    let text = change.write().unwrap_or_default();
    format!(r#""claim-rollout.io/staged":{}"#, serde_json::Value::from(text))
}

impl Shape {
    /// A review of about this length.
    fn review(&self, length: usize) -> Review {
        if self.place == Place::ClaimLabels {
            let filling = self.items(length / (self.entry(0).len() + 1));
            let text = format!(
                r#"{{"settings":{{}},"request":{{"uid":"1","kind":{{"group":"","version":"v1","kind":"PersistentVolumeClaim"}},"operation":"CREATE","name":"data-web-0","namespace":"shop","userInfo":{{"username":"system:serviceaccount:kube-system:statefulset-controller"}},"object":{{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{{"name":"data-web-0","namespace":"shop","labels":{{{}}}}},"spec":{{"resources":{{"requests":{{"storage":"10Gi"}}}}}}}}}}}}"#,
                filling
            );
            let found = format!(
                r#"{{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{{"name":"web","namespace":"shop","uid":"u-1","annotations":{{{}}}}},"spec":{{"replicas":3,"selector":{{"matchLabels":{{{filling}}}}},"volumeClaimTemplates":[{{"metadata":{{"name":"data"}},"spec":{{"resources":{{"requests":{{"storage":"10Gi"}}}}}}}}]}}}}"#,
                staged()
            );
            return Review { text, found };
        }
        let filling = self.items(length / 2 / (self.entry(0).len() + 1));
        let at = |place: Place| if self.place == place { &*filling } else { "" };
        let annotations = if self.place == Place::Managers {
            staged()
        } else {
            at(Place::Annotations).to_owned()
        };
        let (labels, selector) = (at(Place::TemplateLabels), at(Place::Selector));
        let (managers, owners) = (at(Place::Managers), at(Place::Owners));
        let object = |size: &str| {
            format!(
                r#"{{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{{"name":"web","namespace":"shop","uid":"u-1","annotations":{{{annotations}}},"ownerReferences":[{owners}],"managedFields":[{managers}]}},"spec":{{"replicas":3,"selector":{{"matchLabels":{{{selector}}}}},"volumeClaimTemplates":[{{"metadata":{{"name":"data","labels":{{{labels}}}}},"spec":{{"resources":{{"requests":{{"storage":"{size}"}}}}}}}}]}}}}"#
            )
        };
        let text = format!(
            r#"{{"settings":{{"authority":"TrustSetEditors"}},"request":{{"uid":"1","kind":{{"group":"apps","version":"v1","kind":"StatefulSet"}},"operation":"UPDATE","name":"web","namespace":"shop","userInfo":{{"username":"alice"}},"options":{{"fieldManager":"helm"}},"oldObject":{},"object":{}}}}}"#,
            object("10Gi"),
            object(self.target)
        );
        let found = String::new();
        Review { text, found }
    }

    /// An entry with its number.
    fn entry(&self, number: usize) -> String {
        self.item.replace("{n}", &format!("{number:06}"))
    }

    fn items(&self, count: usize) -> String {
        let items = (0..count).map(|number| self.entry(number));
        items.collect::<Vec<_>>().join(",")
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let guests = Guests::load()?;
    for shape in &SHAPES {
        // A warm-up: the allocator of the host starts to keep large blocks.
        guests.fresh(&shape.review(LENGTHS[LENGTHS.len() - 1]))?;
    }
    println!("cost per byte by length; ratio = most expensive byte / cheapest byte of a shorter review");
    println!("  instructions: what the guest executes, exact on every machine; above the target is an error");
    println!("  ns: the time of a call in memory that was touched before, so the guest's own work");
    println!(
        "  ns, fresh: as in policy-server, with copies by the host and page faults of its operating system: no target"
    );
    many_labels(&guests)?;
    control()?;
    for shape in &SHAPES {
        let reviews = LENGTHS.map(|length| shape.review(length));
        let counted = Costs::take(&reviews, |review| Ok(guests.counted.fuel(review.call())? as f64))?;
        counted.print(shape.name, "instructions", Judged::Yes);
        if counted.ratio() > TARGET {
            return Err(format!("{}: the number of instructions is not linear", shape.name).into());
        }
        Costs::take(&reviews, |review| guests.touched(review))?.print("", "ns", Judged::Yes);
        Costs::take(&reviews, |review| guests.fresh(review))?.print("", "ns, fresh", Judged::No);
    }
    Ok(())
}

/// A PVC with many labels, which a tenant can make the StatefulSet controller create, and the time limit.
const LABELS: usize = 40_000;
const LABELS_MS: f64 = 30.0;
/// The limit of instructions, which are equal on every machine. More is an error.
const LABELS_INSTRUCTIONS: u64 = 220_000_000;

fn many_labels(guests: &Guests) -> Result<()> {
    let labels = &SHAPES[SHAPES.len() - 1];
    let review = labels.review(LABELS * (labels.entry(0).len() + 1));
    let mut call = review.call();
    guests.touched.time(&mut call)?;
    let answer = String::from_utf8_lossy(call.answer());
    if !answer.contains("claim-rollout.io/revision") || answer.matches(r#""label-"#).count() != LABELS {
        return Err(format!("expected a claim with {LABELS} labels and our own, but found another answer").into());
    }
    let ms = guests.touched(&review)? / 1e6;
    let verdict = if ms <= LABELS_MS { "PASS" } else { "above target" };
    let instructions = guests.counted.fuel(review.call())?;
    println!(
        "a claim with {LABELS} labels, all of its selector: {ms:.1} ms of at most {LABELS_MS:.0} {verdict}, {} M instructions",
        instructions / 1_000_000
    );
    if instructions > LABELS_INSTRUCTIONS {
        return Err(format!("expected at most {LABELS_INSTRUCTIONS} instructions for the labels of a claim").into());
    }
    Ok(())
}

/// Returns an error if quadratic work is found to be linear.
fn control() -> Result<()> {
    let texts = [15 << 10, 60 << 10, 250 << 10].map(|length| SHAPES[0].review(length));
    let costs = Costs::take(&texts, |review| {
        let lines: Vec<&str> = review.text.split(',').collect();
        quartile(|| {
            let start = Instant::now();
            let others = |line: &str| lines.iter().filter(|other| **other == line).count();
            black_box(lines.iter().map(|line| others(line)).sum::<usize>());
            Ok(start.elapsed())
        })
    })?;
    costs.print("control, quadratic", "ns", Judged::Yes);
    if costs.ratio() <= TARGET {
        return Err("the quadratic control was found to be linear, so the benchmark does not work".into());
    }
    Ok(())
}

/// Whether the target applies to a ratio.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Judged {
    Yes,
    No,
}

/// The cost per byte, by length, shortest first.
struct Costs(Vec<(usize, f64)>);

impl Costs {
    fn take(reviews: &[Review], mut cost: impl FnMut(&Review) -> Result<f64>) -> Result<Self> {
        let mut each: Vec<(usize, f64)> = reviews.iter().map(|review| (review.text.len(), f64::MAX)).collect();
        for _ in 0..ROUNDS {
            for (review, (length, best)) in reviews.iter().zip(&mut each) {
                *best = best.min(cost(review)? / *length as f64);
            }
        }
        Ok(Self(each))
    }

    fn ratio(&self) -> f64 {
        let mut cheapest = f64::MAX;
        let growth = self.0.iter().map(|(_, cost)| {
            cheapest = cheapest.min(*cost);
            cost / cheapest
        });
        growth.fold(1.0, f64::max)
    }

    fn print(&self, name: &str, unit: &str, judged: Judged) {
        let ratio = self.ratio();
        let verdict = match judged {
            Judged::No => "",
            Judged::Yes if ratio <= TARGET => "PASS",
            Judged::Yes => "above target",
        };
        let each = self
            .0
            .iter()
            .map(|(length, cost)| format!("  {} KB: {cost:.2}", length >> 10));
        let each: String = each.collect();
        println!("{name:<26}{unit:<14}{ratio:>5.2}x {verdict:<13}{each}");
    }
}

/// The same module in three hosts.
struct Guests {
    /// The host of policy-server.
    pre: WasmtimeEngineProviderPre,
    /// A host that counts instructions.
    counted: Bare,
    /// A host that touches memory before the call.
    touched: Bare,
}

impl Guests {
    fn load() -> Result<Self> {
        let name = "CLAIM_ROLLOUT_POLICY";
        let bytes = module::read(name)?;
        let config = module::policy_server();
        let engine = Engine::new(&config)?;
        let module = Module::new(&engine, &bytes)?;
        let builder = WasmtimeEngineProviderBuilder::new().engine(engine).module(module);
        let mut counting = Config::new();
        counting.wasm_function_references(true).consume_fuel(true);
        Ok(Self {
            pre: builder.enable_epoch_interruptions(DEADLINES).build_pre()?,
            counted: Bare::load(&bytes, &counting)?,
            touched: Bare::load(&bytes, &config)?,
        })
    }

    /// The time of a call in nanoseconds, with memory that was touched before.
    fn touched(&self, review: &Review) -> Result<f64> {
        let mut call = review.call();
        quartile(|| self.touched.time(&mut call))
    }

    /// The time of a call in nanoseconds, as in policy-server.
    fn fresh(&self, review: &Review) -> Result<f64> {
        quartile(|| {
            let engine = self.pre.rehydrate(Some(DEADLINES))?;
            let found = review.found.clone().into_bytes();
            let look_up = move |_, _: &str, _: &str, _: &str, _: &[u8]| Ok(found.clone());
            let host = WapcHost::new(Box::new(engine), Some(Box::new(look_up)))?;
            let start = Instant::now();
            host.call("validate", review.text.as_bytes())?;
            Ok(start.elapsed())
        })
    }
}

/// The lowest quartile of several times, in nanoseconds: other load on the machine only adds to a time.
fn quartile(mut time: impl FnMut() -> Result<Duration>) -> Result<f64> {
    let mut times = Vec::new();
    let begin = Instant::now();
    while times.len() < FEWEST || begin.elapsed() < BUDGET {
        times.push(time()?);
        if begin.elapsed() > PATIENCE {
            break;
        }
    }
    times.sort_unstable();
    Ok(times[times.len() / 4].as_secs_f64() * 1e9)
}
