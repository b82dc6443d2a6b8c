//! Rust source as tokens, as far as the checks of this suite need it.
//!
//! Not a parser: comments and literals go, identifiers and punctuation stay, each with its line. That
//! is enough to see which paths a file names, and cannot be misled by a path in a comment.

/// One identifier, one punctuation mark (`::` is one), or `""` for a string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) line: usize,
    pub(crate) text: String,
}

impl Token {
    pub(crate) fn is_name(&self) -> bool {
        self.text.starts_with(|c: char| c.is_alphabetic() || c == '_')
    }
}

/// A path such as `std::sync::Mutex` and where it stands. Groups are spelled out: `a::{b, c}` gives
/// `a::b` and `a::c`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Path {
    pub(crate) line: usize,
    pub(crate) parts: Vec<String>,
}

impl Path {
    pub(crate) fn starts_with(&self, parts: &[&str]) -> bool {
        self.parts.len() >= parts.len() && self.parts.iter().zip(parts).all(|(a, b)| a == b)
    }

    /// The part at this place, or nothing.
    pub(crate) fn part(&self, place: usize) -> &str {
        self.parts.get(place).map_or("", String::as_str)
    }
}

/// The tokens of a source text.
pub(crate) fn tokens(source: &str) -> Vec<Token> {
    let chars: Vec<char> = source.chars().collect();
    let at = |i: usize| chars.get(i).copied().unwrap_or('\0');
    let mut tokens = Vec::new();
    let mut line = 1;
    let mut i = 0;
    while i < chars.len() {
        let start = i;
        let mut text = None;
        match at(i) {
            '/' if at(i + 1) == '/' => {
                while i < chars.len() && at(i) != '\n' {
                    i += 1;
                }
            }
            '/' if at(i + 1) == '*' => i = after_comment(&chars, i),
            '"' => {
                i = after_string(&chars, i);
                text = Some("\"\"".to_owned());
            }
            '\'' if at(i + 1) == '\\' => {
                i += 3;
                while i < chars.len() && at(i) != '\'' {
                    i += 1;
                }
                i += 1;
            }
            '\'' if at(i + 2) == '\'' => i += 3,
            // A lifetime's name is no identifier of ours.
            '\'' => i = after_word(&chars, i + 1),
            ':' if at(i + 1) == ':' => {
                i += 2;
                text = Some("::".to_owned());
            }
            c if is_word(c) => {
                i = after_word(&chars, i);
                let word: String = chars[start..i].iter().collect();
                let raw = ["r", "br", "cr"].contains(&word.as_str());
                let hashes = chars[i..].iter().take_while(|c| **c == '#').count();
                if raw && at(i + hashes) == '"' {
                    i = after_raw_string(&chars, i + hashes + 1, hashes);
                    text = Some("\"\"".to_owned());
                } else if ["b", "c"].contains(&word.as_str()) && at(i) == '"' {
                    // The literal is the next token.
                } else {
                    text = Some(word);
                }
            }
            c => {
                i += 1;
                text = (!c.is_whitespace()).then(|| c.to_string());
            }
        }
        i = i.min(chars.len());
        if let Some(text) = text {
            tokens.push(Token { line, text });
        }
        line += chars[start..i].iter().filter(|c| **c == '\n').count();
    }
    tokens
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn after_word(chars: &[char], mut i: usize) -> usize {
    while chars.get(i).is_some_and(|c| is_word(*c)) {
        i += 1;
    }
    i
}

/// Past a block comment; they nest.
fn after_comment(chars: &[char], mut i: usize) -> usize {
    let mut depth = 0;
    while i < chars.len() {
        match (chars[i], chars.get(i + 1)) {
            ('/', Some('*')) => {
                depth += 1;
                i += 2;
            }
            ('*', Some('/')) => {
                depth -= 1;
                i += 2;
                if depth == 0 {
                    return i;
                }
            }
            _ => i += 1,
        }
    }
    i
}

fn after_string(chars: &[char], mut i: usize) -> usize {
    i += 1;
    while i < chars.len() && chars[i] != '"' {
        i += if chars[i] == '\\' { 2 } else { 1 };
    }
    i + 1
}

fn after_raw_string(chars: &[char], mut i: usize, hashes: usize) -> usize {
    while i < chars.len() {
        let closing = chars[i + 1..].iter().take(hashes).filter(|c| **c == '#').count();
        if chars[i] == '"' && closing == hashes {
            return i + 1 + hashes;
        }
        i += 1;
    }
    i
}

/// Every path the tokens name, single identifiers included.
pub(crate) fn paths(tokens: &[Token]) -> Vec<Path> {
    let mut found = Vec::new();
    let mut i = 0;
    while i < tokens.len() {
        let field = i > 0 && tokens[i - 1].text == "." && (i < 2 || tokens[i - 2].text != ".");
        if tokens[i].is_name() && !field {
            i = expand(tokens, i, &[], &mut found);
        } else {
            i += 1;
        }
    }
    found
}

/// Reads one path that starts at `i`, with what stands before it, and returns where it ends.
fn expand(tokens: &[Token], mut i: usize, before: &[String], found: &mut Vec<Path>) -> usize {
    let text = |i: usize| tokens.get(i).map_or("", |t| t.text.as_str());
    let line = tokens[i].line;
    let mut parts = before.to_vec();
    loop {
        // `a::{self}` is `a`.
        if text(i) != "self" || before.is_empty() {
            parts.push(text(i).to_owned());
        }
        i += 1;
        if text(i) != "::" {
            break;
        }
        if text(i + 1) == "{" {
            i += 2;
            while i < tokens.len() && text(i) != "}" {
                if tokens[i].is_name() || text(i) == "*" {
                    i = expand(tokens, i, &parts, found);
                    // The rest of an entry: `as name`.
                    while i < tokens.len() && text(i) != "," && text(i) != "}" {
                        i += 1;
                    }
                } else {
                    i += 1;
                }
            }
            return i + 1;
        }
        if !(tokens.get(i + 1).is_some_and(Token::is_name) || text(i + 1) == "*") {
            break;
        }
        i += 1;
    }
    found.push(Path { line, parts });
    i
}

/// Where the bracket opened at `open` closes, or the end.
pub(crate) fn closing(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0;
    for (i, token) in tokens.iter().enumerate().skip(open) {
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => {
                depth -= 1;
                if depth == 0 {
                    return i;
                }
            }
            _ => {}
        }
    }
    tokens.len()
}

