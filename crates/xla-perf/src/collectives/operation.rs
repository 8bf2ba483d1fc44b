//! Collectives of programs: their kinds, what each moves, and which devices exchange data with each other.

use std::fmt;

use hlo_cost::{ArrayShape, ReplicaGroups};
use perf_models::CollectiveKind;

/// A collective instruction of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CollectiveOperation {
    /// Name of the instruction, unique in its program.
    pub name: String,
    /// Kind.
    pub kind: CollectiveKind,
    /// What each device gives.
    pub inputs: Vec<ArrayShape>,
    /// What each device gets.
    pub outputs: Vec<ArrayShape>,
    /// Who exchanges with whom; `None` where the program does not say.
    pub groups: Option<ExchangeGroups>,
    /// Channel that ties the instruction to those of the other devices.
    pub channel: Option<i64>,
}

impl CollectiveOperation {
    /// Elements that a device gives.
    #[must_use]
    pub fn input_elements(&self) -> u64 {
        elements(&self.inputs)
    }

    /// Elements that a device gets.
    #[must_use]
    pub fn output_elements(&self) -> u64 {
        elements(&self.outputs)
    }

    /// Bytes that a device gives.
    #[must_use]
    pub fn input_bytes(&self) -> u64 {
        total(&self.inputs)
    }

    /// Bytes that a device gets.
    #[must_use]
    pub fn output_bytes(&self) -> u64 {
        total(&self.outputs)
    }

    /// Bytes that [`CollectiveKind::algorithmic_bytes`] is a function of, for groups of `size`: the shard of a device
    /// for an all-gather, the input for a reduce-scatter, else the output.
    #[must_use]
    pub fn data_bytes(&self, size: usize) -> u64 {
        match self.kind {
            CollectiveKind::AllGather => self.output_bytes() / (size as u64).max(1),
            CollectiveKind::ReduceScatter => self.output_bytes().saturating_mul(size as u64),
            _ => self.output_bytes(),
        }
    }

    /// Size of the message as nccl-tests counts it: the larger of what a device gives and what it gets.
    #[must_use]
    pub fn message_bytes(&self) -> u64 {
        self.input_bytes().max(self.output_bytes())
    }
}

/// Bytes of tensors together; those of a type without a size count nothing.
pub(super) fn total(tensors: &[ArrayShape]) -> u64 {
    tensors.iter().fold(0, |sum, tensor| sum.saturating_add(tensor.bytes().map_or(0, |bytes| bytes as u64)))
}

fn elements(tensors: &[ArrayShape]) -> u64 {
    tensors.iter().fold(0, |sum, tensor| sum.saturating_add(tensor.elements() as u64))
}

/// The devices of an analysis. The numbers that programs give to them are taken to be their ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Devices {
    /// Devices of a node: the device with number `d` of node `n` has the rank `n * per_node + d`.
    pub per_node: u32,
    /// Devices that the programs run on: those that the profiles show, or more where groups name more.
    pub total: usize,
    /// Ranks of the devices that the profiles show, ascending.
    pub shown: Vec<u64>,
}

impl Devices {
    /// The devices that profiles show, by node and number, and those that groups of collectives name.
    pub(super) fn new(
        shown: impl IntoIterator<Item = (u32, u32)>,
        per_node: u32,
        operations: &[CollectiveOperation],
    ) -> Self {
        let rank = |(node, device): (u32, u32)| u64::from(node) * u64::from(per_node) + u64::from(device);
        let mut shown: Vec<u64> = shown.into_iter().map(rank).collect();
        shown.sort_unstable();
        shown.dedup();
        let named = operations.iter().filter_map(|operation| operation.groups.as_ref());
        let most = named.map(ExchangeGroups::devices).max().unwrap_or(0);
        Self { per_node, total: shown.len().max(most), shown }
    }

    /// Ranks of all devices: of those that the profiles show, unless there are more.
    fn all(&self) -> Vec<u64> {
        if self.total == self.shown.len() { self.shown.clone() } else { (0..self.total as u64).collect() }
    }
}

/// The groups of a collective, by the numbers that the program gives to its devices. Displays as HLO text writes
/// them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExchangeGroups {
    /// Groups in which every device takes part in the exchange.
    Replicas(ReplicaGroups),
    /// Source and target of each transfer; each pair counts as a group of two.
    Pairs(Vec<(u64, u64)>),
}

impl ExchangeGroups {
    /// The groups, by rank; none where their figures contradict each other.
    #[must_use]
    pub fn resolve(&self, devices: &Devices) -> Vec<Vec<u64>> {
        match self {
            Self::Replicas(ReplicaGroups::Everyone) if devices.total == 0 => Vec::new(),
            Self::Replicas(ReplicaGroups::Everyone) => vec![devices.all()],
            Self::Replicas(groups) => groups.of(devices.total as u64).unwrap_or_default(),
            Self::Pairs(pairs) => pairs.iter().map(|&(source, target)| vec![source, target]).collect(),
        }
    }

