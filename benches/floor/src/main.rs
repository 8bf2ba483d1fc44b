//! What reading a trace takes at least: `floor FILE RUNS TAPE_LIMIT`.
//!
//! Inflates the gzip file with libdeflate and finds the structure of the JSON with simd-json, in memory, each on one
//! thread and as often as asked, and prints a line of JSON:
//! `{"text_bytes": …, "inflate_seconds": […] or null, "tape_seconds": […] or null, "tape_refused": "why" or null}`.
//! Nothing is inflated of a file that is no gzip. Texts longer than the limit get no tape, which takes many times
//! their memory.

use std::process::ExitCode;
use std::time::Instant;

use libdeflater::{DecompressionError, Decompressor};

fn main() -> ExitCode {
    match run(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("floor: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &[String]) -> Result<String, String> {
    let [path, runs, tape_limit] = arguments else { return Err("usage: floor FILE RUNS TAPE_LIMIT".into()) };
    let runs: usize = runs.parse().map_err(|_| format!("{runs} is no number of runs"))?;
    let tape_limit: usize = tape_limit.parse().map_err(|_| format!("{tape_limit} is no number of bytes"))?;
    let file = std::fs::read(path).map_err(|error| format!("{path}: {error}"))?;
    let is_gzip = file.starts_with(&[0x1f, 0x8b]);
    let (text, inflating) = if is_gzip {
        let (text, times) = inflate(&file, runs).map_err(|error| format!("{path}: {error}"))?;
        (text, Some(times))
    } else {
        (file, None)
    };
    let (tape, refused) = match text.len() > tape_limit {
        true => (None, Some(format!("longer than {tape_limit} bytes"))),
        false => match tape(&text, runs) {
            Ok(times) => (Some(times), None),
            Err(error) => (None, Some(error)),
        },
    };
    Ok(format!(
        "{{\"text_bytes\": {}, \"inflate_seconds\": {}, \"tape_seconds\": {}, \"tape_refused\": {}}}",
        text.len(),
        json_numbers(inflating.as_deref()),
        json_numbers(tape.as_deref()),
        refused.map_or("null".to_owned(), |why| json_text(&why)),
    ))
}

/// The text, and how long inflating it took each time, into memory that was touched before.
fn inflate(file: &[u8], runs: usize) -> Result<(Vec<u8>, Vec<f64>), String> {
    // The last four bytes are the length modulo 2³² of the last member.
    let length = file.last_chunk::<4>().map_or(0, |bytes| u32::from_le_bytes(*bytes) as usize);
    let mut text = vec![0; length.max(file.len())];
    let mut inflater = Decompressor::new();
    let length = loop {
        match inflater.gzip_decompress(file, &mut text) {
            Ok(length) => break length,
            Err(DecompressionError::InsufficientSpace) => text.resize(text.len() * 2, 0),
            Err(error) => return Err(error.to_string()),
        }
    };
    text.truncate(length);
    let mut times = Vec::with_capacity(runs);
    for _ in 0..runs {
        let started = Instant::now();
        inflater.gzip_decompress(file, &mut text).map_err(|error| error.to_string())?;
        times.push(started.elapsed().as_secs_f64());
    }
    Ok((text, times))
}

/// How long the tape took each time. It is made in place, so each gets a copy, which is not timed.
fn tape(text: &[u8], runs: usize) -> Result<Vec<f64>, String> {
    let mut times = Vec::with_capacity(runs);
    for _ in 0..runs {
        let mut copy = text.to_vec();
        let started = Instant::now();
        let tape = simd_json::to_tape(&mut copy).map_err(|error| error.to_string())?;
        times.push(started.elapsed().as_secs_f64());
        std::hint::black_box(&tape);
    }
    Ok(times)
}

fn json_numbers(numbers: Option<&[f64]>) -> String {
    numbers.map_or("null".to_owned(), |numbers| format!("{numbers:?}"))
}

fn json_text(text: &str) -> String {
    let plain: String = text
        .chars()
        .map(|c| match c {
            '"' | '\\' => '\'',
            c if c.is_control() => ' ',
            c => c,
        })
        .collect();
    format!("\"{plain}\"")
}
