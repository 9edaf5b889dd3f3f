//! The catalogue in words and as JSON, for help, editors, the manual and Python.

use orogen_core::layer::LayerName;
use orogen_core::param::range_text;
use orogen_core::{Frame, Layers, Operator, Part, Reach};
use serde_json::{Map, Value, json};

use crate::catalog::catalog;
use crate::export::ExportKind;

/// What an operator does, in its first sentence.
#[must_use]
pub fn summary(operator: &Operator) -> String {
    let schema = operator.schema();
    let text = description(schema);
    let paragraph = text.split("\n\n").next().unwrap_or_default().replace('\n', " ");
    paragraph.trim().to_owned()
}

/// All operators as one JSON document.
#[must_use]
pub fn catalog_json() -> Value {
    let operators: Vec<Value> = catalog().operators().iter().map(operator_json).collect();
    json!({ "orogen": crate::VERSION, "operators": operators })
}

/// An operator as JSON: what it touches, how far it reaches, the schema of its parameters.
#[must_use]
pub fn operator_json(operator: &Operator) -> Value {
    let op = operator.default_op();
    let layers = op.layers();
    let names = |names: &[LayerName]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    json!({
        "id": operator.id,
        "version": operator.version,
        "summary": summary(operator),
        "reads": names(&layers.reads),
        "writes": names(&layers.writes),
        "reads_second": names(&layers.reads_second),
        "reads_vectors": names(&layers.reads_vectors),
        "writes_vectors": names(&layers.writes_vectors),
        "uses": layers.uses.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "follows": follows(&layers),
        "reach": reach_text(operator),
        "bytes_a_sample": bytes_a_sample(operator),
        "preview_rmse": operator.preview_rmse,
        "params": operator.schema(),
    })
}

/// Which outputs follow from what.
fn follows(layers: &Layers) -> Map<String, Value> {
    let names = |parts: &[Part]| parts.iter().map(ToString::to_string).collect::<Vec<_>>();
    layers.follows.iter().map(|(part, from)| (part.to_string(), json!(names(from)))).collect()
}

/// How far an operator reaches with its default parameters, in words.
#[must_use]
pub fn reach_text(operator: &Operator) -> String {
    let Ok(frame) = Frame::square(1024.0, 1025) else { return String::new() };
    match operator.default_op().reach(&frame) {
        Reach::Point => String::from("point: a sample depends on its own position only"),
        Reach::Within(m) => {
            format!("within {m} m (at 1 m spacing): a sample depends on neighbours no further than that")
        }
        Reach::World => String::from("world: a sample depends on everything"),
    }
}

/// Memory that an operator with its default parameters takes beside its input on 1025 x 1025 samples, in bytes a sample;
/// to two digits, as it is known no better.
#[must_use]
pub fn bytes_a_sample(operator: &Operator) -> f64 {
    let Ok(frame) = Frame::square(8192.0, 1025) else { return f64::NAN };
    let bytes = operator.default_op().bytes_a_sample(&frame);
    if bytes < 10.0 { (bytes * 10.0).round() / 10.0 } else { bytes.round() }
}

/// A parameter as the manual and the help show it.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// What kind of value it takes.
    pub kind: String,
    /// Its value when left out, as TOML; `None` when it must be given or stays unset.
    pub default: Option<String>,
    /// What is allowed, with the unit; empty when the kind says it all.
    pub range: String,
    /// Its unit; empty for plain numbers.
    pub unit: String,
    /// What it does.
    pub about: String,
}

/// The parameters of an operator in the order of its struct.
#[must_use]
pub fn parameters(operator: &Operator) -> Vec<Parameter> {
    let schema = operator.schema();
    // One whose defaults TOML cannot hold shows none; the catalogue test finds it.
    let defaults = operator.default_op().params().unwrap_or_default();
    let properties = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_else(Map::new);
    properties
        .iter()
        .map(|(name, property)| Parameter {
            name: name.clone(),
            kind: kind(schema, property),
            default: defaults.get(name).map(ToString::to_string),
            range: range_text(property).unwrap_or_default(),
            unit: property.get("x-unit").and_then(Value::as_str).unwrap_or_default().to_owned(),
            about: description(property).replace('\n', " "),
        })
        .collect()
}

