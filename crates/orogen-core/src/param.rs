//! Parameters: one struct describes them; this reads its schema and holds values to it.
//!
//! A hand-written checker, since general JSON-schema validators let NaN pass, know nothing of near names, and word
//! their findings for programs.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Mutex;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use toml::Value;

use crate::error::OpError;
use crate::layer::LayerName;
use crate::raster::Raster;
use crate::terrain::Terrain;

/// A coefficient: one number everywhere, or a layer that says it sample by sample.
///
/// `schemars(range(..))` passes over it, as it is not a plain number: write
/// `extend("minimum" = 0.0, "maximum" = 1.0)` on the field instead.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Coef {
    /// The same number everywhere.
    Const(f64),
    /// The values of a layer.
    Layer(LayerName),
}

impl Coef {
    /// The layers it needs: none or one.
    #[must_use]
    pub fn layer(&self) -> Option<LayerName> {
        match self {
            Self::Const(_) => None,
            Self::Layer(name) => Some(name.clone()),
        }
    }

    /// Its values on a terrain.
    ///
    /// # Errors
    /// When the terrain has no such layer.
    pub fn on<'a>(&self, terrain: &'a Terrain) -> Result<Field<'a>, OpError> {
        match self {
            Self::Const(value) => Ok(Field::Const(*value as f32)),
            Self::Layer(name) => Ok(Field::Raster(terrain.get_named(name)?)),
        }
    }
}

impl From<f64> for Coef {
    fn from(value: f64) -> Self {
        Self::Const(value)
    }
}

/// The values of a [`Coef`] on a terrain.
#[derive(Clone, Copy, Debug)]
pub enum Field<'a> {
    /// The same everywhere.
    Const(f32),
    /// Sample by sample.
    Raster(&'a Raster<f32>),
}

impl Field<'_> {
    /// The value at a sample.
    #[inline]
    #[must_use]
    pub fn at(&self, col: usize, row: usize) -> f32 {
        match self {
            Self::Const(value) => *value,
            Self::Raster(raster) => raster.row(row)[col],
        }
    }
}

/// A step on the way to a value inside parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// A key of a table.
    Key(String),
    /// A place in a list.
    Index(usize),
}

/// What is wrong with one parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where, from the parameter table down; empty for the table itself.
    pub path: Vec<Segment>,
    /// What is wrong and what would be right.
    pub message: String,
}

impl Fault {
    /// A fault of one parameter.
    #[must_use]
    pub fn of(name: &str, message: impl Into<String>) -> Self {
        Self { path: vec![Segment::Key(name.to_owned())], message: message.into() }
    }
}

/// A path as users write it: `curves[2].points[0].x_m`.
#[must_use]
pub fn path_text(path: &[Segment]) -> String {
    let mut text = String::new();
    for segment in path {
        match segment {
            Segment::Key(key) if text.is_empty() => text.push_str(key),
            Segment::Key(key) => {
                text.push('.');
                text.push_str(key);
            }
            Segment::Index(i) => text.push_str(&format!("[{i}]")),
        }
    }
    text
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", path_text(&self.path), self.message)
        }
    }
}

/// The schema of a parameter struct, with defaults. It is made once for each type and kept.
#[must_use]
pub fn schema<T: JsonSchema + 'static>() -> &'static Json {
    // A static of a generic function is shared by all types, hence the table.
    static SCHEMAS: Mutex<BTreeMap<TypeId, &'static Json>> = Mutex::new(BTreeMap::new());
    let make = || {
        let settings = schemars::generate::SchemaSettings::draft2020_12();
        &*Box::leak(Box::new(settings.into_generator().into_root_schema_for::<T>().to_value()))
    };
    match SCHEMAS.lock() {
        Ok(mut schemas) => schemas.entry(TypeId::of::<T>()).or_insert_with(make),
        Err(_) => make(),
    }
}

/// Parameters from a table, defaults where it is silent.
///
/// # Errors
/// Every fault found.
pub fn parse<T: JsonSchema + DeserializeOwned + 'static>(table: &toml::Table) -> Result<T, Vec<Fault>> {
    let faults = check(schema::<T>(), table);
    if !faults.is_empty() {
        return Err(faults);
    }
    Value::Table(table.clone())
        .try_into()
        .map_err(|e: toml::de::Error| vec![Fault { path: Vec::new(), message: e.message().to_owned() }])
}

