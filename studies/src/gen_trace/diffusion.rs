//! Images by diffusion: a prompt's text encoded, noise taken away step by step, pixels decoded.

use std::rc::Rc;

use iterations::LevelKind;

use super::flavour::{Call, Direction, Flavour};
use super::forward::module;
use super::json::Layout;
use super::kernels;
use super::plan::{Kernel, Node, Transfer, code, op};
use super::random::Random;
use super::recording::{Recording, Stop};
use super::signature::{Argument, BF16, LONG, bf16, list, tensor};

/// Tokens of an encoded prompt.
const TEXT_TOKENS: u64 = 77;
const TEXT_WIDTH: u64 = 768;

/// Sizes of a diffusion model, and how it is run.
#[derive(Clone, Copy)]
struct Pipeline {
    flavour: Flavour,
    layout: Layout,
    /// Images made at once, twice as many where guidance compares with an empty prompt.
    images: u64,
    channels: u64,
    /// Pixels of a side of what is denoised.
    side: u64,
    text_layers: u64,
    /// Blocks of convolution and attention in the denoiser.
    blocks: u64,
    decoder_blocks: u64,
    denoising_steps: u64,
    is_guided: bool,
    /// Whether a denoising step replays a captured graph.
    has_graph: bool,
    /// Whether the scheduler computes with a history of steps.
    is_multistep: bool,
}

impl Pipeline {
    fn draw(flavour: Flavour, layout: Layout, random: &mut Random) -> Self {
        let is_guided = random.between(0, 2) == 1;
        Self {
            flavour,
            layout,
            images: random.between(1, 3) * if is_guided { 2 } else { 1 },
            channels: 64 * random.between(4, 11),
            side: 32 * random.between(1, 4),
            text_layers: random.between(1, 4),
            blocks: random.between(2, 5),
            decoder_blocks: random.between(1, 4),
            denoising_steps: random.between(4, 17),
            is_guided,
            has_graph: random.between(0, 4) == 0,
            is_multistep: random.between(0, 2) == 1,
        }
    }

    fn arguments(self, arguments: &[Argument]) -> Rc<str> {
        super::signature::render(arguments, self.layout)
    }

    /// Dims of what is denoised, with so many channels.
    fn latents(self, channels: u64) -> [u64; 4] {
        [self.images, channels, self.side, self.side]
    }

    fn launch(self, name: &'static str, arguments: &[Argument], kernel: Kernel) -> Node {
        op(name, self.arguments(arguments), vec![Node::Launch(kernel)])
    }

    fn pointwise(self, name: &'static str, functor: &'static str, dims: &[u64]) -> Node {
        let kernel = kernels::elementwise(functor, 2, dims.iter().product());
        self.launch(name, &[bf16(dims), bf16(dims)], kernel)
    }

    fn linear(self, rows: u64, inputs: u64, outputs: u64) -> Node {
        let product = self.launch(
            "aten::addmm",
            &[bf16(&[outputs]), bf16(&[rows, inputs]), bf16(&[inputs, outputs])],
            kernels::gemm(self.flavour, [rows, outputs, inputs]),
        );
        let arguments = self.arguments(&[bf16(&[rows, inputs]), bf16(&[outputs, inputs]), bf16(&[outputs])]);
        module(
            ("Linear", 1, 0),
            "torch/nn/modules/linear.py(125): forward",
            vec![op("aten::linear", arguments, vec![product])],
        )
    }

    fn attend(self, queries: u64, heads: u64, head: u64) -> Node {
        let shape = [self.images, heads, queries, head];
        let arguments = [bf16(&shape), bf16(&shape), bf16(&shape)];
        let flash = self.launch(
            "aten::_scaled_dot_product_flash_attention",
            &arguments,
            kernels::attention(self.flavour, shape),
        );
        op("aten::scaled_dot_product_attention", self.arguments(&arguments), vec![flash])
    }

