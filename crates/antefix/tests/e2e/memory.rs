//! Memory and work of a long session: what grows with the history must be its bytes alone.

use std::fs;

use crate::case::Case;

/// Steps of the one turn; each brings about 10 kB.
const STEPS: u64 = 200;

#[test]
fn two_hundred_steps_and_two_megabytes_stay_below_forty() {
    let case = Case::new(&format!(
        "rule\n on said Work\n on rounds 0..{}\n tool bash {{\"command\":\"{NOISE}; {PEAK}\"}}\n\
         rule\n on said Measure\n on rounds 0\n tool bash {{\"command\":\"{PEAK}\"}}\n\
         rule\n on any\n text Done.",
        STEPS - 1
    ));
    let run = |prompt: &str, more: &[&str]| {
        let peak = case.project().join("peak");
        let invocation = more.iter().fold(case.run(prompt), |invocation, arg| invocation.arg(arg));
        invocation.env("PEAK", &peak).ends().code(0).stdout("Done.");
        peak_of(&fs::read_to_string(&peak).expect("a peak"))
    };
    let live = run("Work", &["--max-turns", "1000"]);
    let sent = case.sent();
    assert_eq!(sent.len() as u64, STEPS + 1);
    let last = sent.last().expect("a body").bytes.len();
    assert!(last >= 2_000_000, "the last body has {last} bytes");
    let resumed = run("Measure", &["--continue"]);
    println!("peak {live} kB, resumed {resumed} kB, with a last body of {last} bytes");
    for kilobytes in [live, resumed] {
        assert!(kilobytes <= 40 * 1024, "peak resident memory is {kilobytes} kB");
    }
    let transcript = fs::metadata(case.transcript()).expect("a transcript").len();
    assert!(transcript * 10 <= last as u64 * 12, "{transcript} bytes on disk for {last} of content");
    case.goes_on();
}

/// Prints 10 kB that are new each time.
const NOISE: &str = "head -c 9000 /dev/urandom | base64 -w 100 | head -c 10300";

/// Writes down the peak resident memory of the agent, which is the parent of the command's keeper.
const PEAK: &str = "agent=$(grep PPid /proc/$PPID/status | cut -f 2); grep VmHWM /proc/$agent/status >$PEAK";

fn peak_of(line: &str) -> u64 {
    let number = line.split_whitespace().nth(1);
    number.and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("`{line}` holds no peak"))
}
