//! A client behind a SOCKS5 proxy (RFC 1928), as `proxy-url` of a kubeconfig names it.

use anyhow::ensure;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

use super::arguments::Arguments;

/// A host that only the proxy knows.
const HOST: &str = "api.example.test";

/// Answers each request with a version.
async fn api_server(listener: TcpListener) {
    while let Ok((mut client, _)) = listener.accept().await {
        tokio::spawn(async move {
            let mut head = [0; 4096];
            let _ = client.read(&mut head).await?;
            let version = json!({
                "major": "1", "minor": "37", "gitVersion": "v1.37.0", "gitCommit": "", "gitTreeState": "",
                "buildDate": "", "goVersion": "", "compiler": "", "platform": "",
            });
            let body = version.to_string();
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            client.write_all((head + &body).as_bytes()).await
        });
    }
}

/// Serves one connection without authentication, and returns the name that it was asked for.
async fn proxy(listener: TcpListener) -> anyhow::Result<String> {
    let (mut client, _) = listener.accept().await?;
    let mut greeting = [0; 2];
    client.read_exact(&mut greeting).await?;
    let mut methods = vec![0; greeting[1].into()];
    client.read_exact(&mut methods).await?;
    ensure!(greeting[0] == 5 && methods.contains(&0), "{greeting:?} {methods:?}");
    client.write_all(&[5, 0]).await?;
    // CONNECT to a name: its length follows.
    let mut request = [0; 5];
    client.read_exact(&mut request).await?;
    ensure!(request[..4] == [5, 1, 0, 3], "{request:?}");
    let mut name = vec![0; request[4].into()];
    client.read_exact(&mut name).await?;
    let port = client.read_u16().await?;
    client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await?;
    let mut server = TcpStream::connect(("127.0.0.1", port)).await?;
    copy_bidirectional(&mut client, &mut server).await?;
    Ok(String::from_utf8(name)?)
}

#[tokio::test]
async fn client_behind_socks5_proxy_reaches_a_name() -> anyhow::Result<()> {
    use clap::Parser as _;

    let (server, socks) = (
        TcpListener::bind("127.0.0.1:0").await?,
        TcpListener::bind("127.0.0.1:0").await?,
    );
    let port = server.local_addr()?.port();
    let cluster = json!({
        "server": format!("http://{HOST}:{port}"), "proxy-url": format!("socks5://{}", socks.local_addr()?),
    });
    let kubeconfig = json!({
        "clusters": [{"name": "a", "cluster": cluster}],
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "users": [{"name": "a", "user": {}}],
        "current-context": "a",
    });
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), kubeconfig.to_string())?;
    tokio::spawn(api_server(server));
    let proxy = tokio::spawn(proxy(socks));
    let path = file.path().to_string_lossy().into_owned();
    let arguments = Arguments::try_parse_from(["claim-rollout", "--kubeconfig", &path, "version"])?;
    let (client, _) = arguments.cluster.connect().await?;
    assert_eq!(client.apiserver_version().await?.git_version, "v1.37.0");
    drop(client);
    assert_eq!(proxy.await??, HOST);
    Ok(())
}
