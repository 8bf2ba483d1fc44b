//! HIP calls, and the kernels and copies that they launched.

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use trace_ingest::rocprof::{Call, Domain, KernelNames, MemoryCopy, Profile};
use trace_ingest::{Nanoseconds, StringId};

use super::gpu_kernels::{DisplayNames, GpuOrder};
use crate::conventions::{LaunchRule, is_kernel};
use crate::options::PftraceOptions;

/// HIP calls with a length of threads that were asked for.
pub(crate) fn hip_calls<'a>(
    profile: &'a Profile,
    options: &PftraceOptions,
) -> impl Iterator<Item = &'a Call> + use<'a> {
    let threads = options.min_tid..=options.max_tid;
    let counts = move |call: &&Call| {
        call.domain == Domain::Hip && call.duration() > Nanoseconds(0) && threads.contains(&call.thread)
    };
    profile.calls.iter().filter(counts)
}

/// Functions that launch something although their names do not say so.
const LAUNCHES: [&str; 4] = ["hipMemset", "hipMemcpyHtoDAsync", "hipMemcpyDtoHAsync", "hipMemsetD32Async"];

/// A HIP call, with what it launched if that is known.
pub(crate) struct HipLaunch {
    /// Position of the process.
    pub(crate) process: u32,
    /// Thread that called.
    pub(crate) thread: i64,
    /// Number of the GPU; 0 when it is not known.
    pub(crate) device: u32,
    pub(crate) function: StringId,
    /// Time of the call.
    pub(crate) call: Nanoseconds,
    pub(crate) work: Option<LaunchedWork>,
}

/// A kernel or copy that a call launched.
#[derive(Clone, Copy)]
pub(crate) struct LaunchedWork {
    /// Position of its name.
    pub(crate) name: u32,
    /// From the end of the call to its start, 0 if it started before.
    pub(crate) queue: Nanoseconds,
    /// Its length.
    pub(crate) kernel: Nanoseconds,
}

/// All calls that count.
#[derive(Default)]
pub(crate) struct HipLaunches {
    pub(crate) launches: Vec<HipLaunch>,
    /// Distinct names of kernels and copies.
    pub(crate) names: Vec<String>,
    /// Calls that launch something of which there is no record; they are not among the launches.
    pub(crate) without_work: usize,
}

/// Process and correlation number that a call and its work share; the number 0 says that there is none.
type Key = (u32, u64);

/// A kernel or copy that may belong to a call.
#[derive(Clone, Copy)]
struct Work {
    key: Key,
    start: Nanoseconds,
    length: Nanoseconds,
    device: u32,
    name: u32,
}

impl HipLaunches {
    /// Matches calls and work by a rule.
    pub(crate) fn new(
        profile: &Profile,
        options: &PftraceOptions,
        names: KernelNames,
        rule: LaunchRule,
    ) -> Self {
        let matching = Matching { profile, options, names, by_number: rule == LaunchRule::Number };
        let (work, names) = matching.work();
        let mut found = HipLaunches { names, ..HipLaunches::default() };
        for (key, call, launches) in matching.calls() {
            let begin = work.partition_point(|work| work.key < key);
            let end = begin + work[begin..].partition_point(|work| work.key == key);
            let launch = |device, work| HipLaunch {
                process: call.process,
                thread: call.thread,
                device,
                function: call.name,
                call: call.duration(),
                work,
            };
            let with = |work: &Work| {
                let queue = work.start.without(call.end);
                launch(work.device, Some(LaunchedWork { name: work.name, queue, kernel: work.length }))
            };
            // A record without a length tells less than any with one, however early it begins.
            let rank = |work: &&Work| (!matching.by_number && work.length == Nanoseconds(0), work.start);
            let candidates = &work[begin..end];
            match candidates.iter().min_by_key(rank) {
                Some(_) if options.allow_multi_kernel_per_api => {
                    found.launches.extend(candidates.iter().map(with));
                }
                Some(first) => found.launches.push(with(first)),
                None if options.include_nonlaunch_apis => found.launches.push(launch(0, None)),
                None => found.without_work += usize::from(launches),
            }
        }
        found
    }
}

/// How calls and their work are matched.
struct Matching<'a> {
    profile: &'a Profile,
    options: &'a PftraceOptions,
    names: KernelNames,
    /// Whether the correlation number alone matches.
    by_number: bool,
}

impl<'a> Matching<'a> {
    fn key(&self, process: u32, correlation: Option<u64>) -> Option<Key> {
        let process = if self.by_number { 0 } else { process };
        Some((process, correlation.filter(|&correlation| self.by_number || correlation != 0)?))
    }

    /// Kernels and copies with a correlation number, by key, those of one key in file order; and their names.
    fn work(&self) -> (Vec<Work>, Vec<String>) {
        let Matching { profile, options, names, by_number } = *self;
        let mut names = DisplayNames::new(profile, names);
        let gpus = GpuOrder::new(profile);
        let mut all = Vec::with_capacity(profile.dispatches.len() + profile.copies.len());
        for dispatch in &profile.dispatches {
            let Some(key) = self.key(dispatch.process, dispatch.correlation) else { continue };
            let device = gpus.number(dispatch.agent).unwrap_or(0);
            let (name, length) = (names.intern_kernel(dispatch.kernel), dispatch.duration());
            all.push(Work { key, start: dispatch.start, length, device, name });
        }
        // The GPU that a copy writes, or else the one that it reads.
        let device_of =
            |copy: &MemoryCopy| gpus.number(copy.destination).or_else(|| gpus.number(copy.source));
        for copy in &profile.copies {
            let Some(key) = self.key(copy.process, copy.correlation) else { continue };
            let device = device_of(copy).filter(|_| !by_number).unwrap_or(0);
            let (name, length) = (names.intern(profile.text(copy.name)), copy.duration());
            all.push(Work { key, start: copy.start, length, device, name });
        }
        let names = names.into_texts();
        let excluded: Vec<bool> =
            names.iter().map(|name| options.exclude_kernel_regex.matches(name)).collect();
        all.retain(|work| {
            let name = work.name as usize;
            !excluded[name] && (!by_number || is_kernel(&names[name], work.length))
        });
        all.sort_by_key(|work| work.key);
        (all, names)
    }

    /// The calls that count, each with its key and whether it is known to launch something. Of several with one key
    /// the one counts that began last, being the innermost; by number alone it is the last in the file.
    fn calls(&self) -> impl Iterator<Item = (Key, &'a Call, bool)> {
        let Matching { profile, options, by_number, .. } = *self;
        let mut positions: HashMap<Key, usize> = HashMap::new();
        let mut calls: Vec<(Key, &Call)> = Vec::new();
        for call in profile.calls.iter().filter(|call| call.domain == Domain::Hip) {
            let Some(key) = self.key(call.process, call.correlation) else { continue };
            match positions.entry(key) {
                Entry::Occupied(position) => {
                    let known = &mut calls[*position.get()].1;
                    if by_number || call.start >= known.start {
                        *known = call;
                    }
                }
                Entry::Vacant(position) => {
                    position.insert(calls.len());
                    calls.push((key, call));
                }
            }
        }
        calls
            .into_iter()
            .map(move |(key, call)| (key, call, is_launch(profile.text(call.name))))
            .filter(move |&(.., is_launch)| options.include_nonlaunch_apis || is_launch)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_are_known_by_name() {
        for (function, launches) in [
            ("hipLaunchKernel", true),
            ("hipExtModuleLaunchKernel", true),
            ("hipModuleLaunchCooperativeKernel", true),
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
}
