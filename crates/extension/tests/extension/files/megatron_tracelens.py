"""Megatron with Transformer Engine 2, written for TraceLens: the contract and the rules of spec page 04, section 13."""
import ast
import collections
import logging
import math
import re

from TraceLens.PerfModel import GEMM, SDPA, GroupedGemm, Normalization, extract_sdpa_cfg, name2bpe
from TraceLens.util import TraceEventUtils  # noqa: F401 (some files import more than they use)

LAYERS = {"_Linear": dict(weight=0, x=1, fp8=4), "_LayerNormLinear": dict(weight=3, x=0, fp8=7)}


# The tree: events are dicts, changed in place.

def link_checkpoints(tree):
    for uid in tree.name2event_uids.get("CheckpointFunctionBackward", []):
        checkpoint = tree.get_UID2event(uid)
        children = [tree.get_UID2event(child) for child in checkpoint.get("children", [])]
        found = collections.defaultdict(list)
        queue = collections.deque(checkpoint.get("children", []))
        while queue:
            event = tree.events_by_uid[queue.popleft()]
            found[event["name"]].append(event)
            queue.extend(event.get("children", []))
        for name in LAYERS:
            forward = sorted((e for e in children if e["name"] == name), key=lambda e: e["ts"])
            backward = sorted(found[name + "Backward"], key=lambda e: e["ts"], reverse=True)
            if len(forward) != len(backward):
                logging.warning("checkpoint %d: %d %s but %d backwards", uid, len(forward), name, len(backward))
                continue
            for f, b in zip(forward, backward):
                if not f.get("bwd_events"):
                    f["bwd_events"] = [b["UID"]]


def backward_of(tree, event):
    uids = event.get("bwd_events") or tree.get_subtree_bwd_events(event["UID"])
    return [tree.get_UID2event(uid) for uid in uids]


def gemm_kernels(tree, events):
    kernels = [tree.get_UID2event(uid) for event in events for uid in event.get("gpu_events", [])]
    kernels = [k for k in kernels if k.get("cat") == "kernel" and (
        re.match(r".*C.*_A.*_B.*", k["name"]) or re.match(r"RR_GEMM_.*", k["name"]) or k["name"].startswith("nvjet"))]
    return sorted(kernels, key=lambda kernel: tree.get_parent_event(kernel).get("ts"))


def add_products(tree, event, layer):
    name = event["name"]
    forward, backward = gemm_kernels(tree, [event]), gemm_kernels(tree, backward_of(tree, event))
    if len(forward) != 1 or len(backward) != 2:
        logging.warning("%s: %d forward and %d backward products", name, len(forward), len(backward))
        return
    dims, types = event["args"]["Input Dims"], event["args"]["Input type"]
    weight, x = dims[layer["weight"]], dims[layer["x"]]
    assert x[-1] == weight[1]
    assert types[layer["weight"]] == types[layer["x"]]
    dtype = "fp8" if event["args"]["Concrete Inputs"][layer["fp8"]] == "True" else types[layer["x"]]
    number = event["args"].get("Sequence number")
    same = [tree.get_UID2event(uid) for uid in tree.seq_num2event_uids_map.get(number, [])]
    if number is not None and any(other["name"] == name + "Backward_xgrad_mm" for other in same):
        return
    x = (math.prod(x[:-1]), x[-1])
    dy = (x[0], weight[0])
    inject(tree, forward[0], name + "_yfwd_mm", number, [x, weight[::-1]], dtype)
    inject(tree, backward[0], name + "Backward_xgrad_mm", number, [dy, weight], dtype)
    inject(tree, backward[1], name + "Backward_wgrad_mm", number, [dy[::-1], x], dtype)


def inject(tree, kernel, name, number, dims, dtype):
    launch = tree.get_parent_event(kernel)
    operator = tree.get_parent_event(launch)
    uid = len(tree.events)
    event = {
        "ph": "X", "name": name, "cat": "cpu_op", "pid": operator["pid"], "tid": operator["tid"], "UID": uid,
        "args": {"Input Dims": dims, "Input type": [dtype, dtype], "Input Strides": [], "Concrete Inputs": [],
                 "Sequence number": number, "External id": kernel["args"]["correlation"], "Pseudo op": True},
        "parent": operator["UID"], "children": [launch["UID"]], "gpu_events": [kernel["UID"]],
    }
    tree.events.append(event)
    tree.events_by_uid[uid] = event
    tree.seq_num2event_uids_map[number].append(uid)
    operator["children"].remove(launch["UID"])
    operator["children"].append(uid)
    launch["parent"] = uid


def hand_on_norm_shapes(tree):
    if "_LayerNormLinear" not in tree.name2event_uids:
        return
    for uid in tree.name2event_uids["_LayerNormLinear"]:
        event = tree.get_UID2event(uid)
        for backward in backward_of(tree, event):
            below = [tree.get_UID2event(child) for child in backward.get("children", [])]
            for candidate in [backward] + below:
                if candidate.get("name") == "_LayerNormLinearBackward":
                    candidate["args"]["_ln_input_shape"] = event["args"]["Input Dims"][0]
                    candidate["args"]["_ln_weight_shape"] = event["args"]["Input Dims"][1]