/// Holds a table to a schema: unknown and missing names, types, ranges, NaN and infinity, list lengths.
#[must_use]
pub fn check(schema: &Json, table: &toml::Table) -> Vec<Fault> {
    let mut checker = Checker { root: schema, faults: Vec::new(), path: Vec::new() };
    checker.table(schema, table);
    checker.faults
}

/// The closest of some names, if any is close enough to have been meant.
#[must_use]
pub fn nearest<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // The comparison takes time and memory by the product of both lengths, and no name is that long.
    if wrong.len() > 200 {
        return None;
    }
    names
        .into_iter()
        .map(|name| (strsim::normalized_damerau_levenshtein(wrong, name), name))
        // The last word is often right when the family is wrong: "island" for "source.island".
        .map(|(score, name)| {
            let tail = name.rsplit('.').next().unwrap_or(name);
            (score.max(0.95 * strsim::normalized_damerau_levenshtein(wrong, tail)), name)
        })
        .filter(|(score, _)| *score > 0.5)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

struct Checker<'a> {
    root: &'a Json,
    faults: Vec<Fault>,
    path: Vec<Segment>,
}

impl<'a> Checker<'a> {
    fn fault(&mut self, message: String) {
        self.faults.push(Fault { path: self.path.clone(), message });
    }

    fn inside(&mut self, segment: Segment, f: impl FnOnce(&mut Self)) {
        self.path.push(segment);
        f(self);
        self.path.pop();
    }

