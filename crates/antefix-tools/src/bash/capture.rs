//! What a command prints: its start and its end in memory, all of it in a file once it is over the cap.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use memchr::memchr_iter;

/// What takes in a command's output as it comes.
pub(super) trait Take {
    /// Takes in the next bytes.
    fn push(&mut self, bytes: &[u8]);
}

/// What a command has printed so far, in bounded memory.
#[derive(Debug)]
pub(super) struct Capture {
    /// Bytes that `head` and `tail` each hold at most.
    half: usize,
    spill_cap: u64,
    folder: PathBuf,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
    lines: u64,
    spill: Option<io::Result<Spill>>,
}

impl Capture {
    /// Makes an empty capture that shows `cap` bytes and keeps up to `spill_cap` bytes in a file of `folder`.
    pub(super) fn new(cap: usize, spill_cap: u64, folder: PathBuf) -> Self {
        Self {
            half: cap / 2,
            spill_cap,
            folder,
            head: Vec::new(),
            tail: VecDeque::new(),
            total: 0,
            lines: 0,
            spill: None,
        }
    }

    /// The text to show, and remarks on it.
    pub(super) fn finish(mut self) -> (String, Vec<String>) {
        let tail = self.tail.make_contiguous();
        let Some(spill) = self.spill else {
            self.head.extend_from_slice(tail);
            return (String::from_utf8_lossy(&self.head).into_owned(), Vec::new());
        };
        let head = whole_lines_at_start(&self.head);
        let tail = whole_lines_at_end(tail);
        let last = self.lines - count_lines(tail);
        let left_out = format!("[lines {} to {last} left out]", count_lines(head) + 1);
        let text = format!(
            "{}\n{left_out}\n{}",
            String::from_utf8_lossy(head.strip_suffix(b"\n").unwrap_or(head)),
            String::from_utf8_lossy(tail)
        );
        let size = format!("{} bytes in {} lines", self.total, self.lines);
        let note = match spill.and_then(Spill::keep) {
            Ok(kept) if kept.size < self.total => {
                let path = kept.path.display();
                format!("the output has {size}; its first {} bytes are in {path}", kept.size)
            }
            Ok(kept) => format!("the whole output, {size}, is in {}", kept.path.display()),
            Err(error) => format!("the output has {size}; it could not be kept in a file: {error}"),
        };
        (text, vec![note])
    }

    /// Starts the file with what came so far, which is all in memory still.
    fn start_spill(&mut self) -> io::Result<Spill> {
        let mut spill = Spill::create(&self.folder, self.spill_cap)?;
        spill.write(&self.head)?;
        spill.write(self.tail.make_contiguous())?;
        Ok(spill)
    }
}

impl Take for Capture {
    fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        self.lines += count_lines(bytes);
        if self.spill.is_none() && self.total > 2 * self.half as u64 {
            self.spill = Some(self.start_spill());
        }
        if let Some(Ok(spill)) = &mut self.spill
            && let Err(error) = spill.write(bytes)
        {
            self.spill = Some(Err(error));
        }
        let (first, rest) = bytes.split_at(bytes.len().min(self.half - self.head.len()));
        self.head.extend_from_slice(first);
        // INVARIANT: what is taken off is no more than there is.
        let rest = &rest[rest.len().saturating_sub(self.half)..];
        self.tail.extend(rest);
        self.tail.drain(..self.tail.len().saturating_sub(self.half));
    }
}

/// The file that takes all of an output; removed if it is dropped before it is kept.
#[derive(Debug)]
struct Spill {
    file: File,
    unfinished: PathBuf,
    room: u64,
    size: u64,
    digest: blake3::Hasher,
}

impl Spill {
    fn create(folder: &Path, room: u64) -> io::Result<Self> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        fs::create_dir_all(folder)?;
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let unfinished = folder.join(format!(".unfinished-{}-{number}", std::process::id()));
        let file = OpenOptions::new().write(true).create(true).truncate(true).open(&unfinished)?;
        Ok(Self { file, unfinished, room, size: 0, digest: blake3::Hasher::new() })
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let fits = usize::try_from(self.room - self.size).unwrap_or(usize::MAX).min(bytes.len());
        // INVARIANT: `fits` is at most the length.
        let bytes = &bytes[..fits];
        self.file.write_all(bytes)?;
        self.digest.update(bytes);
        self.size += bytes.len() as u64;
        Ok(())
    }

    /// Names the file by its content, so that the same output has the same name wherever it comes from.
    fn keep(self) -> io::Result<Kept> {
        let digest = self.digest.finalize().to_hex();
        // INVARIANT: the digest has 64 digits.
        let name = format!("bash-{}.txt", &digest[..16]);
        let path = self.unfinished.with_file_name(name);
        fs::rename(&self.unfinished, &path)?;
        Ok(Kept { path, size: self.size })
    }
}

impl Drop for Spill {
    fn drop(&mut self) {
        // Once kept, there is no file of this name.
        let _ = fs::remove_file(&self.unfinished);
    }
}

/// A finished file.
struct Kept {
    path: PathBuf,
    size: u64,
}

fn count_lines(bytes: &[u8]) -> u64 {
    memchr_iter(b'\n', bytes).count() as u64
}

/// The bytes up to and with the last line end; all of them if there is none.
fn whole_lines_at_start(bytes: &[u8]) -> &[u8] {
    let end = memchr::memrchr(b'\n', bytes).map_or(bytes.len(), |at| at + 1);
    // INVARIANT: `end` is the length, or lies behind a byte that was found.
    &bytes[..end]
}

/// The bytes behind the first line end; all of them if there is none or nothing behind it.
pub(super) fn whole_lines_at_end(bytes: &[u8]) -> &[u8] {
    let start = memchr::memchr(b'\n', bytes).map_or(0, |at| at + 1);
    bytes.get(start..).filter(|rest| !rest.is_empty()).unwrap_or(bytes)
}
