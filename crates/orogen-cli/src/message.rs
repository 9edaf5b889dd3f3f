//! Sentences for people, cut at what fits a screen.

use orogen::BuildError;

/// Lines of a message.
const MOST_LINES: usize = 24;
/// Letters of a line.
const LONGEST_LINE: usize = 400;

/// What to say about an error.
pub fn of(error: &anyhow::Error) -> String {
    match error.downcast_ref::<BuildError>() {
        // There are more than are listed; the number says how many.
        Some(BuildError::Recipe(faults)) if faults.list.len() > MOST_LINES => {
            let lines: Vec<String> = faults.list.iter().map(|fault| fault.text(&faults.recipe)).collect();
            let shown = cut(&lines[..MOST_LINES - 1].join("\n"));
            let more = lines.len() - (MOST_LINES - 1) + faults.more;
            format!("{shown}\n{}: and {more} more", faults.recipe)
        }
        Some(error) => cut(&error.to_string()),
        None => cut(&format!("{error:#}")),
    }
}

/// A text with its first lines and the first letters of each.
pub fn cut(text: &str) -> String {
    let mut lines: Vec<String> = text.lines().take(MOST_LINES).map(cut_line).collect();
    let more = text.lines().count() - lines.len();
    if more > 0 {
        lines.push(format!("... and {more} more lines"));
    }
    lines.join("\n")
}

fn cut_line(line: &str) -> String {
    match line.char_indices().nth(LONGEST_LINE) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.to_owned(),
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
        let many = cut(&"line\n".repeat(1_000_000));
        assert_eq!(many.lines().count(), MOST_LINES + 1);
        assert!(many.ends_with("... and 999976 more lines"), "{many}");
    }
}
