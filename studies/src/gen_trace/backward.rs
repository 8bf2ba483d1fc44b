//! The backward pass of one layer, on autograd's own thread, and the gradients' exchange.

use std::rc::Rc;

use super::forward::{Recipe, slot};
use super::kernels;
use super::model::Shape;
use super::plan::{Gradient, Node, graded, op};
use super::signature::{Argument, FLOAT, bf16, bf16_transposed, list, tensor};
use super::step::Collective;

impl Recipe {
    /// The layer's gradients, last op first.
    pub(super) fn backward_layer(&self) -> Vec<Node> {
        let Shape { batch, sequence, model } = self.shape;
        let residual = bf16(&self.residual());
        let inner = bf16(&[batch, sequence, model.feed_forward]);
        let (hidden, feed_forward) = (model.hidden, model.feed_forward);
        vec![
            self.engine(slot::ADD_2, "AddBackward0", &residual, Vec::new()),
            self.engine(slot::SCALE, "MulBackward0", &residual, vec![self.multiply(), self.multiply()]),
            self.addmm_backward(slot::DOWN, feed_forward, hidden),
            self.accumulate(&[hidden, feed_forward]),
            self.engine(slot::GELU, "GeluBackward0", &inner, vec![self.gelu_backward()]),
            self.addmm_backward(slot::UP, hidden, feed_forward),
            self.accumulate(&[feed_forward, hidden]),
            self.norm_backward(slot::NORM_2),
            self.engine(slot::ADD_1, "AddBackward0", &residual, vec![self.add_in_place(&self.residual())]),
            self.addmm_backward(slot::PROJECTION, hidden, hidden),
            self.attention_backward(),
            self.addmm_backward(slot::QKV, hidden, 3 * hidden),
            self.norm_backward(slot::NORM_1),
            self.accumulate(&[3 * hidden, hidden]),
        ]
    }

    /// The exchange of the layer's bucket of gradients between the ranks.
    pub(super) fn exchange_gradients(&self) -> Node {
        self.collective(&Collective::all_reduce(self.shape.layer_parameters()))
    }

    /// What autograd's engine records around a gradient: itself, then the gradient's function.
    fn engine(&self, place: usize, function: &'static str, gradient: &Argument, children: Vec<Node>) -> Node {
        let replay = graded(
            Gradient::Replays(place),
            function,
            self.arguments(std::slice::from_ref(gradient)),
            children,
        );
        let name = format!("autograd::engine::evaluate_function: {function}");
        graded(Gradient::Evaluates(place), name, Rc::from(""), vec![replay])
    }

    /// The two products of a projection's gradient, and the sum for its bias.
    fn addmm_backward(&self, place: usize, inputs: u64, outputs: u64) -> Node {
        let rows = self.shape.tokens();
        let input_gradient = op(
            "aten::mm",
            self.arguments(&[bf16(&[rows, outputs]), bf16(&[outputs, inputs])]),
            vec![
                Node::Memory((2 * rows * inputs) as i64),
                Node::Launch(kernels::gemm(self.flavour, [rows, inputs, outputs])),
            ],
        );
        let weight_gradient = op(
            "aten::mm",
            self.arguments(&[bf16_transposed(&[outputs, rows]), bf16(&[rows, inputs])]),
            vec![
                Node::Memory((2 * outputs * inputs) as i64),
                Node::Launch(kernels::gemm(self.flavour, [outputs, inputs, rows])),
            ],
        );
        let bias = op(
            "aten::sum",
            self.arguments(&[bf16(&[rows, outputs]), list(&[0]), Argument::Scalar("True"), Argument::Absent]),
            vec![Node::Launch(kernels::sum(rows, outputs))],
        );
        self.engine(
            place,
            "AddmmBackward0",
            &bf16(&[rows, outputs]),
            vec![input_gradient, weight_gradient, bias, Node::Memory(-((2 * rows * outputs) as i64))],
        )
    }

    /// Adds a weight's gradient to what is there already.
    fn accumulate(&self, weight: &[u64]) -> Node {
        let none: Rc<str> = "".into();
        let function = "torch::autograd::AccumulateGrad";
        let add = op(function, self.arguments(&[bf16(weight)]), vec![self.add_in_place(weight)]);
        graded(Gradient::None, format!("autograd::engine::evaluate_function: {function}"), none, vec![add])
    }

    fn add_in_place(&self, dims: &[u64]) -> Node {
        let launch = Node::Launch(kernels::elementwise(kernels::ADD, 3, dims.iter().product()));
        op("aten::add_", self.arguments(&[bf16(dims), bf16(dims), Argument::Scalar("1")]), vec![launch])
    }

    fn multiply(&self) -> Node {
        let dims = self.residual();
        let launch = Node::Launch(kernels::elementwise(kernels::MULTIPLY, 3, dims.iter().product()));
        op("aten::mul", self.arguments(&[bf16(&dims), bf16(&dims)]), vec![launch])
    }

    fn gelu_backward(&self) -> Node {
        let Shape { batch, sequence, model } = self.shape;
        let dims = [batch, sequence, model.feed_forward];
        let launch = Node::Launch(kernels::elementwise(kernels::GELU_BACKWARD, 3, dims.iter().product()));
        let arguments = self.arguments(&[bf16(&dims), bf16(&dims), Argument::Absent]);
        op("aten::gelu_backward", arguments, vec![launch])
    }

    fn norm_backward(&self, place: usize) -> Node {
        let dims = self.residual();
        let [batch, sequence, hidden] = dims;
        let statistics = || tensor(FLOAT, &[batch, sequence, 1]);
        let arguments = self.arguments(&[
            bf16(&dims),
            bf16(&dims),
            list(&[hidden]),
            statistics(),
            statistics(),
            bf16(&[hidden]),
            bf16(&[hidden]),
            Argument::List("[True, True, True]".into()),
        ]);
        let launches = kernels::layer_norm_backward(self.shape.tokens(), hidden).map(Node::Launch).into();
        let native = op("aten::native_layer_norm_backward", arguments, launches);
        self.engine(place, "NativeLayerNormBackward0", &bf16(&dims), vec![native])
    }

    fn attention_backward(&self) -> Node {
        let heads = self.heads();
        let [batch, count, sequence, _] = heads;
        let tensors = [bf16(&heads), bf16(&heads), bf16(&heads), bf16(&heads), bf16(&heads)];
        let rest = [
            tensor(FLOAT, &[batch, count, sequence]),
            Argument::Absent,
            Argument::Absent,
            Argument::Number(sequence),
            Argument::Number(sequence),
            Argument::Scalar("0."),
            Argument::Scalar("True"),
        ];
        let arguments = self.arguments(&[&tensors[..], &rest].concat());
        let launches = kernels::attention_backward(self.flavour, heads).map(Node::Launch).into();
        let inner = op("aten::_flash_attention_backward", arguments.clone(), launches);
        let outer = op("aten::_scaled_dot_product_flash_attention_backward", arguments, vec![inner]);
        self.engine(slot::ATTENTION, "ScaledDotProductFlashAttentionBackward0", &bf16(&heads), vec![outer])
    }
}
