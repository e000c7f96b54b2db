//! Where the markers go, and what the provider drops.

use antefix_models::{
    Collapse, Lookback, Minimum, Platform, Preset, Retention, Rules, Setting, Support, Tokens, Ttl, rules,
};
use antefix_prefix::{
    CachePlan, Cause, Certainty, Interval, Marker, PlanInput, PlanNote, PositionKind, Section, Segment,
    effective, effective_after, plan,
};
use antefix_wire::anthropic::{BlockKind, Role};
use proptest::prelude::*;

/// Segments of 100 tokens, a letter each: `T` tool, `S` system text; `u` user text, `i` image, `r` tool result,
/// `R` one with a changed tool reference; `a` assistant text, `c` call, `h` thinking, `e` empty text; `s` system
/// message, `x` one with `clear_at`.
fn segments(letters: &str) -> Vec<Segment> {
    letters.chars().map(segment).collect()
}

fn segment(letter: char) -> Segment {
    let (section, role, kind) = match letter {
        'T' => (Section::Tools, Role::System, PositionKind::Tool),
        'S' => (Section::System, Role::System, PositionKind::Block(BlockKind::Text)),
        'u' => (Section::Messages, Role::User, PositionKind::Block(BlockKind::Text)),
        'i' => (Section::Messages, Role::User, PositionKind::Block(BlockKind::Image)),
        'r' | 'R' => (Section::Messages, Role::User, PositionKind::Block(BlockKind::ToolResult)),
        'c' => (Section::Messages, Role::Assistant, PositionKind::Block(BlockKind::ToolUse)),
        'h' => (Section::Messages, Role::Assistant, PositionKind::Block(BlockKind::Thinking)),
        'm' => (Section::Messages, Role::Assistant, PositionKind::Block(BlockKind::Compaction)),
        's' | 'x' => (Section::Messages, Role::System, PositionKind::Block(BlockKind::Text)),
        _ => (Section::Messages, Role::Assistant, PositionKind::Block(BlockKind::Text)),
    };
    Segment {
        section,
        kind,
        role,
        tokens: Tokens(100),
        markable: !matches!(letter, 'h' | 'e' | 'x'),
        clears: letter == 'x',
        image: letter == 'i',
        thinks: letter == 'h',
        reference_changed: letter == 'R',
    }
}

/// A model that keeps prefixes of 250 tokens surely and of 150 perhaps.
fn model(collapse: Collapse, max_markers: u32) -> Rules {
    Rules {
        known: true,
        minimum: Minimum { below: Tokens(150), sure: Tokens(250), stated: Tokens(200) },
        lookback: Lookback { positions: 20, collapse_runs: collapse },
        max_markers,
        one_hour_ttl: Support::Yes,
        thinking_retention: Retention::AllTurns,
        ..rules(Platform::Compatible, "none")
    }
}

/// Collapsing, the conversation, its confirmed entry and the one in doubt, each as a number of positions.
struct Case {
    collapse: Collapse,
    letters: String,
    confirmed: usize,
    doubtful: usize,
}

fn case(letters: &str, confirmed: usize, doubtful: usize) -> Case {
    Case { collapse: Collapse::Yes, letters: letters.to_owned(), confirmed, doubtful }
}

fn run(case: &Case, max_markers: u32, head_ttl: Ttl, ttl: Ttl) -> CachePlan {
    let head = case.letters.chars().take_while(|letter| matches!(letter, 'T' | 'S')).count();
    plan(&PlanInput {
        segments: &segments(&case.letters),
        rules: &model(case.collapse, max_markers),
        static_head: head.checked_sub(1),
        confirmed: case.confirmed.checked_sub(1),
        doubtful: case.doubtful.checked_sub(1),
        ttl,
        head_ttl,
    })
}

fn numbers(plan: &CachePlan) -> Vec<usize> {
    plan.markers.iter().map(|marker| marker.position).collect()
}

