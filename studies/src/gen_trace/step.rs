//! The parts of a training step around forward and backward: batch, loss, optimiser, collectives,
//! a captured graph.

use std::rc::Rc;

use super::flavour::{Call, Direction, Flavour, Stream};
use super::forward::Recipe;
use super::json::Layout;
use super::kernels;
use super::model::Shape;
use super::plan::{Node, Transfer, annotation, code, op};
use super::signature::{Argument, FLOAT, LONG, bf16, list, render, tensor};

/// Processes that train together.
pub(super) const WORLD_SIZE: u64 = 8;

/// Weights in one call of the fused optimiser.
const OPTIMISER_CHUNKS: u64 = 4;

/// How parameters are updated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Optimizer {
    /// AdamW in one operator, each rank a part.
    Fused,
    /// AdamW by operators on lists of weights, each rank a part.
    Foreach,
    /// SGD with momentum, weight after weight.
    ForLoop,
    /// Adam of the Apex library.
    Apex,
}

impl Optimizer {
    pub(super) const ALL: [Optimizer; 4] =
        [Optimizer::Fused, Optimizer::Foreach, Optimizer::ForLoop, Optimizer::Apex];
}

/// A collective of all ranks on bf16 elements.
pub(super) struct Collective {
    name: &'static str,
    dispatched_as: &'static str,
    annotation: &'static str,
    kernel: &'static str,
    input_elements: u64,
    output_elements: u64,
}

impl Collective {
    pub(super) fn all_reduce(elements: u64) -> Self {
        Self {
            name: "allreduce",
            dispatched_as: "c10d::allreduce_",
            annotation: "nccl:all_reduce",
            kernel: "AllReduce_Sum_bf16",
            input_elements: elements,
            output_elements: elements,
        }
    }

    /// From every rank `elements` to all of them, a part for each.
    pub(super) fn all_to_all(elements: u64) -> Self {
        Self {
            name: "all_to_allv",
            dispatched_as: "c10d::alltoall_base_",
            annotation: "nccl:all_to_all",
            kernel: "SendRecv",
            input_elements: elements,
            output_elements: elements,
        }
    }

    /// Every rank's `elements` to all of them.
    fn all_gather(elements: u64) -> Self {
        Self {
            name: "_allgather_base",
            dispatched_as: "c10d::_allgather_base_",
            annotation: "nccl:_all_gather_base",
            kernel: "AllGather",
            input_elements: elements,
            output_elements: elements * WORLD_SIZE,
        }
    }

    /// The dispatcher's op, the op that describes it, and the launch on its own stream of a kernel that takes so many
    /// nanoseconds, or as many as such a collective usually does.
    pub(super) fn node(&self, flavour: Flavour, layout: Layout, duration: Option<u64>) -> Node {
        let (comma, colon) = (layout.comma(), layout.colon());
        let input = Argument::Tensors(vec![vec![self.input_elements]]);
        let text = |key: &str, value: &str| format!("\"{key}\"{colon}\"{value}\"");
        let number = |key: &str, value: u64| format!("\"{key}\"{colon}{value}");
        let about = [
            text("Collective name", self.name),
            number("In msg nelems", self.input_elements),
            number("Out msg nelems", self.output_elements),
            number("Group size", WORLD_SIZE),
            text("dtype", "BFloat16"),
            text("In split size", "[]"),
            text("Out split size", "[]"),
            text("Process Group Name", "0"),
            text("Process Group Description", "default_pg"),
            text("Process Group Ranks", &ranks()),
        ]
        .join(comma);
        let placement =
            [number("Rank", flavour.rank()), number("Global rank start", 0), number("Global rank stride", 1)]
                .join(comma);
        let described: Rc<str> = [
            &*render(
                &[
                    input.clone(),
                    Argument::Absent,
                    Argument::Absent,
                    Argument::Number(flavour.rank()),
                    Argument::Scalar(self.name),
                    list(&[]),
                    list(&[]),
                    Argument::Scalar("0"),
                    Argument::Scalar("1"),
                    Argument::Number(WORLD_SIZE),
                ],
                layout,
            ),
            &about,
            &placement,
        ]
        .join(comma)
        .into();
        let bytes = 2 * self.input_elements.max(self.output_elements);
        let mut kernel = kernels::collective(flavour, self.kernel, bytes, about.into());
        kernel.duration = duration.unwrap_or(kernel.duration);
        let launch = Node::Launch(kernel);
        let work = annotation(
            self.annotation,
            vec![
                Node::Call(Call::QueryCapture),
                Node::Call(Call::RecordEvent),
                Node::Call(Call::WaitEvent),
                launch,
                Node::Call(Call::RecordEvent),
            ],
        );
        let describing = op("record_param_comms", described, vec![work]);
        op(
            self.dispatched_as,
            render(&[input, Argument::Absent, Argument::Absent, Argument::Scalar("-1")], layout),
            vec![describing],
        )
    }
}

