//! `--extension_file`: models, categories, sheets and tree rules of the user's own.

use crate::program::{Outcome, Sheets, Workplace};
use crate::trace::{kernel, launch, one_operator, operator_with, trace};

const UNIFIED: &str = "unified_perf_summary";
const MY_ATTENTION: &str = include_str!("../../../../examples/extensions/my_attention.py");
const MEGATRON: &str = include_str!("../../../../examples/extensions/megatron_te_v2.py");

const GUIDE: &str = include_str!("../../../../docs/src/guides/extensions.md");

/// Figures and a category of the file's own for `aten::mm`.
const OWN_MATMUL: &str = r#"
from tracelens import work

def matmul(event):
    m, k = event.dims[0]
    n = event.dims[1][1]
    return work(flops = 2 * m * n * k, bytes = 2 * (m * k + k * n + m * n), category = "my/matmul",
                spec = "matrix_bf16", params = {"M": m, "N": n, "K": k})

perf_model_extension = {"aten::mm": matmul}
"#;

/// A place with the generated trace and a script.
fn place(script: &str) -> Workplace {
    let place = Workplace::with_generated();
    place.put("my.py", script);
    place
}

const WITH_SCRIPT: &[&str] = &["--extension_file", "my.py"];

fn report(place: &Workplace, options: &[&str]) -> Outcome {
    let trace = if place.path("trace.json").exists() { "trace.json" } else { "trace.json.gz" };
    place.run(&[&["report", trace], WITH_SCRIPT, options].concat())
}

/// The rows of a sheet, each as the cells of some columns joined by ` | `, as the names of the columns are.
fn rows(sheets: &Sheets, sheet: &str, columns: &str) -> Vec<String> {
    let columns: Vec<_> = columns.split(" | ").map(|column| sheets.column(sheet, column)).collect();
    let cell = |value: &serde_json::Value| value.as_str().map_or(value.to_string(), str::to_owned);
    let row = |row: usize| columns.iter().map(|column| cell(column[row])).collect::<Vec<_>>().join(" | ");
    (0..sheets.rows(sheet).len()).map(row).collect()
}

/// The cells of a column of numbers in the rows of one operator, added up.
fn sum(sheets: &Sheets, sheet: &str, operator: &str, column: &str) -> f64 {
    let names = sheets.column(sheet, "name").into_iter();
    let of_operator = names.zip(sheets.column(sheet, column)).filter(|(name, _)| **name == operator);
    of_operator.map(|(_, value)| value.as_f64().unwrap()).sum()
}

#[test]
fn an_operator_of_a_fork_is_modelled_with_the_family_it_belongs_to() {
    let Some(_) = testdata::python3() else { return };
    let (query, key) = ("[2, 4096, 32, 128]", "[2, 4096, 8, 128]");
    let arguments = format!(
        r#""Input Dims": [{query}, {query}, {key}, {key}, [], [], []],
           "Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "", "", "Scalar"],
           "Concrete Inputs": ["", "", "", "", "", "", "True"]"#
    );
    let forward = operator_with("my_attention::forward", 0.0, 10.0, &arguments);
    let place = Workplace::with(trace(&[forward, launch(1, 2.0), kernel("flash_fwd", 1, 20.0, 1000.0)]));
    assert!(!place.sheets("").has("SDPA_fwd"));
    place.put("my.py", MY_ATTENTION);
    let sheets = place.sheets(WITH_SCRIPT);
    // 2 · 2 · 2 · 4096 · 4096 · 32 · 128 FLOPs, half of them masked; 160 MiB of query, key, value and result.
    let columns = "name | op category | GFLOPS | Data Moved (MB) | Kernel Time (µs)_sum";
    let expected = "my_attention::forward | SDPA_fwd | 274.877906944 | 160.0 | 1000.0";
    assert_eq!(rows(&sheets, UNIFIED, columns), [expected]);
    assert_eq!(rows(&sheets, "SDPA_fwd", "name | GFLOPS_first"), ["my_attention::forward | 274.877906944"]);
    assert_eq!(rows(&sheets, "ops_summary_by_category", "op category | Count"), ["SDPA_fwd | 1"]);
}

