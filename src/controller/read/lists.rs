//! Lists, page by page: what the caller keeps of each object is all that stays in memory.

use std::fmt::Debug;

use kube::Client;
use kube::api::{ListParams, Request};
use kube::core::ObjectList;
use serde::de::DeserializeOwned;

use super::item::{ListItem, UnreadObject};
use super::patience::answered;

/// The number of objects of a page, unless they are large.
pub(crate) const PAGE: u32 = 100;

/// A list.
#[derive(Debug)]
pub(crate) struct FoldedList<T> {
    /// What the caller kept of each object.
    pub(crate) kept: Vec<T>,
    /// The objects that cannot be read.
    pub(crate) unread: Vec<UnreadObject>,
}

/// What is asked for: whole objects, or their metadata.
type Asked = fn(&Request, &ListParams) -> Result<axum::http::Request<Vec<u8>>, kube::core::request::Error>;

/// A list to be read.
pub(crate) struct PagedList<'c> {
    client: &'c Client,
    list: Request,
    ask: Asked,
    params: ListParams,
}

/// The objects of the list at this URL.
pub(crate) fn objects<'c>(client: &'c Client, url: &str, params: ListParams) -> PagedList<'c> {
    let (list, ask) = (Request::new(url), Request::list);
    PagedList {
        client,
        list,
        ask,
        params,
    }
}

/// Their metadata.
pub(crate) fn metadata<'c>(client: &'c Client, url: &str, params: ListParams) -> PagedList<'c> {
    let ask = Request::list_metadata;
    PagedList {
        ask,
        ..objects(client, url, params)
    }
}

impl PagedList<'_> {
    /// Reads the list, and keeps what `keep` returns.
    ///
    /// # Errors
    /// If one of its pages cannot be read in time.
    pub(crate) async fn fold<K, T>(self, mut keep: impl FnMut(K) -> Option<T>) -> kube::Result<FoldedList<T>>
    where
        K: Clone + Debug + DeserializeOwned,
    {
        let mut page = self.params.limit(PAGE);
        let (mut kept, mut unread) = (Vec::new(), Vec::new());
        loop {
            let request = (self.ask)(&self.list, &page).map_err(kube::Error::BuildRequest)?;
            let found = answered(self.client.request::<ObjectList<ListItem<K>>>(request)).await?;
            for item in found.items {
                match item {
                    ListItem::Read(object) => kept.extend(keep(object)),
                    ListItem::Unread(object) => {
                        let ((namespace, name), why) = (object.key(), &object.why);
                        let url = &self.list.url_path;
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
}
