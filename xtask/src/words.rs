//! Turns of phrase that readers stumble over, kept out of messages, doc comments and the manual.
//!
//! Everything a person can read is searched: sources of the crates, recipes, hand-written pages. The generated pages
//! follow from the sources.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// A turn of phrase, what to write instead, and words that make it fine when they come right before or after it.
struct Turn {
    phrase: &'static str,
    better: &'static str,
    fine_after: &'static [&'static str],
    fine_before: &'static [&'static str],
}

const fn turn(phrase: &'static str, better: &'static str) -> Turn {
    Turn { phrase, better, fine_after: &[], fine_before: &[] }
}

/// "no larger than" is plain English; "is no number" is not.
const MEASURES: &[&str] = &[
    "longer",
    "more",
    "less",
    "larger",
    "smaller",
    "higher",
    "lower",
    "steeper",
    "gentler",
    "wider",
    "narrower",
    "deeper",
    "further",
    "farther",
    "finer",
    "coarser",
    "sharper",
    "harder",
    "softer",
    "greater",
    "better",
    "worse",
    "faster",
    "slower",
    "nearer",
    "closer",
    "older",
    "newer",
    "different",
    "earlier",
    "later",
    "need",
    "other",
];

const TURNS: &[Turn] = &[
    turn("allowed is", "\"90 is outside 1 to 80\", or \"must be ...\""),
    turn("allowed are", "\"must be ...\""),
    Turn {
        phrase: "is no",
        better: "\"is not a ...\"",
        fine_after: &["there", "where"],
        fine_before: MEASURES,
    },
    Turn {
        phrase: "are no",
        better: "\"are not ...\"",
        fine_after: &["there", "where"],
        fine_before: MEASURES,
    },
    turn("has not the", "\"does not match the ...\""),
    turn("have not the", "\"do not match the ...\""),
    turn("unless told", "\"by default\""),
    turn("told", "\"reported\", \"given\", or name what was said"),
    turn("luck", "\"seed\""),
    turn("lucks", "\"seeds\""),
    turn("oddly", "say what is wrong"),
    turn("who asks", "\"callers that ...\""),
    turn("whoever", "name the reader, the caller or the user"),
    turn("stands there", "\"is listed\""),
    turn("made-up", "\"generated\", or \"test\""),
    turn("made up", "\"generated\", or \"test\""),
    turn("at hand", "\"available\""),
];

/// Fails with every place that uses one of the turns.
pub fn check() -> Result<()> {
    let mut found = Vec::new();
    for root in ["crates", "docs/src", "recipes", "xtask/src"] {
        for file in readable(Path::new(root))? {
            look(&file, &mut found)?;
        }
    }
    for file in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"] {
        look(Path::new(file), &mut found)?;
    }
    if found.is_empty() {
        return Ok(());
    }
    bail!("{} odd turns of phrase (the list is xtask/src/words.rs):\n{}", found.len(), found.join("\n"))
}

fn look(file: &Path, found: &mut Vec<String>) -> Result<()> {
    if file.ends_with("xtask/src/words.rs") {
        return Ok(());
    }
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    for (number, line) in text.lines().enumerate() {
        for turn in TURNS.iter().filter(|turn| turn.is_in(line)) {
            found.push(format!(
                "{}:{}: {:?}; better: {}",
                file.display(),
                number + 1,
                turn.phrase,
                turn.better
            ));
        }
    }
    Ok(())
}

impl Turn {
    fn is_in(&self, line: &str) -> bool {
        let line = line.to_ascii_lowercase();
        line.match_indices(self.phrase).any(|(at, _)| {
            let (before, after) = (&line[..at], &line[at + self.phrase.len()..]);
            let part_of_a_word = |c: char| c.is_alphanumeric() || c == '_';
            !before.ends_with(part_of_a_word)
                && !after.starts_with(part_of_a_word)
                && !last_word(before).is_some_and(|word| self.fine_after.contains(&word))
                && !first_word(after).is_some_and(|word| self.fine_before.contains(&word))
        })
    }
}

fn first_word(text: &str) -> Option<&str> {
    text.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty())
}

fn last_word(text: &str) -> Option<&str> {
    text.rsplit(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty())
}

/// All texts under a folder, sorted.
fn readable(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(readable(&path)?);
        } else if path
            .extension()
            .is_some_and(|e| ["rs", "md", "toml", "py", "pyi"].iter().any(|known| e == *known))
        {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> Vec<&'static str> {
        TURNS.iter().filter(|turn| turn.is_in(line)).map(|turn| turn.phrase).collect()
    }

    #[test]
    fn odd_turns_are_found_and_plain_english_is_left_alone() {
        assert_eq!(found("talus_deg: found 90, allowed is 1 to 80"), ["allowed is"]);
        assert_eq!(found("\"x\" is no number"), ["is no"]);
        assert_eq!(found("There is no layer \"slope\""), Vec::<&str>::new());
        assert_eq!(found("the step is no larger than others"), Vec::<&str>::new());
        assert_eq!(found("this north is not that"), Vec::<&str>::new());
        assert_eq!(found("the raster has not the shape of the frame"), ["has not the"]);
        assert_eq!(found("60 m unless told otherwise"), ["unless told", "told"]);
        assert_eq!(found("a plucky fellow"), Vec::<&str>::new());
    }
}
