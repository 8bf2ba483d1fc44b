//! CSV files of operations on Tenstorrent devices.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::said;
use flate2::{Compression, write::GzEncoder};
use proptest::prelude::*;
use tempfile::TempDir;
use trace_ingest::metal::{
    CsvFormat, Dim, OpType, OpsTable, OpsWarning, SubDevice, Tensor, is_ops_csv, ops_from_bytes, read_ops,
};
use trace_ingest::{IngestError, ReadOptions, read_path};

const REQUIRED: &str = "OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,ATTRIBUTES";

fn files(texts: &[&str]) -> Result<OpsTable, IngestError> {
    let named =
        |(index, text): (usize, &&str)| (PathBuf::from(format!("{index}.csv")), text.as_bytes().to_vec());
    ops_from_bytes(texts.iter().enumerate().map(named).collect())
}

/// A table of the required columns and further ones, with one row for each text.
fn table(more_columns: &str, rows: &[&str]) -> OpsTable {
    let header =
        if more_columns.is_empty() { REQUIRED.to_string() } else { format!("{REQUIRED},{more_columns}") };
    files(&[&format!("{header}\r\n{}\r\n", rows.join("\r\n"))]).unwrap()
}

/// Tensor with the same padded and logical shape.
fn dims(table: &OpsTable, tensor: &Tensor) -> ([Dim; 4], String) {
    (tensor.dims, table.text(tensor.memory).to_string())
}

fn dim(padded: u64, logical: u64) -> Dim {
    Dim { padded: Some(padded), logical: Some(logical) }
}

fn ids(table: &OpsTable) -> Vec<u32> {
    table.rows.iter().map(|row| row.id).collect()
}

fn names(table: &OpsTable) -> Vec<&str> {
    table.rows.iter().map(|row| table.text(row.op_code)).collect()
}

fn warnings(table: &OpsTable) -> Vec<String> {
    table.warnings.iter().map(ToString::to_string).collect()
}

#[test]
fn plain_shapes_are_the_first_form() {
    let table = table(
        "INPUT_0_W,INPUT_0_Z,INPUT_0_Y,INPUT_0_X,INPUT_0_MEMORY,OUTPUT_0_X",
        &["Matmul,tt_dnn_device,1024,0,{},1,2,32,256,DEV_1_L1_INTERLEAVED,64"],
    );
    assert_eq!(table.format, CsvFormat::V1);
    let row = &table.rows[0];
    let [input] = table.inputs(row) else { panic!("{:?}", table.inputs(row)) };
    let expected = [dim(1, 1), dim(2, 2), dim(32, 32), dim(256, 256)];
    assert_eq!(dims(&table, input), (expected, "DEV_1_L1_INTERLEAVED".to_string()));
    assert_eq!(table.outputs(row)[0].dims[3], dim(64, 64));
    assert!(table.warnings.is_empty(), "{:?}", table.warnings);
}

#[test]
fn padded_shapes_are_the_second_form() {
    let table = table(
        "INPUT_0_Y_PAD[LOGICAL],INPUT_0_X_PAD[LOGICAL],INPUT_1_LAYOUT,INPUT_1_DATATYPE",
        &["Matmul,tt_dnn_device,1024,0,{},32[19],64[64],TILE,BFLOAT8_B"],
    );
    assert_eq!(table.format, CsvFormat::V2);
    let inputs = table.inputs(&table.rows[0]);
    assert_eq!(inputs[0].dims, [Dim::default(), Dim::default(), dim(32, 19), dim(64, 64)]);
    assert_eq!((table.text(inputs[1].layout), table.text(inputs[1].datatype)), ("TILE", "BFLOAT8_B"));
    assert!(table.has.input_1_datatype && !table.has.input_0_datatype && !table.has.output_0_datatype);
}

