//! What the rules find in small programs, and what the findings promise together.

use std::collections::BTreeSet;

use gpu_timeline::{Activity, Dependency, HostActivity, Interval, WaitCause};
use perf_models::{Category, ComputeSpec, ComputeUnit, CopyDirection, GroupLink, Precision};
use proptest::prelude::*;

use super::RULES;
use crate::facts::{Copied, Facts, Hold, LeastTime, Message, Program as Language, RecordingGap, Step};
use crate::fixture::{Program, elementwise, operands, product, tensor};
use crate::{Advice, Finding, Limits, means_rule};

fn advice(facts: &Facts) -> Advice {
    Advice::new(facts, &Limits::default(), &())
}

fn rules(advice: &Advice) -> Vec<&str> {
    advice.findings.iter().map(|finding| finding.rule.as_str()).collect()
}

fn gain(advice: &Advice, rule: &str) -> f64 {
    let of_rule = advice.findings.iter().filter(|finding| finding.rule == rule);
    of_rule.filter_map(|finding: &Finding| finding.gain).map(|gain| gain.mid_us).sum()
}

/// Products at 65% of the peak, one after the other.
fn ordinary(mut program: Program, count: usize) -> Program {
    let (us, least) = product(8192.0, 0.65);
    for _ in 0..count {
        program = program.call("aten::mm", Category::Gemm, us, least, &operands(&[8192, 8192]));
    }
    program
}

#[test]
fn each_rule_has_a_name_of_its_own_and_says_what_to_do() {
    let names: BTreeSet<&str> = RULES.iter().map(|rule| rule.id()).collect();
    assert_eq!(names.len(), RULES.len());
    for rule in RULES {
        assert!(!rule.what().is_empty() && !rule.remedy(Language::PyTorch).is_empty(), "{}", rule.id());
    }
    let is_meant = |pattern| means_rule(pattern, "IDLE-SYNC");
    assert!(is_meant("IDLE-SYNC") && is_meant("IDLE-*") && !is_meant("IDLE") && !is_meant("COPY-*"));
}

#[test]
fn a_program_in_order_has_no_findings() {
    let advice = advice(&ordinary(Program::new(), 20).facts());
    assert_eq!(rules(&advice), [""; 0]);
}

#[test]
fn nothing_at_all_has_no_findings() {
    assert!(advice(&Facts { units_per_us: 1000, ..Facts::default() }).findings.is_empty());
}

#[test]
fn late_launches_are_what_the_host_is_too_slow_for() {
    let mut program = Program::new();
    for _ in 0..20 {
        program = ordinary(program, 1).late(500.0);
    }
    let mut facts = ordinary(program, 1).facts();
    let advice = advice(&facts);
    assert_eq!(rules(&advice), ["IDLE-LAUNCH"]);
    assert!(advice.findings[0].remedy.starts_with("capture the step"), "{advice:#?}");
    let (found, waited) = (gain(&advice, "IDLE-LAUNCH"), 20.0 * 499.0);
    assert!((found / waited - 0.875).abs() < 1e-3, "{found} of {waited}");
    facts.replays_graphs = true;
    let advice = self::advice(&facts);
    assert!(advice.findings[0].remedy.starts_with("put more of the step into the graphs"), "{advice:#?}");
}

#[test]
fn waits_after_a_hold_are_the_holds_up_to_its_length() {
    let program = ordinary(Program::new(), 1).late(300.0);
    let mut facts = ordinary(ordinary(program, 1).late(400.0), 1).facts();
    facts.names.push("cudaStreamSynchronize".to_owned());
    let dry = facts.idle[0].span.start;
    facts.holds = vec![Hold {
        kind: HostActivity::Sync,
        time: Interval::between(dry - 500_000, dry + 10_000),
        name: facts.names.len() as u32 - 1,
        uid: 77,
    }];
    facts.idle[0].waited_for = Some(0);
    let advice = advice(&facts);
    // 299 µs of the first wait, and of the second what is left of 510 µs.
    assert!((gain(&advice, "IDLE-SYNC") - 510.0).abs() < 0.1, "{:#?}", advice.findings);
    assert!((gain(&advice, "IDLE-LAUNCH") - 0.875 * (299.0 + 399.0 - 510.0)).abs() < 0.1);
    let sync = advice.findings.iter().find(|finding| finding.rule == "IDLE-SYNC").unwrap();
    assert_eq!(
        (sync.events.as_slice(), sync.subject.as_str()),
        (&[77][..], "cudaStreamSynchronize (1 call)")
    );
}

