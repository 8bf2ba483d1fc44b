//! Models, categories, sheets and tree rules beside the built-in ones.

use std::error::Error;
use std::sync::Arc;

use perf_models::{ComputeSpec, Family, Figure, OpCall, Parameter, PerfModel, Undefined, Value};
use testdata::trace::correlated;
use trace_ingest::{Category, Collective, EventArguments};
use trace2tree::{PseudoOperator, TraceTree};
use tree_perf::{
    Analysis, AnalysisExtension, AnalysisOptions, ExtensionModel, Notice, TreeChanges, pytorch_sheets,
};

use crate::common::Table;
use crate::fixture::Fixture;

/// Figures that do not depend on the call, and what the model saw of it.
#[derive(Debug, Default)]
struct Fixed {
    backward: Option<f64>,
    seen: Option<Value>,
}

impl PerfModel for Fixed {
    fn flops(&self) -> Figure {
        Ok(4e9)
    }

    fn bytes(&self) -> Figure {
        Ok(1048576.0)
    }

    fn backward_flops(&self) -> Figure {
        self.backward.ok_or_else(|| Undefined::no_formula("no backward"))
    }

    fn backward_bytes(&self) -> Figure {
        self.backward_flops()
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        None
    }

    fn parameters(&self) -> Vec<Parameter> {
        self.seen.iter().map(|value| ("seen", value.clone())).collect()
    }
}

fn model(category: &str, figures: Fixed) -> Result<ExtensionModel, Undefined> {
    Ok(ExtensionModel { model: Arc::new(figures), family: None, category: category.to_owned() })
}

type Change = fn(&mut TraceTree) -> Result<TreeChanges, Box<dyn Error + Send + Sync>>;

struct Extension {
    modelled: &'static [&'static str],
    model: fn(&OpCall<'_>) -> Result<ExtensionModel, Undefined>,
    categories: &'static [(&'static str, &'static str)],
    sheets: &'static [(&'static str, &'static str)],
    change: Change,
}

const NOTHING: Extension = Extension {
    modelled: &[],
    model: |_| Err(Undefined::no_formula("not asked for")),
    categories: &[],
    sheets: &[],
    change: |_| Ok(TreeChanges::default()),
};

impl AnalysisExtension for Extension {
    fn change_tree(&self, tree: &mut TraceTree) -> Result<TreeChanges, Box<dyn Error + Send + Sync>> {
        (self.change)(tree)
    }

    fn has_model(&self, operator: &str) -> bool {
        self.modelled.contains(&operator)
    }

    fn model(&self, call: &OpCall<'_>) -> Option<Result<ExtensionModel, Undefined>> {
        self.has_model(call.name).then(|| (self.model)(call))
    }

    fn category(&self, operator: &str) -> Option<&str> {
        self.categories.iter().find(|(name, _)| *name == operator).map(|(_, category)| *category)
    }

    fn sheets(&self, operator: &str) -> Vec<&str> {
        self.sheets.iter().filter(|(name, _)| *name == operator).map(|(_, sheet)| *sheet).collect()
    }
}

fn analyse(fixture: Fixture, extension: Extension) -> Analysis {
    let options = AnalysisOptions { kernel_summary: true, ..AnalysisOptions::default() };
    Analysis::with_extension(fixture.builder.finish(), options, Box::new(extension))
}

/// Names of the roofline sheets of the extension that have rows, with the operators in them.
fn own_sheets(analysis: &Analysis) -> Vec<String> {
    let sheets = analysis.extension_sheets();
    let with_rows = sheets.iter().filter_map(|sheet| sheet.table(analysis).unwrap());
    with_rows
        .map(|table| {
            let operators = Table::new(&table).select("name");
            format!("{}: {}", table.name(), operators.join(", "))
        })
        .collect()
}

fn own_sheet(analysis: &Analysis, name: &str) -> Table {
    let sheets = analysis.extension_sheets();
    let sheet = sheets.iter().find(|sheet| sheet.name == name).unwrap();
    Table::new(&sheet.table(analysis).unwrap().unwrap())
}

/// An operator that no built-in model knows and a matrix product.
fn two_operators() -> Fixture {
    let mut fixture = Fixture::new();
    fixture.call("my::op", 0.0, &[("mine", 7, 1000.0, 40.0)]);
    fixture.mm(20.0, &[("gemm", 7, 1100.0, 10.0)]);
    fixture
}

