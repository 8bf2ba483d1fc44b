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
    Workplace::with("").run("completions tcsh").exits_with(2);
}

#[test]
fn completions_know_both_spellings_and_what_options_take() {
    for (shell, words) in [
        (
            "bash",
            &["--topk_ops", "--topk-ops", "--link_by", "MI300X", "H100-SXM", "ops_summary_by_category"][..],
        ),
        ("zsh", &["--topk-ops", "--link_by", "MI300X", "ops_summary_by_category"]),
        ("fish", &["-l topk-ops", "-l link_by", "MI300X", "ops_summary_by_category"]),
    ] {
        let script = print(&["completions", shell]);
        let missing: Vec<_> = words.iter().filter(|word| !script.contains(**word)).collect();
        assert!(missing.is_empty(), "no {missing:?} for {shell}");
    }
    // What help says is not changed by it.
    assert!(!print(&["pytorch", "--help"]).contains("--topk-roofline-ops"));
}

#[test]
fn commands_of_two_words_have_their_old_spellings() {
    let place = Workplace::with("");
    for (now, before) in [
        ("gate save", "baseline"),
        ("ranks collect", "map"),
        ("ranks pack", "pack"),
        ("split match", "match"),
        ("info columns", "columns"),
        ("info skill", "skill"),
    ] {
        let help = place.run(format!("{now} --help").as_str()).exits_with(0);
        assert!(help.out.contains(&format!("Usage: tracelens {now}")), "{help:#?}");
        let of_old = place.run(format!("{before} --help").as_str()).exits_with(0);
        assert_eq!(of_old.out, help.out);
        assert_eq!(of_old.err, format!("tracelens: note: `tracelens {before}` is now `tracelens {now}`\n"));
        assert_eq!(place.run(format!("help {now}").as_str()).exits_with(0).out, help.out);
        let page = print(&["man", now]);
        assert_eq!(page, place.run(format!("man {now}").as_str()).exits_with(0).out);
        let (first, second) = now.split_once(' ').unwrap();
        assert!(print(&[first, "--help"]).contains(&format!("  {now}")), "{first} --help names {now}");
        assert!(print(&["completions", "fish"]).contains(&format!("-a \"{second}\"")), "{now}");
    }
    assert!(print(&["info"]).contains("info columns"));
    // A file may be called like a command.
    place.run("table save").exits_with(2).with_error(&["save"]);
}

#[test]
fn a_name_with_a_slip_is_guessed() {
    let place = Workplace::with("");
    for (arguments, meant) in [
        (&["info", "columns", "ops_al"][..], "did you mean ops_all?"),
        (&["info", "columns", "kernels_summary"], "did you mean kernel_summary?"),
        (&["man", "splt"], "did you mean split?"),
        (&["model", "gemm", "--m", "8", "--n", "8", "--k", "8", "--arch", "MI30X"], "did you mean MI300X?"),
        (&["report", "trace.json", "--gpu_arch_platform", "h10"], "did you mean H100-"),
    ] {
        place.run(arguments).exits_with(2).with_error(&[meant]);
    }
    let far = place.run(&["info", "columns", "nothing of the kind"]).exits_with(2);
    assert!(!far.err.contains("did you mean"), "{far:#?}");
}

#[test]
fn manual_pages_say_what_exit_codes_mean() {
    for arguments in [&["man"][..], &["man", "report"]] {
        let page = print(arguments);
        let (_, section) = page.split_once(".SH \"EXIT STATUS\"\n").unwrap();
        for code in [0, 1, 2, 130] {
            assert!(section.contains(&format!(".TP\n\\fB{code}\\fR\n")), "{section}");
        }
    }
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
    Workplace::with("").run("man no").exits_with(2).with_error(&["unknown subcommand \"no\"", "report"]);
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
        let short = print(&[subcommand, "-h"]);
        assert!(2 * short.lines().count() < help.lines().count(), "{short}");
    }
    let version = print(&["--version"]);
    assert_eq!(version.trim(), concat!("tracelens ", env!("CARGO_PKG_VERSION")));
}

#[test]
fn columns_are_explained_under_either_name_of_their_sheet() {
    let one = print(&["info", "columns", "ops_all"]);
    assert!(one.starts_with("ops_all (ops_unique_args with --sheet-names current)\n"), "{one}");
    assert!(one.contains("\n  calls, in JSON operation_count\n      "), "{one}");
    assert_eq!(one, print(&["info", "columns", "ops_unique_args"]));
    // Other reports have a sheet of this name too; among all sheets it stands with the others of its report.
    let all = print(&["info", "columns"]);
    let (of_pytorch, of_jax) = one.split_once("\nops_all (tracelens jax)\n").unwrap();
    let (of_jax, _) = of_jax.split_once("\nops_all (tracelens compare)\n").unwrap();
    // Sheets with the same columns are described together, each with its heading.
    let (_, columns_of_pytorch) = of_pytorch.split_once("\n\n").unwrap();
    assert!(
        all.contains(columns_of_pytorch) && all.contains(&format!("\nops_all (tracelens jax)\n{of_jax}"))
    );
    assert!(one.lines().all(|line| line.chars().count() <= 110), "{one}");
}

#[test]
fn columns_name_an_option_only_where_it_changes_the_name() {
    for (report, has_option) in [("pytorch", true), ("jax", true), ("rocprof", true), ("metal", false)] {
        assert_eq!(print(&[report, "--help"]).contains("--sheet-names"), has_option, "{report}");
    }
    let sheet = print(&["info", "columns", "pftrace_kernel_summary"]);
    assert!(
        sheet.starts_with("pftrace_kernel_summary (tracelens rocprof) (kernel_summary in TraceLens)\n"),
        "{sheet}"
    );
}

#[test]
fn an_unknown_sheet_is_answered_with_the_known_ones() {
    Workplace::with("").run("info columns no_sheet").exits_with(2).with_error(&[
        "unknown sheet \"no_sheet\"",
        "gpu_timeline, ",
        "coll_analysis",
    ]);
}
