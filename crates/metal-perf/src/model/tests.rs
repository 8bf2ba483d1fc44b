//! Figures of single operations, with the rules of tt-perf-report and with ours.

use std::num::NonZeroU64;

use trace_ingest::metal::{Dim, OpRow, OpType, OpsTable, Tensor};

use super::{ModelContext, model_op};
use crate::chips::chip;
use crate::derive::derive;
use crate::hand_made::THEIRS;
use crate::op::{Analysed, Bound, Op, OpCategory, OpKind, SparseBatches};
use crate::options::MetalOptions;
use crate::timing::PreviousRow;

const DRAM: &str = "DEV_1_DRAM_INTERLEAVED";
const L1: &str = "DEV_1_L1_HEIGHT_SHARDED";
const BF16: &str = "BFLOAT16";
const BFP8: &str = "BFLOAT8_B";

/// Shape, datatype and memory of a tensor.
type Given = ([u64; 4], &'static str, &'static str);

#[derive(Clone, Default)]
struct Row {
    name: &'static str,
    op_type: OpType,
    attributes: &'static str,
    fidelity: &'static str,
    cores: Option<u32>,
    available: Option<u32>,
    duration: Option<f64>,
    gap: Option<f64>,
    inputs: Vec<Given>,
    outputs: Vec<Given>,
}

impl Row {
    fn device(name: &'static str) -> Row {
        Row { name, op_type: OpType::Device, ..Row::default() }
    }
}

fn table(rows: &[Row]) -> OpsTable {
    let mut table = OpsTable::default();
    for (position, row) in rows.iter().enumerate() {
        let tensors = |table: &mut OpsTable, given: &[Given]| {
            let start = table.tensors.len() as u32;
            for (shape, datatype, memory) in given {
                let dims = shape.map(|length| {
                    let length = (length > 0).then_some(length);
                    Dim { padded: length, logical: length }
                });
                let (datatype, memory) = (table.strings.intern(datatype), table.strings.intern(memory));
                table.tensors.push(Tensor { dims, datatype, memory, ..Tensor::default() });
            }
            start..table.tensors.len() as u32
        };
        let inputs = tensors(&mut table, &row.inputs);
        let outputs = tensors(&mut table, &row.outputs);
        let op_row = OpRow {
            id: position as u32 + 2,
            op_code: table.strings.intern(row.name),
            op_type: row.op_type,
            attributes: table.strings.intern(row.attributes),
            fidelity: table.strings.intern(row.fidelity),
            core_count: row.cores,
            available_cores: row.available,
            kernel_duration_ns: row.duration,
            op_to_op_ns: row.gap,
            inputs,
            outputs,
            ..OpRow::default()
        };
        table.rows.push(op_row);
    }
    table
}

fn theirs() -> MetalOptions {
    MetalOptions { conventions: THEIRS, ..MetalOptions::default() }
}

/// All rows, one after the other, with shares and bounds.
fn model(rows: &[Row], chip_name: &str, options: &MetalOptions) -> Vec<Op> {
    let table = table(rows);
    let context = ModelContext { chip: chip(chip_name).unwrap(), worker_cores: 120, options };
    let mut previous: Option<PreviousRow> = None;
    let mut ops = Vec::new();
    for row in 0..rows.len() as u32 {
        let op = model_op(&table, row, None, previous.as_ref(), &context);
        if op.kind != OpKind::Signpost {
            previous = Some(PreviousRow { invalid_duration: op.invalid_duration });
        }
        ops.push(op);
    }
    derive(&mut ops);
    ops
}

fn one(row: &Row, chip: &str, options: &MetalOptions) -> Op {
    model(std::slice::from_ref(row), chip, options).remove(0)
}

fn figures(op: &Op) -> [Option<f64>; 4] {
    [op.dram_gb_per_s, op.dram_percent, op.tflop_per_s, op.flops_percent]
}

