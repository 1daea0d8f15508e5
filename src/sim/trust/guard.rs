//! The guard: the expressions of `deploy/guard`, evaluated with a CEL library as an API server does.
//!
//! A policy is skipped if one of its `matchConditions` is false. A validation that is false denies; with
//! `failurePolicy: Fail` so does every error. Types are not checked, because an API server does that before.
//!
//! A policy with a `paramKind` is evaluated for each ClaimRollout. It has `failurePolicy: Ignore`, but an error denies here
//! too, so that tests notice it.

use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, PoisonError};

use cel::common::types::{CelBool, CelString, STRING_TYPE, Type};
use cel::common::value::{CowVal, StaticVal, Val};
use cel::{Context, Env, ExecutionError, Program, Value as Cel, extensions};
use rustc_hash::FxHashMap;
use serde_json::Value;

use super::rights;

/// The manifests of the guard.
pub(super) const MANIFESTS: [(&str, &str); 3] = [
    ("staged.yaml", include_str!("../../../deploy/guard/staged.yaml")),
    ("replacing.yaml", include_str!("../../../deploy/guard/replacing.yaml")),
    ("controller.yaml", include_str!("../../../deploy/guard/controller.yaml")),
];

/// The policies of the guard.
pub(crate) struct CelGuard {
    env: Arc<Env>,
    policies: Vec<EvaluatedPolicy>,
    /// Answers by a fingerprint of all inputs: most questions come more than once.
    answers: Mutex<FxHashMap<u64, Option<String>>>,
}

/// A ValidatingAdmissionPolicy.
struct EvaluatedPolicy {
    name: String,
    /// It is evaluated for each ClaimRollout. Only such a policy may fail open.
    has_params: bool,
    rules: Value,
    conditions: Vec<Program>,
    /// The name in expressions, and the expression.
    variables: Vec<(String, Program)>,
    validations: Vec<Program>,
}

/// A check of the authorizer: `authorizer`, and the results of its functions.
#[derive(Clone, Debug, Default)]
struct Ask {
    user: String,
    /// [`ATTRIBUTES`], then the verb.
    right: [String; 5],
}

/// The functions that narrow a check.
const ATTRIBUTES: [&str; 4] = ["group", "resource", "subresource", "namespace"];

static ASK: Type = Type::new_unspecified_type("kubernetes.authorization");

/// The ValidatingAdmissionPolicies of the manifests.
pub(super) fn manifests() -> Result<Vec<Value>, String> {
    manifests_of(&MANIFESTS)
}

/// The ValidatingAdmissionPolicies of these files.
pub(super) fn manifests_of(files: &[(&str, &str)]) -> Result<Vec<Value>, String> {
    let mut policies = Vec::new();
    for (file, text) in files {
        let objects: Vec<Value> = serde_saphyr::from_multiple(text).map_err(|error| format!("{file}: {error}"))?;
        policies.extend(
            objects
                .into_iter()
                .filter(|object| object["kind"] == "ValidatingAdmissionPolicy"),
        );
    }
    Ok(policies)
}

impl CelGuard {
    /// Compiles the policies.
    ///
    /// # Errors
    /// The first invalid expression, or a `failurePolicy` other than `Fail`, with a `paramKind` other than `Ignore`.
    pub(super) fn of(manifests: &[Value]) -> Result<Self, String> {
        let env = environment().map_err(|error| error.to_string())?;
        let policies = manifests.iter().map(|manifest| EvaluatedPolicy::of(manifest, &env));
        Ok(Self {
            policies: policies.collect::<Result<_, _>>()?,
            env: Arc::new(env),
            answers: Mutex::default(),
        })
    }

    /// The policy and the number of the validation that deny the request, if any does. There is no ClaimRollout.
    pub(super) fn denial(&self, request: &Value, object: &Value, old: &Value) -> Option<String> {
        let mut hasher = DefaultHasher::new();
        (request, object, old).hash(&mut hasher);
        let fingerprint = hasher.finish();
        let answers = || self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = answers().get(&fingerprint) {
            return answer.clone();
        }
        let answer = self.denial_among(&[], request, object, old);
        answers().insert(fingerprint, answer.clone());
        answer
    }

    /// The same with the ClaimRollouts of the namespace.
    pub(super) fn denial_among(
        &self,
        rollouts: &[Value],
        request: &Value,
        object: &Value,
        old: &Value,
    ) -> Option<String> {
        let mut context = Context::with_env(Arc::clone(&self.env));
        for (name, value) in [("request", request), ("object", object), ("oldObject", old)] {
            context.add_variable_from_value(name, cel::to_value(value).unwrap_or(Cel::Null));
        }
        let ask = Ask {
            user: request["userInfo"]["username"].as_str().unwrap_or_default().to_owned(),
            ..Ask::default()
        };
        context.add_variable_as_val("authorizer", Box::new(ask));
        let mut asked = self.policies.iter().filter(|policy| policy.is_asked_about(request));
        asked.find_map(|policy| {
            if !policy.has_params {
                return policy.denial(&context);
            }
            rollouts.iter().find_map(|rollout| {
                let mut context = context.new_inner_scope();
                context.add_variable_from_value("params", cel::to_value(rollout).unwrap_or(Cel::Null));
                policy.denial(&context)
            })
        })
    }
}

