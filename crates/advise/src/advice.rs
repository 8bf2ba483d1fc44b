//! The findings of a recording, ranked by what they give back. Each moment of the window is given back once.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use gpu_timeline::{Activity, Breakdown, SortFew};
use hashbrown::HashMap;
use serde::Serialize;
use sheets::numbers::{decimal, duration};

use crate::facts::Facts;
use crate::finding::{Alternative, Bucket, Finding, Gain, KernelShare, Limits};
use crate::rule::{Claim, Inspection, Part, Rule, Slot};
use crate::rules::RULES;
use crate::shift::Shift;

/// Kernels and events that a finding names.
const MOST_NAMED: usize = 5;
/// Findings of a first page.
const MOST_FIRST: usize = 3;
/// Share of the window from which a first page shows time with unknown gain.
const LARGE_UNKNOWN: f64 = 0.1;
/// A claim is its own finding if other claims leave at least this share of it.
const OWN_FROM: f64 = 0.5;
/// Share of a claim's time on the critical path below which the finding says so.
const ON_PATH_FROM: f64 = 0.95;
/// The share below which none of it counts.
const LEAST_ON_PATH: f64 = 0.01;

/// What to change, and what it would give back.
#[derive(Clone, Debug, Serialize)]
pub struct Advice {
    /// The device, if the recording has others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Length of the window in µs: from the first device event to the end of the last.
    pub window_us: f64,
    /// The window in parts that add up to it, in µs; empty where they are not known.
    pub parts_us: Vec<(Bucket, f64)>,
    /// The findings, largest gain first; where the program has steps, what [happens once](Finding::happens_once) behind what
    /// recurs. Those without a figure last.
    pub findings: Vec<Finding>,
    /// Whether what happens once stands behind what recurs.
    #[serde(skip)]
    once_last: bool,
}

/// What a recording knows beyond the facts for rules.
pub trait Recording {
    /// Source line of an event.
    fn call_site(&self, event: u32) -> Option<String>;
}

/// A recording that knows nothing else.
impl Recording for () {
    fn call_site(&self, _: u32) -> Option<String> {
        None
    }
}

impl Advice {
    /// What the rules find.
    #[must_use]
    pub fn new(facts: &Facts, limits: &Limits, recording: &dyn Recording) -> Self {
        Advice::with_rules(facts, limits, recording, &[])
    }

    /// Findings of these rules, then of this crate's: of rules that claim the same time, the first gets it.
    #[must_use]
    pub fn with_rules(facts: &Facts, limits: &Limits, recording: &dyn Recording, own: &[&dyn Rule]) -> Self {
        let look = Inspection::new(facts, limits);
        let shift = Shift::new(facts);
        let mut budget = Budget::new(facts);
        let mut found: Vec<Draft<'_>> = Vec::new();
        for &rule in own.iter().chain(RULES) {
            let mut claims = rule.claims(&look);
            claims.sort_few_by_key(|claim| Reverse(claim.mid()));
            for claim in claims {
                let window_share = |time: i64| time as f64 / facts.window().max(1) as f64;
                let claimed = claim.mid();
                if window_share(claimed).max(claim.worth) < limits.least_share {
                    continue;
                }
                let (parts, others) = budget.take(&claim, found.len());
                let left: i64 = parts.iter().map(|part| part.mid).sum();
                match others.filter(|_| (left as f64) < OWN_FROM * claimed as f64) {
                    Some(other) => {
                        budget.give_back(&parts, found.len());
                        found[other].alternatives.push(Alternative {
                            rule: rule.id().to_owned(),
                            what: format!("{}: {}", rule.what(), claim.subject),
                            mid_us: facts.us(claimed),
                        });
                    }
                    None if window_share(left).max(claim.worth) < limits.least_share => {
                        budget.give_back(&parts, found.len())
                    }
                    None => {
                        let amount = amount(facts, &claim);
                        let claim = Claim { parts, ..claim };
                        found.push(Draft { rule, claim, amount, alternatives: Vec::new() });
                    }
                }
            }
        }
        let mut findings: Vec<Finding> =
            found.into_iter().map(|draft| draft.finding(facts, &mut budget, &shift, recording)).collect();
        // Much time that gains nothing because the host decides is still worth knowing.
        let is_worthwhile = |finding: &Finding| {
            let share = finding.share_percent.unwrap_or(100.0) / 100.0;
            let claimed = share / finding.on_path.unwrap_or(1.0).max(f64::MIN_POSITIVE);
            share >= limits.least_share || claimed >= limits.least_share_off_path
        };
        findings.retain(is_worthwhile);
        let parts = parts_of(&facts.breakdown).map(|(bucket, time)| (bucket, facts.us(time)));
        let mut advice = Advice::from_findings(facts.us(facts.window()), parts.collect(), findings);
        advice.device.clone_from(&facts.device);
        // Without steps nobody knows what recurs.
        advice.once_last = facts.steps.len() > 1;
        if advice.once_last {
            advice.findings.sort_few_by_key(|finding| (finding.gain.is_none(), finding.happens_once()));
            advice.number();
        }
        advice
    }

