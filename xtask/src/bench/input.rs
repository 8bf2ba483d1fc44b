//! What is measured: generated traces of several sizes, and the large ones of the corpus.

use std::error::Error;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Seed of the generated traces.
const SEED: u64 = 1;

/// Recordings smaller than this, in compressed bytes, say more of the start of a process than of reading.
const SMALLEST_RECORDING: u64 = 1 << 20;

/// Bytes of text of a recording that is repeated: those of the generated trace of a million events.
const REPEATED: u64 = 330_000_000;

/// Writes the trace that the arguments of a generator describe into a file.
pub(super) type Write<'w> = dyn Fn(&[&str], &Path) -> Result<(), Box<dyn Error>> + 'w;

/// A trace to measure with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Input {
    pub(super) name: String,
    pub(super) path: PathBuf,
    /// Which line of the plot it belongs to; `None` of recordings, which are of no series of sizes.
    pub(super) series: Option<&'static str>,
}

/// Has the generators of `studies`, a workspace of its own, write a trace.
pub(super) fn write_by_study(root: &Path, arguments: &[&str], out: &Path) -> Result<(), Box<dyn Error>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut run = Command::new(cargo);
    run.args(["run", "--quiet", "--release", "--manifest-path"]).arg(root.join("studies/Cargo.toml"));
    match run.arg("--").args(arguments).arg("--out").arg(out).status()?.success() {
        true => Ok(()),
        false => Err(format!("cargo study {} failed", arguments.join(" ")).into()),
    }
}

/// Generated traces of these sizes, plain and as gzip, taken from the folder where they are in it.
pub(super) fn generated(
    cache: &Path,
    sizes: &[u64],
    write: &Write<'_>,
) -> Result<Vec<Input>, Box<dyn Error>> {
    fs::create_dir_all(cache).map_err(|error| format!("{}: {error}", cache.display()))?;
    let mut inputs = Vec::new();
    for &events in sizes {
        for (series, suffix) in [("plain", "json"), ("gzip", "json.gz")] {
            let path = cache.join(format!("training-cuda-{events}-seed{SEED}.{suffix}"));
            if !path.exists() {
                eprintln!("bench: generating {}", path.display());
                // Under another name at first: what was cut off is not taken for the trace.
                let unfinished = cache.join(format!("unfinished.{suffix}"));
                let (events, seed) = (events.to_string(), SEED.to_string());
                write(
                    &["gen-trace", "--flavour", "cuda", "--events", &events, "--seed", &seed],
                    &unfinished,
                )?;
                fs::rename(&unfinished, &path)?;
            }
            inputs.push(Input { name: format!("generated, {series}"), path, series: Some(series) });
        }
    }
    Ok(inputs)
}

/// The large Kineto traces of the corpus, by name; none where there is no corpus.
pub(super) fn recorded(corpus: &Path) -> Vec<Input> {
    let entries = |folder: &Path| {
        let mut paths: Vec<PathBuf> =
            fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.sort();
        paths
    };
    let cases = ["pytorch", "inference"].into_iter().flat_map(|group| entries(&corpus.join(group)));
    let mut inputs = Vec::new();
    for case in cases {
        let is_large = |path: &PathBuf| {
            path.to_string_lossy().ends_with(".json.gz")
                && path.metadata().is_ok_and(|file| file.is_file() && file.len() >= SMALLEST_RECORDING)
        };
        let name = case.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let traces = entries(&case).into_iter().filter(is_large);
        inputs.extend(traces.map(|path| Input { name: name.clone(), path, series: None }));
    }
    inputs
}

/// The largest of the recordings several times in a row, about [`REPEATED`] bytes of text: real, and as large as the
/// generated one. Taken from the folder where it is in it; none without recordings.
pub(super) fn repeated(
    cache: &Path,
    recorded: &[Input],
    write: &Write<'_>,
) -> Result<Option<Input>, Box<dyn Error>> {
    let length = |input: &Input| {
        let text = flate2::read::MultiGzDecoder::new(fs::File::open(&input.path)?);
        io::copy(&mut { text }, &mut io::sink()).map(|length| (length, input.clone()))
    };
    let lengths = recorded.iter().map(length).collect::<Result<Vec<_>, _>>()?;
    let Some((length, largest)) = lengths.into_iter().max_by_key(|(length, _)| *length) else {
        return Ok(None);
    };
    let path = cache.join(format!("{}-repeated.json", largest.name));
    let copies = (REPEATED / length.max(1)).max(1);
    if !path.exists() {
        eprintln!("bench: repeating {} into {}", largest.path.display(), path.display());
        let unfinished = cache.join("unfinished.json");
        let recording = largest.path.to_str().ok_or("the path of the recording is not UTF-8")?;
        write(&["repeat-trace", recording, "--copies", &copies.to_string()], &unfinished)?;
        fs::rename(&unfinished, &path)?;
    }
    Ok(Some(Input { name: format!("{}, {copies} times in a row, plain", largest.name), path, series: None }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_are_generated_once() {
        let cache = tempfile::tempdir().unwrap();
        let write = |arguments: &[&str], out: &Path| Ok(fs::write(out, arguments.join(" "))?);
        let inputs = generated(cache.path(), &[200], &write).unwrap();
        assert_eq!(inputs.len(), 2);
        let text = |input: &Input| fs::read_to_string(&input.path).unwrap();
        assert_eq!(text(&inputs[1]), "gen-trace --flavour cuda --events 200 --seed 1");
        fs::write(&inputs[0].path, "kept").unwrap();
        assert_eq!(generated(cache.path(), &[200], &write).unwrap(), inputs);
        assert_eq!(text(&inputs[0]), "kept");
    }

    #[test]
    fn only_large_recordings_are_taken() {
        let corpus = tempfile::tempdir().unwrap();
        assert_eq!(recorded(corpus.path()), []);
        let case = corpus.path().join("pytorch/b200");
        fs::create_dir_all(&case).unwrap();
        fs::write(case.join("small.json.gz"), "").unwrap();
        fs::write(case.join("large.txt"), vec![0; 1 << 20]).unwrap();
        fs::write(case.join("large.json.gz"), vec![0; 1 << 20]).unwrap();
        let found = recorded(corpus.path());
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].name.as_str(), &found[0].path), ("b200", &case.join("large.json.gz")));
    }
}