/// What a parameter that holds tables takes in each of them: rules, species, winds.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What kind of table it is, in lower case: "rule", "species".
    pub name: String,
    /// What it says.
    pub about: String,
    /// Its keys.
    pub keys: Vec<Parameter>,
}

/// The kinds of tables that parameters of an operator hold, by name.
#[must_use]
pub fn entries(operator: &Operator) -> Vec<Entry> {
    let schema = operator.schema();
    let definitions = schema.get("$defs").and_then(Value::as_object);
    let of = |(name, definition): (&String, &Value)| {
        let properties = definition.get("properties")?.as_object()?;
        // Names of types, in words.
        let mut words = String::new();
        for letter in name.chars() {
            if letter.is_uppercase() && !words.is_empty() {
                words.push(' ');
            }
            words.extend(letter.to_lowercase());
        }
        let key = |(name, property): (&String, &Value)| Parameter {
            name: name.clone(),
            kind: kind(schema, property),
            default: property.get("default").filter(|default| !default.is_null()).map(ToString::to_string),
            range: range_text(property).unwrap_or_default(),
            unit: property.get("x-unit").and_then(Value::as_str).unwrap_or_default().to_owned(),
            about: description(property).replace('\n', " "),
        };
        let keys = properties.iter().map(key).collect();
        Some(Entry { name: words, about: description(definition).to_owned(), keys })
    };
    definitions.into_iter().flatten().filter_map(of).collect()
}

/// A default that fits into a line; `None` for longer ones, which [`long_defaults`] has.
#[must_use]
pub fn short_default(default: &str) -> Option<String> {
    const LONGEST: usize = 240;
    let line = default.replace('\n', " ");
    (line.chars().count() <= LONGEST).then_some(line)
}

/// The defaults of an operator that do not fit into a line, by parameter: whole, as TOML, an entry a line. Keys that have their own
/// default are left out.
#[must_use]
pub fn long_defaults(operator: &Operator) -> Vec<(String, String)> {
    let usual: Map<String, Value> = (entries(operator).iter().flat_map(|entry| &entry.keys))
        .filter_map(|key| Some((key.name.clone(), serde_json::from_str(key.default.as_deref()?).ok()?)))
        .collect();
    let params = operator.default_op().params().unwrap_or_default();
    let long = |(name, value): (&String, &toml::Value)| {
        if short_default(&value.to_string()).is_some() {
            return None;
        }
        let Some(list) = value.as_array() else {
            return Some((name.clone(), format!("{name} = {}\n", plain(value, &usual))));
        };
        let lines: String = list.iter().map(|entry| format!("  {},\n", plain(entry, &usual))).collect();
        Some((name.clone(), format!("{name} = [\n{lines}]\n")))
    };
    params.iter().filter_map(long).collect()
}

/// A value as people write it: without the keys that have their usual value.
fn plain(value: &toml::Value, usual: &Map<String, Value>) -> String {
    match value {
        toml::Value::Array(items) => {
            format!("[{}]", items.iter().map(|item| plain(item, usual)).collect::<Vec<_>>().join(", "))
        }
        toml::Value::Table(table) => {
            let is_usual = |name: &str, value: &toml::Value| {
                let own = serde_json::to_value(value).ok();
                own.is_some() && own.as_ref() == usual.get(name)
            };
            let keys = table.iter().filter(|(name, value)| !is_usual(name, value));
            let keys: Vec<String> =
                keys.map(|(name, value)| format!("{name} = {}", plain(value, usual))).collect();
            if keys.is_empty() { String::from("{}") } else { format!("{{ {} }}", keys.join(", ")) }
        }
        other => other.to_string(),
    }
}

