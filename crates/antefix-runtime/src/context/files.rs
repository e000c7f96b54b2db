use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use antefix_tools::{Comparison, Now, Present};
use antefix_wire::json::{Body, Node, write_string};
use bytes::Bytes;

use super::{Sighting, Source, Surroundings, Unavailable};

/// The files that the model has seen, where something else than its own edits has changed them: the user, another
/// program, or a command that the model has run, which does not say what it writes.
///
/// What the model knows of a file is what it read or wrote last, or was told since. A file that is as it knows is no
/// news, whatever its times say; neither is one that cannot be looked at.
#[derive(Debug, Default)]
pub struct Files {
    folder: PathBuf,
    present: BTreeMap<String, Now>,
}

impl Source for Files {
    fn kind(&self) -> &'static str {
        "files"
    }

    fn observe(&mut self, around: &Surroundings) -> Result<Vec<Sighting>, Unavailable> {
        self.folder.clone_from(&around.folder);
        self.present.clear();
        let mut sightings = Vec::new();
        for Present { path, learned, now } in around.files.present(COMPARISON) {
            if around.is_denied(&path) {
                continue;
            }
            let key = path.to_string_lossy().into_owned();
            sightings.push(Sighting::new(key.clone(), state(&now, learned)));
            self.present.insert(key, now);
        }
        Ok(sightings)
    }

    fn drift(&self, known: &[u8], now: &Sighting) -> Option<String> {
        // What was told before the model learned of the file anew does not count.
        let is_told = learned(known).is_some_and(|told| Some(told) == learned(&now.state));
        let path = self.shown(&now.key);
        Some(match self.present.get(&now.key)? {
            Now::Same { .. } if is_told => format!("{path} is again as you last read or edited it."),
            Now::Same { .. } => return None,
            Now::Changed { diff: Some(diff), .. } => {
                format!("{path} has changed since you last read or edited it. Compared with that:\n{diff}")
            }
            Now::Changed { diff: None, .. } => {
                format!(
                    "{path} has changed since you last read or edited it. Read what you need of it again."
                )
            }
            Now::Gone => format!("{path} is not there any more."),
            Now::Other(what) => format!("{path} is not a file any more: there is {what} in its place."),
        })
    }

    fn speaks_for(&self, _key: &str) -> bool {
        false
    }
}

impl Files {
    /// The path as the tools show it.
    fn shown(&self, key: &str) -> String {
        let path = Path::new(key);
        format!("`{}`", path.strip_prefix(&self.folder).unwrap_or(path).display())
    }
}

/// What is there, and how often the model has learned of the file by then.
fn state(now: &Now, learned: u64) -> Bytes {
    let mut out = b"{\"is\":".to_vec();
    let is = match now {
        Now::Same { digest } | Now::Changed { digest, .. } => digest,
        Now::Gone => "gone",
        Now::Other(what) => what,
    };
    write_string(&mut out, is);
    out.extend_from_slice(format!(",\"learned\":{learned}}}").as_bytes());
    out.into()
}

fn learned(state: &[u8]) -> Option<u64> {
    Body::parse(state.to_vec()).ok()?.root().get("learned").and_then(Node::u64)
}

