//! `tracelens jax` on the profiles of several hosts.

use crate::program::{Sheets, Workplace, generated};
use crate::xplane::{gpu, program};

/// Two hosts of two GPUs each; every GPU runs the same kernels, in times of its own for `all-reduce.1`.
fn two_hosts() -> Workplace {
    let place = Workplace::with("{}");
    for (host, times) in [("host0.xplane.pb", [40, 30]), ("host1.xplane.pb", [20, 10])] {
        let gpus =
            [0, 1].map(|device| gpu(device, &[("dot.1", 60), ("all-reduce.1", times[device as usize])]));
        place.put(host, [gpus.concat(), program()].concat());
    }
    place
}

#[test]
fn collectives_of_several_hosts_are_put_together_by_rank() {
    let place = two_hosts();
    let run = |options: &[&str]| {
        let profiles = ["jax", "host0.xplane.pb", "host1.xplane.pb", "--json"];
        Sheets::parse(&place.run(&[&profiles, options].concat()).exits_with(0).out)
    };
    let figures = |sheets: &Sheets| {
        let figure = |column: &str| sheets.column("collective_slices", column)[0].as_f64().unwrap();
        let bandwidth = figure("bandwidth (GiB/s)");
        (figure("num_devices"), figure("fastest_device"), (bandwidth * 100.0).round() / 100.0)
    };
    // 8 MiB (twice the data) in 20 µs between ranks 0 and 2, in 10 µs between 1 and 3.
    let two = run(&["--gpus_per_node", "2"]);
    assert_eq!(figures(&two), (4.0, 2.0, 585.94));
    assert_eq!(two.rows("collective_slices").len(), 1);
    // The second host's ranks are 8 and 9, which are in no group: 40 µs and 30 µs of the first host's GPUs.
    let eight = run(&[]);
    assert_eq!(figures(&eight), (4.0, 0.0, 227.86));
    assert_eq!(eight.rows("collectives"), run(&["--gpus_per_node=8"]).rows("collectives"));
    // A profile alone has half of the devices.
    let outcome = place.run("jax host1.xplane.pb --json").exits_with(0);
    assert_eq!(figures(&Sheets::parse(&outcome.out)), (2.0, 0.0, 585.94));
}

#[test]
fn a_run_of_several_hosts_has_a_workbook_and_a_summary() {
    let place = two_hosts();
    let summary = [
        "collectives of host0.xplane.pb and 1 more · 2 profiles · 4 GPUs · 1 collective · 1 execution",
        "all-reduce 1 100.000 100.0",
        "all-reduce.1 1 100.000 100.0",
        "wrote host0_collectives.xlsx",
    ];
    let profiles = ["host0.xplane.pb", "host1.xplane.pb"];
    let run = |arguments: &[&str]| place.run(arguments).exits_with(0).with_summary(&summary);
    run(&[&["jax"], &profiles[..], &["--gpus_per_node", "2"]].concat());
    run(&[&["jax", "--profile_path"], &profiles[..]].concat());
    run(&["jax", "--profile_path", profiles[0], "--profile_path", profiles[1]]);
    let sheets = ["jax", profiles[0], profiles[1], "--output_csvs_dir", "sheets", "--quiet"];
    assert_eq!(place.run(&sheets).exits_with(0).out, "");
    let collectives =
        ["collective_buffer_sizes", "collective_buffers", "collective_bw_ranges", "collective_slices"];
    let expected = collectives.into_iter().chain(["collective_types", "collectives", "overview"]);
    assert_eq!(place.files("sheets"), expected.map(|name| format!("{name}.csv")).collect::<Vec<_>>());
    // What is wrong with one profile is said with its name.
    place.put("bare.xplane.pb", gpu(0, &[("all-reduce.1", 20), ("add.9", 5)]));
    let outcome = place.run(&["jax", profiles[0], "bare.xplane.pb"]).exits_with(0);
    outcome.with_summary(&[
        "warning: bare.xplane.pb: 2 kernels (25.000 µs) name instructions missing from the profile",
    ]);
}

#[test]
fn several_profiles_that_make_no_run_are_refused() {
    let place = two_hosts();
    place.put("alone.xplane.pb", gpu(0, &[("loop_add_fusion", 30)]));
    place.put("other.xplane.pb", gpu(0, &[("loop_add_fusion", 30)]));
    let refused = |arguments: &[&str], parts: &[&str]| {
        place.run(&[&["jax"], arguments].concat()).exits_with(2).with_error(parts);
    };
    let both = ["host0.xplane.pb", "host1.xplane.pb"];
    refused(&["host0.xplane.pb", "./host0.xplane.pb"], &["./host0.xplane.pb: is given twice"]);
    refused(&["alone.xplane.pb", "other.xplane.pb"], &["none of the 2 profiles has a GPU collective"]);
    refused(&["host0.xplane.pb", "absent"], &["absent: cannot be read"]);
    let trace = generated().to_str().unwrap();
    refused(&["host0.xplane.pb", trace], &["expected an XPlane profile"]);
    let too_few = [&both[..], &["--gpus_per_node", "1"]].concat();
    refused(&too_few, &["host0.xplane.pb: has GPU 1, but with 1 GPUs per host the highest number is 0"]);
    for option in [
        &["--roofline_svg", "r.svg"][..],
        &["--gpu_arch_platform", "H100-SXM"],
        &["--kernel_metadata_keyword_filters=dot"],
        &["--parity"],
    ] {
        let name = option[0].split('=').next().unwrap();
        refused(&[&both[..], option].concat(), &[name, "applies to a single profile"]);
    }
    refused(&[&both[..], &["--output_json_path", "host1.xplane.pb"]].concat(), &["is the trace itself"]);
    assert_eq!(
        place.files("."),
        ["alone.xplane.pb", "host0.xplane.pb", "host1.xplane.pb", "other.xplane.pb", "trace.json"]
    );
}

#[test]
fn hosts_of_one_profile_are_one_whatever_their_gpus() {
    let place = two_hosts();
    let run = |options: &[&str]| {
        place.run(&[&["jax", "host0.xplane.pb", "--output_json_path=r.json"], options].concat()).exits_with(0)
    };
    // The overview repeats the options.
    let other_sheets = || {
        let sheets = Sheets::parse(&String::from_utf8(place.bytes("r.json")).unwrap());
        let names = sheets.names().into_iter().filter(|name| *name != "overview");
        names.map(|name| (name.to_owned(), sheets.rows(name).to_vec())).collect::<Vec<_>>()
    };
    assert!(!run(&[]).out.contains("--gpus_per_node"));
    let without = other_sheets();
    run(&["--gpus_per_node", "1"]).with_summary(&["--gpus_per_node has no effect on a single profile"]);
    assert_eq!(other_sheets(), without);
    place.run("jax host0.xplane.pb --gpus_per_node 0").exits_with(2);
}
