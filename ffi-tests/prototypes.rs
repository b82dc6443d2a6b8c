//! The functions of the header, as data.

/// A function: what it returns, its name, and its parameters.
pub struct Function {
    pub returns: String,
    pub name: String,
    pub parameters: Vec<Parameter>,
}

pub struct Parameter {
    pub kind: String,
    pub name: String,
}

impl Function {
    /// Whether it answers a status, as against a getter whose number is the value itself.
    pub fn is_fallible(&self) -> bool {
        let getter = match self.parameters.as_slice() {
            [only] => only.kind.starts_with("const anyhost_") || !only.is_pointer(),
            _ => false,
        };
        self.returns == "int32_t" && !getter
    }
}

impl Parameter {
    pub fn is_pointer(&self) -> bool {
        self.kind.ends_with('*') || self.kind.ends_with("_cb")
    }
}

/// The functions of a header, in its order.
pub fn functions(header: &str) -> Vec<Function> {
    let code = without_comments(header);
    code.split("ANYHOST_API")
        .filter_map(|part| {
            let declaration = part.split(';').next()?.trim();
            let (front, parameters) = declaration.strip_suffix(')')?.split_once('(')?;
            let Parameter { kind: returns, name } = parameter(front);
            name.starts_with("anyhost_").then_some(())?;
            let parameters = match parameters.trim() {
                "void" => Vec::new(),
                list => list.split(',').map(parameter).collect(),
            };
            Some(Function { returns, name, parameters })
        })
        .collect()
}

/// `const char *path` as a type and a name.
pub fn parameter(text: &str) -> Parameter {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = text.rfind([' ', '*']).expect("a type and a name") + 1;
    Parameter { kind: text[..end].trim().to_owned(), name: text[end..].to_owned() }
}

fn without_comments(header: &str) -> String {
    let mut parts = header.split("/*");
    let mut code = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        code.push_str(part.split_once("*/").map_or("", |(_, after)| after));
    }
    code
}

#[test]
fn prototypes_are_read() {
    let header = "#define ANYHOST_API\n/** f(x); */\nANYHOST_API uint32_t anyhost_abi(void);\n\
                  ANYHOST_API\nint32_t anyhost_a(const anyhost_b *it,\n   const uint8_t **out, anyhost_free_cb cb);\n\
                  ANYHOST_API const char *anyhost_name(int32_t n);\n\
                  ANYHOST_API int32_t anyhost_phase(const anyhost_b *it);\n";
    let functions = functions(header);
    let shown: Vec<String> = functions
        .iter()
        .map(|f| {
            let of = |p: &Parameter| format!("{} {} {}", p.kind, p.name, p.is_pointer());
            let list: Vec<String> = f.parameters.iter().map(of).collect();
            format!("{} {} {} [{}]", f.returns, f.name, f.is_fallible(), list.join("; "))
        })
        .collect();
    assert_eq!(
        shown,
        [
            "uint32_t anyhost_abi false []",
            "int32_t anyhost_a true [const anyhost_b * it true; const uint8_t ** out true; anyhost_free_cb cb true]",
            "const char * anyhost_name false [int32_t n false]",
            "int32_t anyhost_phase false [const anyhost_b * it true]",
        ]
    );
}

/// What the comment of a function has to say and does not: who owns what it hands out, what NULL
/// does to a getter or a free, and since when it is there.
fn unsaid(function: &Function, comment: &str) -> Vec<String> {
    let hands_out = function.parameters.iter().any(|it| it.name == "out");
    let handle_only = matches!(function.parameters.as_slice(), [only] if only.is_pointer());
    let mut unsaid = Vec::new();
    let mut needs = |needed: bool, words: &[&str]| {
        if needed && !words.iter().any(|word| comment.contains(word)) {
            unsaid.push(format!("{}: none of {words:?}", function.name));
        }
    };
    needs(true, &["Since "]);
    needs(hands_out, &["yours", "live as long as"]);
    needs(handle_only, &["NULL"]);
    needs(function.returns.ends_with('*'), &["lives as long", "static", "same pointer"]);
    unsaid
}

/// The comment before each function, on one line.
fn comments(header: &str) -> Vec<String> {
    let parts: Vec<&str> = header.split("\nANYHOST_API").collect();
    parts[..parts.len() - 1]
        .iter()
        .map(|part| {
            let comment =
                part.trim_end().strip_suffix("*/").and_then(|text| text.rsplit_once("/**"));
            let lines = comment.map_or("", |(_, text)| text).lines();
            lines.map(|line| line.trim_start_matches([' ', '*'])).collect::<Vec<_>>().join(" ")
        })
        .collect()
}

#[test]
fn every_comment_says_what_a_caller_has_to_know() {
    let header = crate::toolbox::read("include/anyhost.h");
    let (functions, comments) = (functions(&header), comments(&header));
    assert_eq!(functions.len(), comments.len());
    let pairs = functions.iter().zip(&comments);
    let found: Vec<String> = pairs.flat_map(|(f, comment)| unsaid(f, comment)).collect();
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));

    // Without a comment each of them is found.
    let silent = functions.iter().filter(|function| !unsaid(function, "").is_empty());
    assert_eq!(silent.count(), functions.len());
}
