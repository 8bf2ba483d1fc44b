//! From the messages of a profile to the structs that cost models read.

use perf_models::hlo::{
    ArrayShape, ConvolutionDimensionNumbers, DotDimensionNumbers, ElementType, HloComputation,
    HloInstruction, HloModule, Layout, OpMetadata, ReplicaGroups, Shape, Window, WindowDimension,
};
use trace_ingest::xplane::hlo as proto;

/// Numbers of `xla.PrimitiveType` that name no type of elements.
const TUPLE: i32 = 13;
const OPAQUE: i32 = 14;
const TOKEN: i32 = 17;
const BUFFER: i32 = 34;

/// The program of a module. What a message leaves out has the value that protocol buffers give it.
pub(super) fn module(module: &proto::HloModuleProto) -> HloModule {
    let computations = module.computations.iter().map(computation).collect();
    HloModule::new(module.name.as_str(), module.entry_computation_id, computations)
}

fn computation(of: &proto::HloComputationProto) -> HloComputation {
    HloComputation {
        id: of.id,
        name: of.name.clone(),
        root: of.root_id,
        instructions: of.instructions.iter().map(instruction).collect(),
    }
}

fn instruction(of: &proto::HloInstructionProto) -> HloInstruction {
    let attributes = of.frontend_attributes.iter().flat_map(|attributes| &attributes.map);
    HloInstruction {
        id: of.id,
        name: of.name.clone(),
        opcode: of.opcode.clone(),
        shape: of.shape.as_ref().map(shape).unwrap_or_default(),
        operands: of.operand_ids.clone(),
        called_computations: of.called_computation_ids.clone(),
        metadata: of.metadata.as_ref().map(metadata).unwrap_or_default(),
        parameter_number: of.parameter_number,
        tuple_index: of.tuple_index,
        dimensions: of.dimensions.clone(),
        fusion_kind: of.fusion_kind.clone(),
        window: of.window.as_ref().map(window),
        convolution: of.convolution_dimension_numbers.as_ref().map(convolution),
        dot: of.dot_dimension_numbers.as_ref().map(dot),
        feature_group_count: of.feature_group_count,
        batch_group_count: of.batch_group_count,
        channel_id: Some(of.channel_id).filter(|&channel| channel != 0),
        custom_call_target: of.custom_call_target.clone(),
        backend_config: String::from_utf8_lossy(&of.backend_config).into_owned(),
        replica_groups: replica_groups(of),
        use_global_device_ids: of.use_global_device_ids,
        source_target_pairs: of.source_target_pairs.iter().map(|pair| (pair.source, pair.target)).collect(),
        frontend_attributes: attributes.map(|(name, value)| (name.clone(), value.clone())).collect(),
        async_execution_thread: of.async_execution_thread.clone(),
    }
}

fn metadata(of: &proto::OpMetadata) -> OpMetadata {
    OpMetadata {
        op_type: of.op_type.clone(),
        op_name: of.op_name.clone(),
        source_file: of.source_file.clone(),
        source_line: of.source_line,
        deduplicated_name: of.deduplicated_name.clone(),
        scheduling_name: of.scheduling_name.clone(),
        stack_frame: of.stack_frame_id,
    }
}

fn shape(of: &proto::ShapeProto) -> Shape {
    match of.element_type {
        TUPLE => Shape::Tuple(of.tuple_shapes.iter().map(shape).collect()),
        OPAQUE => Shape::Opaque,
        TOKEN => Shape::Token,
        BUFFER => Shape::Buffer(Box::new(of.tuple_shapes.first().map(shape).unwrap_or_default())),
        number => Shape::Array(ArrayShape {
            element_type: ElementType::from_number(number),
            dimensions: of.dimensions.iter().map(|&extent| count(extent)).collect(),
            dynamic: of.is_dynamic_dimension.clone(),
            layout: of.layout.as_ref().map(layout),
        }),
    }
}

