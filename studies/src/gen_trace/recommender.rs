//! Training of a recommender: tables of embeddings spread over the ranks, perceptrons on each.

use std::rc::Rc;

use iterations::LevelKind;

use super::flavour::{Direction, Flavour, Stream, Thread};
use super::forward::{Recipe, module};
use super::json::Layout;
use super::kernels;
use super::model::Shape;
use super::plan::{Gradient, Kernel, Node, Transfer, annotation, code, graded, op};
use super::random::Random;
use super::recording::{Recording, Stop};
use super::signature::{Argument, FLOAT, LONG, bf16, list, tensor};
use super::step::{Collective, WORLD_SIZE};

/// Width of the last layer of the bottom perceptron.
const HIDDEN: u64 = 512;
const DENSE_FEATURES: u64 = 13;

/// Sizes of a recommender, and how it is trained.
#[derive(Clone, Copy)]
struct Recommender {
    flavour: Flavour,
    layout: Layout,
    batch: u64,
    tables: u64,
    /// Ids in each bag on average.
    bag: u64,
    width: u64,
    bottom_layers: u64,
    top_layers: u64,
    /// Where the next batch is copied.
    copies: Stream,
    /// Whether a kernel looks up all tables, not each its own.
    is_batched: bool,
}

/// An operator of the forward pass and what its gradient takes.
struct Differentiable {
    forward: Node,
    function: &'static str,
    gradient: Vec<Node>,
}

impl Recommender {
    fn draw(flavour: Flavour, layout: Layout, random: &mut Random) -> Self {
        Self {
            flavour,
            layout,
            batch: 1024 * random.between(1, 9),
            tables: random.between(4, 27),
            bag: random.between(1, 20),
            width: 64 << random.between(0, 2),
            bottom_layers: random.between(2, 4),
            top_layers: random.between(2, 5),
            copies: if random.between(0, 2) == 1 { Stream::Copy } else { Stream::Compute },
            is_batched: random.between(0, 3) > 0,
        }
    }

    fn arguments(self, arguments: &[Argument]) -> Rc<str> {
        super::signature::render(arguments, self.layout)
    }

    fn launch(self, name: &'static str, arguments: &[Argument], kernel: Kernel) -> Node {
        op(name, self.arguments(arguments), vec![Node::Launch(kernel)])
    }

    /// Ids that the tables of this rank are looked up for.
    fn lookups(self) -> u64 {
        self.batch * self.tables * self.bag
    }

    /// Elements of the embeddings of one rank's batch.
    fn embedded(self) -> u64 {
        self.batch * self.tables * self.width
    }

    /// Vectors that meet in pairs.
    fn vectors(self) -> u64 {
        self.tables + 1
    }

    fn pooled(self) -> [u64; 3] {
        [self.batch, self.vectors(), self.width]
    }

    /// The batch, and the exchange of its ids with the ranks that have their tables.
    fn load_batch(self, collectives: &Recipe) -> Vec<Node> {
        let copy = |element, dims: &[u64], bytes| {
            let transfer = Transfer { stream: self.copies, ..Transfer::new(Direction::HostToDevice, bytes) };
            op("aten::copy_", self.arguments(&[tensor(element, dims)]), vec![Node::Copy(transfer)])
        };
        let mut copies = vec![
            copy(FLOAT, &[self.batch, DENSE_FEATURES], 4 * self.batch * DENSE_FEATURES),
            copy(LONG, &[self.lookups()], 8 * self.lookups()),
            copy(FLOAT, &[self.batch], 4 * self.batch),
        ];
        if self.copies != Stream::Compute {
            copies.push(Node::Await(self.copies));
        }
        let count = self.launch(
            "fbgemm::asynchronous_complete_cumsum",
            &[tensor(LONG, &[self.batch * self.tables])],
            kernels::sum(1, self.batch * self.tables),
        );
        let exchange = collectives.collective(&Collective::all_to_all(self.lookups()));
        let permute = self.launch(
            "fbgemm::permute_2D_sparse_data",
            &[tensor(LONG, &[self.tables]), tensor(LONG, &[self.lookups()])],
            kernels::gather_rows(self.lookups(), 1),
        );
        vec![
            code("torchrec/distributed/train_pipeline/utils.py(1290): _to_device", copies),
            annotation(
                "## sparse_data_dist ##",
                vec![count, exchange, Node::Await(Stream::Communication), permute],
            ),
        ]
    }

