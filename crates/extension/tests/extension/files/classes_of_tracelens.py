from TraceLens.PerfModel import *
from TraceLens import PerfModel

class mm(PerfModel.GEMM):
    def get_param_details(self, event):
        return {"M": 40960, "N": 6144, "K": 1536, "bias": False, "dtype_A_B": ("c10::BFloat16", "c10::BFloat16")}

class unary(UnaryElementwise):
    def get_param_details(self, event):
        return {"op_shape": (4, 8), "dtype_in_out": ("float", None)}

class binary(BinaryElementwise):
    def get_param_details(self, event):
        return {"shape_in1": (1, 559, 64), "shape_in2": (), "dtype_in1_in2_out": ("float", "double", None)}

class layer_norm(Normalization):
    def get_param_details(self, event):
        return {"op_shape": (4, 197, 768), "dtype_in_out": ("c10::BFloat16", None), "num_channels": 768,
                "has_bias": True, "is_affine": True, "is_training": True}

class plain:
    category = "NORM_fwd"
    def __init__(self, event, arch=None, python_path=None):
        self.n = event["args"]["Input Dims"][0][1] * event["args"]["topk"]
    def flops(self): return self.n
    def bytes(self): return None

perf_model_extension = {c.__name__: c for c in (mm, unary, binary, layer_norm)}
perf_model_extension["op"] = plain