#[test]
fn a_first_use_holds_the_host_although_its_work_begins_before_it_returns() {
    let program = ordinary(Program::new(), 1).late(5000.0);
    let mut facts = ordinary(program, 1).facts();
    facts.names.push("cudaLaunchKernel".to_owned());
    let idle = facts.idle[0].span;
    facts.holds = vec![Hold {
        kind: HostActivity::Initialisation,
        time: Interval::between(idle.start + 1_000_000, idle.end + 20_000),
        name: facts.names.len() as u32 - 1,
        uid: 3,
    }];
    facts.idle[0].waited_for = Some(0);
    let found = advice(&facts);
    assert_eq!(rules(&found), ["IDLE-INIT", "IDLE-LAUNCH"]);
    assert!((gain(&found, "IDLE-INIT") - 4000.0).abs() < 0.1, "{:#?}", found.findings);
    // It happens once: where there are steps, what recurs stands before it, however little that is.
    facts.steps = vec![Step { launched: Interval::between(0, 1), duration: None, is_warm_up: false }; 2];
    let found = advice(&facts);
    assert_eq!(rules(&found), ["IDLE-LAUNCH", "IDLE-INIT"]);
    assert_eq!(found.findings.iter().map(|finding| finding.rank).collect::<Vec<_>>(), [1, 2]);
    let first: Vec<&str> = found.first().map(|finding| finding.rule.as_str()).collect();
    assert_eq!(first, rules(&found));
}

#[test]
fn what_recurs_stands_before_warm_up_however_little_it_is() {
    let mut program = ordinary(Program::new(), 1).late(50_000.0);
    program = ordinary(program, 1);
    for _ in 0..20 {
        program = ordinary(program, 1).late(60.0);
    }
    let mut facts = ordinary(program, 1).facts();
    let late = facts.idle.iter().find(|idle| facts.us(idle.span.length()) > 1000.0).unwrap();
    let cut = late.span.end + 1;
    let last = facts.works.last().unwrap().event.span.end;
    let step = |launched, is_warm_up| Step { launched, duration: None, is_warm_up };
    facts.steps =
        vec![step(Interval::between(i64::MIN, cut), true), step(Interval::between(cut, last), false)];
    let found = advice(&facts);
    let shown: Vec<(&str, bool)> =
        found.first().map(|finding| (finding.rule.as_str(), finding.in_warm_up)).collect();
    assert_eq!(shown, [("IDLE-LAUNCH", false), ("IDLE-HOST", true)], "{found:#?}");
    assert!(found.findings[1].subject.ends_with(", in warm-up"), "{found:#?}");
}

#[test]
fn a_first_page_has_what_recurs_although_three_first_uses_took_longer() {
    let mut program = ordinary(Program::new(), 1);
    for wait in [9_000.0, 8_000.0, 7_000.0] {
        program = ordinary(program.late(wait), 1);
    }
    for _ in 0..20 {
        program = ordinary(program, 1).late(60.0);
    }
    let mut facts = ordinary(program, 1).facts();
    let long = |facts: &Facts| -> Vec<usize> {
        (0..facts.idle.len()).filter(|&at| facts.us(facts.idle[at].span.length()) > 1000.0).collect()
    };
    for (number, at) in long(&facts).into_iter().enumerate() {
        facts.names.push(format!("first use {number}"));
        let (name, time) = (facts.names.len() as u32 - 1, facts.idle[at].span);
        facts.holds.push(Hold { kind: HostActivity::Initialisation, time, name, uid: 0 });
        facts.idle[at].waited_for = Some(number as u32);
    }
    facts.steps = vec![Step { launched: Interval::between(0, 1), duration: None, is_warm_up: false }; 2];
    let found = advice(&facts);
    let first: Vec<&str> = found.first().map(|finding| finding.rule.as_str()).collect();
    assert_eq!(first, ["IDLE-LAUNCH", "IDLE-INIT", "IDLE-INIT"], "{found:#?}");
    assert_eq!(rules(&found).iter().filter(|&&rule| rule == "IDLE-INIT").count(), 3);
}

#[test]
fn calls_that_allocate_and_free_are_one_finding() {
    let program = ordinary(Program::new(), 1).late(2100.0);
    let mut facts = ordinary(program, 1).facts();
    let first = facts.names.len() as u32;
    facts.names.extend(["cudaMalloc".to_owned(), "cudaFree".to_owned()]);
    let end = facts.idle[0].span.end - 1_000;
    let hold = |number: i64| Hold {
        kind: HostActivity::Allocation,
        time: Interval::between(end - 700_000 * (3 - number), end - 700_000 * (3 - number) + 300_000),
        name: first,
        uid: 0,
    };
    let free = |hold: &Hold| Hold {
        time: Interval::between(hold.time.end, hold.time.end + 400_000),
        name: first + 1,
        ..*hold
    };
    facts.holds = (0..3).map(hold).flat_map(|hold| [free(&hold), hold]).collect();
    facts.idle[0].waited_for = Some(0);
    let found = advice(&facts);
    let about: Vec<&str> = found.findings.iter().map(|finding| finding.subject.as_str()).collect();
    assert_eq!(about[0], "cudaFree and cudaMalloc (6 calls)", "{found:#?}");
    assert!((gain(&found, "IDLE-ALLOC") - 2099.0).abs() < 0.1, "{found:#?}");
}

