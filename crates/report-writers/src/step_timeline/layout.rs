//! What stands where: the axis of time, lanes for steps that overlap, bars for steps too narrow for one of their own,
//! and labels.

use crate::picture::{Rect, shortened, text_width};

/// Steps that one engine, or one thread of it, does.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StepEngine {
    /// Name above its lanes; empty: none.
    pub name: String,
    /// Its steps, in any order.
    pub steps: Vec<StepBar>,
}

/// A step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepBar {
    /// Begin and end in ms. A step without, or with numbers that are none, is counted but not drawn.
    pub span_ms: Option<(f64, f64)>,
    /// Time in ms that the step was busy: its part in the shares of the legend.
    pub busy_ms: f64,
    /// Index of what it does among the phases.
    pub phase: usize,
    /// What stands in or above its bar, if there is room.
    pub label: String,
}

impl StepBar {
    /// Begin and end, if they have a place on an axis.
    pub(super) fn place(&self) -> Option<(f64, f64)> {
        // Beyond this, 31 000 years, doubles know no µs any more.
        const FARTHEST_MS: f64 = 1e15;
        self.span_ms.filter(|(from, to)| from <= to && from.abs() <= FARTHEST_MS && to.abs() <= FARTHEST_MS)
    }
}

/// A linear axis of time.
#[derive(Debug, Clone, Copy)]
pub(super) struct TimeScale {
    from_ms: f64,
    to_ms: f64,
    left: i32,
    right: i32,
}

impl TimeScale {
    /// The axis that holds these spans between two pixels; `None` without spans.
    pub(super) fn around(
        spans: impl Iterator<Item = (f64, f64)>,
        (left, right): (i32, i32),
    ) -> Option<TimeScale> {
        let (from_ms, to_ms) = spans.reduce(|all, span| (all.0.min(span.0), all.1.max(span.1)))?;
        // Something is seen even of a moment.
        let least = (from_ms.abs() * 1e-9).max(1e-6);
        Some(TimeScale { from_ms, to_ms: to_ms.max(from_ms + least), left, right })
    }

    /// Where a time is, in pixels.
    pub(super) fn x(&self, time_ms: f64) -> f64 {
        let share = (time_ms - self.from_ms) / (self.to_ms - self.from_ms);
        f64::from(self.left) + share * f64::from(self.right - self.left)
    }

    /// The time that a pixel is wide.
    pub(super) fn pixel_ms(&self) -> f64 {
        (self.to_ms - self.from_ms) / f64::from((self.right - self.left).max(1))
    }

    /// Round times on the axis, about ten, each as text.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        let length = self.to_ms - self.from_ms;
        let decade = 10_f64.powf((length / 10.0).log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|digit| digit * decade)
            .find(|step| length / step <= 10.0)
            .unwrap_or(length);
        let places = (-step.log10()).ceil().clamp(0.0, 9.0) as usize;
        // A tick at the very end of the axis is not lost to rounding.
        let (first, last) = ((self.from_ms / step - 1e-9).ceil(), (self.to_ms / step + 1e-9).floor());
        let count = (last - first).clamp(-1.0, 20.0) as i32;
        (0..=count)
            .map(|tick| (first + f64::from(tick)) * step)
            .map(|time| {
                // Zero has no sign.
                let time = if time == 0.0 { 0.0 } else { time };
                (time, format!("{time:.places$}"))
            })
            .collect()
    }
}

/// Lanes of an engine at most.
pub(super) const MOST_LANES: usize = 8;

/// A step with its begin and end in ms.
#[derive(Debug, Clone, Copy)]
struct Placed<'a> {
    span: (f64, f64),
    step: &'a StepBar,
}

/// Steps in lanes.
struct Lanes<'a> {
    lanes: Vec<Vec<Placed<'a>>>,
    /// Steps that overlap others in their lane, because there were no more lanes.
    crowded: usize,
}