#[test]
fn columns_of_the_device_are_the_newest_form_and_stand_in_any_order() {
    let text = "SOME_TT_HOST_FUNC [ns],AVAILABLE WORKER CORE COUNT,DEVICE KERNEL DURATION [ns],ATTRIBUTES,DEVICE ID,\
                DEVICE ARCH,OP TYPE,GLOBAL CALL COUNT,OP CODE,CORE COUNT,HOST START TS,OP TO OP LATENCY [ns],\
                DEVICE FW START CYCLE,DEVICE FW END CYCLE,METAL TRACE ID,METAL TRACE REPLAY SESSION ID,\
                PM IDEAL [ns],DRAM BW UTIL (%),MATH FIDELITY,DEVICE FW DURATION [ns],HOST DURATION [ns]\n\
                7,110,93885,{'a': '1; 2'},5,blackhole,tt_dnn_device,1029,MatmulDeviceOperation,100,96293877843,-12,\
                8581632449073,8581632578685,3,1,1,12.5,HiFi2,96009,176662\n";
    let table = files(&[text]).unwrap();
    assert_eq!(table.format, CsvFormat::V2_1);
    let row = &table.rows[0];
    assert_eq!(table.text(row.op_code), "MatmulDeviceOperation");
    assert_eq!((row.id, row.file, row.op_type), (2, 0, OpType::Device));
    assert_eq!((row.global_call_count, row.device), (Some(1029), Some(5)));
    assert_eq!((table.text(row.arch), table.text(row.fidelity)), ("blackhole", "HiFi2"));
    assert_eq!(table.text(row.attributes), "{'a': '1; 2'}");
    assert_eq!((row.core_count, row.available_cores), (Some(100), Some(110)));
    assert_eq!((row.host_start, row.host_duration_ns), (Some(96_293_877_843), Some(176_662.0)));
    assert_eq!(row.fw_start_cycle, Some(8_581_632_449_073));
    assert_eq!(row.fw_end_cycle, Some(8_581_632_578_685));
    assert_eq!((row.kernel_duration_ns, row.fw_duration_ns), (Some(93_885.0), Some(96_009.0)));
    assert_eq!(row.op_to_op_ns, Some(-12.0));
    assert_eq!((row.trace_id, row.replay_session), (Some(3), Some(1)));
    assert_eq!((row.pm_ideal_ns, row.pm_compute_ns, row.dram_util_percent), (Some(1.0), None, Some(12.5)));
    assert_eq!(table.files[0].devices, Some(6));
    assert_eq!(table.warnings, []);
}

#[test]
fn cells_that_say_nothing_are_blank() {
    let table = table(
        "CORE COUNT,DEVICE KERNEL DURATION [ns],MATH FIDELITY,INPUT_0_X,INPUT_1_MEMORY",
        &[
            "A,tt_dnn_device,1024.0,0,,NaN,#N/A,None,,",
            "B,unknown,,nan,null,0,inf,HiFi4,x[0],HOST",
            "start,signpost,,,,,,,,",
            "add (torch),python_fallback,,,,1.5,-3,,,",
            "cpu op,tt_dnn_cpu,,,,,1e3,,,",
        ],
    );
    let types: Vec<OpType> = table.rows.iter().map(|row| row.op_type).collect();
    use OpType::{Cpu, Device, Other, PythonFallback, Signpost};
    assert_eq!(types, [Device, Other, Signpost, PythonFallback, Cpu]);
    let calls: Vec<_> = table.rows.iter().map(|row| row.global_call_count).collect();
    assert_eq!(calls, [Some(1024), None, None, None, None]);
    let cores: Vec<_> = table.rows.iter().map(|row| row.core_count).collect();
    assert_eq!(cores, [None; 5]);
    let durations: Vec<_> = table.rows.iter().map(|row| row.kernel_duration_ns).collect();
    assert_eq!(durations, [None, None, None, Some(-3.0), Some(1000.0)]);
    assert_eq!(table.text(table.rows[0].fidelity), "");
    assert_eq!(table.text(table.rows[1].attributes), "");
    assert!(table.inputs(&table.rows[0]).is_empty(), "blank tensors at the end are left out");
    assert_eq!(table.inputs(&table.rows[1]).len(), 2, "a blank tensor before a filled one is kept");
    let unusable = |column: &str, count| OpsWarning::UnusableCells { column: column.to_string(), count };
    assert_eq!(
        table.warnings,
        [unusable("CORE COUNT", 2), unusable("DEVICE KERNEL DURATION [ns]", 1), unusable("INPUT_0_X", 1)]
    );
}