#[test]
fn markers_stand_where_they_are_of_use() {
    let wide = format!("TSu{}{}", "c".repeat(40), "r".repeat(40));
    let thought = format!("TSuc{}r", "h".repeat(25));
    let cases: [(Case, &[usize]); 16] = [
        // The first request, and one that extends it.
        (case("TSu", 0, 0), &[1, 2]),
        (case("TSuau", 3, 0), &[1, 2, 4]),
        (case("TSucr", 3, 0), &[1, 2, 4]),
        // A request sent again marks what it marked before.
        (case("TSu", 3, 0), &[1, 2]),
        // However wide the step, the confirmed end itself is marked.
        (case(&wide, 3, 0), &[1, 2, 82]),
        (Case { collapse: Collapse::Unknown, ..case(&wide, 3, 0) }, &[1, 2, 82]),
        // An end in doubt: covered where a run is one position, marked where it is not.
        (case(&wide, 3, 43), &[1, 2, 82]),
        (Case { collapse: Collapse::Unknown, ..case(&wide, 3, 43) }, &[1, 2, 42, 82]),
        (case("TSuau", 0, 3), &[1, 4]),
        (case("TSuau", 3, 3), &[1, 2, 4]),
        // Never on thinking, an empty text or what is dropped later.
        (case("TSuah", 3, 0), &[1, 2, 3]),
        (case("TSue", 0, 0), &[1, 2]),
        (case("TSuhx", 3, 0), &[1, 2]),
        (case(&thought, 3, 0), &[1, 2, 29]),
        // Too short to be kept, wholly or in the head.
        (case("T", 0, 0), &[]),
        (case("Tu", 0, 0), &[1]),
    ];
    for (case, expect) in cases {
        let plan = run(&case, 4, Ttl::FiveMinutes, Ttl::FiveMinutes);
        assert_eq!(numbers(&plan), expect, "{} {} {}", case.letters, case.confirmed, case.doubtful);
    }
}

#[test]
fn fewer_slots_keep_the_most_useful() {
    let near = "TSuau".to_owned() + &"cr".repeat(9);
    let far = "TSuau".to_owned() + &"cr".repeat(20);
    let cases: [(&str, u32, usize, usize, &[usize]); 9] = [
        (&far, 4, 5, 7, &[1, 4, 6, 44]),
        (&far, 3, 5, 7, &[4, 6, 44]),
        (&far, 2, 5, 7, &[4, 44]),
        // A single marker must find the old entry and write as much as it can beyond.
        (&far, 1, 5, 7, &[23]),
        (&near, 1, 5, 0, &[22]),
        (&near, 2, 0, 0, &[1, 22]),
        (&near, 1, 0, 0, &[22]),
        (&near, 1, 23, 0, &[22]),
        (&near, 0, 5, 0, &[]),
    ];
    for (letters, max_markers, confirmed, doubtful, expect) in cases {
        let case = Case { collapse: Collapse::No, ..case(letters, confirmed, doubtful) };
        let plan = run(&case, max_markers, Ttl::FiveMinutes, Ttl::FiveMinutes);
        assert_eq!(numbers(&plan), expect, "{letters} {max_markers} {confirmed} {doubtful}");
    }
}

#[test]
fn one_hour_comes_first() {
    use Ttl::{FiveMinutes, OneHour};
    let cases = [
        (FiveMinutes, FiveMinutes, [FiveMinutes, FiveMinutes, FiveMinutes], false),
        (OneHour, FiveMinutes, [OneHour, FiveMinutes, FiveMinutes], false),
        (OneHour, OneHour, [OneHour, OneHour, OneHour], false),
        (FiveMinutes, OneHour, [OneHour, OneHour, OneHour], true),
    ];
    for (head_ttl, ttl, expect, raised) in cases {
        let plan = run(&case("TSuau", 3, 0), 4, head_ttl, ttl);
        assert_eq!(plan.markers.iter().map(|marker| marker.ttl).collect::<Vec<_>>(), expect);
        assert_eq!(plan.notes.contains(&PlanNote::HeadRaised), raised);
    }
}

#[test]
fn one_plan_in_full() {
    let plan = run(&case("TSucrah", 3, 0), 4, Ttl::OneHour, Ttl::FiveMinutes);
    let expect = CachePlan {
        markers: vec![
            Marker { position: 1, ttl: Ttl::OneHour },
            Marker { position: 2, ttl: Ttl::FiveMinutes },
            Marker { position: 5, ttl: Ttl::FiveMinutes },
        ],
        reads_to: Some(2),
        writes_to: Some(5),
        notes: vec![PlanNote::EndMovedBack { from: 6, to: 5 }],
    };
    assert_eq!(plan, expect);
}

