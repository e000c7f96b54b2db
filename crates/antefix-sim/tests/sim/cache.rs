//! The cache's rules, each at its limit and one to either side of it.

use antefix_sim::{Config, Grey, Latency, Millis, OtherTtl, Refresh};

use crate::harness::{Lab, test_config};

/// Sends the requests in order and compares what each paid.
fn check_with(config: Config, name: &str, requests: &[(u64, &str, &str)]) {
    let mut lab = Lab::new(config);
    let paid: Vec<String> = requests.iter().map(|(now, blocks, _)| lab.pay(*now, blocks, "")).collect();
    let expect: Vec<&str> = requests.iter().map(|(_, _, expect)| *expect).collect();
    assert_eq!(paid, expect, "{name}");
}

fn check(name: &str, requests: &[(u64, &str, &str)]) {
    check_with(test_config(), name, requests);
}

#[test]
fn nothing_is_cached_without_a_marker() {
    check("no marker", &[(0, "S500 u20", "r0 w0 i520"), (1, "S500 u20", "r0 w0 i520")]);
}

#[test]
fn the_minimum_counts_the_whole_prefix() {
    check("99", &[(0, "u99! u1", "r0 w0 i100"), (1, "u99! u1", "r0 w0 i100")]);
    check("100", &[(0, "u100! u1", "r0 w100 i1"), (1, "u100! u1", "r100 w0 i1")]);
    check("101", &[(0, "u101! u1", "r0 w101 i1"), (1, "u101! u1", "r101 w0 i1")]);
    check("a small block behind a large one", &[(0, "u99 u1!", "r0 w100 i0"), (1, "u99 u1!", "r100 w0 i0")]);
    check("the first of two too short", &[(0, "S99! u50!", "r0 w149 i0"), (1, "S99! u50~b!", "r0 w149 i0")]);
}

#[test]
fn the_grey_band_is_a_knob() {
    let with = |grey| Config { grey, ..test_config() };
    let cached = |size: u64| {
        [
            (0, format!("u{size}!"), format!("r0 w{size} i0")),
            (1, format!("u{size}!"), format!("r{size} w0 i0")),
        ]
    };
    let plain = |size: u64| {
        [
            (0, format!("u{size}!"), format!("r0 w0 i{size}")),
            (1, format!("u{size}!"), format!("r0 w0 i{size}")),
        ]
    };
    let cases = [
        (Grey::Stated, 99, false),
        (Grey::Stated, 100, true),
        (Grey::Cached, 89, false),
        (Grey::Cached, 90, true),
        (Grey::Cached, 91, true),
        (Grey::NotCached, 109, false),
        (Grey::NotCached, 110, true),
        (Grey::NotCached, 111, true),
    ];
    for (grey, size, is_cached) in cases {
        let requests = if is_cached { cached(size) } else { plain(size) };
        let requests: Vec<(u64, &str, &str)> =
            requests.iter().map(|(now, blocks, expect)| (*now, blocks.as_str(), expect.as_str())).collect();
        check_with(with(grey), &format!("{grey:?} {size}"), &requests);
    }
}

#[test]
fn the_window_has_twenty_positions() {
    // The page's example: written at block 15, marked at 35: 35 … 16 are tested, a miss by one.
    let written = (0, "u10x14 u10!", "r0 w150 i0");
    check("34", &[written, (1, "u10x33 u10!", "r150 w190 i0")]);
    check("35", &[written, (1, "u10x34 u10!", "r0 w350 i0")]);
    check("36", &[written, (1, "u10x35 u10!", "r0 w360 i0")]);
}

#[test]
fn each_marker_has_a_window_of_its_own() {
    let written = (0, "u10x14 u10!", "r0 w150 i0");
    check("the old end is marked again", &[written, (1, "u10x14 u10! u10x39 u10!", "r150 w400 i0")]);
    check("within reach of the earlier", &[written, (1, "u10x33 u10! u10x39 u10!", "r150 w590 i0")]);
    check("out of reach of both", &[written, (1, "u10x34 u10! u10x39 u10!", "r0 w750 i0")]);
}