    fn convolve(self, side: u64, inputs: u64, outputs: u64) -> Node {
        let arguments = self.arguments(&[
            bf16(&[self.images, inputs, side, side]),
            bf16(&[outputs, inputs, 3, 3]),
            bf16(&[outputs]),
            list(&[1, 1]),
            list(&[1, 1]),
            list(&[1, 1]),
            Argument::Scalar("1"),
        ]);
        let kernel = kernels::convolution(self.flavour, self.images, [inputs, outputs], side);
        let library = if self.flavour == Flavour::Cuda {
            "aten::cudnn_convolution"
        } else {
            "aten::miopen_convolution"
        };
        let mut node = op(library, arguments.clone(), vec![Node::Launch(kernel)]);
        for name in ["aten::_convolution", "aten::convolution", "aten::conv2d"] {
            node = op(name, arguments.clone(), vec![node]);
        }
        module(("Conv2d", 1, 0), "torch/nn/modules/conv.py(553): forward", vec![node])
    }

    fn group_norm(self, side: u64, channels: u64) -> Vec<Node> {
        let dims = [self.images, channels, side, side];
        let elements = dims.iter().product();
        let arguments =
            self.arguments(&[bf16(&dims), Argument::Number(32), bf16(&[channels]), bf16(&[channels])]);
        let launches = vec![
            Node::Launch(kernels::group_moments(32 * self.images, elements)),
            Node::Launch(kernels::elementwise(kernels::MULTIPLY, 3, elements)),
        ];
        let norm = op("aten::native_group_norm", arguments.clone(), launches);
        vec![
            op("aten::group_norm", arguments, vec![norm]),
            self.pointwise("aten::silu", kernels::SILU, &dims),
        ]
    }

    fn encode_text(self) -> Vec<Node> {
        let rows = self.images * TEXT_TOKENS;
        let embed = self.launch(
            "aten::embedding",
            &[bf16(&[49_408, TEXT_WIDTH]), tensor(LONG, &[self.images, TEXT_TOKENS])],
            kernels::gather_rows(rows, TEXT_WIDTH),
        );
        let mut work = vec![Node::Copy(Transfer::new(Direction::HostToDevice, 8 * rows)), embed];
        for _ in 0..self.text_layers {
            let norm = self.launch(
                "aten::native_layer_norm",
                &[bf16(&[rows, TEXT_WIDTH]), list(&[TEXT_WIDTH])],
                kernels::layer_norm(rows, TEXT_WIDTH),
            );
            work.extend([
                norm,
                self.linear(rows, TEXT_WIDTH, 3 * TEXT_WIDTH),
                self.attend(TEXT_TOKENS, 12, 64),
                self.linear(rows, TEXT_WIDTH, TEXT_WIDTH),
            ]);
        }
        vec![module(("CLIPTextModel", 1, 0), "transformers/models/clip/modeling_clip.py(621): forward", work)]
    }

    fn noise(self) -> Vec<Node> {
        let dims = self.latents(4);
        let normal = self.launch("aten::normal_", &[bf16(&dims)], kernels::normal(dims.iter().product()));
        vec![op("aten::randn", self.arguments(&[list(&dims)]), vec![self.empty(&dims), normal])]
    }

    fn empty(self, dims: &[u64]) -> Node {
        op("aten::empty", self.arguments(&[list(dims), Argument::Absent]), Vec::new())
    }

    /// One pass over the denoiser, and the scheduler's arithmetic.
    fn denoise(self) -> Vec<Node> {
        let mut work = if self.has_graph {
            vec![code("torch/cuda/graphs.py(139): replay", vec![Node::Graph(self.denoiser_kernels())])]
        } else {
            vec![module(
                ("UNet2DConditionModel", 1, 0),
                "diffusers/models/unets/unet_2d_condition.py(1040): forward",
                self.denoiser(),
            )]
        };
        let dims = self.latents(4);
        let mut scheduler = Vec::new();
        if self.is_guided {
            scheduler.extend([
                self.pointwise("aten::sub", kernels::ADD, &dims),
                self.pointwise("aten::mul", kernels::MULTIPLY, &dims),
                self.pointwise("aten::add", kernels::ADD, &dims),
            ]);
        }
        let history = if self.is_multistep { 3 } else { 1 };
        for _ in 0..history {
            scheduler.push(self.pointwise("aten::mul", kernels::MULTIPLY, &dims));
            scheduler.push(self.pointwise("aten::add", kernels::ADD, &dims));
        }
        work.push(code("diffusers/schedulers/scheduling_euler_discrete.py(612): step", scheduler));
        work
    }