/// Whether the tokens from `i` on read like this, words and marks separated by blanks.
pub(crate) fn reads(tokens: &[Token], i: usize, text: &str) -> bool {
    let mut tokens = tokens[i..].iter();
    text.split(' ').all(|word| tokens.next().is_some_and(|t| t.text == word))
}

/// Where the tests at the end of a file begin.
pub(crate) fn tests_begin(tokens: &[Token]) -> usize {
    (0..tokens.len()).find(|i| reads(tokens, *i, "# [ cfg ( test ) ] mod")).unwrap_or(tokens.len())
}

#[test]
fn comments_and_literals_are_no_code() {
    let source = r##"
        // std::fs
        /* outer /* std::net */ std::env */
        let a = "std::io \" std::io"; let b = r#"a " std::io"#; let c = b"x"; let d = ('"', '\'', '\u{41}');
        fn f<'a>(x: &'a str) { g::h(x) }
    "##;
    let found: Vec<String> = paths(&tokens(source))
        .iter()
        .filter(|p| p.parts.len() > 1)
        .map(|p| p.parts.join("::"))
        .collect();
    assert_eq!(found, ["g::h"]);
    let last = tokens(source).into_iter().find(|t| t.text == "h").expect("the call is there");
    assert_eq!(last.line, 5);
}

#[test]
fn groups_are_spelled_out() {
    let source = "use a::{self, b::{c, d as e}, f::*};\nlet x = y.z::<T>() + ::w::v;";
    let found: Vec<String> = paths(&tokens(source))
        .iter()
        .filter(|p| p.part(0).len() == 1)
        .map(|p| p.parts.join("::"))
        .collect();
    assert_eq!(found, ["a", "a::b::c", "a::b::d", "a::f::*", "x", "y", "T", "w::v"]);
}