fn square(memory: &'static str) -> Row {
    let tensor = ([1, 1, 512, 512], BF16, memory);
    Row {
        fidelity: "HiFi2",
        cores: Some(64),
        duration: Some(10000.0),
        inputs: vec![tensor; 2],
        outputs: vec![tensor],
        ..Row::device("Matmul")
    }
}

#[test]
fn products_have_the_figures_of_their_shapes() {
    let weights_first = Row {
        fidelity: "HiFi2",
        cores: Some(100),
        duration: Some(94250.0),
        inputs: vec![([1, 1, 3200, 1792], BF16, DRAM), ([1, 1, 1792, 1536], BFP8, DRAM)],
        outputs: vec![([1, 1, 3200, 1536], BF16, L1)],
        ..Row::device("MatmulDeviceOperation")
    };
    let op = one(&weights_first, "blackhole", &theirs());
    assert_eq!(op.label, "MatmulDeviceOperation 3200 x 1792 x 1536");
    assert_eq!(op.math_fidelity, "HiFi2 BF16 x BFP8 => BF16");
    assert_eq!((op.bytes, op.bound, op.analysed), (Some(14_221_312.0), Some(Bound::Flop), Analysed::Full));
    let expected = [150.88925198938992, 29.47055702917772, 186.90797665782495, 67.60271146478043];
    assert_eq!(figures(&op), expected.map(Some));
    assert_eq!(one(&weights_first, "p100", &theirs()).dram_percent, Some(33.680636604774534));

    let batched = Row {
        fidelity: "HiFi4",
        cores: Some(1),
        duration: Some(33054.0),
        inputs: vec![([1, 20, 32, 64], BF16, DRAM), ([1, 20, 64, 32], BF16, DRAM)],
        outputs: vec![([1, 20, 32, 32], BF16, DRAM)],
        ..Row::device("Matmul")
    };
    let op = one(&batched, "wormhole_b0", &theirs());
    assert_eq!(op.label, "Matmul b={20} x 32 x 64 x 32");
    let expected = [6.1959218248926, 2.151361744754375, 0.0793077993586253, 7.716434532190569];
    assert_eq!(figures(&op), expected.map(Some));

    let padded = Row {
        fidelity: "HiFi2",
        cores: Some(20),
        duration: Some(706_170.0),
        inputs: vec![([1, 1, 25312, 1792], BF16, DRAM), ([1, 1, 1792, 256], BF16, DRAM)],
        outputs: vec![([1, 1, 25312, 256], BF16, DRAM)],
        ..Row::device("Matmul")
    };
    let op = one(&padded, "wormhole", &theirs());
    let expected = [148.11653851055695, 51.42935364949894, 32.88706862087033, 79.99557232103594];
    assert_eq!((figures(&op), op.bound), (expected.map(Some), Some(Bound::Flop)));
}

#[test]
fn weights_sharded_over_dram_banks_use_a_core_per_bank() {
    let op = one(&square(DRAM), "blackhole", &theirs());
    assert_eq!(figures(&op), [157.2864, 30.72, 26.843545599999995, 15.170370370370367].map(Some));
    assert_eq!((op.bytes, op.bound, op.dram_sharded), (Some(1_572_864.0), Some(Bound::Slow), false));
    let sharded = Row {
        attributes: "{'program_config': 'MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig(in0_block_w=4)'}",
        duration: Some(20000.0),
        ..square(DRAM)
    };
    let op = one(&sharded, "blackhole", &theirs());
    assert_eq!((op.cores, op.dram_sharded, op.inner_block_width), (Some(8), true, Some(4)));
    assert_eq!(op.flops_percent, Some(60.68148148148147));
}

#[test]
fn a_product_that_leaves_dram_alone_is_bounded_by_arithmetic() {
    let row = Row { cores: Some(8), duration: Some(100_000.0), ..square(L1) };
    let op = one(&row, "blackhole", &theirs());
    assert_eq!(op.flops_percent, Some(12.136296296296296));
    assert_eq!((op.dram_gb_per_s, op.dram_percent, op.bound), (None, None, None));
    let op = one(&row, "blackhole", &MetalOptions::default());
    assert_eq!((op.dram_percent, op.bound), (Some(0.0), Some(Bound::Slow)));
}

