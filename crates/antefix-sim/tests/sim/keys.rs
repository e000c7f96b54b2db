//! What keeps caches apart, and at which level a change breaks the prefix.

use antefix_sim::{BetaKey, Config, ImageRule};

use crate::harness::{Lab, test_config};

/// Sends the same 100-token tools, 100-token system and 100-token message twice, the second time with a change,
/// and compares what is still read.
fn check(name: &str, before: &str, after: &str, read: u64) {
    check_with(test_config(), name, before, after, read);
}

fn check_with(config: Config, name: &str, before: &str, after: &str, read: u64) {
    let mut lab = Lab::new(config);
    let blocks = "T100! S100! u100!";
    assert_eq!(lab.pay(0, blocks, before), "r0 w300 i0", "{name}");
    let paid = lab.pay(1, blocks, after);
    assert_eq!(paid, format!("r{read} w{} i0", 300 - read), "{name}");
}

#[test]
fn levels_break_as_tabulated() {
    let cases = [
        ("nothing", "", "", 300),
        ("max_tokens", "\"max_tokens\":5", "\"max_tokens\":6", 300),
        ("temperature", "", "\"temperature\":0", 300),
        ("stop sequences", "", "\"stop_sequences\":[\"x\"]", 300),
        ("metadata", "", "\"metadata\":{\"user_id\":\"u\"}", 300),
        ("stream", "", "\"stream\":true", 300),
        ("tool_choice", "", "\"tool_choice\":{\"type\":\"any\"}", 200),
        ("tool_choice auto is the default", "", "\"tool_choice\":{\"type\":\"auto\"}", 300),
        (
            "disable_parallel_tool_use",
            "",
            "\"tool_choice\":{\"type\":\"auto\",\"disable_parallel_tool_use\":true}",
            200,
        ),
        ("speed", "", "\"speed\":\"fast\"", 100),
        ("thinking", "", "\"thinking\":{\"type\":\"adaptive\"}", 0),
        (
            "thinking budget",
            "\"max_tokens\":9000,\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":2000}",
            "\"max_tokens\":9000,\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":3000}",
            0,
        ),
        ("effort", "", "\"output_config\":{\"effort\":\"low\"}", 0),
        ("effort high is the default", "", "\"output_config\":{\"effort\":\"high\"}", 300),
        ("format", "", "\"output_config\":{\"format\":{\"type\":\"json_schema\",\"schema\":{}}}", 0),
        ("geo", "", "\"inference_geo\":\"us\"", 0),
    ];
    for (name, before, after, read) in cases {
        check(name, before, after, read);
    }
}

#[test]
fn content_breaks_from_where_it_changes() {
    let first = "T100! S100! u100!";
    let cases = [
        ("T100~b! S100! u100!", "r0 w300 i0"),
        ("T100! S100~b! u100!", "r100 w200 i0"),
        ("T100! S100! u100~b!", "r200 w100 i0"),
        ("T100! S100! u100! a10 u5", "r300 w0 i15"),
        ("T100 T70! S100! u100!", "r100 w270 i0"),
        ("S100! u100!", "r0 w200 i0"),
    ];
    for (second, expect) in cases {
        let mut lab = Lab::new(test_config());
        lab.pay(0, first, "");
        // A changed count of blocks would also change the fillers; those cases are chosen so that it does not
        // matter.
        assert_eq!(lab.pay(1, second, ""), expect, "{second}");
    }
}

#[test]
fn organizations_workspaces_and_models_share_nothing() {
    let mut lab = Lab::new(test_config());
    assert_eq!(lab.pay(0, "u200!", ""), "r0 w200 i0");
    for (key, expect) in [
        ("acme/main/other-secret", "r200 w0 i0"),
        ("acme/side/secret", "r0 w200 i0"),
        ("zeta/main/secret", "r0 w200 i0"),
        ("a-key-without-slash", "r0 w200 i0"),
    ] {
        key.clone_into(&mut lab.key);
        assert_eq!(lab.pay(1, "u200!", ""), expect, "{key}");
    }
}

#[test]
fn betas_are_part_of_the_key_unless_told_otherwise() {
    let cases = [
        (BetaKey::All, "one-2026-01-01", "r0 w200 i0"),
        (BetaKey::None, "one-2026-01-01", "r200 w0 i0"),
        (BetaKey::Only(vec!["one-2026-01-01".to_owned()]), "one-2026-01-01", "r0 w200 i0"),
        (BetaKey::Only(vec!["one-2026-01-01".to_owned()]), "two-2026-01-01", "r200 w0 i0"),
    ];
    for (betas, header, expect) in cases {
        let mut lab = Lab::new(Config { betas, ..test_config() });
        lab.pay(0, "u200!", "");
        header.clone_into(&mut lab.betas);
        assert_eq!(lab.pay(1, "u200!", ""), expect, "{header}");
    }
    let mut lab = Lab::new(test_config());
    lab.betas = "one,two".to_owned();
    lab.pay(0, "u200!", "");
    lab.betas = "two, one, two".to_owned();
    assert_eq!(lab.pay(1, "u200!", ""), "r200 w0 i0", "the order of betas does not matter");
}

