//! Turns of phrase that readers stumble over, kept out of messages, comments and the manual; and options of the command
//! line, kept out of the libraries.
//!
//! Everything a person can read is searched: sources, recipes, pages. Generated pages and stubs follow from the sources:
//! fix those, then run `cargo xtask docs`.

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
    turn("who finds", "\"if ...\""),
    turn("whoever", "name the reader, the caller or the user"),
    turn("stands there", "\"is listed\""),
    turn("made-up", "\"generated\", or \"test\""),
    turn("made up", "\"generated\", or \"test\""),
    turn("at hand", "\"available\""),
];

/// Crates whose messages must suit any caller, so that they name no option of the command line.
const LIBRARIES: &[&str] =
    &["orogen-core", "orogen-ops", "orogen-recipe", "orogen-io", "orogen-texture", "orogen"];

/// Options of other programs that libraries may name: those of cargo and its test harness.
const OPTIONS_OF_OTHERS: &[&str] = &["exact", "release", "example"];

/// Fails with every place that uses one of the turns, or an option of the command line where none belongs.
pub fn check() -> Result<()> {
    let mut found = Vec::new();
    for root in ["bench", "crates", "docs/examples", "docs/src", "fuzz/fuzz_targets", "recipes", "xtask/src"]
    {
        for file in readable(Path::new(root))? {
            look(&file, &mut found)?;
        }
    }
    for file in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "fuzz/README.md"] {
        look(Path::new(file), &mut found)?;
    }
    if found.is_empty() {
        return Ok(());
    }
    bail!("{} phrases to reword (the list is in xtask/src/words.rs):\n{}", found.len(), found.join("\n"))
}

fn look(file: &Path, found: &mut Vec<String>) -> Result<()> {
    if file.ends_with("xtask/src/words.rs") {
        return Ok(());
    }
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let in_library =
        LIBRARIES.iter().any(|name| file.starts_with(Path::new("crates").join(name).join("src")));
    let lines: Vec<&str> = text.lines().collect();
    // A line that says "formerly" names an old spelling, which files of users still have.
    for (i, line) in lines.iter().enumerate().filter(|(_, line)| !line.contains("formerly")) {
        let previous = if i > 0 { lines[i - 1] } else { "" };
        let next = lines.get(i + 1).copied().unwrap_or("");
        let place = format!("{}:{}", file.display(), i + 1);
        for turn in TURNS.iter().filter(|turn| turn.is_in([previous, line, next])) {
            found.push(format!("{place}: {:?}; better: {}", turn.phrase, turn.better));
        }
        if in_library && let Some(option) = option_in(line) {
            found.push(format!(
                "{place}: \"--{option}\"; better: say it in words, and let orogen-cli name the option"
            ));
        }
    }
    Ok(())
}

impl Turn {
    /// Whether the turn begins in the second of three lines; sentences are wrapped, so it may end in the third, and the
    /// first may have the word that makes it fine.
    fn is_in(&self, lines: [&str; 3]) -> bool {
        let [previous, line, next] = lines.map(unmarked);
        let text = format!("{previous} {line} {next}").to_ascii_lowercase();
        let here = previous.len() + 1..previous.len() + 1 + line.len();
        text.match_indices(self.phrase).any(|(at, _)| {
            let (before, after) = (&text[..at], &text[at + self.phrase.len()..]);
            let part_of_a_word = |c: char| c.is_alphanumeric() || c == '_';
            here.contains(&at)
                && !before.ends_with(part_of_a_word)
                && !after.starts_with(part_of_a_word)
                && !last_word(before).is_some_and(|word| self.fine_after.contains(&word))
                && !first_word(after).is_some_and(|word| self.fine_before.contains(&word))
        })
    }
}

/// A line without its indent, the mark of a comment and that of a string that goes on.
fn unmarked(line: &str) -> &str {
    let line = line.trim().trim_end_matches('\\').trim_end();
    ["///", "//!", "//", "#"].iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line).trim_start()
}

/// The first option of the command line in a line: two dashes and a word.
fn option_in(line: &str) -> Option<&str> {
    line.match_indices("--").find_map(|(at, dashes)| {
        let starts = line[..at].chars().next_back().is_none_or(|c| c.is_whitespace() || "\"'`([".contains(c));
        let after = &line[at + dashes.len()..];
        let end = after.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(after.len());
        let name = &after[..end];
        let counts = starts && name.starts_with(|c: char| c.is_ascii_lowercase());
        (counts && !OPTIONS_OF_OTHERS.contains(&name)).then_some(name)
    })
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

    fn found(text: &str) -> Vec<&'static str> {
        let lines: Vec<&str> = text.lines().collect();
        let line = |i: usize| lines.get(i).copied().unwrap_or("");
        let turns = |i: usize| {
            let three = [if i > 0 { line(i - 1) } else { "" }, line(i), line(i + 1)];
            TURNS.iter().filter(move |turn| turn.is_in(three)).map(|turn| turn.phrase)
        };
        (0..lines.len()).flat_map(turns).collect()
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

    #[test]
    fn wrapped_sentences_are_read_on() {
        assert_eq!(found("    /// this value is\n    /// no number at all"), ["is no"]);
        assert_eq!(found("    /// this step is no\n    /// larger than others"), Vec::<&str>::new());
        assert_eq!(found("// where there\n// is no such thing"), Vec::<&str>::new());
    }

    #[test]
    fn options_of_the_command_line_are_found() {
        assert_eq!(option_in("raise the limit with --memory"), Some("memory"));
        assert_eq!(option_in("format!(\"--max-samples {n}\")"), Some("max-samples"));
        assert_eq!(option_in("cargo run --release"), None);
        assert_eq!(option_in("<!--x--> a --> b, i -- j"), None);
    }
}
