//! Tables of operations, and what the program makes of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::program::{Outcome, Workplace};

/// The generated run: four devices, a warm-up, iterations between signposts, an operation of the host in each.
pub(super) fn generated() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/generated/metal_ops.csv")
}

/// A directory with the generated run as `ops.csv`.
pub(super) fn place() -> Workplace {
    let place = Workplace::with("{}");
    std::fs::copy(generated(), place.path("ops.csv")).unwrap();
    place
}

/// A directory with these operations as `ops.csv`.
pub(super) fn place_of(rows: &[Row]) -> Workplace {
    let place = Workplace::with("{}");
    place.put("ops.csv", table(rows));
    place
}

/// Columns of the tables made here.
const HEADER: &str = "OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,DEVICE ARCH,ATTRIBUTES,MATH FIDELITY,CORE COUNT,\
    AVAILABLE WORKER CORE COUNT,HOST START TS,HOST DURATION [ns],OP TO OP LATENCY [ns],DEVICE FW DURATION [ns],\
    DEVICE KERNEL DURATION [ns],INPUT_0_W_PAD[LOGICAL],INPUT_0_Z_PAD[LOGICAL],INPUT_0_Y_PAD[LOGICAL],\
    INPUT_0_X_PAD[LOGICAL],INPUT_0_LAYOUT,INPUT_0_DATATYPE,INPUT_0_MEMORY,INPUT_1_W_PAD[LOGICAL],\
    INPUT_1_Z_PAD[LOGICAL],INPUT_1_Y_PAD[LOGICAL],INPUT_1_X_PAD[LOGICAL],INPUT_1_LAYOUT,INPUT_1_DATATYPE,\
    INPUT_1_MEMORY,OUTPUT_0_W_PAD[LOGICAL],OUTPUT_0_Z_PAD[LOGICAL],OUTPUT_0_Y_PAD[LOGICAL],OUTPUT_0_X_PAD[LOGICAL],\
    OUTPUT_0_LAYOUT,OUTPUT_0_DATATYPE,OUTPUT_0_MEMORY";

/// A row of a table made here.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) code: &'static str,
    pub(super) kind: &'static str,
    pub(super) device: Option<u32>,
    pub(super) arch: &'static str,
    pub(super) fidelity: &'static str,
    pub(super) attributes: &'static str,
    pub(super) cores: &'static str,
    /// Kernel duration, and that with firmware, in nanoseconds.
    pub(super) duration: &'static str,
    pub(super) fw_duration: &'static str,
    pub(super) gap: &'static str,
    /// M, K and N of a product; none: other inputs.
    pub(super) product: Option<[u32; 3]>,
    pub(super) memory: &'static str,
    /// Number of the call; the position where it is not given.
    pub(super) call: Option<u32>,
}

/// An operation of device 0 that takes 10 µs.
pub(super) fn op(code: &'static str) -> Row {
    Row {
        code,
        kind: "tt_dnn_device",
        device: Some(0),
        arch: "blackhole",
        fidelity: "HiFi2",
        attributes: "{}",
        cores: "64",
        duration: "10000",
        fw_duration: "11000",
        gap: "500",
        product: None,
        memory: "DEV_0_DRAM_INTERLEAVED",
        call: None,
    }
}

pub(super) fn signpost(name: &'static str) -> Row {
    Row {
        kind: "signpost",
        device: None,
        arch: "",
        fidelity: "",
        attributes: "",
        cores: "",
        duration: "",
        fw_duration: "",
        gap: "",
        memory: "",
        ..op(name)
    }
}

pub(super) fn table(rows: &[Row]) -> String {
    let mut text = format!("{HEADER}\r\n");
    for (row, position) in rows.iter().zip(1_u32..) {
        let device = row.device.map_or(String::new(), |device| device.to_string());
        let call = row.call.unwrap_or(position) * 1024 + row.device.unwrap_or(0);
        let available = if row.device.is_some() { "110" } else { "" };
        let start = 1000 * u64::from(position);
        let host = if row.kind == "python_fallback" { "45000" } else { "" };
        let tensor = |y: u32, x: u32| format!("1[1],1[1],{y}[{y}],{x}[{x}],TILE,BFLOAT16,{}", row.memory);
        let blank = || ",".repeat(6);
        let [a, b, c] = match row.product {
            Some([m, k, n]) => [tensor(m, k), tensor(k, n), tensor(m, n)],
            None if row.device.is_some() => [tensor(32, 32), blank(), tensor(32, 32)],
            None => [blank(), blank(), blank()],
        };
        let Row { code, kind, arch, fidelity, attributes, cores, duration, fw_duration, gap, .. } = row;
        text += &format!(
            "{code},{kind},{call},{device},{arch},{attributes},{fidelity},{cores},{available},{start},{host},{gap},\
             {fw_duration},{duration},{a},{b},{c}\r\n"
        );
    }
    text
}

/// The operations that the program writes with these options, as cells by column.
#[track_caller]
pub(super) fn operations(place: &Workplace, options: &[&str]) -> Vec<BTreeMap<String, String>> {
    let arguments = [&["metal", "ops.csv", "--csv", "out.csv"], options].concat();
    place.run(&arguments).exits_with(0);
    records(&place.bytes("out.csv"))
}

pub(super) fn records(csv: &[u8]) -> Vec<BTreeMap<String, String>> {
    csv::Reader::from_reader(csv).deserialize().map(Result::unwrap).collect()
}

#[track_caller]
pub(super) fn column(rows: &[BTreeMap<String, String>], name: &str) -> Vec<String> {
    rows.iter().map(|row| row[name].clone()).collect()
}

/// The names of the operations that the program reports with these options.
#[track_caller]
pub(super) fn names(place: &Workplace, options: &[&str]) -> Vec<String> {
    column(&operations(place, options), "OP Code")
}

/// What the program prints with these options.
#[track_caller]
pub(super) fn printed(place: &Workplace, options: &[&str]) -> Outcome {
    place.run(&[&["metal", "ops.csv"], options].concat()).exits_with(0)
}

#[track_caller]
pub(super) fn says(outcome: &Outcome, parts: &[&str]) {
    for part in parts {
        assert!(outcome.err.contains(part) || outcome.out.contains(part), "no {part:?} in {outcome:#?}");
    }
}
