//! What a page shows beside the tables of its report.

use std::collections::BTreeMap;

use serde::Serialize;

use super::icicle::Icicle;
use super::timeline::Timeline;

/// What a page shows beside the tables of its report. Times are whole nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Page {
    /// Heading: what the report is of.
    pub title: String,
    /// What was recorded, a fact each: devices, ranks, events.
    pub head: Vec<String>,
    /// What the figures say, a sentence each.
    pub statements: Vec<String>,
    /// What a reader has to know before trusting the figures.
    pub warnings: Vec<PageWarning>,
    /// The figures to see first.
    pub figures: Vec<PageFigure>,
    /// What to do, the most time first.
    pub findings: Vec<PageFinding>,
    /// Where the time goes: a bar for the whole, one per step, one per rank.
    pub bars: Vec<StackedBars>,
    /// Device time by what launched it, one picture per way to divide it.
    pub icicles: Vec<Icicle>,
    /// What the devices did, event by event.
    #[serde(skip)]
    pub timeline: Option<Timeline>,
    /// Operators under the ceilings of the device.
    pub rooflines: Vec<PageRoofline>,
    /// From a baseline's time to the candidate's.
    pub waterfall: Option<Waterfall>,
    /// The work that differs between two runs.
    pub difference: Option<Difference>,
    /// How fast devices exchanged data.
    pub communication: Option<Communication>,
    /// How names of parts, kinds of work and rows of charts are drawn; the page chooses a colour for names that are not here.
    pub kinds: BTreeMap<String, PageKind>,
    /// How the report was made, item by item.
    pub made_by: Vec<(String, String)>,
}

/// How a kind of work is drawn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PageKind {
    /// Its colour, `#rrggbb` or a variable of the style sheet.
    pub fill: String,
    /// Stands where there is no room for the name; may be empty.
    pub letter: String,
}

/// Something that limits what the figures say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PageWarning {
    /// How much it matters.
    pub severity: WarningSeverity,
    /// What it is, and what to do.
    pub text: String,
}

/// How much a warning matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WarningSeverity {
    /// Figures are wrong, or missing.
    Error,
    /// Some figures cannot be relied on.
    Warning,
    /// Good to know.
    Information,
}

/// One of the first figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PageFigure {
    /// What it is.
    pub name: String,
    /// Its value with the unit, for people.
    pub value: String,
    /// What it is a share of, or how it varies; may be empty.
    pub note: String,
}

/// Something to improve, with what that would save.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PageFinding {
    /// The rule that found it, such as `IDLE-LAUNCH`.
    pub rule: String,
    /// Its place by what it would save, from 1.
    pub rank: usize,
    /// What it is, in a sentence.
    pub title: String,
    /// Where: module, operator or stream; may be empty.
    pub location: String,
    /// The line of the program, where it is recorded; may be empty.
    pub call_site: String,
    /// What it would save, where that is known.
    pub saving: Option<Saving>,
    /// How sure it is, in a word.
    pub confidence: String,
    /// What to do.
    pub remedy: String,
    /// What the figures rest on, a sentence each.
    pub reasons: Vec<String>,
    /// Rows of tables that show it.
    pub evidence: Vec<Evidence>,
    /// Other explanations of the same time.
    pub alternatives: Vec<String>,
    /// Why the figures may be wrong.
    pub doubts: Vec<String>,
}

/// The time that a finding is about, and what of it a change would save, in µs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Saving {
    /// What it is about.
    pub amount_us: f64,
    /// That in percent of the whole time.
    pub amount_pct: f64,
    /// Surely.
    pub low_us: f64,
    /// Most likely.
    pub mid_us: f64,
    /// At most.
    pub high_us: f64,
}

/// A row of a table that shows something.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Evidence {
    /// Name of the table.
    pub table: String,
    /// A text that the row has: the page shows the rows with it.
    pub row: String,
    /// What it says; the page shows `row` where this is empty.
    pub text: String,
}

/// Bars of one kind below each other, each divided into parts that add up to it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StackedBars {
    /// What the bars are of: `whole recording`, `step by step`, `rank by rank`.
    pub title: String,
    /// What the parts are, and by which rule time counts for one of them.
    pub note: String,
    /// Names of the parts, in the order in which they are drawn. A kind of work has the same colour everywhere.
    pub parts: Vec<String>,
    /// The bars, from the top.
    pub bars: Vec<StackedBar>,
    /// How many more bars there would be.
    pub left_out: usize,
}

