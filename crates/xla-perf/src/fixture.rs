//! Profiles written by hand and the cells of their tables, for tests.

use std::path::Path;

use hlo_cost::{
    ElementType, FileLocation, HloComputation, HloInstruction, HloModule, OpMetadata, Shape, StackFrame,
    StackFrameIndex,
};
use sheets::{Cell, Layout, Sheet, Table};
use trace_ingest::xplane::profile_from_bytes;
use trace_ingest::xplane::proto::{
    EventPlace, XEvent, XEventMetadata, XLine, XPlane, XSpace, XStat, XStatMetadata, XStatValue,
};

use crate::{JaxAnalysis, JaxOptions};

/// An event with times in ns.
pub(crate) struct Recorded {
    pub(crate) name: &'static str,
    pub(crate) start: i64,
    pub(crate) duration: i64,
    pub(crate) stats: Vec<(&'static str, XStatValue)>,
}

pub(crate) fn text(text: &str) -> XStatValue {
    XStatValue::Text(text.to_owned())
}

/// A kernel of an instruction of the program.
pub(crate) fn kernel(
    name: &'static str,
    hlo_op: &str,
    start: i64,
    duration: i64,
    correlation: u64,
) -> Recorded {
    let stats = vec![
        ("correlation_id", XStatValue::Unsigned(correlation)),
        ("hlo_op", text(hlo_op)),
        ("hlo_module", text("jit_step")),
        ("program_id", XStatValue::Signed(5)),
        (
            "kernel_details",
            text("regs:40 static_shared:16 dynamic_shared:16 grid:4,1,1 block:64,2,1 occ_pct:50"),
        ),
    ];
    Recorded { name, start, duration, stats }
}

pub(crate) fn plane(id: i64, name: &str, lines: Vec<(i64, &str, Vec<Recorded>)>) -> XPlane {
    let mut plane = XPlane { id, name: name.to_owned(), ..XPlane::default() };
    plane.lines = lines
        .into_iter()
        .map(|(id, name, events)| {
            let events = events.into_iter().map(|event| XEvent {
                metadata_id: kind(&mut plane, event.name),
                place: Some(EventPlace::OffsetPs(event.start * 1_000)),
                duration_ps: event.duration * 1_000,
                stats: event.stats.into_iter().map(|(name, value)| stat(&mut plane, name, value)).collect(),
            });
            XLine { id, name: name.to_owned(), events: events.collect(), ..XLine::default() }
        })
        .collect();
    plane
}

fn kind(plane: &mut XPlane, name: &str) -> i64 {
    let known = plane.event_metadata.values().find(|kind| kind.name == name).map(|kind| kind.id);
    let id = known.unwrap_or(plane.event_metadata.len() as i64 + 1);
    plane
        .event_metadata
        .insert(id, XEventMetadata { id, name: name.to_owned(), ..XEventMetadata::default() });
    id
}

pub(crate) fn stat(plane: &mut XPlane, name: &str, value: XStatValue) -> XStat {
    let known = plane.stat_metadata.values().find(|stat| stat.name == name).map(|stat| stat.id);
    let id = known.unwrap_or(plane.stat_metadata.len() as i64 + 1);
    plane.stat_metadata.insert(id, XStatMetadata { id, name: name.to_owned(), ..XStatMetadata::default() });
    XStat { metadata_id: id, value: Some(value) }
}

/// The program of the tests: an asynchronous gather in transposed groups, an all-reduce of all devices, a fusion.
fn programs() -> XPlane {
    let array = |length: u64| Shape::array(ElementType::F32, [length]);
    let metadata = |op_name: &str, frame| OpMetadata {
        op_name: op_name.to_owned(),
        stack_frame: frame,
        ..OpMetadata::default()
    };
    let instruction = |id, name: &str, opcode: &str, shape, metadata| HloInstruction {
        metadata,
        operands: if id > 1 { vec![1] } else { Vec::new() },
        use_global_device_ids: true,
        channel_id: Some(id),
        ..HloInstruction::new(id, name, opcode, shape)
    };
    let both = Shape::Tuple(vec![array(1 << 18), array(1 << 19)]);
    let instructions = vec![
        instruction(1, "p", "parameter", array(1 << 18), metadata("", 0)),
        HloInstruction {
            dimensions: vec![0],
            replica_groups: "[2,2]<=[2,2]T(1,0)".parse().unwrap(),
            ..instruction(
                2,
                "all-gather-start",
                "all-gather-start",
                both,
                metadata("jit(step)/layer/all_gather", 2),
            )
        },
        instruction(3, "all-reduce.1", "all-reduce", array(1 << 18), metadata("jit(step)/psum", 1)),
        instruction(
            4,
            "fusion.remat",
            "fusion",
            array(1 << 18),
            metadata("jit(step)/layer/rematted_computation/mul", 2),
        ),
    ];
    let location = |name, line| FileLocation { file_name_id: name, function_name_id: name, line, column: 0 };
    let frames = StackFrameIndex {
        file_names: vec!["train.py".to_owned(), "layers.py".to_owned()],
        function_names: vec!["step".to_owned(), "layer".to_owned()],
        file_locations: vec![location(1, 10), location(2, 20)],
        stack_frames: vec![
            StackFrame { file_location_id: 1, parent_frame_id: 0 },
            StackFrame { file_location_id: 2, parent_frame_id: 1 },
        ],
    };
    let entry = HloComputation { id: 1, name: "main".to_owned(), root: 4, instructions };
    let module = HloModule::new("jit_step", 1, vec![entry]).with_stack_frames(frames);
    let mut plane = XPlane { name: "/host:metadata".to_owned(), ..XPlane::default() };
    let stats = vec![stat(&mut plane, "Hlo Proto", XStatValue::Bytes(module.to_bytes()))];
    let program =
        XEventMetadata { id: 5, name: "jit_step(5)".to_owned(), stats, ..XEventMetadata::default() };
    plane.event_metadata.insert(5, program);
    plane
}

/// The analysis of a profile with these planes and the program.
pub(crate) fn analysis(mut planes: Vec<XPlane>, devices_per_node: u32) -> JaxAnalysis {
    planes.push(programs());
    let space = XSpace { planes, ..XSpace::default() };
    let profile = profile_from_bytes(Path::new("host.xplane.pb"), space.to_bytes()).unwrap();
    JaxAnalysis::new(
        profile,
        JaxOptions { gpus_per_node: std::num::NonZeroU32::new(devices_per_node), ..JaxOptions::default() },
    )
}

/// A GPU that runs the program, one kernel after another from a time on.
pub(crate) fn gpu(number: i64, kernels: Vec<Recorded>) -> XPlane {
    plane(number, &format!("/device:GPU:{number}"), vec![(7, "Stream #7(Kernel)", kernels)])
}

/// The table of the sheet of this name, which has to be there, in the layout that has all columns.
pub(crate) fn table<'a, A>(sheets: &[Sheet<'a, A>], analysis: &'a A, name: &str) -> Table {
    let sheet = sheets.iter().find(|sheet| sheet.name == name).unwrap();
    sheet.table_in(analysis, Layout::Listed).unwrap().unwrap_or_else(|| panic!("{name} is empty"))
}