#[test]
fn sub_devices_are_numbers_or_short_names() {
    let table = table(
        "SUB DEVICE ID",
        &[
            "A,x,1,0,,",
            "B,x,1,0,,3",
            "C,x,1,0,,2.0",
            "D,x,1,0,, worker\x1b[1m ",
            "E,x,1,0,,\x07",
            "F,x,1,0,,1.5",
        ],
    );
    let found: Vec<_> = table.rows.iter().map(|row| row.sub_device).collect();
    assert_eq!(found[..3], [SubDevice::None, SubDevice::Number(3), SubDevice::Number(2)]);
    let text = |sub_device| match sub_device {
        SubDevice::Text(text) => table.text(text).to_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        (text(found[3]), found[4], text(found[5])),
        ("worker[1m".into(), SubDevice::None, "1.5".into())
    );
    assert!(table.has.sub_device);
}

#[test]
fn control_characters_leave_names_but_tabs_stay() {
    let table = table("", &["Mat\x1b[31mmul\tx\x00,tt_dnn_device,1,0,"]);
    assert_eq!(names(&table), ["Mat[31mmul\tx"]);
}

#[test]
fn ids_count_records_and_not_lines() {
    let table = table("", &["A,x,1,0,\"two\r\nlines, \"\"quoted\"\"\"", "B,x,2,0,", "", "C,x,3,0,"]);
    assert_eq!((names(&table), ids(&table)), (vec!["A", "B", "C"], vec![2, 3, 4]));
    assert_eq!(table.text(table.rows[0].attributes), "two\r\nlines, \"quoted\"");
}

#[test]
fn malformed_rows_are_counted_and_the_others_keep_their_ids() {
    let table = table("", &["A,x,1,0,", "B,x,2", "C,x,3,0,", "D,x,4,0,,,", "E,x,5,0,"]);
    assert_eq!((names(&table), ids(&table)), (vec!["A", "C", "E"], vec![2, 4, 6]));
    assert_eq!(warnings(&table), ["0.csv: unreadable rows skipped: 2 (first: line 3: 3 fields, expected 5)"]);
    assert_eq!(table.files[0].rows, 0..3);
}

#[test]
fn a_last_line_that_was_cut_is_left_out() {
    for (cut, detail) in [
        ("A,x,1,0,\nB,x", "line 3: 2 fields, expected 5"),
        ("A,x,1,0,\n\"B,x,1,0,\nC,x,2,0,\n", "a quotation mark may be missing"),
    ] {
        let table = files(&[&format!("{REQUIRED}\n{cut}")]).unwrap();
        assert_eq!(names(&table), ["A"], "{cut:?}");
        assert!(warnings(&table)[0].contains(detail), "{:?}", table.warnings);
    }
}

#[test]
fn a_byte_order_mark_and_blanks_around_names_do_no_harm() {
    for header in [format!("\u{feff}{REQUIRED}"), format!("\u{feff}\"{}\"", REQUIRED.replace(',', "\" , \""))]
    {
        let header = header.replace("\" , \"", "\",\" ");
        let table = files(&[&format!("{header}\r\nA,signpost,,,\r\n")]).unwrap();
        assert_eq!((names(&table), table.rows[0].op_type), (vec!["A"], OpType::Signpost), "{header}");
    }
}

