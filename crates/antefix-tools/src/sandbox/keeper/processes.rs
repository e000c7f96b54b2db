//! The processes that came of this one.

use std::collections::{BTreeMap, BTreeSet};

use rustix::process::{Pid, Signal, getpid, kill_process};

/// Sends a signal to all of them.
pub(super) fn signal_all(signal: Signal) {
    for id in descendants() {
        send(id, signal);
    }
}

/// Ends all of them by force. They are stopped first, so that none starts another meanwhile.
pub(super) fn end_all() {
    let mut stopped = BTreeSet::new();
    loop {
        let new: Vec<i32> = descendants().into_iter().filter(|id| !stopped.contains(id)).collect();
        if new.is_empty() {
            break;
        }
        for id in new {
            send(id, Signal::STOP);
            stopped.insert(id);
        }
    }
    for id in stopped {
        send(id, Signal::KILL);
    }
}

fn send(id: i32, signal: Signal) {
    if let Some(id) = Pid::from_raw(id) {
        // It may have ended.
        let _ = kill_process(id, signal);
    }
}

fn descendants() -> BTreeSet<i32> {
    below(getpid().as_raw_nonzero().get(), &parents())
}

/// Those whose line of parents leads to `root`.
fn below(root: i32, parents: &BTreeMap<i32, i32>) -> BTreeSet<i32> {
    let mut found = BTreeSet::new();
    let mut front = vec![root];
    while let Some(parent) = front.pop() {
        for (id, _) in parents.iter().filter(|(_, its)| **its == parent) {
            if found.insert(*id) {
                front.push(*id);
            }
        }
    }
    found
}

/// The parent of each process. Those that have ended count: threads of theirs may go on.
fn parents() -> BTreeMap<i32, i32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter_map(|id: i32| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        Some((id, parent(&stat)?))
    })
    .collect()
}

/// Reads a line of `/proc/<id>/stat`: after the name in parentheses come state and parent.
fn parent(stat: &str) -> Option<i32> {
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_parents() {
        let parents = BTreeMap::from([(2, 1), (3, 2), (4, 3), (5, 1), (6, 9), (7, 7)]);
        assert_eq!(below(2, &parents), BTreeSet::from([3, 4]));
        assert_eq!(below(1, &parents), BTreeSet::from([2, 3, 4, 5]));
        assert_eq!(below(7, &parents), BTreeSet::from([7]));
    }

    #[test]
    fn stat_lines() {
        for (line, expect) in [
            ("12 (sh) S 1 77 77 0 -1", Some(1)),
            ("12 (sh) Z 1 77 77 0 -1", Some(1)),
            ("12 (a) R 3 77 b) R 8 77 5", Some(8)),
            ("12", None),
        ] {
            assert_eq!(parent(line), expect, "{line}");
        }
    }
}
