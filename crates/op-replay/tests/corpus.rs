//! Which calls of the tables of reference reports can run again, compared with what TraceLens's event replay takes.

#![allow(clippy::unwrap_used, clippy::expect_used)] // tests fail by them

use std::collections::BTreeMap;

use op_replay::{Operation, SeenTensors};
use perf_models::{OpCall, Value};
use testdata::corpus;

const TABLES: [&str; 11] = [
    "inference/sglang-qwen3-8b-decode/perf_csvs",
    "inference/vllm-prefilldecode-piecewise/perf_csvs",
    "inference/xdit-sd-3.5/perf_csvs",
    "pytorch/h100-falconsai-vit/reference",
    "pytorch/h100-owlv2-large/reference",
    "pytorch/h100-qwen1.5-0.5b/reference",
    "pytorch/mi300-bert-small/reference",
    "pytorch/mi300-qwen1.5-0.5b/reference",
    "pytorch/mi300-timesformer/reference",
    "pytorch/normalization-layers/reference",
    "pytorch/torch-compile-triton/reference",
];

/// A row of `ops_unique_args`.
struct Row {
    name: String,
    /// Shapes, types, strides, values.
    lists: [Option<Vec<Value>>; 4],
    time_us: f64,
}

impl Row {
    fn with<T>(&self, ask: impl FnOnce(&OpCall<'_>) -> T) -> T {
        let [dims, types, strides, concrete] = self.lists.each_ref().map(Option::as_deref);
        ask(&OpCall { name: &self.name, dims, types, strides, concrete, ..OpCall::default() })
    }

    /// Whether TraceLens's event replay makes its form of the call: what it takes by type, apart from schemas. Its lists of
    /// types lack `long int`, which recorders write, lists of tensors and texts (`gelu`, `index`); it cannot fill tensors of integers.
    fn is_taken_by_tracelens(&self) -> bool {
        let [_, types, ..] = &self.lists;
        let taken = |of: &Value| {
            matches!(
                of.as_text().unwrap(),
                "" | "Scalar" | "ScalarList" | "double" | "float" | "c10::Half" | "c10::BFloat16"
            )
        };
        self.name.starts_with("aten::")
            && !matches!(&*self.name, "aten::gelu" | "aten::index")
            && types.as_ref().is_some_and(|types| types.iter().all(taken))
    }
}

fn rows(table: &str) -> Option<Vec<Row>> {
    let path = corpus(table)?.join("ops_unique_args.csv");
    let mut reader = csv::Reader::from_path(path).unwrap();
    let headers = reader.headers().unwrap().clone();
    let column = |name: &str| headers.iter().position(|header| header == name).unwrap();
    let lists = ["Input Dims", "Input type", "Input Strides", "Concrete Inputs"].map(column);
    let [name, time] = ["name", "total_direct_kernel_time_sum"].map(column);
    let rows = reader.records().map(|record| {
        let record = record.unwrap();
        let list = |column: usize| match Value::from_literal(&record[column]) {
            Ok(Value::Tuple(items) | Value::List(items)) => Some(items),
            _ => None,
        };
        Row { name: record[name].to_owned(), lists: lists.map(list), time_us: record[time].parse().unwrap() }
    });
    Some(rows.collect())
}

#[test]
fn every_call_that_tracelens_replays_and_most_others_can_run_again() {
    let mut refused: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut counts = Counts::default();
    for table in TABLES {
        let Some(rows) = rows(table) else { return };
        let mut seen = SeenTensors::default();
        rows.iter().for_each(|row| row.with(|call| seen.observe(call)));
        for row in rows {
            let read = row.with(|call| Operation::read(call, &seen, None));
            counts.rows += 1;
            counts.time_us += row.time_us;
            let theirs = row.is_taken_by_tracelens();
            counts.of_tracelens += usize::from(theirs);
            match read {
                Ok(operation) => {
                    counts.replayed += 1;
                    counts.by_known_schema += usize::from(operation.overload.is_some());
                    counts.certain += usize::from(operation.assumed.is_empty());
                    counts.replayed_us += row.time_us;
                }
                Err(refusal) => {
                    assert!(!theirs, "{table}: {} {refusal}", row.name);
                    *refused.entry((row.name, refusal.to_string())).or_default() += 1;
                }
            }
        }
    }
    let share = counts.replayed_us / counts.time_us;
    assert!((share - 0.956).abs() < 0.001, "{share}");
    let Counts { rows, of_tracelens, replayed, by_known_schema, certain, .. } = counts;
    assert_eq!((rows, of_tracelens), (549, 368));
    assert_eq!((replayed, by_known_schema, certain), (508, 485, 459));
    // Of PyTorch's own operators, those whose arguments the recorder left out.
    refused.retain(|(name, _), _| name.contains("::"));
    let indices = "the value of indices (Tensor?[]) was not recorded";
    assert_eq!(refused, BTreeMap::from([(("aten::index".to_owned(), indices.to_owned()), 4)]));
}

#[derive(Default)]
struct Counts {
    rows: usize,
    of_tracelens: usize,
    replayed: usize,
    by_known_schema: usize,
    certain: usize,
    time_us: f64,
    replayed_us: f64,
}
