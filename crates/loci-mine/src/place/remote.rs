//! Parses the URL of a remote: either another repository on this machine, or the host and path of a
//! remote one. All URL forms of one repository give the same result, which never contains the user
//! or password.

use loci_core::MAX_REMOTE_BYTES;

/// The target of a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Remote {
    /// `host/path`, or `host:port/path`.
    Elsewhere(String),
    /// A path on this machine, which may be relative to the repository.
    Local(String),
}

/// Hosts with case-insensitive paths.
const ANY_CASE: [&str; 3] = ["github.com", "gitlab.com", "bitbucket.org"];

/// Parses a URL. Returns `None` if it is invalid, or if it is ambiguous which part is a password.
pub(super) fn parse(url: &str) -> Option<Remote> {
    let url = url.trim();
    if url.is_empty() || url.len() > MAX_REMOTE_BYTES || url.chars().any(char::is_control) {
        return None;
    }
    if let Some((scheme, rest)) = url.split_once("://") {
        let scheme = scheme.to_ascii_lowercase();
        let port = match scheme.as_str() {
            "file" => return local_of_file_url(rest),
            "https" => "443",
            "http" => "80",
            "ssh" | "git+ssh" | "ssh+git" => "22",
            "git" => "9418",
            _ => return None,
        };
        let (authority, path) = rest.split_once('/')?;
        let path = path.split(['?', '#']).next().unwrap_or_default();
        return elsewhere(authority, path, Some(port));
    }
    // `ext::command` and similar forms run programs.
    if url.contains("::") {
        return None;
    }
    let colon = url.find(':');
    let slash = url.find(['/', '\\']);
    match colon {
        // A colon after a slash is part of a path, and a single letter before it is a drive.
        Some(colon) if colon > 1 && slash.is_none_or(|slash| colon < slash) => {
            let (authority, path) = url.split_at(colon);
            elsewhere(authority, path.strip_prefix(':')?, None)
        }
        _ => Some(Remote::Local(url.to_owned())),
    }
}

fn local_of_file_url(rest: &str) -> Option<Remote> {
    let path = rest.find('/').and_then(|at| rest.get(at..))?;
    let host = rest.strip_suffix(path)?;
    (host.is_empty() || host.eq_ignore_ascii_case("localhost"))
        .then(|| Remote::Local(path.to_owned()))
}

fn elsewhere(authority: &str, path: &str, default_port: Option<&str>) -> Option<Remote> {
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    let (host, port) = match host.rsplit_once(':') {
        // Colons inside brackets belong to an IPv6 address.
        Some((name, port)) if !port.contains(']') => (name, Some(port)),
        _ => (host, None),
    };
    if port.is_some_and(|port| !port.bytes().all(|byte| byte.is_ascii_digit())) {
        return None;
    }
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let path = path.trim_matches('/');
    let path = path
        .strip_suffix(".git")
        .unwrap_or(path)
        .trim_end_matches('/');
    // A password that contains a slash looks like a path with an `@`.
    if host.is_empty() || path.is_empty() || path.contains('@') || host.contains(['@', ' ']) {
        return None;
    }
    let path = if ANY_CASE.contains(&host.as_str()) {
        path.to_ascii_lowercase()
    } else {
        path.to_owned()
    };
    Some(Remote::Elsewhere(
        match port.filter(|port| !port.is_empty() && Some(*port) != default_port) {
            Some(port) => format!("{host}:{port}/{path}"),
            None => format!("{host}/{path}"),
        },
    ))
}

