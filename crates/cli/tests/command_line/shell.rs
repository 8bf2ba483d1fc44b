//! Help, completions, manual pages, the description of the sheets.

use crate::program::Workplace;

fn print(arguments: &[&str]) -> String {
    let outcome = Workplace::with("").run(arguments).exits_with(0);
    assert_eq!(outcome.err, "");
    outcome.out
}

#[test]
fn completions_know_the_subcommands_and_options() {
    for shell in ["bash", "zsh", "fish"] {
        let script = print(&["completions", shell]);
        for word in ["tracelens", "report", "pytorch", "topk_ops", "link-by"] {
            assert!(script.contains(word), "no {word} for {shell}");
        }
    }
    Workplace::with("").run(&["completions", "tcsh"]).exits_with(2);
}

#[test]
fn manual_pages_list_what_there_is() {
    let page = print(&["man"]);
    assert!(page.contains(".TH tracelens 1"), "{page}");
    // roff escapes the hyphen.
    assert!(page.contains(r"tracelens\-report(1)"), "{page}");
    let page = print(&["man", "report"]);
    assert!(page.contains(r".TH tracelens-report 1"), "{page}");
    for option in [r"\-\-topk_ops", r"\-\-link\-by", r"\-\-output_csvs_dir"] {
        assert!(page.contains(option), "no {option} in {page}");
    }
    Workplace::with("")
        .run(&["man", "no"])
        .exits_with(2)
        .with_error(&["unknown subcommand \"no\"", "report"]);
}

#[test]
fn help_shows_groups_and_defaults() {
    let kinds = ["PyTorch traces:", "XPlane profiles:", "rocprofv3 profiles:", "Tenstorrent operations:"];
    for (subcommand, groups) in [("report", &kinds[..]), ("pytorch", &["Analysis:", "Reading:"])] {
        let help = print(&[subcommand, "--help"]);
        for part in groups.iter().copied().chain([
            "Output:",
            "[default: 10]",
            "[default: 100]",
            "[default: documented]",
            "[default: correlation]",
            "<input>_perf_report.xlsx",
        ]) {
            let joined = help.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(joined.contains(part), "no {part:?} in {help}");
        }
        assert_eq!(help, print(&[subcommand, "-h"]));
    }
    let version = print(&["--version"]);
    assert_eq!(version.trim(), concat!("tracelens ", env!("CARGO_PKG_VERSION")));
}

#[test]
fn columns_are_explained_under_either_name_of_their_sheet() {
    let one = print(&["columns", "ops_all"]);
    assert!(one.starts_with("ops_all (ops_unique_args with --sheet-names current)\n"), "{one}");
    assert!(one.contains("\n  operation_count\n      "), "{one}");
    assert_eq!(one, print(&["columns", "ops_unique_args"]));
    // Other reports have a sheet of this name too; among all sheets it stands with the others of its report.
    let all = print(&["columns"]);
    let (of_pytorch, of_jax) = one.split_once("\nops_all (tracelens jax)\n").unwrap();
    // Sheets with the same columns are described together, each with its heading.
    let (_, columns_of_pytorch) = of_pytorch.split_once("\n\n").unwrap();
    assert!(
        all.contains(columns_of_pytorch) && all.contains(&format!("\nops_all (tracelens jax)\n{of_jax}"))
    );
    assert!(one.lines().all(|line| line.chars().count() <= 110), "{one}");
}

#[test]
fn columns_name_an_option_only_where_the_report_has_it() {
    let help = print(&["rocprof", "--help"]);
    assert!(!help.contains("--sheet-names"));
    let sheet = print(&["columns", "pftrace_kernel_summary"]);
    assert!(
        sheet.starts_with("pftrace_kernel_summary (tracelens rocprof) (kernel_summary in TraceLens)\n"),
        "{sheet}"
    );
}

#[test]
fn an_unknown_sheet_is_answered_with_the_known_ones() {
    Workplace::with("").run(&["columns", "no_sheet"]).exits_with(2).with_error(&[
        "unknown sheet \"no_sheet\"",
        "gpu_timeline, ",
        "coll_analysis",
    ]);
}
