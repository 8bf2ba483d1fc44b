use std::collections::BTreeMap;

use perf_models::{Category, ComputeSpec, ComputeUnit};
use sheets::numbers::{counted, duration};

use crate::facts::{AttentionSpeed, Call, Facts, Input, LeastTime, Program};
use crate::finding::Confidence;
use crate::rule::{Claim, Inspection, Part, Rule, Slot};
use crate::target::{BANDWIDTH_SHARE, target_us};

/// Operators in a row, each on the result of the one before, whose results could stay in registers.
pub(super) struct FuseChain;

/// Elementwise operators on the result of a matrix product or convolution.
pub(super) struct FuseEpilogue;

/// Attention as two products with a softmax between them.
pub(super) struct FuseAttention;

/// Most operators in one kernel.
const LONGEST_CHAIN: usize = 15;
/// Operators of an attention or its gradient: products, scale, mask, softmax, dropout, casts.
const LONGEST_ATTENTION: usize = 14;

impl Inspection<'_> {
    fn kind(&self, call: u32) -> Option<Category> {
        self.facts.operator(call).kind
    }

    fn call(&self, call: u32) -> &Call {
        &self.facts.calls[call as usize]
    }

    fn inputs(&self, call: u32) -> &[Input] {
        &self.facts.operator(call).inputs
    }

    /// Sum of the durations of these calls' device events.
    fn duration(&self, calls: &[u32]) -> i64 {
        let works = calls.iter().flat_map(|&call| &self.works_of[call as usize]);
        works.map(|&work| self.work(work).duration()).sum()
    }

    /// Whether a call is an eager PyTorch operator: others are fused already, or separate on purpose.
    fn is_eager(&self, call: u32) -> bool {
        let mut works = self.works_of[call as usize].iter();
        self.facts.name(self.facts.operator(call).name).starts_with("aten::")
            && works.all(|&work| !self.named(self.work(work).name).is_generated)
    }

    fn is_product(&self, call: u32) -> bool {
        matches!(self.kind(call), Some(Category::Gemm | Category::ConvForward | Category::ConvBackward))
    }

    /// Elements and bytes of a result: what a call moves beside its inputs.
    fn result(&self, call: u32) -> Option<(f64, f64)> {
        let inputs = self.inputs(call);
        let bytes = self.call(call).bytes? - inputs.iter().map(Input::bytes).sum::<f64>();
        let element = inputs.first()?.element_bytes;
        (bytes >= element).then(|| (bytes / element, bytes))
    }

    /// Bytes that the calls of these device events move, without results passed to the next.
    pub(super) fn bytes_of_row(&self, row: &[u32]) -> f64 {
        let mut calls: Vec<u32> = row.iter().filter_map(|&work| self.work(work).call).collect();
        calls.dedup();
        self.bytes_between(&calls)
    }

    /// The same of these calls.
    fn bytes_between(&self, calls: &[u32]) -> f64 {
        let all: f64 = calls.iter().filter_map(|&call| self.call(call).bytes).sum();
        let between = calls.windows(2).filter_map(|two| {
            let result = self.result(two[0]).or_else(|| self.in_place(two[0]))?;
            self.takes(two[1], result).then_some(2.0 * result.1)
        });
        (all - between.sum::<f64>()).max(0.0)
    }

    /// The result of a call that writes where it reads.
    fn in_place(&self, call: u32) -> Option<(f64, f64)> {
        let first = self.inputs(call).first()?;
        Some((first.elements(), first.bytes()))
    }

    /// Whether a call takes the result of the one before it.
    fn takes(&self, call: u32, result: (f64, f64)) -> bool {
        let is_result = |input: &Input| (input.elements() - result.0).abs() <= 0.01 * result.0;
        self.inputs(call).iter().any(is_result)
    }
}

/// The operator names of these calls.
fn sequence(facts: &Facts, calls: &[u32]) -> Vec<u32> {
    calls.iter().map(|&call| facts.operator(call).name).collect()
}

