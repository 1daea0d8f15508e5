//! Policy engines in native code with the most common question: may this request pass, because no template changes?
//! Each engine gets the bytes of the review, so that decoding counts, and a compiled program.

use std::sync::Arc;

use cel::{Context, Env, Program};
use serde_json::Value;

use crate::Result;

const REGO: &str = "package claims

default pass := false

pass if {
    old := input.request.oldObject.spec.volumeClaimTemplates
    new := input.request.object.spec.volumeClaimTemplates
    count(new) == count(old)
    every template in new {
        some before in old
        before.metadata.name == template.metadata.name
        before == template
    }
}
";

const CEL: &str = "request.object.spec.volumeClaimTemplates.size() == request.oldObject.spec.volumeClaimTemplates.size() && \
    request.object.spec.volumeClaimTemplates.all(t, request.oldObject.spec.volumeClaimTemplates.exists(o, \
    o.metadata.name == t.metadata.name && o == t))";

/// The Rego engine.
pub(crate) struct Rego(regorus::Engine);

impl Rego {
    pub(crate) fn new() -> Result<Self> {
        let mut engine = regorus::Engine::new();
        engine.add_policy("claims.rego".to_owned(), REGO.to_owned())?;
        Ok(Self(engine))
    }

    pub(crate) fn passes(&mut self, payload: &str) -> Result<bool> {
        self.0.set_input_json(payload)?;
        Ok(*self.0.eval_rule("data.claims.pass".to_owned())?.as_bool()?)
    }
}

/// The CEL engine.
pub(crate) struct Cel {
    env: Arc<Env>,
    program: Program,
}

impl Cel {
    pub(crate) fn new() -> Result<Self> {
        let env = Arc::new(Env::stdlib());
        let program = env.compile(CEL).map_err(|error| error.to_string())?;
        Ok(Self { env, program })
    }

    pub(crate) fn passes(&self, payload: &str) -> Result<bool> {
        let review: Value = serde_json::from_str(payload)?;
        let mut context = Context::with_env(self.env.clone());
        let request = cel::to_value(&review["request"]).map_err(|error| error.to_string())?;
        context.add_variable_from_value("request", request);
        match self.program.execute(&context).map_err(|error| error.to_string())? {
            cel::Value::Bool(passes) => Ok(passes),
            other => Err(format!("{other:?} is no answer").into()),
        }
    }
}
