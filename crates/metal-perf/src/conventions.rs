//! The rules on which reports of Tenstorrent's operations differ.

use sheets::{Cell, Layout, Scope};
use trace_ingest::StringId;
use trace_ingest::metal::{OpRow, OpType, OpsTable};

use crate::notice::MetalNotice;
use crate::op::{HOST_MARK, OpKind};

/// How figures are made and shown where reports of other tools differ from ours. The default is ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conventions {
    /// How much a report tells.
    pub scope: Scope,
    /// Which columns tables have, and in which order.
    pub layout: Layout,
    /// The first signpost of a name counts for all files together; of a name that is begin and end the second is the end.
    pub first_signposts: bool,
    /// Operations of several devices are put together by the names in front, again and again.
    pub merges_by_front: bool,
    /// The CSV file has no columns of ours, texts as they are, and `nan` in some cells without a value.
    pub plain_csv: bool,
    /// Names alone tell operations of the host, which have models and durations like all others.
    pub kinds_by_name: bool,
    /// What operations move is modelled for matrix products only.
    pub traffic_of_matmul_only: bool,
    /// A product that leaves DRAM alone has no share of its bandwidth.
    pub blank_without_traffic: bool,
    /// Groups and batches of convolutions do not count.
    pub one_product_per_convolution: bool,
    /// An attribute of a convolution that is not there is on.
    pub absent_is_on: bool,
    /// Rows of all devices follow each other.
    pub one_timeline: bool,
    /// Figures of more than the chip can do go without remark.
    pub silent_above_hundred: bool,
    /// The summary has no group for memories without a layout, such as the host's, and none for operations without a
    /// device where devices are kept apart.
    pub drops_unplaced: bool,
    /// The summary shows the first word of an operation of the host.
    pub short_host_names: bool,
    /// Attention under names that are not listed has no category.
    pub listed_attention_only: bool,
    /// The summary does not tell kinds of memory apart.
    pub no_buffers: bool,
    /// Weighted means of a device's group are those of all devices.
    pub weighs_all_devices: bool,
    /// A product that is bound by DRAM and arithmetic is not advised a larger grid.
    pub keeps_grid_if_both_bound: bool,
    /// A slow product's fidelity is judged only where it has a program configuration, but then also to say that there
    /// is no opinion.
    pub fidelity_with_config_only: bool,
}

/// What a row is: by its name.
pub(crate) fn kind_by_name(row: &OpRow, name: &str) -> OpKind {
    if name.contains(HOST_MARK) {
        OpKind::Host
    } else if row.op_type == OpType::Signpost || name.contains("signpost") {
        OpKind::Signpost
    } else {
        OpKind::Device
    }
}

/// The signposts that the user names, for all files together: the first of each name, and of a name that is both the
/// second as the end. `named` gives the signposts of a name in order.
pub(crate) fn first_signposts(
    [start_name, end_name]: [Option<&String>; 2],
    named: impl Fn(&String) -> Vec<u32>,
    notices: &mut Vec<MetalNotice>,
) -> (Option<u32>, Option<u32>) {
    let mut start = None;
    if let Some(name) = start_name {
        start = named(name).first().copied();
        if start.is_none() {
            let name = name.clone();
            notices.push(MetalNotice::SignpostNotFound { name, is_end: false, occurrences: 0 });
        }
    }
    let mut end = None;
    if let Some(name) = end_name {
        let found = named(name);
        let same = start_name == Some(name);
        end = found.get(usize::from(same)).copied();
        let occurrences = found.len();
        if end.is_none() {
            notices.push(MetalNotice::SignpostNotFound { name: name.clone(), is_end: true, occurrences });
        } else if same && occurrences > 2 {
            notices.push(MetalNotice::SignpostRepeats { name: name.clone(), occurrences });
        }
    }
    (start, end)
}

/// Puts operations of devices together: the first of each device that is named like the lowest device's, again and
/// again. With them how often a device had another one in front, and the name that it lacked first.
pub(crate) fn by_fronts<E: Copy>(
    queues: &[Vec<E>],
    name: impl Fn(&E) -> StringId,
) -> (Vec<Vec<E>>, Option<(usize, StringId)>) {
    let mut next = vec![0; queues.len()];
    let mut blocks = Vec::new();
    let mut differing: Option<(usize, StringId)> = None;
    while let Some(lead) = queues.iter().zip(&next).find_map(|(queue, &next)| queue.get(next)) {
        let mut block = Vec::new();
        for (queue, next) in queues.iter().zip(&mut next) {
            match queue.get(*next) {
                Some(&entry) if name(&entry) == name(lead) => {
                    block.push(entry);
                    *next += 1;
                }
                _ => differing.get_or_insert((0, name(lead))).0 += 1,
            }
        }
        blocks.push(block);
    }
    (blocks, differing)
}

/// How cells of the CSV file are written that have no value.
pub(crate) struct BlankCells {
    /// Columns of datatypes that the profiler's file has.
    datatypes: Vec<&'static str>,
    /// Column of call counts.
    call_count: &'static str,
    /// Whether call counts are fractions: a column of whole numbers with a gap is one.
    has_fractional_calls: bool,
}

impl BlankCells {
    /// `datatypes` says of each column of datatypes whether the profiler's file has it.
    pub(crate) fn new(
        table: &OpsTable,
        datatypes: [(&'static str, bool); 3],
        call_count: &'static str,
    ) -> Self {
        BlankCells {
            datatypes: datatypes.into_iter().filter(|(_, has)| *has).map(|(column, _)| column).collect(),
            call_count,
            has_fractional_calls: table.rows.iter().any(|row| row.global_call_count.is_none()),
        }
    }

    /// A cell of the column of this name.
    pub(crate) fn cell<'r>(&self, column: &str, cell: Cell<'r>) -> Cell<'r> {
        let is_call_count = column == self.call_count;
        match cell {
            Cell::Missing if is_call_count || self.datatypes.contains(&column) => "nan".into(),
            Cell::Whole(count) if is_call_count && self.has_fractional_calls => (count as f64).into(),
            cell => cell,
        }
    }
}