/// An operator as help text.
#[must_use]
pub fn operator_text(operator: &Operator) -> String {
    let op = operator.default_op();
    let layers = op.layers();
    let list = |names: &[LayerName]| {
        if names.is_empty() {
            String::from("nothing")
        } else {
            names.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        }
    };
    let mut text = format!("{}\n\n{}\n\n", operator.id, description(operator.schema()));
    text.push_str(&format!("reads   {}\nwrites  {}", list(&layers.reads), list(&layers.writes)));
    if !layers.writes_vectors.is_empty() {
        text.push_str(&format!("; vectors {}", list(&layers.writes_vectors)));
    }
    text.push_str(&format!("\nreach   {}", reach_text(operator)));
    text.push_str(&format!("\nmemory  {} bytes a sample beside its input\n", bytes_a_sample(operator)));
    let parameters = parameters(operator);
    if !parameters.is_empty() {
        text.push_str("\nparameters\n");
    }
    for p in parameters {
        let whole = || String::from("as listed below");
        let default = p.default.map_or(String::from("unset"), |d| short_default(&d).unwrap_or_else(whole));
        text.push_str(&format!("  {} = {default}", p.name));
        let allowed = match (p.range.is_empty(), p.kind.ends_with(" or layer")) {
            (true, _) => p.kind,
            (false, true) => format!("{}, or a layer", p.range),
            (false, false) => p.range,
        };
        text.push_str(&format!("   ({allowed})\n      {}\n", p.about));
    }
    for entry in entries(operator) {
        text.push_str(&format!(
            "\na {} in these lists\n  {}\n",
            entry.name,
            entry.about.replace('\n', "\n  ")
        ));
        for p in entry.keys {
            let unit = if p.unit.is_empty() { String::new() } else { format!(", {}", p.unit) };
            let allowed = if p.range.is_empty() { format!("{}{unit}", p.kind) } else { p.range };
            text.push_str(&format!("  - {}   ({allowed})\n      {}\n", p.name, p.about));
        }
    }
    for (name, default) in long_defaults(operator) {
        text.push_str(&format!("\n{name}, if not stated\n  {}\n", default.trim_end().replace('\n', "\n  ")));
    }
    text.push_str(&format!(
        "\nexample\n  [[step]]\n  id = \"{}\"\n  op = \"{}\"\n",
        operator.id.rsplit('.').next().unwrap_or("step"),
        operator.id
    ));
    text
}