    /// Findings that others made, ranked. `parts_us` add up to the window, or are empty.
    #[must_use]
    pub fn from_findings(window_us: f64, parts_us: Vec<(Bucket, f64)>, mut findings: Vec<Finding>) -> Self {
        let mid = |finding: &Finding| finding.gain.map_or(-1.0, |gain| gain.mid_us);
        findings.sort_few_by(|a, b| mid(b).total_cmp(&mid(a)));
        for finding in &mut findings {
            let share = |time: f64| if window_us > 0.0 { time / window_us * 100.0 } else { 0.0 };
            finding.share_percent = finding.gain.map(|gain| share(gain.mid_us));
            finding.amount_percent = finding.amount_us.map(share);
        }
        let mut advice = Advice { device: None, window_us, parts_us, findings, once_last: false };
        advice.number();
        advice
    }

    fn number(&mut self) {
        self.findings.iter_mut().zip(1..).for_each(|(finding, rank)| finding.rank = rank);
    }

    /// The findings that a first page has room for: those that give back most, and large amounts of time of which nobody
    /// knows what would come back.
    pub fn first(&self) -> impl Iterator<Item = &Finding> {
        let worth = |finding: &Finding| match (finding.gain, finding.amount_us) {
            (Some(gain), _) => Some(gain.mid_us),
            (None, Some(amount)) if amount >= LARGE_UNKNOWN * self.window_us => Some(amount),
            _ => None,
        };
        let mut first: Vec<(f64, &Finding)> =
            self.findings.iter().filter_map(|finding| Some((worth(finding)?, finding))).collect();
        first.sort_few_by(|(a, _), (b, _)| b.total_cmp(a));
        let is_once = |&(_, finding): &(f64, &Finding)| self.once_last && finding.happens_once();
        // What recurs has a place, however much happens once.
        if let Some(recurring) = first.iter().position(|entry| !is_once(entry))
            && recurring >= MOST_FIRST
        {
            first.swap(MOST_FIRST - 1, recurring);
        }
        first.truncate(MOST_FIRST);
        first.sort_few_by_key(is_once);
        first.into_iter().map(|(_, finding)| finding)
    }

    /// The window in its parts, for people: `window 1.2 ms: computation 60.0%, idle 40.0%`.
    #[must_use]
    pub fn window_in_words(&self) -> String {
        let share = |time: f64| if self.window_us > 0.0 { time / self.window_us * 100.0 } else { 0.0 };
        let parts = self
            .parts_us
            .iter()
            .map(|(bucket, time)| format!("{} {}%", bucket.as_str(), decimal(share(*time), 1)));
        let device_suffix = self.device.as_ref().map_or_else(String::new, |device| format!(" of {device}"));
        let window = duration(self.window_us);
        format!("window{device_suffix} {window}: {}", parts.collect::<Vec<_>>().join(", "))
    }
}

/// The parts of the window; they add up to it. Most recordings have no time in which nobody knows what the device did.
fn parts_of(breakdown: &Breakdown) -> impl Iterator<Item = (Bucket, i64)> {
    let parts = [
        (Bucket::Computation, breakdown.computation),
        (Bucket::ExposedCommunication, breakdown.exposed_communication),
        (Bucket::ExposedCopy, breakdown.exposed_memcpy),
        (Bucket::Idle, breakdown.idle),
        (Bucket::NotRecorded, breakdown.unrecorded),
    ];
    parts.into_iter().filter(|&(bucket, time)| bucket != Bucket::NotRecorded || time > 0)
}

/// What claims have taken so far. Causes of one wait divide it. Claims on one device event are about the same excess of its
/// time, so that a later one adds only what it claims beyond the earlier ones.
struct Budget<'f> {
    facts: &'f Facts,
    works: Vec<i64>,
    idle: Vec<i64>,
    /// By slot: its first claimant.
    owners: HashMap<Slot, usize>,
}

impl<'f> Budget<'f> {
    fn new(facts: &'f Facts) -> Self {
        Budget {
            facts,
            works: vec![0; facts.works.len()],
            idle: vec![0; facts.idle.len()],
            owners: HashMap::new(),
        }
    }

    fn of(&mut self, slot: Slot) -> &mut i64 {
        match slot {
            Slot::Work(at) => &mut self.works[at as usize],
            Slot::Idle(at) => &mut self.idle[at as usize],
        }
    }