#[test]
fn the_files_of_the_guide_do_what_is_said_there() {
    let file = |language: &str| {
        GUIDE.split(&format!("```{language}\n")).nth(1).unwrap().split("```").next().unwrap()
    };
    let arguments = r#""Input Dims": [[4, 1024]], "Input type": ["c10::BFloat16"]"#;
    let place = Workplace::with(trace(&[
        operator_with("my::swiglu", 0.0, 10.0, arguments),
        launch(1, 2.0),
        kernel("k", 1, 20.0, 10.0),
        operator_with("my::swiglu_backward", 40.0, 10.0, arguments),
        launch(2, 42.0),
        kernel("k", 2, 60.0, 10.0),
    ]));
    place.put("my.toml", file("toml"));
    place.put("my.py", file("python"));
    for (extension, is_missing) in [("my.toml", false), ("my.py", testdata::python3().is_none())] {
        if !is_missing {
            the_swiglu_of_the_guide(&place.sheets(&["--extension_file", extension]));
        }
    }
}

fn the_swiglu_of_the_guide(sheets: &Sheets) {
    // 4 · 4096 FLOPs, 3 · 4096 · 2 bytes.
    let expected =
        ["my::swiglu | swiglu | 0.000016384 | 0.0234375", "my::swiglu_backward | swiglu_bwd | null | null"];
    assert_eq!(rows(sheets, UNIFIED, "name | op category | GFLOPS | Data Moved (MB)"), expected);
    let shapes = rows(sheets, "swiglu_fwd", "name | param: shape");
    assert_eq!(shapes, ["my::swiglu | (4, 1024)"]);
}