    fn linear(self, inputs: u64, outputs: u64) -> Differentiable {
        let rows = self.batch;
        let product = graded(
            Gradient::Records,
            "aten::addmm",
            self.arguments(&[bf16(&[outputs]), bf16(&[rows, inputs]), bf16(&[inputs, outputs])]),
            vec![Node::Launch(kernels::gemm(self.flavour, [rows, outputs, inputs]))],
        );
        let linear = graded(
            Gradient::Announces,
            "aten::linear",
            self.arguments(&[bf16(&[rows, inputs]), bf16(&[outputs, inputs]), bf16(&[outputs])]),
            vec![product],
        );
        let of = |m, n, k| {
            self.launch("aten::mm", &[bf16(&[m, k]), bf16(&[k, n])], kernels::gemm(self.flavour, [m, n, k]))
        };
        let bias =
            self.launch("aten::sum", &[bf16(&[rows, outputs]), list(&[0])], kernels::sum(rows, outputs));
        Differentiable {
            forward: module(("Linear", 1, 0), "torch/nn/modules/linear.py(125): forward", vec![linear]),
            function: "AddmmBackward0",
            gradient: vec![of(rows, inputs, outputs), of(outputs, inputs, rows), bias],
        }
    }

    fn relu(self, width: u64) -> Differentiable {
        let dims = [self.batch, width];
        let kernel = || kernels::elementwise(kernels::RELU, 2, self.batch * width);
        let arguments = self.arguments(&[bf16(&dims)]);
        let threshold = self.launch("aten::threshold_backward", &[bf16(&dims), bf16(&dims)], kernel());
        Differentiable {
            forward: graded(Gradient::Records, "aten::relu", arguments, vec![Node::Launch(kernel())]),
            function: "ReluBackward0",
            gradient: vec![threshold],
        }
    }

    fn perceptron(self, layers: u64, inputs: u64, hidden: u64, outputs: u64) -> Vec<Differentiable> {
        let mut parts = Vec::new();
        for layer in 0..layers {
            let from = if layer == 0 { inputs } else { hidden };
            let to = if layer + 1 == layers { outputs } else { hidden };
            parts.push(self.linear(from, to));
            parts.push(self.relu(to));
        }
        parts
    }

    /// The bags of this rank's tables for all ranks, and their exchange.
    fn embeddings(self, collectives: &Recipe) -> Vec<Differentiable> {
        let groups = if self.is_batched { 1 } else { self.tables };
        let (bags, lookups) = (self.batch * self.tables / groups, self.lookups() / groups);
        let mut parts: Vec<Differentiable> = (0..groups)
            .map(|_| {
                let arguments = [
                    tensor(FLOAT, &[1_000_000, self.width]),
                    tensor(LONG, &[lookups]),
                    tensor(LONG, &[bags + 1]),
                ];
                let name = if self.is_batched {
                    "fbgemm::split_embedding_codegen_lookup_rowwise_adagrad_function"
                } else {
                    "aten::_embedding_bag"
                };
                let forward = Node::Launch(kernels::embedding_bags(bags, lookups, self.width));
                let sort = Node::Launch(kernels::sort_ids(lookups));
                let update = Node::Launch(kernels::embedding_update(lookups, self.width));
                let backward =
                    "fbgemm::split_embedding_backward_codegen_rowwise_adagrad_unweighted_exact_cuda";
                Differentiable {
                    forward: graded(Gradient::Records, name, self.arguments(&arguments), vec![forward]),
                    function: if self.is_batched {
                        "SplitLookupFunction_rowwise_adagrad_Op"
                    } else {
                        "EmbeddingBagBackward0"
                    },
                    gradient: vec![op(backward, self.arguments(&arguments), vec![sort, update])],
                }
            })
            .collect();
        let exchange = || {
            vec![
                collectives.collective(&Collective::all_to_all(self.embedded())),
                Node::Await(Stream::Communication),
            ]
        };
        parts.push(Differentiable {
            forward: graded(
                Gradient::Records,
                "All2All_Pooled_Req",
                self.arguments(&[tensor(FLOAT, &[self.embedded()])]),
                exchange(),
            ),
            function: "All2All_Pooled_ReqBackward",
            gradient: exchange(),
        });
        parts
    }

    /// Products of all pairs of vectors.
    fn interact(self) -> Differentiable {
        let dims = self.pooled();
        let products = || kernels::batched_products(self.flavour, self.batch, self.vectors(), self.width);
        let bmm = || self.launch("aten::bmm", &[bf16(&dims), bf16(&dims)], products());
        Differentiable {
            forward: graded(
                Gradient::Records,
                "aten::bmm",
                self.arguments(&[bf16(&dims), bf16(&dims)]),
                vec![Node::Launch(products())],
            ),
            function: "BmmBackward0",
            gradient: vec![bmm(), bmm()],
        }
    }

