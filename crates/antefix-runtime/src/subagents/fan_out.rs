//! Siblings that share a head: one writes it into the provider's cache, the others wait until they can read it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

/// The heads that have been sent, each by its digest.
///
/// A provider's entry can be read once the first response to the request that writes it has begun
/// (platform.claude.com/docs/en/build-with-claude/prompt-caching, September 2026). So of requests with one head that
/// would leave together, the first leaves and the others wait for its first byte, but never longer than five seconds.
#[derive(Clone, Debug, Default)]
pub(super) struct FanOut(Arc<Mutex<BTreeMap<[u8; 32], watch::Sender<State>>>>);

/// The one that writes a head. Dropped before its response has begun, it leaves the lead to the next.
#[derive(Debug)]
pub(super) struct Leader {
    heads: FanOut,
    head: [u8; 32],
    lives: Duration,
    has_begun: bool,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// Nobody has sent it, or whoever did has failed.
    Cold,
    /// Somebody has sent it, and no byte has come back.
    Sent,
    /// It can be read until then.
    Warm(Instant),
}

impl FanOut {
    /// Comes back when a request with that head should leave: at once as the leader where nobody else has one on its
    /// way, or else once the leader's response has begun. `lives` is how long an entry lives.
    pub(super) async fn enter(&self, head: [u8; 32], lives: Duration) -> Option<Leader> {
        let patience = Instant::now() + PATIENCE;
        loop {
            let mut state = match self.look(head) {
                Look::Lead => {
                    return Some(Leader { heads: self.clone(), head, lives, has_begun: false });
                }
                Look::Go => return None,
                Look::Wait(state) => state,
            };
            let changed = state.wait_for(|state| !matches!(state, State::Sent));
            if timeout_at(patience, changed).await.is_err() {
                return None;
            }
        }
    }

    fn look(&self, head: [u8; 32]) -> Look {
        let mut heads = self.lock();
        let state = heads.entry(head).or_insert_with(|| watch::Sender::new(State::Cold));
        let now = *state.borrow();
        match now {
            State::Warm(until) if Instant::now() < until => Look::Go,
            State::Sent => Look::Wait(state.subscribe()),
            State::Warm(_) | State::Cold => {
                state.send_replace(State::Sent);
                Look::Lead
            }
        }
    }

    fn set(&self, head: [u8; 32], state: State) {
        if let Some(known) = self.lock().get(&head) {
            known.send_replace(state);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<[u8; 32], watch::Sender<State>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum Look {
    Lead,
    Go,
    Wait(watch::Receiver<State>),
}

impl Leader {
    /// The response has begun, so that the head can be read.
    pub(super) fn begins(mut self) {
        self.has_begun = true;
        self.heads.set(self.head, State::Warm(Instant::now() + self.lives));
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        if !self.has_begun {
            self.heads.set(self.head, State::Cold);
        }
    }
}

/// The longest that a request waits for another one's first byte.
const PATIENCE: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    const LIVES: Duration = Duration::from_secs(240);

    fn head(name: &str) -> [u8; 32] {
        *blake3::hash(name.as_bytes()).as_bytes()
    }

    /// Four siblings that wait; gives how long each has waited and whether it leads.
    fn siblings(heads: &FanOut) -> Vec<tokio::task::JoinHandle<(Duration, Option<Leader>)>> {
        let enter = |_| {
            let heads = heads.clone();
            tokio::spawn(async move {
                let from = Instant::now();
                let leader = heads.enter(head("a"), LIVES).await;
                (from.elapsed(), leader)
            })
        };
        (0..4).map(enter).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn siblings_leave_with_the_first_byte() {
        let heads = FanOut::default();
        let leader = heads.enter(head("a"), LIVES).await.unwrap();
        let waiting = siblings(&heads);
        tokio::task::yield_now().await;
        // Another head is nobody's business.
        assert!(heads.enter(head("b"), LIVES).await.is_some());
        tokio::time::advance(Duration::from_secs(2)).await;
        leader.begins();
        for sibling in waiting {
            let (waited, leader) = sibling.await.unwrap();
            assert!(waited >= Duration::from_secs(2) && waited < PATIENCE && leader.is_none(), "{waited:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_leader_that_fails_leaves_the_lead_to_one_of_the_others() {
        let heads = FanOut::default();
        let leader = heads.enter(head("a"), LIVES).await.unwrap();
        let waiting = siblings(&heads);
        tokio::task::yield_now().await;
        drop(leader);
        let mut leaders = 0;
        for sibling in waiting {
            if let (_, Some(leader)) = sibling.await.unwrap() {
                leaders += 1;
                leader.begins();
            }
        }
        assert_eq!(leaders, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_longer_than_five_seconds() {
        let heads = FanOut::default();
        let _leader = heads.enter(head("a"), LIVES).await.unwrap();
        for sibling in siblings(&heads) {
            let (waited, leader) = sibling.await.unwrap();
            assert!(waited >= PATIENCE && waited < PATIENCE * 2 && leader.is_none(), "{waited:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_is_warm_until_its_entry_has_died() {
        let heads = FanOut::default();
        heads.enter(head("a"), LIVES).await.unwrap().begins();
        for (wait, leads) in [(Duration::from_millis(239_998), false), (Duration::from_millis(4), true)] {
            tokio::time::advance(wait).await;
            assert_eq!(heads.enter(head("a"), LIVES).await.is_some(), leads, "{wait:?}");
        }
    }
}
