//! Recipes: from TOML to steps that remember where they were written.
//!
//! A recipe is a stranger's file, so everything is bounded: bytes, steps, depth, keys and the number of faults reported.

use std::sync::Arc;

use orogen_core::param::Segment;
use orogen_core::{Crs, LayerName};
use toml::de::DeTable;

use crate::fault::{Fault, Faults, Place, hint, quoted};
use crate::node::{At, Data, Node, Reader, Table, locate, place, to_toml};

/// Bytes a recipe may have. The worst text of this size (a list of tiny tables) takes about 1 GB while it is parsed.
pub const MAX_BYTES: usize = 4 << 20;
/// Steps a recipe may have.
pub const MAX_STEPS: usize = 10_000;
/// Up to so many bytes every syntax fault is reported; beyond, the first (each costs memory while parsing).
const RECOVER_BYTES: usize = 256 << 10;

/// A recipe as written: its shape is right or noted wrong, its meaning is not yet checked (see [`Recipe::check`]).
#[derive(Clone, Debug)]
pub struct Recipe {
    name: String,
    text: Arc<str>,
    pub(crate) seed: String,
    pub(crate) frame: FrameSpec,
    pub(crate) place: orogen_core::Place,
    pub(crate) steps: Vec<StepSpec>,
    pub(crate) exports: Vec<Export>,
    /// Parameters that the caller set, as users wrote them.
    pub(crate) options: Vec<String>,
    pub(crate) samples_override: Option<usize>,
    /// Faults of shape, reported together with those of meaning.
    pub(crate) faults: Faults,
}

/// The frame as written.
#[derive(Clone, Debug)]
pub(crate) struct FrameSpec {
    pub size_m: [f64; 2],
    pub size_at: At,
    pub samples: [usize; 2],
    pub samples_at: At,
    pub origin_m: [f64; 2],
    pub origin_at: At,
    pub loops: bool,
}

/// A step as written.
#[derive(Clone, Debug)]
pub(crate) struct StepSpec {
    pub at: At,
    /// Empty when it has none.
    pub id: String,
    pub id_at: At,
    pub op: Option<(String, At)>,
    pub params: Table,
    pub from: Option<(String, At)>,
    pub with: Option<(String, At)>,
    pub mask: Option<(LayerName, At)>,
    pub enabled: bool,
}

/// What to write, as the recipe says it. The engine writes nothing: the writer checks the options.
#[derive(Clone, Debug)]
pub struct Export {
    /// Which kind of file.
    pub kind: String,
    /// All other keys.
    pub options: toml::Table,
    pub(crate) at: At,
    pub(crate) nodes: Table,
}

