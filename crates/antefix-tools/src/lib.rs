//! The tools of a coding agent: read, grep, edit, shell.