/// Extents and numbers of devices are not negative; unbounded extents are written as the least number.
fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

fn counts(numbers: &[i64]) -> Vec<u64> {
    numbers.iter().map(|&number| count(number)).collect()
}

fn layout(of: &proto::LayoutProto) -> Layout {
    Layout {
        minor_to_major: of.minor_to_major.clone(),
        tiles: of.tiles.iter().map(|tile| tile.dimensions.clone()).collect(),
        element_bits: count(of.element_size_in_bits),
        memory_space: of.memory_space,
    }
}

fn window(of: &proto::Window) -> Window {
    let dimension = |of: &proto::WindowDimension| WindowDimension {
        size: of.size,
        stride: of.stride,
        padding_low: of.padding_low,
        padding_high: of.padding_high,
        window_dilation: of.window_dilation,
        base_dilation: of.base_dilation,
        reversed: of.window_reversal,
    };
    Window { dimensions: of.dimensions.iter().map(dimension).collect() }
}

fn convolution(of: &proto::ConvolutionDimensionNumbers) -> ConvolutionDimensionNumbers {
    ConvolutionDimensionNumbers {
        input_batch: of.input_batch_dimension,
        input_feature: of.input_feature_dimension,
        input_spatial: of.input_spatial_dimensions.clone(),
        kernel_input_feature: of.kernel_input_feature_dimension,
        kernel_output_feature: of.kernel_output_feature_dimension,
        kernel_spatial: of.kernel_spatial_dimensions.clone(),
        output_batch: of.output_batch_dimension,
        output_feature: of.output_feature_dimension,
        output_spatial: of.output_spatial_dimensions.clone(),
    }
}

fn dot(of: &proto::DotDimensionNumbers) -> DotDimensionNumbers {
    DotDimensionNumbers {
        lhs_contracting: of.lhs_contracting_dimensions.clone(),
        rhs_contracting: of.rhs_contracting_dimensions.clone(),
        lhs_batch: of.lhs_batch_dimensions.clone(),
        rhs_batch: of.rhs_batch_dimensions.clone(),
    }
}

