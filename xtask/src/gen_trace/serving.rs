//! Steps of an inference engine: prompts op by op, generation as the replay of a captured graph.

use std::rc::Rc;

use super::flavour::{Call, Direction, Flavour};
use super::json::Layout;
use super::kernels;
use super::plan::{Kernel, Node, Transfer, annotation, code, op};
use super::random::Random;
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Batch {
    context_requests: u64,
    context_tokens: u64,
    generation_requests: u64,
}

impl Batch {
    /// What the engine does in turn: prompts of a few requests, generation, a prompt beside it, generation.
    pub(super) fn round(random: &mut Random) -> Vec<Batch> {
        let prompts = |random: &mut Random, requests| Batch {
            context_requests: requests,
            context_tokens: (0..requests).map(|_| random.between(40, 700)).sum(),
            generation_requests: 0,
        };
        let generation =
            |requests| Batch { context_requests: 0, context_tokens: 0, generation_requests: requests };
        let requests = random.between(3, 9);
        let first = prompts(random, requests);
        let beside = Batch { generation_requests: requests, ..prompts(random, 1) };
        let mut round = vec![first];
        round.extend([generation(requests); 3]);
        round.push(beside);
        round.extend([generation(requests + 1); 3]);
        round
    }

    fn requests(self) -> u64 {
        self.context_requests + self.generation_requests
    }

    fn tokens(self) -> u64 {
        self.context_tokens + self.generation_requests
    }

    /// The engine's annotation of the step.
    fn name(self) -> String {
        let Batch { context_requests, context_tokens, generation_requests } = self;
        format!(
            "execute_context_{context_requests}({context_tokens})_generation_{generation_requests}({generation_requests})"
        )
    }
}

/// What the plans of steps are made for.
#[derive(Clone, Copy)]
pub(super) struct Engine {
    pub(super) flavour: Flavour,
    pub(super) layout: Layout,
}

impl Engine {
    fn arguments(self, arguments: &[Argument]) -> Rc<str> {
        render(arguments, self.layout)
    }

    /// One step: inputs to the device, the model, a token for each request and back with it.
    pub(super) fn step(self, batch: Batch) -> Vec<Node> {
        let mut work =
            vec![Node::Copy(Transfer { direction: Direction::HostToDevice, bytes: 8 * batch.tokens() })];
        match batch.context_requests {
            0 => work.push(code(
                "torch/cuda/graphs.py(139): replay",
                vec![Node::Graph((0..LAYERS).flat_map(|_| self.layer_kernels(batch.tokens())).collect())],
            )),
            _ => work.extend((0..LAYERS).flat_map(|_| self.layer(batch.tokens()))),
        }
        work.extend(self.choose(batch));
        work.push(Node::Copy(Transfer { direction: Direction::DeviceToHost, bytes: 8 * batch.requests() }));
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

    fn layer(self, tokens: u64) -> Vec<Node> {
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
        let attend = Node::Launch(kernels::attention(self.flavour, [1, HEADS, tokens, HEAD]));
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
                vec![store, attend],
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

    fn layer_kernels(self, tokens: u64) -> Vec<Kernel> {
        vec![
            kernels::rms_norm(tokens, HIDDEN),
            kernels::gemm(self.flavour, [tokens, (HEADS + 2 * KEY_HEADS) * HEAD, HIDDEN]),
            kernels::rotary(tokens, (HEADS + KEY_HEADS) * HEAD),
            kernels::store_keys(tokens, KEY_HEADS * HEAD),
            kernels::attention(self.flavour, [tokens, HEADS, 1, HEAD]),
            kernels::gemm(self.flavour, [tokens, HIDDEN, HIDDEN]),
            kernels::rms_norm(tokens, HIDDEN),
            kernels::gemm(self.flavour, [tokens, 2 * FEED_FORWARD, HIDDEN]),
            kernels::silu_and_mul(tokens, FEED_FORWARD),
            kernels::gemm(self.flavour, [tokens, HIDDEN, FEED_FORWARD]),
        ]
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
