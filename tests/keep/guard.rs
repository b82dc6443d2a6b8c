//! Every function of the C contract stops a panic before it reaches C.
//!
//! A panic that unwinds into C ends the host program, so each exported function is one call of the
//! guard macro and nothing else: whatever stood beside it would be unguarded.

use crate::source::{Token, closing, reads, tokens};
use crate::{files, none_of, read};

/// The macro that is the whole body of each exported function.
const GUARD: &str = "guard";

/// The unguarded or oddly exported functions of one file.
fn check(file: &str, source: &str) -> Vec<String> {
    let tokens = tokens(source);
    let mut findings = Vec::new();
    for (i, token) in tokens.iter().enumerate() {
        let at = format!("{file}:{}", token.line);
        match token.text.as_str() {
            "export_name" => {
                findings.push(format!("{at}: export by `no_mangle`, so that the names agree"))
            }
            "no_mangle" if !file.starts_with("src/ffi/") => {
                findings.push(format!("{at}: functions are exported from src/ffi alone"));
            }
            "no_mangle" => {
                let Some(function) = (i..tokens.len()).find(|i| tokens[*i].text == "fn") else {
                    findings.push(format!("{at}: only functions are exported"));
                    continue;
                };
                if (i..function)
                    .any(|i| ["static", "const", ";"].contains(&tokens[i].text.as_str()))
                {
                    findings.push(format!("{at}: only functions are exported"));
                } else if !guarded(&tokens, function) {
                    let name = tokens.get(function + 1).map_or("", |t| t.text.as_str());
                    findings.push(format!("{at}: the whole body of `{name}` has to be `{GUARD}!`"));
                }
            }
            _ => {}
        }
    }
    findings
}

/// Whether the body of the function at this `fn` is one call of the macro.
fn guarded(tokens: &[Token], function: usize) -> bool {
    let Some(open) = (function..tokens.len()).find(|i| tokens[*i].text == "{") else {
        return false;
    };
    let end = closing(tokens, open);
    // The macro may be named by its path.
    let mut i = open + 1;
    while i < end && (tokens[i].text == "::" || reads(tokens, i + 1, "::")) {
        i += 1;
    }
    if i + 2 >= end || !reads(tokens, i, &format!("{GUARD} !")) {
        return false;
    }
    let call = closing(tokens, i + 2);
    let rest = tokens.get(call + 1..end).unwrap_or_default();
    rest.is_empty() || (rest.len() == 1 && rest[0].text == ";")
}

#[test]
fn every_exported_function_is_guarded() {
    let mut findings = Vec::new();
    for file in files("src", "rs") {
        findings.extend(check(file.to_str().expect("ASCII names"), &read(&file)));
    }
    none_of(&findings);
}

#[test]
fn planted_gaps_are_found() {
    let export =
        "#[unsafe(no_mangle)]\npub unsafe extern \"C\" fn anyhost_x(p: *const c_char) -> i32";
    for gap in [
        format!("{export} {{ work(p) }}"),
        format!("{export} {{ let q = *p; guard!(work(q)) }}"),
        format!("{export} {{ guard!(work(p)).unwrap() }}"),
        format!("{export} {{ unguard!(work(p)) }}"),
        format!("{export} {{ // guard!(work(p))\n work(p) }}"),
        format!("{export} {{ }}"),
        "#[unsafe(no_mangle)]\npub static ANYHOST: i32 = 1; fn f() { guard!(x) }".to_owned(),
        "#[unsafe(export_name = \"anyhost_x\")]\nfn f() { guard!(x) }".to_owned(),
    ] {
        let findings = check("src/ffi/x.rs", &gap);
        assert_eq!(findings.len(), 1, "{gap}");
        assert!(findings[0].starts_with("src/ffi/x.rs:1: "), "{findings:?}");
    }
    let good = format!("{export} {{ guard!(work(p)) }}");
    assert_eq!(check("src/client/x.rs", &good).len(), 1);
    for good in [
        good,
        format!("{export} {{\n    crate::ffi::guard!(p, {{ if x {{ y }} else {{ z }} }})\n}}"),
        format!("{export} {{ guard! {{ work(p) }} }}"),
        "#[unsafe(no_mangle)]\npub extern \"C\" fn anyhost_free() { guard!(()); }".to_owned(),
        "fn private() { work() }".to_owned(),
    ] {
        assert_eq!(check("src/ffi/x.rs", &good), Vec::<String>::new());
    }
}
