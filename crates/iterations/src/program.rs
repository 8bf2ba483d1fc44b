//! What kind of program was recorded.

use std::fmt;

use trace_ingest::Trace;

use crate::detect::last_dimension;

/// Kind of a program, as far as the recording shows it. Only [`Program::LanguageModel`] has prefill and decode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Program {
    /// Backward passes or updates of parameters ran.
    Training,
    /// A language model answered requests: an engine's steps, attention on a cache of keys and values, choice of
    /// tokens.
    LanguageModel,
    /// A diffusion model made images or videos.
    Diffusion,
    /// Tables of embeddings were looked up for a recommender, without training it.
    Recommender,
    /// Nothing in the recording says.
    #[default]
    Unknown,
}

impl Program {
    /// The kind of a program by the names of what ran alone.
    #[must_use]
    pub fn from_names(trace: &Trace) -> Program {
        classify(trace, false, false)
    }

    /// Name in sheets.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Program::Training => "training",
            Program::LanguageModel => "language model",
            Program::Diffusion => "diffusion",
            Program::Recommender => "recommender",
            Program::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What names say of the kind of program.
#[derive(Clone, Copy, Debug, Default)]
struct Signs {
    training: bool,
    language_model: bool,
    diffusion: bool,
    recommender: bool,
    /// Which of [`DECODER`] were seen.
    decoder: [bool; DECODER.len()],
}

/// Parts of names, in lower case, that only programs which generate text have: engines, caches of keys and values,
/// choice of tokens.
const GENERATION: [&str; 22] = [
    "vllm::",
    "/vllm/",
    "vllm/v1/",
    "sglang",
    "sgl_kernel",
    "tensorrt_llm",
    "paged_attention",
    "pagedattention",
    "reshape_and_cache",
    "unified_attention_with_output",
    "batchdecodewithpagedkv",
    "batchprefillwithpagedkv",
    "flash_fwd_splitkv",
    "single_token_attention",
    "decode_attention",
    "mha_batch_prefill",
    "mla_decode",
    "transformers/generation/",
    "forcausallm",
    "topktopp",
    "sampling_kernel",
    "kv_cache",
];

/// The same of programs that take noise away.
const DIFFUSION: [&str; 9] = [
    "diffusers/",
    "unet2dcondition",
    "autoencoderkl",
    "transformer2dmodel",
    "dittransformer",
    "fluxtransformer",
    "mmdit",
    "xfuser",
    "stablediffusion",
];

/// The same of recommenders.
const RECOMMENDER: [&str; 8] = [
    "fbgemm",
    "torchrec",
    "embeddingbag",
    "embedding_bag",
    "split_embedding",
    "jagged_",
    "permute_2d_sparse",
    "kjtalltoall",
];

/// The same of training.
const TRAINING: [&str; 8] = [
    "autograd::engine::evaluate_function",
    "torch::autograd::accumulategrad",
    "optimizer.step#",
    "_fused_adam",
    "_fused_sgd",
    "_foreach_addcdiv",
    "fusedadam",
    "adamfunctor",
];

/// Parts of names that together only the decoder of a diffusion model has, beside its denoiser's attention.
const DECODER: [&str; 4] = ["group_norm", "silu", "upsample_nearest", "attention"];

impl Signs {
    fn from_name(name: &str) -> Signs {
        let name = name.to_ascii_lowercase();
        let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
        Signs {
            training: has(&TRAINING),
            language_model: has(&GENERATION),
            diffusion: has(&DIFFUSION),
            recommender: has(&RECOMMENDER),
            decoder: DECODER.map(|part| name.contains(part)),
        }
    }
}

/// The kind of a program, by the names of what ran and of its ranges.
pub(crate) fn classify(trace: &Trace, engine_steps: bool, images: bool) -> Program {
    // An engine's own word comes first.
    if engine_steps {
        return Program::LanguageModel;
    }
    if images {
        return Program::Diffusion;
    }
    let events = trace.events();
    let mut seen = vec![false; trace.strings().len()];
    let mut all = Signs::default();
    for event in events.ids() {
        let name = events.name(event);
        // Built-in functions are many and say nothing.
        if !std::mem::replace(&mut seen[name.index()], true) && !trace.text(name).starts_with('<') {
            let signs = Signs::from_name(trace.text(name));
            all.training |= signs.training;
            all.language_model |= signs.language_model;
            all.diffusion |= signs.diffusion;
            all.recommender |= signs.recommender;
            all.decoder.iter_mut().zip(signs.decoder).for_each(|(all, seen)| *all |= seen);
        }
    }
    let chooses_tokens = || chooses_tokens(trace);
    // Training comes first, which runs models of all kinds.
    let decodes_images = all.decoder == [true; DECODER.len()];
    match all {
        Signs { training: true, .. } => Program::Training,
        Signs { diffusion: true, .. } => Program::Diffusion,
        _ if decodes_images => Program::Diffusion,
        Signs { language_model: true, .. } => Program::LanguageModel,
        Signs { recommender: true, .. } => Program::Recommender,
        _ if chooses_tokens() => Program::LanguageModel,
        _ => Program::Unknown,
    }
}

/// Least number of logits among which a choice is one of a token.
const LEAST_VOCABULARY: i64 = 16_384;

/// Whether one of many logits is chosen per row.
fn chooses_tokens(trace: &Trace) -> bool {
    const CHOICES: [&str; 3] = ["aten::argmax", "aten::multinomial", "aten::topk"];
    let events = trace.events();
    let names: Vec<_> = CHOICES.iter().filter_map(|name| trace.strings().find(name)).collect();
    if names.is_empty() {
        return false;
    }
    let mut choices = events.ids().filter(|&event| names.contains(&events.name(event)));
    choices.any(|event| last_dimension(trace, event).is_some_and(|last| last >= LEAST_VOCABULARY))
}