#[test]
fn holds_of_several_threads_may_overlap() {
    let program = ordinary(Program::new(), 1).late(300.0);
    let mut facts = ordinary(program, 1).facts();
    facts.names.push("wait".to_owned());
    let (name, dry) = (facts.names.len() as u32 - 1, facts.idle[0].span.start);
    let hold = |start, end| Hold {
        kind: HostActivity::Sync,
        time: Interval::between(dry + start, dry + end),
        name,
        uid: 0,
    };
    facts.works[0].event.launch = Some(dry - 650_000);
    facts.holds = vec![hold(-900_000, 5_000), hold(-800_000, 10_000), hold(-700_000, -600_000)];
    facts.idle[0].waited_for = Some(0);
    assert!((gain(&advice(&facts), "IDLE-SYNC") - 299.0).abs() < 0.1);
}

#[test]
fn long_waits_without_a_call_are_a_busy_host() {
    let program = ordinary(Program::new(), 1).late(5000.0);
    let advice = advice(&ordinary(program, 1).facts());
    assert_eq!(rules(&advice), ["IDLE-HOST"]);
    assert!((gain(&advice, "IDLE-HOST") - 4999.0).abs() < 0.1);
}

#[test]
fn copies_hide_behind_no_more_work_than_there_is() {
    let batch = Copied { direction: CopyDirection::HostToDevice, bytes: Some(1 << 20), pageable: false };
    let facts = ordinary(Program::new(), 1).also(90_000.0, Some(batch)).facts();
    let work = facts.us(facts.breakdown.computation);
    assert!(work < 10_000.0, "{work}");
    let advice = advice(&facts);
    let finding = advice.findings.iter().find(|finding| finding.rule == "COPY-H2D").unwrap();
    assert!((finding.amount_us.unwrap() - 90_000.0).abs() < 1.0);
    assert!((gain(&advice, "COPY-H2D") - work).abs() < 1.0, "{:?} {work}", finding.gain);
}

/// A launch that came late, whose work began much later than its call returned.
#[test]
fn what_is_launched_and_does_not_begin_is_not_the_hosts_fault() {
    let program = ordinary(Program::new(), 1).late(5000.0);
    let mut facts = ordinary(program, 1).facts();
    facts.works[1].launched = Some(facts.idle[0].span.end - 1_500_000);
    assert!((gain(&advice(&facts), "IDLE-HOST") - 3499.0).abs() < 0.1);
}

/// Waits before copies to the device: of a loader where most steps have one and none is marked elsewhere.
#[test]
fn one_wait_before_a_copy_is_no_loader() {
    for (steps_with_waits, marks_loader, rule) in
        [(1, false, "IDLE-HOST"), (3, false, "IDLE-DATA"), (3, true, "IDLE-HOST")]
    {
        let mut program = Program::new();
        for step in 0..4 {
            let wait = if (1..=steps_with_waits).contains(&step) { 5000.0 } else { 0.0 };
            program = ordinary(program.late(wait), 1);
        }
        let mut facts = program.facts();
        let batch = Copied { direction: CopyDirection::HostToDevice, bytes: Some(1 << 20), pageable: false };
        for work in &mut facts.works {
            work.copy = Some(batch);
            work.event.launch = Some(work.event.span.start - 5000);
        }
        facts.steps = (facts.works.iter())
            .map(|work| Step {
                launched: Interval::between(work.event.span.start - 6000, work.event.span.end - 6000),
                duration: Some(work.event.span.length()),
                is_warm_up: false,
            })
            .collect();
        if marks_loader {
            facts.names.push("DataLoader".to_owned());
            let (name, time) = (facts.names.len() as u32 - 1, Interval::between(0, 10));
            facts.holds = vec![Hold { kind: HostActivity::DataLoader, time, name, uid: 0 }];
        }
        let advice = advice(&facts);
        let of_host: Vec<&str> = rules(&advice).into_iter().filter(|rule| rule.starts_with("IDLE")).collect();
        assert_eq!(of_host, [rule], "{steps_with_waits}");
    }
}

