//! What was posted and what was billed, kept for a judge in another language (`tests/oracle/random.sh`).

use std::fs;
use std::path::{Path, PathBuf};

use antefix_sim::{HttpRequest, Millis, Simulator};
use antefix_wire::json::Body;

use crate::setting::Setting;

/// Conversations of each setting that are kept; the first, so that nothing is missing of what the provider holds.
const KEPT: u64 = 40;

/// Two captures of the same conversations: as planned; and with the last marker alone, which another provider of
/// the same rules bills. A plan leaves little to the lookback, a single marker all.
pub struct Captures {
    planned: Folder,
    single: Folder,
    provider: Simulator,
}

impl Captures {
    /// Folders in `ANTEFIX_CAPTURE_DIR`, if that is set.
    #[expect(clippy::disallowed_methods, reason = "a script asks the test to keep what it sent")]
    pub fn from_environment(setting: Setting, index: usize) -> Option<Self> {
        let all = PathBuf::from(std::env::var_os("ANTEFIX_CAPTURE_DIR")?);
        let folder = |name: &str| Folder::new(&all.join(format!("{index:02}-{name}")), &setting.arguments());
        Some(Self { planned: folder("planned"), single: folder("single"), provider: setting.provider() })
    }

    /// Keeps a request of one of the first conversations, and its answer.
    pub fn add(&mut self, conversation: u64, request: &HttpRequest<'_>, now: Millis, answer: &[u8]) {
        if conversation >= KEPT {
            return;
        }
        self.planned.write(request, now, answer);
        let body = with_last_marker(std::str::from_utf8(request.body).unwrap());
        let single = HttpRequest { body: body.as_bytes(), ..*request };
        let answer = self.provider.handle(&single, now).bytes();
        self.single.write(&single, now, &answer);
    }
}

/// The body without its markers, but for the last.
fn with_last_marker(body: &str) -> String {
    let start = r#","cache_control":{"#;
    let Some(last) = body.rfind(start) else {
        return body.to_owned();
    };
    let mut pieces = body[..last].split(start);
    let mut kept = pieces.next().unwrap().to_owned();
    pieces.for_each(|piece| kept.push_str(piece.split_once('}').unwrap().1));
    kept + &body[last..]
}

/// A capture in the format of `docs/formats/capture.md`.
struct Folder {
    path: PathBuf,
    number: u64,
}

impl Folder {
    /// The judge is told the provider's rules as `arguments`.
    fn new(path: &Path, arguments: &str) -> Self {
        fs::create_dir_all(path).unwrap();
        fs::write(path.join("arguments"), arguments).unwrap();
        Self { path: path.to_owned(), number: 0 }
    }

    fn write(&mut self, request: &HttpRequest<'_>, now: Millis, answer: &[u8]) {
        self.number += 1;
        let (number, now) = (self.number, now.0);
        let answer = Body::parse(answer).unwrap();
        let shown = request.headers.iter().filter(|(name, _)| name != "x-api-key");
        let shown: Vec<_> = shown.map(|(name, value)| format!(r#""{name}":"{value}""#)).collect();
        let meta = format!(
            r#"{{"n":{number},"at_ms":{now},"first_byte_at_ms":{now},"method":"POST","path":"/v1/messages","headers":{{{}}},"status":200,"usage":{},"message_id":{}}}"#,
            shown.join(","),
            answer.root().get("usage").unwrap().raw(),
            answer.root().get("id").unwrap().raw(),
        );
        fs::write(self.path.join(format!("{number:06}.body.json")), request.body).unwrap();
        fs::write(self.path.join(format!("{number:06}.meta.json")), meta + "\n").unwrap();
    }
}