/// Puts every step into the first lane that is free when it begins. An overlap of up to `tolerance_ms` does not
/// count.
fn lanes(steps: &[StepBar], tolerance_ms: f64) -> Lanes<'_> {
    let mut placed: Vec<Placed<'_>> =
        steps.iter().filter_map(|step| Some(Placed { span: step.place()?, step })).collect();
    placed.sort_by(|a, b| a.span.0.total_cmp(&b.span.0).then(b.span.1.total_cmp(&a.span.1)));
    let mut lanes: Vec<Vec<Placed<'_>>> = Vec::new();
    let mut ends: Vec<f64> = Vec::new();
    let mut crowded = 0;
    for step in placed {
        let (from, to) = step.span;
        let free = ends.iter().position(|&end| end <= from + tolerance_ms);
        let lane = match free {
            Some(lane) => lane,
            None if lanes.len() < MOST_LANES => {
                lanes.push(Vec::new());
                ends.push(to);
                lanes.len() - 1
            }
            None => {
                crowded += 1;
                lanes.len() - 1
            }
        };
        lanes[lane].push(step);
        ends[lane] = ends[lane].max(to);
    }
    Lanes { lanes, crowded }
}

/// Parts of the height of a lane.
pub(super) const PARTS: i32 = 8;
/// Pixels of a rare phase at least.
const RARE_WIDTH: usize = 2;
/// A pixel with so many steps is divided among their phases.
pub(super) const MANY: usize = 4;
/// A phase of no more steps is shown wherever it occurs.
pub(super) const FEW: usize = 40;

/// A rectangle of one phase: pixels from left to right, parts of the lane's height from top to bottom, both without the
/// last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) left: i32,
    pub(super) right: i32,
    pub(super) top: i32,
    pub(super) bottom: i32,
    pub(super) phase: usize,
}

impl Run {
    /// As high as the lane.
    fn whole(left: i32, right: i32, phase: usize) -> Self {
        Run { left, right, top: 0, bottom: PARTS, phase }
    }
}

/// How frequent phases are.
#[derive(Debug, Clone)]
pub(super) struct Frequencies<'a> {
    steps: &'a [usize],
    /// 0 for the rarest, equal ones by their order.
    rank: Vec<usize>,
}

impl<'a> Frequencies<'a> {
    pub(super) fn new(steps: &'a [usize]) -> Self {
        let mut order: Vec<usize> = (0..steps.len()).collect();
        order.sort_by_key(|&phase| steps[phase]);
        let mut rank = vec![0; order.len()];
        for (position, phase) in order.into_iter().enumerate() {
            rank[phase] = position;
        }
        Frequencies { steps, rank }
    }

    fn rank(&self, phase: usize) -> usize {
        self.rank[phase]
    }

    /// Whether a phase has so few steps that each must be seen.
    fn is_few(&self, phase: usize) -> bool {
        self.steps[phase] <= FEW
    }

    fn is_most_frequent(&self, phase: usize) -> bool {
        self.rank[phase] + 1 == self.rank.len()
    }
}

/// What the steps in a pixel are.
#[derive(Debug, Clone, Default)]
struct Column {
    rarest: Option<usize>,
    steps: usize,
    /// Phases with their parts of the pixel.
    covered: Vec<(usize, f64)>,
}