    /// Largest gain of a claim: beyond the probable, only what no other claim has.
    fn most(&mut self, claim: &Claim) -> i64 {
        let most = |part: &Part| {
            let beyond = (part.mid as f64 * (claim.high - 1.0)).round() as i64;
            let (all, taken) = (length(self.facts, part.slot), self.of(part.slot));
            let beyond = beyond.min(all - *taken).max(0);
            *taken += beyond;
            part.mid + beyond
        };
        claim.parts.iter().map(most).sum()
    }

    /// Takes what is left of a claim, and names the owner of most of the rest.
    fn take(&mut self, claim: &Claim, owner: usize) -> (Vec<Part>, Option<usize>) {
        let mut parts = Vec::with_capacity(claim.parts.len());
        let mut others: HashMap<usize, i64> = HashMap::new();
        for part in &claim.parts {
            let (facts, taken) = (self.facts, self.of(part.slot));
            let left = match part.slot {
                Slot::Work(_) => part.mid.min(length(facts, part.slot)) - *taken,
                Slot::Idle(_) => part.mid.min(length(facts, part.slot) - *taken),
            };
            let mid = left.max(0);
            *taken += mid;
            if mid < part.mid
                && let Some(&other) = self.owners.get(&part.slot)
            {
                *others.entry(other).or_default() += part.mid - mid;
            }
            if mid > 0 {
                parts.push(Part { mid, ..*part });
                self.owners.entry(part.slot).or_insert(owner);
            }
        }
        let other = others.into_iter().max_by_key(|&(other, time)| (time, Reverse(other)));
        (parts, other.map(|(other, _)| other))
    }

    fn give_back(&mut self, parts: &[Part], owner: usize) {
        for part in parts {
            *self.of(part.slot) -= part.mid;
        }
        self.owners.retain(|_, &mut other| other != owner);
    }
}

/// Window time of a slot.
fn length(facts: &Facts, slot: Slot) -> i64 {
    match slot {
        Slot::Work(work) => facts.works[work as usize].exposed,
        Slot::Idle(idle) => facts.idle[idle as usize].span.length(),
    }
}

/// Time of the window that a claim is about: all of its device events, and of its waits the part that it explains.
fn amount(facts: &Facts, claim: &Claim) -> i64 {
    let mut times: HashMap<Slot, i64> = HashMap::new();
    for part in &claim.parts {
        let time = times.entry(part.slot).or_default();
        *time = match part.slot {
            Slot::Work(_) => length(facts, part.slot),
            Slot::Idle(_) => {
                let explained = *time + (part.mid as f64 * claim.high).round() as i64;
                explained.min(length(facts, part.slot))
            }
        };
    }
    times.into_values().sum()
}

/// A claim that became a finding.
struct Draft<'r> {
    rule: &'r dyn Rule,
    claim: Claim,
    amount: i64,
    alternatives: Vec<Alternative>,
}

impl Draft<'_> {
    fn finding(
        self,
        facts: &Facts,
        budget: &mut Budget<'_>,
        shift: &Shift,
        recording: &dyn Recording,
    ) -> Finding {
        let Draft { rule, claim, amount, alternatives } = self;
        let (mid, most) = (claim.mid(), budget.most(&claim));
        let works = claim.parts.iter().filter_map(|part| match part.slot {
            Slot::Work(work) => Some((work, part.mid)),
            Slot::Idle(_) => None,
        });
        let mut works: Vec<(u32, i64)> = works.collect();
        works.sort_unstable();
        let bucket = claim.bucket.unwrap_or_else(|| bucket(facts, &claim.parts));
        let mid_us = facts.us(mid);
        let mut gain = (!claim.parts.is_empty()).then_some(Gain {
            low_us: mid_us * claim.low,
            mid_us,
            high_us: facts.us(most),
        });
        let work_time: i64 = works.iter().map(|&(_, mid)| mid).sum();
        let lost = work_time - shift.shortened(facts, &works, claim.removes_launches).min(work_time);
        let on_path = (work_time > 0).then(|| 1.0 - lost as f64 / mid as f64);
        let mut evidence = claim.evidence;
        if let Some(share) = on_path.filter(|&share| share < ON_PATH_FROM) {
            gain = gain.map(|gain| gain.scaled(share));
            evidence.push(match share < LEAST_ON_PATH {
                true => "not on the critical path: saving this time would only make the device wait for the host".to_owned(),
                false => format!(
                    "only {:.0}% of this time is on the critical path: saving the rest would only make the device wait for the host",
                    share * 100.0
                ),
            });
        }
        let mut by_time: Vec<(i64, u32)> = works.iter().map(|&(work, mid)| (mid, work)).collect();
        by_time.sort_by_key(|&(mid, work)| (Reverse(mid), work));
        let events: Vec<u32> = match claim.events.is_empty() {
            true => {
                by_time.iter().take(MOST_NAMED).map(|&(_, work)| facts.works[work as usize].uid).collect()
            }
            false => claim.events.into_iter().take(MOST_NAMED).collect(),
        };
        let in_warm_up = is_warm_up(facts, &claim.parts);
        let place =
            [in_warm_up.then(|| "in warm-up".to_owned()), facts.device.as_ref().map(|of| format!("on {of}"))];
        let subject = [Some(claim.subject)].into_iter().chain(place).flatten().collect::<Vec<_>>().join(", ");
        let call_site = events.first().and_then(|&event| recording.call_site(event));
        Finding {
            rank: 0,
            rule: rule.id().to_owned(),
            what: rule.what().to_owned(),
            subject,
            bucket,
            in_warm_up,
            amount_us: gain.map(|_| amount).or(claim.amount).map(|amount| facts.us(amount)),
            amount_percent: None,
            gain,
            share_percent: gain.map(|gain| gain.mid_us / facts.us(facts.window().max(1)) * 100.0),
            confidence: claim.confidence,
            on_path,
            evidence,
            rows: claim.rows,
            events,
            kernels: kernels(facts, &by_time),
            module: module(facts, &by_time),
            call_site,
            remedy: claim.remedy.unwrap_or_else(|| rule.remedy(facts.program)).to_owned(),
            alternatives,
            doubts: Vec::new(),
        }
    }
}

