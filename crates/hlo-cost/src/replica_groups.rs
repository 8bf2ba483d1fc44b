//! Which devices take part in a collective together.

use std::fmt;
use std::str::FromStr;

use perf_models::Undefined;
use prost::Message;

use crate::shape::count;

/// Groups that are written out are refused above this number of devices, which no system has.
const MOST_DEVICES: u64 = 1 << 24;

/// The groups of devices that a collective runs in. Displays as HLO text writes them.
///
/// ```
/// use hlo_cost::ReplicaGroups;
///
/// let groups: ReplicaGroups = "[4,2]<=[2,4]T(1,0)".parse()?;
/// assert_eq!(groups.of(8)?, [[0, 4], [1, 5], [2, 6], [3, 7]]);
/// assert_eq!(groups.to_string(), "[4,2]<=[2,4]T(1,0)");
/// # Ok::<(), perf_models::Undefined>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ReplicaGroups {
    /// All devices in one group: the text is `{}`.
    #[default]
    Everyone,
    /// The devices of each group.
    Lists(Vec<Vec<u64>>),
    /// The devices in rising order, laid out as an array, transposed, and cut into groups of one size.
    Iota {
        /// Number of groups.
        groups: u64,
        /// Devices of each.
        devices_per_group: u64,
        /// Extents of the array.
        reshape: Vec<u64>,
        /// Dimension of the array that each dimension of the transposed array was; empty where it is not
        /// transposed.
        transpose: Vec<u64>,
    },
}

impl ReplicaGroups {
    /// The groups, where `devices` take part in all.
    ///
    /// # Errors
    ///
    /// When the numbers of an iota do not fit each other or there are more devices than any system has.
    pub fn of(&self, devices: u64) -> Result<Vec<Vec<u64>>, Undefined> {
        match self {
            Self::Everyone if devices <= MOST_DEVICES => Ok(vec![(0..devices).collect()]),
            Self::Everyone => Err(unusable(self)),
            Self::Lists(lists) => Ok(lists.clone()),
            Self::Iota { groups, devices_per_group, reshape, transpose } => {
                iota(*groups, *devices_per_group, reshape, transpose).ok_or_else(|| unusable(self))
            }
        }
    }

    /// Devices of a group: of the first, where they differ; `None` where that depends on the devices of the
    /// run.
    #[must_use]
    pub fn group_size(&self) -> Option<u64> {
        match self {
            Self::Everyone => None,
            Self::Lists(lists) => lists.first().map(|list| list.len() as u64),
            Self::Iota { devices_per_group, .. } => Some(*devices_per_group),
        }
    }
}

fn unusable(groups: &ReplicaGroups) -> Undefined {
    Undefined::arguments(format!("replica groups {groups} are inconsistent"))
}

fn iota(groups: u64, size: u64, reshape: &[u64], transpose: &[u64]) -> Option<Vec<Vec<u64>>> {
    let total = groups.checked_mul(size).filter(|&total| total <= MOST_DEVICES)?;
    let product = reshape.iter().try_fold(1_u64, |product, &extent| product.checked_mul(extent))?;
    let identity: Vec<u64> = (0..reshape.len() as u64).collect();
    let order = if transpose.is_empty() { &identity } else { transpose };
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    if product != total || sorted != identity || size == 0 {
        return None;
    }
    // Distance in the array before the transposition, along the dimensions after it.
    let mut strides = vec![1_u64; reshape.len()];
    for axis in (1..reshape.len()).rev() {
        strides[axis - 1] = strides[axis] * reshape[axis];
    }
    let axes: Vec<(u64, u64)> =
        order.iter().map(|&axis| (reshape[axis as usize], strides[axis as usize])).collect();
    let device = |position: u64| {
        let mut rest = position;
        axes.iter().rev().fold(0, |sum, &(extent, stride)| {
            let index = rest % extent;
            rest /= extent;
            sum + index * stride
        })
    };
    let group_devices = |group: u64| (group * size..(group + 1) * size).map(device).collect();
    Some((0..groups).map(group_devices).collect())
}

impl fmt::Display for ReplicaGroups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everyone => f.write_str("{}"),
            Self::Lists(lists) => {
                let texts: Vec<String> = lists.iter().map(|list| format!("{{{}}}", joined(list))).collect();
                write!(f, "{{{}}}", texts.join(","))
            }
            Self::Iota { groups, devices_per_group, reshape, transpose } => {
                write!(f, "[{groups},{devices_per_group}]<=[{}]", joined(reshape))?;
                let in_order = transpose.iter().enumerate().all(|(position, &axis)| position as u64 == axis);
                if in_order { Ok(()) } else { write!(f, "T({})", joined(transpose)) }
            }
        }
    }
}