/// Narrow bars (begin and end in pixels, phase) drawn together between two pixels.
///
/// A pixel shows the rarest phase in it, so that a lone step of another phase is not lost among thousands, and all but
/// the most frequent phase are two pixels wide at least. But where many steps share a pixel and all their phases are
/// frequent, it is divided among them by time: else it would show almost everywhere what is almost nowhere.
fn runs(
    narrow: impl Iterator<Item = (f64, f64, usize)>,
    (left, right): (i32, i32),
    frequencies: &Frequencies<'_>,
) -> Vec<Run> {
    let mut columns = vec![Column::default(); usize::try_from(right - left).unwrap_or(0)];
    for (from, to, phase) in narrow {
        let least = if frequencies.is_most_frequent(phase) { 1 } else { RARE_WIDTH };
        // A bar at the very end of the axis still has its pixels.
        let from = (from - f64::from(left)).max(0.0);
        let first = (from as usize).min(columns.len().saturating_sub(least));
        let end = ((to - f64::from(left)).ceil().max(0.0) as usize).max(first + 1);
        for (x, column) in columns.iter_mut().enumerate().take(end.max(first + least)).skip(first) {
            if column.rarest.is_none_or(|other| frequencies.rank(phase) < frequencies.rank(other)) {
                column.rarest = Some(phase);
            }
            if x < end {
                column.steps += 1;
                let x = x as f64;
                let part = ((to - f64::from(left)).min(x + 1.0) - from.max(x)).max(0.0);
                match column.covered.iter_mut().find(|(other, _)| *other == phase) {
                    Some((_, sum)) => *sum += part,
                    None => column.covered.push((phase, part)),
                }
            }
        }
    }
    let mut runs: Vec<Run> = Vec::new();
    // Where the runs of the pixel before begin.
    let mut before = 0;
    for (x, column) in (left..right).zip(&mut columns) {
        let begin = runs.len();
        for segment in segments(x, column, frequencies) {
            let same = |run: &&mut Run| run.right == x && Run { left: x, right: x + 1, ..**run } == segment;
            match runs[before..].iter_mut().find(same) {
                Some(run) => run.right = x + 1,
                None => runs.push(segment),
            }
        }
        // Runs that were extended stay within reach.
        before = runs[before..begin].iter().position(|run| run.right > x).map_or(begin, |at| before + at);
    }
    runs
}

fn segments(x: i32, column: &mut Column, frequencies: &Frequencies<'_>) -> Vec<Run> {
    let Some(rarest) = column.rarest else { return Vec::new() };
    if column.steps < MANY || frequencies.is_few(rarest) {
        return vec![Run::whole(x, x + 1, rarest)];
    }
    column.covered.sort_by_key(|&(phase, _)| phase);
    let mut top = 0;
    let mut segments = Vec::new();
    for (&(phase, _), parts) in column.covered.iter().zip(parts(&column.covered)) {
        if parts > 0 {
            segments.push(Run { left: x, right: x + 1, top, bottom: top + parts, phase });
            top += parts;
        }
    }
    segments
}

/// Shares of the height: each one at least, as long as there are enough.
fn parts(covered: &[(usize, f64)]) -> Vec<i32> {
    let total: f64 = covered.iter().map(|(_, part)| part).sum();
    let share = |part: f64| if total > 0.0 { part / total } else { 0.0 };
    let mut parts: Vec<i32> =
        covered.iter().map(|&(_, part)| ((share(part) * f64::from(PARTS)).round() as i32).max(1)).collect();
    loop {
        let surplus = parts.iter().sum::<i32>() - PARTS;
        let Some(largest) = parts.iter_mut().max() else { return parts };
        match surplus {
            0 => return parts,
            missing if missing < 0 => *largest -= missing,
            _ => *largest -= 1,
        }
    }
}

/// Points of labels.
pub(super) const LABEL_SIZE: f64 = 12.0;
/// Steps of fewer pixels are drawn together.
pub(super) const NARROW: f64 = 3.0;
const LONGEST_LABEL: usize = 24;
const LINE_HEIGHT: i32 = 15;
/// Pixels beside a label in its bar.
const PADDING: i32 = 4;
const NAME_HEIGHT: i32 = 22;
/// The strip of labels above the lanes, with room for the lines to the bars.
const STRIP_HEIGHT: i32 = 21;
const BETWEEN_LANES: i32 = 4;
const BELOW: i32 = 14;

/// Which way a label runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Level,
    Upwards,
}

/// A bar in pixels from the left, in its lane.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Bar {
    pub(super) run: Run,
    pub(super) label: Option<(String, Direction)>,
}