impl EvaluatedPolicy {
    fn of(manifest: &Value, env: &Env) -> Result<Self, String> {
        let name = manifest["metadata"]["name"].as_str().unwrap_or_default();
        let spec = &manifest["spec"];
        let has_params = !spec["paramKind"].is_null();
        let failure_policy = if has_params { "Ignore" } else { "Fail" };
        if spec["failurePolicy"] != failure_policy {
            return Err(format!("{name}: expected failurePolicy {failure_policy}"));
        }
        let compile = |one: &Value| {
            let expression = one["expression"].as_str().unwrap_or_default();
            env.compile(expression)
                .map_err(|error| format!("{name}: {expression}: {error}"))
        };
        let list = |key: &str| spec[key].as_array().into_iter().flatten();
        let variable = |one: &Value| {
            Ok((
                format!("variables.{}", one["name"].as_str().unwrap_or_default()),
                compile(one)?,
            ))
        };
        Ok(Self {
            name: name.to_owned(),
            has_params,
            rules: spec["matchConstraints"]["resourceRules"].clone(),
            conditions: list("matchConditions").map(compile).collect::<Result<_, String>>()?,
            variables: list("variables").map(variable).collect::<Result<_, String>>()?,
            validations: list("validations").map(compile).collect::<Result<_, String>>()?,
        })
    }

    fn is_asked_about(&self, request: &Value) -> bool {
        let resource = &request["resource"];
        let (kind, subresource) = (
            resource["resource"].as_str().unwrap_or_default(),
            request["subResource"].as_str(),
        );
        let subresource = subresource.filter(|name| !name.is_empty());
        let names = subresource.map_or_else(
            || vec![kind.to_owned()],
            |name| vec![format!("{kind}/{name}"), format!("{kind}/*")],
        );
        self.rules.as_array().into_iter().flatten().any(|rule| {
            let has = |key: &str, value: &Value| rule[key].as_array().is_some_and(|all| all.contains(value));
            has("apiGroups", &resource["group"])
                && has("apiVersions", &resource["version"])
                && has("operations", &request["operation"])
                && names.iter().any(|name| has("resources", &name.as_str().into()))
        })
    }

    /// The context contains the request.
    fn denial(&self, context: &Context<'_, '_>) -> Option<String> {
        let mut context = context.new_inner_scope();
        let mut failed = None;
        for condition in &self.conditions {
            match condition.execute(&context) {
                Ok(Cel::Bool(true)) => {}
                Ok(Cel::Bool(false)) => return None,
                other => failed = Some(format!("{}: a condition is {other:?}", self.name)),
            }
        }
        if failed.is_some() {
            return failed;
        }
        for (name, program) in &self.variables {
            // An API server evaluates variables lazily: an unused variable may fail.
            let value = Cel::resolve_val(program.expression(), &context).map(CowVal::into_owned);
            if let Ok(value) = value {
                context.add_variable_as_val(name, value);
            }
        }
        let mut validations = self.validations.iter().enumerate();
        validations.find_map(|(number, validation)| match validation.execute(&context) {
            Ok(Cel::Bool(true)) => None,
            Ok(Cel::Bool(false)) => Some(format!("{}: validation {number}", self.name)),
            other => Some(format!("{}: validation {number} is {other:?}", self.name)),
        })
    }
}

/// The CEL environment of an API server, as far as the guard uses it.
fn environment() -> Result<Env, cel::DeclarationError> {
    let mut env = Env::stdlib();
    env.add_extension(extensions::strings)?;
    let narrows: [cel::common::functions::Function; 5] = [
        |args| narrowed(&args, 0),
        |args| narrowed(&args, 1),
        |args| narrowed(&args, 2),
        |args| narrowed(&args, 3),
        |args| narrowed(&args, 4),
    ];
    for (name, narrow) in ATTRIBUTES.into_iter().chain(["check"]).zip(narrows) {
        env.add_member_overload(name, name, ASK.to_owned(), vec![STRING_TYPE], narrow)?;
    }
    env.add_member_overload("allowed", "allowed", ASK.to_owned(), vec![], |args| {
        let Ask { user, right } = ask(&args)?;
        let [group, resource, subresource, namespace, verb] = right;
        let may = rights::may(user, verb, [group, resource, subresource], namespace);
        Ok(CowVal::owned(CelBool::from(may)))
    })?;
    Ok(env)
}

fn ask<'a>(args: &'a [CowVal<'_, '_>]) -> Result<&'a Ask, ExecutionError> {
    let ask = args.first().and_then(|one| one.downcast_ref::<Ask>());
    ask.ok_or_else(ExecutionError::missing_argument_or_target)
}

fn narrowed<'b, 'v>(args: &[CowVal<'b, 'v>], place: usize) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let mut ask = ask(args)?.clone();
    let text = args.get(1).and_then(|one| one.downcast_ref::<CelString<'_>>());
    text.ok_or_else(ExecutionError::missing_argument_or_target)?
        .inner()
        .clone_into(&mut ask.right[place]);
    Ok(CowVal::owned(ask))
}

impl Val for Ask {
    fn get_type(&self) -> &Type {
        &ASK
    }

    fn cel_type() -> &'static Type {
        &ASK
    }

    fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v> {
        Box::new(self.clone())
    }

    fn as_any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }
}

impl StaticVal for Ask {}

impl fmt::Debug for CelGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.policies.iter().map(|policy| &policy.name))
            .finish()
    }
}