    /// The loss of clicks and its gradient.
    fn loss(self) -> Differentiable {
        let dims = [self.batch];
        let kernel = |functor| Node::Launch(kernels::elementwise(functor, 3, self.batch));
        let arguments = self.arguments(&[tensor(FLOAT, &dims), tensor(FLOAT, &dims)]);
        Differentiable {
            forward: graded(
                Gradient::Records,
                "aten::binary_cross_entropy_with_logits",
                arguments.clone(),
                vec![kernel(kernels::MULTIPLY), Node::Launch(kernels::sum(1, self.batch))],
            ),
            function: "BinaryCrossEntropyWithLogitsBackward0",
            gradient: vec![op("aten::sub", arguments, vec![kernel(kernels::ADD)])],
        }
    }

    /// Forward and backward pass: operators in order, and their gradients in the opposite one.
    fn passes(self, collectives: &Recipe) -> (Vec<Node>, Vec<Node>) {
        let mut parts = self.embeddings(collectives);
        parts.extend(self.perceptron(self.bottom_layers, DENSE_FEATURES, HIDDEN, self.width));
        parts.push(self.interact());
        let pairs = self.vectors() * self.tables / 2 + self.width;
        parts.extend(self.perceptron(self.top_layers, pairs, 2 * HIDDEN, 1));
        parts.push(self.loss());
        let (mut forward, mut backward) = (Vec::new(), Vec::new());
        for (slot, part) in parts.into_iter().enumerate() {
            forward.push(part.forward);
            let replay = graded(Gradient::Replays(slot), part.function, self.arguments(&[]), part.gradient);
            let name = format!("autograd::engine::evaluate_function: {}", part.function);
            backward.push(graded(Gradient::Evaluates(slot), name, "".into(), vec![replay]));
        }
        backward.reverse();
        backward.push(collectives.collective(&Collective::all_reduce(self.dense_parameters())));
        let model = module(
            ("DLRM", 1, 0),
            "torchrec/models/dlrm.py(840): forward",
            vec![annotation("## forward ##", forward)],
        );
        (vec![model], backward)
    }

    fn dense_parameters(self) -> u64 {
        self.bottom_layers * HIDDEN * HIDDEN + self.top_layers * 4 * HIDDEN * HIDDEN
    }

    fn optimise(self) -> Vec<Node> {
        let parameters = Argument::Tensors(vec![vec![HIDDEN, HIDDEN], vec![HIDDEN]]);
        let add = self.launch(
            "aten::_foreach_add_",
            &[parameters.clone(), parameters, Argument::Scalar("-0.01")],
            kernels::adamw(self.dense_parameters() / WORLD_SIZE),
        );
        vec![code(
            "torch/optim/optimizer.py(485): wrapper",
            vec![annotation("Optimizer.step#SGD.step", vec![add])],
        )]
    }

    fn zero_gradients(self) -> Vec<Node> {
        let elements = self.dense_parameters();
        let zero = op("aten::zero_", self.arguments(&[bf16(&[elements])]), vec![Node::Set(2 * elements)]);
        vec![annotation("Optimizer.zero_grad#SGD.zero_grad", vec![zero])]
    }
}

impl Recording<'_> {
    /// Trains a recommender.
    pub(super) fn train_recommender(&mut self, shape: Shape) -> Result<(), Stop> {
        let (flavour, layout) = (self.flavour(), self.layout());
        let recommender = Recommender::draw(flavour, layout, self.random());
        let has_function = self.random().between(0, 2) == 1;
        let reads_loss = self.random().between(1, 5);
        // Only its collectives are used, which are those of any model.
        let recipe = Recipe { flavour, layout, shape };
        for index in 0..self.iterations(4, 16) {
            self.begin_mark(index)?;
            self.begin(LevelKind::Step);
            let outside = self.depth();
            if has_function {
                self.enter(&["torchrec/distributed/train_pipeline/train_pipelines.py(640): progress"])?;
            }
            if self.random().between(0, 4) == 0 {
                let pause = self.random().between(100, 2_000) * 1_000;
                self.run(&[code("torch/utils/data/dataloader.py(733): __next__", vec![Node::Pause(pause)])])?;
            }
            self.run(&recommender.zero_gradients())?;
            self.run(&recommender.load_batch(&recipe))?;
            let (forward, backward) = recommender.passes(&recipe);
            self.player().begin_forward(true);
            self.run(&forward)?;
            self.player().begin_backward();
            let ran = self.run_layer(&backward, Thread::Autograd, 0);
            self.player().end_backward();
            ran?;
            self.run(&recommender.optimise())?;
            if index.is_multiple_of(reads_loss) {
                self.run(&recipe.read_loss())?;
            }
            self.leave_to(outside)?;
            self.end();
            self.end_mark()?;
        }
        Ok(())
    }
}
