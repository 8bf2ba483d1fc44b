//! Which devices exchange data with each other.

use std::fmt;

use perf_models::hlo::ReplicaGroups;

use super::operation::CollectiveOperation;

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
    /// Reads the text after `replica_groups=`: `{{0,1},{2,3}}`, `{}`, `[4,2]<=[2,4]T(1,0)`, or `[8]<=[8]`, which is
    /// one group. `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let one_group = text.split_once("<=").filter(|(shape, _)| !shape.contains(','));
        let groups = match one_group.and_then(|(shape, rest)| Some((shape.strip_prefix('[')?, rest))) {
            Some((size, rest)) => format!("[1,{size}<={rest}").parse(),
            None => text.parse(),
        };
        groups.ok().map(Self::Replicas)
    }

    /// Reads the text after `source_target_pairs=`, `{{0,1},{1,0}}`; `None` for anything else.
    #[must_use]
    pub fn parse_pairs(text: &str) -> Option<Self> {
        let ReplicaGroups::Lists(lists) = text.trim().parse().ok()? else {
            return Some(Self::Pairs(Vec::new()));
        };
        let pairs = lists.into_iter().map(|pair| match pair[..] {
            [source, target] => Some((source, target)),
            _ => None,
        });
        pairs.collect::<Option<Vec<_>>>().map(Self::Pairs)
    }

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
    use super::{Devices, ExchangeGroups};

    fn devices(shown: &[u64], total: usize) -> Devices {
        Devices { per_node: 8, total, shown: shown.to_vec() }
    }

    #[test]
    fn texts_of_xla_give_groups() {
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
            assert_eq!(
                ExchangeGroups::parse(text).unwrap().resolve(&devices(&[0, 1, 2, 3], 4)),
                expected,
                "{text}"
            );
        }
        for text in ["", "{{0,1}", "[8]<=8", "4"] {
            assert_eq!(ExchangeGroups::parse(text), None, "{text}");
        }
    }

    #[test]
    fn pairs_are_groups_of_two() {
        let pairs = ExchangeGroups::parse_pairs("{{0,1},{1,0}}").unwrap();
        assert_eq!(
            (pairs.group_size(8), pairs.resolve(&devices(&[], 8))),
            (Some(2), vec![vec![0, 1], vec![1, 0]])
        );
        assert_eq!(pairs.to_string(), "{{0,1},{1,0}}");
        assert_eq!(ExchangeGroups::parse_pairs("{{0,1,2}}"), None);
        assert_eq!(ExchangeGroups::parse_pairs("{}").unwrap().group_size(8), None);
    }

    #[test]
    fn all_devices_are_one_group_of_as_many_as_run() {
        let all = ExchangeGroups::parse("{}").unwrap();
        assert_eq!((all.group_size(4), all.to_string().as_str()), (Some(4), "{}"));
        assert_eq!((all.group_size(0), all.resolve(&devices(&[], 0)).len()), (None, 0));
        // The profile shows all that there are, whatever their numbers; or some of more.
        assert_eq!(all.resolve(&devices(&[3, 7], 2)), [[3, 7]]);
        assert_eq!(all.resolve(&devices(&[1], 2)), [[0, 1]]);
    }
}