#[test]
fn what_the_provider_drops() {
    use Cause::{FirstImage, MessageCleared, ReferenceChanged, Summarised, ThinkingStripped};
    use Certainty::{Documented, Possible};
    use Retention::{AllTurns, LastTurn};
    type Limits = &'static [(usize, Cause, Certainty)];
    let cases: [(Retention, &str, &str, Limits); 21] = [
        (AllTurns, "TSu", "au", &[]),
        (AllTurns, "TSuhcr", "hau", &[]),
        (LastTurn, "TSuhcr", "hcr", &[]),
        (LastTurn, "TSuhcr", "hau", &[(3, ThinkingStripped, Documented)]),
        (LastTurn, "TSucrhcr", "au", &[(5, ThinkingStripped, Documented)]),
        // Thinking that was never part of a prompt is no loss.
        (LastTurn, "TSu", "hau", &[]),
        // What the turn before stripped is not lost again.
        (LastTurn, "TSuhcrhaucr", "au", &[]),
        (LastTurn, "TSuhcrhauhcr", "au", &[(9, ThinkingStripped, Documented)]),
        (AllTurns, "TSux", "au", &[(3, MessageCleared, Documented)]),
        (AllTurns, "TSux", "cr", &[(3, MessageCleared, Possible)]),
        (AllTurns, "TSux", "a", &[]),
        (AllTurns, "TSuxau", "au", &[]),
        (AllTurns, "TSu", "ai", &[(2, FirstImage, Possible)]),
        (AllTurns, "TSi", "ai", &[]),
        (AllTurns, "TS", "i", &[]),
        (AllTurns, "TSucRa", "u", &[(4, ReferenceChanged, Documented)]),
        (AllTurns, "TSuau", "mau", &[(2, Summarised, Documented)]),
        (AllTurns, "TSuaumau", "au", &[]),
        (AllTurns, "TSuaumau", "mau", &[(2, Summarised, Documented)]),
        (AllTurns, "TS", "mau", &[]),
        (LastTurn, "TSuhcr", "hai", &[(2, FirstImage, Possible), (3, ThinkingStripped, Documented)]),
    ];
    for (retention, old, new, expect) in cases {
        let rules = Rules { thinking_retention: retention, ..model(Collapse::Yes, 4) };
        let found = effective(&segments(&format!("{old}{new}")), old.len(), &rules);
        let limits: Vec<_> =
            found.limits.iter().map(|limit| (limit.at, limit.cause, limit.certainty)).collect();
        assert_eq!(limits, expect, "{retention:?} {old} {new}");
        assert!(found.limits.iter().all(|limit| limit.source.starts_with("platform.claude.com/")));
        assert_eq!(found.kept(), expect.first().map_or(old.len(), |limit| limit.0));
        let sure = expect.iter().find(|limit| limit.2 == Documented);
        assert_eq!(found.kept_at_most(), sure.map_or(old.len(), |limit| limit.0));
    }
}

#[test]
fn what_a_chat_template_rewrites() {
    use Cause::{DateChanged, ReasoningStripped, ToolsMoved};
    use Interval::{NewDay, SameDay};
    type Limits = &'static [(usize, Cause)];
    // The class, what was sent, what is new, and where the prompt no longer extends.
    let cases: [(&str, Interval, &str, &str, Limits); 19] = [
        ("append-only", NewDay, "TSuhcr", "hau", &[]),
        // Reasoning stays as long as the turn lasts, and goes with what was said before it when the next one begins.
        ("reasoning-stripping", SameDay, "TSuhcr", "hcr", &[]),
        ("reasoning-stripping", SameDay, "TSuhcr", "hau", &[(3, ReasoningStripped)]),
        ("reasoning-stripping", SameDay, "TSucrhcr", "au", &[(5, ReasoningStripped)]),
        ("reasoning-stripping", SameDay, "TSucr", "au", &[]),
        // That of the turn before last is gone already.
        ("reasoning-stripping", SameDay, "TSuhcrhauhcr", "au", &[(9, ReasoningStripped)]),
        ("reasoning-stripping", SameDay, "TSuhcrhaucr", "au", &[]),
        // Reasoning that was not yet part of a prompt is no loss.
        ("reasoning-stripping", SameDay, "TSu", "hau", &[]),
        ("tools-late", SameDay, "TSucr", "cr", &[]),
        ("tools-late", SameDay, "TSucr", "au", &[(2, ToolsMoved)]),
        ("tools-late", SameDay, "TSuauacr", "au", &[(4, ToolsMoved)]),
        ("tools-late", SameDay, "Sucr", "au", &[]),
        ("tools-late", SameDay, "TS", "u", &[]),
        ("dated", SameDay, "TSu", "au", &[]),
        ("dated", NewDay, "TSu", "au", &[(0, DateChanged)]),
        ("dated", NewDay, "TSu", "cr", &[(0, DateChanged)]),
        ("dated", NewDay, "", "TSu", &[]),
        ("reasoning-stripping dated", NewDay, "TSuhcr", "au", &[(0, DateChanged), (3, ReasoningStripped)]),
        ("append-only", SameDay, "TSu", "ai", &[]),
    ];
    for (class, interval, old, new, expect) in cases {
        let names = class.split(' ').map(str::to_owned).collect();
        let settings = [("template".to_owned(), Setting::Texts(names))];
        let rules = Preset::own("mine", &settings).unwrap().rules("a-model", None);
        let found = effective_after(&segments(&format!("{old}{new}")), old.len(), &rules, interval);
        let limits: Vec<_> = found.limits.iter().map(|limit| (limit.at, limit.cause)).collect();
        assert_eq!(limits, expect, "{class} {interval:?} {old} {new}");
    }
}