/// A bar.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StackedBar {
    /// Its name.
    pub name: String,
    /// What sets it apart; may be empty.
    pub note: String,
    /// Its length. The times of its parts add up to it exactly.
    pub total_ns: i64,
    /// Places of parts with their times.
    pub times: Vec<(usize, i64)>,
}

impl StackedBar {
    /// A bar of times in units of which a nanosecond has `per_nanosecond`. Ends of parts are rounded, not their lengths,
    /// so that these add up to the whole.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        times: impl IntoIterator<Item = (usize, i64)>,
        per_nanosecond: i64,
    ) -> Self {
        let (mut sum, mut end) = (0_i64, 0_i64);
        let mut rounded = Vec::new();
        for (part, time) in times {
            sum += time;
            let next = sum / per_nanosecond.max(1);
            rounded.push((part, next - end));
            end = next;
        }
        StackedBar { name: name.into(), note: String::new(), total_ns: end, times: rounded }
    }
}

/// Work by its rates, and the ceilings of the device that it is held against.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PageRoofline {
    /// Unit and precision of the work, and what its peak is a figure of.
    pub title: String,
    /// The ceilings; `None` of runs whose devices are not known.
    pub ceilings: Option<Ceilings>,
    /// The work, most time first.
    pub points: Vec<PagePoint>,
}

/// What a device can do at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Ceilings {
    /// Peak in 10¹² operations a second.
    pub peak_tflops: f64,
    /// Bandwidth of the memory in 10⁹ bytes a second.
    pub bandwidth_gb_per_s: f64,
}

/// Calls of one operator with the same arguments.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PagePoint {
    /// Operator.
    pub name: String,
    /// Kind of work.
    pub category: String,
    /// Shapes of the inputs; may be empty.
    pub dims: String,
    /// Calls.
    pub calls: usize,
    /// How fast they were.
    pub rates: PointRates,
    /// How fast they were in the first of two runs.
    pub before: Option<PointRates>,
}

/// How fast calls were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PointRates {
    /// Bytes that a call moves.
    pub bytes: f64,
    /// Achieved 10¹² operations a second; 0 of work without any.
    pub tflops: f64,
    /// Achieved 10¹² bytes a second, above zero.
    pub tb_per_s: f64,
    /// Sum of the kernel time in µs; per step where two runs are compared by step.
    pub time_us: f64,
}

/// How fast devices exchanged data.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Communication {
    /// What the rates are.
    pub note: String,
    /// Collectives of a kind, group and size, most time first.
    pub points: Vec<CommunicationPoint>,
    /// The time of each rank's collectives.
    pub ranks: Option<StackedBars>,
}

/// Collectives of a kind, a group and a size.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CommunicationPoint {
    /// Collective, such as `allreduce`.
    pub name: String,
    /// Group of ranks.
    pub group: String,
    /// Size of the message in bytes, as nccl-tests counts it.
    pub bytes: f64,
    /// Bus bandwidth in 10⁹ bytes a second.
    pub gb_per_s: f64,
    /// Their number.
    pub count: usize,
    /// Their time in ms.
    pub time_ms: f64,
}

/// The difference between two times in steps that add up.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Waterfall {
    /// What the times are of.
    pub title: String,
    /// Names of both runs, the baseline first.
    pub runs: [String; 2],
    /// Times of both runs.
    pub totals_ns: [i64; 2],
    /// What was added, negative where time was saved; adds up to the difference of the totals.
    pub steps: Vec<(String, i64)>,
}

/// The work of two runs, as far as it differs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Difference {
    /// Names of both runs, the baseline first.
    pub runs: [String; 2],
    /// The work, the largest change first.
    pub units: Vec<DifferingUnit>,
    /// Work that is not among these: how much, and how much time the second run takes longer for it.
    pub left_out: (usize, i64),
}

/// Work that both runs do in some way, or one of them alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DifferingUnit {
    /// The modules around it, or other places in the program, the outermost first.
    pub modules: Vec<String>,
    /// What it is called, by both runs where they differ.
    pub name: String,
    /// How the two compare.
    pub status: UnitChange,
    /// How often it is there.
    pub count: usize,
    /// Times in both runs.
    pub times_ns: [i64; 2],
    /// What runs on the device, in both runs.
    pub kernels: [Vec<String>; 2],
}

/// How a piece of work of two runs compares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum UnitChange {
    /// The same kernels.
    #[default]
    Same,
    /// Other kernels for the same program.
    Kernels,
    /// Another program in the same place.
    Structure,
    /// The same program in another place.
    Moved,
    /// Only the first run has it.
    OnlyA,
    /// Only the second run has it.
    OnlyB,
}