#[test]
fn images_break_the_messages() {
    let cases = [
        (ImageRule::Presence, "S100! u100!", "S100! u100 i100!", "r100 w200 i0"),
        (ImageRule::Presence, "S100! i100!", "S100! i100 i100!", "r200 w100 i0"),
        (ImageRule::Count, "S100! i100!", "S100! i100 i100!", "r100 w200 i0"),
        (ImageRule::Off, "S100! u100!", "S100! u100 i100!", "r200 w100 i0"),
    ];
    for (images, first, second, expect) in cases {
        let mut lab = Lab::new(Config { images, ..test_config() });
        lab.pay(0, first, "");
        assert_eq!(lab.pay(1, second, ""), expect, "{images:?} {second}");
    }
}

/// Sends two bodies and compares the tokens read by the second.
fn check_bodies(name: &str, first: &str, second: &str, read_all: bool) {
    let mut lab = Lab::new(test_config());
    assert_eq!(lab.post(0, first).status, 200, "{name}: {}", lab.post(0, first).text);
    let sent = lab.post(1, second);
    assert_eq!(sent.status, 200, "{name}: {}", sent.text);
    let billed = lab.simulator.log().last().unwrap();
    assert_eq!(billed.read == billed.total(), read_all, "{name}: {billed:?}");
}

#[test]
fn the_same_prompt_may_be_written_differently() {
    let request = |tools: &str, content: &str| {
        format!(
            "{{\"model\":\"claude-test\",\"max_tokens\":9,\"cache_control\":{{\"type\":\"ephemeral\"}},\
             \"tools\":[{tools}],\"messages\":[{{\"role\":\"user\",\"content\":{content}}}]}}"
        )
    };
    let tool =
        "{\"name\":\"a\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\",\"title\":\"t\"}}";
    let words = "x".repeat(200);
    let string = format!("\"{words}\"");
    let block = format!("[{{\"type\":\"text\",\"text\":\"{words}\"}}]");
    let cases = [
        ("string and one block", tool.to_owned(), block, true),
        ("escapes", tool.to_owned(), format!("\"\\u0078{}\"", "x".repeat(199)), true),
        ("white space", tool.replace(':', " : "), string.clone(), true),
        (
            "a tool's members in another order",
            {
                "{\"input_schema\":{\"type\":\"object\",\"title\":\"t\"},\"description\":\"d\",\"name\":\"a\"}".to_owned()
            },
            string.clone(),
            true,
        ),
        ("explicit defaults", tool.replace("\"name\"", "\"type\":\"custom\",\"name\""), string.clone(), true),
        ("a null member", tool.replace("\"name\"", "\"strict\":null,\"name\""), string.clone(), true),
        (
            "a schema's keys in another order",
            { tool.replace("\"type\":\"object\",\"title\":\"t\"", "\"title\":\"t\",\"type\":\"object\"") },
            string.clone(),
            false,
        ),
        (
            "two blocks",
            tool.to_owned(),
            {
                format!(
                    "[{{\"type\":\"text\",\"text\":\"{}\"}},{{\"type\":\"text\",\"text\":\"x\"}}]",
                    "x".repeat(199)
                )
            },
            false,
        ),
    ];
    let first = request(tool, &string);
    for (name, tools, content, read_all) in cases {
        check_bodies(name, &first, &request(&tools, &content), read_all);
    }
}

#[test]
fn white_space_folding_is_a_knob() {
    let text = |space: &str| {
        let words = vec!["word"; 50].join(space);
        format!(
            "{{\"model\":\"claude-test\",\"max_tokens\":9,\"cache_control\":{{\"type\":\"ephemeral\"}},\
             \"messages\":[{{\"role\":\"user\",\"content\":\"{words}\"}}]}}"
        )
    };
    for (fold, hits) in [(false, false), (true, true)] {
        let mut lab = Lab::new(Config { fold_white_space: fold, ..test_config() });
        lab.post(0, &text(" "));
        lab.post(1, &text("  "));
        assert_eq!(lab.simulator.log()[1].read > 0, hits, "{fold}");
    }
}

#[test]
fn web_tools_and_citations_belong_to_the_system_level() {
    let request = |tools: &str, citations: bool| {
        let long = "x".repeat(150);
        let marker = "\"cache_control\":{\"type\":\"ephemeral\"}";
        let schema = "\"input_schema\":{\"type\":\"object\"}";
        format!(
            "{{\"model\":\"claude-test\",\"max_tokens\":9,\"tools\":[{{\"name\":\"a\",\"description\":\"{long}\",\
             {schema},{marker}}}{tools}],\"system\":[{{\"type\":\"text\",\"text\":\"{long}\",{marker}}}],\
             \"messages\":[{{\"role\":\"user\",\"content\":[{{\"type\":\"document\",\"source\":{{\"type\":\"text\",\
             \"data\":\"d\"}},\"citations\":{{\"enabled\":{citations}}}}},{{\"type\":\"text\",\"text\":\"hi\"}}]}}]}}"
        )
    };
    let web = ",{\"type\":\"web_search_20250305\",\"name\":\"web_search\"}";
    let plain = request("", false);
    let mut lab = Lab::new(test_config());
    lab.post(0, &plain);
    let tools = lab.simulator.log()[0].write_5m - 150;
    for (name, body, read) in [
        ("web search on", request(web, false), tools),
        ("citations on", request("", true), tools),
        ("as before", plain, tools + 150),
    ] {
        lab.post(1, &body);
        assert_eq!(lab.simulator.log().last().unwrap().read, read, "{name}");
    }
}
