//! What was promised to compiled programs stays: `include/symbols.txt`, and its sister for readers of
//! declarations, `include/anyhost.cdef`.
//!
//! `symbols.txt` holds every type and function of the header as one declaration of C, behind the version
//! it came with. A line of a version that was released is never changed and never taken away; a line of
//! the version that is being written may be, until it is released.
//! `ANYHOST_BLESS=1 cargo test --test keep abi` writes both files anew, within that rule.

use crate::{none_of, read, root, switch};

/// The header without comments and directives: what LuaJIT and cffi read, a declaration on each line.
fn cdef(header: &str) -> String {
    declarations(header).iter().map(|declaration| format!("{declaration};\n")).collect()
}

/// Every declaration, on one line and without what is there for the preprocessor.
pub(crate) fn declarations(header: &str) -> Vec<String> {
    let mut text = String::new();
    let mut rest = header;
    while let Some((before, comment)) = rest.split_once("/*") {
        text.push_str(before);
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    text.push_str(rest);
    let code: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let mut found = Vec::new();
    let mut depth = 0;
    let mut start = 0;
    let code = code.join(" ");
    let code = code.replace("extern \"C\" {", "");
    for (i, c) in code.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ';' if depth == 0 => {
                let words: Vec<&str> = code[start..i].split_whitespace().collect();
                found.push(words.join(" ").trim_start_matches("ANYHOST_API ").to_owned());
                start = i + 1;
            }
            _ => {}
        }
    }
    found
}

/// A function or the type of a callback without the names of its parameters, which nobody links to.
fn nameless(declaration: &str) -> String {
    let Some((front, parameters)) = declaration.rsplit_once('(') else {
        return declaration.to_owned();
    };
    let kinds = parameters.trim_end_matches(')').split(", ").map(|parameter| {
        match parameter.rfind([' ', '*']) {
            Some(end) => parameter[..=end].trim_end(),
            None => parameter,
        }
    });
    format!("{front}({})", kinds.collect::<Vec<_>>().join(", "))
}

/// The name a declaration declares.
fn name(declaration: &str) -> &str {
    let front = match declaration.split_once("(*") {
        Some((_, callback)) => callback.split(')').next().unwrap_or_default(),
        None => declaration.split('(').next().unwrap_or_default(),
    };
    front.rsplit([' ', '*']).next().unwrap_or_default()
}

/// The types and functions of a header. Enumerators are numbers, and frozen as such beside the tests of
/// the C contract.
fn promised(header: &str) -> Vec<String> {
    let all = declarations(header);
    all.iter().filter(|it| !it.contains('{')).map(|it| nameless(it)).collect()
}

/// One line of `symbols.txt`.
fn parse(line: &str) -> (&str, &str) {
    let (since, declaration) = line.split_once(' ').expect("a version and a declaration");
    (since, declaration.trim_end_matches(';'))
}

/// `symbols.txt` as it should be, and what no version may do.
fn judged(list: &str, header: &str, version: &str) -> (String, Vec<String>) {
    let mut findings = Vec::new();
    let fresh = promised(header);
    let mut lines: Vec<String> = Vec::new();
    for line in list.lines() {
        let (since, old) = parse(line);
        if since == version {
            continue;
        }
        match fresh.iter().find(|it| name(it) == name(old)) {
            Some(new) if new == old => {}
            Some(new) => {
                findings.push(format!("since {since} `{old}` is promised, and now `{new}`"))
            }
            None => findings.push(format!("since {since} `{old}` is promised, and it is gone")),
        }
        lines.push(line.to_owned());
    }
    for declaration in fresh {
        if !lines.iter().any(|line| name(parse(line).1) == name(&declaration)) {
            lines.push(format!("{version} {declaration};"));
        }
    }
    (lines.into_iter().map(|line| line + "\n").collect(), findings)
}

/// The functions of a header whose comment names another version than the list does.
fn wrong_since(list: &str, header: &str) -> Vec<String> {
    let mut findings = Vec::new();
    for part in header.split("/**").skip(1) {
        let Some((comment, code)) = part.split_once("*/") else { continue };
        let Some(function) = code.trim_start().strip_prefix("ANYHOST_API") else { continue };
        let function = name(function.split('(').next().unwrap_or_default().trim());
        let words: Vec<&str> = comment.split_whitespace().filter(|word| *word != "*").collect();
        let said = words.join(" ");
        let said = said.rsplit_once("Since ").map(|(_, version)| version.trim_end_matches('.'));
        let listed = list.lines().map(parse).find(|(_, it)| name(it) == function);
        if said != listed.map(|(since, _)| since) {
            findings.push(format!(
                "`{function}`: its comment says since {said:?}, the list {listed:?}"
            ));
        }
    }
    findings
}

