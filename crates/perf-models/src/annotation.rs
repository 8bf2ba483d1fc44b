//! What inference engines write around each of their steps.

use crate::Value;

/// A step of an inference engine, read from the text that the engine put around it.
///
/// A step runs requests of two kinds: *context* requests, whose prompt it processes (all of it or a
/// chunk), and *generation* requests, which it extends by a token or a few.
///
/// ```
/// use perf_models::IterationAnnotation;
///
/// let text = "step[DECODE bs=64 g_sq=128 g_sqsq=256 g_sqsk=262144 g_sk=131072]";
/// let step = IterationAnnotation::parse(text).unwrap();
/// assert_eq!(step.generation_requests, 64);
/// assert_eq!(step.chunk_statistics().unwrap().generation.keys, 131_072);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct IterationAnnotation {
    /// Which engine wrote it, and how much it says.
    pub kind: AnnotationKind,
    /// What kind of step the engine calls it.
    pub mode: StepMode,
    /// Tokens that the step processes, as far as it says.
    pub batch_size: i64,
    /// Requests whose prompt is processed.
    pub context_requests: i64,
    /// Tokens of prompts.
    pub context_sum: i64,
    /// Requests that are extended.
    pub generation_requests: i64,
    /// Tokens that requests are extended by.
    pub generation_sum: i64,
    /// Token counts; those that the text does not say are 0.
    pub statistics: StepStatistics,
    /// Whether `statistics` has the products of lengths that the cost of attention depends on.
    pub has_pair_statistics: bool,
    /// What else the text says: `p`, `d`, `spec`, `tbo`, `ctx`, `resolution`.
    pub details: Vec<(&'static str, Value)>,
}

/// Formats of [`IterationAnnotation`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AnnotationKind {
    /// `execute_70_context_1(sq64sk64sqsq4096sqsk4096)_generation_6(sq6sk600sqsq6sqsk600)`
    VllmDetailed,
    /// `execute_context_1(64)_generation_6(6)`
    VllmNative,
    /// `execute_context_1(64_4096)_generation_6(6)`: tokens and the sum of their squared lengths.
    VllmSquared,
    /// `step[EXTEND bs=2 toks=64 c_sq=64 c_sqsq=2048 c_sqsk=2048 c_sk=64]`
    SglangDetailed,
    /// `step[DECODE bs=6]`
    SglangNative,
    /// `prefill[bs=6 tok=64 sqsq=4096 sqsk=4096 sk=64]`
    AtomDetailed,
    /// `decode[bs=6/8 tok=6 d=6]`
    AtomNative,
    /// `execute_diffusion_1_1024x1024`
    DiffusionNative,
    /// `step[TARGET_VERIFY bs=8 ...]`, `step[IDLE bs=0]`: modes of SGLang beside `EXTEND`, `DECODE` and `MIXED`, and
    /// steps of these three that say more than `bs` and `toks` without the squares of lengths.
    SglangOther,
    /// `execute_new_2_cached_30`: requests that the engine's worker sees for the first time, and the others.
    VllmNewCached,
    /// `[Executor] _forward_step 7: 1 ctx reqs, 30 gen reqs`
    TensorRtLlm,
}

/// What kind of step an engine says it is, beside the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StepMode {
    /// The numbers of requests say it.
    Counted,
    /// Prompts are processed.
    Context,
    /// Requests are extended, drafted tokens and their verification included.
    Generation,
    /// Both, in numbers that the text may not say.
    Mixed,
    /// Nothing is run for any request.
    Idle,
}

/// Token counts of a step's requests of both kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct StepStatistics {
    /// Requests whose prompt is processed.
    pub context: TokenStatistics,
    /// Requests that are extended.
    pub generation: TokenStatistics,
}

/// Sums over requests, each with a number of new tokens and a number of tokens that these attend to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TokenStatistics {
    /// New tokens (`sq`).
    pub queries: i64,
    /// Tokens attended to, new ones included (`sk`).
    pub keys: i64,
    /// Squares of the numbers of new tokens (`sqsq`).
    pub squared_queries: i64,
    /// Products of both numbers (`sqsk`).
    pub query_key_pairs: i64,
}

