//! Walks the schema of a parameter struct: what is described, what must be refused, what may be chosen.

use serde_json::Value as Json;
use toml::Value;

/// A value of a parameter, and where inside it the point in question lies.
pub(super) struct Probe {
    /// Where, as faults name it: `edits[0].radius_m`.
    pub path: String,
    /// The whole value of the top parameter.
    pub value: Value,
    /// What is wrong with it.
    pub what: String,
}

/// What each unit looks like at the end of a name.
const UNITS: &[(&str, &str)] = &[
    ("_m", "m"),
    ("_mm", "mm"),
    ("_km", "km"),
    ("_m2", "m2"),
    ("_km2", "km2"),
    ("_m3", "m3"),
    ("_deg", "deg"),
    ("_c", "degC"),
    ("_s", "s"),
    ("_h", "h"),
    ("_yr", "yr"),
    ("_m_per_s", "m/s"),
    ("_m_per_yr", "m/yr"),
    ("_mm_per_yr", "mm/yr"),
    ("_m2_per_yr", "m2/yr"),
    ("_mm_per_h", "mm/h"),
    ("_m3_per_s", "m3/s"),
    ("_per_m", "1/m"),
    ("_per_m2", "1/m2"),
    ("_per_ha", "1/ha"),
    ("_per_km2", "1/km2"),
    ("_c_per_km", "degC/km"),
    ("_pct", "%"),
    ("_kg", "kg"),
    ("_per_s", "1/s"),
    ("_kg_per_m3", "kg/m3"),
];

/// A schema together with its definitions.
pub(super) struct Walk<'a> {
    root: &'a Json,
}

impl<'a> Walk<'a> {
    pub fn new(root: &'a Json) -> Self {
        Self { root }
    }

    /// Name and schema of each parameter.
    pub fn parameters(&self) -> impl Iterator<Item = (&'a str, &'a Json)> {
        properties(self.root)
    }

