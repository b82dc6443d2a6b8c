//! A client from TOML or JSON: what it says is what is sent, and a mistake has a place.

use crate::support::*;
use anyhost::{Client, Status, options};
use std::fs;
use std::path::Path;

#[test]
fn the_same_client_from_toml_and_from_json() {
    let (a, b) = (Server::start(Reply::ok("a")), Server::start(Reply::ok("b")));
    let toml = format!(
        r#"
        deadline = "10s"
        max_attempts = 2
        redirects = 0
        error_statuses = ["5xx", 429]
        decompress = false
        preset = "datatug"

        [headers]
        Accept = "text/plain"
        X-Two = ["1", "2"]

        [[endpoints]]
        url = "{b}/base"
        label = "second"
        priority = 1

        [[endpoints]]
        url = "{a}"
        label = "first"
        priority = 0
        secret_headers = {{ X-Key = "hush" }}
        "#
    );
    let json = format!(
        r#"{{
            "deadline": "10s", "max_attempts": 2, "redirects": 0, "error_statuses": ["5xx", 429],
            "decompress": false, "preset": "datatug",
            "headers": {{"Accept": "text/plain", "X-Two": ["1", "2"]}},
            "endpoints": [
                {{"url": "{b}/base", "label": "second", "priority": 1}},
                {{"url": "{a}", "label": "first", "priority": 0, "secret_headers": {{"X-Key": "hush"}}}}
            ]
        }}"#
    );
    for (n, text) in [toml, json].iter().enumerate() {
        let client = Client::builder().config(text).build().unwrap();
        let labels: Vec<_> =
            client.snapshot().members().iter().map(|member| member.label().to_owned()).collect();
        assert_eq!(labels, ["first", "second"]);
        assert_eq!(client.get("/x").send().unwrap().text().unwrap(), "a");
        client.disable("first", "test").unwrap();
        assert_eq!(client.get("/x").send().unwrap().text().unwrap(), "b");
        let (to_a, to_b) = (&a.requests()[n], &b.requests()[n]);
        assert_eq!((to_a.header("x-key"), to_b.header("x-key")), (Some("hush"), None));
        assert_eq!(to_b.header("accept"), Some("text/plain"));
        assert_eq!(to_b.headers_of("x-two"), ["1", "2"]);
        assert_eq!(to_b.header("accept-encoding"), None, "decompress = false");
    }
}

#[test]
fn every_option_is_a_key() {
    for option in options() {
        let (name, value) = (option.name(), option.default());
        // Where nothing stands for the default, nothing can be written for it either.
        if value.is_empty() || value == "random" {
            continue;
        }
        for text in [format!("{name} = \"{value}\""), format!("{{\"{name}\": \"{value}\"}}")] {
            let built = Client::builder().base_urls("http://a.example").config(&text).build();
            assert!(built.is_ok(), "{text}: {built:?}");
        }
    }
}

#[test]
fn a_mistake_has_a_line_and_a_column() {
    for (text, status, message) in [
        ("deadline = ", Status::Option, "line 1, column 12: no TOML: string values must be quoted"),
        (
            "\n\n  deadlime = \"1s\"",
            Status::Option,
            "line 3, column 3: there is no option `deadlime`",
        ),
        ("# é\ndeadline = \"soon\"", Status::Option, "line 2, column 1: option `deadline`: "),
        (
            "deadline = 1979-05-27",
            Status::Option,
            "line 1, column 1: option `deadline`: it has to be",
        ),
        ("[deadlime]\nx = 1", Status::Option, "line 1, column 2: there is no option `deadlime`"),
        ("preset = \"fast\"", Status::Option, "line 1, column 1: "),
        ("endpoints = [{ url = \"http://a/\" },\n {}]", Status::Option, "line 2, column 2: "),
        ("[[endpoints]]\nurl = \"gopher://a\"", Status::Url, "line 2, column 1: "),
        ("[[endpoints]]\nurl = \"http://a\"\nwait = 1", Status::Option, "line 3, column 1: "),
        ("[[endpoints]]\nurl = \"http://a\"\nweight = -1", Status::Option, "line 3, column 1: "),
        ("[secret_headers]\nX-Key = 7", Status::Option, "line 1, column 2: "),
        ("root_pem_files = [\"/nowhere/root.pem\"]", Status::TlsMaterial, "line 1, column 1: "),
        ("client_key_file = \"/nowhere/key.pem\"", Status::TlsMaterial, "line 1, column 1: "),
        (
            "{\"deadline\": 1,\n\"deadline\": 2}",
            Status::Option,
            "line 2, column 14: no JSON: `deadline`",
        ),
        ("{\"deadline\": \"1s\",}", Status::Option, "line 1, column 19: no JSON: trailing comma"),
        (
            "{\n \"deadlime\": 1}",
            Status::Option,
            "line 2, column 14: there is no option `deadlime`",
        ),
        (
            "{\"deadline\": null}",
            Status::Option,
            "line 1, column 14: option `deadline`: it has to be",
        ),
        (
            "{\"headers\": {\"A\": \"b\",\n \"A\": \"c\"}}",
            Status::Option,
            "line 2, column 10: no JSON",
        ),
    ] {
        let error = Client::builder().config(text).build().unwrap_err();
        assert_eq!(error.status(), status, "{text}: {error}");
        assert!(error.to_string().starts_with(message), "{text}: {error}");
    }
}

/// R15: what does not parse may hold a secret.
#[test]
fn a_mistake_shows_no_secret() {
    for text in [
        "secret_headers = { X-Key = \"hush\", }}",
        "[secret_headers]\nX-Key = \"hush\\q\"",
        "[secret_headers]\nX-Key = \"hush\\n\"",
        "{\"secret_headers\": {\"X-Key\": \"hush\" \"\"}}",
        "base_urls = \"http://user:hush@a.example:99999\"",
    ] {
        let error = Client::builder().config(text).build().unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hush"), "{error:?}");
    }
}

#[test]
fn a_file_is_named_and_its_paths_are_its_own() {
    let ca = Authority::new();
    let server = Server::tls(&ca.server(), Reply::ok("over TLS"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("config");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("root.pem"), ca.pem()).unwrap();
    let file = folder.join("client.toml");
    let text = format!(
        "base_urls = \"{server}\"\ntls_roots = \"none\"\nroot_pem_files = [\"root.pem\"]\n"
    );
    fs::write(&file, &text).unwrap();
    let client = Client::builder().config_file(&file).build().unwrap();
    assert_eq!(client.get("/").send().unwrap().text().unwrap(), "over TLS");

    fs::write(&file, text.replace("none", "nobody")).unwrap();
    let error = Client::builder().config_file(&file).build().unwrap_err();
    let start = format!("{}: line 2, column 1: option `tls_roots`: ", file.display());
    assert!(error.to_string().starts_with(&start), "{error}");
    let missing = folder.join("missing.toml");
    let error = Client::builder().config_file(&missing).build().unwrap_err();
    assert!(error.to_string().starts_with(&missing.display().to_string()), "{error}");
}
