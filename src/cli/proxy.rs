//! The proxy from the environment, as kubectl uses it (`FromEnvironment` of golang.org/x/net/http/httpproxy).
//!
//! The client of kube reads `HTTPS_PROXY`, but not `NO_PROXY`, and sends requests to this machine to the proxy too.
//! `hyper_util::client::proxy::matcher` follows curl, and differs from kubectl where `NO_PROXY` names a port, where it
//! begins with a dot or `*.`, and for servers on this machine.

use std::net::IpAddr;

use axum::http::Uri;
use ipnet::IpNet;

/// The variables of the environment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProxyVariables<'a> {
    /// `HTTPS_PROXY`, or else `https_proxy`.
    pub(super) https: Option<&'a str>,
    /// `HTTP_PROXY`, or else `http_proxy`.
    pub(super) http: Option<&'a str>,
    /// `NO_PROXY`, or else `no_proxy`.
    pub(super) none: Option<&'a str>,
}

impl ProxyVariables<'_> {
    /// The proxy for a server; none if the server is on this machine or is excluded. One without a scheme is HTTP.
    pub(super) fn proxy(self, server: &Uri) -> Option<String> {
        let (variable, port) = match server.scheme_str() {
            Some("http") => (self.http, 80),
            _ => (self.https, 443),
        };
        let proxy = variable.filter(|proxy| !proxy.is_empty())?;
        let host = server.host()?.trim_matches(['[', ']']).to_ascii_lowercase();
        let address: Option<IpAddr> = host.parse().ok();
        let is_here = host == "localhost" || address.is_some_and(|address| address.is_loopback());
        let port = server.port_u16().unwrap_or(port);
        let mut excluded = self.none.unwrap_or_default().split(',').map(str::trim);
        if is_here || excluded.any(|pattern| matches(pattern, &host, address, port)) {
            return None;
        }
        Some(if proxy.contains("://") {
            proxy.to_owned()
        } else {
            format!("http://{proxy}")
        })
    }
}

/// True iff an item of `NO_PROXY` excludes this host: `*`, an address, a network, or a domain with its subdomains.
fn matches(pattern: &str, host: &str, address: Option<IpAddr>, port: u16) -> bool {
    let pattern = pattern.to_ascii_lowercase();
    if pattern == "*" {
        return true;
    }
    if let (Some(address), Ok(network)) = (address, pattern.parse::<IpNet>()) {
        return network.contains(&address);
    }
    let (name, of_port) = match pattern.rsplit_once(':') {
        Some((name, digits)) if !name.contains(':') || name.ends_with(']') => (name, digits.parse().ok()),
        _ => (pattern.as_str(), None),
    };
    if of_port.is_some_and(|wanted: u16| wanted != port) {
        return false;
    }
    let name = name.trim_matches(['[', ']']);
    if let Some(address) = address {
        return name.parse() == Ok(address);
    }
    let name = name.strip_prefix('*').unwrap_or(name);
    match name.strip_prefix('.') {
        Some(domain) => !domain.is_empty() && host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.')),
        None => {
            !name.is_empty()
                && host
                    .strip_suffix(name)
                    .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ProxyVariables;

    /// `NO_PROXY`, a server, and whether the proxy is used.
    const EXCLUSIONS: &[(&str, &str, bool)] = &[
        ("", "https://api.example.com:6443", true),
        ("", "https://localhost:6443", false),
        ("", "https://127.0.0.1:6443", false),
        ("", "https://[::1]:6443", false),
        ("*", "https://api.example.com", false),
        ("example.com", "https://api.example.com", false),
        ("example.com", "https://example.com", false),
        ("example.com", "https://badexample.com", true),
        (".example.com", "https://api.example.com", false),
        (".example.com", "https://example.com", true),
        ("*.example.com", "https://api.example.com", false),
        ("a.org, EXAMPLE.com", "https://API.example.com", false),
        ("example.com:6443", "https://api.example.com:6443", false),
        ("example.com:443", "https://api.example.com:6443", true),
        ("example.com:443", "https://api.example.com", false),
        ("10.0.0.0/8", "https://10.1.2.3:6443", false),
        ("10.0.0.0/8", "https://11.1.2.3:6443", true),
        ("10.0.0.0/8", "https://api.example.com", true),
        ("0.0.0.0/0", "https://11.1.2.3", false),
        ("10.0.0.1/32", "https://10.0.0.1", false),
        ("10.0.0.0/99", "https://10.0.0.1", true),
        ("10.1.2.3", "https://10.1.2.3:6443", false),
        ("10.1.2.3:6443", "https://10.1.2.3:6443", false),
        ("10.1.2.3:443", "https://10.1.2.3:6443", true),
        ("fd00::/8", "https://[fd00::1]:6443", false),
        ("fd00::1", "https://[fd00::1]:6443", false),
        ("[fd00::1]:443", "https://[fd00::1]:6443", true),
        (",,", "https://api.example.com", true),
    ];

    #[test]
    fn excluded_servers_use_no_proxy() {
        for (none, server, expected) in EXCLUSIONS {
            let variables = ProxyVariables {
                https: Some("http://proxy:3128"),
                http: None,
                none: Some(none),
            };
            let used = variables.proxy(&server.parse().expect(server)).is_some();
            assert_eq!(used, *expected, "NO_PROXY={none} {server}");
        }
    }

    #[test]
    fn variable_is_that_of_the_scheme_and_may_lack_its_own() {
        let variables = ProxyVariables {
            https: Some("proxy:3128"),
            http: Some("socks5://bastion:1080"),
            none: None,
        };
        let proxy = |server: &str| variables.proxy(&server.parse().expect(server));
        assert_eq!(proxy("https://api.example.com").as_deref(), Some("http://proxy:3128"));
        assert_eq!(
            proxy("http://api.example.com").as_deref(),
            Some("socks5://bastion:1080")
        );
        assert_eq!(
            ProxyVariables::default().proxy(&"https://api".parse().expect("a server")),
            None
        );
    }
}
