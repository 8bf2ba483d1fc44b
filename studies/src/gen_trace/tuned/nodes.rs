//! What the plans of all tuned programs are made of, and the faults that any of them can have.

use std::rc::Rc;

use super::device::{Device, Precision};
use super::fault::{Fault, Faults};
use crate::gen_trace::flavour::{Call, Direction, Flavour, HostMemory, Stream};
use crate::gen_trace::json::Layout;
use crate::gen_trace::kernels;
use crate::gen_trace::plan::{Kernel, Node, Transfer, code, op};
use crate::gen_trace::signature::{Argument, BF16, FLOAT, bf16, bf16_transposed, render, tensor};

/// What plans are made for.
#[derive(Clone, Copy)]
pub(super) struct Builder<'f> {
    pub(super) device: Device,
    pub(super) faults: &'f Faults,
    pub(super) step: u64,
}

/// Functors of elementwise kernels.
const POWER: &str = "at::native::(anonymous namespace)::pow_tensor_scalar_kernel_impl<c10::BFloat16, c10::BFloat16>\
     (at::TensorIteratorBase&, c10::BFloat16)::{lambda(c10::BFloat16)#1}";
const RSQRT: &str = "at::native::rsqrt_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::\
     {lambda()#4}::operator()() const::{lambda(c10::BFloat16)#1}";
const ADD_SCALAR: &str = "at::native::CUDAFunctorOnSelf_add<c10::BFloat16>";
const SQUARE_ROOT: &str = "at::native::sqrt_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::\
     {lambda()#4}::operator()() const::{lambda(c10::BFloat16)#1}";
const MULTIPLY_SCALAR: &str = "at::native::AUnaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, at::native::binary_internal::MulFunctor<float> >";
const TO_FLOAT: &str =
    "at::native::float_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#1}::operator()() const";

