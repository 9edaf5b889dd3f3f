//! TOML values that remember where they were written.

use std::collections::BTreeMap;

use orogen_core::param::Segment;
use toml::de::{DeTable, DeValue};

use crate::fault::{Fault, Faults, Place, quoted};

/// Where a value comes from: small, since every value of a recipe has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    /// Byte offset in the recipe's text.
    Text(usize),
    /// Number of the parameter that the caller set.
    Set(usize),
    /// The number of samples that the caller set.
    Samples,
}

/// A value and where it was written: its key in a table, itself in a list.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub at: At,
    pub data: Data,
}

/// What a value is.
#[derive(Clone, Debug)]
pub(crate) enum Data {
    Text(String),
    Integer(i64),
    Float(f64),
    Flag(bool),
    Date(toml::value::Datetime),
    List(Vec<Node>),
    Table(Table),
}

pub(crate) type Table = BTreeMap<String, Node>;

/// Levels of lists and tables inside each other. No operator comes near; it keeps recursion shallow.
const DEEPEST: usize = 32;
/// Bytes of one key: as long as any name, and short enough to show.
const LONGEST_KEY: usize = 128;
/// Keys of one table.
const MOST_KEYS: usize = 4096;

impl Node {
    /// The value without its place.
    pub fn to_toml(&self) -> toml::Value {
        match &self.data {
            Data::Text(text) => toml::Value::String(text.clone()),
            Data::Integer(i) => toml::Value::Integer(*i),
            Data::Float(x) => toml::Value::Float(*x),
            Data::Flag(b) => toml::Value::Boolean(*b),
            Data::Date(d) => toml::Value::Datetime(*d),
            Data::List(items) => toml::Value::Array(items.iter().map(Self::to_toml).collect()),
            Data::Table(table) => toml::Value::Table(to_toml(table)),
        }
    }

    /// A value all of whose parts come from one place.
    pub fn from_toml(value: toml::Value, at: At) -> Self {
        let data = match value {
            toml::Value::String(text) => Data::Text(text),
            toml::Value::Integer(i) => Data::Integer(i),
            toml::Value::Float(x) => Data::Float(x),
            toml::Value::Boolean(b) => Data::Flag(b),
            toml::Value::Datetime(d) => Data::Date(d),
            toml::Value::Array(items) => {
                Data::List(items.into_iter().map(|item| Self::from_toml(item, at)).collect())
            }
            toml::Value::Table(table) => {
                Data::Table(table.into_iter().map(|(k, v)| (k, Self::from_toml(v, at))).collect())
            }
        };
        Self { at, data }
    }

    fn find_text(&self, segment: Segment, text: &str, path: &mut Vec<Segment>) -> Option<At> {
        path.push(segment);
        let found = match &self.data {
            Data::Text(own) if own == text => Some(self.at),
            Data::Table(table) => find_text(table, text, path),
            Data::List(items) => {
                items.iter().enumerate().find_map(|(i, item)| item.find_text(Segment::Index(i), text, path))
            }
            _ => None,
        };
        if found.is_none() {
            path.pop();
        }
        found
    }

    /// What it is, in words, for messages.
    pub fn found(&self) -> String {
        match &self.data {
            Data::Text(text) => quoted(text),
            Data::Integer(i) => i.to_string(),
            Data::Float(x) => x.to_string(),
            Data::Flag(b) => b.to_string(),
            Data::Date(d) => format!("the date {d}"),
            Data::List(items) if items.is_empty() => String::from("an empty list"),
            Data::List(items) => format!("a list of {}", items.len()),
            Data::Table(_) => String::from("a table"),
        }
    }
}

/// A table without places.
pub(crate) fn to_toml(table: &Table) -> toml::Table {
    table.iter().map(|(key, node)| (key.clone(), node.to_toml())).collect()
}

/// The place of the deepest value on a path that exists.
pub(crate) fn locate(table: &Table, path: &[Segment]) -> Option<At> {
    let mut at = None;
    let mut next = match path.first() {
        Some(Segment::Key(key)) => table.get(key),
        _ => None,
    };
    for segment in path.iter().skip(1).map(Some).chain([None]) {
        let Some(node) = next else { break };
        at = Some(node.at);
        next = match (segment, &node.data) {
            (Some(Segment::Key(key)), Data::Table(table)) => table.get(key),
            (Some(Segment::Index(i)), Data::List(items)) => items.get(*i),
            _ => None,
        };
    }
    at
}

/// The place of the first value that is a given text, and the path to it.
pub(crate) fn find_text(table: &Table, text: &str, path: &mut Vec<Segment>) -> Option<At> {
    table.iter().find_map(|(key, node)| node.find_text(Segment::Key(key.clone()), text, path))
}

/// Converts what the TOML parser gave, noting what cannot be held.
pub(crate) struct Reader<'a> {
    pub text: &'a str,
    pub faults: &'a mut Faults,
}

impl Reader<'_> {
    fn fault(&mut self, offset: usize, message: String) {
        self.faults.push(Fault::new(place(self.text, offset), message));
    }

    /// A table and everything in it.
    pub fn table(&mut self, from: DeTable<'_>, offset: usize, depth: usize) -> Table {
        let mut table = Table::new();
        if from.len() > MOST_KEYS {
            self.fault(
                offset,
                format!("the table has {} keys, more than the limit of {MOST_KEYS}", from.len()),
            );
            return table;
        }
        for (key, value) in from {
            let offset = key.span().start;
            let key = key.into_inner().into_owned();
            if key.len() > LONGEST_KEY {
                self.fault(
                    offset,
                    format!("the key has {} bytes, more than the limit of {LONGEST_KEY}", key.len()),
                );
                continue;
            }
            // The values of `[[step]]` and `[table]` span their headers, but each element has its own.
            if let Some(node) = self.node(value.into_inner(), offset, depth + 1) {
                table.insert(key, node);
            }
        }
        table
    }

    /// One value.
    pub fn node(&mut self, from: DeValue<'_>, offset: usize, depth: usize) -> Option<Node> {
        if depth > DEEPEST {
            self.fault(offset, format!("lists and tables are nested more than {DEEPEST} levels deep"));
            return None;
        }
        let data = match from {
            DeValue::String(text) => Data::Text(text.into_owned()),
            DeValue::Integer(i) => match i64::from_str_radix(i.as_str(), i.radix()) {
                Ok(value) => Data::Integer(value),
                Err(_) => {
                    self.fault(offset, format!("the integer {} is out of range", quoted(i.as_str())));
                    return None;
                }
            },
            DeValue::Float(x) => match x.as_str().parse::<f64>() {
                Ok(value) => Data::Float(value),
                Err(_) => {
                    self.fault(offset, format!("{} is not a number", quoted(x.as_str())));
                    return None;
                }
            },
            DeValue::Boolean(b) => Data::Flag(b),
            DeValue::Datetime(d) => Data::Date(d),
            DeValue::Array(items) => Data::List(
                items
                    .into_iter()
                    .filter_map(|item| {
                        let offset = item.span().start;
                        self.node(item.into_inner(), offset, depth + 1)
                    })
                    .collect(),
            ),
            DeValue::Table(table) => Data::Table(self.table(table, offset, depth)),
        };
        Some(Node { at: At::Text(offset), data })
    }
}

/// Line and column of a byte in a text.
pub(crate) fn place(text: &str, offset: usize) -> Place {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let before = &text[..offset];
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |i| i + 1);
    Place::Text { line, column: before[start..].chars().count() + 1 }
}