fn joined(numbers: &[u64]) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
}

impl FromStr for ReplicaGroups {
    type Err = Undefined;

    /// Reads the text after `replica_groups=`.
    fn from_str(text: &str) -> Result<Self, Undefined> {
        read(text.trim())
            .ok_or_else(|| Undefined::arguments(format!("{text:?} is not a list of replica groups")))
    }
}

fn read(text: &str) -> Option<ReplicaGroups> {
    if let Some((groups, rest)) = text.split_once("<=") {
        let (groups, devices_per_group) = match numbers(bracketed(groups, '[', ']')?)?[..] {
            [groups, devices] => (groups, devices),
            [devices] => (1, devices),
            _ => return None,
        };
        let (reshape, transpose) = match rest.split_once('T') {
            Some((reshape, transpose)) => (reshape, numbers(bracketed(transpose, '(', ')')?)?),
            None => (rest, Vec::new()),
        };
        let reshape = numbers(bracketed(reshape, '[', ']')?)?;
        return Some(ReplicaGroups::Iota { groups, devices_per_group, reshape, transpose });
    }
    let inner = bracketed(text, '{', '}')?;
    if inner.is_empty() {
        return Some(ReplicaGroups::Everyone);
    }
    let lists = inner
        .split_inclusive('}')
        .map(|list| numbers(bracketed(list.trim_start_matches([',', ' ']), '{', '}')?));
    lists.collect::<Option<_>>().map(ReplicaGroups::Lists)
}

fn bracketed(text: &str, open: char, close: char) -> Option<&str> {
    text.trim().strip_prefix(open)?.strip_suffix(close).map(str::trim)
}

fn numbers(text: &str) -> Option<Vec<u64>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    text.split(',').map(|number| number.trim().parse().ok()).collect()
}

/// `xla.ReplicaGroup`: devices of one group.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct ReplicaGroup {
    /// The devices.
    #[prost(int64, repeated, tag = "1")]
    pub devices: Vec<i64>,
}

/// `xla.CollectiveDeviceListProto`: groups one by one or by formula.
#[derive(Clone, PartialEq, Message)]
struct DeviceListMessage {
    #[prost(message, repeated, tag = "1")]
    groups: Vec<ReplicaGroup>,
    #[prost(message, optional, tag = "2")]
    iota: Option<IotaMessage>,
}

/// `xla.IotaReplicaGroupListProto`.
#[derive(Clone, PartialEq, Message)]
struct IotaMessage {
    #[prost(int64, tag = "1")]
    groups: i64,
    #[prost(int64, tag = "2")]
    devices_per_group: i64,
    #[prost(int64, repeated, tag = "3")]
    reshape: Vec<i64>,
    #[prost(int32, repeated, tag = "4")]
    transpose: Vec<i32>,
}

message_by_way_of!(ReplicaGroups, DeviceListMessage);

impl ReplicaGroups {
    /// Takes fields of its message in. A formula is what counts where there are lists, too.
    fn absorb(&mut self, fields: DeviceListMessage) {
        if let Some(iota) = fields.iota {
            *self = Self::Iota {
                groups: count(iota.groups),
                devices_per_group: count(iota.devices_per_group),
                reshape: iota.reshape.into_iter().map(count).collect(),
                transpose: iota.transpose.into_iter().map(|axis| count(axis.into())).collect(),
            };
        }
        self.add_lists(&fields.groups);
    }

    /// Adds groups that are written out, unless there is a formula.
    pub(crate) fn add_lists(&mut self, groups: &[ReplicaGroup]) {
        // A group without members is how older programs wrote that everyone takes part.
        let lists = groups.iter().filter(|group| !group.devices.is_empty());
        let mut lists = lists.map(|group| group.devices.iter().copied().map(count).collect()).peekable();
        match self {
            Self::Everyone if lists.peek().is_some() => *self = Self::Lists(lists.collect()),
            Self::Lists(known) => known.extend(lists),
            Self::Everyone | Self::Iota { .. } => {}
        }
    }
}