impl Recipe {
    /// Reads a recipe; `name` (usually its path) stands before every fault.
    ///
    /// # Errors
    /// When it is too large, not UTF-8 or not TOML. What is TOML but not a recipe is reported by [`Recipe::check`], so that
    /// all faults come at once.
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Self, Faults> {
        if bytes.len() > MAX_BYTES {
            // The reader of the file may have stopped just past the bound, so its size is not known.
            let message = format!("larger than {} MiB, the limit for a recipe", MAX_BYTES >> 20);
            return Err(Faults::one(name, Fault::new(Place::Whole, message)));
        }
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text),
            Err(error) => {
                let offset = error.valid_up_to();
                let valid = std::str::from_utf8(&bytes[..offset]).unwrap_or_default();
                let byte = bytes.get(offset).copied().unwrap_or_default();
                let message = format!(
                    "byte 0x{byte:02x} at offset {offset} is not valid UTF-8; save the recipe as UTF-8"
                );
                return Err(Faults::one(name, Fault::new(place(valid, offset), message)));
            }
        };
        let (root, faults) = read_toml(name, text)?;
        let mut recipe = Self {
            name: name.to_owned(),
            text: Arc::from(text),
            seed: String::from("orogen"),
            frame: FrameSpec {
                size_m: [8192.0; 2],
                size_at: At::Text(0),
                samples: [1025; 2],
                samples_at: At::Text(0),
                origin_m: [0.0; 2],
                origin_at: At::Text(0),
                loops: false,
            },
            place: orogen_core::Place::default(),
            steps: Vec::new(),
            exports: Vec::new(),
            options: Vec::new(),
            samples_override: None,
            faults,
        };
        recipe.read(root);
        Ok(recipe)
    }

    /// The name given to [`Recipe::parse`].
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The world seed.
    #[must_use]
    pub fn seed(&self) -> &str {
        &self.seed
    }

    /// The recipe's text, without a byte-order mark.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What to write.
    #[must_use]
    pub fn exports(&self) -> &[Export] {
        &self.exports
    }

    /// A fault of an export: the writer knows what is wrong, the recipe knows where.
    #[must_use]
    pub fn export_fault(&self, export: &Export, path: &[Segment], message: impl Into<String>) -> Fault {
        let at = locate(&export.nodes, path).unwrap_or(export.at);
        Fault::new(self.place(at), format!("export: {}", message.into()))
    }

    /// A fault of a step: the runner knows what is wrong, the recipe knows where.
    #[must_use]
    pub fn step_fault(&self, id: &str, message: impl Into<String>) -> Fault {
        let step = self.steps.iter().find(|step| step.id == id);
        let place = step.map_or(Place::Whole, |step| self.place(step.at));
        Fault { step: Some(id.to_owned()), ..Fault::new(place, message) }
    }

    pub(crate) fn place(&self, at: At) -> Place {
        match at {
            At::Text(offset) => place(&self.text, offset),
            At::Set(i) => Place::Set(self.options.get(i).cloned().unwrap_or_default()),
            At::Samples => Place::Samples,
        }
    }

    fn fault(&mut self, at: At, step: Option<&str>, message: impl Into<String>) {
        let step = step.filter(|id| !id.is_empty()).map(str::to_owned);
        let place = if self.faults.is_full() { Place::Whole } else { self.place(at) };
        self.faults.push(Fault { step, ..Fault::new(place, message) });
    }

    fn read(&mut self, mut root: Table) {
        // Where something could not be held, nothing is said about what is missing.
        let whole = self.faults.is_empty();
        if let Some(node) = root.remove("seed") {
            match node.data {
                Data::Text(text) => self.seed = text,
                Data::Integer(i) => self.seed = i.to_string(),
                _ => {
                    let found = node.found();
                    self.fault(
                        node.at,
                        None,
                        format!("seed: expected a string or a whole number, found {found}"),
                    );
                }
            }
        }
        if let Some(node) = root.remove("frame") {
            self.read_frame(node);
        }
        if let Some(node) = root.remove("place") {
            self.read_place(node);
        }
        match root.remove("step") {
            None if root.is_empty() && self.text.trim().is_empty() => {
                self.fault(At::Text(0), None, "the recipe is empty; it needs at least one [[step]]");
            }
            None if whole => {
                self.fault(At::Text(0), None, "the recipe has no [[step]]; it needs at least one");
            }
            None => {}
            Some(Node { at, data: Data::List(items) }) => {
                if items.len() > MAX_STEPS {
                    let message = format!("{} steps, more than the limit of {MAX_STEPS}", items.len());
                    self.fault(at, None, message);
                } else {
                    items.into_iter().for_each(|item| self.read_step(item));
                }
                if self.steps.is_empty() && self.faults.is_empty() {
                    self.fault(at, None, "the list of steps is empty; a recipe needs at least one [[step]]");
                }
            }
            Some(Node { at, data: Data::Table(_) }) => {
                self.fault(at, None, "steps form a list: write [[step]], not [step]");
            }
            Some(node) => {
                let found = node.found();
                self.fault(node.at, None, format!("step: expected [[step]] tables, found {found}"));
            }
        }
        match root.remove("export") {
            None => {}
            Some(Node { data: Data::List(items), .. }) => {
                items.into_iter().for_each(|item| self.read_export(item));
            }
            Some(Node { at, data: Data::Table(_) }) => {
                self.fault(at, None, "exports form a list: write [[export]], not [export]");
            }
            Some(node) => {
                let found = node.found();
                self.fault(node.at, None, format!("export: expected [[export]] tables, found {found}"));
            }
        }
        self.refuse_rest(root, None, "key", &["seed", "frame", "place", "step", "export"], "");
    }

    /// Faults for keys nobody read.
    fn refuse_rest(&mut self, rest: Table, step: Option<&str>, what: &str, known: &[&str], more: &str) {
        for (key, node) in rest {
            if self.faults.is_full() {
                self.faults.more += 1;
                continue;
            }
            let hint = hint(&key, known.iter().copied());
            let more = if hint.starts_with("did") { "" } else { more };
            self.fault(node.at, step, format!("no such {what} {}; {hint}{more}", quoted(&key)));
        }
    }

    fn read_frame(&mut self, node: Node) {
        let at = node.at;
        let Data::Table(mut table) = node.data else {
            let found = node.found();
            return self.fault(
                at,
                None,
                format!("frame: expected a table such as {{ size_m = 8192, samples = 1025 }}, found {found}"),
            );
        };
        self.frame.size_at = at;
        self.frame.samples_at = at;
        self.frame.origin_at = at;
        if let Some(node) = table.remove("size_m") {
            self.frame.size_at = node.at;
            match pair(&node, number, true) {
                Some(size_m) => self.frame.size_m = size_m,
                None => self.wrong(&node, "frame.size_m", "a number in metres or a list of two"),
            }
        }
        if let Some(node) = table.remove("samples") {
            self.frame.samples_at = node.at;
            match pair(&node, whole, true) {
                Some(samples) => self.frame.samples = samples,
                None => self.wrong(&node, "frame.samples", "a whole number of at least 2 or a list of two"),
            }
        }
        if let Some(node) = table.remove("origin_m") {
            self.frame.origin_at = node.at;
            match pair(&node, number, false) {
                Some(origin_m) => self.frame.origin_m = origin_m,
                None => self.wrong(&node, "frame.origin_m", "a list of two numbers in metres"),
            }
        }
        if let Some(node) = table.remove("loops") {
            match node.data {
                Data::Flag(loops) => self.frame.loops = loops,
                _ => self.wrong(&node, "frame.loops", "true or false"),
            }
        }
        self.refuse_rest(table, None, "frame key", &["size_m", "samples", "origin_m", "loops"], "");
    }

    fn read_place(&mut self, node: Node) {
        let at = node.at;
        let Data::Table(mut table) = node.data else {
            let found = node.found();
            let message = format!(
                "place: expected a table such as {{ latitude_deg = 46.5, longitude_deg = 8.0 }}, found {found}"
            );
            return self.fault(at, None, message);
        };
        self.place.latitude_deg = self.degrees(&mut table, "latitude_deg", 90.0);
        self.place.longitude_deg = self.degrees(&mut table, "longitude_deg", 180.0);
        self.place.north_deg = self.degrees(&mut table, "north_deg", 180.0);
        if let Some(node) = table.remove("crs") {
            match epsg(&node) {
                Some(epsg) => self.place.crs = Some(Crs { epsg, offset_m: [0.0; 2] }),
                None => self.wrong(
                    &node,
                    "place.crs",
                    "a projected coordinate system in metres by its number in the register of EPSG, such as \"EPSG:32633\"",
                ),
            }
        }
        self.refuse_rest(
            table,
            None,
            "place key",
            &["latitude_deg", "longitude_deg", "crs", "north_deg"],
            "",
        );
    }

    /// An angle of the place, up to so many degrees to either side.
    fn degrees(&mut self, table: &mut Table, key: &str, most: f64) -> Option<f64> {
        let node = table.remove(key)?;
        match number(&node) {
            Some(value) if (-most..=most).contains(&value) => return Some(value),
            Some(value) => {
                self.fault(node.at, None, format!("place.{key}: {value} is outside -{most} to {most}"))
            }
            None => self.wrong(&node, &format!("place.{key}"), "a number in degrees"),
        }
        None
    }

    fn wrong(&mut self, node: &Node, key: &str, wanted: &str) {
        let found = match &node.data {
            Data::List(items) if items.len() == 2 => {
                format!("[{}, {}]", items[0].found(), items[1].found())
            }
            _ => node.found(),
        };
        self.fault(node.at, None, format!("{key}: expected {wanted}, found {found}"));
    }

    fn read_step(&mut self, node: Node) {
        let at = node.at;
        let Data::Table(mut table) = node.data else {
            let found = node.found();
            return self.fault(at, None, format!("step: expected a table with id and op, found {found}"));
        };
        let (id, id_at) = match table.remove("id") {
            Some(Node { at, data: Data::Text(id) }) => {
                if !is_id(&id) {
                    let message = format!(
                        "id: {} is not a valid id; use 1 to 64 letters a-z and A-Z, digits, _ and -",
                        quoted(&id)
                    );
                    self.fault(at, None, message);
                }
                (id, at)
            }
            Some(node) => {
                let found = node.found();
                self.fault(node.at, None, format!("id: expected a string, found {found}"));
                (String::new(), node.at)
            }
            None => {
                let proposal = match table.get("op").map(|node| &node.data) {
                    Some(Data::Text(op)) => {
                        op.rsplit('.').next().filter(|word| is_id(word)).unwrap_or("step")
                    }
                    _ => "step",
                };
                let message = format!("the step has no id; give it one, for example id = {proposal:?}");
                self.fault(at, None, message);
                (String::new(), at)
            }
        };
        if !table.contains_key("op") {
            self.fault(
                at,
                Some(&id),
                "the step has no op; name its operator, for example op = \"source.island\"",
            );
        }
        let op = self.text_of(&mut table, "op", &id);
        let params = match table.remove("params") {
            None => Table::new(),
            Some(Node { data: Data::Table(params), .. }) => params,
            Some(node) => {
                let found = node.found();
                self.fault(node.at, Some(&id), format!("params: expected a table, found {found}"));
                Table::new()
            }
        };
        let from = self.text_of(&mut table, "from", &id);
        let with = self.text_of(&mut table, "with", &id);
        let mask = self.text_of(&mut table, "mask", &id).and_then(|(name, at)| match LayerName::parse(&name) {
            Some(name) => Some((name, at)),
            None => {
                let message = format!(
                    "mask: {} is not a valid layer name; use words of a-z, 0-9 and _ joined by dots, as in \"mask.steep\"",
                    quoted(&name)
                );
                self.fault(at, Some(&id), message);
                None
            }
        });
        let enabled = match table.remove("enabled") {
            None => true,
            Some(Node { data: Data::Flag(enabled), .. }) => enabled,
            Some(node) => {
                let found = node.found();
                self.fault(node.at, Some(&id), format!("enabled: expected true or false, found {found}"));
                true
            }
        };
        self.refuse_rest(
            table,
            Some(&id),
            "key",
            &["id", "op", "params", "from", "with", "mask", "enabled"],
            "; put the operator's parameters into params",
        );
        self.steps.push(StepSpec { at, id, id_at, op, params, from, with, mask, enabled });
    }

    /// A key that holds a text.
    fn text_of(&mut self, table: &mut Table, key: &str, id: &str) -> Option<(String, At)> {
        match table.remove(key)? {
            Node { at, data: Data::Text(text) } => Some((text, at)),
            node => {
                let found = node.found();
                self.fault(node.at, Some(id), format!("{key}: expected a string, found {found}"));
                None
            }
        }
    }

    fn read_export(&mut self, node: Node) {
        let at = node.at;
        let Data::Table(mut nodes) = node.data else {
            let found = node.found();
            return self.fault(at, None, format!("export: expected a table with a kind, found {found}"));
        };
        match nodes.remove("kind") {
            Some(Node { data: Data::Text(kind), at }) => {
                let options = to_toml(&nodes);
                self.exports.push(Export { kind, options, at, nodes });
            }
            Some(node) => {
                let found = node.found();
                self.fault(node.at, None, format!("export: kind: expected a string, found {found}"));
            }
            None => {
                self.fault(at, None, "export: the kind is missing; add one, for example kind = \"geotiff\"")
            }
        }
    }
}

