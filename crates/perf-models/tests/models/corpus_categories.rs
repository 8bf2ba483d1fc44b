//! Compares categories with the reports in a corpus of recorded traces.
//!
//! The corpus is not part of the repository; `testdata` says where it lies and what its absence means.

use std::collections::BTreeSet;
use std::path::PathBuf;

use perf_models::{Category, Tables};

/// Every report of this name in the corpus, in order of path.
fn reports(file: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for (group, reports) in [("pytorch", "reference"), ("inference", "perf_csvs")] {
        let Some(folder) = testdata::corpus(group) else { continue };
        let traces = std::fs::read_dir(folder).unwrap();
        let paths = traces.map(|trace| trace.unwrap().path().join(reports).join(file));
        found.extend(paths.filter(|path| path.is_file()));
    }
    found.sort();
    found
}

/// The values of `'name': '...'` in a printed list of Python dictionaries.
fn kernel_names(details: &str) -> Vec<&str> {
    let name_at_start = |text| {
        let quote = str::chars(text).next().unwrap();
        let (name, _) = text[1..].split_once(&format!("{quote}, '")).unwrap();
        name
    };
    details.split("'name': ").skip(1).map(name_at_start).collect()
}

#[test]
fn operators_of_recorded_traces_have_the_categories_of_their_reports() {
    let reports = reports("ops_unique_args.csv");
    if reports.is_empty() {
        return;
    }

    let (mut rows, mut names, mut categories) = (0, BTreeSet::new(), BTreeSet::new());
    let mut wrong = BTreeSet::new();
    for path in reports {
        let mut report = csv::Reader::from_path(&path).unwrap();
        let header = report.headers().unwrap().clone();
        let column = |name: &str| header.iter().position(|column| column == name).unwrap();
        let (name_column, category_column, kernels_column) =
            (column("name"), column("op category"), column("kernel_details_summary"));
        for row in report.records() {
            let row = row.unwrap();
            let (name, expected) = (&row[name_column], &row[category_column]);
            // The report lists kernels by their total time, so the first in time may be any of them.
            let kernels = kernel_names(&row[kernels_column]);
            let possible: BTreeSet<Category> = match kernels.as_slice() {
                [] => BTreeSet::from([Tables::Common.op_category(name, None)]),
                kernels => {
                    kernels.iter().map(|kernel| Tables::Common.op_category(name, Some(kernel))).collect()
                }
            };
            rows += 1;
            names.insert(name.to_owned());
            categories.insert(expected.to_owned());
            if !possible.iter().any(|category| category.as_str() == expected) {
                wrong.insert(format!("{}: {name}: {possible:?}, not {expected}", path.display()));
            }
        }
    }
    eprintln!("{rows} rows, {} operators, categories {categories:?}", names.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
}