/// A label above the lanes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Raised {
    pub(super) text: String,
    /// Where it begins.
    pub(super) left: i32,
    /// The middle of its bar.
    pub(super) at: i32,
}

/// A lane: first what is drawn first.
#[derive(Debug, Default)]
pub(super) struct Lane {
    pub(super) bars: Vec<Bar>,
}

/// The block of an engine.
pub(super) struct EngineLayout<'a> {
    pub(super) name: &'a str,
    pub(super) lanes: Vec<Lane>,
    pub(super) lane_height: i32,
    pub(super) raised: Vec<Raised>,
    /// Steps that are drawn together with others.
    pub(super) narrow: usize,
    /// Steps that lie on others for want of lanes.
    pub(super) crowded: usize,
}

impl<'a> EngineLayout<'a> {
    pub(super) fn new(
        engine: &'a StepEngine,
        scale: &TimeScale,
        (left, right): (i32, i32),
        frequencies: &Frequencies<'_>,
    ) -> Self {
        let Lanes { lanes: steps, crowded } = lanes(&engine.steps, scale.pixel_ms());
        let lane_height = match steps.len() {
            0..=1 => 64,
            2..=3 => 44,
            _ => 26,
        };
        let mut layout = EngineLayout {
            name: &engine.name,
            lanes: Vec::new(),
            lane_height,
            raised: Vec::new(),
            narrow: 0,
            crowded,
        };
        let mut without_room: Vec<(&StepBar, (f64, f64))> = Vec::new();
        for (number, steps) in steps.iter().enumerate() {
            let in_pixels = |placed: &Placed<'a>| (scale.x(placed.span.0), scale.x(placed.span.1));
            let (wide, narrow): (Vec<_>, Vec<_>) = steps
                .iter()
                .map(|placed| (placed.step, in_pixels(placed)))
                .partition(|(_, (from, to))| to - from >= NARROW);
            layout.narrow += narrow.len();
            let mut lane = Lane::default();
            for (position, &(step, (from, to))) in wide.iter().enumerate() {
                let next = wide.get(position + 1).map_or(i32::MAX, |(_, (from, _))| from.round() as i32);
                let begin = from.round() as i32;
                let end = to.round() as i32;
                // The last pixel is the gap to the next bar, which may begin a pixel too early.
                let end = if (end - 1..=end).contains(&next) { next - 1 } else { end - 1 };
                let run = Run::whole(begin, end.max(begin + 1), step.phase);
                let label = label_inside(&step.label, run.right - run.left, lane_height);
                if label.is_none() && number == 0 {
                    without_room.push((step, (from, to)));
                }
                lane.bars.push(Bar { run, label });
            }
            let together = narrow.iter().map(|&(step, (from, to))| (from, to, step.phase));
            lane.bars.extend(
                runs(together, (left, right), frequencies).into_iter().map(|run| Bar { run, label: None }),
            );
            if number == 0 {
                without_room.extend(narrow.iter().filter(|(step, _)| frequencies.is_few(step.phase)));
            }
            layout.lanes.push(lane);
        }
        layout.raise(without_room, frequencies, (left, right));
        layout
    }

    /// Labels that have no room in their bars of the first lane go above it where they fit, the rarer phases first and
    /// among equals the steps with the most work.
    fn raise(
        &mut self,
        mut steps: Vec<(&StepBar, (f64, f64))>,
        frequencies: &Frequencies<'_>,
        (left, right): (i32, i32),
    ) {
        steps.sort_by(|(a, a_place), (b, b_place)| {
            let by_rank = frequencies.rank(a.phase).cmp(&frequencies.rank(b.phase));
            by_rank.then(b.busy_ms.total_cmp(&a.busy_ms)).then(a_place.0.total_cmp(&b_place.0))
        });
        let mut taken: Vec<Rect> = Vec::new();
        for (step, (from, to)) in steps {
            if step.label.is_empty() {
                continue;
            }
            let text = shortened(&step.label, LONGEST_LABEL);
            let width = text_width(&text, LABEL_SIZE);
            let at = ((from + to) / 2.0) as i32;
            let begin = (at - width / 2).min(right - width).max(left);
            let room = Rect { left: begin - PADDING, top: 0, right: begin + width + PADDING, bottom: 1 };
            if !taken.iter().any(|other| other.overlaps(&room)) {
                taken.push(room);
                self.raised.push(Raised { text, left: begin, at });
            }
        }
    }

