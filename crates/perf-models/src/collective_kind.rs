//! Kinds of collective communication: what names say, and how much data crosses links.

/// Kind of a collective operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CollectiveKind {
    /// Every device gets the shards of all devices of its group.
    AllGather,
    /// Every device gets the reduction over its group.
    AllReduce,
    /// Every device gets its shard of the reduction over its group.
    ReduceScatter,
    /// Every device sends a part of its buffer to each device of its group.
    AllToAll,
    /// Devices send to one device each, by source and target pairs.
    CollectivePermute,
    /// Any other, such as a broadcast.
    #[default]
    Other,
}

impl CollectiveKind {
    /// All kinds, in the order of the tables.
    pub const ALL: [Self; 6] = [
        Self::AllGather,
        Self::AllReduce,
        Self::AllToAll,
        Self::ReduceScatter,
        Self::CollectivePermute,
        Self::Other,
    ];

    /// The kind by a name that holds it: of a collective of PyTorch (`_allgather_base`, `all_to_allv`), of an
    /// instruction of XLA (`all-gather-start.3`) or of a kernel (`ncclDevKernel_AllReduce_Sum_bf16`). Libraries send
    /// and receive for several kinds, which the name of the kernel then does not tell.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        const KINDS: [(&str, CollectiveKind); 6] = [
            ("allgather", CollectiveKind::AllGather),
            ("allreduce", CollectiveKind::AllReduce),
            ("reducescatter", CollectiveKind::ReduceScatter),
            ("alltoall", CollectiveKind::AllToAll),
            ("collectivepermute", CollectiveKind::CollectivePermute),
            ("crossdevicereduce", CollectiveKind::AllReduce),
        ];
        let letters: String = name
            .chars()
            .filter(char::is_ascii_alphabetic)
            .map(|letter| letter.to_ascii_lowercase())
            .collect();
        KINDS.into_iter().find(|(text, _)| letters.contains(text)).map_or(Self::Other, |(_, kind)| kind)
    }

    /// The kind of an opcode that communicates with other devices, in its synchronous form or the first half of
    /// its asynchronous one; `None` for every other opcode, the second halves (`…-done`) among them.
    #[must_use]
    pub fn from_opcode(opcode: &str) -> Option<Self> {
        let base = opcode.strip_suffix("-start").unwrap_or(opcode);
        match base {
            "all-gather" => Some(Self::AllGather),
            "all-reduce" => Some(Self::AllReduce),
            "reduce-scatter" => Some(Self::ReduceScatter),
            "all-to-all" => Some(Self::AllToAll),
            "collective-permute" => Some(Self::CollectivePermute),
            "collective-broadcast" | "ragged-all-to-all" => Some(Self::Other),
            _ => None,
        }
    }

    /// The kind of a collective that exchanges equal parts among all devices at once, by its name; `None` of uneven parts
    /// (`all_to_allv`), of transfers that wait for a sender, and of others.
    #[must_use]
    pub fn of_equal_parts(name: &str) -> Option<Self> {
        let kind = Self::from_name(name);
        let is_even = !name.contains("alltoallv") && !name.contains("all_to_allv");
        (is_even && !matches!(kind, Self::Other | Self::CollectivePermute)).then_some(kind)
    }

    /// XLA's opcode, and `other`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AllGather => "all-gather",
            Self::AllReduce => "all-reduce",
            Self::ReduceScatter => "reduce-scatter",
            Self::AllToAll => "all-to-all",
            Self::CollectivePermute => "collective-permute",
            Self::Other => "other",
        }
    }

    /// Bytes that a device sends and receives, or reads and writes, for `data` bytes in a group of `size`:
    ///
    /// | kind | `data` is | bytes |
    /// | --- | --- | --- |
    /// | all-gather | the shard of a device | `2·data·(n − 1)` |
    /// | all-reduce | the tensor | `2·data` |
    /// | reduce-scatter | the whole input | `data + data/n` |
    /// | all-to-all | the buffer | `2·data·(n − 1)/n` |
    /// | collective-permute | the tensor | `2·data` |
    /// | other | the tensor | `data` |
    #[must_use]
    pub fn algorithmic_bytes(self, data: u64, size: usize) -> f64 {
        let (data, n) = (data as f64, size as f64);
        match self {
            Self::AllGather => 2.0 * data * (n - 1.0),
            Self::AllReduce | Self::CollectivePermute => 2.0 * data,
            Self::ReduceScatter => data + data / n,
            Self::AllToAll => 2.0 * data * (n - 1.0) / n,
            Self::Other => data,
        }
    }

    /// Share of the bytes of a group of `size` that has to cross a link: `2(n − 1)/n` for an all-reduce, `(n − 1)/n`
    /// for the others that leave a device's own part in place, else 1. The factors of the bus bandwidth of NVIDIA's
    /// nccl-tests (doc/PERFORMANCE.md there).
    #[must_use]
    pub fn bus_factor(self, size: usize) -> f64 {
        let n = size as f64;
        match self {
            Self::AllReduce => 2.0 * (n - 1.0) / n,
            Self::AllGather | Self::ReduceScatter | Self::AllToAll => (n - 1.0) / n,
            Self::CollectivePermute | Self::Other => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CollectiveKind::{
        self, AllGather, AllReduce, AllToAll, CollectivePermute, Other, ReduceScatter,
    };

    #[test]
    fn names_and_opcodes_give_the_kind() {
        let cases = [
            ("all-gather-start.3", AllGather),
            ("all-reduce.1", AllReduce),
            ("reduce-scatter", ReduceScatter),
            ("all-to-all.7", AllToAll),
            ("collective-permute-start", CollectivePermute),
            ("unknown", Other),
            ("allreduce_coalesced", AllReduce),
            ("_allgather_base", AllGather),
            ("all_gather_into_tensor_coalesced", AllGather),
            ("_reduce_scatter_base", ReduceScatter),
            ("all_to_allv", AllToAll),
            ("broadcast", Other),
            ("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgs)", AllGather),
            ("ncclDevKernel_SendRecv(ncclDevKernelArgs)", Other),
            ("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(", AllReduce),
        ];
        for (name, kind) in cases {
            assert_eq!(CollectiveKind::from_name(name), kind, "{name}");
        }
        let of_equal_parts =
            ["allreduce", "all_to_allv", "alltoallv_single", "broadcast", "_all_to_all_base"];
        let kinds = of_equal_parts.map(CollectiveKind::of_equal_parts);
        assert_eq!(kinds, [Some(AllReduce), None, None, None, Some(AllToAll)]);
        assert_eq!(CollectiveKind::from_opcode("all-gather-start"), Some(AllGather));
        assert_eq!(CollectiveKind::from_opcode("collective-broadcast"), Some(Other));
        assert_eq!(CollectiveKind::from_opcode("all-gather-done"), None);
        assert_eq!(CollectiveKind::from_opcode("fusion"), None);
    }

    #[test]
    fn bytes_and_factors_of_a_group_of_four() {
        let cases = [
            (AllGather, 6000.0, 0.75),
            (AllReduce, 2000.0, 1.5),
            (ReduceScatter, 1250.0, 0.75),
            (AllToAll, 1500.0, 0.75),
            (CollectivePermute, 2000.0, 1.0),
            (Other, 1000.0, 1.0),
        ];
        for (kind, bytes, factor) in cases {
            assert_eq!(kind.algorithmic_bytes(1000, 4), bytes, "{kind:?}");
            assert_eq!(kind.bus_factor(4), factor, "{kind:?}");
        }
    }
}
