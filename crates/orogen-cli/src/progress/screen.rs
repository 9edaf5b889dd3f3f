//! One line of a terminal that is drawn over and over.
//!
//! indicatif fills a line with spaces up to the edge, and counts the rows that it takes to move back up over them. After a
//! resize both are wrong: the terminal has folded what was full, and rows are counted that are not there. Here a line ends
//! where its text ends, is cut at the edge, and the cursor never leaves its row.

use std::io;

use console::Term;
use indicatif::TermLike;

/// The last row of the terminal behind standard error.
#[derive(Debug)]
pub struct Screen {
    term: Term,
}

impl Screen {
    pub fn new() -> Self {
        Self { term: Term::buffered_stderr() }
    }

    /// Columns of the terminal as it is now.
    pub fn columns() -> usize {
        usize::from(Term::stderr().size().1)
    }
}

impl TermLike for Screen {
    fn width(&self) -> u16 {
        self.term.size().1
    }

    fn height(&self) -> u16 {
        self.term.size().0
    }

    fn move_cursor_up(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_down(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.term.move_cursor_right(n)
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.term.move_cursor_left(n)
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.term.write_line(text)
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        // Spaces alone would fill the row.
        if text.trim_matches(' ').is_empty() {
            return Ok(());
        }
        let most = usize::from(self.width()).saturating_sub(1);
        let shown: String = text.trim_end_matches(' ').chars().take(most).collect();
        self.term.write_str(&shown)?;
        // What an earlier, longer line left.
        if shown == "\r" { Ok(()) } else { self.term.write_str("\x1b[K") }
    }

    fn clear_line(&self) -> io::Result<()> {
        self.term.clear_line()
    }

    fn flush(&self) -> io::Result<()> {
        self.term.flush()
    }
}