#[test]
fn a_model_of_the_extension_has_its_figures_and_category_in_every_table() {
    let extension =
        Extension { modelled: &["my::op"], model: |_| model("my/work", Fixed::default()), ..NOTHING };
    let analysis = analyse(two_operators(), extension);
    for (sheet, columns, rows) in [
        ("ops_summary_by_category", "op category | Count", ["my/work | 1", "GEMM | 1"]),
        ("ops_summary", "name | Categories", ["my::op | my/work", "aten::mm | GEMM"]),
        ("ops_all", "name | op category", ["my::op | my/work", "aten::mm | GEMM"]),
        ("kernel_summary", "Kernel name | Parent op category", ["mine | my/work", "gemm | GEMM"]),
        (
            "coverage",
            "status | name | op category",
            ["modelled | my::op | my/work", "modelled | aten::mm | GEMM"],
        ),
        (
            "unified_perf_summary",
            "name | op category | GFLOPS | Data Moved (MB) | TFLOPS/s_mean",
            ["my::op | my/work | 4 | 1 | 100", "aten::mm | GEMM | 0.000524288 | 0.0546875 | 0.0524288"],
        ),
    ] {
        assert_eq!(Table::of_sheet(&analysis, sheet).select(columns), rows, "{sheet}");
    }
    assert_eq!(own_sheets(&analysis), ["my_work_fwd: my::op"]);
    let own = own_sheet(&analysis, "my_work_fwd");
    let figures = "GFLOPS_first | Data Moved (MB)_first | TFLOPS/s_mean | Kernel Time (µs)_sum";
    assert_eq!(own.select(figures), ["4 | 1 | 100 | 40"]);
    assert_eq!(Table::of_sheet(&analysis, "GEMM").select("name"), ["aten::mm"]);
    assert_eq!(analysis.notices(), []);
}

#[test]
fn a_built_in_model_gives_way() {
    let extension = Extension {
        modelled: &["aten::mm"],
        model: |_| Ok(ExtensionModel { family: Some(Family::Gemm), ..model("GEMM", Fixed::default())? }),
        ..NOTHING
    };
    let analysis = analyse(two_operators(), extension);
    let table = Table::of_sheet(&analysis, "GEMM");
    assert_eq!(table.select("name | GFLOPS_first | name_count"), ["aten::mm | 4 | 1"]);
    assert_eq!(own_sheets(&analysis), Vec::<String>::new());
}

#[test]
fn the_category_of_a_name_comes_before_that_of_a_model() {
    let extension = Extension {
        modelled: &["my::op"],
        model: |_| model("SDPA_fwd", Fixed::default()),
        categories: &[("my::op", "mine"), ("aten::mm", "projections")],
        ..NOTHING
    };
    let analysis = analyse(two_operators(), extension);
    let categories = Table::of_sheet(&analysis, "ops_all").select("name | op category");
    assert_eq!(categories, ["my::op | mine", "aten::mm | projections"]);
    // A category of its own has sheets of its own, also for operators of a built-in family.
    assert_eq!(own_sheets(&analysis), ["mine_fwd: my::op", "projections_fwd: aten::mm"]);
    assert!(Table::build(&analysis, "GEMM").is_none());
}

#[test]
fn a_built_in_category_does_not_move_an_operator_to_another_family() {
    let extension = Extension { categories: &[("aten::mm", "SDPA_fwd")], ..NOTHING };
    let analysis = analyse(two_operators(), extension);
    let categories = Table::of_sheet(&analysis, "ops_all").select("name | op category");
    assert_eq!(categories, ["my::op | other", "aten::mm | SDPA_fwd"]);
    assert_eq!(Table::of_sheet(&analysis, "GEMM").select("name"), ["aten::mm"]);
    assert!(Table::build(&analysis, "SDPA_fwd").is_none());
}

#[test]
fn a_list_of_names_decides_in_which_sheets_modelled_operators_stand() {
    let extension = Extension {
        modelled: &["my::op"],
        model: |_| model("mine", Fixed::default()),
        sheets: &[("my::op", "GEMM"), ("aten::mm", "products"), ("aten::mm", "SDPA"), ("no::model", "GEMM")],
        ..NOTHING
    };
    let mut fixture = two_operators();
    fixture.call("no::model", 40.0, &[("k", 7, 1200.0, 10.0)]);
    let analysis = analyse(fixture, extension);
    assert_eq!(Table::of_sheet(&analysis, "GEMM").select("name"), ["my::op"]);
    assert_eq!(Table::of_sheet(&analysis, "SDPA_fwd").select("name"), ["aten::mm"]);
    assert_eq!(own_sheets(&analysis), ["products_fwd: aten::mm"]);
    let categories = Table::of_sheet(&analysis, "ops_all").select("name | op category");
    assert_eq!(
        categories,
        ["my::op | mine", "aten::mm | GEMM", "no::model | other"],
        "lists are not categories"
    );
}