impl From<&ReplicaGroups> for DeviceListMessage {
    fn from(of: &ReplicaGroups) -> Self {
        let numbers = |counts: &[u64]| counts.iter().map(|&count| count as i64).collect();
        match of {
            ReplicaGroups::Everyone => Self::default(),
            ReplicaGroups::Lists(lists) => {
                let groups = lists.iter().map(|list| ReplicaGroup { devices: numbers(list) }).collect();
                Self { groups, iota: None }
            }
            ReplicaGroups::Iota { groups, devices_per_group, reshape, transpose } => {
                let iota = IotaMessage {
                    groups: *groups as i64,
                    devices_per_group: *devices_per_group as i64,
                    reshape: numbers(reshape),
                    transpose: transpose.iter().map(|&axis| axis as i32).collect(),
                };
                Self { groups: Vec::new(), iota: Some(iota) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn groups_are_those_of_their_text() {
        for (text, expected) in [
            ("{{0,1},{2,3}}", vec![vec![0, 1], vec![2, 3]]),
            ("{{0}}", vec![vec![0]]),
            ("{}", vec![vec![0, 1, 2, 3, 4, 5, 6, 7]]),
            ("[4,2]<=[8]", vec![vec![0, 1], vec![2, 3], vec![4, 5], vec![6, 7]]),
            ("[1,8]<=[8]", vec![vec![0, 1, 2, 3, 4, 5, 6, 7]]),
            ("[4,2]<=[2,4]T(1,0)", vec![vec![0, 4], vec![1, 5], vec![2, 6], vec![3, 7]]),
            ("[2,4]<=[2,2,2]T(2,0,1)", vec![vec![0, 2, 4, 6], vec![1, 3, 5, 7]]),
        ] {
            let groups: ReplicaGroups = text.parse().unwrap();
            assert_eq!(groups.of(8).unwrap(), expected, "{text}");
            assert_eq!(groups.to_string(), text);
        }
    }

    #[test]
    fn groups_survive_being_written_and_a_formula_counts_first() {
        for text in ["{}", "{{0,1},{2,3}}", "[4,2]<=[2,4]T(1,0)"] {
            let groups: ReplicaGroups = text.parse().unwrap();
            assert_eq!(ReplicaGroups::decode(&groups.encode_to_vec()[..]), Ok(groups), "{text}");
        }
        let list = ReplicaGroup { devices: vec![0, 1] };
        let iota = IotaMessage { groups: 2, devices_per_group: 1, reshape: vec![2], transpose: vec![] };
        let both = DeviceListMessage { groups: vec![list.clone()], iota: Some(iota) };
        assert_eq!(ReplicaGroups::decode(&both.encode_to_vec()[..]).unwrap().to_string(), "[2,1]<=[2]");
        let without_members = DeviceListMessage { groups: vec![ReplicaGroup::default()], iota: None };
        assert_eq!(ReplicaGroups::decode(&without_members.encode_to_vec()[..]), Ok(ReplicaGroups::Everyone));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for text in ["", "8", "{0,1}x", "[2,2,2]<=[8]", "[2,2]<=[a]", "{{0,1}"] {
            assert!(text.parse::<ReplicaGroups>().is_err(), "{text}");
        }
        for text in
            ["[2,2]<=[8]", "[4,2]<=[2,4]T(0,0)", "[4,2]<=[2,4]T(1)", "[99999999,99999999]<=[1]", "[2,0]<=[0]"]
        {
            assert!(text.parse::<ReplicaGroups>().unwrap().of(8).is_err(), "{text}");
        }
    }

    #[test]
    fn one_number_is_one_group() {
        let groups: ReplicaGroups = "[8]<=[8]".parse().unwrap();
        assert_eq!(groups.of(8).unwrap(), [[0, 1, 2, 3, 4, 5, 6, 7]]);
    }

    proptest! {
        #[test]
        fn each_device_is_in_one_group(extents in proptest::collection::vec(1_u64..6, 1..4), seed: u64) {
            let total: u64 = extents.iter().product();
            let mut transpose: Vec<u64> = (0..extents.len() as u64).collect();
            transpose.rotate_left(seed as usize % extents.len());
            let groups = extents[0];
            let iota = ReplicaGroups::Iota {
                groups, devices_per_group: total / groups, reshape: extents, transpose,
            };
            let mut devices: Vec<u64> = iota.of(total).unwrap().concat();
            devices.sort_unstable();
            prop_assert_eq!(devices, (0..total).collect::<Vec<_>>());
            prop_assert_eq!(iota.to_string().parse::<ReplicaGroups>().unwrap().of(total), iota.of(total));
        }
    }
}
