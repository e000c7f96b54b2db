//! What was sent is read back from the provider's cache.

use antefix_models::Ttl;
use antefix_session::event::Event;

use crate::reply::End;
use crate::stage::{Setup, Stage};

/// Each request reads all that the one before read and wrote, however wide the step between them: a marker finds
/// the entry on its very end, not by searching back.
#[test]
fn each_request_reads_what_the_one_before_left() {
    for cache in [Ttl::FiveMinutes, Ttl::OneHour] {
        let mut stage = Stage::new(Setup { cache: Some(cache), ..Setup::default() });
        stage.prompt("Do it.");
        for width in [1, 30, 2, 45] {
            stage.end(End::Calls(width));
            (0..width).for_each(|_| stage.give(0, "Some lines of a file.", false));
        }
        stage.end(End::Done);
        stage.resume();
        stage.prompt("More.");
        stage.end(End::Done);
        let billed = stage.billed();
        assert_eq!(billed.len(), 6);
        assert_eq!(billed[0].0, 0);
        for pair in billed.windows(2) {
            assert_eq!(pair[1].0, pair[0].0 + pair[0].1, "{cache:?}: {billed:?}");
            assert!(pair[1].1 > 0 && pair[1].2 == 0, "{cache:?}: {billed:?}");
        }
    }
}

/// Going back reads what is left of the conversation: the entry of the last request on that path.
#[test]
fn a_branch_reads_what_it_shares() {
    let mut stage = Stage::new(Setup::default());
    for words in ["One.", "Two.", "Three."] {
        stage.prompt(words);
        stage.end(End::Done);
    }
    stage.step(Event::Rewind { turn: 3 });
    stage.prompt("Otherwise.");
    let billed = stage.billed();
    assert_eq!(billed[3].0, billed[1].0 + billed[1].1, "{billed:?}");
}

#[test]
fn without_a_cache_no_marker_is_sent() {
    let mut stage = Stage::new(Setup { cache: None, ..Setup::default() });
    stage.prompt("Do it.");
    stage.end(End::Done);
    stage.prompt("More.");
    assert!(stage.billed().iter().all(|(read, written, _)| read + written == 0));
}
