//! Nothing of its own: the benchmarks are under `layers/`.