#[test]
fn devices_of_several_files_are_numbered_one_behind_the_other() {
    let one = format!("{REQUIRED},CORE COUNT\nA,x,1024,0,,8\nB,x,1025,1,,8\nmark,signpost,,,,\n");
    let no_device = format!("{REQUIRED}\nmark,signpost,,,\n");
    let other =
        format!("DEVICE ARCH,{REQUIRED}\nblackhole,A,x,1024,0,\nblackhole,B,x,1025,1,\n,C,x,1,nope,\n");
    let table = files(&[&one, &no_device, &other]).unwrap();
    assert_eq!(ids(&table), [2, 3, 4, 5, 6, 7, 8]);
    let devices: Vec<_> = table.rows.iter().map(|row| row.device).collect();
    assert_eq!(devices, [Some(0), Some(1), None, None, Some(4), Some(5), None]);
    let per_file: Vec<_> = table.files.iter().map(|file| (file.rows.clone(), file.devices)).collect();
    assert_eq!(per_file, [(0..3, Some(2)), (3..4, None), (4..7, Some(2))]);
    assert_eq!(table.rows[6].file, 2);
    assert!(table.has.core_count && table.has.arch);
    assert_eq!(table.format, CsvFormat::V2_1);
    assert_eq!(
        warnings(&table),
        [
            "1.csv: no row names a device",
            "0.csv: lacks columns that another file has: DEVICE ARCH",
            "1.csv: lacks columns that another file has: DEVICE ARCH, CORE COUNT",
            "2.csv: lacks columns that another file has: CORE COUNT",
            "cells of DEVICE ID without a usable number, read as blank: 1",
        ]
    );
}

#[test]
fn files_with_other_numbers_of_devices_are_refused() {
    let of = |device: u32| format!("{REQUIRED}\nA,x,1,{device},\n");
    let error = files(&[&of(1), &of(3)]).unwrap_err();
    assert!(matches!(error, IngestError::DifferentDevices { devices: 4, expected: 2, .. }), "{error}");
    let message = error.to_string();
    assert!(message.contains("1.csv: has 4 devices, but 0.csv has 2"), "{message}");
}

#[test]
fn missing_and_renamed_columns_are_named_with_the_header() {
    let error = said(&files(&["OP CODE,OP TYPE,global_call_count,HOST START TS\nA,x,1,2\n"]).unwrap_err());
    for part in [
        "0.csv: lacks columns \"GLOBAL CALL COUNT\" (there is \"global_call_count\"), \"DEVICE ID\", \"ATTRIBUTES\"",
        "its header is OP CODE, OP TYPE, global_call_count, HOST START TS",
        "give the columns the names",
    ] {
        assert!(error.contains(part), "{part:?} in {error}");
    }
    let error = files(&[&REQUIRED.replace("DEVICE ID", "CHIP")]).unwrap_err().to_string();
    assert!(error.contains("lacks column \"DEVICE ID\";"), "{error}");
    let wide = format!("{},{}", REQUIRED.replace("DEVICE ID", "CHIP"), ["COLUMN"; 90].join(","));
    let error = files(&[&wide]).unwrap_err().to_string();
    assert!(error.contains("... (95 columns)") && error.len() < 700, "{error}");
}

#[test]
fn what_is_no_ops_csv_is_named() {
    for (text, found) in [
        ("name,value\n1,2\n", "found a table with the header name, value"),
        ("hello", "found text without columns"),
        ("OP CODE;OP TYPE;DEVICE ID\nA;x;0\n", "found a CSV separated by ';'"),
        ("{\"a\": 1, \"b\": 2}", "found a JSON object"),
        ("ID,Total %,Bound,OP Code\n2,1.0,,Matmul\n", "found a report's CSV"),
        ("\u{0}\u{1},\u{2}\n", "found binary data"),
    ] {
        let error = files(&[text]).unwrap_err();
        assert!(matches!(error, IngestError::NotOpsCsv { .. }), "{error}");
        let message = said(&error);
        assert!(message.starts_with("0.csv: ") && message.contains(found), "{message}");
        assert!(message.contains("ops_perf_results_*.csv"), "{message}");
    }
}

#[test]
fn files_without_text_are_empty_and_those_without_rows_are_not() {
    for text in ["", "\u{feff}", "\r\n\r\n", ",,\n"] {
        let error = files(&[text]).unwrap_err();
        assert!(matches!(error, IngestError::Empty { .. }), "{text:?}: {error}");
    }
    let table = table("", &[]);
    assert_eq!((table.rows.len(), table.files.len()), (0, 1));
    assert_eq!(warnings(&table), ["0.csv: no row names a device"]);
    assert_eq!(files(&[]).unwrap().files, []);
}