#[test]
fn entries_exist_only_at_markers() {
    check("shorter than the entry", &[(0, "u200 u200!", "r0 w400 i0"), (1, "u200!", "r0 w200 i0")]);
    check("branch before the marker", &[(0, "u200 u200!", "r0 w400 i0"), (1, "u200 u200~b!", "r0 w400 i0")]);
    check("branch behind a marker", &[(0, "u200! u200!", "r0 w400 i0"), (1, "u200 u200~b!", "r200 w200 i0")]);
}

#[test]
fn runs_of_tool_blocks_are_one_position() {
    let first = (0, "T100 u100!", "r0 w200 i0");
    // 40 calls and 40 results are two positions.
    check("collapsed", &[first, (1, "T100 u100 c100x40 r60x40!", "r200 w6400 i0")]);
    check("17 texts more", &[first, (1, "T100 u100 c100x40 r60x40 a10x16 a10!", "r200 w6570 i0")]);
    check("18 texts more", &[first, (1, "T100 u100 c100x40 r60x40 a10x17 a10!", "r0 w6780 i0")]);
    let bedrock = Config { collapse_runs: Some(false), ..test_config() };
    let blocks = |calls: usize| format!("T100 u100 c100x{calls} r60x{calls}!");
    check_with(bedrock.clone(), "9 calls", &[first, (1, &blocks(9), "r200 w1440 i0")]);
    check_with(bedrock, "10 calls", &[first, (1, &blocks(10), "r0 w1800 i0")]);
}

#[test]
fn runs_collapse_exactly_to_the_edge() {
    let first = (0, "T100 u100!", "r0 w200 i0");
    // user 1, calls 2, results 3; the mark is in the results or behind them.
    check("20", &[first, (1, "T100 u100 c100x2 r60x2 a1x16 a1!", "r200 w337 i0")]);
    check("21", &[first, (1, "T100 u100 c100x2 r60x2 a1x17 a1!", "r0 w538 i0")]);
    check("thinking splits a run", &[first, (1, "T100 u100 c100 k60 c100 r60x2 a1x15 a1!", "r0 w596 i0")]);
    check(
        "thinking splits a run, one less",
        &[first, (1, "T100 u100 c100 k60 c100 r60x2 a1x14 a1!", "r200 w395 i0")],
    );
}

#[test]
fn an_entry_dies_when_its_ttl_is_over() {
    for (now, expect) in [(299_999, "r200 w0 i0"), (300_000, "r0 w200 i0"), (300_001, "r0 w200 i0")] {
        check("5m", &[(0, "u200!", "r0 w200 i0"), (now, "u200!", expect)]);
    }
    for (now, expect) in
        [(3_599_999, "r200 w0 i0"), (3_600_000, "r0 w0 h200 i0"), (3_600_001, "r0 w0 h200 i0")]
    {
        check("1h", &[(0, "u200H", "r0 w0 h200 i0"), (now, "u200H", expect)]);
    }
}

#[test]
fn a_read_counts_the_ttl_anew() {
    check(
        "kept warm",
        &[
            (0, "u200!", "r0 w200 i0"),
            (299_999, "u200!", "r200 w0 i0"),
            (599_998, "u200!", "r200 w0 i0"),
            (899_998, "u200!", "r0 w200 i0"),
        ],
    );
    let requests = |last| {
        [
            (0, "u200! u200!", "r0 w400 i0"),
            (200_000, "u200! u200!", "r400 w0 i0"),
            (400_000, "u200! u200~b", last),
        ]
    };
    check("shorter entries on the path", &requests("r200 w0 i200"));
    let strict = Config { refresh: Refresh::EntryOnly, ..test_config() };
    check_with(strict, "the entry alone", &requests("r0 w200 i200"));
}

#[test]
fn a_slow_answer_eats_its_own_ttl() {
    let slow =
        Config { latency: Latency { first_byte: Millis(310_000), ..Latency::default() }, ..test_config() };
    check_with(
        slow,
        "310 s to the first byte",
        &[(0, "u200!", "r0 w200 i0"), (310_000, "u200!", "r0 w200 i0")],
    );
}