#[test]
fn a_category_of_the_file_is_in_every_table_and_has_a_sheet_of_its_own() {
    let Some(_) = testdata::python3() else { return };
    let place = place(OWN_MATMUL);
    let (before, after) = (place.sheets(""), place.sheets(WITH_SCRIPT));
    let mut names = before.names();
    names.push("my_matmul_fwd");
    names.sort_unstable();
    assert_eq!(after.names(), names);
    for sheet in ["ops_all", UNIFIED, "coverage"] {
        for row in rows(&after, sheet, "name | op category") {
            let (name, category) = row.split_once(" | ").unwrap();
            assert_eq!(name == "aten::mm", category == "my/matmul", "{sheet}: {row}");
        }
    }
    assert!(rows(&after, "ops_summary", "name | Categories").contains(&r#"aten::mm | ["my/matmul"]"#.into()));
    assert!(rows(&after, "ops_summary_by_category", "op category").contains(&"my/matmul".into()));

    // The formula is that of the built-in model: the figures are the same, in another sheet.
    let time = "Kernel Time (µs)_sum";
    let own = sum(&after, "my_matmul_fwd", "aten::mm", time);
    assert!(own > 0.0 && (own - sum(&before, "GEMM", "aten::mm", time)).abs() < 1e-6, "{own}");
    assert_eq!(sum(&after, "GEMM", "aten::mm", time), 0.0);
    let columns = "name | param: M | param: N | param: K | GFLOPS_first | Data Moved (MB)_first | name_count";
    let of_mm = |sheets: &Sheets, sheet: &str| {
        let mut all = rows(sheets, sheet, columns);
        all.retain(|row| row.starts_with("aten::mm |"));
        all
    };
    assert_eq!(of_mm(&after, "my_matmul_fwd"), of_mm(&before, "GEMM"));
    for sheet in ["ops_all", UNIFIED, "coverage", "my_matmul_fwd"] {
        for column in after.columns(sheet) {
            assert!(!column.is_empty(), "{sheet}");
        }
    }
}

#[test]
fn the_sheet_of_a_category_is_written_in_every_format() {
    let Some(_) = testdata::python3() else { return };
    let place = place(OWN_MATMUL);
    report(&place, &["--output_csvs_dir=sheets", "--output_xlsx_path=r.xlsx", "--output_json_path=r.json"])
        .exits_with(0)
        .with_summary(&["my/matmul 51 "]);
    assert!(place.files("sheets").contains(&"my_matmul_fwd.csv".to_string()));
    let mut workbook = zip::ZipArchive::new(std::fs::File::open(place.path("r.xlsx")).unwrap()).unwrap();
    let mut text = String::new();
    std::io::Read::read_to_string(&mut workbook.by_name("xl/workbook.xml").unwrap(), &mut text).unwrap();
    assert!(text.contains(r#"name="my_matmul_fwd""#), "{text}");
    assert!(Sheets::parse(&String::from_utf8(place.bytes("r.json")).unwrap()).has("my_matmul_fwd"));
}

#[test]
fn a_list_of_names_decides_the_sheet() {
    let Some(_) = testdata::python3() else { return };
    let place = place(
        "dict_cat2names_extension = {'projections': ['aten::mm'], 'UnaryElementwise': ['aten::addmm']}",
    );
    let (before, after) = (place.sheets(""), place.sheets(WITH_SCRIPT));
    assert!(!after.has("GEMM"), "{:?}", after.names());
    let time = "Kernel Time (µs)_sum";
    for (operator, sheet) in [("aten::mm", "projections_fwd"), ("aten::addmm", "UnaryElementwise")] {
        let (own, old) = (sum(&after, sheet, operator, time), sum(&before, "GEMM", operator, time));
        assert!(own > 0.0 && (own - old).abs() < 1e-6, "{operator}: {own} {old}");
    }
    assert_eq!(before.rows(UNIFIED), after.rows(UNIFIED), "only the sheet is another");
}

#[test]
fn a_table_of_the_file_is_a_sheet_of_the_report() {
    let Some(_) = testdata::python3() else { return };
    let place = place(
        "def tree_postprocess_extension(tree):\n    tree.insert_above(tree.roots()[0], 'mine')\n\n\
         def get_additional_dataframes_extension(tree):\n    \
         return {'own': [{'name': e.name, 'n': 1} for e in tree.events_by_name('mine')], 'ops_all': {'x': [1]}}",
    );
    let sheets = place.sheets(WITH_SCRIPT);
    assert_eq!(rows(&sheets, "own", "name | n"), ["mine | 1"]);
    assert_eq!(rows(&sheets, "ops_all~2", "x"), ["1"]);
}

/// A layer of Transformer Engine that launches its matrix product itself, and its backward with two.
fn linear_layer() -> Vec<String> {
    let shapes = r#""Input Dims": [[1024, 512], [20, 512], [], [], []],
        "Input type": ["c10::BFloat16", "c10::BFloat16", "", "", ""],
        "Concrete Inputs": ["", "", "", "", "False"], "Sequence number": 3"#;
    let on_thread_2 = |event: String| event.replacen(r#""tid": 1"#, r#""tid": 2"#, 1);
    let backward = r#""Sequence number": 3"#;
    let node = "autograd::engine::evaluate_function: _LinearBackward";
    vec![
        operator_with("_Linear", 0.0, 100.0, shapes),
        launch(1, 10.0),
        kernel("nvjet_y", 1, 1000.0, 10.0),
        on_thread_2(operator_with(node, 500.0, 100.0, backward)),
        on_thread_2(operator_with("_LinearBackward", 501.0, 90.0, backward)),
        on_thread_2(launch(2, 510.0)),
        kernel("nvjet_x", 2, 1100.0, 20.0),
        on_thread_2(launch(3, 520.0)),
        kernel("nvjet_w", 3, 1200.0, 30.0),
    ]
}

#[test]
fn the_layers_of_megatron_are_their_three_matrix_products() {
    let Some(_) = testdata::python3() else { return };
    let place = Workplace::with(trace(&linear_layer()));
    place.put("my.py", MEGATRON);
    let sheets = place.sheets(WITH_SCRIPT);
    let mut products = rows(&sheets, UNIFIED, "name | op category | GFLOPS | Kernel Time (µs)_sum");
    products.sort_unstable();
    // 2 · 20 · 512 · 1024 FLOPs each.
    assert_eq!(
        products,
        [
            "_LinearBackward_wgrad_mm | GEMM | 0.02097152 | 30.0",
            "_LinearBackward_xgrad_mm | GEMM | 0.02097152 | 20.0",
            "_Linear_yfwd_mm | GEMM | 0.02097152 | 10.0",
        ]
    );
    assert_eq!(sheets.rows("GEMM").len(), 3);
    let launchers = rows(&sheets, "ops_all", "name | op category");
    assert!(launchers.contains(&"_Linear_yfwd_mm | GEMM".to_string()), "{launchers:?}");
}

#[test]
fn a_file_that_cannot_be_used_is_one_error_before_the_trace_is_read() {
    let Some(_) = testdata::python3() else { return };
    for (script, parts) in [
        ("import no_such_module\n", &["my.py:1: ModuleNotFoundError: No module named"][..]),
        ("x = (1\n", &["my.py:1: SyntaxError"]),
        ("x = 1\ny = x // 0\n", &["my.py:2: ZeroDivisionError", "(in loading)"]),
        (
            "\nperf_model_extension = ['x']\n",
            &["my.py:2: perf_model_extension must be a dict", "found a list"],
        ),
    ] {
        let place = place(script);
        let outcome = place.run(&[&["report", "no-trace.json"], WITH_SCRIPT].concat());
        let outcome = outcome.exits_with(2).with_error(parts);
        assert_eq!(outcome.out, "");
        assert_eq!(place.files("."), ["my.py", "trace.json.gz"], "an error writes nothing");
    }
}

#[test]
fn a_file_that_cannot_be_read_or_run_is_one_error() {
    let place = place("");
    place.put("text.py", b"x = '\xff'");
    place.put("my.star", "");
    for (arguments, part) in [
        (&["no.py"][..], "no.py: cannot be read: No such file"),
        (&["."], ".: extension files end in .toml or .py"),
        (&["text.py"], "text.py: cannot be read: stream did not contain valid UTF-8"),
        (&["my.star"], "rename the file to .py, put `from tracelens import model"),
        (
            &["my.py", "--python", "no-such-python"],
            "choose an interpreter with --python, or write the extension in TOML",
        ),
    ] {
        let command = [&["report", "trace.json.gz", "--extension_file"], arguments].concat();
        place.run(&command).exits_with(2).with_error(&[part]);
    }
    let twice = report(&place, &["--extension_file", "my.py"]).exits_with(2);
    assert!(twice.err.contains("cannot be used multiple times"), "{twice:#?}");
}

#[test]
fn a_file_to_start_from_is_written_and_checked() {
    let place = Workplace::with("");
    for (name, form, is_missing) in
        [("new.toml", "a table", false), ("new.py", "a Python file", testdata::python3().is_none())]
    {
        place.run(&["extension", "--init", name]).exits_with(0);
        place.run(&["extension", "--init", name]).exits_with(1).with_error(&["File exists"]);
        if is_missing {
            continue;
        }
        let checked = place.run(&["extension", "--check", name]).exits_with(0);
        for part in [form, "my_attention::forward", "my_attention::backward (SDPA_bwd)"] {
            assert!(checked.out.contains(part), "{checked:#?}");
        }
        let json = place.run(&["extension", "--check", name, "--json"]).exits_with(0).out;
        assert!(json.contains("\"my::swiglu\""), "{json}");
    }
    place.run("extension --init new.star").exits_with(2).with_error(&["end in .toml or .py"]);
    place.run("extension").exits_with(2);
}

#[test]
fn every_spelling_of_the_command_takes_a_script() {
    let Some(_) = testdata::python3() else { return };
    let place = place(OWN_MATMUL);
    for arguments in [
        &["pytorch", "trace.json.gz", "--json", "--extension-file=my.py"][..],
        &["report", "--profile_json_path=trace.json.gz", "--json", "--extension_file=my.py"],
    ] {
        assert!(Sheets::parse(&place.run(arguments).exits_with(0).out).has("my_matmul_fwd"));
    }
}

#[test]
fn a_model_that_fails_leaves_the_reason_in_the_row_and_a_warning() {
    let Some(_) = testdata::python3() else { return };
    let place = place(
        "from tracelens import fail, work\ndef f(event): return work(flops = event.dims[9][0], category = 'x')\n\
         def g(event):\n    fail('only for inference')\n\
         perf_model_extension = {'aten::mm': f, 'aten::addmm': g}",
    );
    let outcome = report(&place, &["--json"]).exits_with(0);
    let sheets = Sheets::parse(&outcome.out);
    let reasons = rows(&sheets, "coverage", "status | name | op category | reason");
    for (operator, reason) in [
        ("aten::mm", "my.py:2: IndexError: tuple index out of range"),
        ("aten::addmm", "my.py:4: only for inference"),
    ] {
        let expected = format!("arguments not recorded | {operator} | GEMM | {reason}");
        assert_eq!(reasons.iter().filter(|row| row.starts_with(&expected)).count(), 1, "{reasons:#?}");
        let warning = format!(" calls have no FLOPs or bytes: {reason}");
        let found = outcome.err.lines().filter(|line| line.contains(&warning)).count();
        assert_eq!(found, 1, "{outcome:#?}");
    }
    assert!(outcome.err.lines().all(|line| line.starts_with("tracelens: warning: ")), "{outcome:#?}");
}

#[test]
fn what_a_file_prints_is_on_standard_error() {
    let Some(_) = testdata::python3() else { return };
    let place = Workplace::with(trace(&one_operator()));
    place.put(
        "my.py",
        "print('loaded')\n\
         def f(event):\n    print(event.name, event.dims, event.kernels[0] + chr(27) + '[31m')\n    return None\n\
         def tree_postprocess_extension(tree):\n    print([event.name for event in tree.roots()])\n\
         perf_model_extension = {'aten::mm': f}\n"
            .replace("chr(27)", "'\\x1b'"),
    );
    let lines = "my.py: ['aten::mm']\nmy.py: loaded\nmy.py: aten::mm ((2, 3),) gemm\\x1b[31m\n";
    for options in [&["--json"][..], &["--output_csvs_dir=sheets"]] {
        let outcome = report(&place, options).exits_with(0);
        assert_eq!(outcome.err, lines);
        assert!(!outcome.out.contains("loaded"), "{outcome:#?}");
    }
    let quiet = report(&place, &["--quiet"]).exits_with(0);
    assert_eq!((quiet.out.as_str(), quiet.err.as_str()), ("", ""));
}

#[test]
fn a_tree_rule_that_fails_is_a_warning_and_the_report_is_made() {
    let Some(_) = testdata::python3() else { return };
    for (body, reason) in [
        ("raise ValueError('no such luck')", "my.py:3: ValueError: no such luck"),
        ("tree.children(17)", "my.py:3: expected an event of the tree, found a int"),
    ] {
        let place = Workplace::with(trace(&one_operator()));
        place.put(
            "my.py",
            format!("def tree_postprocess_extension(tree):\n    print('before')\n    {body}\n"),
        );
        let outcome = report(&place, &["--json"]).exits_with(0);
        let (warning, printed) = outcome.err.split_once('\n').unwrap();
        assert!(warning.starts_with(&format!("tracelens: warning: {reason}")), "{}", outcome.err);
        assert!(
            warning.ends_with("; the report shows the call tree as it was when the rule failed"),
            "{}",
            outcome.err
        );
        assert_eq!(printed, "my.py: before\n");
        assert_eq!(Sheets::parse(&outcome.out).rows("ops_all").len(), 1);
    }
}

#[test]
fn arguments_that_a_tree_rule_sets_reach_the_models() {
    let Some(_) = testdata::python3() else { return };
    let place = place(
        r#"
from tracelens import work

def tree_postprocess_extension(tree):
    for position, event in enumerate(tree.events_by_name("aten::mm")):
        tree.set_arg(event, "position", position)

def f(event):
    return work(flops = event.args["position"], category = "numbered", params = {"position": event.args["position"]})

perf_model_extension = {"aten::mm": f}
"#,
    );
    let sheets = place.sheets(WITH_SCRIPT);
    let calls = sheets.rows("numbered_fwd");
    let positions = sheets.column("numbered_fwd", "param: position");
    let mut positions: Vec<usize> =
        positions.iter().map(|at| at.as_str().unwrap().parse().unwrap()).collect();
    positions.sort_unstable();
    assert!(positions.len() > 1 && positions == (0..calls.len()).collect::<Vec<_>>(), "{positions:?}");
}

#[test]
fn members_without_effect_are_named() {
    let Some(_) = testdata::python3() else { return };
    let place = Workplace::with(trace(&one_operator()));
    place.put("my.py", "perf_models_extension = {}\n");
    let outcome = report(&place, &["--json"]).exits_with(0);
    let expected = "tracelens: warning: my.py:1: perf_models_extension has no effect: a file may define \
                    perf_model_extension, op_category_extension, dict_cat2names_extension, \
                    tree_postprocess_extension, get_additional_dataframes_extension\n";
    assert_eq!(outcome.err, expected);
}

#[test]
fn a_file_gives_the_same_report_on_any_number_of_threads() {
    let Some(_) = testdata::python3() else { return };
    let place = place(OWN_MATMUL);
    let said = |threads| {
        let outcome = report(&place, &["--json", "--threads", threads]).exits_with(0);
        (outcome.out, outcome.err)
    };
    assert_eq!(said("1"), said("4"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_never_ends_ends_with_the_program() {
    let Some(_) = testdata::python3() else { return };
    let place = Workplace::with(trace(&one_operator()));
    place.put("my.py", "import os\nopen('started', 'w').write(str(os.getpid()))\nwhile True: pass\n");
    let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_tracelens"));
    let program = program.args(["report", "trace.json", "--extension_file", "my.py", "-q"]);
    let mut program = program.current_dir(place.path(".")).spawn().unwrap();
    let wait_for = |is_so: &dyn Fn() -> bool| {
        let since = std::time::Instant::now();
        while !is_so() && since.elapsed().as_secs() < 20 {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        assert!(is_so());
    };
    let process = || std::fs::read_to_string(place.path("started")).unwrap_or_default();
    wait_for(&|| !process().is_empty());
    let ended = std::path::PathBuf::from(format!("/proc/{}/exe", process()));
    assert!(ended.exists());
    program.kill().unwrap();
    program.wait().unwrap();
    wait_for(&|| std::fs::read_link(&ended).is_err());
}