impl Builder<'_> {
    pub(super) fn arguments(&self, arguments: &[Argument]) -> Rc<str> {
        if self.faults.has(Fault::NoShapes) { "".into() } else { render(arguments, Layout::Compact) }
    }

    fn flavour(&self) -> Flavour {
        self.device.flavour
    }

    /// A kernel that TorchInductor generated: inputs, then outputs, then the extents of its grid.
    pub(super) fn triton(
        &self,
        name: &'static str,
        tensors: &[Argument],
        extents: &[u64],
        bytes: u64,
    ) -> Node {
        let extents = extents.iter().map(|&extent| Argument::Number(extent));
        let arguments: Vec<Argument> = tensors.iter().cloned().chain(extents).collect();
        let grid = [(bytes / 8_192).max(1), 1, 1];
        let kernel = kernels::kernel(name.into(), Call::LaunchModule, 0, grid, [256, 1, 1]);
        op(name, self.arguments(&arguments), vec![Node::Launch(self.device.streams(kernel, bytes))])
    }

    /// `aten::mm` of `m × n × k`; the second factor is a transposed weight.
    pub(super) fn mm(&self, size: [u64; 3]) -> Node {
        self.mm_with(size, self.device.product(Precision::Bf16, size))
    }

    pub(super) fn mm_with(&self, [m, n, k]: [u64; 3], kernel: Kernel) -> Node {
        let arguments = self.arguments(&[bf16(&[m, k]), bf16_transposed(&[k, n])]);
        op("aten::mm", arguments, vec![Node::Launch(kernel)])
    }

    /// The same in 32 bits.
    pub(super) fn wide_mm(&self, [m, n, k]: [u64; 3]) -> Node {
        // Seeds decide whether the program allows TF32; an MI300X's libraries have none.
        let has_tf32 = self.flavour() == Flavour::Cuda && self.device.seed.is_multiple_of(3);
        let precision = if has_tf32 { Precision::Tf32 } else { Precision::Fp32 };
        let second = Argument::Tensor(FLOAT, vec![k, n], vec![1, k]);
        let arguments = self.arguments(&[tensor(FLOAT, &[m, k]), second]);
        op("aten::mm", arguments, vec![Node::Launch(self.device.product(precision, [m, n, k]))])
    }

    /// `aten::addmm`, which adds the bias as it writes the product.
    pub(super) fn addmm(&self, [m, n, k]: [u64; 3]) -> Node {
        let one = Argument::Scalar("1");
        let arguments =
            self.arguments(&[bf16(&[n]), bf16(&[m, k]), bf16_transposed(&[k, n]), one.clone(), one]);
        let kernel = self.device.product(Precision::Bf16, [m, n, k]);
        let name = match self.flavour() {
            Flavour::Cuda => kernel.name.replace("coopA_TNT", "coopA_bias_TNT"),
            Flavour::Rocm => kernel.name.to_string(),
        };
        op("aten::addmm", arguments, vec![Node::Launch(Kernel { name: name.into(), ..kernel })])
    }

    /// An elementwise kernel of PyTorch on tensors of these dims, with the operands' dims as recorded.
    fn elementwise(
        &self,
        name: &'static str,
        functor: &str,
        operands: &[Argument],
        (tensors, elements): (u64, u64),
    ) -> Node {
        let kernel = kernels::elementwise(functor, tensors, elements);
        let kernel = self.device.streams(kernel, 2 * tensors * elements);
        op(name, self.arguments(operands), vec![Node::Launch(kernel)])
    }

    pub(super) fn add(&self, dims: &[u64]) -> Node {
        let operands = [bf16(dims), bf16(dims), Argument::Scalar("1")];
        self.elementwise("aten::add", kernels::ADD, &operands, (3, dims.iter().product()))
    }

    /// Adds one row to all.
    pub(super) fn add_bias(&self, [rows, width]: [u64; 2]) -> Node {
        let operands = [bf16(&[rows, width]), bf16(&[width]), Argument::Scalar("1")];
        self.elementwise("aten::add", kernels::ADD, &operands, (2, rows * width))
    }

    /// The product with a row, or with a column.
    pub(super) fn multiply(&self, [rows, width]: [u64; 2], factor: &[u64]) -> Node {
        let operands = [bf16(&[rows, width]), bf16(factor)];
        self.elementwise("aten::mul", kernels::MULTIPLY, &operands, (2, rows * width))
    }

    pub(super) fn multiply_scalar(&self, dims: &[u64]) -> Node {
        let operands = [bf16(dims), Argument::Scalar("0.088388347648318447")];
        self.elementwise("aten::mul", MULTIPLY_SCALAR, &operands, (2, dims.iter().product()))
    }

    /// The root-mean-square norm of the sum of two tensors, operator by operator.
    pub(super) fn norm_chain(&self, [rows, width]: [u64; 2]) -> Vec<Node> {
        let whole = [rows, width];
        let column = [rows, 1];
        let power = [bf16(&whole), Argument::Scalar("2")];
        let mean = [bf16(&whole), Argument::List("[-1]".into()), Argument::Scalar("True"), Argument::Absent];
        let mean_kernel = self.device.streams(kernels::sum(rows, width), 2 * rows * width);
        let epsilon = [bf16(&column), Argument::Scalar("1.0000000000000001e-05"), Argument::Scalar("1")];
        vec![
            self.add(&whole),
            self.elementwise("aten::pow", POWER, &power, (2, rows * width)),
            op("aten::mean", self.arguments(&mean), vec![Node::Launch(mean_kernel)]),
            self.elementwise("aten::add", ADD_SCALAR, &epsilon, (2, rows)),
            self.elementwise("aten::rsqrt", RSQRT, &[bf16(&column)], (2, rows)),
            self.multiply(whole, &column),
            self.multiply(whole, &[width]),
        ]
    }

    /// The gradient of the same.
    pub(super) fn norm_chain_backward(&self, whole: [u64; 2]) -> Vec<Node> {
        let [rows, width] = whole;
        vec![
            self.multiply(whole, &[width]),
            self.multiply(whole, &[rows, 1]),
            self.add(&whole),
            self.multiply(whole, &[rows, 1]),
            self.multiply_scalar(&whole),
            self.add(&whole),
        ]
    }

    /// Attention as products and softmax, of `[batch, heads, sequence, head]`.
    pub(super) fn plain_attention(&self, [batch, heads, sequence, head]: [u64; 4]) -> Vec<Node> {
        let all = batch * heads;
        let scores = [all, sequence, sequence];
        vec![
            self.bmm(all, [sequence, sequence, head]),
            self.multiply_scalar(&scores),
            self.softmax("aten::_softmax", scores),
            self.bmm(all, [sequence, head, sequence]),
        ]
    }

    /// Its gradient.
    pub(super) fn plain_attention_backward(&self, [batch, heads, sequence, head]: [u64; 4]) -> Vec<Node> {
        let all = batch * heads;
        let scores = [all, sequence, sequence];
        vec![
            self.bmm(all, [sequence, head, sequence]),
            self.bmm(all, [sequence, sequence, head]),
            self.softmax("aten::_softmax_backward_data", scores),
            self.multiply_scalar(&scores),
            self.bmm(all, [sequence, head, sequence]),
            self.bmm(all, [sequence, head, sequence]),
        ]
    }

    fn bmm(&self, count: u64, [m, n, k]: [u64; 3]) -> Node {
        let arguments = self.arguments(&[bf16(&[count, m, k]), bf16_transposed(&[count, k, n])]);
        // All of the batch as rows: the device is as full as with one product of that size.
        let kernel = self.device.product(Precision::Bf16, [count * m, n, k]);
        op("aten::bmm", arguments, vec![Node::Launch(kernel)])
    }

    fn softmax(&self, name: &'static str, dims: [u64; 3]) -> Node {
        let is_backward = name != "aten::_softmax";
        let elements: u64 = dims.iter().product();
        let (functor, tensors) = if is_backward {
            ("cunn_SoftMaxBackward<8, c10::BFloat16, float, c10::BFloat16, SoftMaxBackwardEpilogue>", 3)
        } else {
            ("cunn_SoftMaxForward<8, c10::BFloat16, float, c10::BFloat16, SoftMaxForwardEpilogue>", 2)
        };
        let kernel = kernels::kernel(
            format!(
                "void at::native::(anonymous namespace)::{functor}(c10::BFloat16*, c10::BFloat16 const*, int)"
            ),
            Call::LaunchKernel,
            0,
            [dims[0] * dims[1], 1, 1],
            [512, 1, 1],
        );
        let whole = bf16(&dims);
        let (axis, element) = (Argument::Scalar("-1"), Argument::Scalar("15"));
        let operands = if is_backward {
            vec![whole.clone(), whole, axis, element]
        } else {
            vec![whole, axis, Argument::Scalar("False")]
        };
        let kernel = self.device.streams(kernel, 2 * tensors * elements);
        op(name, self.arguments(&operands), vec![Node::Launch(kernel)])
    }

    /// A tensor of heads laid out anew.
    pub(super) fn contiguous(&self, [batch, heads, sequence, head]: [u64; 4]) -> Node {
        let dims = [batch, heads, sequence, head];
        let strides = vec![heads * sequence * head, head, heads * head, 1];
        let elements: u64 = dims.iter().product();
        let functor = "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::\
                       {lambda()#12}::operator()() const::{lambda(c10::BFloat16)#1}";
        let name = format!(
            "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<{functor}>\
             (at::TensorIteratorBase&, {functor} const&)::{{lambda(int)#1}}>(int, {functor})"
        );
        let kernel =
            kernels::kernel(name, Call::LaunchKernel, 0, [elements.div_ceil(512), 1, 1], [128, 1, 1]);
        // Reading in another order than writing costs bandwidth.
        let kernel = self.device.streams(kernel, 2 * 2 * elements * 3 / 2);
        let strided = Argument::Tensor(BF16, dims.to_vec(), strides);
        let copy = self.arguments(&[bf16(&dims), strided.clone(), Argument::Scalar("False")]);
        let copied = op("aten::copy_", copy, vec![Node::Launch(kernel)]);
        let format = self.arguments(&[strided, Argument::Scalar("0")]);
        op("aten::contiguous", format.clone(), vec![op("aten::clone", format, vec![copied])])
    }

    /// A conversion between 16 and 32 bits.
    pub(super) fn cast(&self, dims: &[u64], to: &'static str) -> Node {
        let from = if to == BF16 { FLOAT } else { BF16 };
        let elements = dims.iter().product();
        let functor = if to == BF16 { kernels::CONVERT } else { TO_FLOAT };
        let kernel = self.device.streams(kernels::elementwise(functor, 2, elements), 6 * elements);
        let copy = self.arguments(&[tensor(to, dims), tensor(from, dims), Argument::Scalar("False")]);
        let number = Argument::Scalar(if to == BF16 { "15" } else { "6" });
        let arguments = self.arguments(&[tensor(from, dims), number, Argument::Absent, Argument::Absent]);
        let copied = op("aten::copy_", copy, vec![Node::Launch(kernel)]);
        op("aten::to", arguments.clone(), vec![op("aten::_to_copy", arguments, vec![copied])])
    }

    /// Kernels of an optimizer that updates one small parameter.
    pub(super) fn update_one(&self, elements: u64) -> Vec<Node> {
        let dims = [elements];
        let two = [bf16(&dims), bf16(&dims), Argument::Scalar("1")];
        let one = [bf16(&dims), Argument::Scalar("0.90000000000000002")];
        vec![
            self.elementwise("aten::mul_", MULTIPLY_SCALAR, &one, (2, elements)),
            self.elementwise("aten::add_", kernels::ADD, &two, (3, elements)),
            self.elementwise("aten::mul_", MULTIPLY_SCALAR, &one, (2, elements)),
            self.elementwise("aten::sqrt", SQUARE_ROOT, &one[..1], (2, elements)),
            self.elementwise("aten::add_", ADD_SCALAR, &two[..1], (2, elements)),
            self.elementwise("aten::add_", kernels::ADD, &two, (3, elements)),
        ]
    }

    /// An asynchronous copy to the device, of pinned memory.
    pub(super) fn upload(&self, element: &'static str, dims: &[u64], bytes: u64, stream: Stream) -> Node {
        let call = Call::CopyAsync;
        let transfer = Transfer { stream, call, ..Transfer::new(Direction::HostToDevice, bytes) };
        self.copy_op((element, dims), true, vec![Node::Copy(transfer)])
    }

    /// An asynchronous copy to the host, into pinned memory.
    pub(super) fn readback(&self, element: &'static str, dims: &[u64], bytes: u64) -> Node {
        let (memory, call) = (HostMemory::Pinned, Call::CopyAsync);
        let transfer = Transfer { memory, call, ..Transfer::new(Direction::DeviceToHost, bytes) };
        self.copy_op((element, dims), true, vec![Node::Copy(transfer)])
    }

    /// A copy of pageable memory, which the host waits for: CUDA's by a call of its own.
    fn pageable_copy(&self, direction: Direction, bytes: u64) -> Vec<Node> {
        let memory = HostMemory::Pageable;
        // What the driver's staging through a pinned buffer leaves of the bus.
        let rate = 6 + self.device.seed % 7;
        let transfer = Transfer { memory, rate, ..Transfer::new(direction, bytes) };
        match self.flavour() {
            Flavour::Cuda => vec![Node::Copy(transfer), Node::Call(Call::SynchronizeStream)],
            Flavour::Rocm => vec![Node::Copy(Transfer { call: Call::CopyBlocking, ..transfer })],
        }
    }

    fn copy_op(&self, (element, dims): (&'static str, &[u64]), is_async: bool, work: Vec<Node>) -> Node {
        let both = [tensor(element, dims), tensor(element, dims)];
        let flag = Argument::Scalar(if is_async { "True" } else { "False" });
        let copied =
            op("aten::copy_", self.arguments(&[&both[..], std::slice::from_ref(&flag)].concat()), work);
        let options = [Argument::Absent, Argument::Absent, flag, Argument::Absent];
        let arguments = self.arguments(&[&both[..1], &options].concat());
        op("aten::to", arguments.clone(), vec![op("aten::_to_copy", arguments, vec![copied])])
    }

    /// A number read back, which waits for everything before it.
    fn item(&self) -> Node {
        let scalar = self.arguments(&[tensor(FLOAT, &[])]);
        let work = self.pageable_copy(Direction::DeviceToHost, 4);
        let dense = op("aten::_local_scalar_dense", scalar.clone(), work);
        code(
            "<built-in method item of Tensor object at 0x7f9e4612b950>",
            vec![op("aten::item", scalar, vec![dense])],
        )
    }

    /// The faults that stand between two layers of any program.
    pub(super) fn between_layers(&self, layer: usize, elements: u64) -> Vec<Node> {
        let mut work = Vec::new();
        if let Some(pause) = self.faults.between(Fault::Item, 8e3, 6e6) {
            let report = code("train.py(118): log_activation", vec![Node::Pause(pause as u64)]);
            work.extend([self.item(), report]);
        }
        if let Some(pause) = self.faults.between(Fault::SynchronizeDevice, 8e3, 6e6) {
            let wait =
                code("torch/cuda/__init__.py(985): synchronize", vec![Node::Call(Call::SynchronizeDevice)]);
            work.extend([wait, code("train.py(131): record_time", vec![Node::Pause(pause as u64)])]);
        }
        if let Some(times) = self.faults.between(Fault::DeviceCopies, 0.05, 120.0) {
            let bytes = (2.0 * elements as f64 * times) as u64;
            let rate = if self.flavour() == Flavour::Cuda { 1_400 } else { 2_100 };
            let call = Call::CopyAsync;
            let transfer = Transfer { rate, call, ..Transfer::new(Direction::DeviceToDevice, bytes) };
            let dims = [bytes / 2];
            let operands = self.arguments(&[bf16(&dims), bf16(&dims), Argument::Scalar("False")]);
            let copied = op("aten::copy_", operands, vec![Node::Copy(transfer)]);
            let format = self.arguments(&[bf16(&dims), Argument::Absent]);
            work.push(code("model/history.py(23): remember", vec![op("aten::clone", format, vec![copied])]));
        }
        if let Some(microseconds) = self.faults.between(Fault::ForeignKernel, 1.0, 30_000.0) {
            let name = "void mixer_kernels::selective_mixer_fwd<256, 4, true>(mixer_kernels::Params)";
            let mut kernel = kernels::kernel(name.into(), Call::LaunchKernel, 0, [1_024, 1, 1], [256, 1, 1]);
            kernel.duration = (microseconds * 1e3) as u64;
            let arguments = self.arguments(&[bf16(&[layer as u64 + 1, 64]), Argument::Scalar("4")]);
            work.push(op("mixer_kernels::selective_mixer", arguments, vec![Node::Launch(kernel)]));
        }
        work
    }

    /// The faults that stand at the end of any step.
    pub(super) fn end_of_step(&self) -> Vec<Node> {
        let mut work = Vec::new();
        if let Some(bytes) = self.faults.between(Fault::PageableReadback, 1e5, 4e9) {
            let dims = [bytes as u64 / 4];
            let copies = self.pageable_copy(Direction::DeviceToHost, 4 * dims[0]);
            work.push(code("train.py(140): keep_outputs", vec![self.copy_op((FLOAT, &dims), false, copies)]));
        }
        if let Some(count) = self.faults.between(Fault::TinyReadbacks, 4.0, 20_000.0) {
            let read =
                |_| self.copy_op((FLOAT, &[16]), false, self.pageable_copy(Direction::DeviceToHost, 64));
            work.push(code("train.py(150): log_metrics", (0..count as u64).map(read).collect()));
        }
        work
    }

    /// The fault that stands before any step.
    pub(super) fn start_of_step(&self) -> Vec<Node> {
        let Some(bytes) = self.faults.between(Fault::PageableUpload, 1e5, 4e9) else { return Vec::new() };
        let dims = [bytes as u64 / 4];
        let copies = self.pageable_copy(Direction::HostToDevice, 4 * dims[0]);
        vec![code("train.py(44): load_masks", vec![self.copy_op((FLOAT, &dims), false, copies)])]
    }
}