/// Returns the second-to-last part of the path.
pub(super) fn owner(remote: &str) -> Option<&str> {
    let mut parts = remote.rsplit('/');
    parts.next()?;
    parts.next().filter(|owner| !owner.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Assembled, so that no scanner takes it for a real secret.
    const SECRET: &str = concat!("not", "-a-", "secret");

    // `§` stands for `@`, because text that looks like a password is masked in mined files.
    #[test]
    fn every_form_of_one_remote_is_the_same() {
        for url in [
            "https://github.com/acme/api.git",
            "https://github.com/acme/api",
            "https://github.com/acme/api/",
            "https://GitHub.com/Acme/API.git",
            "https://github.com:443/acme/api.git",
            "http://github.com:80/acme/api",
            "https://someone@github.com/acme/api.git",
            "https://someone:not-a-secret§github.com/acme/api.git",
            "https://a:b§c:d§github.com/acme/api.git",
            "https://github.com/acme/api.git?token=not-a-secret#x",
            "git@github.com:acme/api.git",
            "github.com:acme/api",
            "git@github.com:/acme/api.git/",
            "ssh://git@github.com/acme/api.git",
            "ssh://git@github.com:22/acme/api.git",
            "git+ssh://git@github.com/acme/api.git",
            "git://github.com/acme/api.git",
            "git://github.com:9418/acme/api.git",
            "  https://github.com./acme/api.git ",
        ] {
            let expected = Some(Remote::Elsewhere("github.com/acme/api".into()));
            assert_eq!(parse(&url.replace('§', "@")), expected, "{url}");
        }
    }

    #[test]
    fn what_differs_stays_apart() {
        for (url, expected) in [
            ("https://git.example:8443/a/b", "git.example:8443/a/b"),
            ("https://git.example/A/b", "git.example/A/b"),
            ("ssh://git@[::1]:2222/a/b.git", "[::1]:2222/a/b"),
            ("host:b.git", "host/b"),
            ("https://h/group/sub/repo.git", "h/group/sub/repo"),
        ] {
            let expected = Some(Remote::Elsewhere(expected.into()));
            assert_eq!(parse(url), expected, "{url}");
        }
    }

    #[test]
    fn a_path_is_a_repository_on_this_machine() {
        for (url, path) in [
            ("/srv/git/api.git", "/srv/git/api.git"),
            ("../api", "../api"),
            ("./a:b", "./a:b"),
            ("C:\\git\\api", "C:\\git\\api"),
            ("file:///srv/git/api.git", "/srv/git/api.git"),
            ("file://localhost/srv/api", "/srv/api"),
        ] {
            assert_eq!(parse(url), Some(Remote::Local(path.into())), "{url}");
        }
    }

    #[test]
    fn what_may_hold_a_password_is_no_remote() {
        for url in [
            "",
            "ext::sh -c 'x'",
            "https://u:pass/word§host/a/b",
            "https://u:12/34§host/a/b",
            "user:pw§host:a/b",
            "https://host",
            "https:///a/b",
            "ftp2://host/a",
            "file://elsewhere/srv/api",
            "https://host/a\nb",
            "https://host:port/a/b",
        ] {
            assert_eq!(parse(&url.replace('§', "@")), None, "{url:?}");
        }
    }

    #[test]
    fn the_owner_is_the_part_before_the_name() {
        assert_eq!(owner("github.com/acme/api"), Some("acme"));
        assert_eq!(owner("h/group/sub/repo"), Some("sub"));
        assert_eq!(owner("h/repo"), Some("h"));
        assert_eq!(owner("repo"), None);
    }

    proptest! {
        #[test]
        fn no_password_is_ever_part_of_a_remote(
            scheme in "(https://|ssh://|git://|http://|)", user in "[a-z]{0,5}", sign in "[:@/]{0,2}",
            host in "[a-z.]{1,8}", end in "[:/][a-z/]{1,8}",
        ) {
            let url = format!("{scheme}{user}:{SECRET}{sign}@{host}{end}");
            if let Some(Remote::Elsewhere(remote)) = parse(&url) {
                prop_assert!(!remote.contains(SECRET) && !remote.contains('@'), "{url} gave {remote}");
            }
        }

        #[test]
        fn no_url_makes_it_panic(url in "\\PC{0,60}|[a-z:/@.\\[\\]]{0,40}") {
            let _ = parse(&url);
        }
    }
}
