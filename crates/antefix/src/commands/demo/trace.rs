use antefix_session::conversation::{Conversation, Message};

use crate::out::say;
use crate::screen::describe;

/// Prints the steps of the first turn: assemble, call, parse, run, append, until an answer ends it.
pub fn print(conversation: &Conversation) {
    let messages: Vec<&Message> = conversation.path().filter(|message| message.turn() == 1).collect();
    say!("\nthe task, step by step (assemble → call → parse → run tools → append)");
    let mut step = 0;
    let mut say = |text: String| {
        step += 1;
        say!("{step:>4}  {text}");
    };
    let answers = messages.iter().enumerate().filter(|(_, message)| !message.is_user());
    for (round, (index, message)) in answers.enumerate() {
        let calls = message.calls();
        say!("round {}", round + 1);
        say(format!("assemble   {index} message{} in the body", if index == 1 { "" } else { "s" }));
        if calls.is_empty() {
            say("call       the reply ends the turn".to_owned());
            continue;
        }
        say("call       the reply asks for tools".to_owned());
        say(format!("parse      {} call{}", calls.len(), if calls.len() == 1 { "" } else { "s" }));
        let names: Vec<_> = calls.iter().map(describe).collect();
        say(format!("run        {}", names.join("  +  ")));
        say(format!("append     1 assistant message and 1 user message: {} messages", index + 2));
    }
}
