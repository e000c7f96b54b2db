//! Message threads and diagnostics: what the provider remembers of earlier requests.

use antefix_sim::{Config, Latency, Millis};
use antefix_wire::json::Body;

use crate::harness::{Lab, body, test_config};

fn lab(config: Config) -> Lab {
    let mut lab = Lab::new(config);
    "message-threads-2026-08-12".clone_into(&mut lab.betas);
    lab
}

fn id_of(text: &str) -> String {
    Body::parse(text).unwrap().root().get("id").unwrap().str().unwrap().into_owned()
}

/// What a thread request came to: what was paid, or the error's code.
fn send(lab: &mut Lab, now: u64, blocks: &str, thread: &str) -> (String, String) {
    let sent = lab.post(now, &body(blocks, &format!("\"thread\":{thread}")));
    if sent.status != 200 {
        let body = Body::parse(sent.text.as_str()).unwrap();
        let code = body.root().pointer("/error/code").unwrap().str().unwrap().into_owned();
        return (format!("{} {code}", sent.status), String::new());
    }
    let billed = lab.simulator.log().last().unwrap();
    (format!("r{} w{} i{}", billed.read, billed.write_5m, billed.uncached), id_of(&sent.text))
}

fn after(id: &str) -> String {
    format!("{{\"type\":\"continue\",\"previous_message_id\":\"{id}\"}}")
}

const CREATE: &str = "{\"type\":\"create\"}";

#[test]
fn a_thread_sends_only_what_is_new() {
    let mut lab = lab(test_config());
    let (paid, first) = send(&mut lab, 0, "T100 S100! u100!", CREATE);
    assert_eq!(paid, "r0 w300 i0");
    // The answer, `ok`, is part of the conversation; the marker of the first request is not there any more.
    let (paid, second) = send(&mut lab, 1_000, "u50!", &after(&first));
    assert_eq!(paid, "r300 w52 i0");
    let (paid, _) = send(&mut lab, 2_000, "u20", &after(&second));
    assert_eq!(paid, "r0 w0 i374", "a thread does not cache by itself");
}

#[test]
fn thread_errors_have_their_codes() {
    let start = || {
        let mut lab = lab(test_config());
        let (_, id) = send(&mut lab, 0, "T100 S100! u100!", CREATE);
        (lab, id)
    };
    let expect = |now: u64, blocks: &str, thread: fn(&str) -> String, expect: &str| {
        let (mut lab, id) = start();
        assert_eq!(send(&mut lab, now, blocks, &thread(&id)).0, expect, "{blocks} at {now}");
    };
    expect(1, "u50", |_| after("msg_none"), "404 thread_not_found");
    expect(299_999, "u50", after, "r0 w0 i352");
    expect(300_000, "u50", after, "404 thread_not_found");
    expect(1, "S100 u50", after, "400 thread_fingerprint_mismatch");
    expect(1, "T100 u50", after, "400 thread_fingerprint_mismatch");
    let (mut lab, id) = start();
    send(&mut lab, 1, "u50", &after(&id));
    assert_eq!(send(&mut lab, 2, "u50", &after(&id)).0, "400 thread_already_continued");
    lab.key = "zeta/main/secret".to_owned();
    assert_eq!(send(&mut lab, 3, "u50", &after(&id)).0, "404 thread_not_found");
    lab.key = "acme/main/secret".to_owned();
    lab.betas.push_str(",context-management-2025-06-27");
    let managed = body("u50", &format!("\"context_management\":{{\"edits\":[]}},\"thread\":{CREATE}"));
    let sent = lab.post(4, &managed);
    assert!(sent.text.contains("\"code\":\"thread_unsupported_request\""), "{}", sent.text);
}

#[test]
fn a_thread_in_flight_cannot_be_continued() {
    let latency = Latency { first_byte: Millis(1_000), ..Latency::default() };
    for (now, expect) in [(999, "400 thread_continue_in_flight"), (1_000, "r0 w0 i122")] {
        let mut lab = lab(Config { latency, ..test_config() });
        let (_, id) = send(&mut lab, 0, "u100!", CREATE);
        assert_eq!(send(&mut lab, now, "u20", &after(&id)).0, expect, "{now}");
    }
}

#[test]
fn a_refused_answer_ends_its_thread() {
    let mut lab = Lab::scripted(test_config(), "rule\n  text no\n  stop refusal\n");
    lab.betas = "message-threads-2026-08-12".to_owned();
    let (_, id) = send(&mut lab, 0, "u100!", CREATE);
    assert_eq!(send(&mut lab, 1, "u20", &after(&id)).0, "404 thread_not_found");
}