/// What kinds of requests a step runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StepPhase {
    /// Context requests only.
    PrefillOnly,
    /// Both.
    PrefillDecode,
    /// Generation requests only.
    DecodeOnly,
}

impl IterationAnnotation {
    /// Reads an annotation; `None` for texts of no known format. What follows the known part is ignored.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        vllm_detailed(text)
            .or_else(|| vllm_native(text))
            .or_else(|| sglang_detailed(text))
            .or_else(|| sglang_native(text))
            .or_else(|| sglang_other(text))
            .or_else(|| atom(text))
            .or_else(|| diffusion(text))
            .or_else(|| vllm_new_cached(text))
            .or_else(|| tensorrt_llm(text))
    }

    /// Requests of both kinds.
    #[must_use]
    pub fn requests(&self) -> i64 {
        self.context_requests.saturating_add(self.generation_requests)
    }

    /// What the step runs; `None` where it runs no request, as steps of diffusion models and idle ones.
    ///
    /// The mode that the engine names comes before numbers that do not tell both kinds apart: a `MIXED` step of SGLang without
    /// `c=` and `g=` is mixed, and so is a step of ATOM that calls itself decode and has prompts (`p=2`) in it.
    #[must_use]
    pub fn phase(&self) -> Option<StepPhase> {
        match self.mode {
            StepMode::Counted => self.phase_by_counts(),
            StepMode::Context => Some(StepPhase::PrefillOnly),
            StepMode::Generation => Some(StepPhase::DecodeOnly),
            StepMode::Mixed => Some(StepPhase::PrefillDecode),
            StepMode::Idle => None,
        }
    }

    /// What the numbers of requests alone say that the step runs.
    fn phase_by_counts(&self) -> Option<StepPhase> {
        match (self.context_requests > 0, self.generation_requests > 0) {
            (true, true) => Some(StepPhase::PrefillDecode),
            (true, false) => Some(StepPhase::PrefillOnly),
            (false, true) => Some(StepPhase::DecodeOnly),
            (false, false) => None,
        }
    }

    /// Whether the numbers of requests of each kind are what the text says of each kind. They are not in mixed steps
    /// of which only the total is known, and then stand where the engine's own name of the step puts them.
    #[must_use]
    pub fn splits_requests(&self) -> bool {
        match self.mode {
            StepMode::Mixed => self.context_requests > 0 && self.generation_requests > 0,
            _ => true,
        }
    }

    /// The token counts that the cost of attention depends on, if the text has them.
    #[must_use]
    pub fn chunk_statistics(&self) -> Option<StepStatistics> {
        self.has_pair_statistics.then_some(self.statistics)
    }

    /// What [`chunk_statistics`](Self::chunk_statistics) takes for granted.
    #[must_use]
    pub fn assumption(&self) -> Option<&'static str> {
        let assumed = self.kind == AnnotationKind::VllmSquared && self.has_pair_statistics;
        assumed.then_some("assumed no cached prompt prefixes")
    }

    fn new(kind: AnnotationKind) -> Self {
        Self {
            kind,
            mode: StepMode::Counted,
            batch_size: 1,
            context_requests: 0,
            context_sum: 0,
            generation_requests: 0,
            generation_sum: 0,
            statistics: StepStatistics::default(),
            has_pair_statistics: false,
            details: Vec::new(),
        }
    }
}

/// The batch size and mode that the capture of a graph is for: `capture_256_mixed_prefill`.
#[must_use]
pub fn graph_capture(text: &str) -> Option<(i64, &str)> {
    let mut cursor = Cursor(text.strip_prefix("capture_")?);
    let batch_size = cursor.number()?;
    cursor.skip("_")?;
    Some((batch_size, cursor.0.lines().next().unwrap_or_default()))
}

/// A text that is read from its start.
struct Cursor<'a>(&'a str);