#[test]
fn products_without_shape_or_time_are_not_analysed() {
    let unknown = Row { inputs: vec![([1, 1, 512, 512], BF16, L1)], ..square(L1) };
    let still = Row { duration: Some(0.0), ..square(DRAM) };
    for options in [theirs(), MetalOptions::default()] {
        let op = one(&unknown, "blackhole", &options);
        assert_eq!((op.label.as_str(), op.bound), ("Matmul unknown shape", None));
        assert_eq!(figures(&op), [None; 4]);
        let op = one(&still, "blackhole", &options);
        assert_eq!((figures(&op), op.device_time_us, op.bound), ([None; 4], Some(0.0), None));
    }
}

#[test]
fn a_blank_cell_blanks_what_it_takes_part_in_and_no_more() {
    let options = MetalOptions::default();
    let op = one(&Row { fidelity: "", ..square(DRAM) }, "blackhole", &options);
    assert_eq!((op.dram_percent, op.flops_percent, op.bound), (Some(30.72), None, None));
    assert_eq!(op.math_fidelity, "BF16 x BF16 => BF16");
    for blank in [([1, 1, 512, 512], BF16, ""), ([1, 1, 512, 512], "", DRAM)] {
        let row = Row { inputs: vec![([1, 1, 512, 512], BF16, DRAM), blank], ..square(DRAM) };
        let op = one(&row, "blackhole", &options);
        assert_eq!((op.dram_percent, op.flops_percent, op.bound), (None, Some(15.170370370370367), None));
    }
}

const CONV: &str = "{'block_config': 'OptimizedConvBlockConfig(act_block_h_ntiles=1;act_block_w_ntiles=2)'; \
    'enable_act_double_buffer': 'false'; 'enable_split_reader': 'false'; \
    'parallelization_config': 'Config(per_core_out_matrix_height_ntile=192;per_core_out_matrix_width_ntile=2)'; \
    'sliding_window_config': 'SlidingWindowConfig(batch_size=1; window_hw=(7;7); stride_hw=(2;2))'}";

const CONV_2D: &str = "{'block_config': 'Conv2dBlockConfig(act_block_h_ntiles=4;act_block_w_ntiles=2)'; \
    'enable_act_double_buffer': 'true'; 'config': 'Config(per_core_out_matrix_height_ntile=12;x=1)'; \
    'sliding_window_config': 'SlidingWindowConfig(batch_size=1; window_hw=(3;3); stride_hw=(1;1))'}";

fn conv() -> Row {
    Row {
        attributes: CONV,
        fidelity: "HiFi4",
        cores: Some(20),
        duration: Some(901_819.0),
        inputs: vec![([1, 1, 658_580, 8], BF16, L1), ([1, 1, 448, 64], BFP8, DRAM)],
        outputs: vec![([1, 1, 122_880, 64], BF16, L1)],
        ..Row::device("OptimizedConvNew")
    }
}

fn conv_2d() -> Row {
    Row {
        attributes: CONV_2D,
        fidelity: "LoFi",
        cores: Some(88),
        duration: Some(24964.0),
        inputs: vec![([1, 1, 32768, 64], BF16, L1), ([1, 1, 576, 64], BFP8, L1)],
        outputs: vec![([1, 1, 32768, 64], BF16, L1)],
        ..Row::device("Conv2dDeviceOperation")
    }
}

