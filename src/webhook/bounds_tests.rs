//! Requests that are not answered, and that they do not block others.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use super::fixtures::{Served, answer, call, post, review, send, start};
use super::path::of_policy;
use super::{Limits, SecretPath};

/// A time that no test reaches.
const LONG: Duration = Duration::from_secs(3600);

fn limits() -> Limits {
    Limits {
        time: LONG,
        introduction: LONG,
        idle: LONG,
        ..Limits::default()
    }
}

/// A server with at most this many connections.
fn with_connections(connections: usize) -> Served {
    let limits = Limits {
        connections,
        ..limits()
    };
    start(limits, None)
}

/// Reads the beginning of an answer on a connection that stays open.
async fn first_line(stream: &mut (impl tokio::io::AsyncRead + Unpin)) -> String {
    let mut bytes = vec![0; 12];
    stream.read_exact(&mut bytes).await.expect("an answer");
    String::from_utf8(bytes).expect("text")
}

#[tokio::test]
async fn path_without_the_secret_is_not_found_and_nothing_is_decided() {
    let secrets = [(); 3].map(|()| SecretPath::make().expect("random numbers"));
    let path = |index: usize| of_policy("fast", Some(&secrets[index]));
    let served = start(limits(), Some(secrets[0].clone()));
    for wrong in ["/validate/fast", "/validate/fast/", "/", "/metrics", &path(1)] {
        let answer = call(&served, &format!("POST {wrong}"), &review()).await;
        assert_eq!((answer.status, answer.body.as_str()), (404, "not found\n"), "{wrong}");
        // The answer does not wait for the body.
        let answer = send(&served, &post(wrong, 100)).await;
        assert_eq!(answer.status, 404, "{wrong}");
    }
    assert_eq!(served.evaluations(), 0);
    for (newest, good, bad) in [(0, &[0][..], &[1, 2][..]), (1, &[0, 1], &[2]), (2, &[1, 2], &[0])] {
        served.running.answer_under(secrets[newest].clone());
        for &index in good {
            let answer = call(&served, &format!("POST {}", path(index)), &review()).await;
            assert_eq!(answer.status, 200, "{index} when {newest} is the newest");
        }
        for &index in bad {
            let answer = call(&served, &format!("POST {}", path(index)), &review()).await;
            assert_eq!(answer.status, 404, "{index} when {newest} is the newest");
        }
    }
    assert_eq!(served.evaluations(), 5);
    assert_eq!(
        call(&served, "GET /healthz", "").await.status,
        200,
        "probes need no secret"
    );
}

#[tokio::test]
async fn body_too_long_is_denied_whether_announced_or_not() {
    let body = 4096;
    let served = start(Limits { body, ..limits() }, None);
    // The announced length is enough for the denial.
    let announced = send(&served, &post("/validate/fast", body + 1)).await;
    assert_eq!(announced.status, 413, "{announced:?}");
    let head = "POST /validate/fast HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunk = format!("800\r\n{}\r\n", " ".repeat(0x800));
    // The second chunk reaches the limit; the body has no end.
    let chunked = send(&served, &format!("{head}{chunk}{chunk}1\r\n ")).await;
    assert_eq!(chunked.status, 413, "{chunked:?}");
    assert!(served.counts("bounds_total{bound=\"body_length\"} 2"));
    let whole = send(&served, &format!("{head}{chunk}100\r\n{}\r\n0\r\n\r\n", padded(0x100))).await;
    assert_eq!(whole.status, 200, "{whole:?}");
    assert_eq!(served.evaluations(), 1);
}

/// A review of this length.
fn padded(length: usize) -> String {
    let review = review();
    " ".repeat(length - review.len()) + &review
}

/// Otherwise its connection would be reset before the answer is read.
#[tokio::test]
async fn body_too_long_can_be_sent_before_the_answer_is_read() {
    let served = start(limits(), None);
    // Nearly all of the body stays with the client until the server reads it.
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_send_buffer_size(16 * 1024).expect("a small buffer");
    let socket = socket.connect(served.address).await.expect("a connection");
    let mut stream = served.introduce(socket).await;
    let body = vec![b' '; 1 << 20];
    let head = post("/validate/none", body.len());
    stream.write_all(head.as_bytes()).await.expect("sent");
    stream.write_all(&body).await.expect("sent");
    assert_eq!(answer(&mut stream).await.status, 404);
}

#[tokio::test]
async fn body_that_does_not_come_is_given_up_at_the_deadline() {
    let served = start(limits(), None);
    let late = send(&served, &(post("/validate/fast?timeout=1s", 100) + "{")).await;
    assert_eq!(late.status, 408, "{late:?}");
    assert!(served.counts("bounds_total{bound=\"body_time\"} 1"));
    served.until_counts("bodies_bytes 0").await;
}

#[tokio::test]
async fn connection_without_a_request_in_time_is_closed() {
    let introduction = Duration::from_secs(5);
    let served = start(
        Limits {
            introduction,
            ..limits()
        },
        None,
    );
    let mut known = served.connect().await;
    let request = format!(
        "POST /validate/fast HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{}",
        review().len(),
        review()
    );
    known.write_all(request.as_bytes()).await.expect("sent");
    assert_eq!(first_line(&mut known).await, "HTTP/1.1 200");

    // A body may take longer than that.
    let mut reading = served.connect().await;
    let (first, rest) = request.split_at(request.len() - 1);
    reading.write_all(first.as_bytes()).await.expect("sent");

    let mut slow = served.connect().await;
    slow.write_all(b"POST /validate/fast HTTP/1.1\r\nhost: ")
        .await
        .expect("sent");
    let mut silent = TcpStream::connect(served.address).await.expect("a connection");
    assert_eq!(answer(&mut slow).await.head, "", "half a head");
    assert_eq!(silent.read(&mut [0]).await.ok(), Some(0), "no handshake");
    served.until_counts("bounds_total{bound=\"introduction\"} 2").await;

    // These connections are as old as the closed ones.
    known.write_all(request.as_bytes()).await.expect("sent");
    served.evaluated(2).await;
    reading.write_all(rest.as_bytes()).await.expect("sent");
    assert_eq!(first_line(&mut reading).await, "HTTP/1.1 200");
}