/// The JSON schema of whole recipes, for editors that complete and check TOML.
#[must_use]
pub fn recipe_schema() -> Value {
    let catalog = catalog();
    let mut definitions = Map::new();
    let mut forms = Vec::new();
    for operator in catalog.operators() {
        let mut params = operator.schema().clone();
        hoist(&mut params, operator.id, &mut definitions);
        forms.push(json!({
            "properties": { "op": { "const": operator.id, "description": summary(operator) }, "params": params },
        }));
    }
    let ids: Vec<&str> = catalog.operators().iter().map(|op| op.id).collect();
    let exports: Vec<Value> = ExportKind::ALL
        .iter()
        .map(|kind| {
            let (name, mut options) = (kind.name(), kind.options().clone());
            hoist(&mut options, &format!("export.{name}"), &mut definitions);
            options["properties"]["kind"] = json!({ "const": name });
            json!({
                "type": "object",
                "additionalProperties": false,
                "required": ["kind"],
                "properties": options["properties"],
            })
        })
        .collect();
    let pair = |item: Value| json!({ "anyOf": [item, { "type": "array", "items": item, "minItems": 2, "maxItems": 2 }] });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Orogen recipe",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "seed": { "type": ["string", "integer"], "description": "World seed: any text." },
            "frame": {
                "type": "object",
                "additionalProperties": false,
                "description": "Where the land lies.",
                "properties": {
                    "size_m": pair(json!({ "type": "number", "exclusiveMinimum": 0 })),
                    "samples": pair(json!({ "type": "integer", "minimum": 2 })),
                    "origin_m": { "type": "array", "items": { "type": "number" }, "minItems": 2, "maxItems": 2 },
                    "loops": { "type": "boolean", "default": false, "description": "Opposite edges are one: copies join without a seam." },
                },
            },
            "place": {
                "type": "object",
                "additionalProperties": false,
                "description": "Where on Earth the land lies.",
                "properties": {
                    "latitude_deg": {
                        "type": "number", "minimum": -90, "maximum": 90,
                        "description": "Latitude of the middle of the frame, in degrees north.",
                    },
                    "longitude_deg": {
                        "type": "number", "minimum": -180, "maximum": 180,
                        "description": "Longitude of the middle of the frame, in degrees east.",
                    },
                    "crs": {
                        "type": ["string", "integer"],
                        "description": "The projected coordinate system that the metres of the frame belong to, such as \"EPSG:32633\".",
                    },
                    "north_deg": {
                        "type": "number", "minimum": -180, "maximum": 180, "default": 0,
                        "description": "Direction of true north, in degrees clockwise from the y axis.",
                    },
                },
            },
            "step": {
                "type": "array",
                "items": {
                    "type": "object",
                    "additionalProperties": false,
                    "required": ["id", "op"],
                    "properties": {
                        "id": { "type": "string" },
                        "op": { "enum": ids },
                        "params": { "type": "object" },
                        "from": { "type": "string", "description": "Input, when it is not the step above." },
                        "with": { "type": "string", "description": "Second input of steps that combine two." },
                        "mask": { "type": "string", "description": "Layer that limits where the step acts." },
                        "enabled": { "type": "boolean", "default": true },
                    },
                    "oneOf": forms,
                },
            },
            "export": { "type": "array", "items": { "oneOf": exports } },
        },
        "$defs": definitions,
    })
}

/// Moves an operator's own definitions to the top of the recipe schema, under names of their own.
fn hoist(schema: &mut Value, id: &str, definitions: &mut Map<String, Value>) {
    if let Some(object) = schema.as_object_mut() {
        object.remove("$schema");
        if let Some(Value::Object(own)) = object.remove("$defs") {
            for (name, mut definition) in own {
                rename(&mut definition, id);
                definitions.insert(format!("{id}.{name}"), definition);
            }
        }
    }
    rename(schema, id);
}

fn rename(schema: &mut Value, id: &str) {
    match schema {
        Value::Object(object) => {
            for (key, value) in object.iter_mut() {
                match value {
                    Value::String(target) if key == "$ref" => {
                        if let Some(name) = target.strip_prefix("#/$defs/") {
                            *target = format!("#/$defs/{id}.{name}");
                        }
                    }
                    other => rename(other, id),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, id)),
        _ => {}
    }
}

fn description(schema: &Value) -> String {
    schema.get("description").and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// What kind of value a parameter takes, in words.
fn kind(root: &Value, property: &Value) -> String {
    if let Some(target) = property.get("$ref").and_then(Value::as_str)
        && let Some(definition) = target.strip_prefix('#').and_then(|pointer| root.pointer(pointer))
    {
        return kind(root, definition);
    }
    if property.get("x-kind").is_some_and(|k| k == "layer") {
        return String::from("layer");
    }
    if let Some(values) = property.get("enum").and_then(Value::as_array) {
        return values.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ");
    }
    if let Some(only) = property.get("const") {
        return only.to_string();
    }
    if let Some(forms) = property.get("oneOf").or_else(|| property.get("anyOf")).and_then(Value::as_array) {
        if let Some((tag, words)) = tagged(forms) {
            return format!("table with {tag} = {}", words.join(" or "));
        }
        let forms: Vec<String> = forms.iter().map(|f| kind(root, f)).filter(|k| k != "null").collect();
        return forms.join(" or ");
    }
    let names: Vec<&str> = match property.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).filter(|n| *n != "null").collect()
        }
        _ => return String::from("value"),
    };
    names.iter().map(|name| plain_kind(root, property, name)).collect::<Vec<_>>().join(" or ")
}