/// The ranks of the only process group, as the recorder writes them: a text.
pub(super) fn ranks() -> String {
    let ranks: Vec<String> = (0..WORLD_SIZE).map(|rank| rank.to_string()).collect();
    format!("[{}]", ranks.join(", "))
}

impl Recipe {
    /// Reads a batch: two copies over the bus and a conversion. The host waits for copies that are in order with the
    /// computation; for those beside it only the computation does.
    pub(super) fn load_batch(&self, copies: Stream) -> Vec<Node> {
        let Shape { batch, sequence, model } = self.shape;
        let tokens = [batch, sequence];
        let copy = |element, dims: &[u64], bytes| {
            let both = [tensor(element, dims), tensor(element, dims)];
            let transfer = Transfer { stream: copies, ..Transfer::new(Direction::HostToDevice, bytes) };
            let mut work = vec![Node::Copy(transfer)];
            // HIP's copy with a stream waits by itself.
            if copies != Stream::Compute {
                work.push(Node::Await(copies));
            } else if self.flavour == Flavour::Cuda {
                work.push(Node::Call(Call::SynchronizeStream));
            }
            let copy =
                op("aten::copy_", self.arguments(&[&both[..], &[Argument::Scalar("False")]].concat()), work);
            let options = [Argument::Absent, Argument::Absent, Argument::Scalar("False"), Argument::Absent];
            let arguments = self.arguments(&[&both[..1], &options].concat());
            let cast = op("aten::_to_copy", arguments.clone(), vec![self.empty(element, dims), copy]);
            code(
                "<built-in method to of Tensor object at 0x7f9e4612a3b0>",
                vec![op("aten::to", arguments, vec![cast])],
            )
        };
        let convert = op(
            "aten::copy_",
            self.arguments(&[
                bf16(&self.residual()),
                tensor(FLOAT, &self.residual()),
                Argument::Scalar("False"),
            ]),
            vec![Node::Launch(kernels::elementwise(kernels::CONVERT, 2, self.residual().iter().product()))],
        );
        let count = self.shape.tokens();
        vec![code(
            "train.py(41): load_batch",
            vec![
                copy(LONG, &tokens, 8 * count),
                copy(FLOAT, &[batch, sequence, model.hidden], 4 * count * model.hidden),
                convert,
            ],
        )]
    }

    /// Zeroes the gradients: one by setting memory, one by a kernel.
    pub(super) fn zero_gradients(&self) -> Vec<Node> {
        let hidden = self.shape.model.hidden;
        let weight = tensor(FLOAT, &[hidden, hidden]);
        let by_set = op(
            "aten::zero_",
            self.arguments(std::slice::from_ref(&weight)),
            vec![Node::Set(4 * hidden * hidden)],
        );
        let fill = op(
            "aten::fill_",
            self.arguments(&[weight.clone(), Argument::Scalar("0")]),
            vec![Node::Launch(kernels::elementwise(kernels::FILL, 1, hidden * hidden))],
        );
        let by_kernel = op("aten::zero_", self.arguments(&[weight]), vec![fill]);
        let inside = annotation("Optimizer.zero_grad#AdamW.zero_grad", vec![by_set, by_kernel]);
        vec![code("torch/optim/optimizer.py(958): zero_grad", vec![inside])]
    }

    /// The optimiser's step, then, where each rank updates a part, the exchange of the parts.
    pub(super) fn optimise(&self, optimizer: Optimizer) -> Vec<Node> {
        let parameters = self.shape.layer_parameters() * self.shape.model.layers;
        let (name, update) = match optimizer {
            Optimizer::Fused => ("Optimizer.step#AdamW.step", self.update_fused(parameters / WORLD_SIZE)),
            Optimizer::Foreach => ("Optimizer.step#AdamW.step", self.update_foreach(parameters / WORLD_SIZE)),
            Optimizer::ForLoop => ("Optimizer.step#SGD.step", self.update_each()),
            Optimizer::Apex => ("Optimizer.step#FusedAdam.step", Self::update_by_apex(parameters)),
        };
        let mut work = vec![code("torch/optim/optimizer.py(485): wrapper", vec![annotation(name, update)])];
        if matches!(optimizer, Optimizer::Fused | Optimizer::Foreach) {
            let gather = self.collective(&Collective::all_gather(parameters / WORLD_SIZE));
            work.push(code(
                "torch/distributed/distributed_c10d.py(3943): all_gather_into_tensor",
                vec![code(
                    "<built-in method _allgather_base of PyCapsule object at 0x7f0ca91b1cb0>",
                    vec![gather],
                )],
            ));
        }
        work
    }

