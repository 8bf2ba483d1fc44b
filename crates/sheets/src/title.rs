//! What the header of a column says to a reader: `mean kernel time (µs)` for the column `Kernel Time (µs)_mean`.

use std::borrow::Cow;
use std::cmp::Reverse;

use crate::column::{Column, ColumnKind, Unit};

/// The header that readers see, from a column's name, what its cells are, and what one of its figures is of.
///
/// Lower case but for what is written otherwise; the statistic first, the unit at the end. What data decides, behind a
/// colon, stays as it is.
///
/// ```
/// use sheets::{ColumnKind, Unit, title};
///
/// let time = ColumnKind::Number(Unit::Microseconds);
/// assert_eq!(title("Kernel Time (µs)_mean", time, Some("call")), "mean kernel time (µs)");
/// assert_eq!(title("time_us_per_step: run_a", time, None), "time per step: run_a (µs)");
/// assert_eq!(title("param: bias_N", ColumnKind::Text, None), "param: bias_N");
/// ```
#[must_use]
pub fn title(name: &str, kind: ColumnKind, per: Option<&str>) -> String {
    let (stem, data) = match name.split_once(": ") {
        Some((stem, data)) => (stem, Some(data)),
        None => match name.strip_suffix('…').filter(|stem| !stem.ends_with(['_', ' '])) {
            Some(stem) => (stem, Some("…")),
            None => (name, None),
        },
    };
    let mut title = Words::new(stem, kind).in_words(per);
    if let Some(data) = data {
        title.push_str(": ");
        title.push_str(data);
    }
    let in_texts = || match stem.split_once('(')?.1.strip_suffix(')')? {
        // What the reports have always called MB.
        "MB" => Some(Unit::Mebibytes.symbol()),
        unit => Some(unit),
    };
    let unit = kind.unit().map_or_else(in_texts, |unit| Some(unit.symbol()).filter(|_| unit != Unit::One));
    match unit {
        Some(unit) => format!("{title} ({unit})"),
        None => title,
    }
}

impl Column {
    /// The header in our own layout ([`title`]).
    #[must_use]
    pub fn title(&self) -> String {
        title(self.name, self.kind, self.per)
    }
}

/// A text about a table with titles in place of names of columns: `titled` has both. A name of letters alone may be a word
/// of the text and stays.
#[must_use]
pub fn with_titles<'t>(text: &'t str, titled: &[(&str, &str)]) -> Cow<'t, str> {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let is_told = |name: &str| name.contains(['_', '(', '%']);
    let mut text = Cow::Borrowed(text);
    if !is_told(&text) {
        return text;
    }
    let mut titled: Vec<&(&str, &str)> =
        titled.iter().filter(|(name, title)| name != title && is_told(name) && text.contains(name)).collect();
    // A name may be part of a longer one.
    titled.sort_by_key(|(name, _)| Reverse(name.len()));
    for (name, title) in titled {
        let mut from = 0;
        while let Some(at) = text[from..].find(name).map(|at| from + at) {
            let end = at + name.len();
            from = end;
            if !is_part(text[..at].chars().next_back()) && !is_part(text[end..].chars().next()) {
                text.to_mut().replace_range(at..end, title);
                from = at + title.len();
            }
        }
    }
    text
}

/// The words of a name, apart from what has a place of its own in a title.
struct Words<'n> {
    stem: &'n str,
    /// Of a number, else nothing.
    unit: Option<Unit>,
    /// `mean`, or `mean max` for the mean of maxima.
    statistics: Vec<&'static str>,
    /// As they are written in titles.
    words: Vec<&'n str>,
    /// ` in A` of figures of the first of two runs.
    run: &'static str,
}