impl Cursor<'_> {
    fn skip(&mut self, literal: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(literal)?;
        Some(())
    }

    fn number(&mut self) -> Option<i64> {
        let digits = self.0.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = self.0.split_at_checked(digits)?;
        self.0 = rest;
        (digits > 0).then(|| saturating_number(number))
    }

    /// `(sq64sk64sqsq4096sqsk4096)`
    fn token_statistics(&mut self) -> Option<TokenStatistics> {
        self.skip("(sq")?;
        let queries = self.number()?;
        self.skip("sk")?;
        let keys = self.number()?;
        self.skip("sqsq")?;
        let squared_queries = self.number()?;
        self.skip("sqsk")?;
        let query_key_pairs = self.number()?;
        self.skip(")")?;
        Some(TokenStatistics { queries, keys, squared_queries, query_key_pairs })
    }

    /// `(64)` or `(64_4096)`
    fn sum_and_squares(&mut self) -> Option<(i64, Option<i64>)> {
        self.skip("(")?;
        let sum = self.number()?;
        let squares = if self.skip("_").is_some() { Some(self.number()?) } else { None };
        self.skip(")")?;
        Some((sum, squares))
    }
}

/// The number of a text of digits; the largest where it is larger.
fn saturating_number(digits: &str) -> i64 {
    digits.parse().unwrap_or(if digits.is_empty() { 0 } else { i64::MAX })
}

fn vllm_detailed(text: &str) -> Option<IterationAnnotation> {
    let mut cursor = Cursor(text);
    cursor.skip("execute_")?;
    cursor.number()?;
    cursor.skip("_context_")?;
    let context_requests = cursor.number()?;
    let context = cursor.token_statistics()?;
    cursor.skip("_generation_")?;
    let generation_requests = cursor.number()?;
    let generation = cursor.token_statistics()?;
    Some(IterationAnnotation {
        // The number after `execute_` may count padding.
        batch_size: context.queries.saturating_add(generation.queries),
        context_requests,
        context_sum: context.queries,
        generation_requests,
        generation_sum: generation.queries,
        statistics: StepStatistics { context, generation },
        has_pair_statistics: true,
        ..IterationAnnotation::new(AnnotationKind::VllmDetailed)
    })
}

fn vllm_native(text: &str) -> Option<IterationAnnotation> {
    let mut cursor = Cursor(text);
    cursor.skip("execute_context_")?;
    let context_requests = cursor.number()?;
    let (context_sum, context_squares) = cursor.sum_and_squares()?;
    cursor.skip("_generation_")?;
    let generation_requests = cursor.number()?;
    let (generation_sum, generation_squares) = cursor.sum_and_squares()?;
    let squared = context_squares.or(generation_squares);
    let kind = if squared.is_some() { AnnotationKind::VllmSquared } else { AnnotationKind::VllmNative };
    let mut context = TokenStatistics { queries: context_sum, ..TokenStatistics::default() };
    // Without generation requests, whose contexts are not said, the prompts' lengths are enough.
    let has_pair_statistics = context_squares.is_some() && generation_sum == 0;
    if let Some(squares) = context_squares.filter(|_| has_pair_statistics) {
        context.keys = context_sum;
        context.squared_queries = squares;
        context.query_key_pairs = squares;
    }
    Some(IterationAnnotation {
        batch_size: context_sum.saturating_add(generation_sum),
        context_requests,
        context_sum,
        generation_requests,
        generation_sum,
        statistics: StepStatistics {
            context,
            generation: TokenStatistics { queries: generation_sum, ..TokenStatistics::default() },
        },
        has_pair_statistics,
        ..IterationAnnotation::new(kind)
    })
}

/// Modes of SGLang's steps.
const SGLANG_MODES: [(&str, StepMode); 11] = [
    ("EXTEND", StepMode::Context),
    ("DECODE", StepMode::Generation),
    ("MIXED", StepMode::Mixed),
    ("SPLIT_PREFILL", StepMode::Context),
    // A block of a diffusion language model is run like a chunk of a prompt.
    ("DLLM_EXTEND", StepMode::Context),
    // Drafted tokens of running requests are checked, or the draft model catches up with them.
    ("TARGET_VERIFY", StepMode::Generation),
    ("DRAFT_EXTEND", StepMode::Generation),
    ("DRAFT_EXTEND_V2", StepMode::Generation),
    ("IDLE", StepMode::Idle),
    // The prompt was processed elsewhere.
    ("PREBUILT", StepMode::Idle),
    ("DUMMY_FIRST", StepMode::Idle),
];