#[test]
fn convolutions_are_products_of_windows() {
    let op = one(&conv(), "wormhole", &theirs());
    assert_eq!(op.label, "OptimizedConvNew 122880 x 392 x 64 [ABH=192|1]");
    assert_eq!(op.math_fidelity, "HiFi4 BF16 x BFP8 => BF16");
    assert_eq!(figures(&op), [None, None, Some(6.836878442348186), Some(33.26048971953172)]);
    assert_eq!((op.analysed, op.bound), (Analysed::FlopsOnly, None));

    let op = one(&conv_2d(), "blackhole", &theirs());
    assert_eq!(op.label, "Conv2dDeviceOperation 32768 x 576 x 64 [ABH=12|4 ADB SR]");
    assert_eq!(figures(&op)[2..], [Some(96.77612177535651), Some(19.888032706491288)]);
    let op = one(&conv_2d(), "blackhole", &MetalOptions::default());
    assert_eq!(
        op.label, "Conv2dDeviceOperation 32768 x 576 x 64 [ABH=12|4 ADB]",
        "no attribute, not switched on"
    );
}

#[test]
fn groups_divide_the_work_of_a_convolution() {
    let grouped = "{'groups': '4'; 'sliding_window_config': 'Config(window_hw=(3;3); stride_hw=(1;1))'}";
    let row = Row { attributes: grouped, ..conv_2d() };
    let (all, grouped) =
        (one(&row, "blackhole", &theirs()), one(&row, "blackhole", &MetalOptions::default()));
    assert_eq!(grouped.label, "Conv2dDeviceOperation 32768 x 144 x 64 [ABH=x|x]");
    assert_eq!(grouped.tflop_per_s, all.tflop_per_s.map(|rate| rate / 4.0));
}

#[test]
fn convolutions_move_bytes_too() {
    let op = one(&conv(), "wormhole", &MetalOptions::default());
    assert_eq!((op.bytes, op.analysed, op.bound), (Some(448.0 * 64.0), Analysed::Full, Some(Bound::Slow)));
    let op = one(&Row { attributes: "{}", ..conv() }, "wormhole", &MetalOptions::default());
    assert_eq!((op.label.as_str(), op.bound), ("OptimizedConvNew unknown shape", None));
}

#[test]
fn halos_show_their_window() {
    let row = Row {
        attributes: "{'config_': 'SlidingWindowConfig(batch_size=1; input_hw=(9;9); window_hw=(3;3); \
            stride_hw=(1;1); padding=((1; 1); (1; 0)); output_padding = (0; 0); dilation_hw=(1;1); num_cores_nhw=2)'; \
            'output_memory_config_': 'MemoryConfig(memory_layout=TensorMemoryLayout::HEIGHT_SHARDED;buffer_type=L1)'}",
        ..Row::device("HaloDeviceOperation")
    };
    let op = one(&row, "blackhole", &theirs());
    let expected = "HaloDeviceOperation w=(3,3) s=(1,1) p=((1, 1), (1, 0)) d=(1,1) | HEIGHT_SHARDED";
    assert_eq!((op.label.as_str(), op.category), (expected, Some(OpCategory::Dm)));
    let bare = one(&Row { attributes: "", ..row }, "blackhole", &theirs());
    assert_eq!(bare.label, "HaloDeviceOperation w=x s=x p=x d=x | x");
}

fn sparse(attributes: &'static str) -> Row {
    Row {
        attributes,
        fidelity: "HiFi2",
        cores: Some(3),
        duration: Some(126_268.0),
        inputs: vec![([1, 1, 32, 2816], BF16, L1), ([1, 128, 2816, 96], BFP8, DRAM)],
        outputs: vec![([1, 128, 32, 96], BF16, L1)],
        ..Row::device("SparseMatmulDeviceOperation")
    }
}

#[test]
fn sparse_products_count_active_batches() {
    let expected = [17.12776000253429, 3.345265625494979, 1.0961766401621946, 13.215864199486335].map(Some);
    let op = one(&sparse("{'nnz': '8'; 'is_input_b_sparse': 'true'}"), "blackhole", &theirs());
    assert_eq!(op.label, "SparseMatmulDeviceOperation active=8/128 x 32 x 2816 x 96");
    assert_eq!(figures(&op), expected);
    let experts = MetalOptions { active_experts: NonZeroU64::new(8), ..theirs() };
    let op = one(&sparse("{'nnz': 'std::nullopt'}"), "blackhole", &experts);
    assert_eq!((figures(&op), op.sparse), (expected, Some(SparseBatches { active: Some(8), dense: 128 })));
    let op = one(&sparse("{}"), "blackhole", &theirs());
    assert_eq!(op.label, "SparseMatmulDeviceOperation active=?/128 x 32 x 2816 x 96");
    assert_eq!(figures(&op), [None; 4]);
}

