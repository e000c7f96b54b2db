//! A token that tells running tools to stop.

use tokio::sync::watch;

/// A token that tells running tools to stop; clones share one state, and cancelling cannot be undone.
#[derive(Clone, Debug)]
pub struct Cancellation {
    state: watch::Sender<bool>,
}

impl Cancellation {
    /// Makes a token that is not cancelled.
    pub fn new() -> Self {
        Self { state: watch::Sender::new(false) }
    }

    /// Cancels the token and all its clones.
    pub fn cancel(&self) {
        self.state.send_replace(true);
    }

    /// Whether the token has been cancelled.
    pub fn is_cancelled(&self) -> bool {
        *self.state.borrow()
    }

    /// Waits until the token is cancelled.
    pub async fn cancelled(&self) {
        let mut receiver = self.state.subscribe();
        // The sender lives in `self`, so the wait can only end with the value.
        let _ = receiver.wait_for(|cancelled| *cancelled).await;
    }
}

impl Default for Cancellation {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_clone_wakes_every_waiter() {
        let token = Cancellation::new();
        let waiters: Vec<_> = (0..3)
            .map(|_| {
                let token = token.clone();
                tokio::spawn(async move { token.cancelled().await })
            })
            .collect();
        assert!(!token.is_cancelled());
        token.clone().cancel();
        for waiter in waiters {
            waiter.await.unwrap();
        }
        assert!(token.is_cancelled());
        token.cancelled().await;
    }
}