/// The mode of `step[MODE ...]` and what follows it in the brackets.
fn sglang_mode(text: &str) -> Option<(StepMode, &str)> {
    let inner = text.strip_prefix("step[")?;
    let end = inner.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(inner.len());
    let (word, rest) = inner.split_at(end);
    let (_, mode) = SGLANG_MODES.into_iter().find(|(name, _)| *name == word)?;
    Some((mode, rest))
}

/// [`sglang_mode`] of the three modes that every version has.
fn sglang_first_mode(text: &str) -> Option<(StepMode, &str)> {
    let is_first = ["step[EXTEND", "step[DECODE", "step[MIXED"].iter().any(|mode| text.starts_with(mode));
    sglang_mode(text).filter(|_| is_first)
}

fn sglang_detailed(text: &str) -> Option<IterationAnnotation> {
    let (mode, rest) = sglang_first_mode(text)?;
    let (first_bracket, _) = rest.split_once(']')?;
    has_squares(first_bracket).then_some(())?;
    let (body, _) = rest.rsplit_once(']')?;
    Some(sglang_fields(AnnotationKind::SglangDetailed, mode, body))
}

/// The other modes, and what else a step of the first three may say.
fn sglang_other(text: &str) -> Option<IterationAnnotation> {
    let (mode, rest) = sglang_mode(text)?;
    let (body, _) = rest.rsplit_once(']')?;
    body.trim_start().starts_with("bs=").then_some(())?;
    Some(sglang_fields(AnnotationKind::SglangOther, mode, body))
}

/// A step of SGLang with the fields `key=number`.
fn sglang_fields(kind: AnnotationKind, mode: StepMode, body: &str) -> IterationAnnotation {
    let fields = counts(body);
    // Where a key is repeated the last one counts.
    let field = |key: &str| fields.iter().rev().find(|(name, _)| *name == key).map(|&(_, count)| count);
    let count = |key: &str| field(key).unwrap_or(0);
    let tokens = |keys: [&str; 4]| {
        let [queries, keys, squared_queries, query_key_pairs] = keys.map(count);
        TokenStatistics { queries, keys, squared_queries, query_key_pairs }
    };
    let statistics = StepStatistics {
        context: tokens(["c_sq", "c_sk", "c_sqsq", "c_sqsk"]),
        generation: tokens(["g_sq", "g_sk", "g_sqsq", "g_sqsk"]),
    };
    let (context_tokens, generation_tokens) = (statistics.context.queries, statistics.generation.queries);
    let mut step = IterationAnnotation {
        mode,
        statistics,
        has_pair_statistics: has_squares(body),
        context_sum: context_tokens,
        generation_sum: generation_tokens,
        ..IterationAnnotation::new(kind)
    };
    match mode {
        StepMode::Generation => {
            step.generation_requests = count("bs");
            step.context_sum = 0;
            // Tokens to verify attend to each other like a prompt's, so the engine counts them as such.
            if kind == AnnotationKind::SglangOther {
                step.generation_sum =
                    first_not_zero([generation_tokens, context_tokens, count("toks"), count("bs")]);
            }
        }
        StepMode::Context => {
            step.context_requests = count("bs");
            step.generation_sum = 0;
            if kind == AnnotationKind::SglangOther && context_tokens == 0 {
                step.context_sum = count("toks");
                step.statistics.context.queries = step.context_sum;
            }
        }
        StepMode::Mixed | StepMode::Counted | StepMode::Idle => {
            (step.context_requests, step.generation_requests) = (count("c"), count("g"));
            // A scheduler that mixes both kinds calls all its steps mixed, those of one kind too.
            let is_counted = field("c").is_some() && field("g").is_some();
            if mode == StepMode::Mixed && is_counted && (step.requests() > 0 || count("bs") == 0) {
                step.mode = StepMode::Counted;
            }
        }
    }
    step.batch_size =
        first_not_zero([context_tokens.saturating_add(generation_tokens), count("toks"), count("bs")]);
    step
}