#[test]
fn groups_of_a_sparse_product_depend_on_which_side_is_sparse() {
    let cases = [
        ("'is_input_a_sparse': 'True'; 'is_input_b_sparse': 'true'", 1, 4),
        ("'is_input_a_sparse': true; 'is_input_b_sparse': false", 3, 12),
        ("'is_input_a_sparse': 'false'", 12, 48),
        ("'is_input_b_sparse': 'false'", 12, 12),
    ];
    for (attributes, groups, dense) in cases {
        let row = Row {
            attributes,
            inputs: vec![([3, 4, 32, 64], BF16, L1), ([1, 4, 64, 32], BF16, L1)],
            ..sparse("")
        };
        let options = MetalOptions { active_experts: NonZeroU64::new(2), ..theirs() };
        let op = one(&row, "blackhole", &options);
        assert_eq!(op.sparse, Some(SparseBatches { active: Some(2 * groups), dense }), "{attributes}");
    }
}

#[test]
fn gaps_and_durations_that_cannot_be_right_are_blank() {
    let given: [(Option<f64>, Option<f64>); 9] = [
        (Some(0.0), Some(10000.0)),
        (Some(-500.0), Some(10000.0)),
        (Some(-2_000_000.0), Some(1000.0)),
        (Some(2_000_000.0), Some(-5.0)),
        (Some(2_000_000.0), Some(10000.0)),
        (Some(999_999.0), Some(-1.0)),
        (Some(1_000_001.0), Some(10000.0)),
        (Some(100.0), None),
        (Some(0.0), Some(0.0)),
    ];
    let rows = given.map(|(gap, duration)| Row { gap, duration, ..Row::device("Copy") });
    for options in [theirs(), MetalOptions::default()] {
        let ops = model(&rows, "blackhole", &options);
        let times: Vec<Option<f64>> = ops.iter().map(|op| op.device_time_us).collect();
        let (ten, zero) = (Some(10.0), Some(0.0));
        assert_eq!(times, [ten, ten, None, None, ten, None, ten, None, zero]);
        let gaps: Vec<Option<f64>> = ops.iter().map(|op| op.gap_us).collect();
        assert_eq!(gaps, [None, None, None, None, None, Some(999.999), None, Some(0.1), zero]);
        assert_eq!(ops.iter().filter(|op| op.invalid_duration).count(), 4);
    }
}

#[test]
fn the_host_is_known_by_type_and_under_the_old_rules_by_name() {
    let op = |name| Row { duration: Some(10000.0), gap: Some(500.0), ..Row::device(name) };
    let host = |name| Row { name, op_type: OpType::PythonFallback, ..Row::default() };
    let rows = [op("Copy"), host("add (torch)"), host("sub"), op("Copy")];
    let ops = model(&rows, "blackhole", &theirs());
    assert_eq!(kinds(&ops), [OpKind::Device, OpKind::Host, OpKind::Device, OpKind::Device]);
    assert_eq!((ops[1].bound, ops[1].total_percent, ops[1].device_time_us), (Some(Bound::Host), None, None));
    assert_eq!((ops[1].category, figures(&ops[1])), (Some(OpCategory::Host), [None; 4]));
    assert!(ops[1].invalid_duration && ops[2].invalid_duration);
    let ops = model(&rows, "blackhole", &MetalOptions::default());
    assert_eq!(kinds(&ops), [OpKind::Device, OpKind::Host, OpKind::Host, OpKind::Device]);
    assert!(ops.iter().all(|op| !op.invalid_duration));
    assert_eq!((ops[2].bound, ops[2].category), (Some(Bound::Host), Some(OpCategory::Host)));
}

