//! Programs made of the header: every function with each of its pointers NULL, and each of its
//! numbers wild.
//!
//! Made and not written, so that a function added to the header is tested before somebody thinks of
//! it. All other arguments are good ones; so a status that is not the expected one, an output that
//! was not cleared, or an error that is missing can have one cause only.

use crate::programs::echo;
use crate::prototypes::{Function, Parameter, functions};
use crate::support::{Authority, Server, refusing_address};
use crate::toolbox::{Build, Program, compile_file, read, scratch};
use std::fmt::Write;

#[test]
fn every_pointer_may_be_null() {
    let cases: Vec<Case> = functions(&read("include/anyhost.h")).iter().flat_map(nulls).collect();
    assert!(cases.len() > 120, "{}", cases.len());
    run("null.c", &cases);
}

#[test]
fn every_number_may_be_wild() {
    let cases: Vec<Case> = functions(&read("include/anyhost.h")).iter().flat_map(wild).collect();
    assert!(cases.len() > 60, "{}", cases.len());
    run("wild.c", &cases);
}

/// One call, and what it has to come to.
struct Case {
    function: String,
    returns: String,
    /// Type, name and text of each argument.
    arguments: Vec<(String, String, String)>,
    expected: Expected,
}

#[derive(Clone, Copy, PartialEq)]
enum Expected {
    /// A status.
    Status(&'static str),
    /// A number or a pointer.
    Value(&'static str),
    Text(&'static str),
    /// A pointer to something.
    Something,
    Anything,
}

/// Each pointer NULL, one at a time; bytes that are (NULL, 0); and a failure whose error nobody wants.
fn nulls(function: &Function) -> Vec<Case> {
    let mut cases = Vec::new();
    if let Some(err) = function.parameters.iter().position(|it| it.name == "err") {
        let mut case = good(function);
        case.arguments[0].2 = "NULL".into();
        case.arguments[err].2 = "NULL".into();
        case.expected = Expected::Status("ANYHOST_E_NULL");
        cases.push(case);
    }
    for (i, parameter) in function.parameters.iter().enumerate() {
        if !parameter.is_pointer() {
            continue;
        }
        let mut case = good(function);
        case.arguments[i].2 = "NULL".into();
        case.expected = if may_be_null(function, parameter) {
            with_all_good(function)
        } else if function.is_fallible() {
            Expected::Status("ANYHOST_E_NULL")
        } else {
            of_null(function)
        };
        cases.push(case);

        let next = function.parameters.get(i + 1);
        if parameter.kind.ends_with('*') && next.is_some_and(is_length) {
            let mut case = good(function);
            case.arguments[i].2 = "NULL".into();
            case.arguments[i + 1].2 = "0".into();
            case.expected = match (function.name.as_str(), parameter.name.as_str()) {
                // No header has the empty name.
                (_, "name") => Expected::Status("ANYHOST_E_ARGUMENT"),
                // This is how its size is asked for.
                (_, "buf") if function.parameters.iter().any(|it| it.name == "out_needed") => {
                    Expected::Status("ANYHOST_E_BUFFER")
                }
                // Nothing is no certificate.
                (_, "cert" | "key") => Expected::Status("ANYHOST_E_TLS_MATERIAL"),
                _ => Expected::Status("ANYHOST_OK"),
            };
            cases.push(case);
        }
    }
    cases
}

/// Each number with values that it cannot have, one at a time.
fn wild(function: &Function) -> Vec<Case> {
    let mut cases = Vec::new();
    for (i, parameter) in function.parameters.iter().enumerate() {
        let (values, outside): (&[&str], Expected) =
            match (parameter.kind.as_str(), parameter.name.as_str()) {
                ("int32_t", _) => (
                    &["-1", "INT32_MIN", "INT32_MAX", "12345"],
                    match function.returns.as_str() {
                        "const char *" => Expected::Text("unknown"),
                        _ => Expected::Status("ANYHOST_E_RANGE"),
                    },
                ),
                ("int64_t", "length") => {
                    (&["-2", "INT64_MIN"], Expected::Status("ANYHOST_E_RANGE"))
                }
                ("int64_t", _) => (&["-1", "INT64_MIN"], Expected::Status("ANYHOST_E_RANGE")),
                ("uint32_t", "weight") => {
                    (&["1001", "UINT32_MAX"], Expected::Status("ANYHOST_E_RANGE"))
                }
                ("uint32_t", _) => (&["UINT32_MAX", "12345"], Expected::Status("ANYHOST_OK")),
                ("uint64_t", "every_ms") => (&["0"], Expected::Status("ANYHOST_E_RANGE")),
                // Longer than a year.
                ("uint64_t", "base_ms" | "max_ms") => {
                    (&["UINT64_MAX"], Expected::Status("ANYHOST_E_RANGE"))
                }
                ("size_t", "i" | "nth") => (
                    &["SIZE_MAX", "12345"],
                    match function.is_fallible() {
                        true => Expected::Status("ANYHOST_E_RANGE"),
                        false => Expected::Value("0"),
                    },
                ),
                // Longer than memory can be. What is to be read is looked at first.
                ("size_t", "len" | "value_len" | "name_len" | "cert_len" | "key_len" | "count") => {
                    (&["SIZE_MAX"], Expected::Status("ANYHOST_E_RANGE"))
                }
                _ => continue,
            };
        for value in values {
            let mut case = good(function);
            case.arguments[i].2 = (*value).into();
            case.expected = outside;
            cases.push(case);
        }
    }
    cases
}

fn is_number(kind: &str) -> bool {
    ["size_t", "int32_t", "uint64_t"].contains(&kind)
}

fn is_place_of_number(kind: &str) -> bool {
    kind.strip_suffix(" *").is_some_and(is_number)
}

/// The length of the bytes before it.
fn is_length(parameter: &Parameter) -> bool {
    parameter.kind == "size_t" && (parameter.name.ends_with("len") || parameter.name == "cap")
}

fn may_be_null(function: &Function, parameter: &Parameter) -> bool {
    match parameter.name.as_str() {
        "err" | "user" | "free_user" | "rewind" | "label" | "content_type" => true,
        "on_progress" | "out_wait_ms" | "out_backoff_ms" => true,
        // The default again, or the header away.
        "value" => function.name.ends_with("_set") || function.name.ends_with("_set_header"),
        "out_len" => function.name == "anyhost_response_header",
        _ => false,
    }
}

fn with_all_good(function: &Function) -> Expected {
    match function.returns.as_str() {
        "int32_t" => Expected::Status("ANYHOST_OK"),
        returns if returns.ends_with('*') => Expected::Something,
        _ => Expected::Anything,
    }
}

/// What a getter answers for NULL.
fn of_null(function: &Function) -> Expected {
    match function.name.as_str() {
        "anyhost_error_message" => Expected::Text(""),
        "anyhost_response_content_length" => Expected::Value("-1"),
        "anyhost_event_old_state" | "anyhost_event_new_state" => Expected::Value("-1"),
        "anyhost_member_state" => Expected::Value("-1"),
        _ if function.returns == "void" => Expected::Anything,
        _ => Expected::Value("0"),
    }
}

/// The call with arguments that work.
fn good(function: &Function) -> Case {
    let argument = |parameter: &Parameter| {
        let text = match (parameter.kind.as_str(), parameter.name.as_str()) {
            ("const char *", "base_urls" | "url") => "url",
            ("const char *", "key") => "url",
            ("const char *", "path") => "\"/\"",
            ("const char *", "method") => "\"POST\"",
            ("const char *", "option") => "\"deadline\"",
            ("const char *", "value") => "\"30s\"",
            ("const char *", "name") if function.name.starts_with("anyhost_response") => {
                "\"x-method\""
            }
            ("const char *", "name") => "\"X-Name\"",
            ("const char *", _) => "\"text\"",
            ("const char *const *" | "const anyhost_snapshot *const *", name) => name,
            ("size_t", "count") => "1",
            ("const void *", "cert" | "key") => parameter.name.as_str(),
            ("const void *", _) => "\"data\"",
            ("void *" | "char *", "buf") => "room",
            ("void *", _) => "&nothing",
            ("size_t", "cap") => "sizeof room",
            ("size_t", "cert_len") => "strlen(cert)",
            ("size_t", "key_len") => "strlen(key)",
            ("size_t", _) if parameter.name.ends_with("len") => "4",
            ("anyhost_event_cb", _) => "on_event",
            ("anyhost_judge_cb", _) => "on_judge",
            ("anyhost_retry_cb", _) => "on_retry",
            ("anyhost_progress_cb", _) => "on_progress",
            ("uint64_t", "every_ms") => "1000",
            ("anyhost_read_cb", _) => "on_read",
            ("anyhost_rewind_cb", _) => "on_rewind",
            ("anyhost_free_cb", _) => "on_free",
            ("anyhost_client *", _) => "client",
            ("anyhost_builder *", _) => "builder",
            ("anyhost_request *", _) => "request",
            ("anyhost_update *" | "const anyhost_update *", _) => "update",
            // Freeing is tried with NULL only.
            ("anyhost_cancel *" | "anyhost_breaker *" | "anyhost_snapshot *", _)
                if function.name.ends_with("_free") =>
            {
                "NULL"
            }
            ("anyhost_cancel *" | "const anyhost_cancel *", _) => "cancel",
            ("anyhost_breaker *", _) => "breaker",
            ("const anyhost_snapshot *", _) => "snapshot",
            ("const anyhost_member *", _) => "member",
            ("anyhost_response *" | "const anyhost_response *", _) => "answer",
            ("const anyhost_error *", _) => "failure",
            ("const anyhost_attempt *", _) => "attempt",
            (kind, _) if kind.starts_with("const anyhost_event") => "NULL",
            // Freeing is tried with NULL only.
            ("anyhost_error *", _) => "NULL",
            ("int32_t" | "uint32_t" | "int64_t" | "uint64_t" | "size_t" | "double", _) => "0",
            (kind, name) if kind.ends_with("**") || is_place_of_number(kind) => {
                return (kind.to_owned(), name.to_owned(), format!("&{name}"));
            }
            (kind, name) => panic!("{}: no good value for `{kind} {name}`", function.name),
        };
        (parameter.kind.clone(), parameter.name.clone(), text.to_owned())
    };
    Case {
        function: function.name.clone(),
        returns: function.returns.clone(),
        arguments: function.parameters.iter().map(argument).collect(),
        expected: Expected::Anything,
    }
}

/// What the cases use. The handles that a call may change are new for each.
const FRONT: &str = r#"/* Made by ffi-tests/generated.rs. */
#include "check.h"

static int nothing;
static char room[8192];
static void on_event(void *user, const anyhost_event *event) { (void)user, (void)event; }
static int32_t on_judge(void *user, const anyhost_response *answer) {
    (void)user, (void)answer;
    return 0;
}
static int32_t on_retry(void *user, const anyhost_attempt *last) {
    (void)user, (void)last;
    return 0;
}
static int32_t on_read(void *user, uint8_t *buf, size_t cap, size_t *out_n) {
    (void)user, (void)buf, (void)cap;
    *out_n = 0;
    return 0;
}
static int32_t on_progress(void *user, uint64_t sent, uint64_t received, int64_t total) {
    (void)user, (void)sent, (void)received, (void)total;
    return 0;
}
static int32_t on_rewind(void *user) { (void)user; return 0; }
static void on_free(void *user) { (void)user; }

int main(int argc, char **argv) {
    const char *url;
    anyhost_client *client = NULL, *lonely = NULL;
    anyhost_builder *builder = NULL;
    anyhost_request *request = NULL;
    anyhost_response *answer = NULL;
    anyhost_error *failure = NULL;
    anyhost_cancel *cancel = NULL;
    anyhost_breaker *breaker = NULL;
    anyhost_update *update = NULL;
    anyhost_snapshot *snapshot = NULL;
    const char *clients[] = {"a client"};
    const anyhost_snapshot *snapshots[1];
    const anyhost_attempt *attempt;
    const anyhost_member *member;
    const char *cert, *key;
    begin(argc, 4);
    url = argv[1];
    cert = argv[3];
    key = argv[4];
    OK(anyhost_open(url, &client, NULL));
    OK(anyhost_open(argv[2], &lonely, NULL));
    SAME(anyhost_get(lonely, "/", &answer, &failure), ANYHOST_E_ATTEMPTS_SPENT);
    anyhost_client_free(lonely);
    OK(anyhost_get(client, "/", &answer, NULL));
    attempt = anyhost_response_attempt(answer, 0);
    OK(anyhost_cancel_new(&cancel));
    OK(anyhost_breaker_new(0, 0, 0, &breaker));
    OK(anyhost_update_new(&update));
    OK(anyhost_update_add_endpoint(update, url, 0, 0, NULL));
    OK(anyhost_client_snapshot(client, &snapshot));
    snapshots[0] = snapshot;
    member = anyhost_snapshot_at(snapshot, 0);
"#;

const BACK: &str =
    "    (void)attempt, (void)room, (void)on_rewind, (void)on_free, (void)on_read, (void)on_event;
    (void)on_judge, (void)on_retry, (void)on_progress, (void)member, (void)cert, (void)key;
    (void)clients, (void)snapshots;
    anyhost_cancel_free(cancel);
    anyhost_breaker_free(breaker);
    anyhost_update_free(update);
    anyhost_snapshot_free(snapshot);
    anyhost_response_free(answer);
    anyhost_error_free(failure);
    anyhost_client_free(client);
    return passed();
}
";

impl Case {
    fn write(&self, out: &mut String) -> std::fmt::Result {
        let uses = |name: &str| self.arguments.iter().any(|(_, _, text)| text == name);
        let call: Vec<&str> = self.arguments.iter().map(|(_, _, text)| text.as_str()).collect();
        let call = format!("{}({})", self.function, call.join(", "));
        let outputs: Vec<&(String, String, String)> =
            self.arguments.iter().filter(|(_, name, text)| *text == format!("&{name}")).collect();

        writeln!(out, "    {{")?;
        for (kind, name, _) in &outputs {
            let pointed = kind[..kind.len() - 1].trim();
            let poison = match (pointed, name.as_str()) {
                (_, "err") => "NULL",
                (pointed, _) if is_number(pointed) => "77",
                _ => "(void *)&nothing",
            };
            writeln!(out, "        {pointed} {name} = {poison};")?;
        }
        if uses("builder") {
            writeln!(out, "        OK(anyhost_builder_new(&builder));")?;
            writeln!(
                out,
                "        OK(anyhost_builder_add_endpoint(builder, url, 0, 0, \"label\"));"
            )?;
        }
        if uses("request") {
            writeln!(out, "        OK(anyhost_request_new(\"GET\", \"/\", &request, NULL));")?;
        }
        match self.expected {
            Expected::Status(status) => writeln!(out, "        SAME({call}, {status});")?,
            Expected::Value(value) if self.returns.ends_with('*') => {
                writeln!(out, "        CHECK({call} == {});", value.replace('0', "NULL"))?;
            }
            Expected::Value(value) => writeln!(out, "        SAME({call}, {value});")?,
            Expected::Text(text) => writeln!(out, "        TEXT({call}, \"{text}\");")?,
            Expected::Something => writeln!(out, "        CHECK({call} != NULL);")?,
            Expected::Anything => writeln!(out, "        {call};")?,
        }
        let worked = matches!(self.expected, Expected::Status("ANYHOST_OK"));
        for (kind, name, _) in &outputs {
            self.write_output(out, kind[..kind.len() - 1].trim(), name, worked)?;
        }
        for handle in ["builder", "request"].into_iter().filter(|handle| uses(handle)) {
            writeln!(out, "        anyhost_{handle}_free({handle});")?;
        }
        writeln!(out, "    }}")
    }

    /// An output is cleared on failure, and something of the caller's after success.
    fn write_output(
        &self,
        out: &mut String,
        pointed: &str,
        name: &str,
        worked: bool,
    ) -> std::fmt::Result {
        let handle = pointed.strip_prefix("anyhost_").and_then(|rest| rest.strip_suffix(" *"));
        match (name, worked) {
            ("err", true) => writeln!(out, "        CHECK(err == NULL);"),
            ("err", false) => {
                let Expected::Status(status) = self.expected else { return Ok(()) };
                writeln!(out, "        SAME(anyhost_error_status(err), {status});")?;
                writeln!(out, "        CHECK(strlen(anyhost_error_message(err)) > 0);")?;
                writeln!(out, "        anyhost_error_free(err);")
            }
            // How much room there has to be is said in every case.
            ("out_needed", _) => writeln!(out, "        CHECK({name} != 77);"),
            (_, true) => match handle {
                Some(handle) => {
                    writeln!(out, "        CHECK({name} != NULL && {name} != (void *)&nothing);")?;
                    writeln!(out, "        anyhost_{handle}_free({name});")
                }
                None if is_number(pointed) => writeln!(out, "        CHECK({name} != 77);"),
                None => writeln!(out, "        CHECK({name} != (const void *)&nothing);"),
            },
            (_, false) if is_number(pointed) => writeln!(out, "        SAME({name}, 0);"),
            (_, false) => writeln!(out, "        CHECK({name} == NULL);"),
        }
    }
}

/// The program of these cases.
fn program(name: &str, cases: &[Case], build: Build) -> Program {
    let mut text = FRONT.to_owned();
    for case in cases {
        case.write(&mut text).expect("a String takes everything");
    }
    text.push_str(BACK);
    let file = scratch().join(name);
    std::fs::write(&file, text).expect("the folder is writable");
    compile_file(&file, build)
}

fn run(name: &str, cases: &[Case]) {
    let (cert, key) = Authority::new().client_pem();
    for build in [Build::Shared, Build::Sanitized] {
        let (refusing, server) = (refusing_address(), Server::start(echo()));
        program(name, cases, build).run(&[&server.url(), &refusing.url(), &cert, &key]).passed();
    }
}