fn first_not_zero<const N: usize>(counts: [i64; N]) -> i64 {
    counts.into_iter().find(|&count| count != 0).unwrap_or(0)
}

fn sglang_native(text: &str) -> Option<IterationAnnotation> {
    let (mode, rest) = sglang_first_mode(text)?;
    let mut cursor = Cursor(rest.trim_start());
    (cursor.0.len() < rest.len()).then_some(())?;
    cursor.skip("bs=")?;
    let requests = cursor.number()?;
    let spaced = cursor.0.trim_start();
    let tokens = if spaced.len() < cursor.0.len() {
        cursor.0 = spaced;
        cursor.skip("toks=")?;
        cursor.number()?
    } else {
        0
    };
    cursor.skip("]")?;
    let mut step = IterationAnnotation { mode, ..IterationAnnotation::new(AnnotationKind::SglangNative) };
    if mode == StepMode::Generation {
        (step.generation_requests, step.generation_sum) = (requests, requests);
        step.statistics.generation.queries = requests;
        step.batch_size = requests;
    } else {
        (step.context_requests, step.context_sum) = (requests, tokens);
        step.statistics.context.queries = tokens;
        step.batch_size = if tokens == 0 { requests } else { tokens };
    }
    Some(step)
}

fn atom(text: &str) -> Option<IterationAnnotation> {
    let (prefill, rest) = match text.strip_prefix("prefill[") {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix("decode[")?),
    };
    // A line break ends what brackets may hold.
    let (body, _) = rest.lines().next().unwrap_or_default().rsplit_once(']')?;
    let fields = texts(body);
    let field = |key: &str| fields.iter().rev().find(|(name, _)| *name == key).map(|&(_, text)| text);
    let count = |key: &str| field(key).map_or(0, |text| text.parse::<i64>().unwrap_or(0).max(0));
    let requests = field("bs").map_or(0, first_number);
    let tokens = count("tok");
    let statistics = TokenStatistics {
        queries: tokens,
        keys: count("sk"),
        squared_queries: count("sqsq"),
        query_key_pairs: count("sqsk"),
    };
    let kind = if has_squares(body) { AnnotationKind::AtomDetailed } else { AnnotationKind::AtomNative };
    let mut step = IterationAnnotation {
        batch_size: tokens,
        has_pair_statistics: field("sqsq").is_some() && field("sqsk").is_some(),
        ..IterationAnnotation::new(kind)
    };
    if prefill {
        (step.context_requests, step.context_sum) = (requests, tokens);
        step.statistics.context = statistics;
        step.details.extend(field("ctx").map(|text| ("ctx", text.into())));
    } else {
        (step.generation_requests, step.generation_sum) = (requests, tokens);
        step.statistics.generation = statistics;
        for key in ["p", "d", "spec"] {
            step.details.extend(field(key).map(|_| (key, count(key).into())));
        }
        // Requests of the step whose prompt is processed, among all that it counts.
        if count("p") > 0 {
            step.mode = StepMode::Mixed;
        }
    }
    step.details.extend(field("tbo").map(|_| ("tbo", true.into())));
    Some(step)
}

fn diffusion(text: &str) -> Option<IterationAnnotation> {
    let mut cursor = Cursor(text.strip_prefix("execute_diffusion_")?);
    let batch_size = cursor.number()?;
    cursor.skip("_")?;
    let resolution = cursor.0;
    cursor.number()?;
    cursor.skip("x")?;
    cursor.number()?;
    let resolution = &resolution[..resolution.len() - cursor.0.len()];
    Some(IterationAnnotation {
        batch_size,
        details: vec![("resolution", resolution.into())],
        ..IterationAnnotation::new(AnnotationKind::DiffusionNative)
    })
}

