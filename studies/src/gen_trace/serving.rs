//! Steps of an inference engine: prompts op by op, generation as the replay of a captured graph.

use std::rc::Rc;

use inference_phase::Phase;
use perf_models::{StepStatistics, TokenStatistics};

use super::flavour::{Call, Direction, Flavour};
use super::json::Layout;
use super::kernels::{self, PagedAttention};
use super::plan::{Kernel, Node, Transfer, annotation, code, op};
use super::random::Random;
use super::recording::{Recording, Stop};
use super::requests::{Arrivals, Scheduler};
use super::signature::{Argument, LONG, bf16, render, tensor};

/// Sizes of an 8-billion decoder with grouped-query attention, cut to a few layers.
const HIDDEN: u64 = 4096;
const HEADS: u64 = 32;
const KEY_HEADS: u64 = 8;
const HEAD: u64 = 128;
const FEED_FORWARD: u64 = 14_336;
const VOCABULARY: u64 = 128_256;
const LAYERS: u64 = 4;

/// Requests and new tokens of a step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Batch {
    pub(super) context_requests: u64,
    pub(super) context_tokens: u64,
    pub(super) generation_requests: u64,
    /// Tokens of these requests whose keys and values were there before the step.
    pub(super) cached_tokens: u64,
    /// Sums over its requests, where the engine annotates them.
    pub(super) statistics: Option<StepStatistics>,
}

impl Batch {
    /// What the engine does in turn: prompts of a few requests, generation, a prompt beside it, generation.
    fn round(random: &mut Random) -> Vec<Batch> {
        let prompts = |random: &mut Random, requests| Batch {
            context_requests: requests,
            context_tokens: (0..requests).map(|_| random.between(40, 700)).sum(),
            ..Batch::default()
        };
        let generation = |requests| Batch { generation_requests: requests, ..Batch::default() };
        let requests = random.between(3, 9);
        let first = prompts(random, requests);
        let beside = Batch { generation_requests: requests, ..prompts(random, 1) };
        let mut round = vec![first];
        round.extend([generation(requests); 3]);
        round.push(beside);
        round.extend([generation(requests + 1); 3]);
        round
    }

    pub(super) fn phase(self) -> Phase {
        match (self.context_requests, self.generation_requests) {
            (0, _) => Phase::Decode,
            (_, 0) => Phase::Prefill,
            _ => Phase::Mixed,
        }
    }

    pub(super) fn requests(self) -> u64 {
        self.context_requests + self.generation_requests
    }

    /// Tokens that the step computes.
    pub(super) fn tokens(self) -> u64 {
        self.context_tokens + self.generation_requests
    }

    /// The engine's annotation of the step.
    fn name(self) -> String {
        let Batch { context_requests, context_tokens, generation_requests, .. } = self;
        if let Some(StepStatistics { context, generation }) = self.statistics {
            let sums = |of: TokenStatistics| {
                let TokenStatistics { queries, keys, squared_queries, query_key_pairs } = of;
                format!("sq{queries}sk{keys}sqsq{squared_queries}sqsk{query_key_pairs}")
            };
            return format!(
                "execute_{}_context_{context_requests}({})_generation_{generation_requests}({})",
                self.tokens(),
                sums(context),
                sums(generation)
            );
        }
        format!(
            "execute_context_{context_requests}({context_tokens})_generation_{generation_requests}({generation_requests})"
        )
    }
}

/// Which kernels an engine has for attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attention {
    /// That of a model without a cache.
    Plain,
    /// One for prompts and generation.
    Unified,
    /// One for prompts, one for generation.
    Split,
}

/// What the plans of steps are made for.
#[derive(Clone, Copy)]
struct Engine {
    flavour: Flavour,
    layout: Layout,
    layers: u64,
    attention: Attention,
    /// Whether generation replays a captured graph.
    has_graphs: bool,
}

