//! Writing to standard output and standard error. A reader that has gone away, or a full disk, ends nothing: what
//! is left is not written.

use std::fmt::Arguments;
use std::io::Write;
use std::os::fd::AsFd;

use crate::table::wrapped;

/// How many columns of text the terminal has that standard output goes to; `None` where it goes elsewhere.
pub fn width() -> Option<usize> {
    columns(std::io::stdout())
}

fn columns(out: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(out).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Writes a text in lines that are broken between words where a terminal is narrower than it.
pub fn paragraph(text: &str) {
    for text in wrapped(text, width().unwrap_or(usize::MAX)) {
        line(format_args!("{text}"));
    }
}

/// Writes a line.
pub fn line(text: Arguments<'_>) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_fmt(text).and_then(|()| out.write_all(b"\n"));
}

/// Writes a line to standard error.
pub fn error_line(text: Arguments<'_>) {
    let mut out = std::io::stderr().lock();
    let _ = out.write_fmt(text).and_then(|()| out.write_all(b"\n"));
}

/// Writes a text to standard error in lines that are broken between words where a terminal is narrower than it.
pub fn error_paragraph(text: &str) {
    for text in wrapped(text, columns(std::io::stderr()).unwrap_or(usize::MAX)) {
        error_line(format_args!("{text}"));
    }
}

/// Writes a line to standard output, as `println!` does, and does not mind a closed pipe.
macro_rules! say {
    () => { $crate::out::line(format_args!("")) };
    ($($text:tt)*) => { $crate::out::line(format_args!($($text)*)) };
}

/// Writes a sentence to standard output, in lines that are broken between words where a terminal is narrower.
macro_rules! prose {
    ($($text:tt)*) => { $crate::out::paragraph(&format!($($text)*)) };
}

/// Writes a line to standard error, as `eprintln!` does, and does not mind a closed pipe.
macro_rules! tell {
    ($($text:tt)*) => { $crate::out::error_line(format_args!($($text)*)) };
}

/// Writes a remark on a report to standard error, in lines that are broken between words.
macro_rules! remark {
    ($($text:tt)*) => { $crate::out::error_paragraph(&format!($($text)*)) };
}

pub(crate) use {prose, remark, say, tell};