    /// The layers' weights as an optimiser's operators take them.
    fn weights(&self) -> Argument {
        let Shape { model, .. } = self.shape;
        Argument::Tensors(vec![
            vec![model.hidden, model.hidden],
            vec![model.feed_forward, model.hidden],
            vec![model.hidden],
        ])
    }

    fn update_fused(&self, parameters: u64) -> Vec<Node> {
        let lists = self.weights();
        let steps = Argument::Tensors(vec![Vec::new(), Vec::new(), Vec::new()]);
        let count_up = op(
            "aten::_foreach_add_",
            self.arguments(&[steps.clone(), Argument::Scalar("1")]),
            vec![Node::Launch(kernels::elementwise(kernels::ADD, 2, 3))],
        );
        let chunk = parameters / OPTIMISER_CHUNKS;
        let fused = op(
            "aten::_fused_adamw_",
            self.arguments(&[
                lists.clone(),
                lists.clone(),
                lists.clone(),
                lists,
                Argument::Tensors(Vec::new()),
                steps,
                Argument::Scalar("0.00029999999999999997"),
                Argument::Scalar("0.90000000000000002"),
                Argument::Scalar("0.94999999999999996"),
                Argument::Scalar("0.10000000000000001"),
            ]),
            (0..OPTIMISER_CHUNKS).map(|_| Node::Launch(kernels::adamw(chunk))).collect(),
        );
        vec![count_up, fused]
    }

    fn update_foreach(&self, parameters: u64) -> Vec<Node> {
        let step = |name| {
            let launch = Node::Launch(kernels::for_each(parameters));
            op(name, self.arguments(&[self.weights(), self.weights(), Argument::Scalar("1")]), vec![launch])
        };
        [
            "aten::_foreach_add_",
            "aten::_foreach_mul_",
            "aten::_foreach_lerp_",
            "aten::_foreach_mul_",
            "aten::_foreach_addcmul_",
            "aten::_foreach_sqrt",
            "aten::_foreach_div_",
            "aten::_foreach_add_",
            "aten::_foreach_addcdiv_",
        ]
        .map(step)
        .into()
    }

    /// Momentum and update of one weight after the other.
    fn update_each(&self) -> Vec<Node> {
        let Shape { model, .. } = self.shape;
        let weight = [model.hidden, model.feed_forward];
        let step = |name, functor| {
            let launch = Node::Launch(kernels::elementwise(functor, 3, weight.iter().product()));
            op(name, self.arguments(&[bf16(&weight), bf16(&weight), Argument::Scalar("-0.01")]), vec![launch])
        };
        let weights = 4 * model.layers;
        (0..weights)
            .flat_map(|_| {
                [
                    ("aten::mul_", kernels::MULTIPLY),
                    ("aten::add_", kernels::ADD),
                    ("aten::add_", kernels::ADD),
                ]
            })
            .map(|(name, functor)| step(name, functor))
            .collect()
    }

    /// Kernels without operators around them.
    fn update_by_apex(parameters: u64) -> Vec<Node> {
        (0..OPTIMISER_CHUNKS)
            .map(|_| Node::Launch(kernels::apex_adam(parameters / OPTIMISER_CHUNKS)))
            .collect()
    }

    /// Replays a captured graph: one launch, many kernels, no op around it.
    pub(super) fn replay_graph(&self) -> Vec<Node> {
        let hidden = self.shape.model.hidden;
        let rows = self.shape.batch * 64;
        let layer = || {
            [
                kernels::layer_norm(rows, hidden),
                kernels::gemm(self.flavour, [rows, 3 * hidden, hidden]),
                kernels::attention(
                    self.flavour,
                    [self.shape.batch, self.shape.model.heads, 64, self.shape.head()],
                ),
                kernels::gemm(self.flavour, [rows, hidden, hidden]),
                kernels::elementwise(kernels::ADD, 3, rows * hidden),
            ]
        };
        vec![code(
            "torch/cuda/graphs.py(139): replay",
            vec![code(
                "<built-in method replay of CUDAGraph object at 0x7f0c1c5d7ab0>",
                vec![Node::Graph([layer(), layer(), layer()].into_iter().flatten().collect())],
            )],
        )]
    }

    /// The last projection and the loss; its gradient's first op, too.
    pub(super) fn loss(&self) -> Vec<Node> {
        let Shape { model, .. } = self.shape;
        let rows = self.shape.tokens();
        let logits = [rows, model.vocabulary];
        let product = op(
            "aten::mm",
            self.arguments(&[bf16(&[rows, model.hidden]), bf16(&[model.hidden, model.vocabulary])]),
            vec![Node::Launch(kernels::gemm(self.flavour, [rows, model.vocabulary, model.hidden]))],
        );
        let mean = op(
            "aten::sum",
            self.arguments(&[bf16(&logits), list(&[0, 1]), Argument::Scalar("False"), Argument::Absent]),
            vec![Node::Launch(kernels::sum(rows, model.vocabulary))],
        );
        vec![code("train.py(63): loss", vec![product, mean])]
    }

