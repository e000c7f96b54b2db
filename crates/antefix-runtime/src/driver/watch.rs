//! When a session looks at its surroundings: in front of each prompt, and when calls have returned.

use std::sync::Arc;

use antefix_session::event::{Event, SessionEvent};
use antefix_session::record::ContextRecord;
use antefix_tools::Cancellation;

use super::todo::stand;
use super::{Agent, Shown};
use crate::catalogue::TOOLS;
use crate::clock;
use crate::context::{Baseline, Surroundings, Watcher};
use crate::store::TranscriptStore;

/// Who looks, and what does not change around them.
pub(super) struct Watch {
    watcher: Watcher,
    around: Surroundings,
}

impl<S: TranscriptStore> Agent<S> {
    /// Tells the model from now on what changes around it. Of `around` the time, the files, the list of what is to be done,
    /// what was used and how tools stand are looked at anew each time.
    pub fn watch(&mut self, watcher: Watcher, around: Surroundings) {
        self.watch = Some(Watch { watcher, around });
    }

    /// What the head says that the conversation goes on behind; `None` if nobody looks.
    pub(super) async fn baseline(&mut self) -> Option<Baseline> {
        self.look_up();
        let Watch { watcher, around } = self.watch.as_mut()?;
        Some(watcher.baseline_anew(around).await)
    }

    /// What is otherwise than the model knows.
    pub(super) async fn drift(&mut self, show: &mut impl FnMut(Shown<'_>)) -> Vec<ContextRecord> {
        self.look_up();
        let Some(watch) = &mut self.watch else { return Vec::new() };
        let found = watch.watcher.drift(self.session.conversation(), &watch.around).await;
        self.show_notes(show);
        found
    }

    /// What is otherwise now that something has happened in a turn: what a new session's first look has seen, before its
    /// first response is taken in, and what calls have changed, before the last of them is.
    pub(super) async fn news(
        &mut self,
        event: &Event,
        open: &mut usize,
        stop: &Cancellation,
    ) -> Vec<ContextRecord> {
        let is_last = matches!(event, Event::Returned { .. }) && {
            *open = open.saturating_sub(1);
            *open == 0
        };
        if !is_last && !matches!(event, Event::Response { .. }) {
            return Vec::new();
        }
        self.look_up();
        let Some(Watch { watcher, around }) = &mut self.watch else { return Vec::new() };
        match event {
            Event::Response { .. } => watcher.first_look(around).await,
            _ if is_last && !stop.is_cancelled() => {
                let around = Surroundings { is_behind_calls: true, ..around.clone() };
                watcher.after_calls(self.session.conversation(), &around).await
            }
            _ => Vec::new(),
        }
    }

    /// Of what was learned otherwise, what the model is to be told.
    pub(super) fn wanted(&self, records: Vec<ContextRecord>) -> Vec<ContextRecord> {
        match &self.watch {
            Some(watch) => watch.watcher.wanted(records),
            None => records,
        }
    }

    /// The same of an event.
    pub(super) fn wanted_of(&self, event: Event) -> Event {
        match event {
            Event::Note(records) => Event::Note(self.wanted(records)),
            event => event,
        }
    }

    /// Shows what the user should know of the looks so far.
    pub(super) fn show_notes(&mut self, show: &mut impl FnMut(Shown<'_>)) {
        let notes = self.watch.as_mut().map(|watch| watch.watcher.take_notes()).unwrap_or_default();
        for note in notes {
            show(Shown::Event(&SessionEvent::Notice(note)));
        }
    }

    fn look_up(&mut self) {
        if let Some(watch) = &mut self.watch {
            watch.around.now = clock::now();
            watch.around.files = self.context.files.clone();
            watch.around.spent = self.session.spent();
            watch.around.todo = Some(stand(self.session.conversation(), &self.context.todo));
            watch.around.refused = self.session.conversation().known(TOOLS, "").cloned();
            watch.around.offers = self.session.conversation().offers().map(Arc::new);
        }
    }
}
