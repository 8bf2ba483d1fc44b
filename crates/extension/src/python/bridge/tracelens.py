# ---- TraceLens's modules, as far as extension files use them ----

BYTES = {
    8: ("double", "long int"), 4: ("float", "scalar", "int"), 2: ("c10::half", "c10::bfloat16"),
    1: ("c10::float8_e4m3fnuz", "c10::float8_e4m3fn", "c10::float8_e5m2", "c10::float8_e8m0fnu", "unsigned char",
        "signed char", "fp8", "c10::float4_e2m1fn_x2", "fp4"),
}
PRECISIONS = {
    "float": "fp32", "double": "fp64", "c10::half": "fp16", "c10::bfloat16": "bf16", "c10::float8_e4m3fnuz": "fp8",
    "c10::float8_e4m3fn": "fp8", "unsigned char": "fp8", "fp8": "fp8", "fp4": "fp4", "mxfp4": "fp4",
    "c10::float4_e2m1fn_x2": "fp4",
}


def name2bpe(name):
    """Bytes per element; None of a type that is not known."""
    return next((size for size, names in BYTES.items() if name and name.lower() in names), None)


def torch_dtype_map(name):
    """The precision of a type; None of one that is not known."""
    return PRECISIONS.get(name.lower())


def extract_sdpa_cfg(q_shape, k_shape, v_shape, bhnd_idx):
    """The dimensions of attention out of three shapes, given where batch, heads, length and head dimension stand."""
    q, k, v = ([shape[at] for at in bhnd_idx] for shape in (q_shape, k_shape, v_shape))
    if q[0] != k[0] or k[:3] != v[:3] or q[3] != k[3]:
        raise ValueError("query %s, key %s and value %s do not fit" % (q_shape, k_shape, v_shape))
    return {"B": q[0], "N_Q": q[2], "H_Q": q[1], "N_KV": k[2], "H_KV": k[1], "d_h_qk": q[3], "d_h_v": v[3]}


class PerfModel:
    """What all models have: parameters read out of an event, and figures."""

    category = None
    sheet_category = None
    maf_type = "matrix"

    def __init__(self, event, arch=None, python_path=None, **options):
        self.event = event
        self.arch = arch
        self.param_details = self.get_param_details(event)
        self.read(self.param_details)

    def get_param_details(self, event):
        raise NotImplementedError("%s has no get_param_details" % type(self).__name__)

    def read(self, params):
        for name, value in params.items():
            if isinstance(name, str) and name.isidentifier() and not hasattr(type(self), name):
                setattr(self, name, value)

    def dtype(self):
        """The type that decides the peak."""
        types = self.param_details.get("dtype_A_B") or self.param_details.get("dtype_in_out")
        types = types or self.event["args"].get("Input type")
        return types[0] if types else None

    def get_compute_precision(self):
        name = self.dtype()
        return torch_dtype_map(name) if name else None

    def get_maf_type(self):
        return self.maf_type

    def flops(self):
        raise NotImplementedError("%s has no flops" % type(self).__name__)

    def bytes(self):
        raise NotImplementedError("%s has no bytes" % type(self).__name__)

    def flops_bwd(self):
        raise NotImplementedError("%s has no flops_bwd" % type(self).__name__)

    def bytes_bwd(self):
        raise NotImplementedError("%s has no bytes_bwd" % type(self).__name__)


def any_none(*values):
    return any(value is None for value in values)