/// The document, and what in it cannot be held.
///
/// The TOML parser bounds brackets inside each other and parts of a key, but not their product, and dropping what
/// it made descends as deep: several thousand levels, more than the stack of a usual thread holds. What leaves here
/// is shallow.
fn read_toml(name: &str, text: &str) -> Result<(Table, Faults), Faults> {
    const STACK_BYTES: usize = 64 << 20;
    let read = || {
        let mut faults = Faults::new(name);
        let root = parse_toml(text, &mut faults);
        faults.into_result()?;
        let mut faults = Faults::new(name);
        let root = Reader { text, faults: &mut faults }.table(root, 0, 0);
        Ok((root, faults))
    };
    // Without threads the program must have been linked with a stack as large as that.
    if cfg!(not(feature = "native")) {
        return read();
    }
    let result = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, read).ok()?;
        thread.join().ok()
    });
    result.unwrap_or_else(|| {
        let message = String::from("could not start a thread to read the recipe");
        Err(Faults::one(name, Fault::new(Place::Whole, message)))
    })
}

/// The document; faults of syntax are noted, the first of each line.
fn parse_toml<'t>(text: &'t str, faults: &mut Faults) -> DeTable<'t> {
    let (root, errors) = if text.len() <= RECOVER_BYTES {
        let (root, errors) = DeTable::parse_recoverable(text);
        (root.into_inner(), errors)
    } else {
        match DeTable::parse(text) {
            Ok(root) => (root.into_inner(), Vec::new()),
            Err(error) => (DeTable::new(), vec![error]),
        }
    };
    let mut lines = Vec::new();
    for error in errors {
        if faults.is_full() {
            faults.more += 1;
            continue;
        }
        let place = error.span().map_or(Place::Whole, |span| place(text, span.start));
        let line = match &place {
            Place::Text { line, .. } => *line,
            _ => 0,
        };
        if !lines.contains(&line) {
            lines.push(line);
            let message = match error.message() {
                "recursion limit" => "a key has too many parts joined by dots",
                other => other,
            };
            faults.push(Fault::new(place, format!("not valid TOML: {message}")));
        }
    }
    root
}

