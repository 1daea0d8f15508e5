//! Lists, page by page: what the caller keeps of each object is all that stays in memory.

use std::fmt::Debug;

use kube::Client;
use kube::api::{ListParams, Request};
use kube::core::ObjectList;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::super::api_calls::{CALL_TIMEOUT, Unanswered};
use super::item::{ListItem, UnreadObject};

/// The number of objects of a page, unless they are large.
pub(in super::super) const PAGE: u32 = 100;

/// A list.
#[derive(Debug)]
pub(in super::super) struct FoldedList<T> {
    /// What the caller kept of each object.
    pub(in super::super) kept: Vec<T>,
    /// The objects that cannot be read.
    pub(in super::super) unread: Vec<UnreadObject>,
}

/// What is asked for: whole objects, or their metadata.
type Asked = fn(&Request, &ListParams) -> Result<axum::http::Request<Vec<u8>>, kube::core::request::Error>;

/// Reads the list at this URL, and keeps what `keep` returns.
///
/// # Errors
/// If one of its pages cannot be read in time.
pub(in super::super) async fn all<K, T>(
    client: &Client,
    url: &str,
    params: ListParams,
    keep: impl FnMut(K) -> Option<T>,
) -> kube::Result<FoldedList<T>>
where
    K: Clone + Debug + DeserializeOwned,
{
    pages((client, url, Request::list), params, keep).await
}

/// The same of the metadata of the objects.
///
/// # Errors
/// As [`all`].
pub(in super::super) async fn all_metadata<K, T>(
    client: &Client,
    url: &str,
    params: ListParams,
    keep: impl FnMut(K) -> Option<T>,
) -> kube::Result<FoldedList<T>>
where
    K: Clone + Debug + DeserializeOwned,
{
    pages((client, url, Request::list_metadata), params, keep).await
}

async fn pages<K, T>(
    (client, url, ask): (&Client, &str, Asked),
    params: ListParams,
    mut keep: impl FnMut(K) -> Option<T>,
) -> kube::Result<FoldedList<T>>
where
    K: Clone + Debug + DeserializeOwned,
{
    let list = Request::new(url);
    let mut page = params.limit(PAGE);
    let (mut kept, mut unread) = (Vec::new(), Vec::new());
    loop {
        let request = ask(&list, &page).map_err(kube::Error::BuildRequest)?;
        let found = timeout(CALL_TIMEOUT, client.request::<ObjectList<ListItem<K>>>(request)).await;
        let found = found.unwrap_or_else(|_| Err(kube::Error::Service(Unanswered.into())))?;
        for item in found.items {
            match item {
                ListItem::Read(object) => kept.extend(keep(object)),
                ListItem::Unread(object) => {
                    let ((namespace, name), why) = (object.key(), &object.why);
                    tracing::warn!(url, namespace, name, why, "skipped an object that cannot be read");
                    unread.push(*object);
                }
            }
        }
        match found.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => page = page.continue_token(&token),
            None => return Ok(FoldedList { kept, unread }),
        }
    }
}