impl<'n> Words<'n> {
    fn new(stem: &'n str, kind: ColumnKind) -> Self {
        let unit = kind.unit();
        let mut words = split(stem);
        if let Some(unit) = unit {
            let is_unit = |word: &str| spellings(unit).iter().any(|unit| word.eq_ignore_ascii_case(unit));
            words.retain(|word| !is_unit(word));
        }
        let mut run = "";
        let mut statistics = Vec::new();
        if stem.contains("(+") {
            statistics.push("excess");
        }
        if unit.is_some() {
            if words.len() > 1 && words.last().is_some_and(|word| word.eq_ignore_ascii_case("sum")) {
                words.pop();
            }
            if let [.., before, last] = words[..]
                && before != "of"
                && let Some(statistic) = statistic(last)
            {
                statistics.push(statistic);
                words.pop();
            }
            if let Some(statistic) = words.first().and_then(|word| statistic(word)) {
                // The mean of the longest durations of several ranks.
                let is_inner = !statistics.is_empty();
                statistics.push(match statistic {
                    "min" if is_inner => "shortest",
                    "max" if is_inner => "longest",
                    statistic => statistic,
                });
                words.remove(0);
            }
            let is_left_out = |word: &str| ["total", "num"].iter().any(|out| word.eq_ignore_ascii_case(out));
            if words.len() > 1 && is_left_out(words[0]) {
                words.remove(0);
            }
        }
        for (ending, suffix) in [("a", " in A"), ("b", " in B")] {
            if stem != ending && words.last() == Some(&ending) {
                words.pop();
                words.pop_if(|word| *word == "in");
                run = suffix;
            }
        }
        Words { stem, unit, statistics, words, run }
    }

    fn in_words(self, per: Option<&str>) -> String {
        let words: Vec<String> = self.words.iter().map(|word| in_title(word)).collect();
        let base = words.join(" ").replace("warm up", "warm-up");
        let base = self.phrase(&base).unwrap_or_else(|| match base.strip_suffix("first") {
            Some(first) if self.stem.ends_with("_first") => {
                let base = first.trim_end();
                self.phrase(base).unwrap_or_else(|| self.by_rule(base, per))
            }
            _ => self.by_rule(&base, per),
        });
        let words = self.statistics.iter().copied().chain([base.as_str()]).filter(|word| !word.is_empty());
        words.collect::<Vec<_>>().join(" ") + self.run
    }

    /// That of an exception.
    fn phrase(&self, base: &str) -> Option<String> {
        let noun = match self.unit {
            None => "",
            Some(Unit::One) => "count",
            Some(unit) => noun(unit).0,
        };
        let with_noun = format!("{base} ({noun})");
        let find = |wanted: &str| PHRASES.iter().find(|(known, _)| *known == wanted);
        let found = find(self.stem).or_else(|| find(&with_noun)).or_else(|| find(base));
        found.map(|(_, phrase)| (*phrase).to_owned())
    }

    /// A name that is no exception: what the figure is, where the words alone do not say it.
    fn by_rule(&self, base: &str, per: Option<&str>) -> String {
        let Some(unit) = self.unit else {
            let is_flag = ["is ", "has "].iter().find_map(|verb| base.strip_prefix(verb));
            return is_flag.unwrap_or(base).to_owned();
        };
        let (noun, said_by) = noun(unit);
        let last = base.rsplit(' ').next().unwrap_or_default();
        if base.is_empty() {
            let each = per.filter(|_| noun == "time" && !self.statistics.is_empty());
            return each.map_or_else(|| noun.to_owned(), |one| format!("{one} {noun}"));
        }
        if PREPOSITIONS.iter().any(|word| base.split(' ').next() == Some(word)) {
            return format!("{noun} {base}").trim_start().to_owned();
        }
        match unit {
            Unit::One => match base.strip_suffix(" count") {
                Some(counted) if counted.ends_with('s') => counted.to_owned(),
                Some(counted) => format!("{counted}s"),
                None => base.to_owned(),
            },
            Unit::Percent => share(base, said_by),
            _ if said_by.is_empty() && (!ADJECTIVES.contains(&last) || base.contains(noun)) => {
                base.to_owned()
            }
            _ if said_by.contains(&last) => base.to_owned(),
            _ => format!("{base} {noun}"),
        }
    }
}

/// The words of a name, without what stands in brackets.
fn split(stem: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = stem;
    while !rest.is_empty() {
        let (outside, inside) = rest.split_once('(').unwrap_or((rest, ""));
        for word in outside.split(['_', ' ', '#']).map(|word| word.trim_end_matches('.')) {
            split_capitals(word, &mut words);
        }
        rest = inside.split_once(')').map_or("", |(_, rest)| rest);
    }
    words
}

