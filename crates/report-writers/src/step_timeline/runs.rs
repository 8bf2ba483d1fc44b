//! Steps too narrow for a bar of their own share bars.

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
    pub(super) fn whole(left: i32, right: i32, phase: usize) -> Self {
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

    pub(super) fn rank(&self, phase: usize) -> usize {
        self.rank[phase]
    }

    /// Whether a phase has so few steps that each must be seen.
    pub(super) fn is_few(&self, phase: usize) -> bool {
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
pub(super) fn runs(
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
