use std::sync::{Arc, Mutex};

use axum::http::{Request, Response};
use kube::client::Body;
use serde_json::{Value, json};

use super::{Pages, UNREAD};
use crate::controller::read::limits::{OBJECT, PAGE};

/// The objects of a server: a name, and the bytes of its filling.
type Objects = Vec<(&'static str, usize)>;

/// Answers lists of these objects as an API server does. The token is the number of objects before the page.
fn answer(objects: &Objects, request: &Request<Body>) -> Response<Body> {
    let query = request.uri().query().unwrap_or_default();
    let number = |key| crate::controller::read::pages::value(query, key).and_then(|text| text.parse::<usize>().ok());
    let (begin, limit) = (number("continue").unwrap_or(0), number("limit").unwrap_or(usize::MAX));
    let is_metadata = request.headers().get("accept").is_some();
    let end = objects.len().min(begin.saturating_add(limit));
    let items: Vec<Value> = objects[begin..end]
        .iter()
        .map(|(name, length)| {
            let mut item = json!({"metadata": {"name": name, "namespace": "shop", "uid": "u"}});
            if !is_metadata {
                item["spec"] = " ".repeat(*length).into();
            }
            item
        })
        .collect();
    let token = (end < objects.len()).then(|| end.to_string());
    let list = json!({"metadata": {"resourceVersion": "9", "continue": token}, "items": items});
    Response::new(Body::from(list.to_string().into_bytes()))
}

/// Reads all pages. Returns the names and why each was not read, and the limits of the requests.
async fn read(pages: &Pages, objects: Objects, asked: u32) -> (Vec<(String, String)>, Vec<String>) {
    let sent = Arc::new(Mutex::new(Vec::new()));
    let (mut names, mut token) = (Vec::new(), String::new());
    loop {
        let uri = format!("/api/v1/pods?limit={asked}&continue={token}");
        let request = Request::get(uri).body(Body::empty()).unwrap();
        let send = |request: Request<Body>| {
            let limit = crate::controller::read::pages::value(request.uri().query().unwrap(), "limit")
                .unwrap()
                .to_owned();
            sent.lock().unwrap().push(limit);
            let response = answer(&objects, &request);
            async { Ok(response) }
        };
        let response = pages.answer(request, send).await.expect("a page");
        let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
        let list: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(list["metadata"]["resourceVersion"], "9");
        for item in list["items"].as_array().unwrap() {
            let name = item["metadata"]["name"].as_str().unwrap().to_owned();
            names.push((name, item[UNREAD].as_str().unwrap_or_default().to_owned()));
        }
        match list["metadata"]["continue"].as_str() {
            Some(next) => next.clone_into(&mut token),
            None => break,
        }
    }
    let sent = std::mem::take(&mut *sent.lock().unwrap());
    (names, sent)
}

#[tokio::test]
async fn every_object_is_read_or_named_whatever_its_size() {
    let large = PAGE - 1000;
    let rows: [(&str, Objects, &[&str]); 5] = [
        ("none", vec![], &["8"]),
        ("small ones", vec![("a", 1), ("b", 1), ("c", 1)], &["8"]),
        (
            "one large one among small ones",
            vec![("a", 1), ("b", large), ("c", 1), ("d", 1)],
            &["8"],
        ),
        (
            "two large ones",
            vec![("a", large), ("b", large), ("c", 1), ("d", 1)],
            &["8", "2", "1", "1", "1", "2"],
        ),
        (
            "one that is too large",
            vec![("a", 1), ("b", OBJECT), ("c", 1)],
            &["8", "2", "1", "2", "1", "1", "1"],
        ),
    ];
    for (row, objects, limits) in rows {
        let (names, sent) = read(&Pages::default(), objects.clone(), 8).await;
        let expected: Vec<_> = objects
            .iter()
            .map(|(name, length)| {
                let why = format!("the response has more than {OBJECT} bytes");
                ((*name).to_owned(), if *length < OBJECT { String::new() } else { why })
            })
            .collect();
        assert_eq!(names, expected, "{row}");
        assert_eq!(sent, limits, "{row}");
    }
}

/// The next list begins with the limit of the last page, and the limit grows again.
#[tokio::test]
async fn limit_of_a_path_is_kept_and_grows_again() {
    let pages = Pages::default();
    let large = vec![("a", PAGE - 1000), ("b", PAGE - 1000)];
    assert_eq!(read(&pages, large.clone(), 8).await.1, ["8", "2", "1", "1"]);
    assert_eq!(read(&pages, large, 8).await.1, ["1", "1"]);
    let small = vec![("a", 1), ("b", 1), ("c", 1), ("d", 1)];
    assert_eq!(read(&pages, small.clone(), 8).await.1, ["1", "2", "4"]);
    assert_eq!(read(&pages, small.clone(), 8).await.1, ["8"]);
    assert_eq!(read(&pages, small, 2).await.1, ["2", "2"], "never more than asked for");
}

#[tokio::test]
async fn other_responses_are_read_up_to_the_largest_object() {
    let watch = "/api/v1/pods?&watch=true&limit=1";
    for (method, uri, length, is_read) in [
        ("GET", "/api/v1/namespaces/shop/pods/web-0", OBJECT, true),
        ("GET", "/api/v1/namespaces/shop/pods/web-0", OBJECT + 1, false),
        ("PATCH", "/api/v1/namespaces/shop/pods/web-0?limit=1", OBJECT, true),
        ("PATCH", "/api/v1/namespaces/shop/pods/web-0?limit=1", OBJECT + 1, false),
        ("GET", watch, OBJECT + 1, true),
    ] {
        let request = Request::builder().method(method).uri(uri).body(Body::empty()).unwrap();
        let send = |_| async move { Ok(Response::new(Body::from(vec![b' '; length]))) };
        let answer = Pages::default().answer(request, send).await;
        let found = match answer {
            Ok(response) => axum::body::to_bytes(response.into_body(), usize::MAX)
                .await
                .map(|body| body.len())
                .ok(),
            Err(_) => None,
        };
        assert_eq!(found, is_read.then_some(length), "{method} {uri} {length}");
    }
}

/// An error is no page: it does not change the limit.
#[tokio::test]
async fn error_of_a_list_is_passed_on() {
    let pages = Pages::default();
    let request = Request::get("/api/v1/pods?limit=8").body(Body::empty()).unwrap();
    let expired = |_| async {
        Ok(Response::builder()
            .status(410)
            .body(Body::from(b"{}".to_vec()))
            .unwrap())
    };
    let response = pages.answer(request, expired).await.expect("a response");
    assert_eq!(response.status(), 410);
    assert_eq!(pages.limit("/api/v1/pods", 8), 8);
}