    fn name_height(&self) -> i32 {
        if self.name.is_empty() { 0 } else { NAME_HEIGHT }
    }

    pub(super) fn strip_height(&self) -> i32 {
        if self.raised.is_empty() { 0 } else { STRIP_HEIGHT }
    }

    /// Pixels from the top of the block to the top of a lane.
    pub(super) fn lane_top(&self, lane: usize) -> i32 {
        // At most MOST_LANES.
        let lane = i32::try_from(lane).unwrap_or(i32::MAX);
        self.name_height() + self.strip_height() + lane * (self.lane_height + BETWEEN_LANES)
    }

    pub(super) fn height(&self) -> i32 {
        self.lane_top(self.lanes.len()) - BETWEEN_LANES + BELOW
    }
}

/// The label of a bar that is this wide and high, if it fits, and which way it runs.
fn label_inside(label: &str, width: i32, height: i32) -> Option<(String, Direction)> {
    if label.is_empty() {
        return None;
    }
    let text = shortened(label, LONGEST_LABEL);
    let length = text_width(&text, LABEL_SIZE) + 2 * PADDING;
    if length <= width {
        Some((text, Direction::Level))
    } else if length <= height && width >= LINE_HEIGHT {
        Some((text, Direction::Upwards))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(from: f64, to: f64) -> Vec<String> {
        let scale = TimeScale::around([(from, to)].into_iter(), (0, 1000)).unwrap();
        scale.ticks().into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_are_round_times_inside_the_axis() {
        assert_eq!(ticks(0.0, 10.0), ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"]);
        assert_eq!(ticks(5003.0, 5009.5), ["5003", "5004", "5005", "5006", "5007", "5008", "5009"]);
        assert_eq!(
            ticks(-0.2, 0.2),
            ["-0.20", "-0.15", "-0.10", "-0.05", "0.00", "0.05", "0.10", "0.15", "0.20"]
        );
        assert_eq!(ticks(0.0, 45_000.0).len(), 10);
        assert_eq!(ticks(0.0, 45_000.0)[9], "45000");
    }

    #[test]
    fn a_moment_has_an_axis_too() {
        for at in [0.0, 17.25, 1e15, -1e15] {
            let scale = TimeScale::around([(at, at)].into_iter(), (10, 110)).unwrap();
            assert_eq!(scale.x(at), 10.0, "{at}");
            assert!(scale.pixel_ms() > 0.0 && scale.ticks().len() <= 21, "{at}");
        }
        assert!(TimeScale::around(std::iter::empty(), (0, 1)).is_none());
    }

    fn spans(steps: &[StepBar], tolerance: f64) -> (Vec<Vec<(f64, f64)>>, usize) {
        let lanes = lanes(steps, tolerance);
        let spans = lanes.lanes.iter().map(|lane| lane.iter().map(|placed| placed.span).collect()).collect();
        (spans, lanes.crowded)
    }

    #[test]
    fn steps_that_overlap_are_in_different_lanes() {
        let steps =
            [step(5.0, 9.0, 0, ""), step(0.0, 5.5, 0, ""), step(9.0, 10.0, 0, ""), step(5.6, 5.7, 0, "")];
        let lanes = vec![vec![(0.0, 5.5), (5.6, 5.7), (9.0, 10.0)], vec![(5.0, 9.0)]];
        assert_eq!(spans(&steps, 0.0), (lanes, 0));
        let lanes = vec![vec![(0.0, 5.5), (5.0, 9.0), (9.0, 10.0)], vec![(5.6, 5.7)]];
        assert_eq!(spans(&steps, 0.5), (lanes, 0));
    }

    #[test]
    fn steps_beyond_the_last_lane_share_it_and_are_counted() {
        let steps: Vec<StepBar> = (0..11).map(|at| step(f64::from(at), 100.0, 0, "")).collect();
        let (spans, crowded) = spans(&steps, 0.0);
        assert_eq!((spans.len(), crowded), (MOST_LANES, 3));
        assert_eq!(spans[MOST_LANES - 1].len(), 4);
    }

    #[test]
    fn steps_without_a_place_are_left_out() {
        let mut odd = [
            step(f64::NAN, 1.0, 0, ""),
            step(0.0, f64::INFINITY, 0, ""),
            step(2.0, 1.0, 0, ""),
            step(0.0, 1e300, 0, ""),
            step(0.0, 1.0, 0, ""),
        ];
        odd[4].span_ms = None;
        assert_eq!(spans(&odd, 0.0), (Vec::new(), 0));
    }

    /// A thousand steps, ten in each of the pixels from 10 to 110.
    fn thousand(phase: impl Fn(i32) -> usize) -> Vec<(f64, f64, usize)> {
        (0..1000).map(|at| (10.0 + f64::from(at) / 10.0, 10.1 + f64::from(at) / 10.0, phase(at))).collect()
    }

    fn of(bars: Vec<(f64, f64, usize)>, steps: &[usize]) -> Vec<Run> {
        runs(bars.into_iter(), (10, 110), &Frequencies::new(steps))
    }

    #[test]
    fn the_rarest_phase_ranks_first() {
        assert_eq!(Frequencies::new(&[3, 100, 3, 0]).rank, [1, 3, 2, 0]);
    }

    #[test]
    fn a_phase_of_few_steps_wins_its_pixel_and_the_next() {
        let mut bars = thousand(|_| 1);
        bars.insert(500, (60.02, 60.03, 0));
        let expected = [Run::whole(10, 60, 1), Run::whole(60, 62, 0), Run::whole(62, 110, 1)];
        assert_eq!(of(bars.clone(), &[1, 1000]), expected);
        // The order of the bars says nothing.
        bars.reverse();
        assert_eq!(of(bars, &[1, 1000]), expected);
    }

    #[test]
    fn pixels_of_many_steps_are_divided_by_time() {
        // Three of ten are of the first phase, which is frequent too.
        let runs = of(thousand(|at| usize::from(at % 10 > 2)), &[300, 700]);
        let parts = |run: &Run| (run.phase, run.top, run.bottom, run.left, run.right);
        let (mut upper, mut lower) = (0, 0);
        for run in &runs {
            match run.phase {
                0 => upper += (run.bottom - run.top) * (run.right - run.left),
                _ => lower += (run.bottom - run.top) * (run.right - run.left),
            }
        }
        assert_eq!(
            (upper + lower, runs.len() < 20),
            (800, true),
            "{:?}",
            runs.iter().map(parts).collect::<Vec<_>>()
        );
        assert!((200..=300).contains(&upper), "{upper}");
    }

    #[test]
    fn parts_fill_the_height_and_none_is_nothing() {
        for (covered, expected) in [
            (&[1.0][..], &[8][..]),
            (&[1.0, 1.0], &[4, 4]),
            (&[0.001, 1.0, 0.001], &[1, 6, 1]),
            (&[1.0, 1.0, 1.0], &[3, 3, 2]),
            (&[0.0, 0.0], &[7, 1]),
        ] {
            let covered: Vec<(usize, f64)> = covered.iter().copied().enumerate().collect();
            let mut found = parts(&covered);
            assert_eq!(found.iter().sum::<i32>(), PARTS);
            let mut expected = expected.to_vec();
            found.sort_unstable();
            expected.sort_unstable();
            assert_eq!(found, expected, "{covered:?}");
        }
        let many: Vec<(usize, f64)> = (0..20).map(|phase| (phase, 1.0)).collect();
        assert_eq!(parts(&many).iter().sum::<i32>(), PARTS);
    }

    #[test]
    fn bars_at_the_ends_of_the_axis_have_their_pixels() {
        let at_ends = vec![(10.0, 10.0, 0), (110.0, 110.0, 0), (50.0, 50.0, 1)];
        assert_eq!(
            of(at_ends, &[2, 5]),
            [Run::whole(10, 12, 0), Run::whole(50, 51, 1), Run::whole(108, 110, 0)]
        );
    }

    fn engine(steps: Vec<StepBar>) -> StepEngine {
        StepEngine { name: String::new(), steps }
    }

    fn step(from: f64, to: f64, phase: usize, label: &str) -> StepBar {
        StepBar { span_ms: Some((from, to)), busy_ms: to - from, phase, label: label.into() }
    }

    fn layout<'a>(engine: &'a StepEngine, end: f64, steps_by_phase: &[usize]) -> EngineLayout<'a> {
        // A pixel is a millisecond.
        let scale = TimeScale::around([(0.0, end)].into_iter(), (0, end as i32)).unwrap();
        EngineLayout::new(engine, &scale, (0, end as i32), &Frequencies::new(steps_by_phase))
    }

    #[test]
    fn labels_stand_level_upwards_or_above_their_bars() {
        let steps = vec![
            step(0.0, 100.0, 0, "15360"),
            step(100.0, 117.0, 1, "32"),
            step(117.0, 128.0, 1, "33"),
            step(128.0, 139.0, 1, "34"),
            step(200.0, 201.0, 1, "35"),
        ];
        let engine = engine(steps);
        let layout = layout(&engine, 400.0, &[1, 4]);
        let labels: Vec<Option<Direction>> =
            layout.lanes[0].bars.iter().map(|bar| Some(bar.label.as_ref()?.1)).collect();
        use Direction::{Level, Upwards};
        assert_eq!(labels, [Some(Level), Some(Upwards), None, None, None]);
        // Two equal ones side by side have room for one.
        let raised: Vec<&str> = layout.raised.iter().map(|label| label.text.as_str()).collect();
        assert_eq!(raised, ["33", "35"]);
        assert_eq!(layout.narrow, 1);
    }

    #[test]
    fn among_labels_above_bars_the_rarer_phase_is_asked_first() {
        let mut steps: Vec<StepBar> =
            (0..100).map(|at| step(f64::from(at) * 4.0, f64::from(at) * 4.0 + 4.0, 1, "32")).collect();
        steps[50].phase = 0;
        steps[50].label = "15360".into();
        let engine = engine(steps);
        let layout = layout(&engine, 400.0, &[1, 99]);
        assert_eq!(layout.raised[0], Raised { text: "15360".into(), left: 185, at: 202 });
        for (number, one) in layout.raised.iter().enumerate() {
            let ends = |label: &Raised| (label.left, label.left + text_width(&label.text, LABEL_SIZE));
            let (left, right) = ends(one);
            let apart = |other: &Raised| ends(other).1 <= left || right <= ends(other).0;
            assert!(layout.raised[number + 1..].iter().all(apart), "{:?}", layout.raised);
            assert!((0..=400).contains(&left) && right <= 400);
        }
    }

    #[test]
    fn steps_that_are_drawn_together_are_labelled_only_if_their_phase_has_few() {
        let mut steps: Vec<StepBar> =
            (0..4000).map(|at| step(f64::from(at) / 10.0, f64::from(at + 1) / 10.0, 1, "32")).collect();
        steps[2000].phase = 0;
        steps[2000].label = "15360".into();
        let engine = engine(steps);
        let layout = layout(&engine, 400.0, &[1, 3999]);
        assert_eq!(layout.raised.len(), 1);
        assert_eq!(layout.raised[0].text, "15360");
        assert_eq!(layout.narrow, 4000);
        assert_eq!(layout.lanes[0].bars.len(), 3);
    }
}
