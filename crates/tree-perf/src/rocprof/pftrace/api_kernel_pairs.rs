//! HIP calls and the kernels and copies that they set off.

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use trace_ingest::StringId;
use trace_ingest::rocprof::{Call, Domain, MemoryCopy, Profile};

use super::display_names::DisplayNames;
use super::gpu_kernels::GpuOrder;
use super::options::PftraceOptions;
use crate::rocprof::analysis::RocprofAnalysis;

/// Functions whose names do not say that they launch a kernel, and those that do so besides the pattern.
const LAUNCHES: [&str; 10] = [
    "hipModuleLaunchKernel",
    "hipLaunchKernelGGL",
    "hipLaunchKernel",
    "hipExtLaunchKernelGGL",
    "hipModuleLaunchCooperativeKernel",
    "hipExtModuleLaunchKernel",
    "hipMemset",
    "hipMemcpyHtoDAsync",
    "hipMemcpyDtoHAsync",
    "hipMemsetD32Async",
];

/// A HIP call, with what it set off if that is known.
pub(super) struct Pair {
    /// Position of the process.
    pub(super) process: u32,
    /// Thread that called.
    pub(super) thread: i64,
    /// Number of the GPU; 0 when it is not known.
    pub(super) device: u32,
    /// Function.
    pub(super) function: StringId,
    /// Time of the call, in nanoseconds.
    pub(super) call: i64,
    /// What it set off.
    pub(super) work: Option<PairedWork>,
}

/// A kernel or copy that a call set off.
#[derive(Clone, Copy)]
pub(super) struct PairedWork {
    /// Position of its name.
    pub(super) name: u32,
    /// From the end of the call to its start, 0 if it started before; in nanoseconds.
    pub(super) queue: i64,
    /// Its length in nanoseconds.
    pub(super) kernel: i64,
}

/// All calls that count.
#[derive(Default)]
pub(super) struct Pairs {
    pub(super) pairs: Vec<Pair>,
    /// Distinct names of kernels and copies.
    pub(super) names: Vec<String>,
    /// Calls that launch something of which there is no record; they are no pairs.
    pub(super) launches_without_work: usize,
}

/// Process and correlation number that a call and its work share; the number 0 says that there is none. The reference
/// tool goes by the number alone, whatever it is.
type Key = (u32, u64);

/// A kernel or copy that may belong to a call.
#[derive(Clone, Copy)]
struct Work {
    key: Key,
    start: i64,
    length: i64,
    device: u32,
    name: u32,
}

impl Pairs {
    pub(super) fn of(analysis: &RocprofAnalysis, options: &PftraceOptions) -> Self {
        let (profile, is_reference) = (analysis.profile(), analysis.options().parity);
        let key = |process, correlation: Option<u64>| {
            let process = if is_reference { 0 } else { process };
            let correlation = correlation.filter(|&correlation| is_reference || correlation != 0);
            correlation.map(|correlation| (process, correlation))
        };
        let mut names = DisplayNames::new(profile, options.names_of(profile.source));
        let mut work = work(profile, &mut names, is_reference, key);
        let names = names.into_texts();
        let excluded: Vec<bool> = names.iter().map(|name| is_excluded(name, options)).collect();
        work.retain(|work| !excluded[work.name as usize]);
        if is_reference {
            work.retain(|work| is_kernel_of_reference(&names[work.name as usize], work.length));
        }
        // Work of one call stays in file order.
        work.sort_by_key(|work| work.key);

        let mut pairs = Pairs { names, ..Pairs::default() };
        for (key, call, is_launch) in calls(profile, options, is_reference, key) {
            let begin = work.partition_point(|work| work.key < key);
            let end = begin + work[begin..].partition_point(|work| work.key == key);
            pairs.add(call, is_launch, &work[begin..end], options, is_reference);
        }
        pairs
    }

    fn add(
        &mut self,
        call: &Call,
        is_launch: bool,
        candidates: &[Work],
        options: &PftraceOptions,
        is_reference: bool,
    ) {
        let pair = |device, work| Pair {
            process: call.process,
            thread: call.thread,
            device,
            function: call.name,
            call: call.duration(),
            work,
        };
        let with = |work: &Work| {
            let queue = (work.start - call.end).max(0);
            pair(work.device, Some(PairedWork { name: work.name, queue, kernel: work.length }))
        };
        // A record without a length tells less than any with one, however early it begins.
        let rank = |work: &&Work| (!is_reference && work.length == 0, work.start);
        match candidates.iter().min_by_key(rank) {
            Some(_) if options.allow_multi_kernel_per_api => self.pairs.extend(candidates.iter().map(with)),
            Some(first) => self.pairs.push(with(first)),
            None if options.include_nonlaunch_apis => self.pairs.push(pair(0, None)),
            None => self.launches_without_work += usize::from(is_launch),
        }
    }
}