    fn denoiser(self) -> Vec<Node> {
        let (channels, side) = (self.channels, self.side);
        let rows = self.images * side * side;
        let mut work = vec![self.linear(self.images, 320, channels), self.convolve(side, 4, channels)];
        for _ in 0..self.blocks {
            let mut resnet = self.group_norm(side, channels);
            resnet.push(self.convolve(side, channels, channels));
            resnet.push(self.pointwise("aten::add", kernels::ADD, &self.latents(channels)));
            work.push(module(("ResnetBlock2D", 1, 0), "diffusers/models/resnet.py(320): forward", resnet));
            let attention = vec![
                self.linear(rows, channels, 3 * channels),
                self.attend(side * side, channels / 64, 64),
                self.linear(rows, channels, channels),
            ];
            work.push(module(
                ("BasicTransformerBlock", 1, 0),
                "diffusers/models/attention.py(465): forward",
                attention,
            ));
        }
        work.extend(self.group_norm(side, channels));
        work.push(self.convolve(side, channels, 4));
        work
    }

    fn denoiser_kernels(self) -> Vec<Kernel> {
        fn collect(nodes: Vec<Node>, kernels: &mut Vec<Kernel>) {
            for node in nodes {
                match node {
                    Node::Launch(kernel) => kernels.push(kernel),
                    Node::Op(op) => collect(op.children, kernels),
                    Node::Frame(frame) => collect(frame.children, kernels),
                    _ => {}
                }
            }
        }
        let mut kernels = Vec::new();
        collect(self.denoiser(), &mut kernels);
        kernels
    }

    /// Pixels from what was denoised, and their way to the host.
    fn decode(self) -> Vec<Node> {
        let mut work = vec![self.convolve(self.side, 4, 128)];
        let mut side = self.side;
        for _ in 0..self.decoder_blocks {
            work.extend(self.group_norm(side, 128));
            work.push(self.convolve(side, 128, 128));
            side *= 2;
            let dims = [self.images, 128, side, side];
            work.push(self.launch(
                "aten::upsample_nearest2d",
                &[bf16(&dims), list(&[side, side])],
                kernels::upsample(dims.iter().product()),
            ));
        }
        work.push(self.convolve(side, 128, 3));
        let pixels = [self.images, 3, side, side];
        let clamp = self.pointwise("aten::clamp", kernels::FILL, &pixels);
        let copy = Node::Copy(Transfer::new(Direction::DeviceToHost, 2 * pixels.iter().product::<u64>()));
        let arguments = self.arguments(&[tensor(BF16, &pixels), tensor(BF16, &pixels)]);
        let to_host = op("aten::copy_", arguments, vec![copy, Node::Call(Call::SynchronizeStream)]);
        vec![
            module(
                ("AutoencoderKL", 1, 0),
                "diffusers/models/autoencoders/autoencoder_kl.py(300): decode",
                work,
            ),
            code("diffusers/image_processor.py(760): postprocess", vec![clamp, to_host]),
        ]
    }
}

impl Recording<'_> {
    /// Makes images, each batch of them from noise.
    pub(super) fn paint(&mut self) -> Result<(), Stop> {
        let (flavour, layout) = (self.flavour(), self.layout());
        let pipeline = Pipeline::draw(flavour, layout, self.random());
        let has_function = self.random().between(0, 4) > 0;
        for index in 0..self.iterations(2, 6) {
            self.begin_mark(index)?;
            self.begin(LevelKind::Image);
            let outside = self.depth();
            if has_function {
                self.enter(&[
                    "diffusers/pipelines/stable_diffusion/pipeline_stable_diffusion.py(780): __call__",
                ])?;
            }
            self.run(&pipeline.encode_text())?;
            self.run(&pipeline.noise())?;
            let denoise = pipeline.denoise();
            for _ in 0..pipeline.denoising_steps {
                self.begin(LevelKind::DenoisingStep);
                self.run(&denoise)?;
                self.end();
            }
            self.run(&pipeline.decode())?;
            self.leave_to(outside)?;
            self.end();
            let writes_file = self.random().between(1, 30) * 1_000_000;
            self.run(&[code("PIL/Image.py(2540): save", vec![Node::Pause(writes_file)])])?;
            self.end_mark()?;
        }
        Ok(())
    }
}