def tree_postprocess_extension(trace_tree):
    link_checkpoints(trace_tree)
    if "tex_ts::te_gemm_ts" not in trace_tree.name2event_uids:
        for name, layer in LAYERS.items():
            if name in trace_tree.name2event_uids:
                for uid in trace_tree.name2event_uids[name]:
                    add_products(trace_tree, trace_tree.get_UID2event(uid), layer)
    hand_on_norm_shapes(trace_tree)


# The models: classes over the families.

class layer_product(GEMM):
    @staticmethod
    def get_param_details(event):
        a, b = event["args"]["Input Dims"][:2]
        return {"M": a[0], "N": b[1], "K": a[1], "bias": False, "stride_A": None, "stride_B": None,
                "dtype_A_B": tuple(event["args"]["Input type"][:2])}

    def bytes(self):
        first, second = self.param_details["dtype_A_B"]
        if first != second:
            raise ValueError("the factors are of the types %s and %s" % (first, second))
        size = name2bpe(first)
        if size not in (1, 2):
            raise ValueError("elements of %s have neither 1 nor 2 bytes" % first)
        return super().bytes(bpe_mat1=size, bpe_mat2=size, bpe_bias=size, bpe_output=2)

    def flops_bwd(self):
        raise NotImplementedError("the backward consists of products of its own")

    def bytes_bwd(self):
        raise NotImplementedError("the backward consists of products of its own")


class fused_attention(SDPA):
    @staticmethod
    def get_param_details(event):
        args = event["args"]
        shapes = [args["Input Dims"][at] for at in (9, 10, 11)]
        details = extract_sdpa_cfg(*shapes, (1, 2, 0, 3))
        strides = [tuple(args["Input Strides"][at]) for at in (9, 10, 11)]
        details.update(zip(("q_strides", "k_strides", "v_strides"), strides))
        details.update(dropout=0.0, causal=True, flash_impl=True,
                       dtype_A_B=(args["Input type"][9], args["Input type"][10]))
        return details


class grouped_product(GroupedGemm):
    @staticmethod
    def get_param_details(event):
        args = event["args"]
        M, K = args["Input Dims"][0]
        if ast.literal_eval(args["Concrete Inputs"][3]):
            G, N, inner = args["Input Dims"][1]
        else:
            G, inner, N = args["Input Dims"][1]
        assert K == inner, "the weights have %d rows, the input %d columns" % (inner, K)
        first, second = args["Input type"][:2]
        assert first == second, "the factors are of the types %s and %s" % (first, second)
        bpe_in = name2bpe(first)
        if bpe_in not in (1, 2):
            raise ValueError("elements of %s have neither 1 nor 2 bytes" % first)
        return {"M": M, "K": K, "N": N, "G": G, "bpe_in": bpe_in, "bpe_out": 2}


class norm(Normalization):
    category = "NORM_fwd"

    @staticmethod
    def get_param_details(event):
        args = event["args"]
        shape, weight, bias = (tuple(args["Input Dims"][at]) for at in (0, 1, 2))
        return {"op_shape": shape, "dtype_in_out": (args["Input type"][0], None), "stride_input": None,
                "stride_output": None, "num_channels": weight[0] if weight else shape[-1], "has_bias": bool(bias),
                "is_affine": bool(weight), "is_training": True}

    def bytes_bwd(self, bytes_per_element):
        raise NotImplementedError("the backward is an operator of its own")


class norm_backward(Normalization):
    category = "NORM_bwd"

    @staticmethod
    def get_param_details(event):
        args = event["args"]
        if "_ln_input_shape" in args:
            shape, channels = tuple(args["_ln_input_shape"]), args["_ln_weight_shape"][0]
        elif event.get("name") == "_LayerNormLinearBackward":
            raise ValueError("the forward operator, which has the shapes, was not found")
        else:
            shape = tuple(args["Input Dims"][0])
            channels = shape[-1]
        return {"op_shape": shape, "dtype_in_out": (args["Input type"][0], None), "stride_input": None,
                "stride_output": None, "num_channels": channels, "has_bias": False, "is_affine": True,
                "is_training": True}

    def flops(self):
        return self.flops_func_bwd(self.has_bias, self.is_affine, self.is_training, self.num_elems, self.num_channels,
                                   [True, self.is_affine, self.has_bias])

    def bytes(self):
        return self.bytes_func_bwd(self.has_bias, self.is_affine, self.is_training, self.num_elems, self.num_channels,
                                   self.bpe_in, self.bpe_out, [True, self.is_affine, self.has_bias])


perf_model_extension = {
    "_Linear_yfwd_mm": layer_product,
    "_LinearBackward_xgrad_mm": layer_product,
    "_LinearBackward_wgrad_mm": layer_product,
    "_LayerNormLinear_yfwd_mm": layer_product,
    "_LayerNormLinearBackward_xgrad_mm": layer_product,
    "_LayerNormLinearBackward_wgrad_mm": layer_product,
    "FusedAttnFunc": fused_attention,
    "GroupedGemm": grouped_product,
    "LayerNormFn": norm,
    "LayerNormFnBackward": norm_backward,
    "_LayerNormLinear": norm,
    "_LayerNormLinearBackward": norm_backward,
}

op_category_extension = {"FusedAttnFuncBackward": "SDPA_bwd", "GroupedGemmBackward": "GroupedGEMM_bwd"}
