//! Every row of the design's sections on the rollout and on failures, as tables. A row compares the whole list of actions,
//! so that nothing else is done.

mod idle;
mod on_delete;
mod recover;
mod words;
