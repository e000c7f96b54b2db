//! The store on a disk that loses what was not synced: at every operation the process may be killed, the power
//! may fail, or the operation may; then the next process goes on.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod disk;
mod schedule;

use std::collections::BTreeSet;

use schedule::{Tally, run, unnoticed};

/// The first seed; another one gives other schedules.
const SEED: u64 = 0;
const SCHEDULES: u64 = 12_000;

#[test]
fn nothing_durable_is_lost_in_any_schedule() {
    let mut sum = Tally::default();
    for seed in SEED..SEED + SCHEDULES {
        match run(seed, None) {
            Ok(tally) => sum = add(sum, tally),
            Err(wrong) => panic!("seed {seed}: {wrong}"),
        }
    }
    println!("{SCHEDULES} schedules: {sum:?}");
    // The schedules reach what they are for.
    assert!(sum.crashes >= 2 * SCHEDULES, "{sum:?}");
    assert!(sum.cuts >= SCHEDULES / 20, "{sum:?}");
    assert!(sum.failures >= SCHEDULES / 20, "{sum:?}");
    assert!(sum.durable_lines >= 10 * SCHEDULES, "{sum:?}");
}

#[test]
fn leaving_out_any_one_sync_is_noticed() {
    assert_eq!(unnoticed(SEED..SEED + 2_000), BTreeSet::new());
}

fn add(a: Tally, b: Tally) -> Tally {
    Tally {
        crashes: a.crashes + b.crashes,
        cuts: a.cuts + b.cuts,
        failures: a.failures + b.failures,
        durable_lines: a.durable_lines + b.durable_lines,
    }
}
