//! Which folders the user trusts, and as of which settings in them.

use std::io::Write;
use std::path::{Path, PathBuf};

/// Whether what a folder's own settings say holds in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The user trusted the folder as it is.
    Stored,
    /// `--trust`, for this run.
    Flag,
    /// The user trusted it, and its settings have changed since.
    Changed,
    /// The user has not said so.
    Unknown,
}

impl Trust {
    /// Whether it is trusted.
    pub const fn is_given(self) -> bool {
        matches!(self, Self::Stored | Self::Flag)
    }

    /// In words.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Stored => "trusted",
            Self::Flag => "trusted for this run (--trust)",
            Self::Changed => "not trusted: its settings have changed since it was",
            Self::Unknown => "not trusted",
        }
    }
}

/// The digest of a folder's settings, of its `.mcp.json` where there is one, and of what its settings for Claude Code say
/// about hooks, where they do.
pub(super) fn digest(texts: [&String; 2], servers: &str, claude: [&str; 2]) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"antefix trust 1");
    let servers = Some(servers).filter(|servers| !servers.is_empty());
    for text in texts.map(String::as_str).into_iter().chain(servers) {
        hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
    }
    if claude.iter().any(|text| !text.is_empty()) {
        hasher.update(b"claude hooks");
        for text in claude {
            hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
        }
    }
    hasher.finalize().to_hex().to_string()
}

/// What is stored about a folder.
pub(super) fn stored(state: &Path, folder: &Path, digest: &str) -> Trust {
    match std::fs::read(place(state, folder)) {
        Ok(found) if found == content(folder, digest) => Trust::Stored,
        Ok(_) => Trust::Changed,
        Err(_) => Trust::Unknown,
    }
}

/// Stores that a folder is trusted with settings of this digest.
pub(super) fn store(state: &Path, folder: &Path, digest: &str) -> std::io::Result<()> {
    let place = place(state, folder);
    std::fs::create_dir_all(state.join("trust"))?;
    let written = place.with_extension("new");
    let mut file = std::fs::File::create(&written)?;
    file.write_all(&content(folder, digest))?;
    file.sync_all()?;
    std::fs::rename(written, place)
}

pub(super) fn place(state: &Path, folder: &Path) -> PathBuf {
    let name = blake3::hash(folder.as_os_str().as_encoded_bytes()).to_hex();
    state.join("trust").join(name.as_str())
}

fn content(folder: &Path, digest: &str) -> Vec<u8> {
    [b"antefix trust 1\n", folder.as_os_str().as_encoded_bytes(), b"\n", digest.as_bytes(), b"\n"].concat()
}
