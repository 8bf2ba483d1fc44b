from TraceLens.PerfModel.perf_model import aten_mm, flash_attention
from TraceLens.PerfModel.extensions import vllm_unified_attention_with_output as unified, mla_decode_fwd
from TraceLens.PerfModel.torch_op_mapping import op_to_perf_model_class_map

assert mla_decode_fwd.category == "InferenceAttention" and "my::op" not in op_to_perf_model_class_map

class with_output(aten_mm):
    def bytes(self):
        return super().bytes() + 1000

class half(aten_mm):
    @staticmethod
    def get_param_details(event):
        details = aten_mm.get_param_details(event)
        details["M"] //= 2
        return details
    def bytes(self):
        return super().bytes(bpe_mat1=1, bpe_mat2=1, bpe_bias=1, bpe_output=2)

class fork(flash_attention):
    def get_param_details(self, event):
        return {**super().get_param_details(event), "causal": False}

op_to_perf_model_class_map["my::addmm"] = op_to_perf_model_class_map["aten::addmm"]
perf_model_extension = {"mm": aten_mm, "with_output": with_output, "half": half, "flash": flash_attention, "fork": fork,
                        "unified": unified}
