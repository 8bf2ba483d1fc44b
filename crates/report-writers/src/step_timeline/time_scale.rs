//! From times to pixels, and the round times that an axis names.

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

#[cfg(test)]
mod tests {
    use super::TimeScale;

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
}