impl Recording<'_> {
    /// Serves without end, in rounds that are alike.
    pub(super) fn serve_rounds(&mut self) -> Result<(), Stop> {
        let engine = Engine {
            flavour: self.flavour(),
            layout: self.layout(),
            layers: LAYERS,
            attention: Attention::Plain,
            has_graphs: true,
        };
        let mut left = self.iterations(16, 49);
        loop {
            for batch in Batch::round(self.random()) {
                if left == 0 {
                    return Ok(());
                }
                left -= 1;
                self.serve(engine, batch)?;
            }
        }
    }

    /// Serves requests as they come.
    pub(super) fn serve_requests(&mut self) -> Result<(), Stop> {
        let (flavour, layout) = (self.flavour(), self.layout());
        let arrivals = Arrivals::draw(self.workload(), self.random());
        let random = self.random();
        let engine = Engine {
            flavour,
            layout,
            layers: random.between(2, 5),
            attention: if random.between(0, 2) == 0 { Attention::Unified } else { Attention::Split },
            has_graphs: random.between(0, 4) > 0,
        };
        let shows = engine.attention == Attention::Split;
        self.attention_shows_phases(shows);
        let mut scheduler = Scheduler::new(arrivals, self.random());
        for _ in 0..self.iterations(24, 73) {
            let (idle, batch) = scheduler.next(self.random());
            if idle > 0 {
                self.run(&[code("vllm/v1/engine/core.py(762): run_busy_loop", vec![Node::Pause(idle)])])?;
            }
            self.serve(engine, batch)?;
        }
        Ok(())
    }

    fn serve(&mut self, engine: Engine, batch: Batch) -> Result<(), Stop> {
        self.begin_batch(batch);
        self.run(&engine.step(batch))?;
        self.end();
        Ok(())
    }
}

impl Engine {
    fn arguments(self, arguments: &[Argument]) -> Rc<str> {
        render(arguments, self.layout)
    }

    /// One step: inputs to the device, the model, a token for each request and back with it.
    pub(super) fn step(self, batch: Batch) -> Vec<Node> {
        let mut work = vec![Node::Copy(Transfer::new(Direction::HostToDevice, 8 * batch.tokens()))];
        match batch.context_requests {
            0 if self.has_graphs => work.push(code(
                "torch/cuda/graphs.py(139): replay",
                vec![Node::Graph((0..self.layers).flat_map(|_| self.layer_kernels(batch)).collect())],
            )),
            _ => work.extend((0..self.layers).flat_map(|_| self.layer(batch))),
        }
        work.extend(self.choose(batch));
        work.push(Node::Copy(Transfer::new(Direction::DeviceToHost, 8 * batch.requests())));
        work.push(Node::Call(Call::SynchronizeStream));
        let step = annotation(batch.name(), work);
        vec![code("vllm/v1/worker/gpu_model_runner.py(2490): execute_model", vec![step])]
    }

    fn mm(self, rows: u64, inputs: u64, outputs: u64) -> Node {
        op(
            "aten::mm",
            self.arguments(&[bf16(&[rows, inputs]), bf16(&[inputs, outputs])]),
            vec![Node::Launch(kernels::gemm(self.flavour, [rows, outputs, inputs]))],
        )
    }

    /// Kernels of attention over the step's new tokens.
    fn attend(self, batch: Batch, plain: [u64; 4]) -> Vec<Kernel> {
        let keys = (batch.cached_tokens + batch.tokens()) / batch.requests().max(1);
        let paged =
            |kind, queries| kernels::paged_attention(self.flavour, kind, [HEADS, HEAD], queries, keys.max(1));
        match self.attention {
            Attention::Plain => vec![kernels::attention(self.flavour, plain)],
            Attention::Unified => vec![paged(PagedAttention::Either, batch.tokens())],
            Attention::Split => [
                (PagedAttention::Prompts, batch.context_tokens),
                (PagedAttention::Generation, batch.generation_requests),
            ]
            .into_iter()
            .filter(|&(_, queries)| queries > 0)
            .map(|(kind, queries)| paged(kind, queries))
            .collect(),
        }
    }

