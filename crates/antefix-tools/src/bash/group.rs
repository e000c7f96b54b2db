//! A process group, and how it is ended.

use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};

/// The process group of a command; dropped, it is ended by force.
#[derive(Debug)]
pub(super) struct Group {
    leader: Option<Pid>,
}

impl Group {
    /// The group led by the process of that id.
    pub(super) fn new(leader: Option<u32>) -> Self {
        Self { leader: leader.and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw) }
    }

    /// Asks all members to end.
    pub(super) fn ask(&self) {
        self.signal(Signal::TERM);
        // A stopped process takes in the request only when it goes on.
        self.signal(Signal::CONT);
    }

    /// Ends all members.
    pub(super) fn force(&self) {
        self.signal(Signal::KILL);
    }

    /// Whether a member still runs. Members that have ended and wait to be reaped do not count.
    pub(super) fn is_alive(&self) -> bool {
        self.leader
            .is_some_and(|leader| test_kill_process_group(leader).is_ok() && has_running_member(leader))
    }

    fn signal(&self, signal: Signal) {
        let Some(leader) = self.leader else { return };
        if kill_process_group(leader, signal).is_err() && !self.is_alive() {
            // The command may not have made its group yet. Once reaped it is not there to be hit: the id of a
            // process is given out again only after a full round of ids.
            let _ = kill_process(leader, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.is_alive() {
            self.force();
        }
    }
}

/// Looks through `/proc` for a member that is not a zombie; where there is no `/proc`, there is one.
fn has_running_member(leader: Pid) -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return true;
    };
    let mut processes = processes.filter_map(Result::ok).peekable();
    if processes.peek().is_none() {
        return true;
    }
    processes
        .filter(|entry| {
            entry.file_name().to_str().is_some_and(|name| name.bytes().all(|b| b.is_ascii_digit()))
        })
        .filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok())
        .any(|stat| is_running_member(&stat, leader.as_raw_nonzero().get()))
}

/// Reads a line of `/proc/<id>/stat`: after the name in parentheses come state, parent and group.
fn is_running_member(stat: &str, group: i32) -> bool {
    let Some((_, rest)) = stat.rsplit_once(") ") else {
        return false;
    };
    let mut words = rest.split(' ');
    let state = words.next();
    let of_group = words.nth(1).is_some_and(|word| word.parse() == Ok(group));
    of_group && !matches!(state, Some("Z" | "X"))
}

#[cfg(test)]
mod tests {
    use super::is_running_member;

    #[test]
    fn stat_lines() {
        for (line, expect) in [
            ("12 (sh) S 1 77 77 0 -1", true),
            ("12 (sh) Z 1 77 77 0 -1", false),
            ("12 (sh) R 77 12 77 0 -1", false),
            ("12 (a) Z 1 77 b) R 3 77 5", true),
            ("12", false),
        ] {
            assert_eq!(is_running_member(line, 77), expect, "{line}");
        }
    }
}
