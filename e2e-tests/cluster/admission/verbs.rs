//! A template change is staged by every verb that a user can choose.

use anyhow::{Context as _, ensure};
use futures::future::try_join_all;
use serde_json::{Value, json};

use crate::world::namespace::{STAGED, TestNamespace, are_as_written, staged_change, text};
use crate::world::served::Policies;
use crate::world::web::Web;
use crate::world::{Output, World};

/// The ways to change a template.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Verb {
    Apply,
    ServerSideApply,
    Replace,
    MergePatch,
    StrategicPatch,
    JsonPatch,
    Edit,
}

/// Each verb with its namespace and the field manager that kubectl uses for it.
const VERBS: [(Verb, &str, &str); 7] = [
    (Verb::Apply, "verbs-apply", "kubectl-client-side-apply"),
    (Verb::ServerSideApply, "verbs-server-side-apply", "kubectl"),
    (Verb::Replace, "verbs-replace", "kubectl-replace"),
    (Verb::MergePatch, "verbs-merge-patch", "kubectl-patch"),
    (Verb::StrategicPatch, "verbs-strategic-patch", "kubectl-patch"),
    (Verb::JsonPatch, "verbs-json-patch", "kubectl-patch"),
    (Verb::Edit, "verbs-edit", "kubectl-edit"),
];

const GROWN: &str = "Warning: claim-rollout: staged data 1Gi -> 2Gi; 1 PVC will be updated in place, highest ordinal first \
                     (kubectl claim-rollout status web -n ";
const WITHDRAWN: &str = "Warning: claim-rollout: withdrew data 1Gi -> 2Gi; updated PVCs stay as they are\n";

/// The content of a request: the size, if it changes the template, and the value of a label.
#[derive(Clone, Copy, Debug)]
struct Ask<'a> {
    size: Option<&'a str>,
    note: &'a str,
}

impl Verb {
    /// Whether a request contains the whole StatefulSet.
    fn is_whole(self) -> bool {
        matches!(self, Self::Apply | Self::ServerSideApply | Self::Replace)
    }

    async fn send(self, ns: &TestNamespace<'_>, ask: Ask<'_>, more: &[&str]) -> anyhow::Result<Output> {
        let whole = manifest(ask.size.unwrap_or("1Gi"), ask.note).to_string();
        let labels = json!({"metadata": {"labels": {"note": ask.note}}});
        let mut patch = labels.clone();
        if let Some(size) = ask.size {
            patch["spec"]["volumeClaimTemplates"] = json!([{"metadata": {"name": "data"}, "spec": {
                "accessModes": ["ReadWriteOnce"], "storageClassName": "expandable", "resources": {"requests": {"storage": size}},
            }}]);
        }
        let mut steps = vec![json!({"op": "replace", "path": "/metadata/labels/note", "value": ask.note})];
        if let Some(size) = ask.size {
            let path = "/spec/volumeClaimTemplates/0/spec/resources/requests/storage";
            steps.push(json!({"op": "replace", "path": path, "value": size}));
        }
        let (patch, steps) = (patch.to_string(), Value::from(steps).to_string());
        let set = ["patch", "statefulset", "web"];
        let (arguments, input) = match self {
            Self::Apply => (vec!["apply", "-f", "-"], whole.as_str()),
            Self::ServerSideApply => (vec!["apply", "--server-side", "-f", "-"], whole.as_str()),
            Self::Replace => (vec!["replace", "-f", "-"], whole.as_str()),
            Self::MergePatch => ([&set[..], &["--type=merge", "-p", &patch]].concat(), ""),
            Self::StrategicPatch => ([&set[..], &["--type=strategic", "-p", &patch]].concat(), ""),
            Self::JsonPatch => ([&set[..], &["--type=json", "-p", &steps]].concat(), ""),
            Self::Edit => return edit(ns, ask).await,
        };
        ns.kubectl(&[&arguments, more].concat(), input).await
    }
}

fn manifest(size: &str, note: &str) -> Web {
    let web = Web::replicas(1).size(size).plain();
    web.with(&json!({"metadata": {"labels": {"note": note}}}))
}