/// As much of a file as is told elsewhere, and no more of all files than of a few.
const COMPARISON: Comparison =
    Comparison { most_bytes: 16 * 1024 * 1024, diff_bytes: 4_000, all_diff_bytes: 16_000 };

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use antefix_session::record::Millis;
    use antefix_tools::permission::{Effect, Mode, Policy, Rule, Source as PolicySource};
    use antefix_tools::{FileFact, FileTable, Scope};
    use jiff::tz::TimeZone;

    use super::*;

    /// A folder with a file in it, a model that may have seen it, and what it was told.
    struct Scene {
        folder: tempfile::TempDir,
        files: Arc<FileTable>,
        known: Bytes,
        policy: Option<Arc<Policy>>,
    }

    impl Scene {
        fn new() -> Self {
            let (folder, files) = (tempfile::tempdir().unwrap(), Arc::default());
            Self { folder, files, known: Bytes::from_static(b"null"), policy: None }
        }

        fn path(&self) -> PathBuf {
            self.folder.path().canonicalize().unwrap().join("a.rs")
        }

        /// Something else writes the file.
        fn write(&self, text: &str) {
            fs::write(self.path(), text).unwrap();
        }

        /// The model reads or writes the file as it is.
        fn sees(&self, scope: Scope) {
            let (path, content) = (self.path(), fs::read(self.path()).unwrap());
            let (digest, size) = (blake3::hash(&content).to_hex().to_string(), content.len() as u64);
            // Another time than that of the file, so that its content decides.
            let fact = FileFact { path, digest, size, mtime_ns: 1, scope, lines: None };
            match scope {
                Scope::Range => self.files.apply(&fact),
                _ => self.files.apply_with(&fact, &content),
            }
        }

        /// What the model is told in front of the next prompt, by a process that knows nothing but what is on record.
        fn told(&mut self) -> Option<String> {
            let mut source = Files::default();
            let folder = self.folder.path().canonicalize().unwrap();
            let around = Surroundings {
                policy: self.policy.clone(),
                files: Arc::clone(&self.files),
                ..Surroundings::of(folder, Millis(1), TimeZone::UTC)
            };
            let seen = source.observe(&around).unwrap();
            let now = seen.first().filter(|now| now.state != self.known)?;
            let told = source.drift(&self.known, now)?;
            self.known = now.state.clone();
            Some(told)
        }
    }

    const DIFF: &str = "`a.rs` has changed since you last read or edited it. Compared with that:\n@@ -1,2 +1,2 @@\n a\n-b\n+B";

    #[test]
    fn a_change_from_outside_is_told_once() {
        type Change = fn(&Scene);
        let rows: &[(&str, Scope, Change, Option<&str>)] = &[
            ("nothing", Scope::Whole, |_| {}, None),
            ("touched", Scope::Whole, |scene| scene.write("a\nb\n"), None),
            ("an empty diff", Scope::Write, |scene| scene.write("a\nb\n"), None),
            (
                "an own edit",
                Scope::Whole,
                |scene| {
                    scene.write("a\nB\n");
                    scene.sees(Scope::Edit);
                },
                None,
            ),
            (
                "written anew by itself",
                Scope::Whole,
                |scene| {
                    scene.write("a\nB\n");
                    scene.sees(Scope::Write);
                },
                None,
            ),
            (
                "changed, and read since",
                Scope::Whole,
                |scene| {
                    scene.write("a\nB\n");
                    scene.sees(Scope::Whole);
                },
                None,
            ),
            ("changed", Scope::Whole, |scene| scene.write("a\nB\n"), Some(DIFF)),
            ("changed behind an own write", Scope::Write, |scene| scene.write("a\nB\n"), Some(DIFF)),
            ("changed behind an own edit", Scope::Edit, |scene| scene.write("a\nB\n"), Some(DIFF)),
            (
                "changed behind a range",
                Scope::Range,
                |scene| scene.write("a\nB\n"),
                Some("`a.rs` has changed since you last read or edited it. Read what you need of it again."),
            ),
            (
                "deleted",
                Scope::Whole,
                |scene| fs::remove_file(scene.path()).unwrap(),
                Some("`a.rs` is not there any more."),
            ),
            (
                "replaced",
                Scope::Whole,
                |scene| {
                    fs::write(scene.folder.path().join("new"), "a\nB\n").unwrap();
                    fs::rename(scene.folder.path().join("new"), scene.path()).unwrap();
                },
                Some(DIFF),
            ),
            (
                "replaced by a link",
                Scope::Whole,
                |scene| {
                    fs::remove_file(scene.path()).unwrap();
                    std::os::unix::fs::symlink("/etc/hostname", scene.path()).unwrap();
                },
                Some("`a.rs` is not a file any more: there is a symbolic link in its place."),
            ),
        ];
        for (name, scope, change, expect) in rows {
            let mut scene = Scene::new();
            scene.write("a\nb\n");
            scene.sees(*scope);
            change(&scene);
            assert_eq!(scene.told().as_deref(), *expect, "{name}");
            assert_eq!(scene.told(), None, "{name}: told again");
        }
    }

    #[test]
    fn what_was_told_is_known_until_the_model_looks_itself() {
        let mut scene = Scene::new();
        scene.write("a\nb\n");
        scene.sees(Scope::Whole);
        scene.write("a\nB\n");
        assert_eq!(scene.told().as_deref(), Some(DIFF));
        scene.write("a\nb\n");
        assert_eq!(scene.told().as_deref(), Some("`a.rs` is again as you last read or edited it."));
        assert_eq!(scene.told(), None);
        fs::remove_file(scene.path()).unwrap();
        assert_eq!(scene.told().as_deref(), Some("`a.rs` is not there any more."));
        scene.write("a\nB\n");
        scene.sees(Scope::Write);
        assert_eq!(scene.told(), None);
        scene.write("a\nb\n");
        let told = scene.told().unwrap();
        assert!(told.ends_with("-B\n+b"), "{told}");
    }

    #[test]
    fn a_file_that_was_not_seen_is_nothing() {
        let mut scene = Scene::new();
        scene.write("a\nb\n");
        assert_eq!(scene.told(), None);
    }

    /// A rule that came since the model saw the file.
    #[test]
    fn what_a_rule_refuses_to_read_is_no_news() {
        let mut scene = Scene::new();
        scene.write("a\nb\n");
        scene.sees(Scope::Whole);
        scene.write("a\nsecret\n");
        let (root, source) = (scene.path().with_file_name(""), PolicySource::new("test"));
        let rule = Rule::parse("read(a.rs)", Effect::Deny, source.clone(), &root, None).unwrap();
        scene.policy = Some(Arc::new(Policy::new(&root, Mode::default(), source).with_rules(vec![rule])));
        assert_eq!(scene.told(), None);
    }

    /// What cannot be looked at now is not gone.
    #[test]
    fn what_cannot_be_read_is_no_news() {
        let mut scene = Scene::new();
        scene.write("a\nb\n");
        scene.sees(Scope::Whole);
        // More than is looked into, as the superuser may read all.
        fs::File::options()
            .write(true)
            .open(scene.path())
            .unwrap()
            .set_len(COMPARISON.most_bytes + 1)
            .unwrap();
        assert_eq!(scene.told(), None);
        scene.write("a\nB\n");
        assert_eq!(scene.told().as_deref(), Some(DIFF));
    }
}
