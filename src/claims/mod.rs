//! What is known of the claims that exist: what each of them allows, and what becomes of it.
//!
//! Pure, like the decisions that ask here: nothing is looked up, what was seen comes in.

pub mod retention;