#[test]
fn a_template_is_as_certain_as_its_source() {
    let of = |preset: &str, model: &str| {
        let rules = Preset::named(preset).unwrap().rules(model, None);
        let limit = effective(&segments("TSuhcrau"), 6, &rules).limits[0];
        (limit.cause, limit.certainty, limit.source)
    };
    let qwen = of("vllm", "Qwen/Qwen3-8B");
    assert_eq!((qwen.0, qwen.1), (Cause::ReasoningStripped, Certainty::Documented));
    assert!(qwen.2.contains("Qwen/Qwen3-0.6B") && qwen.2.ends_with("read 2026-11-30"), "{}", qwen.2);
    let mistral = of("vllm", "mistral-7b-instruct");
    assert_eq!((mistral.0, mistral.1), (Cause::ToolsMoved, Certainty::Possible));
    let deepseek = of("deepseek", "deepseek-v4-pro");
    assert_eq!((deepseek.0, deepseek.1), (Cause::ReasoningStripped, Certainty::Possible));
}

fn ttl() -> impl Strategy<Value = Ttl> {
    prop_oneof![Just(Ttl::FiveMinutes), Just(Ttl::OneHour)]
}

fn collapse() -> impl Strategy<Value = Collapse> {
    prop_oneof![Just(Collapse::Yes), Just(Collapse::No), Just(Collapse::Unknown)]
}

/// Positions tested by a marker, counted by hand: its own and those before it, up to 20.
fn tested(segments: &[Segment], marker: usize, collapse: bool) -> Vec<usize> {
    let mut positions = 1;
    let mut found = vec![marker];
    for at in (0..marker).rev() {
        let runs =
            matches!(segments[at].kind, PositionKind::Block(BlockKind::ToolUse | BlockKind::ToolResult));
        if !(collapse && runs && segments[at].kind == segments[at + 1].kind) {
            positions += 1;
        }
        if positions > 20 {
            break;
        }
        found.push(at);
    }
    found
}