    /// Least number of devices that has all that the groups name.
    fn devices(&self) -> usize {
        let last = match self {
            Self::Replicas(ReplicaGroups::Everyone) => None,
            Self::Replicas(groups) => groups.of(0).unwrap_or_default().into_iter().flatten().max(),
            Self::Pairs(pairs) => pairs.iter().map(|&(source, target)| source.max(target)).max(),
        };
        last.and_then(|last| usize::try_from(last).ok()).map_or(0, |last| last.saturating_add(1))
    }

    /// Number of devices of a group, by the first one; `None` where there is no group.
    #[must_use]
    pub fn group_size(&self, devices: usize) -> Option<usize> {
        let size = match self {
            Self::Replicas(ReplicaGroups::Everyone) => devices,
            Self::Replicas(groups) => usize::try_from(groups.group_size()?).ok()?,
            Self::Pairs(pairs) => pairs.first().map(|_| 2)?,
        };
        (size > 0).then_some(size)
    }
}

impl fmt::Display for ExchangeGroups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Replicas(groups) => groups.fmt(f),
            Self::Pairs(pairs) => {
                let texts: Vec<String> =
                    pairs.iter().map(|(source, target)| format!("{{{source},{target}}}")).collect();
                write!(f, "{{{}}}", texts.join(","))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hlo_cost::ElementType;

    fn tensor(element_type: ElementType, dimensions: &[u64]) -> ArrayShape {
        ArrayShape { element_type, dimensions: dimensions.to_vec(), ..ArrayShape::default() }
    }

    fn groups(text: &str) -> ExchangeGroups {
        ExchangeGroups::Replicas(text.parse().unwrap())
    }

    fn operation(kind: CollectiveKind, input: &[u64], output: &[u64]) -> CollectiveOperation {
        CollectiveOperation {
            name: kind.name().to_owned(),
            kind,
            inputs: vec![tensor(ElementType::F32, input)],
            outputs: vec![tensor(ElementType::F32, output)],
            groups: Some(groups("{}")),
            channel: Some(1),
        }
    }

    #[test]
    fn data_is_a_shard_for_a_gather_and_the_whole_for_the_others() {
        let cases = [
            (CollectiveKind::AllGather, [2, 8], [8, 8], 64, 256),
            (CollectiveKind::ReduceScatter, [8, 8], [2, 8], 256, 256),
            (CollectiveKind::AllReduce, [8, 8], [8, 8], 256, 256),
            (CollectiveKind::AllToAll, [8, 8], [8, 8], 256, 256),
        ];
        for (kind, input, output, data, message) in cases {
            let operation = operation(kind, &input, &output);
            assert_eq!((operation.data_bytes(4), operation.message_bytes()), (data, message), "{kind:?}");
        }
    }

    #[test]
    fn types_without_a_size_count_nothing() {
        let tensors = [
            tensor(ElementType::S4, &[5]),
            tensor(ElementType::Unknown(17), &[8]),
            tensor(ElementType::F32, &[]),
        ];
        assert_eq!(total(&tensors), 3 + 4);
    }

    fn devices(shown: &[u64], total: usize) -> Devices {
        Devices { per_node: 8, total, shown: shown.to_vec() }
    }

    #[test]
    fn groups_are_resolved_to_ranks() {
        type Groups = &'static [&'static [u64]];
        let cases: [(&str, Groups); 5] = [
            ("{{0,1},{2,3}}", &[&[0, 1], &[2, 3]]),
            ("{}", &[&[0, 1, 2, 3]]),
            ("[4,2]<=[2,4]T(1,0)", &[&[0, 4], &[1, 5], &[2, 6], &[3, 7]]),
            ("[8]<=[8]", &[&[0, 1, 2, 3, 4, 5, 6, 7]]),
            // Contradicts itself.
            ("[4,2]<=[9]", &[]),
        ];
        for (text, expected) in cases {
            assert_eq!(groups(text).resolve(&devices(&[0, 1, 2, 3], 4)), expected, "{text}");
        }
    }

    #[test]
    fn pairs_are_groups_of_two() {
        let pairs = ExchangeGroups::Pairs(vec![(0, 1), (1, 0)]);
        assert_eq!(
            (pairs.group_size(8), pairs.resolve(&devices(&[], 8))),
            (Some(2), vec![vec![0, 1], vec![1, 0]])
        );
        assert_eq!(pairs.to_string(), "{{0,1},{1,0}}");
        assert_eq!(ExchangeGroups::Pairs(Vec::new()).group_size(8), None);
    }

    #[test]
    fn all_devices_are_one_group_of_as_many_as_run() {
        let all = groups("{}");
        assert_eq!((all.group_size(4), all.to_string().as_str()), (Some(4), "{}"));
        assert_eq!((all.group_size(0), all.resolve(&devices(&[], 0)).len()), (None, 0));
        // The profile shows all that there are, whatever their numbers; or some of more.
        assert_eq!(all.resolve(&devices(&[3, 7], 2)), [[3, 7]]);
        assert_eq!(all.resolve(&devices(&[1], 2)), [[0, 1]]);
    }
}
