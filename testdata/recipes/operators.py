"""One call of each operator with a cost model: as a trace with shapes, or under the hardware's counters.

    python3 operators.py --out DIR                      # operators.json.gz
    ncu … python3 operators.py --out DIR --counters     # what the device counted, see operator_counters.sh

Both runs call the same cases in the same order, so that a model's FLOPs and bytes can be held against the counters of
the kernels that did the work. Every case is one annotation and, in it, one operator.
"""

import torch
import torch.nn.functional as F

import recording

BF16, FP16, FP32, FP64, FP8 = torch.bfloat16, torch.float16, torch.float32, torch.float64, torch.float8_e4m3fn
NHWC = torch.channels_last
aten = torch.ops.aten


def values(*shape, dtype=BF16, grad=False):
    return torch.randn(shape, device=device, dtype=dtype).requires_grad_(grad)


def backward_of(forward):
    """A case that is the backward pass alone: `forward` has run before."""
    out = forward()
    gradient = torch.randn_like(out)

    def case():
        out.backward(gradient, retain_graph=True)

    return case


def products():
    square = [values(4096, 4096) for _ in range(2)]
    yield "mm bf16", lambda: torch.mm(*square)
    wide = values(1000, 1536), values(1536, 5000)
    yield "mm bf16 of uneven sizes", lambda: torch.mm(*wide)
    half = values(2048, 4096, dtype=FP16), values(4096, 1024, dtype=FP16)
    yield "mm fp16", lambda: torch.mm(*half)
    single = [values(2048, 2048, dtype=FP32) for _ in range(2)]
    yield "mm fp32", lambda: torch.mm(*single)
    double = [values(1024, 1024, dtype=FP64) for _ in range(2)]
    yield "mm fp64", lambda: torch.mm(*double)
    bias, x, weight = values(3072), values(2048, 1024), values(3072, 1024)
    yield "addmm bf16", lambda: torch.addmm(bias, x, weight.t())
    batched = values(64, 512, 128), values(64, 128, 512)
    yield "bmm bf16", lambda: torch.bmm(*batched)
    added = values(32, 256, 256), values(32, 256, 512), values(32, 512, 256)
    yield "baddbmm bf16", lambda: torch.baddbmm(*added)
    vector = values(8192, 8192), values(8192, 1)
    yield "mm bf16 with one column", lambda: torch.mm(*vector)
    if device == "cuda":
        scale = torch.ones((), device=device)
        left, right = (values(4096, 4096, dtype=FP32).to(FP8) for _ in range(2))
        yield "_scaled_mm fp8", lambda: torch._scaled_mm(left, right.t(), scale, scale, out_dtype=BF16)
        bytes_left, bytes_right = (torch.randint(-8, 8, (2048, 2048), device=device, dtype=torch.int8) for _ in range(2))
        yield "_int_mm", lambda: torch._int_mm(bytes_left, bytes_right.t())
        # Eight groups of 512: of the rows, of the columns, of what is summed over.
        ends = torch.arange(512, 4097, 512, device=device, dtype=torch.int32)
        rows, experts, outer = values(4096, 1024), values(8, 1024, 2048), values(4096, 2048)
        yield "grouped rows bf16", lambda: torch._grouped_mm(rows, experts, offs=ends)
        yield "grouped columns bf16", lambda: torch._grouped_mm(experts.transpose(1, 2), rows.t(), offs=ends)
        yield "grouped sums bf16", lambda: torch._grouped_mm(rows.t(), outer, offs=ends)


def tensor_float_32():
    """Named apart: the switch is global."""
    single = [values(3072, 3072, dtype=FP32) for _ in range(2)]

    def case():
        torch.backends.cuda.matmul.allow_tf32 = True
        torch.mm(*single)
        torch.backends.cuda.matmul.allow_tf32 = False

    yield "mm tf32", case


