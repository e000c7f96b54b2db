//! `explain` reads a session of the product's own.

use crate::case::Case;

#[test]
fn a_session_that_only_grew_has_no_break() {
    let case = Case::new(
        "rule\n on said Look\n on rounds 0\n think Hm.\n tool bash {\"command\":\"seq 1 50\"}\n tool read {\"path\":\"a.txt\"}\nrule\n on any\n text Seen.",
    );
    case.write("a.txt", "one\ntwo\n");
    case.run("Look").args(["--thinking", "adaptive"]).ends().code(0);
    case.go_on("And again").ends().code(0);
    let sent = case.sent().len();
    assert_eq!(sent, 3, "a call's round, its answer, and a second turn");
    let explained = case.antefix(["explain", &case.session(), "--json"]).ends().code(0);
    let explained = explained.stdout(&format!("\"requests\":{sent},\"lineages\":[[0,1,2]]"));
    explained.stdout("\"breaks\":[],\"faults\":[],\"usage_findings\":[]");
}
