//! The layer of the client that reads bodies: it asks for fewer objects at a time if a page is too large, and skips an
//! object that is too large by itself.

use std::collections::HashMap;
use std::sync::Mutex;

use axum::body::Body as Received;
use axum::http::header::{ACCEPT, HeaderValue};
use axum::http::request::Parts;
use axum::http::{Method, Request, Response, Uri};
use kube::client::Body;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::bodies::{Bodies, Incomplete, Whole};
use super::limits;
use super::limits::{OBJECT, Page};
use crate::controller::locking::lock;

/// The media type of a list with the metadata of objects alone.
const METADATA: HeaderValue =
    HeaderValue::from_static("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1");

/// Reads the bodies of all responses.
#[derive(Default)]
pub(crate) struct Pages {
    bodies: Bodies,
    /// The limits of lists, by path, as far as they are lower than what is asked for.
    limits: Mutex<HashMap<String, u32>>,
}

/// A list with the metadata of its objects.
#[derive(Deserialize)]
struct Named<'a> {
    #[serde(borrow)]
    metadata: &'a RawValue,
    items: Option<Vec<NamedItem>>,
}

#[derive(Deserialize)]
struct NamedItem {
    metadata: NamedObject,
}

/// The metadata of an object that is skipped.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct NamedObject {
    name: String,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
}

impl Pages {
    /// Sends a request, and reads the body of the response unless it is a watch.
    ///
    /// # Errors
    /// If the request fails, or its body is too large or incomplete.
    pub(crate) async fn answer<F>(
        &self,
        request: Request<Body>,
        send: impl Fn(Request<Body>) -> F,
    ) -> kube::Result<Response<Received>>
    where
        F: Future<Output = kube::Result<Response<Body>>>,
    {
        let query = request.uri().query().unwrap_or_default();
        let is_read = request.method() == Method::GET;
        if is_read && value(query, "watch") == Some("true") {
            return Ok(send(request).await?.map(Received::new));
        }
        let asked = value(query, "limit").and_then(|limit| limit.parse().ok());
        match asked.filter(|_| is_read) {
            Some(asked) => self.list(&request.into_parts().0, asked, send).await,
            None => self.read(send(request).await?, OBJECT).await.map_err(failed),
        }
    }

    async fn list<F>(
        &self,
        parts: &Parts,
        asked: u32,
        send: impl Fn(Request<Body>) -> F,
    ) -> kube::Result<Response<Received>>
    where
        F: Future<Output = kube::Result<Response<Body>>>,
    {
        let path = parts.uri.path();
        loop {
            let limit = self.limit(path, asked);
            let response = send(limited(parts, limit)).await?;
            let is_success = response.status().is_success();
            match self.whole(response, limits::most(limit)).await {
                Ok((head, whole)) => {
                    if is_success {
                        let bytes = whole.as_ref().len();
                        self.set_limit(path, asked, limits::next(limit, asked, Page::Read { bytes }));
                    }
                    return Ok(Response::from_parts(head, whole.into()));
                }
                Err(Incomplete::TooLarge(_)) if limit > 1 => {
                    self.set_limit(path, asked, limits::next(limit, asked, Page::TooLarge));
                }
                Err(error @ Incomplete::TooLarge(_)) => return self.skip(parts, send, &error).await,
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// The page with the next object alone, of which it has only the metadata and why it is not read.
    async fn skip<F>(
        &self,
        parts: &Parts,
        send: impl Fn(Request<Body>) -> F,
        why: &Incomplete,
    ) -> kube::Result<Response<Received>>
    where
        F: Future<Output = kube::Result<Response<Body>>>,
    {
        let mut request = limited(parts, 1);
        request.headers_mut().insert(ACCEPT, METADATA);
        let (head, whole) = self.whole(send(request).await?, OBJECT).await.map_err(failed)?;
        if !head.status.is_success() {
            return Ok(Response::from_parts(head, whole.into()));
        }
        let page = unread(whole.as_ref(), &why.to_string()).map_err(kube::Error::SerdeError)?;
        Ok(Response::from_parts(head, page.into()))
    }

    async fn read(&self, response: Response<Body>, most: usize) -> Result<Response<Received>, Incomplete> {
        let (head, whole) = self.whole(response, most).await?;
        Ok(Response::from_parts(head, whole.into()))
    }

    async fn whole(
        &self,
        response: Response<Body>,
        most: usize,
    ) -> Result<(axum::http::response::Parts, Whole), Incomplete> {
        let (head, body) = response.into_parts();
        Ok((head, self.bodies.read(Received::new(body), most).await?))
    }

    fn limit(&self, path: &str, asked: u32) -> u32 {
        let limits = lock(&self.limits);
        limits.get(path).map_or(asked, |limit| asked.min(*limit))
    }

    fn set_limit(&self, path: &str, asked: u32, limit: u32) {
        let mut limits = lock(&self.limits);
        if limit < asked {
            limits.insert(path.to_owned(), limit);
        } else {
            limits.remove(path);
        }
    }
}

fn failed(error: Incomplete) -> kube::Error {
    kube::Error::Service(error.into())
}

/// The value of a parameter of a query.
fn value<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// The same request with this limit.
fn limited(parts: &Parts, limit: u32) -> Request<Body> {
    let query = parts.uri.query().unwrap_or_default().split('&');
    let others = query.filter(|pair| !pair.starts_with("limit="));
    let query: String = others.map(|pair| format!("{pair}&")).collect();
    let target = format!("{}?{query}limit={limit}", parts.uri.path());
    let mut request = Request::new(Body::empty());
    *request.method_mut() = parts.method.clone();
    *request.uri_mut() = target.parse::<Uri>().unwrap_or_else(|_| parts.uri.clone());
    *request.headers_mut() = parts.headers.clone();
    *request.extensions_mut() = parts.extensions.clone();
    request
}

/// The key in an item that was not read, in place of its content.
pub(crate) const UNREAD: &str = "claim-rollout.io/unread";

/// The same list, in which each object is one that was not read.
fn unread(list: &[u8], why: &str) -> serde_json::Result<Vec<u8>> {
    let list: Named<'_> = serde_json::from_slice(list)?;
    let items = list.items.unwrap_or_default().into_iter();
    let items: Vec<_> = items
        .map(|item| serde_json::json!({"metadata": item.metadata, UNREAD: why}))
        .collect();
    let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "metadata": list.metadata, "items": items});
    serde_json::to_vec(&list)
}

#[cfg(test)]
#[path = "pages_tests.rs"]
mod tests;
