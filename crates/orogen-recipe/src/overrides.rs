//! Changes to a recipe by its caller, applied before it is checked.

use orogen_core::Catalog;
use orogen_core::param::{Segment, path_text};
use toml::de::DeValue;

use crate::fault::{Fault, Faults, hint, quoted};
use crate::node::{At, Data, Node, Reader, Table, to_toml};
use crate::recipe::{Export, Recipe};

/// What to change in a recipe.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Another world seed.
    pub seed: Option<String>,
    /// Samples of the longer side; the other side keeps its proportion and the size in metres stays.
    pub samples: Option<usize>,
    /// Parameters of steps; where no step has that name, options of exports of that kind.
    pub set: Vec<Set>,
}

/// One parameter of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    /// Id of the step.
    pub step: String,
    /// Path of the parameter: `talus_deg`, `shape.x_m` or `edits[0].radius_m`.
    pub path: String,
    /// The value as TOML; what is not TOML is taken as text.
    pub value: String,
}

impl Set {
    /// From `STEP.PARAM=VALUE`.
    ///
    /// # Errors
    /// A sentence, when the text has another form.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("{}: expected STEP.PARAM=VALUE, as in rain.talus_deg=35", quoted(text));
        let (target, value) = text.split_once('=').ok_or_else(wrong)?;
        let (step, path) = target.trim().split_once('.').ok_or_else(wrong)?;
        if step.is_empty() || path.is_empty() {
            return Err(wrong());
        }
        Ok(Self { step: step.to_owned(), path: path.to_owned(), value: value.trim().to_owned() })
    }
}

impl Recipe {
    /// Applies changes. `STEP.enabled` switches the step, unless its operator has a parameter of that name.
    ///
    /// # Errors
    /// A fault for each change whose step or place inside its parameters does not exist; the other changes are made, so
    /// that the rest of the recipe can be checked too. Values are checked with the recipe.
    pub fn apply(&mut self, overrides: &Overrides, catalog: &Catalog) -> Result<(), Faults> {
        if let Some(seed) = &overrides.seed {
            self.seed.clone_from(seed);
        }
        if let Some(samples) = overrides.samples {
            self.samples_override = Some(samples);
        }
        let mut faults = Faults::new(self.name());
        for set in &overrides.set {
            self.options.push(format!("{}.{}", set.step, set.path));
            let at = At::Set(self.options.len() - 1);
            if let Err(message) = self.apply_one(set, at, catalog) {
                faults.push(Fault::new(self.place(at), message));
            }
        }
        faults.into_result()
    }

    /// Whether there is a step of that id.
    #[must_use]
    pub fn has_step(&self, id: &str) -> bool {
        self.steps.iter().any(|step| step.id == id)
    }

    /// Adds an export with its default options.
    pub fn add_export(&mut self, kind: &str) {
        let at = At::Set(self.options.len());
        self.exports.push(Export {
            kind: kind.to_owned(),
            options: toml::Table::new(),
            at,
            nodes: Table::new(),
        });
    }

    /// Changes an option of the first export of the kind that `set` names as its step; it is added where the recipe has none.
    ///
    /// # Errors
    /// A fault when its place inside the options does not exist. Values are checked with the exports.
    pub fn set_export(&mut self, set: &Set) -> Result<(), Faults> {
        if !self.exports.iter().any(|export| export.kind == set.step) {
            self.add_export(&set.step);
        }
        self.options.push(format!("{}.{}", set.step, set.path));
        let at = At::Set(self.options.len() - 1);
        let changed = parse_path(&set.path).ok_or_else(|| no_path(&set.path)).and_then(|path| {
            let value = parse_value(&set.value, at)?;
            let Some(export) = self.exports.iter_mut().find(|export| export.kind == set.step) else {
                return Ok(());
            };
            // On a copy: a change that fails half-way leaves the export as the recipe has it.
            let mut nodes = export.nodes.clone();
            put(&mut nodes, &path, value)?;
            export.options = to_toml(&nodes);
            export.nodes = nodes;
            Ok(())
        });
        let mut faults = Faults::new(self.name());
        if let Err(message) = changed {
            faults.push(Fault::new(self.place(at), message));
        }
        faults.into_result()
    }

    fn apply_one(&mut self, set: &Set, at: At, catalog: &Catalog) -> Result<(), String> {
        let path = parse_path(&set.path).ok_or_else(|| no_path(&set.path))?;
        let value = parse_value(&set.value, at)?;
        let Some(step) = self.steps.iter().position(|step| step.id == set.step) else {
            let hint = hint(&set.step, self.steps.iter().map(|step| step.id.as_str()));
            return Err(format!("the recipe has no step {}; {hint}", quoted(&set.step)));
        };
        let step = &mut self.steps[step];
        let operator = step.op.as_ref().and_then(|(op, _)| catalog.get(op));
        let defaults = operator
            .map_or_else(|| Ok(toml::Table::new()), |op| op.default_op().params())
            .map_err(|e| e.to_string())?;
        if set.path == "enabled" && !defaults.contains_key("enabled") {
            let Data::Flag(enabled) = value.data else {
                return Err(format!("expected true or false, found {}", value.found()));
            };
            step.enabled = enabled;
            return Ok(());
        }
        // On a copy: a change that fails half-way leaves the step as the recipe has it.
        let mut params = step.params.clone();
        // A path into a parameter that the recipe leaves at its default starts from that default.
        if let (Some(Segment::Key(first)), true) = (path.first(), path.len() > 1)
            && !params.contains_key(first)
            && let Some(default) = defaults.get(first)
        {
            params.insert(first.clone(), Node::from_toml(default.clone(), at));
        }
        put(&mut params, &path, value)?;
        step.params = params;
        Ok(())
    }
}

