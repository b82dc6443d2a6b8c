//! Writes JSON: objects and lists of texts, numbers and flags.
//!
//! The documents are only written, never read, so fifty lines stand for a dependency that
//! every Rust user would compile.

use std::fmt::{Display, Write};

/// An object under way.
pub(super) struct Object<'a> {
    out: &'a mut String,
    empty: bool,
}

impl<'a> Object<'a> {
    /// Writes one object: whatever `fields` adds.
    pub(super) fn write(out: &'a mut String, fields: impl FnOnce(&mut Object<'_>)) {
        out.push('{');
        fields(&mut Object { out: &mut *out, empty: true });
        out.push('}');
    }

    pub(super) fn text(&mut self, name: &str, value: &str) {
        self.name(name);
        quoted(self.out, value);
    }

    pub(super) fn text_if_any(&mut self, name: &str, value: Option<&str>) {
        match value {
            Some(value) => self.text(name, value),
            None => self.plain(name, "null"),
        }
    }

    /// A number, `true` or `false`.
    pub(super) fn plain(&mut self, name: &str, value: impl Display) {
        self.name(name);
        write!(self.out, "{value}").expect("a String takes everything");
    }

    /// A list of objects.
    pub(super) fn list<T>(
        &mut self,
        name: &str,
        items: impl IntoIterator<Item = T>,
        fields: impl Fn(&mut Object<'_>, T),
    ) {
        self.name(name);
        self.out.push('[');
        for (i, item) in items.into_iter().enumerate() {
            if i > 0 {
                self.out.push(',');
            }
            Object::write(self.out, |object| fields(object, item));
        }
        self.out.push(']');
    }

    /// An object within.
    pub(super) fn object(&mut self, name: &str, fields: impl FnOnce(&mut Object<'_>)) {
        self.name(name);
        Object::write(self.out, fields);
    }

    fn name(&mut self, name: &str) {
        if !std::mem::replace(&mut self.empty, false) {
            self.out.push(',');
        }
        quoted(self.out, name);
        self.out.push(':');
    }
}

/// RFC 8259 §7: quotation mark, reverse solidus and control characters are escaped.
fn quoted(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\0'..='\x1f' => {
                write!(out, "\\u{:04x}", u32::from(c)).expect("a String takes everything");
            }
            _ => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_json() {
        let mut out = String::new();
        Object::write(&mut out, |object| {
            object.text("t", "a\"b\\c\n\x01ü");
            object.text_if_any("n", None);
            object.plain("f", true);
            object.list("l", [1, 2], |object, n| object.plain("n", n));
            object.list("e", [0; 0], |object, n| object.plain("n", n));
            object.object("o", |object| object.plain("n", 3));
            object.object("z", |_| ());
        });
        assert_eq!(
            out,
            r#"{"t":"a\"b\\c\u000a\u0001ü","n":null,"f":true,"l":[{"n":1},{"n":2}],"e":[],"o":{"n":3},"z":{}}"#
        );
    }
}
