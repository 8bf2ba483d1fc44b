//! Which ranks communicate: data, tensor, pipeline and expert parallelism, as Megatron numbers the ranks.

use std::collections::BTreeSet;
use std::str::FromStr;

/// How the ranks of a job share the work: `tp` innermost, then `dp`, then `pp`; `ep` divides the ranks of `dp`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parallelism {
    /// Ranks that hold a part of each layer. They stand on one host where they fit.
    pub tensor: u32,
    /// Ranks that hold a part of the layers each.
    pub pipeline: u32,
    /// Ranks that hold the same parameters.
    pub data: u32,
    /// Ranks that hold a part of the experts each; 1 for a model without.
    pub expert: u32,
}

impl Parallelism {
    /// Reads `dp`, `tp`, `dp_tp`, `dp_tp4_pp2` and the like. Of dimensions without a number `tp` and `ep` take the ranks
    /// of a host, `pp` takes 2 and `dp` the rest; one alone takes all ranks.
    ///
    /// # Errors
    /// In words, when a dimension is not known or does not divide the ranks.
    pub fn from_text(text: &str, ranks: u32, ranks_per_host: u32) -> Result<Self, String> {
        let names: Vec<&str> = text.split('_').collect();
        let alone = names.len() == 1;
        let mut sizes = [None; 4];
        for name in &names {
            let at = name.find(|letter: char| letter.is_ascii_digit()).unwrap_or(name.len());
            let (name, number) = name.split_at(at);
            let number = match number {
                "" => None,
                number => Some(u32::from_str(number).map_err(|error| format!("{number:?}: {error}"))?),
            };
            let (dimension, usual) = match name {
                "tp" => (0, ranks_per_host),
                "pp" => (1, 2),
                "dp" => (2, 0),
                "ep" => (3, ranks_per_host),
                _ => return Err(format!("{name:?} is no dimension: dp, tp, pp and ep are")),
            };
            let usual = if alone { ranks } else { usual };
            sizes[dimension] = Some(number.unwrap_or(usual)).filter(|&size| size > 0);
        }
        let [tensor, pipeline, data, expert] = sizes;
        let (tensor, pipeline) = (tensor.unwrap_or(1), pipeline.unwrap_or(1));
        let data = data.unwrap_or(ranks / (tensor * pipeline).max(1));
        let expert = expert.unwrap_or(1);
        if tensor * pipeline * data != ranks || data % expert != 0 {
            return Err(format!(
                "{text}: tp {tensor} × pp {pipeline} × dp {data} with ep {expert} are not {ranks} ranks"
            ));
        }
        Ok(Parallelism { tensor, pipeline, data, expert })
    }

    /// Stage of the pipeline that a rank computes.
    pub(super) fn stage(self, rank: u32) -> u32 {
        rank / (self.tensor * self.data)
    }
}

/// Who takes part in a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dimension {
    /// All ranks.
    World,
    /// Parts of a layer.
    Tensor,
    /// Stages.
    Pipeline,
    /// Copies of the parameters.
    Data,
    /// Parts of the experts.
    Expert,
}

impl Dimension {
    pub(super) const ALL: [Dimension; 5] =
        [Dimension::World, Dimension::Tensor, Dimension::Pipeline, Dimension::Data, Dimension::Expert];

    /// What Megatron describes the group as.
    pub(super) fn description(self) -> &'static str {
        match self {
            Dimension::World => "default_pg",
            Dimension::Tensor => "TENSOR_MODEL_PARALLEL_GROUP",
            Dimension::Pipeline => "PIPELINE_MODEL_PARALLEL_GROUP",
            Dimension::Data => "DATA_PARALLEL_GROUP",
            Dimension::Expert => "EXPERT_MODEL_PARALLEL_GROUP",
        }
    }

    /// Stream of its kernels; sends and receives of a pipeline have one each.
    pub(super) fn stream(self) -> u64 {
        [13, 20, 24, 28, 32][self as usize]
    }
}

