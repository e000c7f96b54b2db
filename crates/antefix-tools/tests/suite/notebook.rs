use antefix_tools::Scope;

use crate::workspace::Workspace;

#[tokio::test]
async fn notebooks_are_shown_as_their_cells() {
    let cells = r#"{"cells":[{"cell_type":"markdown","source":["T\n","U"]},{"cell_type":"code","source":"1+1","outputs":[{"data":{"text/plain":"2"}}]}],"nbformat":4}"#;
    let workspace = Workspace::new(&[("n.ipynb", cells), ("broken.ipynb", "{\n}\n")]);
    for (input, expect) in [
        (
            r#"{"path":"n.ipynb"}"#,
            "     1\t[cell 1: markdown]\n     2\tT\n     3\tU\n     4\t[cell 2: code]\n     5\t1+1\n     6\t[output of cell 2]\n     7\t2\n[a notebook, shown as its cells]",
        ),
        (
            r#"{"path":"n.ipynb","offset":5,"limit":1}"#,
            "     5\t1+1\n[lines 5 to 5 of 7]\n[a notebook, shown as its cells]",
        ),
        (r#"{"path":"broken.ipynb"}"#, "     1\t{\n     2\t}"),
    ] {
        workspace.check("read", input, expect).await;
    }
    let fact = workspace.context.files.get(&workspace.path("n.ipynb")).unwrap();
    assert_eq!(
        (fact.scope, fact.digest),
        (Scope::Range, blake3::hash(cells.as_bytes()).to_hex().to_string())
    );
    let write = r#"{"path":"n.ipynb","content":"x"}"#;
    assert!(
        workspace.call("write", write).await.as_text().starts_with("only a part of `n.ipynb` has been read")
    );
}