    fn layer(self, batch: Batch) -> Vec<Node> {
        let tokens = batch.tokens();
        let residual = || bf16(&[tokens, HIDDEN]);
        let query = || bf16(&[tokens, HEADS, HEAD]);
        let key = || bf16(&[tokens, KEY_HEADS, HEAD]);
        let epsilon = || Argument::Scalar("1.0000000000000001e-05");
        let launch = |name, arguments: &[Argument], kernel| {
            op(name, self.arguments(arguments), vec![Node::Launch(kernel)])
        };
        let store = launch(
            "_C_cache_ops::reshape_and_cache_flash",
            &[key(), key(), tensor(LONG, &[tokens])],
            kernels::store_keys(tokens, KEY_HEADS * HEAD),
        );
        let mut attention = vec![store];
        attention.extend(self.attend(batch, [1, HEADS, tokens, HEAD]).into_iter().map(Node::Launch));
        vec![
            launch(
                "_C::rms_norm",
                &[residual(), residual(), bf16(&[HIDDEN]), epsilon()],
                kernels::rms_norm(tokens, HIDDEN),
            ),
            self.mm(tokens, HIDDEN, (HEADS + 2 * KEY_HEADS) * HEAD),
            launch(
                "_C::rotary_embedding",
                &[tensor(LONG, &[tokens]), bf16(&[tokens, HEADS * HEAD]), bf16(&[tokens, KEY_HEADS * HEAD])],
                kernels::rotary(tokens, (HEADS + KEY_HEADS) * HEAD),
            ),
            op(
                "vllm::unified_attention_with_output",
                self.arguments(&[query(), key(), key(), query()]),
                attention,
            ),
            self.mm(tokens, HIDDEN, HIDDEN),
            launch(
                "_C::fused_add_rms_norm",
                &[residual(), residual(), bf16(&[HIDDEN]), epsilon()],
                kernels::rms_norm(tokens, HIDDEN),
            ),
            self.mm(tokens, HIDDEN, 2 * FEED_FORWARD),
            launch(
                "_C::silu_and_mul",
                &[bf16(&[tokens, FEED_FORWARD]), bf16(&[tokens, 2 * FEED_FORWARD])],
                kernels::silu_and_mul(tokens, FEED_FORWARD),
            ),
            self.mm(tokens, FEED_FORWARD, HIDDEN),
        ]
    }

    fn layer_kernels(self, batch: Batch) -> Vec<Kernel> {
        let tokens = batch.tokens();
        let mut layer = vec![
            kernels::rms_norm(tokens, HIDDEN),
            kernels::gemm(self.flavour, [tokens, (HEADS + 2 * KEY_HEADS) * HEAD, HIDDEN]),
            kernels::rotary(tokens, (HEADS + KEY_HEADS) * HEAD),
            kernels::store_keys(tokens, KEY_HEADS * HEAD),
        ];
        layer.extend(self.attend(batch, [tokens, HEADS, 1, HEAD]));
        layer.extend([
            kernels::gemm(self.flavour, [tokens, HIDDEN, HIDDEN]),
            kernels::rms_norm(tokens, HIDDEN),
            kernels::gemm(self.flavour, [tokens, 2 * FEED_FORWARD, HIDDEN]),
            kernels::silu_and_mul(tokens, FEED_FORWARD),
            kernels::gemm(self.flavour, [tokens, HIDDEN, FEED_FORWARD]),
        ]);
        layer
    }

    /// The last token of every request through the head, and the likeliest next one.
    fn choose(self, batch: Batch) -> Vec<Node> {
        let requests = batch.requests();
        let select = op(
            "aten::index",
            self.arguments(&[bf16(&[batch.tokens(), HIDDEN]), tensor(LONG, &[requests])]),
            vec![Node::Launch(kernels::gather_rows(requests, HIDDEN))],
        );
        let likeliest = op(
            "aten::argmax",
            self.arguments(&[
                bf16(&[requests, VOCABULARY]),
                Argument::Scalar("-1"),
                Argument::Scalar("False"),
            ]),
            vec![Node::Launch(kernels::argmax(requests, VOCABULARY))],
        );
        vec![select, self.mm(requests, HIDDEN, VOCABULARY), likeliest]
    }
}
