//! `tracelens jax`: reports of XPlane profiles, and what it says of files that are none.

use crate::program::{Sheets, Workplace, generated, run_as};
use crate::xplane::{bytes, gpu, number, program};

fn profile(kernels: &[(&str, u64)]) -> Vec<u8> {
    gpu(0, kernels)
}

fn recorded_on_cpu() -> &'static str {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/recorded/cpu/jax_step.xplane.pb")
}

fn place(kernels: &[(&str, u64)]) -> Workplace {
    let place = Workplace::with("{}");
    place.put("host.xplane.pb", profile(kernels));
    place
}

/// One host of two GPUs, with the program that they ran.
fn with_program() -> Workplace {
    let place = Workplace::with("{}");
    let kernels = &[("dot.1", 60), ("all-reduce.1", 35)];
    place.put("host.xplane.pb", [gpu(0, kernels), gpu(1, kernels), program()].concat());
    place
}

const KERNELS: &[(&str, u64)] =
    &[("gemm_fusion_dot.1", 60), ("loop_add_fusion", 30), ("loop_add_fusion.2", 10)];

#[test]
fn a_report_names_what_bounds_the_program() {
    let place = place(KERNELS);
    place.run("jax host.xplane.pb").exits_with(0).with_summary(&[
        "largest: GEMM, 60.0% of kernel time; idle 2.0% of the window; largest instruction: gemm_fusion_dot, 60.0%",
        "/device:GPU:0 window 102.0 µs (first start to last end): busy 100.0 µs, idle 2.000 µs",
        "jit_f: 1 execution on GPUs",
        "gemm_fusion_dot 1 60.000 60.0",
        "loop_add_fusion 2 40.000 40.0",
        "warning: 3 kernels (100.000 µs) name instructions missing from the profile",
        "wrote host_perf_report.xlsx",
    ]);
    assert_eq!(place.files(""), ["host.xplane.pb", "host_perf_report.xlsx", "trace.json"]);
}