fn plain_kind(root: &Value, property: &Value, name: &str) -> String {
    String::from(match name {
        "integer" => "whole number",
        "boolean" => "true or false",
        "string" => "text",
        "object" => "table",
        "array" => {
            let count = |key: &str| property.get(key).and_then(Value::as_u64);
            let list =
                if (count("minItems"), count("maxItems")) == (Some(2), Some(2)) { "pair" } else { "list" };
            return match property.get("items") {
                Some(items) => format!("{list} of {}", plural(&kind(root, items))),
                None => String::from(list),
            };
        }
        other => other,
    })
}

/// The key that tells the forms of a tagged union apart, and its value in each.
fn tagged(forms: &[Value]) -> Option<(&str, Vec<String>)> {
    let tag = |form: &Value, key: &str| Some(form.get("properties")?.get(key)?.get("const")?.to_string());
    let keys = forms.first()?.get("properties")?.as_object()?.keys();
    keys.map(String::as_str)
        .find_map(|key| Some((key, forms.iter().map(|form| tag(form, key)).collect::<Option<_>>()?)))
}

/// A kind when there are several of it: the noun stands first or, for a whole number, second.
fn plural(kind: &str) -> String {
    for noun in ["whole number", "number", "table", "text", "list", "pair", "layer"] {
        if let Some(rest) = kind.strip_prefix(noun) {
            return format!("{noun}s{rest}");
        }
    }
    kind.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_of_the_recipe_schema_leads_somewhere() {
        fn walk(root: &Value, at: &Value) {
            match at {
                Value::Object(object) => {
                    if let Some(target) = object.get("$ref").and_then(Value::as_str) {
                        let pointer = target.strip_prefix('#').unwrap();
                        assert!(root.pointer(pointer).is_some(), "{target} leads nowhere");
                    }
                    object.values().for_each(|value| walk(root, value));
                }
                Value::Array(items) => items.iter().for_each(|item| walk(root, item)),
                _ => {}
            }
        }
        let schema = recipe_schema();
        walk(&schema, &schema);
    }

    #[test]
    fn kinds_read_well() {
        let catalog = catalog();
        let kind = |op: &str, name: &str| {
            parameters(catalog.get(op).unwrap()).into_iter().find(|p| p.name == name).unwrap().kind
        };
        assert_eq!(kind("source.island", "edits"), r#"list of tables with kind = "polygon" or "brush""#);
        assert_eq!(kind("source.dem", "origin_m"), "pair of numbers");
        assert_eq!(kind("combine.blend", "amount"), "number or layer");
        let help = operator_text(catalog.get("combine.blend").unwrap());
        assert!(help.contains("(0 to 1, or a layer)"), "{help}");
    }

    /// Tables of defaults were cut after 240 letters.
    #[test]
    fn long_defaults_are_shown_whole() {
        let catalog = catalog();
        for name in ["cover.biomes", "cover.materials", "cover.satellite"] {
            let operator = catalog.get(name).unwrap();
            let long = long_defaults(operator);
            assert_eq!(long.len(), 1, "{name}");
            let (key, text) = &long[0];
            let read: toml::Table = toml::from_str(text).unwrap();
            let whole = operator.default_op().params().unwrap();
            let count = |table: &toml::Table| table[key].as_array().map(Vec::len);
            assert!(count(&read).is_some() && count(&read) == count(&whole), "{name}");
            assert!(operator_text(operator).contains(text.lines().last().unwrap()), "{name}");
        }
    }

    #[test]
    fn every_operator_can_be_described() {
        for operator in catalog().operators() {
            let text = operator_text(operator);
            assert!(text.contains(operator.id) && !summary(operator).is_empty(), "{}", operator.id);
        }
    }
}
