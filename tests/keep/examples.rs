//! Every public type, function and method has an example that is compiled and run.
//!
//! It stands in the item's own documentation, or in that of the neighbour which it names
//! (`Example: [...]`). A method may also stand in the example of its type: what counts is that a line
//! which the reader sees calls it by name, or, of a trait's method, writes it.

use crate::source::{Token, tokens};
use crate::{files, none_of, read};

/// What types have of the traits of the standard library.
const OF_TRAITS: [&str; 11] = [
    "assert_fields_are_eq",
    "clone",
    "cmp",
    "default",
    "eq",
    "fmt",
    "from",
    "from_str",
    "hash",
    "partial_cmp",
    "read",
];

/// The modules that hand out, which have an example of their own.
const MODULES: [&str; 2] = ["inject", "testing"];

/// What a macro writes, and the types that it is written into.
const MACROS: [(&str, &[&str]); 1] = [("call_setters", &["ClientBuilder", "RequestBuilder"])];

/// The names that a library hands out of its layers, each with the folder it is defined in.
pub(crate) fn handed_out(library: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for part in library.split("pub use ").skip(1) {
        let list = part.split(';').next().expect("it ends");
        let (from, names) = list.split_once("::{").or(list.rsplit_once("::")).expect("a path");
        let layer = from.trim_start_matches("crate::").split("::").next().expect("a layer");
        for name in names.trim_end_matches('}').split(',').map(str::trim) {
            if !name.is_empty() && layer != "http" {
                found.push((format!("src/{layer}"), name.to_owned()));
            }
        }
    }
    found
}

/// What is public, by its own path as `Client` or `Client::get`, with the documentation above it.
#[derive(Debug, PartialEq)]
struct Item {
    path: String,
    text: String,
    is_function: bool,
    of_trait: bool,
    /// It is called on a value.
    takes_self: bool,
}

impl Item {
    /// The type that a method is of.
    fn owner(&self) -> Option<&str> {
        self.path.split_once("::").map(|(owner, _)| owner)
    }

    fn name(&self) -> &str {
        self.path.rsplit("::").next().unwrap_or(&self.path)
    }
}

/// The name after one of these words, which may follow `pub`, and before whatever follows a name.
fn name_after<'l>(line: &'l str, words: &[&str]) -> Option<&'l str> {
    let rest = words.iter().find_map(|word| line.strip_prefix(word))?;
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    (end > 0).then_some(&rest[..end])
}

/// The type that an `impl` is of, unless it is one of a trait.
fn implemented(line: &str) -> Option<&str> {
    let rest =
        line.strip_prefix("impl").filter(|_| line.ends_with('{') && !line.contains(" for "))?;
    let name = match rest.strip_prefix('<') {
        Some(generic) => generic.split_once("> ")?.1,
        None => rest.strip_prefix(' ')?,
    };
    name_after(name, &[""])
}

/// The public items of a file.
fn items(code: &str) -> Vec<Item> {
    let lines: Vec<&str> = code.lines().collect();
    let mut found = Vec::new();
    // The types whose methods follow, whether they are of a trait, and the line that ends them.
    let mut owners: (Vec<&str>, bool, String) = (Vec::new(), false, String::new());
    for (i, line) in lines.iter().enumerate() {
        let (indent, line) = line.split_at(line.len() - line.trim_start().len());
        let end = format!("{indent}}}");
        if lines[i] == owners.2 {
            owners = (Vec::new(), false, String::new());
        }
        if let Some(name) = implemented(line) {
            owners = (vec![name], false, end);
        } else if let Some(name) = name_after(line, &["macro_rules! "]) {
            let types = MACROS.iter().find(|(own, _)| *own == name).map(|(_, types)| *types);
            owners = (types.unwrap_or_default().to_vec(), false, end);
        } else if let Some(name) = name_after(line, &["pub trait "]) {
            owners = (vec![name], true, end);
        }
        let types = ["pub struct ", "pub enum ", "pub trait ", "pub type "];
        let (named, is_function) = match name_after(line, &types) {
            None if owners.1 => (name_after(line, &["fn "]), true),
            None => (name_after(line, &["pub fn ", "pub const fn "]), true),
            named => (named, false),
        };
        let Some(name) = named else { continue };
        let above = lines[..i].iter().map(|line| line.trim_start());
        let above =
            above.rev().take_while(|line| line.starts_with("///") || line.starts_with("#["));
        let mut text: Vec<&str> = above.filter_map(|line| line.strip_prefix("///")).collect();
        text.reverse();
        let text: Vec<&str> =
            text.iter().map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
        let (of_trait, text) = (owners.1, text.join("\n"));
        let signature: String =
            lines[i..].iter().take(2).flat_map(|line| line.split(' ')).collect();
        let takes_self = signature
            .split_once(name)
            .and_then(|(_, rest)| rest.split_once('('))
            .and_then(|(_, rest)| rest.split([',', ')']).next())
            .is_some_and(|first| first.ends_with("self"));
        let item = |path| Item { path, text: text.clone(), is_function, of_trait, takes_self };
        match owners.0.as_slice() {
            methods_of if is_function && !methods_of.is_empty() => {
                found.extend(methods_of.iter().map(|owner| item(format!("{owner}::{name}"))));
            }
            _ => found.push(item(name.to_owned())),
        }
    }
    found
}