    /// Follows `$ref` to the definition.
    fn resolve(&self, mut schema: &'a Json) -> &'a Json {
        while let Some(target) = schema.get("$ref").and_then(Json::as_str) {
            match target.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer)) {
                Some(definition) => schema = definition,
                None => break,
            }
        }
        schema
    }

    fn table(&mut self, schema: &'a Json, table: &toml::Table) {
        let properties = schema.get("properties").and_then(Json::as_object);
        for (key, value) in table {
            match properties.and_then(|p| p.get(key).or_else(|| formerly(p, key))) {
                Some(property) => self.inside(Segment::Key(key.clone()), |c| c.value(property, value)),
                None => {
                    let names = || properties.into_iter().flat_map(|p| p.keys().map(String::as_str));
                    let hint = match nearest(key, names()) {
                        Some(name) => format!("did you mean {name:?}?"),
                        None if properties.is_none_or(serde_json::Map::is_empty) => {
                            String::from("none are allowed here")
                        }
                        None => format!("expected one of {}", names().collect::<Vec<_>>().join(", ")),
                    };
                    self.inside(Segment::Key(key.clone()), |c| c.fault(format!("no such parameter; {hint}")));
                }
            }
        }
        for name in
            schema.get("required").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str)
        {
            if !table.contains_key(name) {
                self.fault(format!("{name:?} is missing"));
            }
        }
    }

    fn value(&mut self, schema: &'a Json, value: &Value) {
        // A range beside a reference (a Coef with bounds, say) applies to numbers behind it.
        if schema.get("$ref").is_some() {
            self.range(schema, value);
        }
        let schema = self.resolve(schema);
        if let Some(branches) = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Json::as_array) {
            return self.branches(schema, branches, value);
        }
        if let Some(allowed) = schema.get("enum").and_then(Json::as_array) {
            if !allowed.iter().any(|a| same(a, value)) {
                self.not_one_of(value, allowed);
            }
            return;
        }
        if let Some(only) = schema.get("const") {
            if !same(only, value) {
                self.not_one_of(value, std::slice::from_ref(only));
            }
            return;
        }
        if !accepts(schema, value) {
            let wanted = wanted(schema);
            return self.fault(format!("expected {wanted}, found {}", found(value)));
        }
        match value {
            Value::Table(table) => self.table(schema, table),
            Value::Array(items) => self.list(schema, items),
            Value::Float(x) if !x.is_finite() => {
                self.fault(outside(schema, &x.to_string(), *x));
            }
            Value::String(text) if is_layer(schema) && LayerName::parse(text).is_none() => {
                self.fault(format!(
                    "{text:?} is not a valid layer name; use words of a-z, 0-9 and _ joined by dots, as in \"mask.steep\""
                ))
            }
            _ => self.range(schema, value),
        }
    }

    /// One of several forms: the form whose type fits gives the message.
    fn branches(&mut self, schema: &'a Json, branches: &'a [Json], value: &Value) {
        let branches: Vec<&'a Json> = branches.iter().map(|b| self.resolve(b)).collect();
        let constants: Vec<&Json> = branches.iter().filter_map(|b| b.get("const")).collect();
        if constants.len() == branches.len() {
            if !constants.iter().any(|c| same(c, value)) {
                let allowed: Vec<Json> = constants.into_iter().cloned().collect();
                self.not_one_of(value, &allowed);
            }
            return;
        }
        if let Value::Table(table) = value
            && let Some((tag, names)) = tag_of(&branches)
        {
            let chosen = table.get(tag).and_then(Value::as_str);
            let branch = chosen.and_then(|c| names.iter().position(|n| *n == c));
            return match (branch, chosen) {
                (Some(i), _) => self.table(branches[i], table),
                (None, None) => {
                    self.fault(format!("{tag:?} is missing; expected one of {}", names.join(", ")))
                }
                (None, Some(other)) => {
                    let hint = nearest(other, names.iter().copied())
                        .map_or(String::new(), |n| format!("; did you mean {n:?}?"));
                    self.inside(Segment::Key(tag.to_owned()), |c| {
                        c.fault(format!("expected one of {}, found {other:?}{hint}", names.join(", ")));
                    });
                }
            };
        }
        let fitting: Vec<&'a Json> = branches.iter().copied().filter(|b| accepts(b, value)).collect();
        let mut best: Option<Vec<Fault>> = None;
        for branch in &fitting {
            let before = self.faults.len();
            self.value(branch, value);
            let faults = self.faults.split_off(before);
            if faults.is_empty() {
                return;
            }
            if best.as_ref().is_none_or(|b| faults.len() < b.len()) {
                best = Some(faults);
            }
        }
        match best {
            Some(faults) => self.faults.extend(faults),
            None => {
                let forms: Vec<String> =
                    branches.iter().map(|b| wanted(b)).filter(|w| w != "nothing").collect();
                let forms = if forms.is_empty() { wanted(schema) } else { forms.join(" or ") };
                self.fault(format!("expected {forms}, found {}", found(value)));
            }
        }
    }

    fn list(&mut self, schema: &'a Json, items: &[Value]) {
        let (min, max) =
            (schema.get("minItems").and_then(Json::as_u64), schema.get("maxItems").and_then(Json::as_u64));
        let count = items.len() as u64;
        if min.is_some_and(|m| count < m) || max.is_some_and(|m| count > m) {
            let wanted = match (min, max) {
                (Some(a), Some(b)) if a == b => a.to_string(),
                (Some(a), Some(b)) => format!("{a} to {b}"),
                (Some(a), None) => format!("at least {a}"),
                (None, b) => format!("at most {}", b.unwrap_or_default()),
            };
            return self.fault(format!("expected {wanted} entries, found {count}"));
        }
        let prefix = schema.get("prefixItems").and_then(Json::as_array);
        for (i, item) in items.iter().enumerate() {
            let item_schema = prefix.and_then(|p| p.get(i)).or_else(|| schema.get("items"));
            if let Some(item_schema) = item_schema {
                self.inside(Segment::Index(i), |c| c.value(item_schema, item));
            }
            if self.faults.len() > 100 {
                return; // enough to mend; a list of a million bad entries needs no million sentences
            }
        }
    }

    fn range(&mut self, schema: &Json, value: &Value) {
        let x = match value {
            Value::Integer(i) => *i as f64,
            Value::Float(x) => *x,
            Value::String(text) => {
                if let Some(max) = schema.get("maxLength").and_then(Json::as_u64)
                    && text.chars().count() as u64 > max
                {
                    self.fault(format!("longer than {max} characters"));
                }
                return;
            }
            _ => return,
        };
        let bound = |name: &str| schema.get(name).and_then(Json::as_f64);
        let fits = bound("minimum").is_none_or(|m| x >= m)
            && bound("maximum").is_none_or(|m| x <= m)
            && bound("exclusiveMinimum").is_none_or(|m| x > m)
            && bound("exclusiveMaximum").is_none_or(|m| x < m);
        if !fits && x.is_finite() {
            self.fault(outside(schema, &found(value), x));
        }
    }

    fn not_one_of(&mut self, value: &Value, allowed: &[Json]) {
        let names: Vec<String> = allowed.iter().map(ToString::to_string).collect();
        let hint = value
            .as_str()
            .and_then(|v| nearest(v, allowed.iter().filter_map(Json::as_str)))
            .map_or(String::new(), |n| format!("; did you mean {n:?}?"));
        self.fault(format!("expected {}, found {}{hint}", names.join(" or "), found(value)));
    }
}