/// `GridX` is two words, and so is `TAvg`.
fn split_capitals<'n>(word: &'n str, words: &mut Vec<&'n str>) {
    let bytes = word.as_bytes();
    let is_lower = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_lowercase);
    let begins = |at: usize| {
        bytes[at].is_ascii_uppercase()
            && (at > 1 && is_lower(at - 1) && is_lower(at - 2)
                || at == 1 && is_lower(at + 1) && is_lower(at + 2))
    };
    let mut first = 0;
    for at in 1..bytes.len() {
        if begins(at) && !word[..at].ends_with("Std") {
            words.push(&word[first..at]);
            first = at;
        }
    }
    if first < word.len() {
        words.push(&word[first..]);
    }
}

fn statistic(word: &str) -> Option<&'static str> {
    Some(match word.to_ascii_lowercase().as_str() {
        "mean" | "avg" | "average" => "mean",
        "median" | "med" => "median",
        "std" | "stddev" => "std",
        "min" | "shortest" | "smallest" => "min",
        "max" | "longest" | "largest" => "max",
        "p25" => "p25",
        "p75" => "p75",
        "p95" => "p95",
        _ => return None,
    })
}

/// How names spell a unit.
const fn spellings(unit: Unit) -> &'static [&'static str] {
    match unit {
        Unit::Nanoseconds => &["ns"],
        Unit::Microseconds => &["µs", "us"],
        Unit::Milliseconds => &["ms"],
        Unit::Bytes => &["bytes"],
        Unit::Kibibytes => &["kb"],
        // What the reports have always called MB.
        Unit::Mebibytes => &["mb", "mib"],
        Unit::Megabytes => &["bytes"],
        Unit::Gigabytes => &["gb"],
        Unit::GigabytesPerSecond => &["gb/s", "gbps"],
        Unit::TerabytesPerSecond => &["tb/s"],
        Unit::Flops => &["flops"],
        Unit::Gigaflops => &["gflops", "gflop"],
        Unit::GigaflopsPerSecond => &["gflop/s"],
        Unit::TeraflopsPerSecond => &["tflops/s", "tflop/s", "flops"],
        Unit::TeraopsPerSecond => &["top/s"],
        Unit::FlopsPerByte => &["flops/byte"],
        Unit::Watts => &["w"],
        Unit::Joules => &["j"],
        Unit::MegabytesPerSecond | Unit::GibibytesPerSecond | Unit::Megahertz | Unit::Percent | Unit::One => {
            &[]
        }
    }
}