/// The lines of the examples that are run, as the reader sees them; `None` without one.
fn example(text: &str) -> Option<String> {
    let mut examples: Option<String> = None;
    // Within a block: whether it is run.
    let mut block = None;
    for line in text.lines() {
        match (line.trim_start().strip_prefix("```"), block) {
            (Some(kind), None) => block = Some(kind.is_empty()),
            (Some(_), Some(_)) => block = None,
            (None, Some(true)) if !line.starts_with("# ") && line != "#" => {
                let examples = examples.get_or_insert_default();
                examples.push_str(line);
                examples.push('\n');
            }
            _ => {}
        }
    }
    examples
}

/// What the example that an item names is in: `Example: [`inject::Clock`]` is that of `Clock`.
fn neighbour(text: &str) -> Option<&str> {
    let named = text.split_once("Example: [`")?.1.split_once("`]")?.0;
    match named.split_once("::") {
        Some((module, name)) if MODULES.contains(&module) => Some(name),
        _ => Some(named),
    }
}

/// Whether code calls this function, or writes it where it is a trait's.
fn shows(code: &str, item: &Item) -> bool {
    let tokens: Vec<Token> = tokens(code);
    let at = |i: usize| tokens.get(i).map_or("", |token| token.text.as_str());
    let before = |i: usize, back: usize| i.checked_sub(back).map_or("", at);
    (0..tokens.len()).filter(|&i| at(i) == item.name()).any(|i| {
        let called = at(i + 1) == "(" || (at(i + 1) == "::" && at(i + 2) == "<");
        match (before(i, 1), item.owner()) {
            ("::", Some(owner)) => before(i, 2) == owner,
            (".", Some(_)) => called && item.takes_self,
            ("fn", Some(_)) => item.of_trait,
            ("." | "fn", None) | (_, Some(_)) => false,
            (_, None) => called,
        }
    })
}

/// What is public in a library, and the modules of it that have an example of their own.
fn public() -> Vec<Item> {
    let library = read("src/lib.rs");
    let names = handed_out(&library);
    assert!(names.len() > 80, "{}", names.len());
    let mut found = Vec::new();
    for layer in ["src/client", "src/decide", "src/sys", "src/transport"] {
        let code: Vec<String> = files(layer, "rs").iter().map(read).collect();
        let all = code.iter().flat_map(|code| items(code));
        let handed_out = |item: &Item| {
            let name = item.owner().unwrap_or(&item.path);
            names.iter().any(|(folder, own)| folder == layer && own == name)
        };
        found.extend(all.filter(handed_out));
    }
    for (folder, name) in names {
        assert!(found.iter().any(|item| item.path == name), "{folder}: {name} is nowhere defined");
    }
    for module in MODULES {
        let (above, _) = library.split_once(&format!("pub mod {module} {{")).expect("a module");
        let above = format!("{above}pub type {module} =");
        found.extend(items(&above).pop());
    }
    found
}

/// What lacks an example.
fn lacking(all: &[Item]) -> Vec<String> {
    let of = |path: &str| {
        let found = all.iter().filter(|item| item.path == path);
        found.filter_map(|item| example(&item.text)).collect::<String>()
    };
    let mut findings = Vec::new();
    for item in all {
        let own = example(&item.text).unwrap_or_default();
        let named = neighbour(&item.text).map(of).unwrap_or_default();
        let Some(owner) = item.owner().or(item.is_function.then_some("")) else {
            let is_named = tokens(&named).iter().any(|token| token.text == item.name());
            if own.is_empty() && !is_named {
                findings.push(format!("{} has no example", item.path));
            }
            continue;
        };
        let of_owner = all.iter().filter(|item| item.path == owner);
        let of_neighbour: String =
            of_owner.filter_map(|item| neighbour(&item.text)).map(of).collect();
        let shown = [own, named, of(owner), of_neighbour].iter().any(|code| shows(code, item));
        if !shown {
            findings.push(format!("{} is called in no example", item.path));
        }
    }
    findings.dedup();
    findings
}

