//! Whether the policy or the guard is registered, and with which settings.
//!
//! | file | contains |
//! |---|---|
//! | `admission` | reads of it, and the answer for a namespace |
//! | `registered` | what is registered |
//! | `kubewarden` | the names of Kubewarden |

pub(super) mod admission;
pub(crate) mod kubewarden;
pub(super) mod registered;