proptest! {
    #[test]
    fn plans_keep_the_rules(
        letters in "T{0,3}S{0,2}[uirachesx]{0,70}",
        confirmed in 0_usize..80,
        doubtful in 0_usize..80,
        max_markers in 0_u32..6,
        collapse in collapse(),
        head_ttl in ttl(),
        ttl in ttl(),
    ) {
        let found = segments(&letters);
        let input = Case { collapse, letters, confirmed, doubtful };
        let plan = run(&input, max_markers, head_ttl, ttl);
        let markers = &plan.markers;
        prop_assert!(markers.len() <= max_markers as usize);
        prop_assert!(markers.windows(2).all(|pair| pair[0].position < pair[1].position));
        prop_assert!(markers.windows(2).all(|pair| pair[0].ttl >= pair[1].ttl), "one hour first");
        prop_assert!(markers.iter().all(|marker| found[marker.position].markable));
        let confirmed = confirmed.checked_sub(1).filter(|&at| at < found.len());
        let proven = |at| Some(at) == confirmed || (at + 1) * 100 >= 150;
        prop_assert!(markers.iter().all(|marker| proven(marker.position)), "long enough to be kept");
        let reaches = |entry: usize| {
            let collapse = collapse == Collapse::Yes;
            markers.iter().any(|marker| tested(&found, marker.position, collapse).contains(&entry))
        };
        if let Some(entry) = plan.reads_to {
            prop_assert_eq!(Some(entry), confirmed);
            prop_assert!(reaches(entry));
        }
        if let Some(end) = plan.writes_to {
            prop_assert!(markers.last().is_some_and(|last| last.position == end));
            prop_assert!(confirmed.is_none_or(|confirmed| end > confirmed));
        }
        // Whatever stands behind it, a confirmed end that takes a marker is always found again.
        if let Some(entry) = confirmed.filter(|&entry| found[entry].markable && max_markers >= 2) {
            prop_assert_eq!(plan.reads_to, Some(entry));
            let newer = (entry + 1..found.len()).rev().find(|&at| found[at].markable);
            prop_assert!(plan.writes_to == newer || newer.is_some_and(|at| (at + 1) * 100 < 150));
        }
    }

    /// Where no limit is found, nothing that was sent can be rendered otherwise.
    #[test]
    fn limits_lie_in_what_was_sent(letters in "T{0,2}S{0,2}[uirachesxR]{0,40}", sent in 0_usize..50) {
        let rules = Rules { thinking_retention: Retention::LastTurn, ..model(Collapse::Yes, 4) };
        let found = effective(&segments(&letters), sent, &rules);
        prop_assert!(found.limits.iter().all(|limit| limit.at < sent));
        prop_assert!(found.limits.windows(2).all(|pair| pair[0].at <= pair[1].at));
        prop_assert!(found.kept() <= found.kept_at_most() && found.kept_at_most() <= found.sent);
    }
}

#[test]
fn notes_and_causes_are_told_in_words() {
    let (position, tokens) = (7, Tokens(900));
    let notes = [
        (PlanNote::EndMovedBack { from: 9, to: 7 }, "the new entry ends at position 7, not at position 9"),
        (PlanNote::NoNewEnd, "no new position takes a marker: nothing new is written"),
        (
            PlanNote::TooShort { position, tokens, minimum: Tokens(1024) },
            "up to position 7 the prefix is too short to be kept: about 900 tokens, at least 1024 are needed",
        ),
        (
            PlanNote::MayBeTooShort { position, tokens },
            "up to position 7 the prefix, about 900 tokens, may be too short to be kept: sources disagree",
        ),
        (PlanNote::HeadRaised, "the head is written for one hour too: one hour may not follow five minutes"),
        (PlanNote::HourNotSupported, "one hour is not to be had here: entries are written for five minutes"),
        (
            PlanNote::DoubtfulCovered { position },
            "the entry in doubt, up to position 7, needs no marker: the new end's search covers it",
        ),
        (
            PlanNote::Anchored { confirmed: 7, anchor: 8 },
            "the confirmed entry's end, position 7, takes no marker: position 8 reaches it",
        ),
        (
            PlanNote::OutOfReach { confirmed: 7 },
            "no marker reaches the confirmed entry, which ends at position 7",
        ),
        (PlanNote::NoSlot { position }, "position 7 goes without a marker: no more are allowed"),
    ];
    for (note, expect) in notes {
        assert_eq!(note.to_string(), expect);
    }
    let causes = [
        (Cause::ThinkingStripped, "the user speaks again: only the thinking of the last turn is kept"),
        (Cause::MessageCleared, "the user speaks again: a system message with `clear_at` is dropped"),
        (Cause::FirstImage, "the first image of the conversation"),
        (Cause::ReferenceChanged, "a deferred tool that was referenced has another definition"),
        (
            Cause::ReasoningStripped,
            "the user speaks again: the chat template leaves out the reasoning of the turn before",
        ),
        (
            Cause::ToolsMoved,
            "the user speaks again: the chat template moves the tools in front of the new message",
        ),
        (Cause::DateChanged, "the chat template puts the date in front, and it is another day"),
        (
            Cause::Summarised,
            "the server has summarised what was said: nothing in front of its summary is read",
        ),
    ];
    for (cause, expect) in causes {
        assert_eq!(cause.to_string(), expect);
    }
}