    /// Reads the loss back: a copy that waits for everything before it.
    pub(super) fn read_loss(&self) -> Vec<Node> {
        let scalar = self.arguments(&[tensor(FLOAT, &[])]);
        let mut work = vec![Node::Copy(Transfer::new(Direction::DeviceToHost, 4))];
        work.push(Node::Call(Call::SynchronizeStream));
        let dense = op("aten::_local_scalar_dense", scalar.clone(), work);
        vec![code(
            "<built-in method item of Tensor object at 0x7f9e4612b950>",
            vec![op("aten::item", scalar, vec![dense])],
        )]
    }

    /// The parameters' common norm, and their scaling by it.
    pub(super) fn clip_gradients(&self) -> Vec<Node> {
        let Shape { model, .. } = self.shape;
        let elements = self.shape.layer_parameters() * model.layers / WORLD_SIZE;
        let gradients = Argument::Tensors(vec![vec![model.hidden, model.hidden], vec![model.hidden]]);
        let norm = op(
            "aten::_foreach_norm",
            self.arguments(&[gradients.clone(), Argument::Scalar("2"), Argument::Absent]),
            vec![Node::Launch(kernels::norms(elements))],
        );
        let scale = op(
            "aten::_foreach_mul_",
            self.arguments(&[gradients, tensor(FLOAT, &[])]),
            vec![Node::Launch(kernels::elementwise(kernels::MULTIPLY, 3, elements))],
        );
        vec![code("torch/nn/utils/clip_grad.py(189): clip_grad_norm_", vec![norm, scale])]
    }

    /// Moves each layer's parameters to the device.
    pub(super) fn move_model(&self) -> Vec<Node> {
        let bytes = 2 * self.shape.layer_parameters();
        let layer = || {
            let weights = self.arguments(&[bf16(&[bytes / 2]), Argument::Scalar("False")]);
            let copy = Node::Copy(Transfer::new(Direction::HostToDevice, bytes));
            op("aten::copy_", weights, vec![copy, Node::Call(Call::SynchronizeStream)])
        };
        let layers = (0..self.shape.model.layers).map(|_| layer()).collect();
        vec![code("torch/nn/modules/module.py(1370): convert", layers)]
    }

    /// Copies each layer's parameters to the host, and writes them to a file for so many nanoseconds.
    pub(super) fn save(&self, pause: u64) -> Vec<Node> {
        let bytes = 2 * self.shape.layer_parameters();
        let layer = || {
            let weights = self.arguments(&[bf16(&[bytes / 2]), Argument::Scalar("False")]);
            let copy = Node::Copy(Transfer::new(Direction::DeviceToHost, bytes));
            op("aten::copy_", weights, vec![copy, Node::Call(Call::SynchronizeStream)])
        };
        let mut work: Vec<Node> = (0..self.shape.model.layers).map(|_| layer()).collect();
        work.push(code("torch/serialization.py(981): save", vec![Node::Pause(pause)]));
        vec![code("train.py(95): save_checkpoint", work)]
    }

    /// What only a first step does: it makes parameters, waits for its data, and tries the matrix library's kernels.
    pub(super) fn start_slowly(&self, pause: u64) -> Vec<Node> {
        let Shape { model, .. } = self.shape;
        let weight = [model.hidden, model.feed_forward];
        let make = || {
            let fill = Node::Launch(kernels::elementwise(kernels::FILL, 1, weight.iter().product()));
            op(
                "aten::uniform_",
                self.arguments(&[bf16(&weight), Argument::Scalar("-0.03125"), Argument::Scalar("0.03125")]),
                vec![fill],
            )
        };
        let rows = self.shape.tokens();
        let attempts = [64, 128, 256, 512].map(|part| {
            Node::Launch(kernels::gemm(self.flavour, [rows, model.hidden * part / 512, model.hidden]))
        });
        let tries = op(
            "aten::mm",
            self.arguments(&[bf16(&[rows, model.hidden]), bf16(&[model.hidden, model.hidden])]),
            attempts.into(),
        );
        vec![
            code(
                "torch/nn/modules/lazy.py(243): _infer_parameters",
                (0..2 * model.layers).map(|_| make()).collect(),
            ),
            code("torch/utils/data/dataloader.py(1480): __next__", vec![Node::Pause(pause)]),
            tries,
            Node::Call(Call::SynchronizeDevice),
        ]
    }

    /// A collective with the time that it usually takes.
    pub(super) fn collective(&self, collective: &Collective) -> Node {
        collective.node(self.flavour, self.layout, None)
    }
}
