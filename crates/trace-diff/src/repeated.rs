//! What two runs repeat, such as the layers of a model: the time of one, however often each recording has it.

use gpu_timeline::{SortFew, likeness};
use sheets::{Column, ColumnKind, Role, Sheet, Unit, Verdict, names};

use crate::names::NameClasses;

/// A part of a program that a recording has several times.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeated {
    /// What it is, with what tells it from others of its kind: `layer of 24 operators from aten::layer_norm`.
    pub name: String,
    /// Its kind: `layer`, `engine step`.
    pub kind: &'static str,
    /// How often the recording has it.
    pub count: usize,
    /// Median time of one on the device in µs, waiting included.
    pub median_us: f64,
    /// Operators of one, or else its kernels, and how often it calls each.
    pub calls: Vec<(String, f64)>,
}

/// A part that both runs repeat. Pairs are of A and of B.
#[derive(Clone, Debug, PartialEq)]
pub struct RepeatedPart {
    /// What it is, by A's names.
    pub name: String,
    /// How often each recording has it.
    pub counts: [usize; 2],
    /// Median time of one in µs.
    pub median_us: [f64; 2],
    /// How alike the calls of one are, as [`gpu_timeline::likeness`] says.
    pub likeness: f64,
}

impl RepeatedPart {
    /// Least likeness of parts that are the same.
    const ALIKE: f64 = 0.8;

    /// How much longer one takes in B, in µs.
    #[must_use]
    pub fn delta_us(&self) -> f64 {
        self.median_us[1] - self.median_us[0]
    }

    /// The parts that both runs repeat: those of one kind that call the same, each with the one that is most like it. What
    /// differs most where both recordings have as many as A comes first.
    #[must_use]
    pub fn pairs([a, b]: [&[Repeated]; 2], names: &NameClasses) -> Vec<RepeatedPart> {
        let calls = |part: &Repeated| -> Vec<(String, f64)> {
            part.calls.iter().map(|(name, count)| (names.canonical(name).to_owned(), *count)).collect()
        };
        let [calls_a, calls_b] = [a, b].map(|parts| parts.iter().map(calls).collect::<Vec<_>>());
        let mut alike: Vec<(f64, usize, usize)> = Vec::new();
        for (at, part) in a.iter().enumerate() {
            for (other, _) in b.iter().enumerate().filter(|(_, other)| other.kind == part.kind) {
                let part_likeness = likeness(calls_a[at].iter().cloned(), calls_b[other].iter().cloned());
                alike.extend(
                    part_likeness
                        .filter(|&part_likeness| part_likeness >= Self::ALIKE)
                        .map(|part_likeness| (part_likeness, at, other)),
                );
            }
        }
        alike.sort_few_by(|one, other| {
            other.0.total_cmp(&one.0).then((one.1, one.2).cmp(&(other.1, other.2)))
        });
        let mut pairs: Vec<(usize, usize, RepeatedPart)> = Vec::new();
        for (likeness, at, other) in alike {
            if pairs.iter().any(|&(taken, taken_other, _)| taken == at || taken_other == other) {
                continue;
            }
            let (a, b) = (&a[at], &b[other]);
            let (counts, median_us) = ([a.count, b.count], [a.median_us, b.median_us]);
            pairs.push((at, other, RepeatedPart { name: a.name.clone(), counts, median_us, likeness }));
        }
        let weight =
            |(.., part): &(usize, usize, RepeatedPart)| part.delta_us().abs() * part.counts[0] as f64;
        pairs.sort_few_by(|one, other| weight(other).total_cmp(&weight(one)));
        pairs.into_iter().map(|(.., part)| part).collect()
    }
}

/// The sheet of repeated parts; `suffix` ends its name.
pub(crate) fn repeated_sheet<'a, A>(
    suffix: &str,
    parts: impl Fn(&'a A) -> &'a [RepeatedPart] + Send + Sync + 'a,
) -> Sheet<'a, A> {
    let fields = [
        Column::text("part", "Repeated part, with the names in A.")
            .field(|part: &&RepeatedPart| part.name.as_str().into()),
        Column::count("count_a", "Number of occurrences in A.")
            .field(|part: &&RepeatedPart| part.counts[0].into()),
        Column::count("count_b", "Number of occurrences in B.")
            .field(|part: &&RepeatedPart| part.counts[1].into()),
        Column::microseconds(
            "median_a_us",
            "Median duration of one occurrence in A on the device, in µs, including idle time.",
        )
        .with_role(Role::Headline)
        .per("occurrence")
        .field(|part: &&RepeatedPart| part.median_us[0].into()),
        Column::microseconds(
            "median_b_us",
            "Median duration of one occurrence in B on the device, in µs, including idle time.",
        )
        .with_role(Role::Headline)
        .per("occurrence")
        .field(|part: &&RepeatedPart| part.median_us[1].into()),
        Column::microseconds("delta_us", "Median in B minus median in A; above 0, B takes longer.")
            .with_role(Role::Headline)
            .per("occurrence")
            .judged(Verdict::LessIsBetter)
            .field(|part: &&RepeatedPart| part.delta_us().into()),
        Column::new(
            "likeness",
            ColumnKind::Number(Unit::One),
            "Similarity of the calls in A and B, 0 to 1: shared calls / all calls.",
        )
        .field(|part: &&RepeatedPart| part.likeness.into()),
    ];
    Sheet::with_context(
        format!("{}{suffix}", names::REPEATED_PARTS),
        "Parts that both runs repeat, such as model layers, with the time of one occurrence; for recordings that cover different amounts of work.",
        fields,
        move |analysis: &'a A| {
            let rows: Vec<&RepeatedPart> = parts(analysis).iter().collect();
            (!rows.is_empty()).then_some(((), rows))
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(kind: &'static str, name: &str, count: usize, median_us: f64, calls: &[(&str, f64)]) -> Repeated {
        let calls = calls.iter().map(|&(name, count)| (name.to_owned(), count)).collect();
        Repeated { name: name.to_owned(), kind, count, median_us, calls }
    }

    #[test]
    fn parts_of_one_kind_that_call_the_same_are_one() {
        let layer = [("aten::mm", 4.0), ("aten::cudnn_convolution", 1.0)];
        let other = [("aten::mm", 1.0), ("aten::softmax", 4.0)];
        let of_amd = [("aten::mm", 4.0), ("aten::miopen_convolution", 1.0)];
        let a = [
            part("layer", "small", 40, 10.0, &other),
            part("layer", "large", 4, 100.0, &layer),
            part("step", "step", 2, 400.0, &layer),
        ];
        let b = [part("layer", "l", 12, 130.0, &of_amd), part("layer", "s", 9, 11.0, &other)];
        let pairs = RepeatedPart::pairs([&a, &b], &NameClasses::default());
        let told: Vec<_> = pairs.iter().map(|pair| (&*pair.name, pair.counts, pair.delta_us())).collect();
        // 120 µs of A's four layers are more than 40 of its forty small ones; of the step B has none.
        assert_eq!(told, [("large", [4, 12], 30.0), ("small", [40, 9], 1.0)]);
        let exact = RepeatedPart::pairs([&a, &b], &NameClasses::exact());
        assert_eq!(exact.len(), 1, "{exact:?}");
    }
}