/// Connections that have sent half of a head or of a body.
async fn slow(served: &Served, count: usize, text: &str) -> Vec<tokio_rustls::client::TlsStream<TcpStream>> {
    let mut slow = Vec::new();
    for _ in 0..count {
        let mut stream = served.connect().await;
        stream.write_all(text.as_bytes()).await.expect("sent");
        slow.push(stream);
    }
    slow
}

#[tokio::test]
async fn connections_that_are_slow_make_way_for_a_valid_request() {
    for half in [
        "POST /validate/fast HTTP/1.1\r\nhost: ".to_owned(),
        post("/validate/fast", 100_000) + "{",
    ] {
        let served = with_connections(8);
        let mut slow = slow(&served, 40, &half).await;
        let answer = call(&served, "POST /validate/fast", &review()).await;
        assert_eq!(answer.status, 200, "{half}");
        let first = &mut slow[0];
        assert_eq!(super::fixtures::answer(first).await.head, "", "the oldest was closed");
        assert!(served.counts("bounds_total{bound=\"connections\"} 33"));
    }
}

#[tokio::test]
async fn connection_that_is_being_answered_is_not_closed() {
    let served = with_connections(2);
    let review = review();
    let waiting = call(&served, "POST /validate/gated", &review);
    let others = async {
        served.evaluated(1).await;
        drop(slow(&served, 10, "POST").await);
        served.gate.add_permits(1);
    };
    let (answer, ()) = tokio::join!(waiting, others);
    assert_eq!(answer.status, 200);
}

/// A connection whose answer is awaited is not closed for another one.
#[tokio::test]
async fn connection_beyond_those_being_answered_is_closed() {
    let served = with_connections(2);
    let review = review();
    let waiting = || call(&served, "POST /validate/gated", &review);
    let others = async {
        served.evaluated(2).await;
        for _ in 0..3 {
            let mut other = TcpStream::connect(served.address).await.expect("a connection");
            // It is closed, or reset.
            assert!(matches!(other.read(&mut [0]).await, Ok(0) | Err(_)));
        }
        served.gate.add_permits(2);
    };
    let (one, two, ()) = tokio::join!(waiting(), waiting(), others);
    assert_eq!([one.status, two.status], [200; 2]);
}

#[tokio::test]
async fn body_without_room_is_denied_while_a_small_one_is_decided() {
    let limits = Limits {
        body: 400_000,
        room: 640_000,
        ..limits()
    };
    let served = start(limits, None);
    let large = padded(400_000);
    let (most, rest) = large.split_at(399_000);
    let mut first = served.connect().await;
    let begin = post("/validate/fast", large.len()) + most;
    first.write_all(begin.as_bytes()).await.expect("sent");
    served.until_counts("bodies_bytes 400000").await;

    let second = send(&served, &post("/validate/fast", large.len())).await;
    assert_eq!(second.status, 503, "{second:?}");
    assert!(second.head.contains("\r\nretry-after: 1"), "{second:?}");
    assert!(served.counts("bounds_total{bound=\"body_room\"} 1"));
    assert_eq!(call(&served, "POST /validate/fast", &review()).await.status, 200);

    first.write_all(rest.as_bytes()).await.expect("sent");
    assert_eq!(answer(&mut first).await.status, 200);
    served.until_counts("bodies_bytes 0").await;
    assert_eq!(call(&served, "POST /validate/fast", &large).await.status, 200);
}

#[tokio::test]
async fn room_of_a_late_decision_is_held_until_it_has_ended() {
    let served = start(limits(), None);
    let late = call(&served, "POST /validate/gated?timeout=1s", &review()).await;
    assert!(late.body.contains("\"code\":504"), "{late:?}");
    assert!(!served.counts("bodies_bytes 0"), "the decision is still in progress");
    served.gate.add_permits(1);
    served.until_counts("bodies_bytes 0").await;
}

#[tokio::test]
async fn small_body_reserves_the_room_of_its_decision() {
    let limits = Limits {
        room: 640_000,
        ..limits()
    };
    let served = start(limits, None);
    let review = review();
    assert!(review.len() < 1000, "a decision needs more room");
    let answered = call(&served, "POST /validate/gated", &review);
    let decided = async {
        served.until_counts("bodies_bytes 1000").await;
        served.gate.add_permits(1);
    };
    let (answer, ()) = tokio::join!(answered, decided);
    assert_eq!(answer.status, 200);
    served.until_counts("bodies_bytes 0").await;
}

#[tokio::test]
async fn known_connection_with_half_a_head_is_closed() {
    let idle = Duration::from_secs(3);
    let served = start(Limits { idle, ..limits() }, None);
    let mut known = served.connect().await;
    let request = post("/validate/fast", review().len()).replace("close", "keep-alive") + &review();
    known.write_all(request.as_bytes()).await.expect("sent");
    assert_eq!(first_line(&mut known).await, "HTTP/1.1 200");
    known
        .write_all(b"POST /validate/fast HTTP/1.1\r\nhost: ")
        .await
        .expect("sent");
    let mut rest = Vec::new();
    let closed = timeout(Duration::from_secs(60), known.read_to_end(&mut rest)).await;
    assert!(closed.is_ok(), "the connection is still open");
}