fn number(node: &Node) -> Option<f64> {
    match node.data {
        Data::Integer(i) => Some(i as f64),
        Data::Float(x) => Some(x),
        _ => None,
    }
}

/// The number of a coordinate system, as text or as a number. 4000 to 4999 are those in degrees and in metres from the middle
/// of the Earth.
fn epsg(node: &Node) -> Option<u16> {
    let number = match &node.data {
        Data::Integer(number) => u16::try_from(*number).ok()?,
        Data::Text(text) => {
            let digits = text
                .get(..5)
                .filter(|prefix| prefix.eq_ignore_ascii_case("epsg:"))
                .map_or(&text[..], |_| &text[5..]);
            digits.trim().parse().ok()?
        }
        _ => return None,
    };
    (Crs::EPSG.contains(&number) && !(4000..5000).contains(&number)).then_some(number)
}

fn whole(node: &Node) -> Option<usize> {
    match node.data {
        Data::Integer(i) => usize::try_from(i).ok().filter(|n| *n >= 2),
        _ => None,
    }
}

/// A list of two, or one value for both if that is allowed.
fn pair<T: Copy>(node: &Node, read: impl Fn(&Node) -> Option<T>, single: bool) -> Option<[T; 2]> {
    match &node.data {
        Data::List(items) => match items.as_slice() {
            [x, y] => Some([read(x)?, read(y)?]),
            _ => None,
        },
        _ if single => read(node).map(|value| [value; 2]),
        _ => None,
    }
}

/// Whether a text may name a step.
pub(crate) fn is_id(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}