#[test]
fn the_abi_keeps_what_was_promised() {
    let header = read("include/anyhost.h");
    let committed = read("include/symbols.txt");
    let (fresh, findings) = judged(&committed, &header, env!("CARGO_PKG_VERSION"));
    none_of(&findings);
    if switch("ANYHOST_BLESS") {
        std::fs::write(root().join("include/symbols.txt"), &fresh).expect("the tree is writable");
    }
    let committed = read("include/symbols.txt");
    let lacking: Vec<&str> =
        fresh.lines().filter(|it| !committed.lines().any(|o| o == *it)).collect();
    let gone: Vec<&str> = committed.lines().filter(|it| !fresh.lines().any(|o| o == *it)).collect();
    assert!(
        committed == fresh,
        "include/symbols.txt lacks {lacking:#?} and has {gone:#?}; `ANYHOST_BLESS=1 cargo test --test keep abi` writes it anew"
    );
    none_of(&wrong_since(&committed, &header));
}

#[test]
fn the_abi_of_scripts_is_the_header_s() {
    let fresh = cdef(&read("include/anyhost.h"));
    if switch("ANYHOST_BLESS") {
        std::fs::write(root().join("include/anyhost.cdef"), &fresh).expect("the tree is writable");
    }
    assert!(
        read("include/anyhost.cdef") == fresh,
        "include/anyhost.cdef is not what the header says; `ANYHOST_BLESS=1 cargo test --test keep abi` writes it anew"
    );
}

const PLANTED: &str = "#ifndef X\n#define f(x) x\n/* int32_t anyhost_no(void); */\nextern \"C\" {\n#endif\n\
    typedef enum {\n    /** One; or more. */\n    ANYHOST_A = 0,\n    ANYHOST_B = 1\n} anyhost_kind;\n\
    typedef struct anyhost_a anyhost_a;\n\
    typedef int32_t (*anyhost_cb)(void *user, const anyhost_a *it);\n\
    /** Doc (with brackets); and more. Since\n * 0.1.0. */\nANYHOST_API int32_t anyhost_a_new(anyhost_a **out,\n    int32_t x);\n\
    /** Since 0.2.0. */\nANYHOST_API const char *anyhost_text(void);\n} /* extern */\n";

#[test]
fn the_abi_is_read_as_it_is_written() {
    let lines = [
        "typedef enum { ANYHOST_A = 0, ANYHOST_B = 1 } anyhost_kind;",
        "typedef struct anyhost_a anyhost_a;",
        "typedef int32_t (*anyhost_cb)(void *user, const anyhost_a *it);",
        "int32_t anyhost_a_new(anyhost_a **out, int32_t x);",
        "const char *anyhost_text(void);",
    ];
    assert_eq!(cdef(PLANTED), lines.map(|line| format!("{line}\n")).concat());
    assert_eq!(
        promised(PLANTED),
        [
            "typedef struct anyhost_a anyhost_a",
            "typedef int32_t (*anyhost_cb)(void *, const anyhost_a *)",
            "int32_t anyhost_a_new(anyhost_a **, int32_t)",
            "const char *anyhost_text(void)",
        ]
    );
    let names: Vec<String> = promised(PLANTED).iter().map(|it| name(it).to_owned()).collect();
    assert_eq!(names, ["anyhost_a", "anyhost_cb", "anyhost_a_new", "anyhost_text"]);
}

#[test]
fn planted_breaks_of_the_abi_are_found() {
    let (list, findings) = judged("", PLANTED, "0.1.0");
    assert_eq!(findings, Vec::<String>::new(), "nothing was promised before");
    assert_eq!(list.lines().count(), 4);
    assert_eq!(judged(&list, PLANTED, "0.2.0"), (list.clone(), Vec::new()));

    let cut = |part: &str, by: &str| {
        assert!(PLANTED.contains(part));
        let (fresh, findings) = judged(&list, &PLANTED.replace(part, by), "0.2.0");
        assert!(fresh.starts_with(&list), "what was promised is not written over: {fresh}");
        findings
    };
    assert_eq!(cut("int32_t x", "int64_t x").len(), 1, "another parameter");
    assert_eq!(cut("(anyhost_a **out,\n    int32_t x)", "(anyhost_a **out)").len(), 1, "one less");
    assert_eq!(cut("ANYHOST_API const char *anyhost_text(void);", "").len(), 1, "a function gone");
    assert_eq!(cut("const char *anyhost_text", "char *anyhost_text").len(), 1, "another result");
    assert_eq!(cut("const anyhost_a *it", "anyhost_a *it").len(), 1, "another callback");
    assert_eq!(cut("anyhost_a **out", "anyhost_a **made"), Vec::<String>::new(), "a name is free");
    let (fresh, findings) =
        judged(&list, &PLANTED.replace("} /* extern */", "void anyhost_more(void);\n}"), "0.2.0");
    assert_eq!(findings, Vec::<String>::new());
    assert_eq!(fresh, format!("{list}0.2.0 void anyhost_more(void);\n"));
    // Before a version is out, its own lines are free.
    let (fresh, findings) = judged(&list, &PLANTED.replace("int32_t x", "int64_t x"), "0.1.0");
    assert_eq!((fresh.contains("int64_t"), findings), (true, Vec::new()));

    assert_eq!(wrong_since(&list, PLANTED).len(), 1, "the comment of anyhost_text says 0.2.0");
}
