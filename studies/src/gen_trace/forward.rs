//! The forward pass of one transformer layer, as the profiler sees it.

use std::rc::Rc;

use super::flavour::{Call, Flavour};
use super::json::Layout;
use super::kernels;
use super::model::Shape;
use super::plan::{FrameName, Gradient, Node, code, frame, graded, op};
use super::signature::{Argument, BF16, FLOAT, LONG, bf16, bf16_transposed, list, render};

/// Places on a layer's tape: the ops that record a gradient, in the order of the forward pass.
pub(super) mod slot {
    pub(in super::super) const NORM_1: usize = 0;
    pub(in super::super) const QKV: usize = 1;
    pub(in super::super) const ATTENTION: usize = 2;
    pub(in super::super) const PROJECTION: usize = 3;
    pub(in super::super) const ADD_1: usize = 4;
    pub(in super::super) const NORM_2: usize = 5;
    pub(in super::super) const UP: usize = 6;
    pub(in super::super) const GELU: usize = 7;
    pub(in super::super) const DOWN: usize = 8;
    pub(in super::super) const SCALE: usize = 9;
    pub(in super::super) const ADD_2: usize = 10;
}

/// What the plans of one step are made for.
#[derive(Clone, Copy)]
pub(super) struct Recipe {
    pub(super) flavour: Flavour,
    pub(super) layout: Layout,
    pub(super) shape: Shape,
}

const CALL_IMPL: &str = "torch/nn/modules/module.py(1776): _call_impl";
const LINEAR_FORWARD: &str = "torch/nn/modules/linear.py(125): forward";
const NORM_FORWARD: &str = "torch/nn/modules/normalization.py(229): forward";
const BUILTIN_LINEAR: &str = "<built-in function linear>";
const ISINSTANCE: &str = "<built-in function isinstance>";
const TRACING_STATE: &str = "<built-in method _get_tracing_state of PyCapsule object at 0x7f0ca9ef07e0>";
const GETATTR: &str = "torch/nn/modules/module.py(1949): __getattr__";

impl Recipe {
    pub(super) fn arguments(&self, arguments: &[Argument]) -> Rc<str> {
        render(arguments, self.layout)
    }

    /// Dims of the layer's input and output.
    pub(super) fn residual(&self) -> [u64; 3] {
        [self.shape.batch, self.shape.sequence, self.shape.model.hidden]
    }

    /// Dims of what attention works on.
    pub(super) fn heads(&self) -> [u64; 4] {
        [self.shape.batch, self.shape.model.heads, self.shape.sequence, self.shape.head()]
    }

    /// The layer as nested modules.
    pub(super) fn forward_layer(&self) -> Vec<Node> {
        let (hidden, inner) = (self.shape.model.hidden, self.shape.model.feed_forward);
        let attention = module(
            ("SelfAttention", 1, 0),
            "model/attention.py(58): forward",
            vec![
                parameter(),
                self.projection(0, hidden, 3 * hidden),
                self.attention(),
                self.projection(1, hidden, hidden),
            ],
        );
        let feed_forward = module(
            ("FeedForward", 1, 0),
            "model/feed_forward.py(31): forward",
            vec![
                self.projection(2, hidden, inner),
                parameter(),
                self.gelu(),
                self.projection(3, inner, hidden),
            ],
        );
        vec![module(
            ("TransformerLayer", 1, 0),
            "model/layer.py(74): forward",
            vec![
                code(ISINSTANCE, Vec::new()),
                self.norm(0),
                attention,
                self.add(),
                self.norm(1),
                feed_forward,
                self.scale(),
                self.add(),
            ],
        )]
    }

    fn norm(&self, offset: u64) -> Node {
        let dims = self.residual();
        let hidden = dims[2];
        let common = [bf16(&dims), list(&[hidden]), bf16(&[hidden]), bf16(&[hidden])];
        let epsilon = Argument::Scalar("1.0000000000000001e-05");
        let outer = [&common[..], &[epsilon.clone(), Argument::Scalar("True")]].concat();
        let inner = [&common[..], &[epsilon]].concat();
        let native = graded(
            Gradient::Records,
            "aten::native_layer_norm",
            self.arguments(&inner),
            vec![self.empty(BF16, &dims), Node::Launch(kernels::layer_norm(self.shape.tokens(), hidden))],
        );
        let op = graded(Gradient::Announces, "aten::layer_norm", self.arguments(&outer), vec![native]);
        let builtin = code("<built-in method layer_norm of type object at 0x7f2e01de4d20>", vec![op]);
        let call =
            code("torch/nn/functional.py(2901): layer_norm", vec![code(ISINSTANCE, Vec::new()), builtin]);
        module(("LayerNorm", 2, offset), NORM_FORWARD, vec![parameter(), parameter(), call])
    }