/// `kubectl edit` with sed as the editor.
async fn edit(ns: &TestNamespace<'_>, ask: Ask<'_>) -> anyhow::Result<Output> {
    let size = ask
        .size
        .map(|size| format!("s/^\\( *storage:\\) .*/\\1 {size}/;"))
        .unwrap_or_default();
    let editor = format!("sed -i '{size}s/^\\(    note:\\) .*/\\1 {}/'", ask.note);
    let arguments = ["edit", "statefulset", "web", "--namespace", &ns.namespace];
    ns.cluster
        .run("kubectl", &arguments, &[("KUBE_EDITOR", &editor)], "")
        .await
}

/// The result of a request: the output of kubectl, and the StatefulSet before and after.
struct Done {
    stderr: String,
    before: Value,
    after: Value,
}

impl Done {
    fn moved(&self, key: &str) -> bool {
        self.before["metadata"][key] != self.after["metadata"][key]
    }

    fn staged_change(&self) -> &Value {
        &self.after["metadata"]["annotations"][STAGED]
    }

    /// Checks that the templates, the generation and the rest of the spec did not change.
    fn check_spec(&self) -> anyhow::Result<()> {
        ensure!(self.before["spec"] == self.after["spec"], "{:#}", self.after["spec"]);
        ensure!(!self.moved("generation"), "the generation moved");
        Ok(())
    }
}

/// Sends a request twice: first as a dry run, where kubectl can. The dry run prints the same and changes nothing.
async fn send(ns: &TestNamespace<'_>, verb: Verb, ask: Ask<'_>) -> anyhow::Result<Done> {
    let before = ns.settled().await?;
    let mut dry = None;
    if verb != Verb::Edit {
        let output = verb.send(ns, ask, &["--dry-run=server", "-o", "json"]).await?;
        ensure!(output.success, "{verb:?} {ask:?}: {output:?}");
        ensure!(ns.set().await? == before, "{verb:?} {ask:?}: a dry run changed the set");
        dry = Some(output);
    }
    let output = verb.send(ns, ask, &["-o", "json"]).await?;
    ensure!(output.success, "{verb:?} {ask:?}: {output:?}");
    let after = ns.set().await?;
    if let Some(dry) = dry {
        ensure!(
            dry.stderr == output.stderr,
            "{verb:?} {ask:?}: {} {}",
            dry.stderr,
            output.stderr
        );
        let [dry, real] = [&dry.stdout, &output.stdout].map(|text| serde_json::from_str(text).map(shape));
        let (dry, real) = (dry?, real?);
        ensure!(dry == real, "{verb:?} {ask:?}: {dry:#} {real:#}");
    }
    Ok(Done {
        stderr: output.stderr,
        before,
        after,
    })
}

/// The object without what every write changes.
fn shape(mut object: Value) -> Value {
    object["metadata"]["resourceVersion"].take();
    object["metadata"]["managedFields"].take();
    object["status"].take();
    object
}

async fn nobody_changes_templates(ns: &TestNamespace<'_>, verb: Verb) -> anyhow::Result<()> {
    let way: &[&str] = if verb == Verb::ServerSideApply {
        &["apply", "--server-side", "-f", "-"]
    } else {
        &["apply", "-f", "-"]
    };
    ns.done(way, &manifest("1Gi", "a")).await?;
    ns.settled().await?;
    let ask = Ask {
        size: verb.is_whole().then_some("1Gi"),
        note: "b",
    };
    let done = send(ns, verb, ask).await?;
    ensure!(done.stderr.is_empty(), "{verb:?}: {}", done.stderr);
    done.check_spec()?;
    ensure!(
        done.moved("resourceVersion") && done.staged_change().is_null(),
        "{:#}",
        done.after
    );
    Ok(())
}