#[test]
fn a_cold_first_step_is_held_against_steps_whose_work_is_all_recorded() {
    for (others, is_cold) in [(Some(100), true), (None, false)] {
        let mut facts = ordinary(Program::new(), 8).facts();
        let window = facts.window();
        facts.steps = (0..8)
            .map(|step| Step {
                launched: Interval::between(1000 * step, 1000 * step + 900),
                duration: if step == 0 { Some(window) } else { others },
                is_warm_up: step == 0,
            })
            .collect();
        assert_eq!(rules(&advice(&facts)).contains(&"VARIANCE"), is_cold, "{others:?}");
    }
}

#[test]
fn slow_products_are_held_against_good_ones_of_their_size() {
    let (us, least) = product(8192.0, 0.25);
    let mut program = ordinary(Program::new(), 5);
    for _ in 0..5 {
        program = program.call("aten::linear", Category::Gemm, us, least, &operands(&[8192, 8192]));
    }
    let advice = advice(&program.facts());
    assert_eq!(rules(&advice), ["KERNEL-EFF"]);
    // What is beyond 70% of the peak, of which seven eighths.
    let expected = 5.0 * 0.875 * (us - us * 0.25 / 0.70 - 2.0);
    assert!((gain(&advice, "KERNEL-EFF") / expected - 1.0).abs() < 1e-3);
}

#[test]
fn slow_calls_are_held_against_their_own_best() {
    let (us, least) = product(4096.0, 0.65);
    let mut program = ordinary(Program::new(), 2);
    for slow in [1.0, 1.0, 1.0, 1.0] {
        program = program.call("aten::bmm", Category::Gemm, us * slow, least, &operands(&[4096, 4096]));
    }
    // Almost of the same size.
    let (other, of_other) = product(4200.0, 0.65);
    for _ in 0..4 {
        program = program.call("aten::bmm", Category::Gemm, 2.0 * other, of_other, &operands(&[4200, 4200]));
    }
    let advice = advice(&program.facts());
    assert_eq!(rules(&advice), ["KERNEL-EFF-REL"]);
    assert!((gain(&advice, "KERNEL-EFF-REL") / (4.0 * other) - 1.0).abs() < 0.01);
    assert!(advice.findings[0].alternatives.iter().any(|other| other.rule == "KERNEL-EFF"));
}

#[test]
fn attention_of_three_operators_is_one_finding() {
    let scores = [16_u64, 16, 2048, 2048];
    let elements = scores.iter().product::<u64>() as f64;
    let mut program = ordinary(Program::new(), 2);
    let flops = 2.0 * 16.0 * 16.0 * 2048.0 * 2048.0 * 64.0;
    let of_product = LeastTime {
        compute_us: flops / 989.4e6,
        memory_us: 2.0 * elements / 3.35e6,
        flops,
        spec: Some(ComputeSpec { unit: ComputeUnit::Matrix, precision: Precision::Bf16 }),
        ..LeastTime::default()
    };
    for _ in 0..4 {
        let (us, least) = elementwise(elements);
        let product_us = of_product.memory_us / 0.8;
        program = program
            .call("aten::bmm", Category::Gemm, product_us, of_product, &operands(&[256, 2048, 64]))
            .call("aten::mul", Category::Elementwise, us, least, &[tensor(&scores)])
            .call("aten::_softmax", Category::Softmax, us, least, &[tensor(&scores)])
            .call("aten::bmm", Category::Gemm, product_us, of_product, &[tensor(&[256, 2048, 2048])]);
    }
    let advice = advice(&program.facts());
    assert_eq!(advice.findings[0].rule, "FUSE-ATTN");
    assert_eq!(advice.findings[0].subject, "aten::bmm → aten::mul → aten::_softmax → aten::bmm");
    assert!(advice.findings[0].alternatives.iter().any(|other| other.rule == "FUSE-CHAIN"));
}

#[test]
fn a_chain_saves_what_lies_between_its_operators() {
    let shape = [4096_u64, 4096];
    let (us, least) = elementwise(4096.0 * 4096.0);
    let mut program = ordinary(Program::new(), 2);
    for name in ["aten::mul", "aten::sigmoid", "aten::add"] {
        program = program.call(name, Category::Elementwise, us, least, &[tensor(&shape)]);
    }
    let advice = advice(&program.facts());
    assert_eq!(rules(&advice), ["FUSE-CHAIN"]);
    // One kernel reads once and writes once.
    let expected = 3.0 * us - (least.memory_us / 0.85 + 2.0);
    assert!((gain(&advice, "FUSE-CHAIN") / expected - 1.0).abs() < 0.01);
}