/// That each sheet has rows and the columns that it describes.
pub(crate) fn assert_described<'a, A>(sheets: &[Sheet<'a, A>], analysis: &'a A) {
    for sheet in sheets {
        let table = table(sheets, analysis, &sheet.name);
        let described: Vec<&str> = sheet.columns.iter().map(|column| column.name).collect();
        let columns: Vec<&str> = table.columns().iter().map(|column| column.name()).collect();
        assert_eq!(columns, described, "{}", sheet.name);
        assert!(table.height() > 0 && sheet.name.len() <= 31, "{}", sheet.name);
    }
}

pub(crate) fn texts(table: &Table, column: &str) -> Vec<String> {
    table.column(column).unwrap().cells().map(|cell| cell.text().into_owned()).collect()
}

pub(crate) fn integers(table: &Table, column: &str) -> Vec<i64> {
    let whole = |cell| match cell {
        Cell::Whole(number) => number,
        other => panic!("{other:?}"),
    };
    table.column(column).unwrap().cells().map(whole).collect()
}

/// NaN where there is no figure.
pub(crate) fn floats(table: &Table, column: &str) -> Vec<f64> {
    let number = |cell| if let Cell::Number(number) = cell { number } else { f64::NAN };
    table.column(column).unwrap().cells().map(number).collect()
}
