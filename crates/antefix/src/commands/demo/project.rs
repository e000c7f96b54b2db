use std::io;
use std::path::Path;

/// The files of the demo's project.
const FILES: [(&str, &str); 4] = [
    ("src/basket.rs", include_str!("../../../demo/basket.rs")),
    ("src/tests.rs", include_str!("../../../demo/tests.rs")),
    ("check.sh", include_str!("../../../demo/check.sh")),
    ("AGENTS.md", include_str!("../../../demo/AGENTS.md")),
];

/// Writes the project, as a git repository without commits.
///
/// # Errors
/// When a file cannot be written.
pub fn write(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder.join("src"))?;
    std::fs::create_dir_all(folder.join(".git"))?;
    std::fs::write(folder.join(".git/HEAD"), "ref: refs/heads/main\n")?;
    FILES.iter().try_for_each(|(name, text)| std::fs::write(folder.join(name), text))
}

/// Whether the project's tests pass; runs them once more, apart from the agent.
pub fn is_mended(folder: &Path) -> bool {
    let output = std::process::Command::new("sh").arg("check.sh").current_dir(folder).output();
    output.is_ok_and(|output| output.status.success())
}