/// Sequences of one kind.
#[derive(Default)]
struct Found {
    parts: Vec<Part>,
    count: usize,
    time: i64,
    saved: i64,
    /// What is saved at most.
    most: i64,
}

/// Sequences by their operators.
type FoundBySequence = BTreeMap<Vec<u32>, Found>;

/// A claim for each kind of sequence.
fn claims(facts: &Facts, found: FoundBySequence, low: f64, high: f64, how: &str) -> Vec<Claim> {
    let claim = |(names, found): (Vec<u32>, Found)| {
        let mut texts: Vec<&str> = names.iter().map(|&name| facts.name(name)).collect();
        let first = texts[0].to_owned();
        let more = texts.len().saturating_sub(6);
        texts.truncate(6);
        let mut subject = texts.join(" → ");
        if more > 0 {
            subject.push_str(&format!(" and {more} more"));
        }
        let most = found.most as f64 / found.saved.max(1) as f64;
        Claim::new(subject, found.parts)
            .with_range(low, most.clamp(1.0, high))
            .with_confidence(Confidence::Medium)
            .with_evidence(format!(
                "{}, {} in all; {how} {}",
                counted(found.count, "sequence on one stream", "sequences, each on one stream"),
                duration(facts.us(found.time)),
                duration(facts.us(found.saved))
            ))
            .with_row(facts.sheets.operators, &first)
    };
    found.into_iter().map(claim).collect()
}

impl Found {
    /// Adds a row that saves this much, probably and at most. Claims its last calls and the waits before them, as many as
    /// the probable saving takes.
    fn add(&mut self, look: &Inspection<'_>, calls: &[u32], [saved, most]: [i64; 2]) {
        self.most += most;
        let works: Vec<u32> =
            calls.iter().flat_map(|&call| look.works_of[call as usize].iter().copied()).collect();
        for part in look.tail_parts(&works, saved) {
            let Slot::Work(work) = part.slot else { continue };
            self.saved += part.mid;
            self.parts.push(part);
            if let Some(wait) = look.wait_before(work).filter(|_| part.mid == look.work(work).duration()) {
                let length = look.facts.idle[wait as usize].span.length();
                self.parts.push(Part { slot: Slot::Idle(wait), mid: length });
                self.saved += length;
                self.most += length;
            }
        }
        self.count += 1;
        self.time += look.duration(calls);
    }
}

fn is_chained(kind: Option<Category>) -> bool {
    matches!(
        kind,
        Some(
            Category::Elementwise
                | Category::Reduce
                | Category::NormForward
                | Category::RmsNorm
                | Category::Softmax
                | Category::RopeForward
        )
    )
}

impl Rule for FuseChain {
    fn id(&self) -> &'static str {
        "FUSE-CHAIN"
    }

    fn what(&self) -> &'static str {
        "unfused elementwise chain"
    }

    fn remedy(&self, _: Program) -> &'static str {
        "let torch.compile fuse them, or use a library's fused operator (RMSNorm, rotary embedding, SwiGLU, optimizer)"
    }

    fn claims(&self, look: &Inspection<'_>) -> Vec<Claim> {
        let facts = look.facts;
        let mut found = FoundBySequence::new();
        for row in look.rows() {
            let mut from = 0;
            while from < row.len() {
                let mut to = from + 1;
                let is_member = |call: u32| is_chained(look.kind(call)) && look.is_eager(call);
                if is_member(row[from]) {
                    while to < row.len() && to - from < LONGEST_CHAIN && is_member(row[to]) {
                        let goes_on =
                            look.result(row[to - 1]).is_some_and(|result| look.takes(row[to], result));
                        if !goes_on {
                            break;
                        }
                        to += 1;
                    }
                }
                if to - from > 1 {
                    let calls = &row[from..to];
                    let saved = saved_by_fusing(look, calls);
                    if saved[0] > 0 {
                        found.entry(sequence(facts, calls)).or_default().add(look, calls, saved);
                    }
                }
                from = to;
            }
        }
        claims(facts, found, 0.7, 1.15, "fusing them saves")
    }
}