#[test]
fn operators_after_a_product_are_its_epilogue() {
    let (us, least) = product(4096.0, 0.65);
    let (of_gelu, least_of_gelu) = elementwise(4096.0 * 4096.0);
    let mut program = Program::new();
    for _ in 0..4 {
        program = program
            .call("aten::addmm", Category::Gemm, us, least, &[tensor(&[4096, 4096]), tensor(&[4096, 4096])])
            .call("aten::gelu", Category::Elementwise, of_gelu, least_of_gelu, &[tensor(&[4096, 4096])]);
    }
    let advice = advice(&program.facts());
    assert_eq!(rules(&advice), ["FUSE-EPILOGUE"]);
    assert!((gain(&advice, "FUSE-EPILOGUE") - 4.0 * of_gelu).abs() < 0.1);
}

#[test]
fn single_precision_among_half_is_named() {
    let mut program = ordinary(Program::new(), 5);
    let (_, half) = product(4096.0, 1.0);
    let least = LeastTime {
        compute_us: half.flops / 67e6,
        spec: Some(ComputeSpec { unit: ComputeUnit::Matrix, precision: Precision::Fp32 }),
        ..half
    };
    program =
        program.call("aten::mm", Category::Gemm, least.compute_us / 0.9, least, &operands(&[4096, 4097]));
    let advice = advice(&program.facts());
    assert_eq!(advice.findings[0].rule, "DTYPE");
}

#[test]
fn products_without_matrix_units_could_be_in_tf32() {
    let (_, half) = product(4096.0, 1.0);
    let spec = |unit| Some(ComputeSpec { unit, precision: Precision::Fp32 });
    let least = LeastTime { compute_us: half.flops / 67e6, spec: spec(ComputeUnit::Vector), ..half };
    let us = least.compute_us / 0.9;
    let all_single = (0..5).fold(Program::new(), |program, _| {
        program.call("aten::mm", Category::Gemm, us, least, &operands(&[4096, 4096]))
    });
    let advice_of_all = advice(&all_single.facts());
    assert_eq!(advice_of_all.findings[0].rule, "DTYPE");
    assert!(
        advice_of_all.findings[0].evidence[0].contains("compared with tf32"),
        "{:?}",
        advice_of_all.findings[0].evidence
    );
    let tf32 = half.flops / 494.7e6 / 0.7;
    assert!((gain(&advice_of_all, "DTYPE") / (5.0 * (us - tf32 - 2.0)) - 1.0).abs() < 0.01);
    // With FP32 of the matrix units nothing is faster that is as exact.
    let of_matrix_units = LeastTime { spec: spec(ComputeUnit::Matrix), ..least };
    let program =
        Program::new().call("aten::mm", Category::Gemm, us, of_matrix_units, &operands(&[4096, 4096]));
    assert!(!rules(&advice(&program.facts())).contains(&"DTYPE"));
}

#[test]
fn single_precision_is_the_exception_by_flops_whatever_its_time() {
    let (us, half) = product(4096.0, 0.65);
    let spec = Some(ComputeSpec { unit: ComputeUnit::Vector, precision: Precision::Fp32 });
    let single = LeastTime { compute_us: half.flops / 67e6, spec, ..half };
    let program = (0..4).fold(Program::new(), |program, _| {
        program.call("aten::mm", Category::Gemm, us, half, &operands(&[4096, 4096])).call(
            "aten::mm",
            Category::Gemm,
            single.compute_us,
            single,
            &operands(&[4096, 4096, 1]),
        )
    });
    let advice = advice(&program.facts());
    assert!(
        advice.findings[0].evidence[0].contains("compared with bf16; 50% of matmul"),
        "{:?}",
        advice.findings[0].evidence
    );
}

#[test]
fn rows_that_are_no_multiple_of_a_vector_are_named_where_they_cost() {
    for (share, n, expected) in [(0.15, 32769, true), (0.15, 32768, false), (0.65, 32769, false)] {
        let (us, least) = product(8192.0, share);
        let program = Program::new().call("aten::mm", Category::Gemm, us, least, &operands(&[8192, 8193]));
        let advice = advice(&program.with_extents([16384, n, 1024]).facts());
        assert_eq!(rules(&advice).contains(&"GEMM-DIMS"), expected, "{share} {n}");
    }
}