fn kinds(ops: &[Op]) -> Vec<OpKind> {
    ops.iter().map(|op| op.kind).collect()
}

#[test]
fn signposts_have_a_name_and_nothing_else() {
    let mark = |name| Row { name, op_type: OpType::Signpost, ..Row::default() };
    let rows = [mark("Matmul starts"), Row { duration: Some(5.0), ..Row::device("signpost_kernel") }];
    for options in [theirs(), MetalOptions::default()] {
        let ops = model(&rows, "blackhole", &options);
        assert_eq!(ops[0].label, "Matmul starts (signpost)");
        assert_eq!((ops[0].kind, ops[0].category, ops[0].analysed), (OpKind::Signpost, None, Analysed::None));
        assert_eq!((ops[0].math_fidelity.as_str(), ops[0].invalid_duration), ("", false));
    }
    assert_eq!(model(&rows, "blackhole", &theirs())[1].kind, OpKind::Signpost);
    assert_eq!(model(&rows, "blackhole", &MetalOptions::default())[1].kind, OpKind::Device);
}

#[test]
fn a_row_without_a_budget_of_cores_has_that_of_the_file() {
    let rows = [Some(108), Some(12), None].map(|available| Row { available, ..Row::device("Copy") });
    let ops = model(&rows, "blackhole", &MetalOptions::default());
    assert_eq!(ops.iter().map(|op| op.available_cores).collect::<Vec<_>>(), [108, 12, 120]);
}

#[test]
fn operations_without_a_model_show_what_they_move() {
    let tensor = ([1, 1, 1024, 1024], BF16, DRAM);
    let copy = Row {
        duration: Some(10000.0),
        inputs: vec![tensor],
        outputs: vec![tensor],
        ..Row::device("CopyDeviceOperation")
    };
    let op = one(&copy, "blackhole", &theirs());
    assert_eq!((op.analysed, op.bytes, op.bound), (Analysed::None, None, None));
    assert_eq!(op.math_fidelity, "BF16 => BF16");
    let op = one(&copy, "blackhole", &MetalOptions::default());
    assert_eq!((op.analysed, op.bytes), (Analysed::DramOnly, Some(4_194_304.0)));
    assert_eq!(op.bound, Some(Bound::Dram), "{:?}% of DRAM", op.dram_percent);

    let part = vec![([1, 1, 32, 1024], BF16, DRAM)];
    let slice = Row { name: "SliceDeviceOperation", outputs: part.clone(), ..copy.clone() };
    assert_eq!(one(&slice, "blackhole", &MetalOptions::default()).bytes, Some(2.0 * 65536.0));
    let into = Row { name: "SliceWriteDeviceOperation", inputs: vec![part[0], tensor], ..copy.clone() };
    assert_eq!(one(&into, "blackhole", &MetalOptions::default()).bytes, Some(2.0 * 65536.0));
    let cache = Row { name: "PagedUpdateCacheDeviceOperation", ..copy.clone() };
    assert_eq!(one(&cache, "blackhole", &MetalOptions::default()).bytes, None, "how much of it is not known");
    let on_chip = vec![([1, 1, 32, 1024], BF16, L1)];
    let in_l1 = Row { inputs: on_chip.clone(), outputs: on_chip, ..copy };
    let op = one(&in_l1, "blackhole", &MetalOptions::default());
    assert_eq!((op.analysed, op.dram_percent), (Analysed::None, None));
}

#[test]
fn the_time_of_merged_rows_takes_the_place_of_the_rows_own() {
    let table = table(&[square(DRAM)]);
    let options = theirs();
    let context = ModelContext { chip: chip("blackhole").unwrap(), worker_cores: 64, options: &options };
    let op = model_op(&table, 0, Some(Some(20000.0)), None, &context);
    assert_eq!((op.device_time_us, op.dram_percent), (Some(20.0), Some(15.36)));
    let op = model_op(&table, 0, Some(None), None, &context);
    assert_eq!((op.device_time_us, op.invalid_duration), (None, true));
}
