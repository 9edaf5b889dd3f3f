//! The line that says how far a step is, as long as the terminal has room for it.

use std::time::Duration;

/// Columns of the longest line.
const LONGEST: usize = 80;
/// Columns of the bar.
const BAR: usize = 12;

/// The line for a terminal of so many columns. A fifth of them stays free: terminals fold a line when they become
/// narrower than it, and what they folded cannot be taken back.
pub fn line(name: &str, share: f32, left: Duration, columns: usize) -> String {
    let room = (columns * 4 / 5).min(LONGEST);
    let percent = format!("{:>3.0} %", share.clamp(0.0, 1.0) * 100.0);
    let left = format!("{:>7} left", time(left));
    let bar = bar(share);
    let forms = [vec![&bar, &percent, &left], vec![&percent, &left], vec![&percent]];
    // As much as fits beside a name that still differs from others; the percent alone otherwise.
    const LEAST_NAME: usize = 24;
    for form in forms {
        let tail: String = form.iter().map(|part| format!("  {part}")).collect();
        if let Some(for_name) = room.checked_sub(tail.chars().count())
            && (for_name >= LEAST_NAME || form.len() == 1)
        {
            return format!("{:<for_name$}{tail}", cut(name, for_name));
        }
    }
    cut(percent.trim_start(), room)
}

/// At most so many characters of a text, with dots where some are missing.
fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let dots = if most >= 8 { ".." } else { "" };
    text.chars().take(most - dots.len()).chain(dots.chars()).collect()
}

fn bar(share: f32) -> String {
    let done = (f64::from(share.clamp(0.0, 1.0)) * BAR as f64) as usize;
    let head = if done < BAR { ">" } else { "" };
    format!("{:<BAR$}", format!("{}{head}", "=".repeat(done)))
}

fn time(left: Duration) -> String {
    match left.as_secs() {
        s @ 0..100 => format!("{s} s"),
        s @ 100..6000 => format!("{} min", s.div_ceil(60)),
        s => format!("{} h", s.div_ceil(3600).min(999)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_leaves_room_in_every_terminal() {
        let name = "[3/8] rivers (erode.stream_power)";
        for columns in 0..300 {
            for share in [0.0, 0.5, 1.0] {
                let text = line(name, share, Duration::from_secs(12), columns);
                assert!(text.chars().count() <= columns * 4 / 5, "{columns}: {text:?}");
                assert!(!text.contains('\n'));
            }
        }
    }

    #[test]
    fn a_wide_terminal_shows_everything_and_a_narrow_one_the_percent() {
        let shown =
            |columns| line("[3/8] rivers (erode.stream_power)", 0.5, Duration::from_secs(12), columns);
        assert_eq!(
            shown(120),
            "[3/8] rivers (erode.stream_power)              ======>        50 %     12 s left"
        );
        assert_eq!(shown(80), "[3/8] rivers (erode.stream_..  ======>        50 %     12 s left");
        assert_eq!(shown(60), "[3/8] rivers (erode.strea..   50 %     12 s left");
        assert_eq!(shown(30), "[3/8] rivers (e..   50 %");
        assert_eq!(shown(8), "50 %");
        assert_eq!(shown(0), "");
    }
}