async fn a_growth(ns: &TestNamespace<'_>, verb: Verb, manager: &str) -> anyhow::Result<()> {
    let ask = Ask {
        size: Some("2Gi"),
        note: "b",
    };
    let done = send(ns, verb, ask).await?;
    ensure!(
        done.stderr.starts_with(GROWN) && done.stderr.lines().count() == 1,
        "{verb:?}: {}",
        done.stderr
    );
    done.check_spec()?;
    ensure!(done.moved("resourceVersion"), "nothing was stored");
    let staged = staged_change(&done.after)?;
    let size = &staged["templates"][0]["spec"]["resources"]["requests"]["storage"];
    ensure!(
        size == "2Gi" && staged["by"] == "admin" && staged["manager"] == manager,
        "{staged:#}"
    );

    // The same request again prints nothing. It writes nothing either, except that the API server may reorder the
    // managers once: it sorts them by the second in which they wrote.
    for (again, writes) in [(1, 1), (2, 0)] {
        let repeated = send(ns, verb, ask).await?;
        ensure!(
            !repeated.stderr.contains("claim-rollout"),
            "{verb:?}: {}",
            repeated.stderr
        );
        ensure!(
            shape(repeated.before.clone()) == shape(repeated.after.clone()),
            "{:#}",
            repeated.after
        );
        let moved = repeated.moved("resourceVersion");
        ensure!(
            usize::from(moved) <= writes,
            "{verb:?} again ({again}): it was written again"
        );
        ensure!(repeated.staged_change() == done.staged_change(), "{:#}", repeated.after);
    }
    Ok(())
}

async fn a_staged_set(ns: &TestNamespace<'_>, verb: Verb) -> anyhow::Result<()> {
    let ask = Ask {
        size: verb.is_whole().then_some("2Gi"),
        note: "c",
    };
    let done = send(ns, verb, ask).await?;
    ensure!(done.stderr.is_empty(), "{verb:?}: {}", done.stderr);
    done.check_spec()?;
    ensure!(done.moved("resourceVersion"), "{verb:?}: the label was not stored");
    ensure!(done.after["metadata"]["labels"]["note"] == "c", "{:#}", done.after);
    let kept = &done.before["metadata"]["annotations"][STAGED];
    ensure!(
        !kept.is_null() && kept == done.staged_change(),
        "{verb:?}: {:#}",
        done.after
    );

    // A declarative verb withdraws by applying the old template; the others need the annotation `withdraw`.
    let back = Ask {
        size: Some("1Gi"),
        note: "c",
    };
    let withdraws = matches!(verb, Verb::Apply | Verb::ServerSideApply);
    let done = send(ns, verb, back).await?;
    done.check_spec()?;
    if withdraws {
        ensure!(
            done.stderr == WITHDRAWN && done.staged_change().is_null(),
            "{verb:?}: {}",
            done.stderr
        );
        return Ok(());
    }
    ensure!(
        done.stderr.is_empty() || verb == Verb::Edit,
        "{verb:?}: {}",
        done.stderr
    );
    ensure!(done.staged_change() == kept, "{verb:?}: {:#}", done.after);
    let revision = text(&staged_change(&done.after)?["revision"]);
    let annotation = format!("claim-rollout.io/withdraw={revision}");
    let output = ns.typed(&format!("annotate statefulset web {annotation}")).await?;
    ensure!(output.stderr == WITHDRAWN, "{output:?}");
    let annotations = ns.set().await?["metadata"]["annotations"].clone();
    let ours = annotations.as_object().into_iter().flatten();
    ensure!(
        ours.filter(|(key, _)| key.starts_with("claim-rollout")).count() == 0,
        "{annotations:#}"
    );
    Ok(())
}

pub(super) async fn every_verb_stages_growth_and_dry_run_prints_the_same(env: &World) -> anyhow::Result<()> {
    let all = env.namespaces(&VERBS.map(|(_, namespace, _)| namespace)).await?;
    let served = Policies::of_sets(&all.iter().collect::<Vec<_>>())?
        .serve(&env.cluster)
        .await?;
    let each = || VERBS.iter().zip(&all);

    let before = served.sets();
    try_join_all(each().map(|((verb, ..), ns)| nobody_changes_templates(ns, *verb))).await?;
    ensure!(
        served.sets() == before,
        "the policy was asked about sets that do not concern it"
    );

    try_join_all(each().map(async |((verb, _, manager), ns)| {
        let claims = ns.claims().await?;
        let story = async {
            a_growth(ns, *verb, manager).await?;
            a_staged_set(ns, *verb).await
        };
        story.await.with_context(|| format!("{verb:?}"))?;
        ensure!(are_as_written(&ns.claims().await?, &claims), "a claim was written");
        Ok::<_, anyhow::Error>(())
    }))
    .await?;
    Ok(())
}