class GEMM(PerfModel):
    category = "GEMM"

    def read(self, params):
        params.setdefault("B", 1)
        super().read(params)
        self.bias = params.get("bias", False)

    def size(self):
        name = self.dtype()
        return name2bpe(name) if name else None

    def flops(self):
        return self.flops_func(self.M, self.N, self.K, self.bias)

    @staticmethod
    def flops_func(M, N, K, bias):
        return 2 * M * N * K + (M * N if bias else 0)

    def bytes(self, bpe_mat1=None, bpe_mat2=None, bpe_bias=None, bpe_output=None):
        sizes = [self.size() if size is None else size for size in (bpe_mat1, bpe_mat2, bpe_bias, bpe_output)]
        return self.bytes_func(self.M, self.N, self.K, self.bias, *sizes)

    @staticmethod
    def bytes_func(M, N, K, bias, bpe_mat1, bpe_mat2, bpe_bias, bpe_output):
        if any_none(bpe_mat1, bpe_mat2, bpe_bias, bpe_output):
            return None
        return M * K * bpe_mat1 + K * N * bpe_mat2 + M * N * bpe_output + (N * bpe_bias if bias else 0)

    def flops_bwd(self):
        return self.flops_bwd_func(self.M, self.N, self.K, self.bias)

    @staticmethod
    def flops_bwd_func(M, N, K, bias):
        return 4 * M * N * K + (M * N if bias else 0)


class GroupedGemm(PerfModel):
    category = "GroupedGEMM_fwd"

    def flops(self):
        return 2 * self.M * self.K * self.N

    def bytes(self):
        if any_none(self.bpe_in, self.bpe_out):
            return None
        return (self.M * self.K + self.G * self.K * self.N) * self.bpe_in + self.M * self.N * self.bpe_out

    def flops_bwd(self):
        return 2 * self.flops()

    def bytes_bwd(self):
        size = self.bytes()
        return None if size is None else 2 * size


