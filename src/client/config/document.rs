//! TOML and JSON as one tree that knows where in the text each entry stands.

use crate::client::error::{Error, Result};
use crate::client::status::Status;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;
use toml::de::{DeTable, DeValue};

/// The offset of a byte in the text.
pub(super) type Place = usize;

pub(super) enum Value {
    Text(String),
    /// As it is written.
    Number(String),
    Flag(bool),
    List(Vec<Item>),
    Table(Table),
    /// A date or a null: nothing takes one.
    Other,
}

impl Value {
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

pub(super) struct Item {
    pub(super) place: Place,
    pub(super) value: Value,
}

pub(super) struct Entry {
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) value: Value,
}

pub(super) struct Table {
    /// In the order of the text.
    pub(super) entries: Vec<Entry>,
}

impl Table {
    pub(super) fn get(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }
}

pub(super) struct Document<'t> {
    text: &'t str,
    pub(super) root: Table,
}

impl<'t> Document<'t> {
    /// JSON where it begins with a brace, which no TOML does; else TOML.
    pub(super) fn parse(text: &'t str) -> Result<Self> {
        let root = if text.trim_start().starts_with('{') { json(text) } else { toml(text) }?;
        Ok(Document { text, root })
    }

    /// The error with line and column before it.
    pub(super) fn at(&self, place: Place, error: Error) -> Error {
        error.prefixed(&position(self.text, place))
    }
}

fn position(text: &str, place: Place) -> String {
    // Parsers count bytes, and may point into a character.
    let place = (0..=place.min(text.len())).rfind(|&at| text.is_char_boundary(at)).unwrap_or(0);
    let before = &text[..place];
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
    format!("line {line}, column {column}: ")
}

fn malformed(what: impl fmt::Display) -> Error {
    Error::of_option(Status::Option, "config", what.to_string())
}

fn toml(text: &str) -> Result<Table> {
    let root = DeTable::parse(text).map_err(|error| {
        // Its own text would show the line, and with it what may be a secret.
        let place = error.span().map_or(0, |span| span.start);
        malformed(format_args!("{}no TOML: {}", position(text, place), error.message()))
    })?;
    Ok(toml_table(root.into_inner()))
}

fn toml_table(table: DeTable<'_>) -> Table {
    let entry = |(name, value): (toml::Spanned<_>, toml::Spanned<_>)| Entry {
        place: name.span().start,
        name: std::borrow::Cow::into_owned(name.into_inner()),
        value: toml_value(value.into_inner()),
    };
    let mut entries: Vec<Entry> = table.into_iter().map(entry).collect();
    entries.sort_by_key(|entry| entry.place);
    Table { entries }
}

fn toml_value(value: DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(number) => {
            let read = i64::from_str_radix(number.as_str(), number.radix());
            // What is larger than that is larger than every bound, and refused as it is written.
            Value::Number(read.map_or_else(|_| number.as_str().to_owned(), |n| n.to_string()))
        }
        DeValue::Float(number) => Value::Number(number.as_str().to_owned()),
        DeValue::Boolean(on) => Value::Flag(on),
        DeValue::Datetime(_) => Value::Other,
        DeValue::Array(items) => {
            let item = |item: toml::Spanned<DeValue<'_>>| Item {
                place: item.span().start,
                value: toml_value(item.into_inner()),
            };
            Value::List(items.into_iter().map(item).collect())
        }
        DeValue::Table(table) => Value::Table(toml_table(table)),
    }
}

fn json(text: &str) -> Result<Table> {
    json_table(text, text)
}

/// `part` is a piece of `text`, which was found to be JSON as a whole if it is not the whole itself.
fn json_table(text: &str, part: &str) -> Result<Table> {
    let Members(members) = serde_json::from_str(part).map_err(|error| {
        let place = part.lines().take(error.line().saturating_sub(1)).map(|line| line.len() + 1);
        let place = offset(text, part) + place.sum::<usize>() + error.column().saturating_sub(1);
        // Its own text ends with a position in the part.
        let what = error.to_string();
        let what = what.split(" at line ").next().unwrap_or_default();
        malformed(format_args!("{}no JSON: {what}", position(text, place)))
    })?;
    let entry = |(name, raw): (String, &RawValue)| {
        let place = offset(text, raw.get());
        json_value(text, raw.get()).map(|value| Entry { name, place, value })
    };
    let entries = members.into_iter().map(entry).collect::<Result<_>>()?;
    Ok(Table { entries })
}

fn json_value(text: &str, part: &str) -> Result<Value> {
    Ok(match part.as_bytes().first() {
        Some(b'"') => Value::Text(serde_json::from_str(part).map_err(malformed)?),
        Some(b'{') => Value::Table(json_table(text, part)?),
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(part).map_err(malformed)?;
            let item = |raw: &RawValue| {
                let place = offset(text, raw.get());
                json_value(text, raw.get()).map(|value| Item { place, value })
            };
            Value::List(items.into_iter().map(item).collect::<Result<_>>()?)
        }
        Some(b't') => Value::Flag(true),
        Some(b'f') => Value::Flag(false),
        Some(b'n') => Value::Other,
        _ => Value::Number(part.to_owned()),
    })
}

/// Where `part`, a piece of `text`, begins in it.
fn offset(text: &str, part: &str) -> Place {
    part.as_ptr() as usize - text.as_ptr() as usize
}

/// The members of an object in their order, none of them twice (RFC 8259 section 4 leaves that open).
struct Members<'j>(Vec<(String, &'j RawValue)>);

impl<'j> Deserialize<'j> for Members<'j> {
    fn deserialize<D: Deserializer<'j>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'j> Visitor<'j> for InOrder {
            type Value = Members<'j>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'j>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members: Vec<(String, &RawValue)> = Vec::new();
                while let Some((name, value)) = map.next_entry()? {
                    if members.iter().any(|(earlier, _)| *earlier == name) {
                        return Err(serde::de::Error::custom(format_args!("`{name}` twice")));
                    }
                    members.push((name, value));
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}