/// What figures of a unit are called, and the last words after which that goes without saying; without such words it
/// stands behind [`ADJECTIVES`] only.
const fn noun(unit: Unit) -> (&'static str, &'static [&'static str]) {
    match unit {
        Unit::Nanoseconds | Unit::Microseconds | Unit::Milliseconds => ("time", &[]),
        Unit::Bytes | Unit::Kibibytes | Unit::Mebibytes | Unit::Megabytes | Unit::Gigabytes => ("size", &[]),
        Unit::MegabytesPerSecond
        | Unit::GigabytesPerSecond
        | Unit::GibibytesPerSecond
        | Unit::TerabytesPerSecond => ("bandwidth", &["bandwidth", "throughput"]),
        Unit::Flops | Unit::Gigaflops => ("work", &["work"]),
        Unit::GigaflopsPerSecond | Unit::TeraflopsPerSecond => ("FLOP rate", &["rate"]),
        Unit::TeraopsPerSecond => ("rate", &["rate"]),
        Unit::FlopsPerByte => ("arithmetic intensity", &["intensity"]),
        Unit::Megahertz => ("clock", &["clock"]),
        Unit::Watts => ("power", &["power"]),
        Unit::Joules => ("energy", &["energy"]),
        Unit::Percent => (
            "share",
            &[
                "occupancy",
                "utilization",
                "rate",
                "jitter",
                "efficiency",
                "fragmentation",
                "coverage",
                "overlap",
                "imbalance",
            ],
        ),
        Unit::One => ("", &[]),
    }
}

/// A figure in percent: of what it is a share, unless its last word says that it is in percent.
fn share(base: &str, said_by: &[&str]) -> String {
    let mut words: Vec<&str> = base.split(' ').filter(|&word| word != "share").collect();
    if let Some(at) = words.iter().position(|&word| word == "cumulative") {
        words[..=at].rotate_right(1);
    }
    match words[..] {
        [] => "share".to_owned(),
        ["time"] => "share of time".to_owned(),
        ["of", ..] => format!("share {}", words.join(" ")),
        [.., last] if said_by.contains(&last) => words.join(" "),
        _ if words.contains(&"of") => base.to_owned(),
        _ => format!("{} share", words.join(" ")),
    }
}

/// A word as titles have it.
fn in_title(word: &str) -> String {
    let lower = word.to_lowercase();
    if let Some((_, written)) = WORDS.iter().find(|(known, _)| *known == lower) {
        return (*written).to_owned();
    }
    let is_symbol = word.starts_with(char::is_uppercase) && word.ends_with(|c: char| c.is_ascii_digit());
    let is_written_so = is_symbol || word.len() == 1 || word.chars().skip(1).any(char::is_uppercase);
    if is_written_so { word.to_owned() } else { lower }
}

/// Words that begin no noun: what the figure is stands in front.
const PREPOSITIONS: [&str; 8] = ["at", "behind", "by", "in", "of", "per", "while", "with"];

/// Words that need the noun of their unit behind them.
const ADJECTIVES: [&str; 33] = [
    "busy",
    "call",
    "compute",
    "copy",
    "data",
    "device",
    "empty",
    "exposed",
    "full",
    "GPU",
    "host",
    "idle",
    "input",
    "kernel",
    "known",
    "launch",
    "loading",
    "output",
    "own",
    "path",
    "predicted",
    "profiler",
    "projected",
    "queue",
    "queued",
    "recorded",
    "saved",
    "self",
    "summed",
    "sync",
    "total",
    "unknown",
    "wall",
];

/// Words that titles write otherwise than names, in lower case.
const WORDS: &[(&str, &str)] = &[
    ("%", "share"),
    ("%time", "share of time"),
    ("accum", "accumulation"),
    ("algo", "algorithm"),
    ("api", "API"),
    ("busbw", "bus bandwidth"),
    ("bw", "bandwidth"),
    ("comm", "communication"),
    ("cpu", "CPU"),
    ("cu", "CU"),
    ("delta", "change"),
    ("dev", "device"),
    ("dim", "dimension"),
    ("dst", "destination"),
    ("dur", "duration"),
    ("ex", "example"),
    ("flops", "FLOP"),
    ("gpu", "GPU"),
    ("gpus", "GPUs"),
    ("hlo", "HLO"),
    ("id", "ID"),
    ("infeed/outfeed", "infeed/outfeed"),
    ("msg", "message"),
    ("nccl", "NCCL"),
    ("nelems", "elements"),
    ("op", "op"),
    ("op-to-op", "op-to-op"),
    ("operational", "arithmetic"),
    ("pct", "share"),
    ("percent", "share"),
    ("percentage", "share"),
    ("perf", "performance"),
    ("pid", "process ID"),
    ("self-time", "self time"),
    ("sgpr", "SGPRs"),
    ("src", "source"),
    ("tid", "thread ID"),
    ("trunc", "abridged"),
    ("ts", "start"),
    ("uid", "UID"),
    ("uids", "UIDs"),
    ("vgpr", "VGPRs"),
    ("x", "x"),
    ("y", "y"),
    ("z", "z"),
];

/// Names that the rules would not turn into what one would write: their words without unit, statistic and run.
const PHRASES: &[(&str, &str)] = &[
    ("A (time)", "call time"),
    ("DRAM share (share)", "share of the peak DRAM bandwidth"),
    ("FLOP (share)", "share of the peak FLOP rate"),
    ("FLOP rate / peak (share)", "share of the peak FLOP rate"),
    ("FLOP share (share)", "share of the peak FLOP rate"),
    ("GPU time total", "GPU time"),
    ("HBM (size)", "HBM traffic"),
    ("K (time)", "kernel time"),
    ("L2 requests", "L2 request bandwidth"),
    ("LDS bank conflicts (share)", "share of time in LDS bank conflicts"),
    ("NCCL tests bus bandwidth", "nccl-tests bus bandwidth"),
    ("Q (time)", "queue time"),
    ("Q count", "calls with a kernel"),
    ("T (time)", "total time"),
    ("Total wall_time (ms)", "total wall time"),
    ("Total wall_time (us)", "total wall time"),
    ("abridged overlapping kernels details", "abridged overlapping kernel details"),
    ("allocated (time)", "allocated at"),
    ("allocated in all", "allocated in total"),
    ("alone", "time alone"),
    ("busy of steady (share)", "share of steady busy time"),
    ("by", "grouped by"),
    ("call stack full", "full call stack"),
    ("change share", "relative change"),
    ("complete", "complete collectives"),
    ("critical", "critical path"),
    ("cumulative total self time", "cumulative self time share"),
    ("drift ppm", "drift in ppm"),
    ("each", "mean size"),
    ("first (count)", "first arrivals"),
    ("first in use", "initial memory in use"),
    ("gain high", "gain at most"),
    ("gain low", "gain at least"),
    ("gaps", "gap time"),
    ("hidden by compute", "time hidden by compute"),
    ("host_us", "host self time"),
    ("in message elements", "input elements"),
    ("in message size", "input size"),
    ("in split size", "input split sizes"),
    ("in use", "memory in use"),
    ("kernel details summarize kernel stats", "kernel details"),
    ("kernel details summary", "kernel details"),
    ("kernel duration", "kernel time"),
    ("kernel duration count", "kernels"),
    ("kernels by", "kernels matched by"),
    ("last (count)", "last arrivals"),
    ("last (share)", "last arrival share"),
    ("last in use", "final memory in use"),
    ("launch calls", "launch call time"),
    ("launch_us", "launch start"),
    ("live at end", "live memory at the end"),
    ("mad", "median deviation"),
    ("measured (count)", "measured iterations"),
    ("memory bandwidth (share)", "share of the peak memory bandwidth"),
    ("memory write (size)", "memory written"),
    ("name count", "calls"),
    ("nested count", "nested calls"),
    ("not matched", "unmatched collectives"),
    ("of", "out of"),
    ("on path", "fraction on the path"),
    ("operation count", "calls"),
    ("out message elements", "output elements"),
    ("out message size", "output size"),
    ("out of memory", "out-of-memory failures"),
    ("out split size", "output split sizes"),
    ("overlap share (count)", "overlap"),
    ("overlapping kernels details summarize kernel stats", "overlapping kernel details"),
    ("overlapping kernels details summary", "overlapping kernel details"),
    ("peak live", "peak live memory"),
    ("performance params", "model parameters"),
    ("profiler DRAM share (share)", "share of the peak DRAM bandwidth according to the profiler"),
    ("queued (count)", "queued kernels"),
    ("self time excluding idle", "share of busy self time"),
    ("sent", "data sent"),
    ("share arrived last", "last arrival share"),
    ("share of busy", "share of busy time"),
    ("share of gap", "share of the change"),
    ("share of idle", "share of idle time"),
    ("share of kernels time", "share of kernel time"),
    ("share of max", "share of the maximum"),
    ("share of peak", "share of the peak"),
    ("share of span", "share of the span"),
    ("share of total", "share of the total"),
    ("share roofline", "share of the roofline"),
    ("short kernel duration", "short kernel time"),
    ("short kernel duration share of total time", "share of total time"),
    ("short name grouped", "short kernel name"),
    ("skew in end time", "end skew"),
    ("skew in start time", "start skew"),
    ("start to start", "start-to-start time"),
    ("start to starts", "start-to-start times"),
    ("started after call", "started after the call"),
    ("started before call's end", "started before the call's end"),
    ("step (time)", "median step time"),
    ("step GPU", "GPU time per step"),
    ("subtree kernel time count", "calls"),
    ("t", "time"),
    ("time excluding idle", "share of busy time"),
    ("times arrived first", "first arrivals"),
    ("times arrived last", "last arrivals"),
    ("tokens per s", "tokens per second"),
    ("waiting", "wait time"),
    ("warm-up count", "warm-up calls"),
    ("weighted mean FLOP (share)", "weighted mean share of the peak FLOP rate"),
    ("welch t", "Welch's t"),
    ("whole", "whole run"),
    ("with call (count)", "events with a call"),
    ("with copy", "time with copies"),
    ("without call (count)", "events without a call"),
    ("without size", "copies of unknown size"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_name_columns_as_readers_see_them() {
        let titled = [
            ("gain_us", "gain (µs)"),
            ("Percentage (%)", "share (%)"),
            ("time", "t"),
            ("low_gain_us", "low (µs)"),
        ];
        for (text, shown) in [
            ("gain_us as a share of the window.", "gain (µs) as a share of the window."),
            ("Running sum of Percentage (%).", "Running sum of share (%)."),
            ("low_gain_us, not gain_us", "low (µs), not gain (µs)"),
            ("most_gain_us of the time", "most_gain_us of the time"),
        ] {
            assert_eq!(with_titles(text, &titled), shown);
        }
    }
}