class SDPA(PerfModel):
    category = "SDPA_fwd"

    def read(self, params):
        if "d_h" in params:
            params.setdefault("d_h_qk", params["d_h"])
        params.setdefault("d_h_v", params.get("d_h_qk"))
        super().read(params)

    def shape(self):
        return self.B, self.N_Q, self.H_Q, self.N_KV, self.H_KV, self.d_h_qk, self.d_h_v

    def size(self, bytes_per_element):
        types = self.param_details.get("dtype_A_B")
        return bytes_per_element or (types and name2bpe(types[0])) or 2

    def flops(self):
        return self.flops_func(*self.shape(), self.param_details.get("causal"))

    @staticmethod
    def masked(flops, N_Q, N_KV, causal):
        if not causal:
            return flops
        if N_Q != N_KV:
            raise ValueError("a causal mask over %s queries and %s keys is not modeled" % (N_Q, N_KV))
        return flops // 2

    @staticmethod
    def flops_func(B, N_Q, H_Q, N_KV, H_KV, d_h_qk, d_h_v, causal):
        return SDPA.masked(2 * B * H_Q * N_Q * N_KV * (d_h_qk + d_h_v), N_Q, N_KV, causal)

    def bytes(self, bytes_per_element=None):
        return self.bytes_func(*self.shape(), self.param_details.get("causal"), self.size(bytes_per_element))

    @staticmethod
    def bytes_func(B, N_Q, H_Q, N_KV, H_KV, d_h_qk, d_h_v, causal, bytes_per_element=2):
        return B * (N_Q * H_Q + N_KV * H_KV) * (d_h_qk + d_h_v) * bytes_per_element

    def flops_bwd(self):
        details = self.param_details
        return self.flops_bwd_func(*self.shape(), details.get("causal"), details.get("flash_impl", True))

    @staticmethod
    def flops_bwd_func(B, N_Q, H_Q, N_KV, H_KV, d_h_qk, d_h_v, causal, flash_impl=True):
        product = 2 * B * H_Q * N_Q * N_KV
        flops = product * (2 * d_h_v + (3 if flash_impl else 2) * d_h_qk)
        flops += B * N_KV * (d_h_qk + d_h_v) * (H_Q // H_KV - 1)
        return SDPA.masked(flops, N_Q, N_KV, causal)

    def bytes_bwd(self, bytes_per_element=None):
        return self.bytes_bwd_func(*self.shape(), self.param_details.get("causal"), self.size(bytes_per_element))

    @staticmethod
    def bytes_bwd_func(B, N_Q, H_Q, N_KV, H_KV, d_h_qk, d_h_v, causal, bytes_per_element=2):
        queries, keys = N_Q * H_Q * (2 * d_h_qk + d_h_v), 2 * N_KV * H_KV * (d_h_qk + d_h_v)
        return B * (queries + keys) * bytes_per_element


class Normalization(PerfModel):
    category = "NORM_fwd"
    sheet_category = "Normalization"
    maf_type = "vector"

    def read(self, params):
        super().read(params)
        self.num_elems = math.prod(self.op_shape)
        types = params["dtype_in_out"]
        self.bpe_in = name2bpe(types[0])
        self.bpe_out = name2bpe(types[1]) if types[1] else self.bpe_in

    def flops(self):
        return self.flops_func(self.has_bias, self.is_affine, self.is_training, self.num_elems, self.num_channels)

    @staticmethod
    def flops_func(has_bias, is_affine, is_training, num_elems, num_channels):
        return 6 * num_channels + 2 * num_elems + (3 * num_elems if is_training else 0)

    def bytes(self):
        return self.bytes_func(self.has_bias, self.is_affine, self.is_training, self.num_elems, self.num_channels,
                               self.bpe_in, self.bpe_out)

    @staticmethod
    def bytes_func(has_bias, is_affine, is_training, num_elems, num_channels, bpe_in, bpe_out):
        vectors = 2 + bool(is_affine) + bool(is_affine and has_bias) + (2 if is_training else 0)
        return num_elems * (bpe_in + bpe_out) + num_channels * bpe_in * vectors

    @staticmethod
    def flops_func_bwd(has_bias, is_affine, is_training, num_elems, num_channels, output_mask):
        of_input = (5 if is_training else 0) if output_mask[0] else 2
        return (0 if is_training else 3 * num_channels) + (4 + of_input) * num_elems

    @staticmethod
    def bytes_func_bwd(has_bias, is_affine, is_training, num_elems, num_channels, bpe_in, bpe_out, output_mask):
        vectors = (1 if is_training else 0) + (1 if is_affine else 0)
        if is_affine and is_training:
            vectors += 2 if has_bias else 1
        passes = 2 if output_mask[0] and is_training else 1
        return num_elems * bpe_in + num_elems * bpe_out * passes + num_channels * bpe_in * vectors


class UnaryElementwise(PerfModel):
    category = "elementwise"
    sheet_category = "UnaryElementwise"
    maf_type = "vector"

    def flops(self):
        return math.prod(self.op_shape)

    def bytes(self):
        read, written = self.dtype_in_out
        read, written = name2bpe(read), name2bpe(written or read)
        return None if any_none(read, written) else math.prod(self.op_shape) * (read + written)


class BinaryElementwise(PerfModel):
    category = "elementwise"
    sheet_category = "BinaryElementwise"
    maf_type = "vector"

    def dtype(self):
        return self.dtype_in1_in2_out[0]

    def out_shape(self):
        first, second = tuple(self.shape_in1), tuple(self.shape_in2)
        rank = max(len(first), len(second))
        first, second = ((1,) * (rank - len(shape)) + shape for shape in (first, second))
        if any(a != b and 1 not in (a, b) for a, b in zip(first, second)):
            raise ValueError("shapes %s and %s do not broadcast" % (self.shape_in1, self.shape_in2))
        return tuple(max(a, b) for a, b in zip(first, second))

    def flops(self):
        return math.prod(self.out_shape())

    def bytes(self):
        first, second, out = (name2bpe(name) for name in self.dtype_in1_in2_out)
        if out is None and not any_none(first, second):
            out = max(first, second) if self.shape_in1 and self.shape_in2 else first
        if any_none(first, second, out):
            return None
        return math.prod(self.shape_in1) * first + math.prod(self.shape_in2) * second + math.prod(self.out_shape()) * out


class BuiltIn:
    """What a class of TraceLens for one operator has beside its family: the program's model of the operator. A class of the
    file that reads parameters of its own has the figures of the family."""

    def built_in_figures(self):
        is_own = type(self).get_param_details is not type(self).built_in_params
        return None if is_own else figures(self.operator, self.event)

    def get_maf_type(self):
        answer = self.built_in_figures()
        return super().get_maf_type() if answer is None else (answer["spec"] or "").partition("_")[0]

    def get_compute_precision(self):
        answer = self.built_in_figures()
        return super().get_compute_precision() if answer is None else (answer["spec"] or "").partition("_")[2]


def figure(name):
    def method(self, *arguments, **named):
        answer = None if arguments or named else self.built_in_figures()
        if answer is None:
            return getattr(super(BuiltIn, self), name)(*arguments, **named)
        if answer[name] is None and name.endswith("_bwd"):
            raise NotImplementedError("%s has no %s" % (self.operator, name))
        return answer[name]

    return method


for name in ("flops", "bytes", "flops_bwd", "bytes_bwd"):
    setattr(BuiltIn, name, figure(name))

LAST = [None, None, None]


def figures(operator, event):
    """What the program's model of an operator says of a call; that of the last one is kept."""
    if LAST[0] is not event or LAST[1] != operator:
        args = dict(event["args"])
        lists = [plain(args.pop(key, None), key) for key in LISTS]
        args = {str(key): shown(value) for key, value in args.items()}
        LAST[:] = event, operator, PIPE.ask("figures", {
            "name": operator, "lists": lists, "args": args, "kernels": list(event.get("kernel_names", ())),
            "annotation": event.get("annotation")})
    return LAST[2]


def built_in(name):
    """The class of TraceLens of this name or for the operator of this name; None where there is none."""
    found = PIPE.ask("operator", name)
    if found is None:
        return None
    family = OF_FAMILY.get(found["family"], PerfModel)

    def params(event):
        return {key: tuples(value) for key, value in figures(found["operator"], event)["params"].items()}

    return type(name, (BuiltIn, family), {
        "operator": found["operator"], "category": found["category"], "sheet_category": found["family"],
        "get_param_details": staticmethod(params), "built_in_params": staticmethod(params)})


class Registered(dict):
    """`op_to_perf_model_class_map`: what a file puts there counts as `perf_model_extension`. What it reads is there, too."""

    def __missing__(self, operator):
        found = built_in(operator)
        if found is None:
            raise KeyError(operator)
        return found

    def get(self, operator, default=None):
        try:
            return self[operator]
        except KeyError:
            return default


REGISTERED = Registered()
OF_FAMILY = {"GEMM": GEMM, "GroupedGEMM": GroupedGemm, "SDPA": SDPA, "Normalization": Normalization,
             "UnaryElementwise": UnaryElementwise, "BinaryElementwise": BinaryElementwise}
TRACELENS = {
    "GEMM": GEMM, "GroupedGemm": GroupedGemm, "SDPA": SDPA, "Normalization": Normalization,
    "UnaryElementwise": UnaryElementwise, "BinaryElementwise": BinaryElementwise, "PerfModel": PerfModel,
    "name2bpe": name2bpe, "torch_dtype_map": torch_dtype_map, "extract_sdpa_cfg": extract_sdpa_cfg,
    "op_to_perf_model_class_map": REGISTERED, "TraceToTree": Tree, "prod": prod,
}
OURS = {"model": model, "work": work, "prod": prod, "element_size": element_size, "fail": fail, "name2bpe": name2bpe}


class Absent:
    """A name of TraceLens that is not here. Importing it does no harm: files import more than they use."""

    def __init__(self, module, name):
        vars(self)["place"] = "%s.%s" % (module, name)

    def refuse(self, *arguments, **named):
        raise ImportError("%s is not in tracelens; choose one of %s" % (
            vars(self)["place"], ", ".join(sorted(TRACELENS))))

    __call__ = __mro_entries__ = __getattr__ = __getitem__ = refuse


class Modules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives `tracelens`, `TraceLens` and every module below that out of the tables above."""

    def find_spec(self, name, path=None, target=None):
        if name == "tracelens" or name.split(".")[0] == "TraceLens":
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        table = OURS if module.__name__ == "tracelens" else TRACELENS
        vars(module).update(table, __all__=list(table))

        def missing(name):
            if name.startswith("__"):
                raise AttributeError(name)
            if table is OURS:
                raise AttributeError("tracelens has no %s; it has %s" % (name, ", ".join(OURS)))
            return built_in(name) or Absent(module.__name__, name)

        module.__getattr__ = missing