#[test]
fn report_makes_the_same_report() {
    let place = place(KERNELS);
    let [jax, report] = ["jax", "report"]
        .map(|command| place.run(&[command, "host.xplane.pb", "--json", "--parity"]).exits_with(0));
    let report_out = report.out.replace(r#""name": "report""#, r#""name": "jax""#);
    assert_eq!((jax.out, jax.err), (report_out, report.err));
    let outcome = place.run("report host.xplane.pb --detect_recompute").exits_with(2);
    outcome.with_error(&["--detect_recompute applies to PyTorch traces", "an XPlane profile"]);
    let outcome = place.run("report host.xplane.pb --parity hta").exits_with(2);
    outcome.with_error(&["--parity hta applies to PyTorch traces"]);
}

#[test]
fn the_report_of_traces_points_to_this_one() {
    let place = place(KERNELS);
    place.run("pytorch host.xplane.pb").exits_with(0).with_summary(&[
        "an XPlane profile has its own, more detailed report help: create it with `tracelens jax`",
        // Nothing but the GPU was recorded: its kernels are listed without being asked for.
        "3 device events (100.0 µs) without a launch in the recording: counted in the timeline",
        "gemm_fusion_dot.1",
    ]);
}

#[test]
fn the_reference_tools_arguments_work_under_its_name() {
    let place = place(KERNELS);
    let link = place.path("TraceLens_generate_perf_report_jax");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_tracelens"), &link).unwrap();
    let arguments = ["--profile_path", "host.xplane.pb", "--output_csvs_dir", "sheets", "--quiet"];
    let outcome = run_as(&link, &arguments, &place.path("")).exits_with(0);
    assert_eq!((outcome.out.as_str(), outcome.err.as_str()), ("", ""));
    let files = place.files("sheets");
    for sheet in [
        "gpu_timeline",
        "gpu_events_averages",
        "kernel_launchers",
        "kernel_launchers_summary",
        "kernel_launchers_summary_by_category",
        "kernel_launchers_unique_args",
        "df_xla_perf",
        "xla_summary",
        "ops_summary_by_category",
        "ops_summary",
        "ops_all",
        "op_gemm",
        "steps",
    ] {
        assert!(files.contains(&format!("{sheet}.csv")), "{sheet} in {files:?}");
    }
    let summary = String::from_utf8(place.bytes("sheets/kernel_launchers_summary_by_category.csv")).unwrap();
    assert!(summary.lines().nth(1).unwrap().starts_with("GEMM,1,0.06,60.0,60.0,0.06"), "{summary}");
}

#[test]
fn options_of_the_report_have_an_effect() {
    let copies = &[("gemm_fusion_dot.1", 60), ("__amd_rocclr_copyBuffer.kd", 30)];
    let place = place(copies);
    let with_copies = |options: &[&str]| {
        let outcome = place.run(&[&["jax", "host.xplane.pb", "--json"], options].concat()).exits_with(0);
        Sheets::parse(&outcome.out).timeline("total_memcpy_time")
    };
    assert_eq!(with_copies(&[]), 0.0);
    assert_eq!(with_copies(&["--rebucket_copy_kernels"]), 0.03);
    let keyword = &["jax", "host.xplane.pb", "--json", "--kernel_metadata_keyword_filters", "nothing"];
    let outcome = place.run(keyword).exits_with(0);
    assert!(outcome.err.contains("no kernel matches nothing in its operation or source file"), "{outcome:?}");
    assert!(Sheets::parse(&outcome.out).rows("kernel_launchers").is_empty());
    place.run("jax host.xplane.pb --enable-origami").exits_with(2).with_error(&["not supported"]);
    place.run("jax host.xplane.pb --gpu_arch_platform x").exits_with(2).with_error(&["unknown architecture"]);
}

#[test]
fn what_is_no_profile_of_a_device_is_told() {
    let place = Workplace::with(r#"{"traceEvents": []}"#);
    place.put("text", "hello");
    let run = |path: &str| place.run(&["jax", path]).exits_with(2);
    run(recorded_on_cpu()).with_error(&["has no device, only", "/host:CPU", "on a GPU or TPU"]);
    run("trace.json")
        .with_error(&["trace.json: is an event trace; expected an XPlane profile", "`tracelens report`"]);
    run(generated().to_str().unwrap()).with_error(&["expected an XPlane profile", "`tracelens report`"]);
    run("text").with_error(&["text: not recognized", "plugins/profile/<time>/<host>.xplane.pb"]);
    run("absent").with_error(&["absent: cannot be read"]);
    run(".").with_error(&["is a directory; pass a recording inside it: ./trace.json"]);
    std::fs::create_dir_all(place.path("plugins/profile/today")).unwrap();
    place.put("plugins/profile/today/host.xplane.pb", profile(KERNELS));
    run(".")
        .with_error(&["is a directory; pass a recording inside it: ./plugins/profile/today/host.xplane.pb"]);
    place.run("jax").exits_with(2);
}

#[test]
fn a_profile_cut_anywhere_is_reported_or_refused() {
    let whole = profile(KERNELS);
    for length in (0..whole.len()).step_by(13) {
        let place = Workplace::with("{}");
        place.put("host.xplane.pb", &whole[..length]);
        let outcome = place.run("jax host.xplane.pb --quiet --output_csvs_dir s");
        assert!([0, 2].contains(&outcome.code) && !outcome.err.contains("panicked"), "{length}: {outcome:?}");
    }
}

#[test]
fn a_profile_without_devices_has_no_report() {
    let place = Workplace::with("{}");
    for (command, why) in [("report", "has no device"), ("pytorch", "has no GPU events")] {
        place.run(&[command, recorded_on_cpu()]).exits_with(2).with_error(&[why, "`tracelens tree --all`"]);
    }
}

#[test]
fn kernels_with_a_given_text_in_their_name_communicate() {
    let place = place(&[("gemm_fusion_dot.1", 60), ("halo_exchange", 30)]);
    let run = |options: &[&str]| {
        let outcome = place.run(&[&["jax", "host.xplane.pb", "--json"], options].concat()).exits_with(0);
        Sheets::parse(&outcome.out)
    };
    let by_default = run(&[]);
    assert_eq!(by_default.timeline("total_comm_time"), 0.0);
    assert_eq!(by_default.timeline("computation_time"), 0.09);
    assert!(!by_default.has("collectives"), "{:?}", by_default.names());
    for (options, communication_ms) in [
        (&["--communication-pattern", "halo_"][..], 0.03),
        (&["--communication_pattern=halo", "--communication_pattern=gemm"], 0.09),
    ] {
        let sheets = run(options);
        assert_eq!(sheets.timeline("total_comm_time"), communication_ms);
        let names = sheets.column("collectives", "collective_name");
        assert!(names.iter().any(|name| **name == "halo_exchange"), "{names:?}");
    }
}

#[test]
fn the_picture_shows_instructions_under_the_roofs() {
    let place = with_program();
    let draw = |to: &str| {
        let option = format!("--roofline_svg={to}");
        let arguments = ["jax", "host.xplane.pb", "--gpu_arch_platform=H100-SXM", &option];
        place
            .run(&arguments)
            .exits_with(0)
            .with_summary(&["roofline of H100-SXM (nominal peaks): ", &format!("wrote {to}")]);
        String::from_utf8(place.bytes(to)).unwrap()
    };
    let svg = draw("a.svg");
    for part in [
        "Rooflines of H100-SXM · nominal peaks · host.xplane.pb",
        "3350 GB/s",
        "\ndot\n",
        "63.2% of kernel time",
    ] {
        assert!(svg.contains(part), "no {part:?} in the picture: {svg}");
    }
    assert_eq!(svg, draw("b.svg"));
    // The picture is an output of its own: there is no workbook.
    assert_eq!(place.files("."), ["a.svg", "b.svg", "host.xplane.pb", "trace.json"]);
}

#[test]
fn a_profile_without_roofs_has_no_picture_and_a_reason() {
    let place = with_program();
    place.put("plain.xplane.pb", profile(KERNELS));
    place.put("tpu.xplane.pb", bytes(1, [number(1, 2), bytes(2, "/device:TPU:0")].concat()));
    for (arguments, reason) in [
        (&["host.xplane.pb"][..], "the recording does not name a GPU with known peaks"),
        (
            &["plain.xplane.pb", "--gpu_arch_platform=H100-SXM"],
            "no operator with known FLOPs and bytes has a peak on",
        ),
        (&["tpu.xplane.pb"], "for TPUs, see sheet roofline_model"),
    ] {
        let outcome = place.run(&[&["jax", "--roofline_svg=r.svg"], arguments].concat()).exits_with(0);
        outcome.with_summary(&["--roofline_svg writes nothing: ", reason]);
    }
    assert!(!place.path("r.svg").exists());
    for (to, part) in [("no/such/r.svg", "its directory does not exist"), (".", "it is a directory")] {
        let option = format!("--roofline_svg={to}");
        place.run(&["jax", "host.xplane.pb", &option]).exits_with(1).with_error(&["cannot write", part]);
    }
    let option = "--roofline_svg=./host.xplane.pb";
    place.run(&["jax", "host.xplane.pb", option]).exits_with(2).with_error(&["is the trace itself"]);
}
