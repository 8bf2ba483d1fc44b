//! The tables of operators held against the device's work.

use tree_perf::AnalysisOptions;

use crate::fixture::{Analysed, Fixture};

#[test]
fn tables_that_have_everything_pass() {
    let mut fixture = Fixture::new();
    fixture.mm(0.0, &[("gemm", 7, 1000.0, 5.0), ("gemm", 8, 1002.0, 5.0)]);
    fixture.call("c10d::allreduce_", 20.0, &[("ncclDevKernel_AllReduce", 8, 1040.0, 80.0)]);
    fixture.launches(40.0, &[("bare", 7, 1200.0, 4.0)]);
    fixture.unlinked(("lost", 7, 1300.0, 9.0));
    let check = fixture.analyse(AnalysisOptions::default()).sanity_check().unwrap();
    assert!(check.passes(), "{check:?}");
    assert_eq!((check.computation_time_us, check.device_events), (11.0, 3));
    for sums in [&check.launchers, &check.unified] {
        assert_eq!((sums.kernel_time_us, sums.device_events), (11.0, 3));
    }
}

#[test]
fn a_trace_without_operators_has_no_tables_to_check() {
    let mut fixture = Fixture::new();
    fixture.unlinked(("k", 7, 1000.0, 5.0));
    assert!(fixture.analyse(AnalysisOptions::default()).sanity_check().is_none());
}