#[test]
fn attention_may_copy_its_scores_and_clear_workspaces() {
    let scores = [16_u64, 16, 1024, 1024];
    let elements = scores.iter().product::<u64>() as f64;
    let flops = 2.0 * elements * 64.0;
    let of_product = LeastTime {
        compute_us: flops / 989.4e6,
        memory_us: 2.0 * elements / 3.35e6,
        flops,
        spec: Some(ComputeSpec { unit: ComputeUnit::Matrix, precision: Precision::Bf16 }),
        ..LeastTime::default()
    };
    let product_us = of_product.memory_us / 0.8;
    let (us, least) = elementwise(elements);
    let within =
        Copied { direction: CopyDirection::WithinDevice, bytes: Some(elements as u64 * 2), pageable: false };
    let out = Copied { direction: CopyDirection::DeviceToHost, ..within };
    for (copied, expected) in [(within, true), (out, false)] {
        let program = (0..4).fold(ordinary(Program::new(), 1), |program, _| {
            program
                .call(
                    "aten::bmm",
                    Category::Gemm,
                    1.0,
                    of_product,
                    &[tensor(&[256, 1024, 64]), tensor(&[256, 64, 1024])],
                )
                .also(product_us, None)
                .call("aten::masked_fill", Category::Elementwise, us, least, &[tensor(&scores)])
                .also(us, Some(copied))
                .call("aten::_softmax", Category::Softmax, us, least, &[tensor(&scores)])
                .call("aten::bmm", Category::Gemm, product_us, of_product, &[tensor(&[256, 1024, 1024])])
        });
        assert_eq!(rules(&advice(&program.facts())).contains(&"FUSE-ATTN"), expected);
    }
}

/// One query of 64 heads against 32 Ki keys of 128 elements: reading K and V is nearly all that there is to do.
#[test]
fn attention_in_one_kernel_still_reads_keys_and_values() {
    let (heads, keys, head_dim) = (64_u64, 32_768_u64, 128_u64);
    let memory_us = (heads * keys * head_dim) as f64 * 2.0 / 3.35e6;
    let scores = [heads, 1, keys];
    let elements = (heads * keys) as f64;
    let of_product = LeastTime {
        compute_us: 2.0 * elements * head_dim as f64 / 989.4e6,
        memory_us: memory_us + 2.0 * elements / 3.35e6,
        flops: 2.0 * elements * head_dim as f64,
        spec: Some(ComputeSpec { unit: ComputeUnit::Matrix, precision: Precision::Bf16 }),
        ..LeastTime::default()
    };
    let product_us = memory_us / 0.75;
    let (us, least) = elementwise(elements);
    let [query, key, value, scores] = [
        tensor(&[heads, 1, head_dim]),
        tensor(&[heads, head_dim, keys]),
        tensor(&[heads, keys, head_dim]),
        tensor(&scores),
    ];
    let program = (0..4).fold(Program::new(), |program, _| {
        program
            .call("aten::bmm", Category::Gemm, product_us, of_product, &[query.clone(), key.clone()])
            .call("aten::_softmax", Category::Softmax, 20.0 * us, least, std::slice::from_ref(&scores))
            .call("aten::bmm", Category::Gemm, product_us, of_product, &[scores.clone(), value.clone()])
    });
    let advice = advice(&program.facts());
    let found = advice.findings.iter().find(|finding| finding.rule == "FUSE-ATTN").unwrap();
    let all = 4.0 * (2.0 * product_us + 20.0 * us);
    assert!((found.amount_us.unwrap() - all).abs() < 1.0, "{found:#?}");
    let most = all - 4.0 * 2.0 * memory_us;
    let high = found.gain.unwrap().high_us;
    assert!(high > 0.8 * most && high <= most + 1.0, "{high} of {most}, {all} in all");
}

#[test]
fn an_epilogue_still_reads_what_is_added_to_the_product() {
    let (us, least) = product(4096.0, 0.65);
    let elements = 4096.0 * 4096.0;
    let (of_gelu, gelu) = elementwise(elements);
    let of_sum = LeastTime { memory_us: 6.0 * elements / 3.35e6, ..gelu };
    let sum_us = of_sum.memory_us / 0.8 + 2.0;
    let shape = [4096, 4096];
    let program = (0..4).fold(Program::new(), |program, _| {
        program
            .call("aten::mm", Category::Gemm, us, least, &operands(&shape))
            .call("aten::gelu", Category::Elementwise, of_gelu, gelu, &[tensor(&shape)])
            .call("aten::add", Category::Elementwise, sum_us, of_sum, &operands(&shape))
    });
    let advice = advice(&program.facts());
    let residual = 2.0 * elements / 3.35e6 / 0.85;
    let expected = 4.0 * (of_gelu + sum_us - residual);
    assert!((gain(&advice, "FUSE-EPILOGUE") / expected - 1.0).abs() < 0.01, "{:#?}", advice.findings);
}

#[test]
fn convolutions_without_matrix_units_could_be_in_tf32() {
    let (_, half) = product(4096.0, 1.0);
    let spec = Some(ComputeSpec { unit: ComputeUnit::Vector, precision: Precision::Fp32 });
    let least = LeastTime { compute_us: half.flops / 67e6, spec, ..half };
    let us = least.compute_us / 0.9;
    let images = operands(&[64, 256, 56, 56]);
    let program = (0..5).fold(Program::new(), |program, _| {
        program.call("aten::cudnn_convolution", Category::ConvForward, us, least, &images)
    });
    let advice = advice(&program.facts());
    assert_eq!(advice.findings[0].rule, "DTYPE", "{:#?}", advice.findings);
}

