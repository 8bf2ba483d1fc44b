//! Writes the recordings of a generated job of many ranks, or their tables, with the truth about them.

use std::fs;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::GzBuilder;
use multi_rank::{JobFolder, Source, rank_tables};
use std::io::Write as _;
use testdata::job::{Fault, Job, JobPlan, Naming, Numbered, Parallelism};
use trace_ingest::{ReadOptions, read_path};
use tree_perf::{Analysis, AnalysisOptions};

use crate::{Outcome, StudyResult};

/// Size, layout and faults of the job.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Folder for the recordings and truth.json; it is made if it is not there
    dir: PathBuf,
    /// Number of ranks
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1 << 16))]
    ranks: u32,
    /// Devices of a host; hosts have a clock each
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..))]
    ranks_per_host: u32,
    /// How ranks share the work: dp, tp, pp, ep or several as dp_tp4_pp2; tp and ep take a host, pp takes 2, dp the rest
    #[arg(long, default_value = "dp")]
    layout: String,
    /// Steps of training
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..))]
    steps: u32,
    /// Collectives of each rank, at least: the model has as many layers as that needs
    #[arg(long, default_value_t = 32)]
    collectives: u32,
    /// Seed of the random numbers: the same seed gives the same bytes
    #[arg(long)]
    seed: u64,
    /// Where collectives are numbered (Seq): on the kernel and the host's call, on the call alone, or nowhere
    #[arg(long, value_enum, default_value_t)]
    seq: Seq,
    /// Groups of one dimension share a name, as those of a device mesh do
    #[arg(long)]
    same_names: bool,
    /// µs between the ends of a collective on its ranks
    #[arg(long, default_value_t = 3.0)]
    end_jitter: f64,
    /// Files are called rankN_trace.json.gz instead of HOST_PID.TIME.pt.trace.json.gz
    #[arg(long)]
    rank_names: bool,
    /// What goes wrong: KIND:RANK[@FIRST[-LAST]][=AMOUNT], of clocks KIND:HOST; may be repeated. An unknown kind lists all
    #[arg(long = "fault", value_name = "FAULT")]
    faults: Vec<Fault>,
    /// Writes the tables of `tracelens ranks collect` instead of recordings
    #[arg(long)]
    tables: bool,
}

#[derive(Debug, Clone, Copy, Default, clap::ValueEnum)]
enum Seq {
    #[default]
    Kernel,
    Operator,
    None,
}

/// Writes the job.
pub(crate) fn run(arguments: &Arguments) -> StudyResult {
    let parallelism = Parallelism::from_text(&arguments.layout, arguments.ranks, arguments.ranks_per_host)?;
    let job = Job::new(JobPlan {
        ranks_per_host: arguments.ranks_per_host,
        steps: arguments.steps,
        collectives: arguments.collectives,
        numbered: match arguments.seq {
            Seq::Kernel => Numbered::Kernel,
            Seq::Operator => Numbered::Operator,
            Seq::None => Numbered::Nowhere,
        },
        same_names: arguments.same_names,
        end_jitter: (arguments.end_jitter * 500.0) as i64,
        naming: if arguments.rank_names { Naming::Rank } else { Naming::Host },
        faults: arguments.faults.clone(),
        ..JobPlan::new(arguments.ranks, parallelism, arguments.seed)
    })?;
    let dir = &arguments.dir;
    let named = |error: io::Error| format!("{}: {error}", dir.display());
    fs::create_dir_all(dir).map_err(named)?;
    let ordinals = if arguments.tables {
        write_tables(&job, dir)?
    } else {
        write_recordings(&job, dir).map_err(named)?
    };
    let mut truth = BufWriter::new(fs::File::create(dir.join("truth.json")).map_err(named)?);
    job.write_truth(&ordinals, &mut truth).and_then(|()| truth.flush()).map_err(named)?;
    let (ranks, collectives) = (job.files().len(), job.truth().collectives.len());
    println!("gen-ranks: {ranks} recordings of {collectives} collectives in {}", dir.display());
    Ok(Outcome::Good)
}

/// By rank the places of the kernels of its collectives.
type Ordinals = Vec<Vec<Option<u32>>>;

fn write_recordings(job: &Job, dir: &Path) -> io::Result<Ordinals> {
    let mut ordinals = vec![Vec::new(); job.plan().ranks as usize];
    for file in job.files() {
        let recording = job.recording(file.rank)?;
        // No time and no name in the header: the same recording is the same file.
        let output = fs::File::create(dir.join(file.name + ".gz"))?;
        let mut zip = GzBuilder::new().mtime(0).write(output, Compression::fast());
        zip.write_all(&recording.text)?;
        zip.finish()?;
        ordinals[file.rank as usize] = recording.ordinals;
    }
    Ok(ordinals)
}

/// Maps each recording as it is made, so that one is on disk at a time.
fn write_tables(job: &Job, dir: &Path) -> Result<Ordinals, Box<dyn std::error::Error>> {
    let mut folder = JobFolder::open(dir)?;
    let recordings = tempfile::tempdir()?;
    let mut ordinals = vec![Vec::new(); job.plan().ranks as usize];
    for file in job.files() {
        let recording = job.recording(file.rank)?;
        let path = recordings.path().join(file.name);
        fs::write(&path, &recording.text)?;
        let trace = read_path(&path, &ReadOptions::default())?;
        let tables = rank_tables(&Analysis::new(trace, AnalysisOptions::default()), &path);
        folder.add(&tables, Source::of(&path)?)?;
        fs::remove_file(&path)?;
        ordinals[file.rank as usize] = recording.ordinals;
    }
    Ok(ordinals)
}
