//! Steps of an inference engine that keeps its device busy: prompts operator by operator in large batches, generation by
//! captured graphs, the next step launched before the tokens of the last have been read.

use super::Part;
use super::device::Precision;
use super::fault::Fault;
use super::nodes::Builder;
use crate::gen_trace::flavour::{Call, Flavour, Stream};
use crate::gen_trace::kernels::{self, PagedAttention};
use crate::gen_trace::plan::{Kernel, Node, annotation, code, op};
use crate::gen_trace::random::Random;
use crate::gen_trace::signature::{Argument, LONG, bf16, tensor};

/// A decoder of eight billion parameters with grouped-query attention, cut to some layers.
const HIDDEN: u64 = 4_096;
const HEADS: u64 = 32;
const KEY_HEADS: u64 = 8;
const HEAD: u64 = 128;
const FEED_FORWARD: u64 = 14_336;
const VOCABULARY: u64 = 128_256;

/// Steps between one with prompts and the next, that step included.
const ROUND: u64 = 12;
const ROUNDS: u64 = 3;

/// What the engine was started with, and its load.
#[derive(Debug, Clone, Copy)]
pub(super) struct Engine {
    layers: usize,
    /// Requests in generation.
    requests: u64,
    /// Tokens of each that are in the cache, on average.
    cached: u64,
    /// Tokens of the prompts of a step that has any, and requests that they are of.
    prompts: (u64, u64),
    /// What Python takes for an operator that is not replayed from a graph.
    python_ns: u64,
}

impl Engine {
    pub(super) fn draw(random: &mut Random) -> Engine {
        Engine {
            layers: random.between(6, 11) as usize,
            requests: [16, 32, 64, 128][random.between(0, 4) as usize],
            python_ns: 1_000 * random.between(20, 45),
            cached: random.between(700, 2_500),
            prompts: (1_024 * random.between(2, 7), random.between(2, 6)),
        }
    }

    pub(super) fn steps(self) -> u64 {
        ROUND * ROUNDS
    }

    /// The plan of one step.
    pub(super) fn step(self, builder: &Builder<'_>) -> Vec<Part> {
        let has_prompts = builder.step.is_multiple_of(ROUND);
        let tokens = if has_prompts { self.prompts.0 } else { self.requests };
        let step = Step { engine: self, builder, has_prompts, tokens };
        vec![Part::Main(0, step.schedule()), Part::Main(0, step.execute())]
    }
}

/// A step that is being planned.
struct Step<'b> {
    engine: Engine,
    builder: &'b Builder<'b>,
    has_prompts: bool,
    /// New tokens.
    tokens: u64,
}