/// What one kernel for all of these calls saves, probably and at most: it moves what they move without the results between
/// them.
fn saved_by_fusing(look: &Inspection<'_>, calls: &[u32]) -> [i64; 2] {
    let facts = look.facts;
    let fused = look.bytes_between(calls);
    let time = look.duration(calls);
    match &facts.machine {
        Some(machine) => {
            let least = LeastTime { memory_us: fused / machine.bytes_per_us, ..LeastTime::default() };
            [target_us(&least, machine, 1), least.memory_us].map(|kept| time - facts.units(kept))
        }
        None => [time - time_at_own_speed(look, calls, fused); 2],
    }
}

/// Time to move these bytes at the calls' own speed; all their time if that is unknown.
fn time_at_own_speed(look: &Inspection<'_>, calls: &[u32], bytes: f64) -> i64 {
    let all: f64 = calls.iter().filter_map(|&call| look.call(call).bytes).sum();
    let time = look.duration(calls);
    if all > 0.0 { (time as f64 * bytes / all) as i64 } else { time }
}

impl Rule for FuseEpilogue {
    fn id(&self) -> &'static str {
        "FUSE-EPILOGUE"
    }

    fn what(&self) -> &'static str {
        "unfused epilogue (matmul, then elementwise)"
    }

    fn remedy(&self, _: Program) -> &'static str {
        "use a matmul with a fused epilogue (addmm with activation, cuBLASLt or hipBLASLt epilogues, torch.compile \
         with max-autotune, a fused MLP)"
    }

    fn claims(&self, look: &Inspection<'_>) -> Vec<Claim> {
        let facts = look.facts;
        let mut found = FoundBySequence::new();
        for row in look.rows() {
            for (at, &product) in row.iter().enumerate() {
                if !look.is_product(product) {
                    continue;
                }
                let Some(result) = look.result(product) else { continue };
                let after = row[at + 1..].iter().take_while(|&&call| {
                    look.kind(call) == Some(Category::Elementwise)
                        && look.is_eager(call)
                        && look.facts.operator(call).change.is_none()
                        && look.takes(call, result)
                });
                let length = after.count();
                if length > 0 {
                    let (all, calls) = (&row[at..=at + length], &row[at + 1..=at + length]);
                    // The product still reads what they read besides its result.
                    let beside = look.bytes_between(all) - look.call(product).bytes.unwrap_or(0.0);
                    let kept = match &facts.machine {
                        Some(machine) => facts.units(beside / machine.bytes_per_us / BANDWIDTH_SHARE),
                        None => time_at_own_speed(look, calls, beside),
                    };
                    let saved = look.duration(calls) - kept.max(0);
                    if saved > 0 {
                        found.entry(sequence(facts, all)).or_default().add(look, calls, [saved; 2]);
                    }
                }
            }
        }
        let claims = claims(facts, found, 0.7, 1.0, "fused epilogues save");
        claims.into_iter().map(|claim| Claim { removes_launches: true, ..claim }).collect()
    }
}

