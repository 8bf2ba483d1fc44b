//! What packets name once and then refer to by number.

use hashbrown::HashMap;

use crate::category::Category;
use crate::perfetto::read_entry;
use crate::string_table::{StringId, lossy};
use crate::trace::Trace;
use crate::wire::{Field, Message, Wire};

#[derive(Default)]
pub(super) struct Interned {
    pub(super) categories: HashMap<u64, Category>,
    pub(super) names: HashMap<u64, StringId>,
    pub(super) kernels: HashMap<u64, StringId>,
    /// Arguments that kernels are launched with.
    pub(super) launch_arguments: HashMap<u64, LaunchArgument>,
    pub(super) specifications: HashMap<u64, Specification>,
    pub(super) counters: HashMap<u64, Counters>,
}

/// The counters that one descriptor has.
#[derive(Default)]
pub(super) struct Counters {
    /// Index of the GPU that they are of.
    pub(super) gpu: i64,
    /// Names by the counter's number.
    pub(super) names: HashMap<u64, StringId>,
}

/// An argument that a kernel is launched with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LaunchArgument {
    RegistersPerThread,
    /// One without a column. The memory that blocks share is only in part among the arguments.
    Other,
}

impl LaunchArgument {
    pub(super) fn from_name(name: &[u8]) -> LaunchArgument {
        match name {
            b"registers_per_thread" => LaunchArgument::RegistersPerThread,
            _ => LaunchArgument::Other,
        }
    }
}

/// What device work is, or the row of a device that it lies on: both have numbers of one table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Specification {
    pub(super) name: StringId,
    /// Category of work of this kind; `None` of a kind that is not known.
    pub(super) category: Option<Category>,
    /// Number of the row and what it is called, where the name is that of a row.
    pub(super) lane: Option<(i64, StringId)>,
}

impl Interned {
    /// Takes what a packet names; texts that are no UTF-8 are counted.
    pub(super) fn take(
        &mut self,
        mut data: Message<'_>,
        trace: &mut Trace,
        invalid_utf8: &mut u64,
    ) -> Wire<()> {
        while let Some(field) = data.next_field()? {
            match field.number {
                1 => {
                    let (id, name) = read_entry(entry(&data, field)?)?;
                    self.categories.insert(id, trace.intern_category(&lossy(name, invalid_utf8)));
                }
                2 => {
                    let (id, name) = read_entry(entry(&data, field)?)?;
                    self.names.insert(id, trace.intern(&lossy(name, invalid_utf8)));
                }
                24 => {
                    let (id, name) = read_entry(entry(&data, field)?)?;
                    let name = lossy(name, invalid_utf8);
                    let lane = lane(&name).map(|(number, label)| (number, trace.intern(label)));
                    let category = stage(&name).map(|category| trace.intern_category(category));
                    let specification = Specification { name: trace.intern(&name), category, lane };
                    self.specifications.insert(id, specification);
                }
                47 => {
                    let (id, counters) = counters(entry(&data, field)?, trace, invalid_utf8)?;
                    self.counters.insert(id, counters);
                }
                1000 => {
                    let (id, name) = kernel(entry(&data, field)?)?;
                    self.kernels.insert(id, trace.intern(&lossy(name, invalid_utf8)));
                }
                1001 => {
                    let (id, name) = read_entry(entry(&data, field)?)?;
                    self.launch_arguments.insert(id, LaunchArgument::from_name(name));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn entry<'a>(data: &Message<'a>, field: Field) -> Wire<Message<'a>> {
    data.message(field, "InternedData entry")
}

/// Number and name of a kernel: the demangled one, where there is one.
fn kernel(mut kernel: Message<'_>) -> Wire<(u64, &[u8])> {
    let (mut id, mut name, mut demangled) = (0, &[][..], &[][..]);
    while let Some(field) = kernel.next_field()? {
        match field.number {
            1 => id = kernel.unsigned(field)?,
            2 => name = kernel.bytes(field)?,
            3 => demangled = kernel.bytes(field)?,
            _ => {}
        }
    }
    Ok((id, if demangled.is_empty() { name } else { demangled }))
}

/// A descriptor of counters, by its number.
fn counters(mut entry: Message<'_>, trace: &mut Trace, invalid_utf8: &mut u64) -> Wire<(u64, Counters)> {
    let (mut id, mut counters) = (0, Counters::default());
    while let Some(field) = entry.next_field()? {
        match field.number {
            1 => id = entry.unsigned(field)?,
            2 => {
                let mut descriptor = entry.message(field, "GpuCounterDescriptor")?;
                while let Some(field) = descriptor.next_field()? {
                    if field.number == 1 {
                        let (counter, name) = read_entry(descriptor.message(field, "GpuCounterSpec")?)?;
                        counters.names.insert(counter, trace.intern(&lossy(name, invalid_utf8)));
                    }
                }
            }
            3 => counters.gpu = entry.signed(field)?,
            _ => {}
        }
    }
    Ok((id, counters))
}

/// JSON's category of device work.
fn stage(name: &str) -> Option<&'static str> {
    Some(match name {
        "Kernel" => "kernel",
        "Memcpy" => "gpu_memcpy",
        "Memset" => "gpu_memset",
        "Annotation" => "gpu_user_annotation",
        "EventRecord" => "graph_event_node",
        "HostNode" => "graph_host_node",
        _ => return None,
    })
}

/// The number of a row and what it is called: `[    7] stream 7`. The number is padded, so that viewers sort by it.
fn lane(name: &str) -> Option<(i64, &str)> {
    let (number, label) = name.strip_prefix('[')?.split_once(']')?;
    Some((number.trim().parse().ok()?, label.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_numbered_by_their_names() {
        for (name, expected) in [
            ("[7] stream 7", Some((7, "stream 7"))),
            ("[  100008] stream 20", Some((100_008, "stream 20"))),
            ("[00012] nccl", Some((12, "nccl"))),
            ("Kernel", None),
            ("[x] stream", None),
            ("[7", None),
        ] {
            assert_eq!(lane(name), expected, "{name}");
        }
    }
}