/// The property that had this name in earlier versions, which its schema notes as `x-formerly`; serde has the alias.
fn formerly<'a>(properties: &'a serde_json::Map<String, Json>, name: &str) -> Option<&'a Json> {
    properties.values().find(|property| property.get("x-formerly").and_then(Json::as_str) == Some(name))
}

/// The key that tells the forms of a tagged union apart, with its value in each.
fn tag_of<'a>(branches: &[&'a Json]) -> Option<(&'a str, Vec<&'a str>)> {
    let tags_of = |branch: &'a Json| {
        branch.get("properties").and_then(Json::as_object).into_iter().flatten().filter_map(
            |(key, property)| property.get("const").and_then(Json::as_str).map(|name| (key.as_str(), name)),
        )
    };
    let (tag, _) = tags_of(branches.first()?).next()?;
    let names: Option<Vec<&str>> =
        branches.iter().map(|b| tags_of(b).find(|(key, _)| *key == tag).map(|(_, name)| name)).collect();
    names.map(|names| (tag, names))
}

/// Whether the JSON type of a schema can hold a value at all.
fn accepts(schema: &Json, value: &Value) -> bool {
    let one = |name: &str| match name {
        "number" => value.is_float() || value.is_integer(),
        "integer" => value.is_integer(),
        "boolean" => value.is_bool(),
        "string" => value.is_str(),
        "array" => value.is_array(),
        "object" => value.is_table(),
        _ => false,
    };
    match schema.get("type") {
        Some(Json::String(name)) => one(name),
        Some(Json::Array(names)) => names.iter().filter_map(Json::as_str).any(one),
        _ => true,
    }
}

/// What a schema asks for, in words.
fn wanted(schema: &Json) -> String {
    let word = |name: &str| match name {
        "number" => "a number",
        "integer" => "a whole number",
        "boolean" => "true or false",
        "string" if is_layer(schema) => "a layer name",
        "string" => "a string",
        "array" => "a list",
        "object" => "a table",
        "null" => "nothing",
        // JSON schema knows no further types.
        _ => "another value",
    };
    let range = range_text(schema).map_or(String::new(), |r| format!(" ({r})"));
    match schema.get("type") {
        Some(Json::String(name)) => format!("{}{range}", word(name)),
        Some(Json::Array(names)) => {
            let words: Vec<&str> =
                names.iter().filter_map(Json::as_str).filter(|n| *n != "null").map(word).collect();
            format!("{}{range}", words.join(" or "))
        }
        _ => String::from("another value"),
    }
}

/// Whether a schema is that of a [`LayerName`].
fn is_layer(schema: &Json) -> bool {
    schema.get("x-kind").is_some_and(|kind| kind == "layer")
}

/// What was found, in words, short enough for a sentence.
fn found(value: &Value) -> String {
    let text = match value {
        Value::Table(_) => return String::from("a table"),
        Value::Array(items) if items.is_empty() => return String::from("an empty list"),
        Value::Array(items) => return format!("a list of {}", items.len()),
        Value::Datetime(d) => return format!("the date {d}"),
        Value::String(text) => format!("{text:?}"),
        // As people write it: 1e30 rather than thirty zeros.
        Value::Float(x) => format!("{x:?}"),
        other => other.to_string(),
    };
    if text.chars().count() > 60 { text.chars().take(57).chain("...".chars()).collect() } else { text }
}

/// The sentence for a number that its schema does not allow.
fn outside(schema: &Json, shown: &str, x: f64) -> String {
    let (min, max) = bounds(schema);
    let unit = unit_text(schema);
    match (min, max) {
        (Some(a), Some(b)) => format!("{shown} is outside {a} to {b}{unit}"),
        _ if !x.is_finite() => format!("{shown} is not a finite number"),
        (Some(a), None) => format!("{shown} is below the minimum of {a}{unit}"),
        (None, Some(b)) => format!("{shown} is above the maximum of {b}{unit}"),
        (None, None) => format!("{shown} is not allowed"),
    }
}

fn bounds(schema: &Json) -> (Option<f64>, Option<f64>) {
    let bound = |a: &str, b: &str| schema.get(a).or_else(|| schema.get(b)).and_then(Json::as_f64);
    (bound("minimum", "exclusiveMinimum"), bound("maximum", "exclusiveMaximum"))
}

fn unit_text(schema: &Json) -> String {
    schema.get("x-unit").and_then(Json::as_str).map_or(String::new(), |u| format!(" {u}"))
}