fn no_path(text: &str) -> String {
    format!("{} is not a valid parameter path; write it as a, a.b or a[0].b", quoted(text))
}

/// Sets the value at a path, making tables on the way where there is nothing.
fn put(table: &mut Table, path: &[Segment], value: Node) -> Result<(), String> {
    let at = value.at;
    let Some((Segment::Key(first), rest)) = path.split_first() else {
        return Err(String::from("a path starts with the name of a parameter"));
    };
    let empty = || Node { at, data: Data::Table(Table::new()) };
    let mut node = table.entry(first.clone()).or_insert_with(empty);
    for (i, segment) in rest.iter().enumerate() {
        let so_far = || path_text(&path[..=i]);
        let found = node.found();
        node = match (&mut node.data, segment) {
            (Data::Table(table), Segment::Key(key)) => table.entry(key.clone()).or_insert_with(empty),
            (Data::List(items), Segment::Index(index)) => {
                let count = items.len();
                if *index > count {
                    let plural = if count == 1 { "y" } else { "ies" };
                    return Err(format!(
                        "index {index} is out of range; {} has {count} entr{plural}",
                        so_far()
                    ));
                }
                if *index == count {
                    items.push(empty());
                }
                &mut items[*index]
            }
            (_, Segment::Key(key)) => {
                return Err(format!("{} is {found}, not a table with a key {key:?}", so_far()));
            }
            (_, Segment::Index(_)) => return Err(format!("{} is {found}, not a list", so_far())),
        };
    }
    *node = value;
    Ok(())
}

/// A path as users write it.
fn parse_path(text: &str) -> Option<Vec<Segment>> {
    const LONGEST: usize = 16;
    let mut path = Vec::new();
    for word in text.split('.') {
        let (key, indices) = word.split_at(word.find('[').unwrap_or(word.len()));
        if key.is_empty() || key.len() > 128 {
            return None;
        }
        path.push(Segment::Key(key.to_owned()));
        let mut rest = indices;
        while !rest.is_empty() {
            let (index, after) = rest.strip_prefix('[')?.split_once(']')?;
            path.push(Segment::Index(index.parse().ok()?));
            rest = after;
        }
    }
    (path.len() <= LONGEST).then_some(path)
}

/// A value as TOML, or as text when it is not valid TOML.
fn parse_value(text: &str, at: At) -> Result<Node, String> {
    let Ok(value) = DeValue::parse(text) else {
        return Ok(Node { at, data: Data::Text(text.to_owned()) });
    };
    let mut faults = Faults::new("");
    let node = Reader { text, faults: &mut faults }.node(value.into_inner(), 0, 0);
    match (node, faults.list.into_iter().next()) {
        (Some(node), None) => Ok(Node::from_toml(node.to_toml(), at)),
        (_, fault) => Err(fault.map_or_else(String::new, |fault| fault.message)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_as_written() {
        let path = parse_path("edits[0][12].x_m").unwrap();
        assert_eq!(path_text(&path), "edits[0][12].x_m");
        for bad in ["", ".a", "a.", "a[", "a[x]", "[0]", "a[0]b", "a..b"] {
            assert!(parse_path(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn values_are_toml_or_text() {
        let read = |text: &str| parse_value(text, At::Samples).unwrap().to_toml();
        assert_eq!(read("3"), toml::Value::Integer(3));
        assert_eq!(read("1e3"), toml::Value::Float(1000.0));
        assert_eq!(read("true"), toml::Value::Boolean(true));
        assert_eq!(read("\"3\""), toml::Value::String(String::from("3")));
        assert_eq!(read("mask.steep"), toml::Value::String(String::from("mask.steep")));
        assert_eq!(read("[1, 2"), toml::Value::String(String::from("[1, 2")));
        assert_eq!(read(""), toml::Value::String(String::new()));
        assert_eq!(read("{ x = [1] }").to_string(), "{ x = [1] }");
    }

    #[test]
    fn a_change_has_one_form() {
        let set = Set::parse("rain.shape.x = 1=2").unwrap();
        assert_eq!((set.step.as_str(), set.path.as_str(), set.value.as_str()), ("rain", "shape.x", "1=2"));
        assert_eq!(
            Set::parse("rain=3").unwrap_err(),
            "\"rain=3\": expected STEP.PARAM=VALUE, as in rain.talus_deg=35"
        );
    }
}
