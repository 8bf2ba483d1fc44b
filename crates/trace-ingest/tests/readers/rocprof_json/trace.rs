//! A profile as a trace.

use trace_ingest::{Category, ReadOptions, RowId, read_path};

use super::{file, synthetic};

#[test]
fn a_profile_is_a_trace_too() {
    let (_directory, path) = file(synthetic());
    let trace = read_path(&path, &ReadOptions::default()).unwrap();
    let events = trace.events();
    let of =
        |category: Category| events.ids().filter(|&id| events.category(id) == category).collect::<Vec<_>>();
    let kernels = of(Category::KERNEL);
    assert_eq!(kernels.len(), 6);
    let first = kernels[0];
    assert_eq!((trace.name(first), events.duration(first)), ("a_gemm()", 5));
    assert_eq!((trace.origin(), events.start(first)), (80, 20));
    assert_eq!((events.device(first), events.stream(first)), (Some(0), Some(3)));
    let geometry = events.arguments().geometry.get(first.index()).unwrap();
    assert_eq!((geometry.grid, geometry.block), ([4, 2, 1], [256, 1, 1]));
    assert_eq!((geometry.registers_per_thread, geometry.shared_memory), (Some(32), Some(512)));

    let call = of(Category::CUDA_RUNTIME)[0];
    assert_eq!(trace.name(call), "hipLaunchKernel");
    assert_eq!(events.correlation(call), events.correlation(first));
    let track = trace.tracks().get(events.track(call));
    assert_eq!((track.pid, track.tid), (RowId::Number(908), RowId::Number(908)));
    assert_eq!(trace.name(of(Category::USER_ANNOTATION)[0]), "step \"1\"");
    let copy = of(Category::GPU_MEMCPY)[0];
    assert_eq!(events.arguments().transfer.get(copy.index()).and_then(|transfer| transfer.bytes), Some(4096));
    assert_eq!(trace.facts().devices[0].name.as_deref(), Some("AMD Instinct MI350X"));
    assert!(trace.warnings()[0].to_string().contains("named by kernel number"), "{:?}", trace.warnings());
}