/// Whether nearly all of this time is of work that warm-up steps launch, or of waits for it.
fn is_warm_up(facts: &Facts, parts: &[Part]) -> bool {
    const NEARLY_ALL: f64 = 0.9;
    let launch = |part: &Part| {
        let work = match part.slot {
            Slot::Work(work) => work,
            Slot::Idle(idle) => facts.idle[idle as usize].event,
        };
        facts.works[work as usize].event.launch
    };
    let is_in = |part: &&Part| {
        let step = launch(part).and_then(|launch| facts.step_at(launch));
        step.is_some_and(|step| facts.steps[step].is_warm_up)
    };
    let time = |parts: &mut dyn Iterator<Item = &Part>| parts.map(|part| part.mid).sum::<i64>() as f64;
    let all = time(&mut parts.iter());
    all > 0.0 && time(&mut parts.iter().filter(is_in)) >= NEARLY_ALL * all
}

/// The part of the window that most of this time is of.
fn bucket(facts: &Facts, parts: &[Part]) -> Bucket {
    let mut times: BTreeMap<Bucket, i64> = BTreeMap::new();
    for part in parts {
        let bucket = match part.slot {
            Slot::Idle(_) => Bucket::Idle,
            Slot::Work(work) => match facts.works[work as usize].event.activity {
                Activity::Computation => Bucket::Computation,
                Activity::Communication => Bucket::ExposedCommunication,
                Activity::Memcpy => Bucket::ExposedCopy,
            },
        };
        *times.entry(bucket).or_default() += part.mid;
    }
    let most = times.into_iter().max_by_key(|&(bucket, time)| (time, Reverse(bucket)));
    most.map_or(Bucket::Recording, |(bucket, _)| bucket)
}

/// The kernels of these claims by name, the most time first.
fn kernels(facts: &Facts, works: &[(i64, u32)]) -> Vec<KernelShare> {
    let mut by_name: HashMap<u32, (i64, usize)> = HashMap::new();
    for &(_, work) in works {
        let work = &facts.works[work as usize];
        let sum = by_name.entry(work.name).or_default();
        *sum = (sum.0 + work.duration(), sum.1 + 1);
    }
    let mut sums: Vec<(u32, (i64, usize))> = by_name.into_iter().collect();
    sums.sort_few_by_key(|&(name, (time, _))| (Reverse(time), facts.name(name)));
    let shares = sums.into_iter().take(MOST_NAMED).map(|(name, (time, count))| KernelShare {
        name: facts.name(name).to_owned(),
        count,
        time_us: facts.us(time),
    });
    shares.collect()
}

/// The module with the most of the claimed time.
fn module(facts: &Facts, works: &[(i64, u32)]) -> Option<String> {
    let mut by_module: HashMap<u32, i64> = HashMap::new();
    for &(mid, work) in works {
        let call = facts.works[work as usize].call?;
        *by_module.entry(facts.calls[call as usize].module?).or_default() += mid;
    }
    let most = by_module.into_iter().max_by_key(|&(name, time)| (time, Reverse(name)))?;
    Some(facts.name(most.0).to_owned())
}
