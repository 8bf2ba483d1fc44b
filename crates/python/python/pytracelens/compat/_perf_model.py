"""Classes of TraceLens's performance models, whose work is that of this package's models."""

from __future__ import annotations

from .. import _native

# Types whose elements have these bytes: attention asks no more of them.
_TYPES = {1: "signed char", 2: "c10::BFloat16", 4: "float", 8: "double"}


class GEMM:
    """Matrix products: ``M`` × ``K`` by ``K`` × ``N``."""

    @staticmethod
    def flops_func(M: int, N: int, K: int, bias: bool) -> float:
        """FLOPs of the product, and of adding a bias."""
        return _native.gemm_work(M, N, K, bias, [1.0] * 4)[0]

    @staticmethod
    def bytes_func(
        M: int,
        N: int,
        K: int,
        bias: bool,
        bpe_mat1: float | None,
        bpe_mat2: float | None,
        bpe_bias: float | None,
        bpe_output: float | None,
    ) -> float | None:
        """Bytes read and written, by those of an element of each operand; None where one of them is."""
        needed = [bpe_mat1, bpe_mat2, bpe_bias if bias else 0.0, bpe_output]
        sizes = [float(size) for size in needed if size is not None]
        return _native.gemm_work(M, N, K, bias, sizes)[1] if len(sizes) == 4 else None


def _attention(sizes: list[int], causal: bool, bytes_per_element: int, flash_impl: bool) -> list[float]:
    if bytes_per_element not in _TYPES:
        raise ValueError(f"elements have 1, 2, 4 or 8 bytes, not {bytes_per_element!r}")
    return _native.attention_work(sizes, causal, _TYPES[bytes_per_element], flash_impl)


class SDPA:
    """Attention: ``B`` sequences of ``N_Q`` queries in ``H_Q`` heads and ``N_KV`` keys in ``H_KV``."""

    @staticmethod
    def flops_func(
        B: int, N_Q: int, H_Q: int, N_KV: int, H_KV: int, d_h_qk: int, d_h_v: int, causal: bool
    ) -> float:
        """FLOPs of the forward pass."""
        return _attention([B, N_Q, H_Q, N_KV, H_KV, d_h_qk, d_h_v], causal, 2, True)[0]

    @staticmethod
    def bytes_func(
        B: int, N_Q: int, H_Q: int, N_KV: int, H_KV: int, d_h_qk: int, d_h_v: int, causal: bool, bytes_per_element: int = 2
    ) -> float:
        """Bytes of the forward pass."""
        return _attention([B, N_Q, H_Q, N_KV, H_KV, d_h_qk, d_h_v], causal, bytes_per_element, True)[1]

    @staticmethod
    def flops_bwd_func(
        B: int, N_Q: int, H_Q: int, N_KV: int, H_KV: int, d_h_qk: int, d_h_v: int, causal: bool, flash_impl: bool
    ) -> float:
        """FLOPs of the backward pass, which with ``flash_impl`` computes the scores again."""
        return _attention([B, N_Q, H_Q, N_KV, H_KV, d_h_qk, d_h_v], causal, 2, flash_impl)[2]

    @staticmethod
    def bytes_bwd_func(
        B: int, N_Q: int, H_Q: int, N_KV: int, H_KV: int, d_h_qk: int, d_h_v: int, causal: bool, bytes_per_element: int = 2
    ) -> float:
        """Bytes of the backward pass."""
        return _attention([B, N_Q, H_Q, N_KV, H_KV, d_h_qk, d_h_v], causal, bytes_per_element, True)[3]
