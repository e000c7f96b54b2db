//! Writing to standard output. A reader that has gone away ends nothing: what is left is not written.

use std::fmt::Arguments;
use std::io::Write;

/// Writes a line.
pub fn line(text: Arguments<'_>) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_fmt(text).and_then(|()| out.write_all(b"\n"));
}

/// Writes a line to standard output, as `println!` does, and does not mind a closed pipe.
macro_rules! say {
    () => { $crate::out::line(format_args!("")) };
    ($($text:tt)*) => { $crate::out::line(format_args!($($text)*)) };
}

pub(crate) use say;
