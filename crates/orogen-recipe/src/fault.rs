//! What is wrong with a recipe, and where.

use std::fmt;

/// Where a fault lies, in the order in which faults are listed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The recipe as a whole.
    Whole,
    /// In its text; both count from 1, columns in letters.
    Text {
        /// Line.
        line: usize,
        /// Column.
        column: usize,
    },
    /// A parameter that the caller set over the recipe, as the user wrote it (`rain.talus_deg`).
    Set(String),
    /// The number of samples that the caller set over the recipe.
    Samples,
}

/// Faults that a caller may offer more help for than the message does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultKind {
    /// The operator does not exist.
    UnknownOperator,
    /// The build would need more memory than [`Limits`](crate::Limits) allow.
    Memory,
    /// Anything else.
    #[default]
    Other,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// Where.
    pub place: Place,
    /// In which step, if in one.
    pub step: Option<String>,
    /// Of which parameter, if of one: the path to it (`points[2].z_m`). The message says it too.
    pub parameter: Option<String>,
    /// What is wrong and what would be right.
    pub message: String,
    /// What sort of fault it is.
    pub kind: FaultKind,
}

impl Fault {
    /// A fault at a place, of no step and no parameter.
    #[must_use]
    pub fn new(place: Place, message: impl Into<String>) -> Self {
        Self { place, step: None, parameter: None, message: message.into(), kind: FaultKind::Other }
    }

    /// The line users read: `island.toml:12:9: step "rain": talus_deg: 90 is outside 1 to 80 deg`.
    #[must_use]
    pub fn text(&self, recipe: &str) -> String {
        let step = self.step.as_ref().map_or(String::new(), |id| format!("step {}: ", quoted(id)));
        match &self.place {
            Place::Whole => format!("{recipe}: {step}{}", self.message),
            Place::Text { line, column } => format!("{recipe}:{line}:{column}: {step}{}", self.message),
            Place::Set(path) => format!("set {path}: {}", self.message),
            Place::Samples => format!("samples: {}", self.message),
        }
    }
}

/// Everything that is wrong with a recipe, by place. Never empty when returned as an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults {
    /// The recipe's name.
    pub recipe: String,
    /// The first faults, sorted by place.
    pub list: Vec<Fault>,
    /// How many more there are beyond the list.
    pub more: usize,
}

/// Faults listed before the rest is only counted: nobody reads the sentences of a million.
const MOST: usize = 100;
/// Letters of one message.
const LONGEST: usize = 600;

impl Faults {
    /// No faults yet.
    #[must_use]
    pub fn new(recipe: &str) -> Self {
        Self { recipe: recipe.to_owned(), list: Vec::new(), more: 0 }
    }

    /// A single fault.
    #[must_use]
    pub fn one(recipe: &str, fault: Fault) -> Self {
        let mut faults = Self::new(recipe);
        faults.push(fault);
        faults
    }

    /// Adds one.
    pub fn push(&mut self, mut fault: Fault) {
        if self.list.len() >= MOST {
            self.more += 1;
            return;
        }
        fault.message = shortened(fault.message);
        self.list.push(fault);
    }

    /// What a check gave; where it found faults, they are added and it gave nothing.
    pub fn note<T>(&mut self, result: Result<T, Self>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(found) => {
                self.extend(found);
                None
            }
        }
    }

    /// Adds all of another list, each at its place.
    pub fn extend(&mut self, other: Self) {
        self.more += other.more;
        other.list.into_iter().for_each(|fault| self.push(fault));
        self.list.sort();
    }

    /// Whether further faults would be counted only, so that their sentences need not be made.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.list.len() >= MOST
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// `Ok` when there are none, else the faults in order.
    ///
    /// # Errors
    /// The faults themselves.
    pub fn into_result(mut self) -> Result<(), Self> {
        if self.list.is_empty() {
            return Ok(());
        }
        self.list.sort();
        self.list.dedup();
        Err(self)
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, fault) in self.list.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            f.write_str(&fault.text(&self.recipe))?;
        }
        if self.more > 0 {
            write!(f, "\n{}: and {} more", self.recipe, self.more)?;
        }
        Ok(())
    }
}

impl std::error::Error for Faults {}

/// A message of at most so many letters as people read, cut after a whole word if it has any.
fn shortened(message: String) -> String {
    let Some((end, _)) = message.char_indices().nth(LONGEST) else { return message };
    // The longest beginning that leaves room for the dots.
    let start = message.char_indices().nth(LONGEST - 4).map_or(end, |(at, _)| at);
    let head = &message[..start];
    let words = head.rfind(' ').map_or(head, |at| &head[..at]);
    // A word as long as the message itself is cut inside.
    let kept = if words.len() * 2 > head.len() { words } else { head };
    format!("{} ...", kept.trim_end_matches([' ', ',', ';', ':']))
}

/// A name from outside in quotes, cut when it is long.
pub(crate) fn quoted(name: &str) -> String {
    if name.chars().count() > 60 {
        format!("{:?}...", name.chars().take(57).collect::<String>())
    } else {
        format!("{name:?}")
    }
}

/// What to say about a name that does not exist, given those that do.
pub(crate) fn hint<'a>(wrong: &str, names: impl Iterator<Item = &'a str> + Clone) -> String {
    match orogen_core::param::nearest(wrong, names.clone()) {
        Some(name) => format!("did you mean {name:?}?"),
        None => listed(names),
    }
}

/// Names that a sentence lists.
pub(crate) const LISTED: usize = 20;

/// `available: a, b, c`, cut when there are many.
pub(crate) fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut names = names.peekable();
    if names.peek().is_none() {
        return String::from("none are available");
    }
    let shown: Vec<&str> = names.by_ref().take(LISTED).collect();
    let rest = if names.peek().is_some() { ", ..." } else { "" };
    format!("available: {}{rest}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_messages_are_cut_between_words() {
        assert_eq!(shortened(String::from("short")), "short");
        let list: Vec<String> = (0..200).map(|i| format!("parameter_{i}")).collect();
        let cut = shortened(format!("no such parameter; available: {}", list.join(", ")));
        assert!(cut.chars().count() <= LONGEST, "{cut}");
        let last = cut.strip_suffix(" ...").unwrap().rsplit(' ').next().unwrap();
        assert!(list.iter().any(|name| name == last), "{cut}");
        let one = shortened("é".repeat(5000));
        assert!(one.chars().count() <= LONGEST && one.ends_with("é ..."), "{one}");
    }
}