#[test]
fn a_call_that_the_model_cannot_read_has_the_reason_in_its_row_and_a_notice() {
    let extension = Extension {
        modelled: &["my::op", "aten::mm"],
        model: |call| match call.name {
            "my::op" => Err(Undefined::arguments("my.py:3: no shapes")),
            _ => Err(Undefined::no_formula("nothing to say")),
        },
        ..NOTHING
    };
    let mut fixture = two_operators();
    fixture.call("my::op", 40.0, &[("mine", 7, 1200.0, 40.0)]);
    let analysis = analyse(fixture, extension);
    let rows = Table::of_sheet(&analysis, "coverage").select("status | name | reason");
    assert_eq!(
        rows,
        ["arguments not recorded | my::op | my.py:3: no shapes", "no model | aten::mm | nothing to say"]
    );
    let failed = Notice::ExtensionModelFailed { reason: "my.py:3: no shapes".into(), calls: 2 };
    assert_eq!(failed.to_string(), "2 calls have no FLOPs or bytes: my.py:3: no shapes");
    assert_eq!(analysis.notices(), [failed]);
    let categories = Table::of_sheet(&analysis, "ops_all").select("name | op category");
    assert_eq!(categories, ["my::op | other", "aten::mm | GEMM"]);
}

/// Gives every call of `my::op` its number.
fn number(tree: &mut TraceTree) -> Result<TreeChanges, Box<dyn Error + Send + Sync>> {
    let calls = tree.find_by_name("my::op").iter().enumerate();
    let attributes =
        calls.map(|(number, &call)| (call, vec![("number".to_owned(), Value::Int(number as i64))])).collect();
    Ok(TreeChanges { attributes, ..TreeChanges::default() })
}

#[test]
fn arguments_of_the_tree_rule_reach_the_models_call_by_call() {
    let extension = Extension {
        modelled: &["my::op"],
        model: |call| {
            let seen =
                call.attributes.iter().find(|(name, _)| *name == "number").map(|(_, value)| value.clone());
            model("mine", Fixed { seen, ..Fixed::default() })
        },
        change: number,
        ..NOTHING
    };
    let mut fixture = two_operators();
    fixture.call("my::op", 40.0, &[("mine", 7, 1200.0, 30.0)]);
    let analysis = analyse(fixture, extension);
    let rows = own_sheet(&analysis, "mine_fwd").select("param: seen | name_count");
    assert_eq!(rows, ["0 | 1", "1 | 1"]);
}

#[test]
fn operators_that_the_rule_inserts_are_in_the_tables() {
    let extension = Extension {
        modelled: &["my::part"],
        model: |_| model("parts", Fixed::default()),
        change: |tree| {
            let kernel = tree.device_events(tree.find_by_name("my::op")[0])[0];
            let mut edit = tree.edit();
            edit.isolate(kernel, PseudoOperator { name: "my::part", ..PseudoOperator::default() })?;
            edit.finish();
            Ok(TreeChanges::default())
        },
        ..NOTHING
    };
    let analysis = analyse(two_operators(), extension);
    let rows = Table::of_sheet(&analysis, "ops_all").select("name | op category");
    assert_eq!(rows, ["my::part | parts", "aten::mm | GEMM"]);
    assert_eq!(own_sheets(&analysis), ["parts_fwd: my::part"]);
}

#[test]
fn a_rule_that_fails_is_a_notice_and_the_report_is_made() {
    let extension = Extension { change: |_| Err("my.py:2: no such luck".into()), ..NOTHING };
    let analysis = analyse(two_operators(), extension);
    let failed = Notice::ExtensionRuleFailed { reason: "my.py:2: no such luck".into() };
    assert_eq!(
        failed.to_string(),
        "my.py:2: no such luck; the report shows the call tree as it was when the rule failed"
    );
    assert!(failed.is_extension_notice());
    assert_eq!(analysis.notices(), [failed]);
    assert_eq!(Table::of_sheet(&analysis, "ops_all").rows.len(), 2);
}

/// A forward operator with its autograd node and backward operator.
fn with_backward() -> Fixture {
    let mut fixture = Fixture::new();
    let shaped = fixture.arguments(&[(&[8, 4], "float", "")]);
    let forward = EventArguments { sequence_number: Some(5), ..shaped };
    fixture.event(Category::CPU_OP, "my::op", (1, 1), (0.0, 10.0), forward);
    fixture.launches(1.0, &[("forward", 7, 1000.0, 20.0)]);
    let node = "autograd::engine::evaluate_function: my::opBackward";
    fixture.op_with_sequence(2, node, (100.0, 30.0), 5);
    fixture.op_with_sequence(2, "my::opBackward", (105.0, 20.0), 5);
    let correlation = fixture.correlation();
    fixture.event(Category::CUDA_RUNTIME, "cudaLaunchKernel", (1, 2), (110.0, 1.0), correlated(correlation));
    fixture.device(Category::KERNEL, ("backward", 7, 1100.0, 50.0), correlation);
    fixture
}