/// Sends `first`, then `second` asking for diagnostics against it; the `diagnostics` member of the second.
fn diagnose(first: (&str, &str), second: (&str, &str)) -> String {
    let mut lab = Lab::new(test_config());
    let sent = lab.post(0, &body(first.0, first.1));
    let comma = if second.1.is_empty() { "" } else { "," };
    let previous = id_of(&sent.text);
    let asked = format!("{}{comma}\"diagnostics\":{{\"previous_message_id\":\"{previous}\"}}", second.1);
    diagnostics_of(&lab.post(1, &body(second.0, &asked)).text)
}

fn diagnostics_of(text: &str) -> String {
    let body = Body::parse(text).unwrap();
    body.root().get("diagnostics").map_or("absent".to_owned(), |node| node.raw().to_owned())
}

#[test]
fn diagnostics_name_the_earliest_difference() {
    let reason = |kind: &str, missed: u64| {
        format!("{{\"cache_miss_reason\":{{\"type\":\"{kind}\",\"cache_missed_input_tokens\":{missed}}}}}")
    };
    let plain = ("T100 S100 u100", "");
    let unavailable = "{\"cache_miss_reason\":{\"type\":\"unavailable\"}}".to_owned();
    let cases = [
        (plain, "null".to_owned()),
        (("T100 S100 u100 a10 u10", ""), "null".to_owned()),
        (("T100! S100! u100!", ""), "null".to_owned()),
        (("T100~b S100 u100", ""), reason("tools_changed", 300)),
        (("T100 S100~b u100", ""), reason("system_changed", 200)),
        (("T100 S100 u100~b", ""), reason("messages_changed", 100)),
        (("T100~b S100~b u100~b", ""), reason("tools_changed", 300)),
        (("T100 S100 u100", "\"speed\":\"fast\""), reason("model_changed", 300)),
        (("T100 S100 u100", "\"tool_choice\":{\"type\":\"any\"}"), unavailable.clone()),
        (("T100 S100 u100", "\"thinking\":{\"type\":\"adaptive\"}"), unavailable.clone()),
        (("T100~b S100 u100", "\"output_config\":{\"effort\":\"low\"}"), unavailable),
    ];
    for (second, expect) in cases {
        assert_eq!(diagnose(plain, second), expect, "{second:?}");
    }
}

#[test]
fn diagnostics_are_there_only_if_asked_for() {
    let mut lab = Lab::new(test_config());
    assert_eq!(diagnostics_of(&lab.post(0, &body("u100", "")).text), "absent");
    let first = lab.post(0, &body("u100", "\"diagnostics\":{\"previous_message_id\":null}"));
    assert_eq!(diagnostics_of(&first.text), "null");
    let unknown = "\"diagnostics\":{\"previous_message_id\":\"msg_none\"}";
    let not_found = "{\"cache_miss_reason\":{\"type\":\"previous_message_not_found\"}}";
    assert_eq!(diagnostics_of(&lab.post(0, &body("u100", unknown)).text), not_found);
    let known = format!("\"diagnostics\":{{\"previous_message_id\":\"{}\"}}", id_of(&first.text));
    lab.key = "zeta/main/secret".to_owned();
    assert_eq!(
        diagnostics_of(&lab.post(0, &body("u100", &known)).text),
        not_found,
        "of another organization"
    );
    let mut pending = Lab::new(Config { diagnostics_pending: true, ..test_config() });
    assert_eq!(diagnostics_of(&pending.post(0, &body("u100", unknown)).text), "{\"cache_miss_reason\":null}");
    let streamed = lab.post(1, &body("u100", &format!("\"stream\":true,{unknown}")));
    assert!(streamed.text.lines().nth(1).unwrap().contains(not_found), "on message_start");
}

/// Two requests that arrive together may be handled in the other order.
#[test]
fn time_may_step_back_a_little() {
    let mut lab = lab(test_config());
    let (_, id) = send(&mut lab, 1_000, "u100!", CREATE);
    assert_eq!(send(&mut lab, 999, "u20", &after(&id)).0, "400 thread_continue_in_flight");
    let asked = format!("\"diagnostics\":{{\"previous_message_id\":\"{id}\"}}");
    assert_eq!(lab.post(999, &body("u100!", &asked)).status, 200);
    assert_eq!(send(&mut lab, 998, "u100!", CREATE).0, "r0 w100 i0");
}