/// The range of a schema as users read it, with the unit: `1 to 80 deg`.
#[must_use]
pub fn range_text(schema: &Json) -> Option<String> {
    let unit = unit_text(schema);
    match bounds(schema) {
        (Some(a), Some(b)) => Some(format!("{a} to {b}{unit}")),
        (Some(a), None) => Some(format!("at least {a}{unit}")),
        (None, Some(b)) => Some(format!("at most {b}{unit}")),
        (None, None) => None,
    }
}

fn same(json: &Json, value: &Value) -> bool {
    match (json, value) {
        (Json::String(a), Value::String(b)) => a == b,
        (Json::Bool(a), Value::Boolean(b)) => a == b,
        (Json::Number(a), Value::Integer(b)) => a.as_i64() == Some(*b),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Mode {
        /// Quick.
        Fast,
        /// Slow.
        Exact,
    }

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
    enum Edit {
        /// A polygon.
        Polygon { index: u32 },
        /// A brush.
        Brush { radius_m: f64 },
    }

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(default, deny_unknown_fields)]
    struct Params {
        /// Steepest slope.
        #[schemars(range(min = 1.0, max = 80.0), extend("x-unit" = "deg"))]
        talus_deg: f64,
        count: u32,
        mode: Mode,
        #[schemars(extend("minimum" = 0.0, "maximum" = 1.0))]
        rate: Coef,
        note: Option<f64>,
        edits: Vec<Edit>,
        at: [f64; 2],
    }

    impl Default for Params {
        fn default() -> Self {
            Self {
                talus_deg: 35.0,
                count: 3,
                mode: Mode::Fast,
                rate: Coef::Const(0.5),
                note: None,
                edits: vec![],
                at: [0.0; 2],
            }
        }
    }

    fn faults(text: &str) -> Vec<String> {
        match parse::<Params>(&toml::from_str(text).unwrap()) {
            Ok(_) => Vec::new(),
            Err(faults) => faults.iter().map(ToString::to_string).collect(),
        }
    }

    #[test]
    fn good_parameters_pass() {
        let good = "talus_deg = 40\nrate = \"mask.steep\"\nmode = \"exact\"\nat = [1, 2.5]\nedits = [{ kind = \"brush\", radius_m = 5 }]";
        assert_eq!(faults(good), [""; 0]);
        assert_eq!(faults(""), [""; 0]);
    }

    #[test]
    fn each_fault_says_what_is_wrong_and_what_would_be_right() {
        for (text, sentence) in [
            ("talus = 3", "talus: no such parameter; did you mean \"talus_deg\"?"),
            ("talus_deg = 90", "talus_deg: 90 is outside 1 to 80 deg"),
            ("talus_deg = nan", "talus_deg: NaN is outside 1 to 80 deg"),
            ("talus_deg = inf", "talus_deg: inf is outside 1 to 80 deg"),
            ("talus_deg = \"a\"", "talus_deg: expected a number (1 to 80 deg), found \"a\""),
            ("count = 2.5", "count: expected a whole number (at least 0), found 2.5"),
            ("count = -1", "count: -1 is below the minimum of 0"),
            (
                "mode = \"fats\"",
                "mode: expected \"fast\" or \"exact\", found \"fats\"; did you mean \"fast\"?",
            ),
            ("rate = 2", "rate: 2 is outside 0 to 1"),
            ("rate = nan", "rate: NaN is not a finite number"),
            ("rate = []", "rate: expected a number or a layer name, found an empty list"),
            (
                "edits = [{ kind = \"brsh\" }]",
                "edits[0].kind: expected one of polygon, brush, found \"brsh\"; did you mean \"brush\"?",
            ),
            ("edits = [{ kind = \"brush\" }]", "edits[0]: \"radius_m\" is missing"),
            ("edits = [{ radius_m = 2 }]", "edits[0]: \"kind\" is missing; expected one of polygon, brush"),
            ("at = [1]", "at: expected 2 entries, found 1"),
            ("note = nan", "note: NaN is not a finite number"),
        ] {
            assert_eq!(faults(text), [sentence], "for {text}");
        }
    }

    #[test]
    fn a_bad_layer_name_is_refused() {
        assert!(faults("rate = \"../etc\"")[0].contains("layer name"), "{:?}", faults("rate = \"../etc\""));
    }

    #[test]
    fn nearest_finds_a_name_without_its_family() {
        assert_eq!(nearest("island", ["source.island", "erode.thermal"]), Some("source.island"));
        assert_eq!(nearest("qqqq", ["source.island"]), None);
    }
}
