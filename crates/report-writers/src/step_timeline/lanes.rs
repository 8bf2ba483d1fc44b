//! Steps that overlap go to different lanes.

use super::StepBar;

/// Lanes of an engine at most.
pub(super) const MOST_LANES: usize = 8;

/// A step with its begin and end in ms.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed<'a> {
    pub(super) span: (f64, f64),
    pub(super) step: &'a StepBar,
}

/// Steps in lanes.
pub(super) struct Lanes<'a> {
    pub(super) lanes: Vec<Vec<Placed<'a>>>,
    /// Steps that overlap others in their lane, because there were no more lanes.
    pub(super) crowded: usize,
}

/// Puts every step into the first lane that is free when it begins. An overlap of up to `tolerance_ms` does not
/// count.
pub(super) fn lanes(steps: &[StepBar], tolerance_ms: f64) -> Lanes<'_> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn step(from: f64, to: f64) -> StepBar {
        StepBar { span_ms: Some((from, to)), busy_ms: 1.0, phase: 0, label: String::new() }
    }

    fn spans(steps: &[StepBar], tolerance: f64) -> (Vec<Vec<(f64, f64)>>, usize) {
        let lanes = lanes(steps, tolerance);
        let spans = lanes.lanes.iter().map(|lane| lane.iter().map(|placed| placed.span).collect()).collect();
        (spans, lanes.crowded)
    }

    #[test]
    fn steps_that_overlap_are_in_different_lanes() {
        let steps = [step(5.0, 9.0), step(0.0, 5.5), step(9.0, 10.0), step(5.6, 5.7)];
        let lanes = vec![vec![(0.0, 5.5), (5.6, 5.7), (9.0, 10.0)], vec![(5.0, 9.0)]];
        assert_eq!(spans(&steps, 0.0), (lanes, 0));
        let lanes = vec![vec![(0.0, 5.5), (5.0, 9.0), (9.0, 10.0)], vec![(5.6, 5.7)]];
        assert_eq!(spans(&steps, 0.5), (lanes, 0));
    }

    #[test]
    fn steps_beyond_the_last_lane_share_it_and_are_counted() {
        let steps: Vec<StepBar> = (0..11).map(|at| step(f64::from(at), 100.0)).collect();
        let (spans, crowded) = spans(&steps, 0.0);
        assert_eq!((spans.len(), crowded), (MOST_LANES, 3));
        assert_eq!(spans[MOST_LANES - 1].len(), 4);
    }

    #[test]
    fn steps_without_a_place_are_left_out() {
        let mut odd =
            [step(f64::NAN, 1.0), step(0.0, f64::INFINITY), step(2.0, 1.0), step(0.0, 1e300), step(0.0, 1.0)];
        odd[4].span_ms = None;
        assert_eq!(spans(&odd, 0.0), (Vec::new(), 0));
    }
}