#[test]
fn backward_figures_have_the_backward_operator_and_a_backward_sheet() {
    let extension = Extension {
        modelled: &["my::op"],
        model: |_| model("mine_fwd", Fixed { backward: Some(8e9), ..Fixed::default() }),
        ..NOTHING
    };
    let analysis = analyse(with_backward(), extension);
    let columns = "name | op category | GFLOPS | Kernel Time (µs)_sum";
    assert_eq!(
        Table::of_sheet(&analysis, "unified_perf_summary").select(columns),
        ["my::opBackward | mine_bwd | 8 | 50", "my::op | mine_fwd | 4 | 20"]
    );
    assert_eq!(own_sheets(&analysis), ["mine_fwd: my::op", "mine_bwd: my::op"]);
    let backward = own_sheet(&analysis, "mine_bwd").select("GFLOPS_first | Kernel Time (µs)_sum");
    assert_eq!(backward, ["8 | 50"]);
}

#[test]
fn a_model_of_a_backward_operator_sees_the_forward_call() {
    let extension = Extension {
        modelled: &["my::opBackward"],
        model: |call| {
            let forward = call.forward.ok_or(Undefined::arguments("no forward"))?;
            let seen = forward.dims.and_then(|dims| dims.first().cloned());
            model("mine_bwd", Fixed { seen, ..Fixed::default() })
        },
        ..NOTHING
    };
    let analysis = analyse(with_backward(), extension);
    // Backward work by its own figures.
    assert_eq!(own_sheets(&analysis), ["mine_bwd: my::opBackward"]);
    let rows = own_sheet(&analysis, "mine_bwd").select("param: seen | GFLOPS_first");
    assert_eq!(rows, ["[8, 4] | 4"]);
}

#[test]
fn a_model_sees_the_annotation_around_the_call_and_what_is_recorded_of_a_collective() {
    let extension = Extension {
        modelled: &["my::op", "my::all_reduce"],
        model: |call| {
            let group =
                call.attributes.iter().find(|(name, _)| *name == "Group size").map(|(_, size)| size.clone());
            model("mine", Fixed { seen: group.or(call.annotation.map(Value::from)), ..Fixed::default() })
        },
        ..NOTHING
    };
    let mut fixture = two_operators();
    fixture.annotation("step 1", 1, (-1.0, 30.0));
    for (at, group_size) in [(40.0, 8), (60.0, 4)] {
        let collective = Some(Collective { group_size: Some(group_size), ..Collective::default() });
        let arguments = EventArguments { collective, ..EventArguments::default() };
        fixture.event(Category::CPU_OP, "my::all_reduce", (1, 1), (at, 10.0), arguments);
        fixture.launches(at + 1.0, &[("reduce", 7, 1200.0 + at, 10.0)]);
    }
    let analysis = analyse(fixture, extension);
    let rows = own_sheet(&analysis, "mine_fwd").select("name | param: seen");
    assert_eq!(rows, ["my::op | step 1", "my::all_reduce | 8", "my::all_reduce | 4"]);
}

#[test]
fn the_order_in_which_sheets_are_made_changes_nothing() {
    let analysis = || {
        let extension = Extension {
            modelled: &["my::op"],
            model: |call| {
                let seen = call.attributes.first().map(|(_, value)| value.clone());
                model(
                    if seen == Some(Value::Int(0)) { "one" } else { "two" },
                    Fixed { seen, ..Fixed::default() },
                )
            },
            change: number,
            ..NOTHING
        };
        let mut fixture = two_operators();
        fixture.call("my::op", 40.0, &[("mine", 7, 1200.0, 30.0)]);
        analyse(fixture, extension)
    };
    let (first, last) = (analysis(), analysis());
    let all = |analysis: &Analysis, sheets: &mut dyn Iterator<Item = String>| -> Vec<String> {
        let mut tables: Vec<String> = sheets
            .filter_map(|sheet| Some(format!("{sheet} {:?}", Table::build(analysis, &sheet)?.rows)))
            .collect();
        tables.sort();
        tables
    };
    let forwards = all(&first, &mut pytorch_sheets().into_iter().map(|sheet| sheet.name.into_owned()));
    let own = own_sheets(&last);
    let backwards = all(&last, &mut pytorch_sheets().into_iter().rev().map(|sheet| sheet.name.into_owned()));
    assert_eq!(forwards, backwards);
    assert_eq!(own, own_sheets(&first));
    assert_eq!(own, ["one_fwd: my::op", "two_fwd: my::op"]);
}