/// The newer list of devices where a program has one, else the older groups; neither means everyone.
fn replica_groups(of: &proto::HloInstructionProto) -> ReplicaGroups {
    let lists = |groups: &[proto::ReplicaGroup]| {
        // A group without members is how older programs wrote that everyone takes part.
        let lists: Vec<Vec<u64>> =
            groups.iter().map(|group| counts(&group.replica_ids)).filter(|list| !list.is_empty()).collect();
        (!lists.is_empty()).then_some(ReplicaGroups::Lists(lists))
    };
    let devices = of.collective_device_list.as_ref();
    let iota = devices.and_then(|devices| devices.iota_replica_group_list.as_ref()).map(|iota| {
        ReplicaGroups::Iota {
            groups: count(iota.num_replica_groups),
            devices_per_group: count(iota.num_devices_per_group),
            reshape: counts(&iota.iota_reshape_dims),
            transpose: iota.iota_transpose_perm.iter().map(|&axis| count(axis.into())).collect(),
        }
    });
    iota.or_else(|| lists(&devices?.replica_groups)).or_else(|| lists(&of.replica_groups)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use perf_models::PerfModel;
    use perf_models::hlo::HloKind;

    use super::*;

    fn array(element_type: i32, dimensions: &[i64]) -> proto::ShapeProto {
        let minor_to_major = (0..dimensions.len() as i64).rev().collect();
        proto::ShapeProto {
            element_type,
            dimensions: dimensions.to_vec(),
            layout: Some(proto::LayoutProto { minor_to_major, ..Default::default() }),
            ..Default::default()
        }
    }

    fn of_opcode(id: i64, opcode: &str, shape: proto::ShapeProto) -> proto::HloInstructionProto {
        proto::HloInstructionProto {
            id,
            name: format!("{opcode}.{id}"),
            opcode: opcode.to_owned(),
            shape: Some(shape),
            ..Default::default()
        }
    }

    #[test]
    fn shapes_have_the_texts_of_the_program() {
        let tuple = proto::ShapeProto {
            element_type: TUPLE,
            tuple_shapes: vec![
                array(16, &[4096, 2048]),
                proto::ShapeProto { element_type: TOKEN, ..Default::default() },
                proto::ShapeProto {
                    element_type: BUFFER,
                    tuple_shapes: vec![array(11, &[2])],
                    ..Default::default()
                },
                array(11, &[i64::MIN]),
            ],
            ..Default::default()
        };
        assert_eq!(shape(&tuple).to_string(), "(bf16[4096,2048]{1,0},token[],b(f32[2]{0}),f32[0]{0})");
        let tiled = proto::ShapeProto {
            layout: Some(proto::LayoutProto {
                minor_to_major: vec![1, 0],
                tiles: vec![proto::TileProto { dimensions: vec![8, 128] }],
                memory_space: 5,
                ..Default::default()
            }),
            ..array(11, &[8, 128])
        };
        assert_eq!(shape(&tiled).to_string(), "f32[8,128]{1,0:T(8,128)S(5)}");
    }

    #[test]
    fn groups_of_devices_come_from_the_newer_list_first() {
        let iota = proto::CollectiveDeviceListProto {
            iota_replica_group_list: Some(proto::IotaReplicaGroupListProto {
                num_replica_groups: 4,
                num_devices_per_group: 2,
                iota_reshape_dims: vec![2, 4],
                iota_transpose_perm: vec![1, 0],
            }),
            ..Default::default()
        };
        let older = vec![proto::ReplicaGroup { replica_ids: vec![0, 1] }];
        for (devices, groups, text) in [
            (Some(iota), older.clone(), "[4,2]<=[2,4]T(1,0)"),
            (None, older.clone(), "{{0,1}}"),
            (Some(proto::CollectiveDeviceListProto::default()), older, "{{0,1}}"),
            (None, vec![proto::ReplicaGroup::default()], "{}"),
            (None, Vec::new(), "{}"),
        ] {
            let of = proto::HloInstructionProto {
                collective_device_list: devices,
                replica_groups: groups,
                ..Default::default()
            };
            assert_eq!(replica_groups(&of).to_string(), text);
        }
    }

    #[test]
    fn a_fused_multiplication_costs_what_its_program_says() {
        let numbers = proto::DotDimensionNumbers {
            lhs_contracting_dimensions: vec![1],
            rhs_contracting_dimensions: vec![0],
            ..Default::default()
        };
        let dot = proto::HloInstructionProto {
            operand_ids: vec![1, 2],
            dot_dimension_numbers: Some(numbers),
            ..of_opcode(3, "dot", array(11, &[64, 128]))
        };
        let parameter = |number: i64, shape| proto::HloInstructionProto {
            parameter_number: number,
            ..of_opcode(number + 1, "parameter", shape)
        };
        let operands = || [parameter(0, array(16, &[64, 32])), parameter(1, array(16, &[32, 128]))];
        let fusion = proto::HloInstructionProto {
            operand_ids: vec![1, 2],
            called_computation_ids: vec![10],
            ..of_opcode(4, "fusion", array(11, &[64, 128]))
        };
        let of = |id, last: proto::HloInstructionProto| proto::HloComputationProto {
            id,
            root_id: last.id,
            instructions: operands().into_iter().chain([last]).collect(),
            ..Default::default()
        };
        let program = module(&proto::HloModuleProto {
            name: "jit_f".into(),
            entry_computation_id: 20,
            computations: vec![of(10, dot), of(20, fusion)],
            ..Default::default()
        });
        let cost = program.instruction("fusion.4").unwrap().cost();
        assert_eq!(cost.kind, HloKind::Gemm);
        assert_eq!(cost.flops(), Ok(2.0 * 64.0 * 32.0 * 128.0));
        assert_eq!(cost.bytes(), Ok(2.0 * (64.0 * 32.0 + 32.0 * 128.0) + 4.0 * 64.0 * 128.0));
        assert_eq!(cost.compute_spec().unwrap().to_string(), "matrix_bf16");
        assert_eq!(program.entry().unwrap().id, 20);
    }

    /// All programs of a profile.
    fn programs(path: &std::path::Path) -> Vec<HloModule> {
        let profile =
            trace_ingest::xplane::read_profile(path, &trace_ingest::ReadOptions::default()).unwrap();
        let of = |id| profile.programs.module(id).unwrap().unwrap();
        profile.programs.ids().map(|id| module(of(id))).collect()
    }

    #[test]
    fn every_instruction_of_a_recorded_training_step_has_a_cost_or_a_reason() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let programs = programs(&path.join("../../testdata/recorded/cpu/jax_step.xplane.pb"));
        let instructions: Vec<_> = programs.iter().flat_map(HloModule::instructions).collect();
        for instruction in &instructions {
            let cost = instruction.cost();
            for figure in [cost.flops(), cost.bytes()] {
                match figure {
                    Ok(figure) => assert!(figure >= 0.0 && figure.is_finite(), "{}", instruction.name),
                    Err(undefined) => assert!(!undefined.reason.is_empty(), "{}", instruction.name),
                }
            }
        }
        let dots: Vec<_> = instructions.iter().filter(|instruction| instruction.opcode == "dot").collect();
        assert_eq!(dots.len(), 12);
        for dot in &dots {
            let operand = |index: usize| dot.operand(index).unwrap().shape.elements();
            let result = dot.shape.elements();
            // The square of all three products is that of batch, M, N and K, but for one batch too many.
            let batch = dot.dot.as_ref().unwrap().lhs_batch.iter();
            let lhs = dot.operand(0).unwrap();
            let batch: f64 =
                batch.map(|&axis| lhs.shape.as_array().unwrap().dimensions[axis as usize] as f64).product();
            let expected = 2.0 * (operand(0) * operand(1) * result / batch).sqrt();
            assert!((dot.cost().flops().unwrap() / expected - 1.0).abs() < 1e-12, "{}", dot.name);
        }
        // A fusion around a multiplication costs what the multiplication does.
        let fused: Vec<_> = instructions
            .iter()
            .filter(|instruction| instruction.opcode == "fusion" && instruction.cost().kind == HloKind::Gemm)
            .collect();
        assert!(!fused.is_empty());
        for fusion in fused {
            let inner = dots.iter().filter(|dot| fusion.called_computations.contains(&dot.computation().id));
            let sum: f64 = inner.map(|dot| dot.cost().flops().unwrap()).sum();
            assert_eq!(fusion.cost().flops(), Ok(sum), "{}", fusion.name);
        }
    }

    #[test]
    fn profiles_of_the_corpus_cost_what_is_known_of_them() {
        let beside = || std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
        let corpus = std::env::var_os("TRACE_CORPUS").map_or_else(beside, std::path::PathBuf::from);
        for (profile, name, kind, flops, bytes) in [
            ("mi300-conv3d-jax06", "cudnn-conv.1.0", HloKind::ConvForward, 36_609_720_320.0, 579_072_000.0),
            // The compiler's own count.
            (
                "tpu-v6e-inference",
                "broadcast_add_fusion.1",
                HloKind::Elementwise,
                1_342_177_280.0,
                10_737_418_240.0,
            ),
        ] {
            let path = corpus.join("jax").join(profile).join("trace.xplane.pb");
            if !path.exists() {
                eprintln!("SKIPPED: no profile at {}; set TRACE_CORPUS", path.display());
                continue;
            }
            let programs = programs(&path);
            let cost = programs.iter().find_map(|program| program.instruction(name)).unwrap().cost();
            assert_eq!((cost.kind, cost.flops(), cost.bytes()), (kind, Ok(flops), Ok(bytes)), "{name}");
        }
    }
}
