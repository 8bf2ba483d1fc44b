//! A training step of a compiled decoder: fused operators, flash attention, gradients exchanged under the backward pass,
//! a fused optimizer.

use super::Part;
use super::fault::Fault;
use super::nodes::Builder;
use crate::gen_trace::flavour::Stream;
use crate::gen_trace::kernels;
use crate::gen_trace::plan::{FrameName, Gradient, Kernel, Node, annotation, code, frame, graded, op};
use crate::gen_trace::random::Random;
use crate::gen_trace::signature::{Argument, BF16, FLOAT, LONG, bf16, tensor};
use crate::gen_trace::step::Collective;

/// Steps of a recording.
pub(super) const STEPS: u64 = 4;

/// Host time of one step more than the device: what a rank does beside launching.
const BATCH_BYTES: u64 = 8;

/// Sizes of the model and of a batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    hidden: u64,
    heads: u64,
    feed_forward: u64,
    vocabulary: u64,
    layers: usize,
    batch: u64,
    sequence: u64,
}

/// A forward product of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Product {
    Qkv,
    Out,
    GateUp,
    Down,
}

impl Product {
    const ALL: [Product; 4] = [Product::Qkv, Product::Out, Product::GateUp, Product::Down];
}

impl Shape {
    /// A decoder of seven, of one and a half, of a third or of a tenth of a billion parameters, cut to some layers.
    pub(super) fn draw(random: &mut Random) -> Shape {
        let large = Shape {
            hidden: 4_096,
            heads: 32,
            feed_forward: 11_008,
            vocabulary: 32_000,
            layers: random.between(4, 7) as usize,
            batch: 1,
            sequence: 4_096,
        };
        let medium = Shape {
            hidden: 2_048,
            heads: 16,
            feed_forward: 8_192,
            vocabulary: 32_768,
            layers: random.between(6, 9) as usize,
            batch: 4,
            sequence: 2_048,
        };
        let small = Shape {
            hidden: 1_024,
            heads: 16,
            feed_forward: 4_096,
            vocabulary: 50_304,
            layers: random.between(8, 13) as usize,
            batch: 16,
            sequence: 1_024,
        };
        let narrow = Shape {
            hidden: 768,
            heads: 12,
            feed_forward: 2_048,
            vocabulary: 30_528,
            layers: random.between(9, 14) as usize,
            batch: 32,
            sequence: 512,
        };
        [large, medium, small, narrow][random.between(0, 4) as usize]
    }

    fn rows(self) -> u64 {
        self.batch * self.sequence
    }

    fn residual(self) -> [u64; 2] {
        [self.rows(), self.hidden]
    }

    fn elements(self) -> u64 {
        self.rows() * self.hidden
    }

    /// `[batch, heads, sequence, head]`.
    fn attention(self) -> [u64; 4] {
        [self.batch, self.heads, self.sequence, self.hidden / self.heads]
    }

    /// Columns and inner dimension of a product.
    fn weight(self, product: Product) -> [u64; 2] {
        let Shape { hidden, feed_forward, .. } = self;
        match product {
            Product::Qkv => [3 * hidden, hidden],
            Product::Out => [hidden, hidden],
            Product::GateUp => [2 * feed_forward, hidden],
            Product::Down => [hidden, feed_forward],
        }
    }
}

/// The plan of one step.
pub(super) fn step(builder: &Builder<'_>, shape: Shape) -> Vec<Part> {
    let plan = Plan { builder, shape };
    let mut parts = vec![
        Part::BeginStep(format!("ProfilerStep#{}", 3 + builder.step)),
        Part::Enter(&["train.py(72): training_step"]),
        Part::Main(0, plan.start()),
        Part::Enter(&["torch/nn/modules/module.py(1776): _call_impl", "model/decoder.py(52): forward"]),
        Part::BeginForward,
    ];
    for layer in 0..shape.layers {
        parts.push(Part::Main(layer, plan.forward(layer)));
        parts.push(Part::Main(layer, builder.between_layers(layer, shape.elements())));
    }
    parts.extend([
        Part::LeaveTo(1),
        Part::Main(shape.layers, plan.loss()),
        Part::Enter(&[
            "torch/_tensor.py(592): backward",
            "torch/autograd/graph.py(829): _engine_run_backward",
            "<built-in method run_backward of torch._C._EngineBase object at 0x7f0ca88d9690>",
        ]),
        Part::BeginBackward,
        Part::Autograd(shape.layers, plan.loss_backward()),
    ]);
    for layer in (0..shape.layers).rev() {
        parts.push(Part::Autograd(layer, plan.backward(layer)));
    }
    parts.extend([
        Part::LeaveTo(1),
        Part::Main(0, plan.end()),
        Part::LeaveTo(0),
        Part::EndStep,
        Part::Main(0, plan.after()),
    ]);
    parts
}