/// The loader takes 790 µs, and the batch is copied by a call that returns before the copy is done.
#[test]
fn a_short_stall_of_a_loader_is_the_loaders_beside_an_asynchronous_copy() {
    let mut facts = ordinary(ordinary(Program::new(), 1).late(800.0), 1).facts();
    let idle = facts.idle[0].span;
    let called = Interval::between(idle.end - 8_000, idle.end - 2_000);
    let batch = Copied { direction: CopyDirection::HostToDevice, bytes: Some(1 << 20), pageable: false };
    facts.works[1].copy = Some(batch);
    facts.works[1].event.launch = Some(called.start);
    let name = facts.names.len() as u32;
    facts.names.extend(["DataLoader".to_owned(), "cudaMemcpyAsync".to_owned()]);
    facts.holds = vec![
        Hold {
            kind: HostActivity::DataLoader,
            time: Interval::between(idle.start, idle.start + 790_000),
            name,
            uid: 1,
        },
        Hold { kind: HostActivity::Copy, time: called, name: name + 1, uid: 2 },
    ];
    facts.idle[0].waited_for = Some(0);
    let advice = advice(&facts);
    assert!((gain(&advice, "IDLE-DATA") - 790.0).abs() < 0.1, "{:#?}", advice.findings);
    assert!(!rules(&advice).contains(&"IDLE-LAUNCH"));
}

/// Decode steps whose kernels wait 4 µs for their launches, with and without a collective in between that the device has in
/// its queue already, and whose neighbours wait for another queue.
#[test]
fn collectives_leave_the_waits_beside_them_their_length() {
    let gained = |with_collectives: bool| {
        let mut program = Program::new();
        for at in 0..200 {
            program = ordinary_short(program).late(4.0);
            if with_collectives && at % 2 == 0 {
                program = ordinary_short(program).late(2.0);
            }
        }
        let mut facts = ordinary_short(program).facts();
        for idle in facts.idle.iter_mut().filter(|idle| idle.span.length() == 2_000) {
            idle.cause = WaitCause::Kernel;
            facts.works[idle.event as usize].event.activity = Activity::Communication;
        }
        gain(&advice(&facts), "IDLE-LAUNCH")
    };
    assert!((gained(true) / gained(false) - 1.0).abs() < 1e-6, "{} {}", gained(true), gained(false));
}

fn ordinary_short(program: Program) -> Program {
    let (us, least) = elementwise(1024.0);
    program.call("aten::mm", Category::Gemm, us, least, &operands(&[32, 32]))
}

/// All-reduces of this size over eight MI300X, each with this bus bandwidth, between products.
fn all_reduces(mib: f64, bus_gb_per_s: f64) -> Facts {
    let bytes = mib * 1024.0 * 1024.0;
    let link = GroupLink { name: "xGMI".to_owned(), gb_per_s: 448.0, usual_gb_per_s: 0.7 * 448.0 };
    let bus_bytes = 1.75 * bytes;
    let message = Message { name: "allreduce".to_owned(), bytes, bus_bytes, devices: 8, link };
    let us = message.bus_bytes / bus_gb_per_s / 1e3;
    let none = LeastTime::default();
    let program = (0..4).fold(Program::new(), |program, _| {
        ordinary(program, 1).call("allreduce", Category::Elementwise, us, none, &[])
    });
    let mut facts = program.facts();
    for work in facts.works.iter_mut().skip(1).step_by(2) {
        work.event.activity = Activity::Communication;
        work.message = Some(0);
    }
    Facts { messages: vec![message], ..facts }
}

#[test]
fn collectives_below_their_link_are_named_where_the_link_decides() {
    for (mib, bus, expected) in
        [(64.0, 3.5, "COMM-SLOW"), (64.0, 280.0, "COMM-EXPOSED"), (0.5, 3.5, "COMM-EXPOSED")]
    {
        let facts = all_reduces(mib, bus);
        let advice = advice(&facts);
        let of_link: Vec<&str> =
            rules(&advice).into_iter().filter(|rule| rule.starts_with("COMM-")).collect();
        assert_eq!(of_link, [expected], "{mib} {bus}");
        let found = advice.findings.iter().find(|finding| finding.rule == expected).unwrap();
        let text = found.evidence.join(" ");
        let is_slow = expected == "COMM-SLOW";
        assert_eq!(
            text.contains("bus bandwidth 3.5 GB/s on average, 3.5 at best; xGMI has 448.0 GB/s"),
            is_slow
        );
        assert_eq!(text.contains("buckets"), bus == 280.0, "{text}");
        if is_slow {
            let message = &facts.messages[0];
            let beyond = 4.0 * (message.bus_bytes / 3.5e3 - message.usual_us());
            assert!((found.gain.unwrap().high_us / beyond - 1.0).abs() < 1e-3, "{found:#?}");
        }
    }
}