/// A group of ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// As recorded.
    pub name: String,
    /// What it is for.
    pub dimension: Dimension,
    /// Its ranks, ascending.
    pub members: Vec<u32>,
}

/// The groups of a job, and by rank the one of each dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Groups {
    pub(super) all: Vec<Group>,
    of_rank: Vec<[Option<u32>; 5]>,
}

impl Groups {
    /// With `same_names` the groups of a dimension share one name, as those of a device mesh do.
    pub(super) fn new(ranks: u32, parallelism: Parallelism, same_names: bool) -> Self {
        let Parallelism { tensor, data, expert, .. } = parallelism;
        let mut groups = Groups { all: Vec::new(), of_rank: vec![[None; 5]; ranks as usize] };
        for dimension in Dimension::ALL {
            // Ranks with the same key are a group.
            let key = |rank: u32| match dimension {
                Dimension::World => (0, 0),
                Dimension::Tensor => (rank / tensor, 0),
                Dimension::Pipeline => (rank % (tensor * data), 0),
                Dimension::Data => (rank / (tensor * data), rank % tensor),
                Dimension::Expert => (rank / (tensor * expert), rank % tensor),
            };
            let keys: BTreeSet<(u32, u32)> = (0..ranks).map(key).collect();
            if dimension != Dimension::World && keys.len() == ranks as usize {
                continue;
            }
            let first = groups.all.len();
            let places: std::collections::BTreeMap<(u32, u32), usize> =
                keys.into_iter().zip(first..).collect();
            for place in first..first + places.len() {
                let name = if same_names && dimension != Dimension::World {
                    format!("mesh_{}", dimension as usize)
                } else {
                    place.to_string()
                };
                groups.all.push(Group { name, dimension, members: Vec::new() });
            }
            for rank in 0..ranks {
                let place = places[&key(rank)];
                groups.all[place].members.push(rank);
                groups.of_rank[rank as usize][dimension as usize] = Some(place as u32);
            }
        }
        groups
    }

    pub(super) fn of(&self, rank: u32, dimension: Dimension) -> Option<u32> {
        self.of_rank[rank as usize][dimension as usize]
    }

    /// Groups that a rank belongs to.
    pub(super) fn of_all_dimensions(&self, rank: u32) -> impl Iterator<Item = &Group> {
        self.of_rank[rank as usize].iter().flatten().map(|&group| &self.all[group as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_by_text() {
        let sizes =
            |text| Parallelism::from_text(text, 16, 4).map(|of| [of.tensor, of.pipeline, of.data, of.expert]);
        assert_eq!(sizes("dp"), Ok([1, 1, 16, 1]));
        assert_eq!(sizes("tp"), Ok([16, 1, 1, 1]));
        assert_eq!(sizes("pp"), Ok([1, 16, 1, 1]));
        assert_eq!(sizes("ep"), Ok([1, 1, 16, 16]));
        assert_eq!(sizes("dp_tp"), Ok([4, 1, 4, 1]));
        assert_eq!(sizes("dp_tp2_pp_ep2"), Ok([2, 2, 4, 2]));
        assert!(sizes("dp_tp3").is_err());
        assert!(sizes("fsdp").is_err());
    }

    #[test]
    fn groups_are_megatrons() {
        let parallelism = Parallelism { tensor: 2, pipeline: 2, data: 2, expert: 1 };
        let groups = Groups::new(8, parallelism, false);
        let members = |dimension| {
            let of = groups.all.iter().filter(|group| group.dimension == dimension);
            of.map(|group| group.members.clone()).collect::<Vec<_>>()
        };
        assert_eq!(members(Dimension::Tensor), [[0, 1], [2, 3], [4, 5], [6, 7]]);
        assert_eq!(members(Dimension::Data), [[0, 2], [1, 3], [4, 6], [5, 7]]);
        assert_eq!(members(Dimension::Pipeline), [[0, 4], [1, 5], [2, 6], [3, 7]]);
        assert_eq!(members(Dimension::Expert).len(), 0);
    }
}