    /// `aten::linear` on the batch, which ends in one `aten::addmm` on its rows.
    fn projection(&self, offset: u64, inputs: u64, outputs: u64) -> Node {
        let Shape { batch, sequence, .. } = self.shape;
        let rows = self.shape.tokens();
        let input = [batch, sequence, inputs];
        let weight = [outputs, inputs];
        let transpose = op(
            "aten::t",
            self.arguments(&[bf16(&weight)]),
            vec![op(
                "aten::transpose",
                self.arguments(&[bf16(&weight), Argument::Scalar("0"), Argument::Scalar("1")]),
                vec![op(
                    "aten::as_strided",
                    self.arguments(&[
                        bf16(&weight),
                        list(&[inputs, outputs]),
                        list(&[1, inputs]),
                        Argument::Absent,
                    ]),
                    Vec::new(),
                )],
            )],
        );
        let one = Argument::Scalar("1");
        let product = graded(
            Gradient::Records,
            "aten::addmm",
            self.arguments(&[
                bf16(&[outputs]),
                bf16(&[rows, inputs]),
                bf16_transposed(&[inputs, outputs]),
                one.clone(),
                one,
            ]),
            vec![
                Node::Memory((2 * rows * outputs) as i64),
                Node::Call(Call::SetFunctionAttribute),
                Node::Launch(kernels::gemm(self.flavour, [rows, outputs, inputs])),
            ],
        );
        let view = self.view(&input, &[rows, inputs]);
        let linear = graded(
            Gradient::Announces,
            "aten::linear",
            self.arguments(&[bf16(&input), bf16(&weight), bf16(&[outputs])]),
            vec![transpose, view, product],
        );
        module(
            ("Linear", 4, offset),
            LINEAR_FORWARD,
            vec![parameter(), parameter(), code(BUILTIN_LINEAR, vec![linear])],
        )
    }

    fn attention(&self) -> Node {
        let heads = self.heads();
        let [batch, count, sequence, head] = heads;
        let queries = || bf16(&heads);
        let (zero, causal, debug) =
            (Argument::Scalar("0."), Argument::Scalar("True"), Argument::Scalar("False"));
        let row_major = || {
            Argument::Tensor(
                BF16,
                vec![batch, sequence, count, head],
                vec![count * sequence * head, head, sequence * head, 1],
            )
        };
        let forward = op(
            "aten::_flash_attention_forward",
            self.arguments(&[
                row_major(),
                row_major(),
                row_major(),
                Argument::Absent,
                Argument::Absent,
                Argument::Number(sequence),
                Argument::Number(sequence),
                zero.clone(),
                causal.clone(),
                debug.clone(),
                Argument::Absent,
            ]),
            vec![
                self.empty(BF16, &[batch, sequence, count, head]),
                Node::Memory((2 * batch * count * sequence * head) as i64),
                Node::Launch(kernels::attention(self.flavour, heads)),
            ],
        );
        let common = [queries(), queries(), queries()];
        let flash = graded(
            Gradient::Records,
            "aten::_scaled_dot_product_flash_attention",
            self.arguments(&[&common[..], &[zero.clone(), causal.clone(), debug, Argument::Absent]].concat()),
            vec![self.transpose(&heads), self.transpose(&heads), self.transpose(&heads), forward],
        );
        let op = graded(
            Gradient::Announces,
            "aten::scaled_dot_product_attention",
            self.arguments(&[&common[..], &[Argument::Absent, zero, causal, Argument::Absent]].concat()),
            vec![flash],
        );
        code("<built-in function scaled_dot_product_attention>", vec![op])
    }

    fn gelu(&self) -> Node {
        let Shape { batch, sequence, model } = self.shape;
        let dims = [batch, sequence, model.feed_forward];
        let elements = dims.iter().product();
        let op = graded(
            Gradient::Records,
            "aten::gelu",
            self.arguments(&[bf16(&dims), Argument::Absent]),
            vec![
                Node::Memory(2 * elements as i64),
                Node::Launch(kernels::elementwise(kernels::GELU, 2, elements)),
            ],
        );
        module(
            ("GELU", 1, 0),
            "torch/nn/modules/activation.py(734): forward",
            vec![code("<built-in function gelu>", vec![op])],
        )
    }

    fn scale(&self) -> Node {
        let dims = self.residual();
        let launch = Node::Launch(kernels::elementwise(kernels::MULTIPLY, 3, dims.iter().product()));
        let arguments = self.arguments(&[bf16(&dims), bf16(&[dims[2]])]);
        graded(Gradient::Records, "aten::mul", arguments, vec![launch])
    }

    fn add(&self) -> Node {
        let dims = self.residual();
        let launch = Node::Launch(kernels::elementwise(kernels::ADD, 3, dims.iter().product()));
        let arguments = self.arguments(&[bf16(&dims), bf16(&dims), Argument::Scalar("1")]);
        graded(Gradient::Records, "aten::add", arguments, vec![launch])
    }

    pub(super) fn view(&self, from: &[u64], to: &[u64]) -> Node {
        op("aten::view", self.arguments(&[bf16(from), list(to)]), Vec::new())
    }

    fn transpose(&self, dims: &[u64]) -> Node {
        let arguments = [bf16(dims), Argument::Scalar("1"), Argument::Scalar("2")];
        op("aten::transpose", self.arguments(&arguments), Vec::new())
    }

    /// An allocation. Element types have PyTorch's numbers here.
    pub(super) fn empty(&self, element: &str, dims: &[u64]) -> Node {
        let number = match element {
            LONG => "4",
            FLOAT => "6",
            _ => "15",
        };
        let fixed = [Argument::Scalar(number), Argument::Absent, Argument::Absent, Argument::Scalar("False")];
        let arguments = [&[list(dims)], &fixed[..], &[Argument::Absent]].concat();
        op("aten::empty", self.arguments(&arguments), Vec::new())
    }
}

/// Python reads a parameter or a submodule.
pub(super) fn parameter() -> Node {
    code(GETATTR, vec![code(ISINSTANCE, Vec::new())])
}

/// A module: its frame, the call machinery, its `forward`.
pub(super) fn module(name: (&'static str, u64, u64), forward: &'static str, children: Vec<Node>) -> Node {
    let (class, per_layer, offset) = name;
    let call = code(CALL_IMPL, vec![code(TRACING_STATE, Vec::new()), code(forward, children)]);
    frame(FrameName::Module { class, per_layer, offset }, vec![call])
}