#[test]
fn an_entry_can_be_read_from_the_writers_first_byte_on() {
    let config =
        || Config { latency: Latency { first_byte: Millis(1_000), ..Latency::default() }, ..test_config() };
    for (now, expect) in
        [(0, "r0 w200 i0"), (999, "r0 w200 i0"), (1_000, "r200 w0 i0"), (1_001, "r200 w0 i0")]
    {
        check_with(config(), "fan-out", &[(0, "u200!", "r0 w200 i0"), (now, "u200!", expect)]);
    }
    // A second writer does not make the first one's entry later.
    let three = [(0, "u200!", "r0 w200 i0"), (900, "u200!", "r0 w200 i0"), (1_000, "u200!", "r200 w0 i0")];
    check_with(config(), "two writers", &three);
}

#[test]
fn the_first_byte_can_depend_on_what_was_not_read() {
    let latency = Latency { first_byte: Millis(100), per_1k_uncached: Millis(1_000), ..Latency::default() };
    let config = Config { latency, ..test_config() };
    check_with(
        config,
        "2,000 tokens",
        &[(0, "u2000!", "r0 w2000 i0"), (2_099, "u2000!", "r0 w2000 i0"), (2_100, "u2000!", "r2000 w0 i0")],
    );
}

#[test]
fn mixed_ttls_are_billed_by_the_highest_hit_and_the_highest_hour() {
    check("1h then 5m", &[(0, "S200H u100! u7", "r0 w100 h200 i7"), (1, "S200H u100! u7", "r300 w0 i7")]);
    check(
        "1h hit, 5m gone",
        &[(0, "S200H u100! u7", "r0 w100 h200 i7"), (300_000, "S200H u100! u7", "r200 w100 i7")],
    );
    check("two of each", &[(0, "T100H S100H u100! u50! u1", "r0 w150 h200 i1")]);
    check(
        "hit between",
        &[(0, "T100H S100 u1", "r0 w0 h100 i101"), (1, "T100H S100H u100! u1", "r100 w100 h100 i1")],
    );
}

#[test]
fn a_marker_of_the_other_ttl_reads_what_is_there() {
    let requests =
        |second, third| [(0, "u200!", "r0 w200 i0"), (1, "u200H", second), (300_001, "u200H", third)];
    check("keeps", &requests("r200 w0 i0", "r0 w0 h200 i0"));
    let converts = Config { other_ttl: OtherTtl::Converts, ..test_config() };
    check_with(converts, "converts", &requests("r200 w0 i0", "r200 w0 i0"));
    let misses = Config { other_ttl: OtherTtl::Misses, ..test_config() };
    check_with(misses, "misses", &requests("r0 w0 h200 i0", "r200 w0 i0"));
}

#[test]
fn markers_move_freely() {
    check("moved on", &[(0, "S200! u100!", "r0 w300 i0"), (1, "S200 u100 a50 u10!", "r300 w60 i0")]);
    check("removed", &[(0, "S200! u100!", "r0 w300 i0"), (1, "S200! u100", "r200 w0 i100")]);
}

#[test]
fn eviction_is_seeded() {
    let all = Config { eviction_per_mille: 1_000, ..test_config() };
    check_with(all, "always", &[(0, "u200!", "r0 w200 i0"), (1, "u200!", "r0 w200 i0")]);
    let some = |seed| {
        let mut lab = Lab::new(Config { eviction_per_mille: 300, seed, ..test_config() });
        (0..50).map(|now| lab.pay(now, "u200!", "")).filter(|paid| paid == "r200 w0 i0").count()
    };
    assert_eq!(some(7), some(7));
    assert!((20..45).contains(&some(7)), "{} hits", some(7));
}

#[test]
fn expired_entries_are_swept_without_touching_live_ones() {
    let mut lab = Lab::new(test_config());
    for round in 0..120 {
        let now = round * 10_000;
        lab.pay(now, "u200!", "");
        lab.pay(now, &format!("u1000~{round} u1x1000 u1!"), "");
    }
    assert_eq!(lab.pay(1_200_000, "u200!", ""), "r200 w0 i0");
}

#[test]
fn other_observations_are_knobs() {
    let implicit = Config { implicit_tools: true, ..test_config() };
    check_with(
        implicit,
        "implicit tools",
        &[(0, "T500 u20", "r0 w500 i20"), (1, "T500 u30~b", "r500 w0 i30")],
    );
}