#[test]
fn what_the_recording_lacks_has_no_figure() {
    let mut facts = ordinary(Program::new(), 3).facts();
    facts.gaps = vec![RecordingGap::Shapes, RecordingGap::Stacks];
    let advice = advice(&facts);
    assert_eq!(rules(&advice), ["MISSING", "MISSING"]);
    assert!(advice.findings.iter().all(|finding| finding.gain.is_none() && !finding.evidence.is_empty()));
}

#[test]
fn advice_on_recording_is_about_what_is_missing() {
    let remedy = |facts: &Facts, rule: &str| {
        let advice = advice(facts);
        let found = advice.findings.iter().find(|finding| finding.rule == rule);
        found.unwrap_or_else(|| panic!("{rule}: {:#?}", advice.findings)).remedy.clone()
    };
    let mut facts = ordinary(ordinary(Program::new(), 3).late(5000.0), 1).facts();
    for gaps in [vec![], vec![RecordingGap::Stacks]] {
        facts.gaps = gaps;
        assert_eq!(remedy(&facts, "IDLE-HOST").contains("with_stack"), !facts.gaps.is_empty());
    }
    facts.program = Language::Native;
    for (cause, has_launches, asks_for_calls) in [
        (WaitCause::Unlinked, false, true),
        (WaitCause::Unlinked, true, false),
        (WaitCause::Dependency(Dependency::Unknown), true, false),
    ] {
        facts.idle[0].cause = cause;
        facts.works.iter_mut().for_each(|work| work.event.launch = has_launches.then_some(0));
        let remedy = remedy(&facts, "IDLE-UNEXPLAINED");
        assert_eq!(remedy.contains("--hip-trace"), asks_for_calls, "{cause:?} {has_launches}: {remedy}");
    }
}

#[test]
fn a_million_equal_findings_are_one() {
    let mut program = Program::new();
    for _ in 0..100_000 {
        program = ordinary(program, 1).late(500.0);
    }
    let facts = ordinary(program, 1).facts();
    let advice = advice(&facts);
    assert_eq!(rules(&advice), ["IDLE-LAUNCH"]);
    assert!(advice.findings[0].events.len() <= 5);
}

/// Calls of any kind and speed, some after waits.
fn any_program() -> impl Strategy<Value = Facts> {
    let kinds = [Category::Gemm, Category::Elementwise, Category::Softmax, Category::Reduce];
    let call = (0..kinds.len(), 0..3_usize, 64_u64..2048, 0.05..1.5_f64, prop::option::of(1.0..3000.0_f64));
    prop::collection::vec(call, 1..60).prop_map(move |calls| {
        let mut program = Program::new();
        for (kind, name, extent, share, late) in calls {
            if let Some(us) = late.filter(|_| extent % 3 == 0) {
                program = program.late(us);
            }
            let size = extent as f64;
            let (us, least) = match kinds[kind] {
                Category::Gemm => product(size, share),
                _ => {
                    let (us, least) = elementwise(size * size);
                    (us / share, least)
                }
            };
            let name = ["aten::copy_", "aten::mm", "aten::mul"][name];
            program = program.call(name, kinds[kind], us, least, &[tensor(&[extent, extent])]);
        }
        program.facts()
    })
}

proptest! {
    #[test]
    fn gains_are_no_more_than_their_amounts_and_together_than_the_window(facts in any_program()) {
        let advice = advice(&facts);
        let gains = advice.findings.iter().filter_map(|finding| finding.gain);
        let most: f64 = gains.map(|gain| gain.high_us).sum();
        prop_assert!(most <= advice.window_us * (1.0 + 1e-9), "{} of {}", most, advice.window_us);
        let parts: f64 = advice.parts_us.iter().map(|(_, time)| time).sum();
        prop_assert!((parts - advice.window_us).abs() < 1e-6 * advice.window_us.max(1.0));
        for (finding, rank) in advice.findings.iter().zip(1..) {
            prop_assert_eq!(finding.rank, rank);
            if let Some(gain) = finding.gain {
                prop_assert!(0.0 <= gain.low_us && gain.low_us <= gain.mid_us * 1.0001);
                let amount = finding.amount_us.unwrap();
                prop_assert!(gain.mid_us <= gain.high_us * 1.0001 && gain.high_us <= amount * 1.0001);
                prop_assert!(amount <= advice.window_us * 1.0001, "{} of {}", amount, advice.window_us);
                prop_assert!(!finding.evidence.is_empty());
            }
        }
    }
}
