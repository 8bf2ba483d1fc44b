//! From how many tokens on a projection is bound by arithmetic, asked of the models alone, without a trace:
//! `cargo run -p examples rooflines_without_trace [ARCHITECTURE...]`

use std::error::Error;
use std::io::Write;

use perf_models::{Architecture, Attention, AttentionMask, Gemm, PerfModel, Roofline, architecture};

const BF16: &str = "c10::BFloat16";

pub(crate) fn run(arguments: &[String], out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let usual = ["h100-sxm".to_owned(), "mi300x".to_owned()];
    let names = if arguments.is_empty() { &usual[..] } else { arguments };
    let devices = names
        .iter()
        .map(|name| architecture(name).ok_or_else(|| format!("no bundled architecture is called {name}")))
        .collect::<Result<Vec<_>, _>>()?;

    write!(out, "{:<22}{:>8}{:>12}{:>12}{:>10}", "work", "tokens", "GFLOP", "MB", "FLOP/B")?;
    for device in &devices {
        write!(out, "  {:>24}", device.name)?;
    }
    writeln!(out)?;
    // A layer with 64 heads of queries and 8 of keys, each of 128 channels.
    for tokens in [1, 64, 256, 512, 4096] {
        row(out, "down projection", tokens, &Gemm::new(tokens, 8192, 28672, BF16), &devices)?;
        let prefill = Attention {
            batch: 1,
            query_length: tokens,
            key_length: tokens,
            query_heads: 64,
            key_heads: 8,
            head_dim: 128,
            value_head_dim: 128,
            mask: AttentionMask { causal: true, ..AttentionMask::default() },
            query_type: BF16.to_owned(),
            key_type: BF16.to_owned(),
            ..Attention::default()
        };
        row(out, "attention of a prefill", tokens, &prefill, &devices)?;
    }
    Ok(())
}

fn row(
    out: &mut dyn Write,
    work: &str,
    tokens: u64,
    model: &dyn PerfModel,
    devices: &[&Architecture],
) -> Result<(), Box<dyn Error>> {
    let (flops, bytes) = (model.flops()?, model.bytes()?);
    write!(out, "{work:<22}{tokens:>8}{:>12.3}{:>12.3}{:>10.1}", flops / 1e9, bytes / 1e6, flops / bytes)?;
    for device in devices {
        let roofline = Roofline::from_model(model, device)?;
        write!(out, "  {:>24}", format!("{:.2} µs {}", roofline.time_us(), roofline.bound()))?;
    }
    writeln!(out)?;
    Ok(())
}
