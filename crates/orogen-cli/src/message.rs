//! Sentences for people, cut at what fits a screen.

use orogen::BuildError;
use orogen::io::FolderError;
use orogen::recipe::{Fault, FaultKind, Faults, Place, PlanError};

/// Lines of a message.
const MOST_LINES: usize = 24;
/// Characters of a line.
const LONGEST_LINE: usize = 400;

/// What to say about an error.
pub fn of(error: &anyhow::Error) -> String {
    let Some(error) = error.downcast_ref::<BuildError>() else { return cut(&format!("{error:#}")) };
    let mut text = match error {
        BuildError::Recipe(faults) => list(faults),
        error => cut(&error.to_string()),
    };
    for help in help(error) {
        text.push_str("\nhelp: ");
        text.push_str(help);
    }
    text
}

/// The option that set the value at a place, as users write it.
pub fn option(place: &Place) -> Option<String> {
    match place {
        Place::Set(path) => Some(format!("--set {path}")),
        Place::Samples => Some(String::from("--samples")),
        Place::Whole | Place::Text { .. } => None,
    }
}

/// The faults of a recipe, a line each; when there are too many, the last line says how many more.
fn list(faults: &Faults) -> String {
    let line = |fault: &Fault| match option(&fault.place) {
        Some(option) => format!("{option}: {}", fault.message),
        None => fault.text(&faults.recipe),
    };
    let shown = if faults.list.len() > MOST_LINES { MOST_LINES - 1 } else { faults.list.len() };
    let more = faults.list.len() - shown + faults.more;
    let lines: Vec<String> = faults.list[..shown].iter().map(line).collect();
    let mut text = cut(&lines.join("\n"));
    if more > 0 {
        text.push_str(&format!("\n{}: and {more} more", faults.recipe));
    }
    text
}

/// What the command line can do about an error. The library knows no options, so its sentences name none.
fn help(error: &BuildError) -> Vec<&'static str> {
    let has = |kind: FaultKind| match error {
        BuildError::Recipe(faults) => faults.list.iter().any(|fault| fault.kind == kind),
        BuildError::Plan(PlanError::Memory { .. }) => kind == FaultKind::Memory,
        _ => false,
    };
    let mut help = Vec::new();
    if has(FaultKind::UnknownOperator) {
        help.push("`orogen ops` lists all operators");
    }
    if has(FaultKind::Memory) {
        help.push("--memory SIZE allows more memory, --samples N takes fewer samples");
    }
    if matches!(error, BuildError::Folder(FolderError::InTheWay { .. })) {
        help.push("move them away, choose another folder with --out, or replace them with --force");
    }
    help
}

/// The first lines of a text, and the first characters of each.
pub fn cut(text: &str) -> String {
    let mut lines: Vec<String> = text.lines().take(MOST_LINES).map(cut_line).collect();
    let more = text.lines().count() - lines.len();
    if more > 0 {
        lines.push(format!("... and {more} more lines"));
    }
    lines.join("\n")
}

/// The beginning of a line, up to the last word that fits; a word longer than some are is cut as well.
fn cut_line(line: &str) -> String {
    const LONGEST_WORD: usize = 80;
    let Some((end, _)) = line.char_indices().nth(LONGEST_LINE) else { return line.to_owned() };
    let fits = &line[..end];
    match fits.rfind(' ') {
        Some(space) if fits[space..].chars().count() <= LONGEST_WORD => format!("{} ...", &fits[..space]),
        _ => format!("{fits}..."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_fits_a_screen() {
        assert_eq!(cut("one\ntwo"), "one\ntwo");
        let long = cut(&"é".repeat(100_000));
        assert_eq!(long.chars().count(), LONGEST_LINE + 3);
        let words = cut(&"peak_m, ".repeat(100));
        assert!(words.ends_with("peak_m, ..."), "{words}");
        assert!(words.chars().count() <= LONGEST_LINE + 4, "{words}");
        let many = cut(&"line\n".repeat(1_000_000));
        assert_eq!(many.lines().count(), MOST_LINES + 1);
        assert!(many.ends_with("... and 999976 more lines"), "{many}");
    }
}
