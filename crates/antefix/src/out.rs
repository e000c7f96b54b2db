//! Writing to standard output and standard error. A reader that has gone away, or a full disk, ends nothing: what
//! is left is not written.

use std::fmt::Arguments;
use std::io::Write;

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

/// Writes a line to standard output, as `println!` does, and does not mind a closed pipe.
macro_rules! say {
    () => { $crate::out::line(format_args!("")) };
    ($($text:tt)*) => { $crate::out::line(format_args!($($text)*)) };
}

/// Writes a line to standard error, as `eprintln!` does, and does not mind a closed pipe.
macro_rules! tell {
    ($($text:tt)*) => { $crate::out::error_line(format_args!($($text)*)) };
}

pub(crate) use {say, tell};