def convolutions():
    image = values(32, 64, 56, 56).to(memory_format=NHWC)
    three = values(128, 64, 3, 3).to(memory_format=NHWC)
    yield "conv2d 3x3", lambda: aten.convolution(image, three, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)
    one = values(256, 64, 1, 1).to(memory_format=NHWC)
    yield "conv2d 1x1", lambda: aten.convolution(image, one, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    strided = values(64, 64, 3, 3).to(memory_format=NHWC)
    yield "conv2d 3x3 stride 2", lambda: aten.convolution(image, strided, None, [2, 2], [1, 1], [1, 1], False, [0, 0], 1)
    depthwise = values(64, 1, 3, 3).to(memory_format=NHWC)
    yield "conv2d depthwise", lambda: aten.convolution(image, depthwise, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 64)
    volume, kernel = values(4, 16, 16, 64, 64), values(32, 16, 3, 3, 3)
    yield "conv3d 3x3x3", lambda: aten.convolution(volume, kernel, None, [1] * 3, [1] * 3, [1] * 3, False, [0] * 3, 1)
    up = values(64, 32, 4, 4).to(memory_format=NHWC)
    yield "conv_transpose2d", lambda: aten.convolution(image, up, None, [2, 2], [1, 1], [1, 1], True, [0, 0], 1)
    gradient = values(32, 128, 56, 56).to(memory_format=NHWC)
    yield (
        "conv2d 3x3 backward",
        lambda: aten.convolution_backward(
            gradient, image, three, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True, True, False]
        ),
    )


def attention():
    query, key, value = (values(4, 16, 2048, 64, grad=True) for _ in range(3))
    if device == "cuda":
        with torch.no_grad():
            flash = tuple(x.detach() for x in (query, key, value))
        yield "flash attention", lambda: aten._scaled_dot_product_flash_attention(*flash, 0.0, False)
        yield "flash attention, causal", lambda: aten._scaled_dot_product_flash_attention(*flash, 0.0, True)
        yield "efficient attention", lambda: aten._scaled_dot_product_efficient_attention(*flash, None, False)
        cudnn = tuple(values(4, 16, 1024, 128) for _ in range(3))
        yield "cuDNN attention", lambda: aten._scaled_dot_product_cudnn_attention(*cudnn, None, False)
        grouped = values(2, 32, 2048, 128), values(2, 8, 2048, 128), values(2, 8, 2048, 128)
        yield "flash attention of grouped queries", lambda: aten._scaled_dot_product_flash_attention(*grouped, 0.0, True)
        yield from attention_backward()
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.FLASH_ATTENTION):
        yield "flash attention backward", backward_of(lambda: F.scaled_dot_product_attention(query, key, value))
    short = tuple(values(2, 8, 1024, 64) for _ in range(3))
    yield "math attention", lambda: aten._scaled_dot_product_attention_math(*short)


def attention_backward():
    """The operators as compiled programs call them, without autograd."""
    gradient, *inputs = (values(4, 16, 1024, 128) for _ in range(4))
    out, sums, _, _, longest_query, longest_key, seed, offset, _ = aten._scaled_dot_product_flash_attention(*inputs, 0.0, True)
    of_flash = out, sums, None, None, longest_query, longest_key, 0.0, True, seed, offset
    yield (
        "flash attention backward, causal",
        lambda: aten._scaled_dot_product_flash_attention_backward(gradient, *inputs, *of_flash),
    )
    of_efficient = aten._scaled_dot_product_efficient_attention(*inputs, None, True)
    yield (
        "efficient attention backward",
        lambda: aten._scaled_dot_product_efficient_attention_backward(
            gradient, *inputs, None, *of_efficient, 0.0, [True, True, True, False]
        ),
    )
    out, sums, _, _, longest_query, longest_key, seed, offset, _ = aten._scaled_dot_product_cudnn_attention(
        *inputs, None, True
    )
    of_cudnn = out, sums, seed, offset, None, None, None, longest_query, longest_key, 0.0, False
    yield (
        "cuDNN attention backward",
        lambda: aten._scaled_dot_product_cudnn_attention_backward(gradient, *inputs, *of_cudnn),
    )


def normalizations():
    rows, scale, shift = values(8192, 4096, grad=True), values(4096, grad=True), values(4096, grad=True)
    plain = tuple(x.detach() for x in (rows, scale, shift))
    yield "layer_norm", lambda: aten.native_layer_norm(plain[0], [4096], plain[1], plain[2], 1e-5)
    yield "layer_norm backward", backward_of(lambda: F.layer_norm(rows, (4096,), scale, shift))
    yield "rms_norm", lambda: F.rms_norm(plain[0], (4096,), plain[1])
    images, weight = values(32, 128, 112, 112, grad=True), values(128, dtype=FP32, grad=True)
    bias, mean, variance = (values(128, dtype=FP32) for _ in range(3))
    still = images.detach()
    yield (
        "batch_norm in training",
        lambda: F.batch_norm(still, mean, variance.abs_(), weight.detach(), bias, training=True),
    )
    yield "batch_norm backward", backward_of(lambda: F.batch_norm(images, None, None, weight, bias, training=True))
    groups = values(16, 256, 64, 64)
    yield "group_norm", lambda: F.group_norm(groups, 32)