/// What of the listed functions is not among these items: nobody has looked for their examples.
fn overlooked(listed: &str, all: &[Item]) -> Vec<String> {
    let functions = listed.lines().filter_map(|line| {
        let line = line.strip_prefix("pub ")?;
        let path = line.strip_prefix("const ").unwrap_or(line).strip_prefix("fn anyhost::")?;
        let path = path.split_once('(')?.0;
        // Without the generic parameters of the function, and those of the type.
        let path =
            path.replace("<K>", "").replace("<'c>", "").replace("<'_>", "").replace("<'a>", "");
        let path = path.split('<').next()?.to_owned();
        let modules = ["inject::", "testing::"];
        Some(
            modules.iter().find_map(|module| path.strip_prefix(module)).unwrap_or(&path).to_owned(),
        )
    });
    let of_a_trait = |path: &str| {
        let name = path.rsplit("::").next().unwrap_or(path);
        OF_TRAITS.contains(&name) || all.iter().any(|item| item.of_trait && item.name() == name)
    };
    let unknown = functions
        .filter(|path| !all.iter().any(|item| item.path == *path) && !of_a_trait(path))
        .map(|path| format!("{path} is listed in the API and not seen here"));
    unknown.collect()
}

#[test]
fn everything_public_has_an_example() {
    let all = public();
    let functions = all.iter().filter(|item| item.is_function).count();
    assert!(functions > 350, "{functions}");
    none_of(&lacking(&all));
    none_of(&overlooked(&read("tests/keep/api.txt"), &all));
}

#[test]
fn planted_items_without_an_example_are_found() {
    let code = "
/// A.
///
/// ```
/// use anyhost::{A, B};
/// # A::hidden();
/// assert_eq!(A::new().one(), 1); // and .two()
/// let text = \".three()\";
/// ```
pub struct A;

/// Example: [`A`](crate::A).
#[derive(Debug)]
pub enum B {}

/// Nor is it named there. Example: [`A`](crate::A).
pub type D = ();

impl A {
    /// In the example of its type.
    pub fn new() -> Self {}

    /// So is this.
    pub fn one(&self) -> u32 {}

    /// In a comment alone.
    pub fn two(&self) {}

    /// In a text alone.
    pub fn three(&self) {}

    /// On a line that nobody sees.
    pub const fn hidden() {}

    /// Of its own, which does something else.
    ///
    /// ```
    /// A::new().one();
    /// ```
    pub fn four<'a>(
        &'a self,
    ) {
    }

    /// Not run.
    ///
    /// ```no_run
    /// A::new().five();
    /// ```
    pub fn five(&self) {}

    /// Example: [`A::four`].
    pub fn one_more(&self) {}

    pub(crate) fn private(&self) {}
}

impl B {
    /// In the example that its type names.
    pub fn one(&self) -> u32 {}

    /// Of another type.
    pub fn new() -> Self {}
}

impl Read for A {
    fn read(&self) {}
}

/// ```
/// impl T for A {
///     fn must(&self) {}
/// }
/// ```
pub trait T {
    /// Written there.
    fn must(&self);
    /// And this not.
    fn may(&self) {}
}

/// C.
pub enum C {}

/// Called nowhere.
pub fn free() {}
";
    let all = items(code);
    let lacking: Vec<String> =
        lacking(&all).iter().filter_map(|it| Some(it.split_once(' ')?.0.to_owned())).collect();
    assert_eq!(
        lacking,
        [
            "D",
            "A::two",
            "A::three",
            "A::hidden",
            "A::four",
            "A::five",
            "A::one_more",
            "B::new",
            "T::may",
            "C",
            "free"
        ]
    );
    let listed = "pub fn anyhost::A::one(&self) -> u32\npub fn anyhost::inject::A::eq(&self)\n\
                  pub const fn anyhost::testing::B<K>::gone<'a>(&'a self)\npub fn anyhost::free()\n";
    assert_eq!(overlooked(listed, &all), ["B::gone is listed in the API and not seen here"]);
    let library = "pub use client::{\n    A, B,\n};\npub use transport::C;\npub use http::{D};\n";
    let all = [("client", "A"), ("client", "B"), ("transport", "C")];
    assert_eq!(handed_out(library), all.map(|(f, n)| (format!("src/{f}"), n.to_owned())));
}