/// `execute_new_2_cached_30`. A request is new in the step that begins its prompt; whether a later one is in its
/// prompt or beyond, the text does not say.
fn vllm_new_cached(text: &str) -> Option<IterationAnnotation> {
    let mut cursor = Cursor(text.strip_prefix("execute_new_")?);
    let context_requests = cursor.number()?;
    cursor.skip("_cached_")?;
    let generation_requests = cursor.number()?;
    cursor.0.is_empty().then(|| IterationAnnotation {
        batch_size: context_requests.saturating_add(generation_requests),
        context_requests,
        generation_requests,
        ..IterationAnnotation::new(AnnotationKind::VllmNewCached)
    })
}

/// `[Executor] _forward_step 7: 1 ctx reqs, 30 gen reqs`, with or without executor, number, and the tokens of prompts.
fn tensorrt_llm(text: &str) -> Option<IterationAnnotation> {
    let mut cursor = Cursor(text);
    let _ = cursor.skip("[Executor] ");
    cursor.skip("_forward_step")?;
    if cursor.skip(" ").is_some() {
        cursor.number()?;
    }
    cursor.skip(": ")?;
    let context_requests = cursor.number()?;
    cursor.skip(" ctx reqs, ")?;
    let mut generation_requests = cursor.number()?;
    let mut context_sum = 0;
    if cursor.skip(" ctx tokens, ").is_some() {
        context_sum = generation_requests;
        generation_requests = cursor.number()?;
    }
    cursor.skip(" gen reqs")?;
    let mut step = IterationAnnotation {
        batch_size: context_sum.max(context_requests).saturating_add(generation_requests),
        context_requests,
        context_sum,
        generation_requests,
        ..IterationAnnotation::new(AnnotationKind::TensorRtLlm)
    };
    step.statistics.context.queries = context_sum;
    Some(step)
}

/// Whether there is a `sqsq=` with a number.
fn has_squares(text: &str) -> bool {
    text.split("sqsq=").skip(1).any(|value| value.starts_with(|c: char| c.is_ascii_digit()))
}

fn first_number(text: &str) -> i64 {
    let from_digit = text.trim_start_matches(|c: char| !c.is_ascii_digit());
    Cursor(from_digit).number().unwrap_or(0)
}

/// The fields `key=123` of a text.
fn counts(text: &str) -> Vec<(&str, i64)> {
    let mut fields = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('=') {
        let mut cursor = Cursor(after);
        if let Some(count) = cursor.number()
            && let Some(key) = last_word(before)
        {
            fields.push((key, count));
        }
        rest = cursor.0;
    }
    fields
}

/// The fields `key=text` of a text: up to a space, or a list in brackets and what it leaves out.
fn texts(text: &str) -> Vec<(&str, &str)> {
    let mut fields = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('=') {
        let end = match after.starts_with('[').then(|| after.find(']')).flatten() {
            Some(bracket) => {
                let mut cursor = Cursor(&after[bracket + 1..]);
                let left_out = cursor.skip("...+").and_then(|()| cursor.number());
                if left_out.is_some() { after.len() - cursor.0.len() } else { bracket + 1 }
            }
            None => after.find(char::is_whitespace).unwrap_or(after.len()),
        };
        if let Some(key) = last_word(before).filter(|_| end > 0) {
            fields.push((key, &after[..end]));
            rest = &after[end..];
        } else {
            rest = after;
        }
    }
    fields
}