def elementwise():
    one, two = values(8192, 8192), values(8192, 8192)
    row, single = values(8192), values(8192, 8192, dtype=FP32)
    yield "add", lambda: torch.add(one, two)
    yield "add of a row", lambda: torch.add(one, row)
    yield "add of bf16 and fp32", lambda: torch.add(one, single)
    yield "mul by a number", lambda: torch.mul(one, 2.0)
    yield "mul in place", lambda: two.mul_(one)
    yield "gelu", lambda: F.gelu(one)
    yield "silu", lambda: F.silu(one)
    yield "cast to fp32", lambda: aten._to_copy(one, dtype=FP32)
    yield "copy of a transpose", lambda: one.t().contiguous()
    yield "where", lambda: torch.where(one > 0, one, two)
    yield "dropout", lambda: aten.native_dropout(one, 0.1, True)
    yield "cat", lambda: torch.cat([one, two])
    yield "fill", lambda: two.zero_()


def reductions():
    rows, logits = values(8192, 8192), values(8192, 32000)
    classes = torch.randint(32000, (8192,), device=device)
    yield "sum of rows", lambda: torch.sum(rows, dim=1)
    yield "sum of all", lambda: torch.sum(rows)
    yield "mean of columns", lambda: torch.mean(rows, dim=0)
    yield "argmax", lambda: torch.argmax(rows, dim=1)
    yield "softmax", lambda: aten._softmax(rows, 1, False)
    yield "log_softmax", lambda: aten._log_softmax(logits, 1, False)
    chances = torch.log_softmax(logits.float(), 1)
    yield "nll_loss", lambda: F.nll_loss(chances, classes)
    yield "cumsum", lambda: torch.cumsum(rows, 1)
    yield "topk", lambda: torch.topk(rows, 8, dim=1)


def lookups():
    table, tokens = values(50304, 2048), torch.randint(50304, (16384,), device=device)
    yield "embedding", lambda: F.embedding(tokens, table)
    yield "index_select", lambda: torch.index_select(table, 0, tokens)
    gradient = values(16384, 2048)
    yield "embedding backward", lambda: aten.embedding_dense_backward(gradient, tokens, 50304, -1, False)


def pools():
    images = values(32, 64, 112, 112)
    yield "max_pool2d", lambda: F.max_pool2d(images, 3, 2, 1)
    yield "avg_pool2d", lambda: F.avg_pool2d(images, 2)
    yield "upsample", lambda: F.interpolate(images, scale_factor=2, mode="bilinear")


def optimizers():
    for name, options in {"fused": {"fused": True}, "foreach": {"foreach": True}}.items():
        parameters = [values(4096, 4096, dtype=FP32, grad=True) for _ in range(2)]
        for parameter in parameters:
            parameter.grad = torch.randn_like(parameter)
        optimizer = torch.optim.AdamW(parameters, **options)
        yield f"AdamW, {name}", optimizer.step


FAMILIES = [
    products,
    tensor_float_32,
    convolutions,
    attention,
    normalizations,
    elementwise,
    reductions,
    lookups,
    pools,
    optimizers,
]


def cases():
    """The cases that this device and version can run; the others are named on the terminal."""
    for family in FAMILIES:
        for name, case in family():
            try:
                for _ in range(2):
                    case()
                recording.synchronise(device)
            except (RuntimeError, NotImplementedError) as error:
                print(f"left out: {name}: {str(error).splitlines()[0]}")
                continue
            yield name, case


def under_counters():
    """Each case in an NVTX range; the profiler counts from `start` on."""
    for name, case in cases():
        recording.synchronise(device)
        torch.cuda.profiler.start()
        torch.cuda.nvtx.range_push(name)
        case()
        torch.cuda.synchronize()
        torch.cuda.nvtx.range_pop()
        torch.cuda.profiler.stop()


def as_trace(options):
    # Families are freed one after the other, as in the counted run; one trace holds them all.
    def step():
        for name, case in all_cases:
            with torch.profiler.record_function(f"case: {name}"):
                case()

    all_cases = list(cases())
    recording.record("operators", step, options)


parser = recording.parser(__doc__.splitlines()[0])
parser.add_argument("--counters", action="store_true", help="run each case once, in an NVTX range, between start and stop")
options = parser.parse_args()
recording.prepare()
device = options.device
# Backward passes run on the calling thread, inside the annotation of their case.
torch.autograd.set_multithreading_enabled(False)
torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False
if options.counters:
    under_counters()
else:
    as_trace(options)