/// A step that is being planned.
struct Plan<'b> {
    builder: &'b Builder<'b>,
    shape: Shape,
}

impl Plan<'_> {
    /// The batch, copied beside the computation of the step before.
    fn start(&self) -> Vec<Node> {
        let Shape { batch, sequence, vocabulary, hidden, .. } = self.shape;
        let rows = self.shape.rows();
        let tokens = [batch, sequence];
        let pause = self.builder.faults.between(Fault::LateLoader, 2e5, 2e8);
        let waited = pause.map_or(60_000, |pause| pause as u64);
        let loaded = code("torch/utils/data/dataloader.py(733): __next__", vec![Node::Pause(waited)]);
        let loader =
            annotation("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", vec![loaded]);
        let upload = self.builder.upload(LONG, &tokens, BATCH_BYTES * rows, Stream::Copy);
        let gathered = {
            let kernel = kernels::gather_rows(rows, hidden);
            let kernel = self.builder.device.streams(kernel, 2 * 2 * rows * hidden);
            let operands = [
                bf16(&[vocabulary, hidden]),
                tensor(LONG, &tokens),
                Argument::Scalar("-1"),
                Argument::Scalar("False"),
                Argument::Scalar("False"),
            ];
            op("aten::embedding", self.builder.arguments(&operands), vec![Node::Launch(kernel)])
        };
        let mut work = vec![loader, upload, Node::Await(Stream::Copy)];
        work.extend(self.builder.start_of_step());
        work.push(gathered);
        work
    }

    /// One layer: its module, and in it the compiled region with its operators.
    fn forward(&self, layer: usize) -> Vec<Node> {
        let mut operators = Vec::new();
        for work in self.forward_operators(layer) {
            if let Some(pause) = self.builder.faults.between(Fault::SlowHost, 2e3, 8e6) {
                operators.push(code("model/hooks.py(31): check_gradients", vec![Node::Pause(pause as u64)]));
            }
            if let (0, Some(pause)) =
                (self.builder.step, self.builder.faults.between(Fault::ColdStart, 1e5, 1e8))
            {
                let load = code(
                    "torch/_inductor/runtime/triton_heuristics.py(278): precompile",
                    vec![Node::Pause(pause as u64)],
                );
                operators.push(load);
            }
            operators.push(work);
        }
        vec![frame(
            FrameName::Module { class: "DecoderLayer", per_layer: 1, offset: 0 },
            vec![code(
                "torch/_dynamo/eval_frame.py(745): compile_wrapper",
                vec![self.compiled("CompiledFunction", Gradient::Records, operators)],
            )],
        )]
    }

    /// What AOTAutograd and Inductor record around the operators of a compiled graph.
    fn compiled(&self, name: &'static str, gradient: Gradient, operators: Vec<Node>) -> Node {
        let call = annotation("## Call CompiledFxGraph fr4zxtpv2ua5oj7h ##", operators);
        graded(gradient, name, self.builder.arguments(&[bf16(&self.shape.residual())]), vec![call])
    }

    fn forward_operators(&self, layer: usize) -> Vec<Node> {
        let Shape { hidden, feed_forward, layers, .. } = self.shape;
        let rows = self.shape.rows();
        let faults = self.builder.faults;
        let mut work = self.norm(2 * layer);
        work.push(self.product(layer, Product::Qkv));
        let halves = bf16(&[rows, 2 * hidden]);
        let angles = tensor(BF16, &[self.shape.sequence, hidden / self.shape.heads]);
        work.push(self.builder.triton(
            "triton_poi_fused_add_cat_mul_neg_1",
            &[halves.clone(), angles.clone(), angles, halves],
            &[2 * rows * hidden],
            8 * rows * hidden,
        ));
        let heads = self.shape.attention();
        work.extend(self.transposes(layer, 0..3));
        if faults.covers(Fault::UnfusedAttention, layer, layers) {
            work.extend(self.builder.plain_attention(heads));
        } else {
            work.push(self.attention());
        }
        work.extend(self.transposes(layer, 3..4));
        work.push(self.product(layer, Product::Out));
        work.extend(self.norm(2 * layer + 1));
        work.push(self.product(layer, Product::GateUp));
        let name = "triton_poi_fused_mul_silu_2";
        let mut activation = self.builder.triton(
            name,
            &[bf16(&[rows, 2 * feed_forward]), bf16(&[rows, feed_forward])],
            &[rows * feed_forward],
            6 * rows * feed_forward,
        );
        let slower = faults.slowdown(Fault::SlowMemory, 40.0);
        each_kernel(&mut activation, &mut |kernel| kernel.duration = scaled(kernel.duration, slower));
        work.push(activation);
        work.push(self.product(layer, Product::Down));
        work
    }

    /// Heads of some of the layer's tensors laid out anew: of eight, four in the forward pass.
    fn transposes(&self, layer: usize, tensors: std::ops::Range<usize>) -> Vec<Node> {
        let covers = |tensor: usize| {
            self.builder.faults.covers(Fault::Transposes, 8 * layer + tensor, 8 * self.shape.layers)
        };
        let heads = self.shape.attention();
        tensors.filter(|&tensor| covers(tensor)).map(|_| self.builder.contiguous(heads)).collect()
    }

    /// The sum with the residual and its norm, in one kernel.
    fn norm(&self, place: usize) -> Vec<Node> {
        let places = 2 * self.shape.layers;
        let [rows, hidden] = self.shape.residual();
        let whole = || bf16(&[rows, hidden]);
        let faults = self.builder.faults;
        let mut work = Vec::new();
        let is_cast = faults.covers(Fault::Casts, place, places);
        if is_cast {
            work.push(self.builder.cast(&[rows, hidden], FLOAT));
        }
        if faults.covers(Fault::UnfusedChain, place, places) {
            work.extend(self.builder.norm_chain([rows, hidden]));
        } else {
            work.push(self.builder.triton(
                "triton_red_fused_add_mean_mul_pow_rsqrt_0",
                &[whole(), whole(), bf16(&[hidden]), whole(), whole()],
                &[rows, hidden],
                8 * rows * hidden,
            ));
        }
        if is_cast {
            work.push(self.builder.cast(&[rows, hidden], BF16));
        }
        work
    }

    fn product(&self, layer: usize, product: Product) -> Node {
        let rows = self.shape.rows();
        let [columns, inner] = self.shape.weight(product);
        let size = [rows, columns, inner];
        let (faults, builder) = (self.builder.faults, self.builder);
        let (index, places) = (self.index(layer, product), 4 * self.shape.layers);
        if faults.covers(Fault::WideProducts, index, places) {
            return builder.wide_mm(size);
        }
        if faults.covers(Fault::OddSizes, index, places) {
            return self.odd_product(size);
        }
        let is_unfused = faults.covers(Fault::UnfusedEpilogue, index, places);
        let mut node = if is_unfused { builder.mm(size) } else { builder.addmm(size) };
        let slower = match product {
            Product::GateUp => faults.slowdown(Fault::SlowProduct, 30.0),
            Product::Qkv if layer == 1 || layer == 2 => faults.slowdown(Fault::SlowInstances, 30.0),
            Product::Out => self.uneven(layer),
            _ => 1.0,
        };
        let is_other_kernel = matches!(product, Product::GateUp | Product::Qkv) && slower > 1.0;
        each_kernel(&mut node, &mut |kernel| {
            kernel.duration = scaled(kernel.duration, slower);
            if is_other_kernel {
                kernel.name = kernel.name.replace("64x4_2x1_v_bz_coopA", "64x2_1x1_h_bz").into();
                kernel.name = kernel.name.replace("_MI16x16x1_", "_MI4x4x4_").into();
            }
        });
        if is_unfused {
            let whole = [rows, columns];
            let work = vec![node, builder.add_bias(whole), builder.multiply(whole, &[columns])];
            return code("model/linear.py(40): scaled_linear", work);
        }
        node
    }

    /// Place of a layer's product among all.
    fn index(&self, layer: usize, product: Product) -> usize {
        let place = Product::ALL.iter().position(|&other| other == product).unwrap_or_default();
        place * self.shape.layers + layer
    }

    /// How many times longer this instance takes: most are as ever, one in nine takes very long.
    fn uneven(&self, layer: usize) -> f64 {
        let index = self.builder.step as usize * self.shape.layers + layer;
        let is_slow = index % 9 == 4;
        if is_slow { self.builder.faults.slowdown(Fault::UnevenKernel, 600.0) } else { 1.0 }
    }

    /// The product with up to a twelfth more columns, so many that the library's tile leaves the most of the device
    /// without work.
    fn odd_product(&self, [m, n, k]: [u64; 3]) -> Node {
        let tile = (256, 128);
        let units = self.builder.device.units();
        let used = |columns: u64| {
            let tiles = m.div_ceil(tile.0) * columns.div_ceil(tile.1);
            let rounds = tiles.div_ceil(units) * units;
            (m * columns) as f64 / (rounds * tile.0 * tile.1) as f64
        };
        let columns =
            (n + 8..=n + n / 12).step_by(8).min_by(|&one, &other| used(one).total_cmp(&used(other)));
        let columns = columns.unwrap_or(n + 8);
        let size = [m, columns, k];
        self.builder.mm_with(size, self.builder.device.product_in(size, tile))
    }

    fn attention(&self) -> Node {
        let heads = self.shape.attention();
        let [batch, count, sequence, head] = heads;
        let scalar = Argument::Scalar;
        let stored = || {
            let strides = vec![count * sequence * head, head, count * head, 1];
            Argument::Tensor(BF16, vec![batch, sequence, count, head], strides)
        };
        let inner = op(
            "aten::_flash_attention_forward",
            self.builder.arguments(&[
                stored(),
                stored(),
                stored(),
                Argument::Absent,
                Argument::Absent,
                Argument::Number(sequence),
                Argument::Number(sequence),
                scalar("0."),
                scalar("True"),
                scalar("False"),
                Argument::Absent,
            ]),
            vec![Node::Launch(self.builder.device.attention(heads))],
        );
        let tensors = [bf16(&heads), bf16(&heads), bf16(&heads)];
        let rest = [scalar("0."), scalar("True"), scalar("False"), Argument::Absent];
        op(
            "aten::_scaled_dot_product_flash_attention",
            self.builder.arguments(&[&tensors[..], &rest].concat()),
            vec![inner],
        )
    }

    /// The logits and the loss.
    fn loss(&self) -> Vec<Node> {
        let [rows, hidden] = self.shape.residual();
        let vocabulary = self.shape.vocabulary;
        let whole = bf16(&[rows, hidden]);
        let norm = self.builder.triton(
            "triton_red_fused_add_mean_mul_pow_rsqrt_3",
            &[whole.clone(), whole.clone(), bf16(&[hidden]), whole],
            &[rows, hidden],
            6 * rows * hidden,
        );
        let loss = self.builder.triton(
            "triton_red_fused__log_softmax_nll_loss_forward_4",
            &[bf16(&[rows, vocabulary]), tensor(LONG, &[rows]), tensor(FLOAT, &[rows, 1])],
            &[rows, vocabulary],
            2 * rows * vocabulary,
        );
        let operators = vec![norm, self.builder.mm([rows, vocabulary, hidden]), loss];
        vec![code("train.py(63): loss", vec![self.compiled("CompiledFunction", Gradient::None, operators)])]
    }

    fn loss_backward(&self) -> Vec<Node> {
        let [rows, hidden] = self.shape.residual();
        let vocabulary = self.shape.vocabulary;
        let logits = bf16(&[rows, vocabulary]);
        let gradient = self.builder.triton(
            "triton_poi_fused__log_softmax_backward_data_nll_loss_backward_5",
            &[logits.clone(), tensor(LONG, &[rows]), tensor(FLOAT, &[rows, 1]), logits],
            &[rows * vocabulary],
            4 * rows * vocabulary,
        );
        let mut operators = vec![gradient];
        operators.extend(self.gradients([rows, vocabulary, hidden]));
        operators.push(self.norm_backward());
        let function = self.compiled("CompiledFunctionBackward", Gradient::None, operators);
        vec![self.engine(Gradient::None, function)]
    }

    /// What autograd's engine records around a function.
    fn engine(&self, gradient: Gradient, function: Node) -> Node {
        let name = "autograd::engine::evaluate_function: CompiledFunctionBackward";
        graded(gradient, name, "".into(), vec![function])
    }

    /// The gradients of input and weight of a product.
    fn gradients(&self, [m, n, k]: [u64; 3]) -> [Node; 2] {
        [self.builder.mm([m, k, n]), self.builder.mm([n, k, m])]
    }

    fn norm_backward(&self) -> Node {
        let [rows, hidden] = self.shape.residual();
        let whole = || bf16(&[rows, hidden]);
        self.builder.triton(
            "triton_red_fused_add_mul_pow_sum_6",
            &[whole(), whole(), whole(), bf16(&[hidden]), whole()],
            &[rows, hidden],
            8 * rows * hidden,
        )
    }

    /// The gradient of the norm at a place, with what is wrong with it there.
    fn norm_backward_of(&self, place: usize) -> Vec<Node> {
        let places = 2 * self.shape.layers;
        let residual = self.shape.residual();
        let faults = self.builder.faults;
        let is_cast = faults.covers(Fault::Casts, place, places);
        let mut work = Vec::new();
        if is_cast {
            work.push(self.builder.cast(&residual, FLOAT));
        }
        if faults.covers(Fault::UnfusedChain, place, places) {
            work.extend(self.builder.norm_chain_backward(residual));
        } else {
            work.push(self.norm_backward());
        }
        if is_cast {
            work.push(self.builder.cast(&residual, BF16));
        }
        work
    }

    fn backward(&self, layer: usize) -> Vec<Node> {
        let Shape { hidden, feed_forward, layers, .. } = self.shape;
        let rows = self.shape.rows();
        let faults = self.builder.faults;
        let of = |product| {
            let [columns, inner] = self.shape.weight(product);
            let [input_gradient, weight_gradient] = self.gradients([rows, columns, inner]);
            let is_odd = faults.covers(Fault::OddSizes, self.index(layer, product), 4 * layers);
            // The gradient of the odd weight has as many rows as that has.
            [input_gradient, if is_odd { self.odd_product([inner, columns, rows]) } else { weight_gradient }]
        };
        let heads = self.shape.attention();
        let mut operators = Vec::new();
        if faults.covers(Fault::Recomputation, layer, layers) {
            operators
                .push(code("torch/utils/checkpoint.py(1110): recompute_fn", self.forward_operators(layer)));
        }
        operators.extend(of(Product::Down));
        operators.push(self.bias_gradient());
        operators.push(self.exchange(layer, Product::Down));
        operators.push(self.builder.triton(
            "triton_poi_fused_mul_silu_silu_backward_7",
            &[bf16(&[rows, feed_forward]), bf16(&[rows, 2 * feed_forward]), bf16(&[rows, 2 * feed_forward])],
            &[2 * rows * feed_forward],
            10 * rows * feed_forward,
        ));
        operators.extend(of(Product::GateUp));
        operators.push(self.exchange(layer, Product::GateUp));
        operators.extend(self.norm_backward_of(2 * layer + 1));
        operators.extend(of(Product::Out));
        operators.push(self.bias_gradient());
        operators.push(self.exchange(layer, Product::Out));
        operators.extend(self.transposes(layer, 4..5));
        if faults.covers(Fault::UnfusedAttention, layer, layers) {
            operators.extend(self.builder.plain_attention_backward(heads));
        } else {
            operators.push(self.attention_backward());
        }
        operators.extend(self.transposes(layer, 5..8));
        let angles = tensor(BF16, &[self.shape.sequence, hidden / self.shape.heads]);
        let halves = bf16(&[rows, 2 * hidden]);
        operators.push(self.builder.triton(
            "triton_poi_fused_add_cat_mul_neg_8",
            &[halves.clone(), angles.clone(), angles, halves],
            &[2 * rows * hidden],
            8 * rows * hidden,
        ));
        operators.extend(of(Product::Qkv));
        operators.push(self.exchange(layer, Product::Qkv));
        operators.extend(self.norm_backward_of(2 * layer));
        let function = self.compiled("CompiledFunctionBackward", Gradient::Replays(0), operators);
        vec![self.engine(Gradient::Evaluates(0), function)]
    }

    fn bias_gradient(&self) -> Node {
        let [rows, hidden] = self.shape.residual();
        self.builder.triton(
            "triton_red_fused_sum_9",
            &[bf16(&[rows, hidden]), bf16(&[1, hidden])],
            &[hidden, rows],
            2 * rows * hidden,
        )
    }

    fn attention_backward(&self) -> Node {
        let heads = self.shape.attention();
        let [batch, count, sequence, _] = heads;
        let whole = || bf16(&heads);
        let rest = [
            tensor(FLOAT, &[batch, count, sequence]),
            Argument::Absent,
            Argument::Absent,
            Argument::Number(sequence),
            Argument::Number(sequence),
            Argument::Scalar("0."),
            Argument::Scalar("True"),
        ];
        let arguments =
            self.builder.arguments(&[&[whole(), whole(), whole(), whole(), whole()][..], &rest].concat());
        let launches = self.builder.device.attention_backward(heads).map(Node::Launch).into();
        let inner = op("aten::_flash_attention_backward", arguments.clone(), launches);
        op("aten::_scaled_dot_product_flash_attention_backward", arguments, vec![inner])
    }

    /// The exchange of a weight's gradient; who is at fault waits for it.
    fn exchange(&self, layer: usize, product: Product) -> Node {
        let faults = self.builder.faults;
        let elements = self.shape.weight(product).iter().product::<u64>();
        let mut duration = self.builder.device.all_reduce(2 * elements);
        // Near the end of the backward pass, where little is left to hide behind.
        if product == Product::GateUp && layer == 0 {
            duration = scaled(duration, faults.slowdown(Fault::SlowCollective, 200.0));
        }
        let mut work = vec![Collective::all_reduce(elements).node(
            self.builder.device.flavour,
            super::Layout::Compact,
            Some(duration),
        )];
        let place = Product::ALL.iter().position(|&other| other == product).unwrap_or_default();
        // The last exchange has nothing to run beside, whoever waits for it.
        if faults.covers(Fault::ExposedCollectives, 4 * layer + place, 4 * self.shape.layers) {
            work.push(Node::Await(Stream::Communication));
        }
        annotation("DistributedDataParallel.reduce_bucket", work)
    }

    /// The optimizer, and what is left of the step.
    fn end(&self) -> Vec<Node> {
        let Shape { vocabulary, hidden, layers, .. } = self.shape;
        let weights: Vec<Vec<u64>> = (0..layers)
            .flat_map(|_| Product::ALL.map(|product| self.shape.weight(product).to_vec()))
            .chain([vec![vocabulary, hidden]])
            .collect();
        let elements: u64 = weights.iter().map(|weight| weight.iter().product::<u64>()).sum();
        let lists = Argument::Tensors(weights);
        let scalar = Argument::Scalar;
        let operands = [
            lists.clone(),
            lists.clone(),
            lists.clone(),
            lists,
            Argument::Tensors(Vec::new()),
            Argument::Tensors(vec![Vec::new(); 3]),
            scalar("0.00029999999999999997"),
            scalar("0.90000000000000002"),
            scalar("0.94999999999999996"),
            scalar("0.10000000000000001"),
        ];
        let chunks = (elements >> 27).max(1);
        let chunk = || {
            let mut kernel = kernels::adamw(elements / chunks);
            kernel.name = kernel
                .name
                .replace("FusedAdamMathFunctor<float", "FusedAdamMathFunctor<c10::BFloat16")
                .into();
            // Weight and two moments read and written, the gradient read.
            Node::Launch(self.builder.device.streams(kernel, 14 * elements / chunks))
        };
        let fused = op(
            "aten::_fused_adamw_",
            self.builder.arguments(&operands),
            (0..chunks).map(|_| chunk()).collect(),
        );
        let mut update = vec![fused];
        if let Some(count) = self.builder.faults.between(Fault::OptimizerLoop, 2.0, 6_000.0) {
            let one = || self.builder.update_one(self.shape.hidden);
            let each = (0..count as u64).flat_map(|_| one()).collect();
            update.push(code("torch/optim/adamw.py(402): _single_tensor_adamw", each));
        }
        let wrapped = annotation("Optimizer.step#AdamW.step", update);
        let mut work = vec![
            Node::Await(Stream::Communication),
            code("torch/optim/optimizer.py(485): wrapper", vec![wrapped]),
        ];
        work.extend(self.builder.end_of_step());
        // The host is never more than a step ahead.
        work.extend([Node::Mark, code("train.py(80): throttle", vec![Node::AwaitMark(1)])]);
        work
    }

    /// Between two steps.
    fn after(&self) -> Vec<Node> {
        let pause = self.builder.faults.between(Fault::GarbageCollection, 2e5, 2e8);
        pause
            .into_iter()
            .map(|pause| code("<built-in function collect>", vec![Node::Pause(pause as u64)]))
            .collect()
    }
}

/// Changes every kernel that a node launches.
fn each_kernel(node: &mut Node, change: &mut dyn FnMut(&mut Kernel)) {
    match node {
        Node::Launch(kernel) => change(kernel),
        Node::Op(op) => op.children.iter_mut().for_each(|child| each_kernel(child, change)),
        Node::Frame(frame) => frame.children.iter_mut().for_each(|child| each_kernel(child, change)),
        _ => {}
    }
}

fn scaled(duration: u64, factor: f64) -> u64 {
    (duration as f64 * factor) as u64
}