/// The letters, digits and underscores that a text ends with.
fn last_word(text: &str) -> Option<&str> {
    let before = text.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_');
    Some(&text[before.len()..]).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What is read, as `annotations.txt` writes it.
    fn read(text: &str) -> String {
        let Some(step) = IterationAnnotation::parse(text) else { return "-".to_owned() };
        let numbers = |tokens: TokenStatistics| {
            [tokens.queries, tokens.keys, tokens.squared_queries, tokens.query_key_pairs]
                .map(|number| number.to_string())
                .join(",")
        };
        let (context, generation) = (numbers(step.statistics.context), numbers(step.statistics.generation));
        format!(
            "{:?} | {},{} | {} | {context} | {generation} | {} | {}",
            step.kind,
            step.context_requests,
            step.generation_requests,
            step.batch_size,
            step.has_pair_statistics,
            step.phase().map_or("-".to_owned(), |phase| format!("{phase:?}")),
        )
    }

    #[test]
    fn annotations_of_every_engine_are_read() {
        for line in include_str!("annotations.txt").lines().filter(|line| !line.starts_with('#')) {
            let (text, expected) = line.split_once(" | ").unwrap();
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn the_mode_comes_before_the_numbers_except_where_asked() {
        for (text, by_mode, by_counts, splits) in [
            ("step[MIXED bs=2]", Some(StepPhase::PrefillDecode), Some(StepPhase::PrefillOnly), false),
            ("step[MIXED bs=2 c=0 g=0]", Some(StepPhase::PrefillDecode), None, false),
            ("step[MIXED bs=2 c=2]", Some(StepPhase::PrefillDecode), Some(StepPhase::PrefillOnly), false),
            ("step[MIXED bs=1 c=1 g=0]", Some(StepPhase::PrefillOnly), Some(StepPhase::PrefillOnly), true),
            (
                "step[MIXED bs=3 toks=3 c=0 g=3]",
                Some(StepPhase::DecodeOnly),
                Some(StepPhase::DecodeOnly),
                true,
            ),
            ("step[MIXED bs=0 c=0 g=0]", None, None, true),
            (
                "decode[bs=128 tok=384 p=2 d=126]",
                Some(StepPhase::PrefillDecode),
                Some(StepPhase::DecodeOnly),
                false,
            ),
            (
                "decode[bs=128 tok=128 p=0 d=128]",
                Some(StepPhase::DecodeOnly),
                Some(StepPhase::DecodeOnly),
                true,
            ),
            ("step[IDLE bs=3]", None, None, true),
        ] {
            let step = IterationAnnotation::parse(text).unwrap();
            assert_eq!(
                (step.phase(), step.phase_by_counts(), step.splits_requests()),
                (by_mode, by_counts, splits)
            );
        }
    }

    #[test]
    fn details_keep_what_only_one_engine_says() {
        let details = |text| IterationAnnotation::parse(text).unwrap().details;
        let atom = details("decode[bs=128 tok=384 p=2 d=126 sqsq=132612 sqsk=1114112 sk=258048 tbo=1]");
        assert_eq!(atom, [("p", 2.into()), ("d", 126.into()), ("tbo", true.into())]);
        let prefill = details("prefill[bs=6 tok=17408 ctx=[4096, 4096, 4096]...+3]");
        assert_eq!(prefill, [("ctx", "[4096, 4096, 4096]...+3".into())]);
        assert_eq!(details("execute_diffusion_4_1024x512 more"), [("resolution", "1024x512".into())]);
    }

    #[test]
    fn captures_have_a_batch_size_and_a_mode() {
        for (text, expected) in [
            ("capture_256_mixed_prefill", Some((256, "mixed_prefill"))),
            ("capture_8_", Some((8, ""))),
            ("capture_mixed_8", None),
            ("execute_context_1(1)_generation_0(0)", None),
        ] {
            assert_eq!(graph_capture(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics_and_no_count_is_negative(
            text in "(execute_|step\\[|decode\\[|prefill\\[|capture_)?[a-zA-Z0-9_=() \\[\\]x.+é-]{0,60}",
        ) {
            let _ = graph_capture(&text);
            if let Some(step) = IterationAnnotation::parse(&text) {
                prop_assert!(step.batch_size >= 0 && step.requests() >= 0);
                prop_assert!(step.statistics.context.queries >= 0);
                prop_assert!(step.statistics.generation.query_key_pairs >= 0);
            }
        }

        #[test]
        fn numbers_beyond_the_largest_are_the_largest(digits in "[1-9][0-9]{19,40}") {
            let step = IterationAnnotation::parse(&format!("execute_context_1({digits})_generation_1(1)")).unwrap();
            prop_assert_eq!(step.context_sum, i64::MAX);
            prop_assert_eq!(step.batch_size, i64::MAX);
        }
    }
}