impl Rule for FuseAttention {
    fn id(&self) -> &'static str {
        "FUSE-ATTN"
    }

    fn what(&self) -> &'static str {
        "unfused attention (matmul, softmax, matmul)"
    }

    fn remedy(&self, _: Program) -> &'static str {
        "use torch.nn.functional.scaled_dot_product_attention or a FlashAttention kernel, which never writes the score \
         matrix"
    }

    fn claims(&self, look: &Inspection<'_>) -> Vec<Claim> {
        let facts = look.facts;
        let Some(machine) = &facts.machine else { return Vec::new() };
        let mut found = FoundBySequence::new();
        for row in look.rows() {
            let mut at = 0;
            while at < row.len() {
                let Some(length) = attention(look, &row[at..]) else {
                    at += 1;
                    continue;
                };
                let calls = &row[at..at + length];
                at += length;
                let products = calls.iter().filter(|&&call| look.is_product(call));
                let products: Vec<LeastTime> =
                    products.filter_map(|&call| without_scores(look, call, calls)).collect();
                // A gradient of four products is five in one kernel, which computes the scores again.
                let is_backward = products.len() > 2;
                let again = if is_backward { 1.25 } else { 1.0 };
                let flops = again * products.iter().map(|least| least.flops).sum::<f64>();
                let spec = products.iter().find_map(|least| least.spec);
                let Some(ComputeSpec { unit: ComputeUnit::Matrix, precision }) = spec else { continue };
                let Some(peak) = machine.matrix(precision) else { continue };
                let (head_dim, keys) = extents(look, calls[0]).unzip();
                let attention = Some(AttentionSpeed { head_dim, keys, is_backward });
                let memory_us = products.iter().map(|least| least.memory_us).sum();
                let compute_us = flops / peak;
                let least = LeastTime { compute_us, memory_us, spec, attention, ..LeastTime::default() };
                let kept = [target_us(&least, machine, 1), compute_us.max(memory_us)];
                let saved = kept.map(|kept| look.duration(calls) - facts.units(kept));
                if saved[0] > 0 {
                    found.entry(sequence(facts, calls)).or_default().add(look, calls, saved);
                }
            }
        }
        claims(facts, found, 0.7, 1.15, "fused attention saves")
    }
}

/// What a product of these calls takes in one kernel for attention: it reads and writes its factors and its result but for the
/// matrix of scores, which stays on the chip.
fn without_scores(look: &Inspection<'_>, product: u32, calls: &[u32]) -> Option<LeastTime> {
    let least = look.call(product).least?;
    let machine = look.facts.machine.as_ref()?;
    let softmax = calls.iter().find(|&&call| is_softmax(look, call))?;
    let scores = look.inputs(*softmax).iter().map(Input::elements).fold(0.0, f64::max);
    let element = look.inputs(product).first()?.element_bytes;
    let memory_us = (least.memory_us - scores * element / machine.bytes_per_us).max(0.0);
    Some(LeastTime { memory_us, ..least })
}

fn is_softmax(look: &Inspection<'_>, call: u32) -> bool {
    look.kind(call) == Some(Category::Softmax) || look.named(look.facts.operator(call).name).is_softmax
}

/// Elements of a head and keys, by a product of attention: the smaller and the larger of the extents of its second factor.
fn extents(look: &Inspection<'_>, product: u32) -> Option<(f64, f64)> {
    let [.., inner, outer] = *look.inputs(product).get(1)?.shape.as_slice() else { return None };
    Some((inner.min(outer) as f64, inner.max(outer) as f64))
}

/// How many calls at the start of a row are an attention or its gradient: from the first product of a batch to the last one,
/// with a softmax among them, and else what scales, masks, drops and copies scores. What works on all heads at once, such as
/// a linear layer or a norm, is not part of it.
fn attention(look: &Inspection<'_>, row: &[u32]) -> Option<usize> {
    // One for each head and sequence: others with a softmax between them are a loss.
    let is_batched =
        |call: u32| look.is_product(call) && look.inputs(call).iter().any(|input| input.shape.len() > 2);
    let is_softmax = |call: u32| is_softmax(look, call);
    if !is_batched(*row.first()?) {
        return None;
    }
    let is_part = |&&call: &&u32| {
        let kind = look.kind(call);
        let is_other = matches!(
            kind,
            Some(Category::NormForward | Category::NormBackward | Category::RmsNorm | Category::RopeForward)
        );
        is_batched(call) || is_softmax(call) || (look.is_eager(call) && !look.is_product(call) && !is_other)
    };
    let length = row.iter().take(LONGEST_ATTENTION).take_while(is_part).count();
    let mut softmaxes = (0..length).filter(|&at| is_softmax(row[at]));
    let softmax = softmaxes.next()?;
    // Another softmax is of the next attention, whose first product comes before it.
    let (end, next_products) = softmaxes.next().map_or((length, 0), |next| (next, 1));
    let mut products = (softmax + 1..end).rev().filter(|&at| is_batched(row[at]));
    products.nth(next_products).map(|last| last + 1)
}
