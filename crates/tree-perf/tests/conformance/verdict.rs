//! Whether two cells agree.

use super::literal::Value;

/// How far two cells agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    /// Equal, numbers within 1e-6 of each other.
    Exact,
    /// A measured time (or what is computed from one) within what a tool loses that keeps microseconds since
    /// the epoch in doubles: 2e-3 of the value or 2e-3 µs, and for the spread of times 4e-3 of their mean.
    Clock,
    Wrong,
}

/// Compares cells of a column; `mean` is the reference's mean of what the column has the spread of.
pub(crate) fn judge(column: &str, reference: &Value, ours: &Value, mean: Option<f64>) -> Verdict {
    match (reference, ours) {
        (Value::Number(reference), Value::Number(ours)) => numbers(column, *reference, *ours, mean),
        (Value::Dictionary(entries), Value::Dictionary(_)) => {
            let mean = match reference.get("mean_duration_us") {
                Some(Value::Number(mean)) => Some(*mean),
                _ => None,
            };
            worst(entries.iter().map(|(key, value)| match ours.get(key) {
                Some(ours) => judge(key, value, ours, mean.filter(|_| key.contains("std"))),
                None => Verdict::Wrong,
            }))
        }
        (Value::List(reference), Value::List(ours)) if reference.len() == ours.len() => {
            let (reference, ours) = (in_order(reference), in_order(ours));
            worst(reference.iter().zip(ours).map(|(reference, ours)| judge(column, reference, ours, None)))
        }
        _ if reference == ours => Verdict::Exact,
        _ => Verdict::Wrong,
    }
}

fn worst(verdicts: impl Iterator<Item = Verdict>) -> Verdict {
    verdicts.max().unwrap_or(Verdict::Exact)
}

/// Kernels are listed by their total time, which clocks decide when two are nearly equal: compare by name.
fn in_order(items: &[Value]) -> Vec<&Value> {
    let mut items: Vec<&Value> = items.iter().collect();
    if items.iter().all(|item| matches!(item, Value::Dictionary(_))) {
        items.sort_by_key(|item| ["name", "stream", "count"].map(|key| item.get(key).map(Value::key)));
    }
    items
}

fn numbers(column: &str, reference: f64, ours: f64, mean: Option<f64>) -> Verdict {
    let difference = (reference - ours).abs();
    let within = |relative: f64, absolute: f64| {
        difference <= (relative * reference.abs().max(ours.abs())).max(absolute)
    };
    if within(1e-6, 1e-12) {
        return Verdict::Exact;
    }
    let spread = mean.is_some_and(|mean| difference <= 4e-3 * mean.abs());
    let measured = is_measured(column) && (within(2e-3, 2e-3) || spread);
    if measured { Verdict::Clock } else { Verdict::Wrong }
}

fn is_measured(column: &str) -> bool {
    let column = column.to_lowercase();
    ["time", "duration", "percent", "%", "bin_", "tflops/s", "tb/s"].iter().any(|word| column.contains(word))
}

#[test]
fn cells_agree_exactly_or_within_the_clock_or_not() {
    use Verdict::{Clock, Exact, Wrong};
    for (column, reference, ours, mean, verdict) in [
        ("time ms", "1.0", "1.0000005", None, Exact),
        ("time ms", "1.0", "1.0015", None, Clock),
        ("time ms", "0.0001", "0.0015", None, Clock),
        ("time ms", "10.0", "10.1", None, Wrong),
        ("Count", "1000", "1001", None, Wrong),
        ("time_std", "0.01", "0.04", Some(10.0), Clock),
        ("time_std", "0.01", "0.06", Some(10.0), Wrong),
        ("name", "", "nan", None, Exact),
        ("name", "", "a", None, Wrong),
        ("flag", "True", "False", None, Wrong),
        ("Input Dims", "((1, 2),)", "[[1, 2]]", None, Exact),
        ("Input Dims", "((1, 2),)", "((1, 2), ())", None, Wrong),
        (
            "kernels",
            "[{'name': 'b', 'count': 1}, {'name': 'a'}]",
            "[{'name': 'a'}, {'name': 'b', 'count': 1}]",
            None,
            Exact,
        ),
        ("kernels", "[{'name': 'a', 'count': 1}]", "[{'name': 'a'}]", None, Wrong),
        ("kernels", "[{'name': 'a', 'count': 1}]", "[{'name': 'a', 'count': 2}]", None, Wrong),
        (
            "kernels",
            "[{'mean_duration_us': 100.0, 'std_dev_duration_us': 0.1}]",
            "[{'mean_duration_us': 100.1, 'std_dev_duration_us': 0.4}]",
            None,
            Clock,
        ),
    ] {
        let (reference, ours) = (Value::of_cell(reference), Value::of_cell(ours));
        assert_eq!(judge(column, &reference, &ours, mean), verdict, "{column}: {reference:?} {ours:?}");
    }
}