/// Kernels and copies with a correlation number, in file order.
fn work(
    profile: &Profile,
    names: &mut DisplayNames<'_>,
    is_reference: bool,
    key: impl Fn(u32, Option<u64>) -> Option<Key>,
) -> Vec<Work> {
    let gpus = GpuOrder::of(profile);
    let mut all = Vec::with_capacity(profile.dispatches.len() + profile.copies.len());
    for dispatch in &profile.dispatches {
        let Some(key) = key(dispatch.process, dispatch.correlation) else { continue };
        let device = gpus.number(dispatch.agent).unwrap_or(0);
        let (name, length) = (names.of_kernel(dispatch.kernel), dispatch.duration());
        all.push(Work { key, start: dispatch.start, length, device, name });
    }
    for copy in &profile.copies {
        let Some(key) = key(copy.process, copy.correlation) else { continue };
        let device = if is_reference { 0 } else { device_of_copy(copy, &gpus) };
        let (name, length) = (names.of_text(profile.text(copy.name)), copy.duration());
        all.push(Work { key, start: copy.start, length, device, name });
    }
    all
}

/// The GPU that a copy writes, or else the one that it reads.
fn device_of_copy(copy: &MemoryCopy, gpus: &GpuOrder) -> u32 {
    gpus.number(copy.destination).or_else(|| gpus.number(copy.source)).unwrap_or(0)
}

/// The calls that count, each with its key and whether it is known to launch something. Of several with one key the
/// one counts that began last, being the innermost; for the reference tool it is the last in the file.
fn calls<'a>(
    profile: &'a Profile,
    options: &PftraceOptions,
    is_reference: bool,
    key: impl Fn(u32, Option<u64>) -> Option<Key>,
) -> impl Iterator<Item = (Key, &'a Call, bool)> {
    let mut positions: HashMap<Key, usize> = HashMap::new();
    let mut calls: Vec<(Key, &Call)> = Vec::new();
    for call in profile.calls.iter().filter(|call| call.domain == Domain::Hip) {
        let Some(key) = key(call.process, call.correlation) else { continue };
        match positions.entry(key) {
            Entry::Occupied(position) => {
                let known = &mut calls[*position.get()].1;
                if is_reference || call.start >= known.start {
                    *known = call;
                }
            }
            Entry::Vacant(position) => {
                position.insert(calls.len());
                calls.push((key, call));
            }
        }
    }
    let include_all = options.include_nonlaunch_apis;
    let with_launch = |(key, call): (Key, &'a Call)| (key, call, is_launch(profile.text(call.name)));
    calls.into_iter().map(with_launch).filter(move |&(.., is_launch)| include_all || is_launch)
}

/// Whether a HIP function launches something: a function of the list, or any with `launch` and behind it `kernel`
/// in its name.
fn is_launch(function: &str) -> bool {
    if LAUNCHES.contains(&function) {
        return true;
    }
    let function = function.to_ascii_lowercase();
    function.split_once("launch").is_some_and(|(_, rest)| rest.contains("kernel"))
}

fn is_excluded(name: &str, options: &PftraceOptions) -> bool {
    options.exclude_kernel_pattern.as_ref().is_some_and(|pattern| pattern.matches(name))
}

/// What the reference tool takes for a kernel: whatever has the suffix of code objects in its name, and of the rest
/// what took time and has no `register` in its name.
fn is_kernel_of_reference(name: &str, length: i64) -> bool {
    let name = name.to_ascii_lowercase();
    let has_suffix = name.ends_with(".kd") || name.contains(".kd ");
    has_suffix || (length > 0 && !name.contains("register"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_are_known_by_name() {
        for (function, launches) in [
            ("hipLaunchKernel", true),
            ("hipLaunchCooperativeKernelMultiDevice", true),
            ("hipExtLaunchMultiKernelMultiDevice", true),
            ("hiplaunchkernelexc", true),
            ("hipMemset", true),
            ("hipMemsetAsync", false),
            ("hipMemcpyAsync", false),
            ("hipMemcpyHtoDAsync", true),
            ("hipGraphLaunch", false),
            ("hipKernelNameRefLaunch", false),
            ("hipGetDevice", false),
        ] {
            assert_eq!(is_launch(function), launches, "{function}");
        }
    }

    #[test]
    fn the_reference_knows_kernels_by_suffix_or_time() {
        for (name, length, is_kernel) in [
            ("kA.kd", 0, true),
            ("register_tiles.kd", 5, true),
            ("kA(float*) [clone .kd] ", 0, false),
            ("a.kd (x)", 0, true),
            ("kA", 0, false),
            ("kA", 1, true),
            ("Register_tiles", 5, false),
        ] {
            assert_eq!(is_kernel_of_reference(name, length), is_kernel, "{name}");
        }
    }
}
