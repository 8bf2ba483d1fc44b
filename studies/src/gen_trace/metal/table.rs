//! Times, and the table: a line per operation of a device, lines end as the profiler ends them.

use std::io::{self, Write};

use super::DEVICES;
use super::program::{Operation, Step, Tensor, steps};
use crate::gen_trace::random::Random;

/// Cores of a Blackhole chip that run operations.
const CORES: u64 = 110;
/// Cycles per 1000 nanoseconds.
const CLOCK: u64 = 1350;
/// What firmware adds before and after a kernel, in nanoseconds.
const FIRMWARE: u64 = 1_150;
/// Inputs that a line has columns for.
const INPUTS: usize = 2;

const BEFORE_SHAPES: &str = "OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,DEVICE ARCH,ATTRIBUTES,MATH FIDELITY,\
    CORE COUNT,AVAILABLE WORKER CORE COUNT,HOST START TS,HOST END TS,HOST DURATION [ns],DEVICE FW START CYCLE,\
    DEVICE FW END CYCLE,OP TO OP LATENCY [ns],DEVICE FW DURATION [ns],DEVICE KERNEL DURATION [ns]";
const BEHIND_SHAPES: &str =
    "METAL TRACE ID,METAL TRACE REPLAY SESSION ID,PM IDEAL [ns],PM COMPUTE [ns],PM BANDWIDTH [ns]";
/// Cells between the host's and the end of a line of the host.
const BLANK: usize = 5 + 7 * (INPUTS + 1) + 5;

pub(super) fn write(rows: u64, seed: u64, out: &mut dyn Write) -> io::Result<()> {
    header(out)?;
    let mut player =
        Player { random: Random::new(seed), host: 1_000_000, ends: [0; DEVICES as usize], call: 0 };
    let mut left = rows;
    for step in steps() {
        match step {
            Step::Device(operation) => {
                let lines = player.run(operation);
                for line in lines.iter().take(usize::try_from(left).unwrap_or(usize::MAX)) {
                    out.write_all(line.as_bytes())?;
                    left -= 1;
                }
            }
            Step::Signpost(name) => {
                let start = player.on_host(0);
                line_of_host(out, name, "signpost", player.call, start, None)?;
                left -= 1;
            }
            Step::Host(name, duration) => {
                let duration = player.random.about(duration);
                let start = player.on_host(duration);
                line_of_host(out, name, "python_fallback", player.call, start, Some(duration))?;
                left -= 1;
            }
        }
        if left == 0 {
            break;
        }
    }
    Ok(())
}

fn header(out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{BEFORE_SHAPES}")?;
    let inputs = (0..INPUTS).map(|number| format!("INPUT_{number}"));
    for tensor in inputs.chain(["OUTPUT_0".to_owned()]) {
        for axis in ["W", "Z", "Y", "X"] {
            write!(out, ",{tensor}_{axis}_PAD[LOGICAL]")?;
        }
        write!(out, ",{tensor}_LAYOUT,{tensor}_DATATYPE,{tensor}_MEMORY")?;
    }
    write!(out, ",{BEHIND_SHAPES}\r\n")
}

fn line_of_host(
    out: &mut dyn Write,
    name: &str,
    kind: &str,
    call: u64,
    start: u64,
    duration: Option<u64>,
) -> io::Result<()> {
    let end = start + duration.unwrap_or(0);
    let duration = duration.map_or(String::new(), |duration| duration.to_string());
    let blank = ",".repeat(BLANK);
    write!(out, "{name},{kind},{},,,,,,,{start},{end},{duration}{blank}\r\n", call * 1024)
}

/// Gives operations their times.
struct Player {
    random: Random,
    /// Nanoseconds of the host's clock.
    host: u64,
    /// When each device ended its operation before, in nanoseconds of its clock; 0 before the first.
    ends: [u64; DEVICES as usize],
    /// Number of the call.
    call: u64,
}

impl Player {
    /// The host is busy so long; when it began.
    fn on_host(&mut self, duration: u64) -> u64 {
        let start = self.host;
        self.host += duration + self.random.about(2_000);
        self.call += 1;
        start
    }

    /// Lines of all devices.
    fn run(&mut self, operation: &Operation) -> Vec<String> {
        let dispatch = self.random.about(30_000);
        let call = self.call + 1;
        // Now and then the host is late and the devices wait for it.
        let wait = if self.random.between(0, 8) == 0 { self.random.between(10_000, 400_000) } else { 700 };
        let base = self.random.about(operation.duration);
        (0..DEVICES)
            .map(|device| {
                let start = self.on_host(dispatch / DEVICES);
                let position = usize::try_from(device).unwrap_or(0);
                let kernel = match operation.waits {
                    true => base + self.random.between(0, operation.duration / 2),
                    false => base + self.random.between(0, base / 20 + 1),
                };
                let before = self.ends[position];
                let gap = wait + self.random.between(0, 300);
                let begin = if before == 0 { 1_000_000_000 + 40_000 * device } else { before + gap };
                let end = begin + kernel + FIRMWARE;
                self.ends[position] = end;
                let latency = if before == 0 { String::new() } else { (begin - before).to_string() };
                let times = format!(
                    "{start},{},{},{},{},{latency},{},{kernel}",
                    start + dispatch / DEVICES,
                    dispatch / DEVICES,
                    begin * CLOCK / 1000,
                    end * CLOCK / 1000,
                    kernel + FIRMWARE,
                );
                line(operation, call * 1024 + device, device, &times)
            })
            .collect()
    }
}

fn line(operation: &Operation, call: u64, device: u64, times: &str) -> String {
    let Operation { code, attributes, fidelity, cores, .. } = operation;
    let inputs = (0..INPUTS).map(|number| cells(operation.inputs.get(number), device));
    let tensors: Vec<String> = inputs.chain([cells(Some(&operation.output), device)]).collect();
    format!(
        "{code},tt_dnn_device,{call},{device},blackhole,{attributes},{fidelity},{cores},{CORES},{times},{},,,1,1,1\r\n",
        tensors.join(",")
    )
}

fn cells(tensor: Option<&Tensor>, device: u64) -> String {
    let Some(Tensor { padded, logical, datatype, memory }) = tensor else { return ",".repeat(6) };
    let dims: Vec<String> =
        padded.iter().zip(logical).map(|(padded, logical)| format!("{padded}[{logical}]")).collect();
    format!("1[1],{},TILE,{datatype},DEV_{device}_{memory}", dims.join(","))
}