#[test]
fn compressed_files_are_read_and_damage_is_told() {
    let directory = TempDir::new().unwrap();
    let rows: String = (0..20_000).map(|row| format!("Op{row},tt_dnn_device,{row},0,{{}}\r\n")).collect();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(format!("{REQUIRED}\r\n{rows}").as_bytes()).unwrap();
    let packed = encoder.finish().unwrap();
    let path = directory.path().join("ops.csv.gz");
    std::fs::write(&path, &packed).unwrap();
    let whole = read_ops(std::slice::from_ref(&path), &ReadOptions::default()).unwrap();
    assert_eq!((whole.rows.len(), whole.warnings.len()), (20_000, 0));
    assert_eq!(names(&whole)[19_999], "Op19999");

    std::fs::write(&path, &packed[..packed.len() / 2]).unwrap();
    let cut = read_ops(std::slice::from_ref(&path), &ReadOptions::default()).unwrap();
    assert!(cut.rows.len() > 5_000 && cut.rows.len() < 15_000, "{}", cut.rows.len());
    assert!(
        warnings(&cut)[0].contains("is truncated; all rows before the damage were read"),
        "{:?}",
        cut.warnings
    );
}

#[test]
fn files_that_cannot_be_opened_are_named() {
    let directory = TempDir::new().unwrap();
    let missing = directory.path().join("missing.csv");
    assert!(matches!(read_ops(&[missing], &ReadOptions::default()).unwrap_err(), IngestError::Io { .. }));
    let folder = directory.path().to_path_buf();
    assert!(matches!(
        read_ops(&[folder], &ReadOptions::default()).unwrap_err(),
        IngestError::Directory { .. }
    ));
}

#[test]
fn readers_of_traces_name_an_ops_csv() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("ops.csv");
    std::fs::write(&path, format!("{REQUIRED}\nA,tt_dnn_device,1,0,\n")).unwrap();
    assert!(is_ops_csv(&std::fs::read(&path).unwrap()));
    let error = read_path(&path, &ReadOptions::default()).unwrap_err();
    assert!(matches!(error, IngestError::OtherKind { .. }), "{error}");
    assert!(error.to_string().contains("is a Tenstorrent ops CSV; expected an event trace"), "{error}");
}

fn generated() -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/generated/metal_ops.csv"))
        .unwrap()
}

/// Ids ascend, rows name texts and tensors that are there, and every file's rows are its own.
fn assert_consistent(table: &OpsTable) {
    assert!(table.rows.windows(2).all(|pair| pair[0].id < pair[1].id));
    for (position, file) in table.files.iter().enumerate() {
        for row in &table.rows[file.rows.start as usize..file.rows.end as usize] {
            assert_eq!(row.file as usize, position);
            assert!(table.strings.get(row.op_code).len() <= 1 << 20);
            assert!(table.inputs(row).last().is_none_or(|tensor| *tensor != Tensor::default()));
            assert!(table.outputs(row).last().is_none_or(|tensor| *tensor != Tensor::default()));
        }
    }
    assert_eq!(table.files.last().map_or(0, |file| file.rows.end as usize), table.rows.len());
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(texts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..200), 1..3)) {
        let files = texts.into_iter().map(|text| (PathBuf::from("x.csv"), text)).collect();
        if let Ok(table) = ops_from_bytes(files) {
            assert_consistent(&table);
        }
    }

    #[test]
    fn arbitrary_rows_never_panic(rows in "[-0-9a-zN,\\[\\]\"\r\n. \u{0}\u{9b}]{0,300}") {
        let text = format!("{REQUIRED},INPUT_0_X_PAD[LOGICAL],SUB DEVICE ID,CORE COUNT\n{rows}");
        assert_consistent(&files(&[&text]).unwrap());
    }

    #[test]
    fn cuts_and_changed_bytes_never_panic(cut in 0.0..1.0f64, changes in proptest::collection::vec((0.0..1.0f64, any::<u8>()), 0..8)) {
        let mut text = generated();
        let length = text.len() as f64;
        for (place, byte) in changes {
            text[(place * length) as usize] = byte;
        }
        text.truncate((cut * length) as usize);
        if let Ok(table) = ops_from_bytes(vec![(PathBuf::from("x.csv"), text)]) {
            assert_consistent(&table);
        }
    }
}