impl Step<'_> {
    /// What the engine does before it launches a step: it waits until the step before the last is done, or, if it
    /// schedules late, the last.
    fn schedule(&self) -> Vec<Node> {
        let late = self.builder.faults.between(Fault::LateScheduler, 5e3, 2e7);
        let pause = late.map_or(25_000, |pause| pause as u64);
        let waits = Node::AwaitMark(usize::from(late.is_none()));
        vec![code("vllm/v1/engine/core.py(762): run_busy_loop", vec![waits, Node::Pause(pause)])]
    }

    fn execute(&self) -> Vec<Node> {
        let builder = self.builder;
        let tokens = self.tokens;
        let mut work = builder.start_of_step();
        work.push(builder.upload(LONG, &[tokens], 8 * tokens, Stream::Compute));
        let layers = self.engine.layers;
        let generating = (builder.step - builder.step / ROUND) as usize;
        let (total_decodes, index) = ((ROUNDS * (ROUND - 1)) as usize, generating.saturating_sub(1));
        let is_captured =
            !self.has_prompts && !builder.faults.covers(Fault::UncapturedDecode, index, total_decodes);
        if is_captured {
            let kernels = (0..layers).flat_map(|_| self.layer_kernels()).collect();
            work.push(code("torch/cuda/graphs.py(139): replay", vec![Node::Graph(kernels)]));
        } else {
            for layer in 0..layers {
                for operator in self.layer(layer, !self.has_prompts) {
                    let pause = Node::Pause(self.engine.python_ns);
                    work.push(code("vllm/model_executor/custom_op.py(119): forward", vec![pause, operator]));
                }
                if self.has_prompts {
                    work.extend(builder.between_layers(layer, tokens * HIDDEN));
                }
            }
        }
        work.extend(self.choose());
        work.push(builder.readback(LONG, &[self.requests()], 8 * self.requests()));
        work.extend(builder.end_of_step());
        work.push(Node::Mark);
        let name = if self.has_prompts {
            format!("execute_context_{}({tokens})_generation_0(0)", self.engine.prompts.1)
        } else {
            format!("execute_context_0(0)_generation_{tokens}({tokens})")
        };
        vec![code("vllm/v1/worker/gpu_model_runner.py(2490): execute_model", vec![annotation(name, work)])]
    }

    fn requests(&self) -> u64 {
        if self.has_prompts { self.engine.prompts.1 } else { self.engine.requests }
    }

    /// Sizes of the layer's products.
    fn products(&self) -> [[u64; 3]; 4] {
        let tokens = self.tokens;
        [
            [tokens, (HEADS + 2 * KEY_HEADS) * HEAD, HIDDEN],
            [tokens, HIDDEN, HIDDEN],
            [tokens, 2 * FEED_FORWARD, HIDDEN],
            [tokens, HIDDEN, FEED_FORWARD],
        ]
    }

    fn streams(&self, kernel: Kernel, bytes: u64) -> Kernel {
        self.builder.device.streams(kernel, bytes)
    }

    /// Norm with or without the sum, rotation, keys and values into the cache, attention, activation.
    fn norm(&self) -> Kernel {
        self.streams(kernels::rms_norm(self.tokens, HIDDEN), 8 * self.tokens * HIDDEN)
    }

    fn rotary(&self) -> Kernel {
        let width = (HEADS + KEY_HEADS) * HEAD;
        self.streams(kernels::rotary(self.tokens, width), 4 * self.tokens * width)
    }

    fn store(&self) -> Kernel {
        let width = KEY_HEADS * HEAD;
        self.streams(kernels::store_keys(self.tokens, width), 8 * self.tokens * width)
    }

    fn activate(&self) -> Kernel {
        self.streams(kernels::silu_and_mul(self.tokens, FEED_FORWARD), 6 * self.tokens * FEED_FORWARD)
    }

    fn attend(&self) -> Kernel {
        let flavour = self.builder.device.flavour;
        let Engine { requests, cached, prompts, .. } = self.engine;
        if self.has_prompts {
            let sequence = prompts.0 / prompts.1;
            let attention = self.builder.device.attention([prompts.1, HEADS, sequence, HEAD]);
            if flavour == Flavour::Cuda {
                return attention;
            }
            let kernel = kernels::paged_attention(
                flavour,
                PagedAttention::Prompts,
                [HEADS, HEAD],
                prompts.0,
                sequence,
            );
            return Kernel { duration: attention.duration, ..kernel };
        }
        let kernel =
            kernels::paged_attention(flavour, PagedAttention::Generation, [HEADS, HEAD], requests, cached);
        self.streams(kernel, 4 * KEY_HEADS * HEAD * requests * cached)
    }

    fn layer_kernels(&self) -> Vec<Kernel> {
        let [qkv, out, gate_up, down] =
            self.products().map(|size| self.builder.device.product(Precision::Bf16, size));
        let (norm, rotary, store) = (self.norm(), self.rotary(), self.store());
        vec![norm, qkv, rotary, store, self.attend(), out, self.norm(), gate_up, self.activate(), down]
    }

    fn layer(&self, layer: usize, has_faults_of_decode: bool) -> Vec<Node> {
        let builder = self.builder;
        let tokens = self.tokens;
        let residual = || bf16(&[tokens, HIDDEN]);
        let query = || bf16(&[tokens, HEADS, HEAD]);
        let key = || bf16(&[tokens, KEY_HEADS, HEAD]);
        let epsilon = || Argument::Scalar("1.0000000000000001e-05");
        let launch = |name, arguments: &[Argument], kernel| {
            op(name, builder.arguments(arguments), vec![Node::Launch(kernel)])
        };
        let cache = || bf16(&[8_192, 16, KEY_HEADS, HEAD]);
        let stores = launch(
            "_C_cache_ops::reshape_and_cache_flash",
            &[key(), key(), cache(), cache(), tensor(LONG, &[tokens])],
            self.store(),
        );
        let products = self.products();
        let product = |place: usize| {
            let size = products[place];
            let mut kernel = builder.device.product(Precision::Bf16, size);
            if place == 2 && !has_faults_of_decode {
                let slower = builder.faults.slowdown(Fault::SlowProduct, 30.0);
                kernel.duration = (kernel.duration as f64 * slower) as u64;
            }
            builder.mm_with(size, kernel)
        };
        let is_wide = |place: usize| {
            builder.faults.covers(
                Fault::WideProducts,
                place * self.engine.layers + layer,
                4 * self.engine.layers,
            )
        };
        let multiply =
            |place: usize| if is_wide(place) { builder.wide_mm(products[place]) } else { product(place) };
        let mut work = vec![
            launch("_C::rms_norm", &[residual(), residual(), bf16(&[HIDDEN]), epsilon()], {
                self.streams(kernels::rms_norm(tokens, HIDDEN), 4 * tokens * HIDDEN)
            }),
            multiply(0),
            launch(
                "_C::rotary_embedding",
                &[tensor(LONG, &[tokens]), bf16(&[tokens, HEADS * HEAD]), bf16(&[tokens, KEY_HEADS * HEAD])],
                self.rotary(),
            ),
            op(
                "vllm::unified_attention_with_output",
                builder.arguments(&[query(), key(), key(), query()]),
                vec![stores, Node::Launch(self.attend())],
            ),
            multiply(1),
        ];
        let operands = [residual(), residual(), bf16(&[HIDDEN]), epsilon()];
        work.push(launch("_C::fused_add_rms_norm", &operands, self.norm()));
        work.push(multiply(2));
        let slower = builder.faults.slowdown(Fault::SlowMemory, 40.0);
        let mut activation = self.activate();
        activation.duration = (activation.duration as f64 * slower) as u64;
        let operands = [bf16(&[tokens, FEED_FORWARD]), bf16(&[tokens, 2 * FEED_FORWARD])];
        work.push(launch("_C::silu_and_mul", &operands, activation));
        work.push(multiply(3));
        work
    }

    /// The last token of every request through the head, and the likeliest next one.
    fn choose(&self) -> Vec<Node> {
        let builder = self.builder;
        let requests = self.requests();
        let gather = self.streams(kernels::gather_rows(requests, HIDDEN), 4 * requests * HIDDEN);
        let select = op(
            "aten::index",
            builder.arguments(&[bf16(&[self.tokens, HIDDEN]), tensor(LONG, &[requests])]),
            vec![Node::Launch(gather)],
        );
        let argmax = self.streams(kernels::argmax(requests, VOCABULARY), 2 * requests * VOCABULARY);
        let likeliest = op(
            "aten::argmax",
            builder.arguments(&[
                bf16(&[requests, VOCABULARY]),
                Argument::Scalar("-1"),
                Argument::Scalar("False"),
            ]),
            vec![Node::Call(Call::QueryCapture), Node::Launch(argmax)],
        );
        vec![select, builder.mm([requests, VOCABULARY, HIDDEN]), likeliest]
    }
}