    fn resolve(&self, mut schema: &'a Json) -> &'a Json {
        while let Some(target) =
            schema.get("$ref").and_then(Json::as_str).and_then(|r| self.root.pointer(r.strip_prefix('#')?))
        {
            schema = target;
        }
        schema
    }

    fn branches(&self, schema: &'a Json) -> Vec<&'a Json> {
        ["anyOf", "oneOf"]
            .iter()
            .filter_map(|key| schema.get(*key).and_then(Json::as_array))
            .flatten()
            .filter(|branch| branch.get("type").is_none_or(|t| t != "null"))
            .collect()
    }

    /// What is not described, in words.
    pub fn undescribed(&self) -> Vec<String> {
        let mut found = Vec::new();
        if !described(self.root) {
            found.push(String::from("the operator itself"));
        }
        self.undescribed_in(self.root, "", &mut found);
        found
    }

    fn undescribed_in(&self, schema: &'a Json, path: &str, found: &mut Vec<String>) {
        for (name, property) in properties(schema) {
            let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
            // The name of a form in a union of forms is given by the form's own description.
            if !described(property) && property.get("const").is_none() {
                found.push(format!("parameter {path}"));
            }
            self.undescribed_in(self.resolve(property), &path, found);
        }
        for branch in self.branches(schema) {
            if (branch.get("const").is_some() || properties(branch).next().is_some()) && !described(branch) {
                found.push(format!("a choice of {path}"));
            }
            self.undescribed_in(self.resolve(branch), path, found);
        }
        if let Some(words) = schema.get("enum").and_then(Json::as_array) {
            found.push(format!("the choices {} of {path}", Json::from(words.clone())));
        }
        if let Some(items) = schema.get("items") {
            self.undescribed_in(self.resolve(items), &format!("{path}[]"), found);
        }
    }

    /// Numbers whose name and unit tell different stories.
    pub fn misnamed(&self) -> Vec<String> {
        let mut found = Vec::new();
        self.misnamed_in(self.root, &mut found);
        found
    }

    fn misnamed_in(&self, schema: &'a Json, found: &mut Vec<String>) {
        for (name, property) in properties(schema) {
            if self.is_number(property) {
                let by_name = UNITS
                    .iter()
                    .filter(|(suffix, _)| name.ends_with(suffix))
                    .max_by_key(|(suffix, _)| suffix.len())
                    .map(|(_, unit)| *unit);
                let declared = property.get("x-unit").and_then(Json::as_str);
                if by_name != declared {
                    found.push(format!("{name}: the name says {by_name:?}, x-unit says {declared:?}"));
                }
            }
            self.misnamed_in(self.resolve(property), found);
        }
        for branch in self.branches(schema) {
            self.misnamed_in(self.resolve(branch), found);
        }
        if let Some(items) = schema.get("items") {
            self.misnamed_in(self.resolve(items), found);
        }
    }

    fn is_number(&self, schema: &'a Json) -> bool {
        let schema = self.resolve(schema);
        has_type(schema, "number")
            || has_type(schema, "integer")
            || self.branches(schema).iter().any(|branch| self.is_number(branch))
            || schema.get("items").is_some_and(|items| has_type(schema, "array") && self.is_number(items))
    }

    /// Values of a parameter that must be refused, each wrong in one number; and numbers without a range.
    pub fn bad_numbers(&self, name: &str, schema: &'a Json) -> (Vec<Probe>, Vec<String>) {
        let mut unbounded = Vec::new();
        let probes =
            self.numbers(schema, name.to_owned(), Bounds::default(), Bounds::outside, &mut unbounded);
        (probes, unbounded)
    }

    /// Values of a parameter that are just allowed, each with one number at an end of its range.
    pub fn end_numbers(&self, name: &str, schema: &'a Json) -> Vec<Probe> {
        self.numbers(schema, name.to_owned(), Bounds::default(), Bounds::ends, &mut Vec::new())
    }

    /// Values of a parameter with one number each replaced by those that `pick` makes of its range.
    fn numbers(
        &self,
        schema: &'a Json,
        path: String,
        outer: Bounds,
        pick: Pick,
        unbounded: &mut Vec<String>,
    ) -> Vec<Probe> {
        let bounds = outer.or(Bounds::of(schema));
        let schema = self.resolve(schema);
        let bounds = bounds.or(Bounds::of(schema));
        let branches = self.branches(schema);
        if !branches.is_empty() {
            return branches
                .into_iter()
                .flat_map(|branch| self.numbers(branch, path.clone(), bounds, pick, unbounded))
                .collect();
        }
        let (number, integer) = (has_type(schema, "number"), has_type(schema, "integer"));
        if number || integer {
            if bounds.low.is_none() || bounds.high.is_none() {
                unbounded.push(path.clone());
            }
            return pick(bounds, integer)
                .into_iter()
                .map(|(value, what)| Probe { path: path.clone(), value, what })
                .collect();
        }
        if has_type(schema, "array") {
            let prefix = schema.get("prefixItems").and_then(Json::as_array).map_or(0, Vec::len);
            let count = schema.get("minItems").and_then(Json::as_u64).unwrap_or(0).max(1) as usize;
            return (0..count.max(prefix))
                .flat_map(|i| {
                    let Some(item) = self.item(schema, i) else { return Vec::new() };
                    let good: Vec<Value> =
                        (0..count.max(prefix)).filter_map(|j| self.example(self.item(schema, j)?)).collect();
                    let probes =
                        self.numbers(item, format!("{path}[{i}]"), Bounds::default(), pick, unbounded);
                    probes
                        .into_iter()
                        .map(|probe| {
                            probe.inside(|value| {
                                let mut list = good.clone();
                                if let Some(slot) = list.get_mut(i) {
                                    *slot = value;
                                }
                                Value::Array(list)
                            })
                        })
                        .collect()
                })
                .collect();
        }
        let Some(Value::Table(good)) = self.example(schema) else { return Vec::new() };
        properties(schema)
            .flat_map(|(name, property)| {
                let probes =
                    self.numbers(property, format!("{path}.{name}"), Bounds::default(), pick, unbounded);
                let good = &good;
                probes
                    .into_iter()
                    .map(move |probe| {
                        probe.inside(|value| {
                            let mut table = good.clone();
                            table.insert(name.to_owned(), value);
                            Value::Table(table)
                        })
                    })
                    .collect::<Vec<_>>()
            })
            .collect()
    }

    fn item(&self, schema: &'a Json, i: usize) -> Option<&'a Json> {
        schema.get("prefixItems").and_then(|p| p.get(i)).or_else(|| schema.get("items"))
    }

    /// Some valid value.
    pub fn example(&self, schema: &'a Json) -> Option<Value> {
        if let Some(default) = schema.get("default").and_then(|json| Value::try_from(json).ok()) {
            return Some(default);
        }
        let bounds = Bounds::of(schema);
        let schema = self.resolve(schema);
        if let Some(only) = schema.get("const").or_else(|| schema.get("enum").and_then(|e| e.get(0))) {
            return Value::try_from(only).ok();
        }
        if let Some(branch) = self.branches(schema).first() {
            return self.example(branch);
        }
        let bounds = bounds.or(Bounds::of(schema));
        let (low, high) = (bounds.low.unwrap_or(0.0), bounds.high.unwrap_or(1.0));
        if has_type(schema, "integer") {
            Some(Value::Integer(low as i64 + 1))
        } else if has_type(schema, "number") {
            Some(Value::Float(if low <= 1.0 && high >= 1.0 { 1.0 } else { 0.5 * (low + high) }))
        } else if has_type(schema, "boolean") {
            Some(Value::Boolean(true))
        } else if has_type(schema, "string") {
            Some(Value::String(String::from("mask")))
        } else if has_type(schema, "array") {
            let count = schema.get("minItems").and_then(Json::as_u64).unwrap_or(0) as usize;
            Some(Value::Array((0..count).filter_map(|i| self.example(self.item(schema, i)?)).collect()))
        } else {
            let entry = |(name, property): (&str, &'a Json)| Some((name.to_owned(), self.example(property)?));
            Some(Value::Table(properties(schema).filter_map(entry).collect()))
        }
    }

    /// Other values worth running: both flags, every word, a number as well as a layer.
    pub fn choices(&self, schema: &'a Json) -> Vec<Value> {
        let whole = schema;
        let schema = self.resolve(schema);
        if has_type(schema, "boolean") {
            return vec![Value::Boolean(false), Value::Boolean(true)];
        }
        if has_type(schema, "array") || has_type(schema, "object") {
            return Vec::new();
        }
        let bounds = Bounds::of(whole);
        self.branches(schema)
            .into_iter()
            .filter_map(|branch| match bounds.low.zip(bounds.high) {
                Some((low, high)) if has_type(branch, "number") => {
                    Some(Value::Float(if low <= 0.75 && high >= 0.75 { 0.75 } else { 0.5 * (low + high) }))
                }
                _ => self.example(branch),
            })
            .filter(|value| !value.is_table())
            .collect()
    }
}

impl Probe {
    fn inside(self, wrap: impl FnOnce(Value) -> Value) -> Self {
        Self { path: self.path, value: wrap(self.value), what: self.what }
    }
}

/// Makes numbers of a range, each with a word about it; the flag says that they are whole.
type Pick = fn(Bounds, bool) -> Vec<(Value, String)>;

/// The range of a number.
#[derive(Clone, Copy, Default)]
struct Bounds {
    low: Option<f64>,
    high: Option<f64>,
    open_low: bool,
    open_high: bool,
}

impl Bounds {
    fn of(schema: &Json) -> Self {
        let get = |name: &str| schema.get(name).and_then(Json::as_f64);
        Self {
            low: get("minimum").or(get("exclusiveMinimum")),
            high: get("maximum").or(get("exclusiveMaximum")),
            open_low: get("exclusiveMinimum").is_some(),
            open_high: get("exclusiveMaximum").is_some(),
        }
    }

    fn or(self, other: Self) -> Self {
        if self.low.is_some() || self.high.is_some() { self } else { other }
    }

    /// The least and the greatest number that belong.
    fn ends(self, integer: bool) -> Vec<(Value, String)> {
        let inside = |end: f64, open: bool, inwards: f64| match (integer, open) {
            (true, true) => end + inwards,
            (false, true) => end + inwards * (end.abs() * 1e-6).max(1e-9),
            (_, false) => end,
        };
        let low = self.low.map(|low| inside(low, self.open_low, 1.0));
        let high = self.high.map(|high| inside(high, self.open_high, -1.0));
        let value = |x: f64| if integer { Value::Integer(x as i64) } else { Value::Float(x) };
        low.into_iter().chain(high).map(|x| (value(x), x.to_string())).collect()
    }

    /// Numbers that do not belong, with the reason.
    fn outside(self, integer: bool) -> Vec<(Value, String)> {
        let mut bad: Vec<(Value, String)> = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY]
            .into_iter()
            .map(|x| (Value::Float(x), x.to_string()))
            .collect();
        if integer {
            bad.push((Value::Float(1.5), String::from("1.5 for a whole number")));
        }
        let mut push = |x: f64, what: &str| {
            let value = if integer { Value::Integer(x as i64) } else { Value::Float(x) };
            bad.push((value, format!("{x}, {what}")));
        };
        let step = |x: f64| if integer { 1.0 } else { (x.abs() * 1e-6).max(1e-9) };
        if let Some(low) = self.low {
            push(if self.open_low { low } else { low - step(low) }, "just below the range");
        }
        if let Some(high) = self.high {
            push(if self.open_high { high } else { high + step(high) }, "just above the range");
        }
        bad
    }
}

fn described(schema: &Json) -> bool {
    schema.get("description").and_then(Json::as_str).is_some_and(|text| text.trim().len() > 3)
}

fn properties(schema: &Json) -> impl Iterator<Item = (&str, &Json)> {
    schema.get("properties").and_then(Json::as_object).into_iter().flatten().map(|(k, v)| (k.as_str(), v))
}

fn has_type(schema: &Json, name: &str) -> bool {
    match schema.get("type") {
        Some(Json::String(one)) => one == name,
        Some(Json::Array(several)) => several.iter().any(|one| one == name),
        _ => false,
    }
}
