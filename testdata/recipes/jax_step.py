"""A jitted JAX training step (convolution, attention-like einsums, dense) as an XPlane file."""

import argparse
import pathlib
import tempfile

import jax
import jax.numpy as jnp

import sanitise

# Source paths in the HLO metadata: keep what follows these roots only.
jax.config.update("jax_hlo_source_file_canonicalization_regex", r".*/site-packages/|.*/testdata/")

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--out", type=pathlib.Path, required=True)
options = parser.parse_args()

BATCH, IMAGE, CHANNELS, CLASSES = 8, 16, 32, 10
keys = jax.random.split(jax.random.key(20250101), 6)
parameters = {
    "conv": jax.random.normal(keys[0], (3, 3, 3, CHANNELS)) * 0.1,
    "qkv": jax.random.normal(keys[1], (CHANNELS, 3 * CHANNELS)) * 0.1,
    "dense": jax.random.normal(keys[2], (CHANNELS, CLASSES)) * 0.1,
}
images = jax.random.normal(keys[3], (BATCH, IMAGE, IMAGE, 3))
labels = jax.random.randint(keys[4], (BATCH,), 0, CLASSES)


def loss(parameters, images, labels):
    with jax.named_scope("conv"):
        x = jax.lax.conv_general_dilated(
            images, parameters["conv"], (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        x = jax.nn.relu(x).reshape(BATCH, -1, CHANNELS)
    with jax.named_scope("attention"):
        query, key, value = jnp.split(x @ parameters["qkv"], 3, axis=-1)
        weights = jax.nn.softmax(jnp.einsum("bqc,bkc->bqk", query, key) / CHANNELS**0.5)
        x = jnp.einsum("bqk,bkc->bqc", weights, value)
    with jax.named_scope("head"):
        logits = x.mean(axis=1) @ parameters["dense"]
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1).mean()


@jax.jit
def train_step(parameters, images, labels):
    value, gradients = jax.value_and_grad(loss)(parameters, images, labels)
    return jax.tree.map(lambda p, g: p - 0.1 * g, parameters, gradients), value


for _ in range(3):
    parameters, value = jax.block_until_ready(train_step(parameters, images, labels))

profile_options = jax.profiler.ProfileOptions()
profile_options.python_tracer_level = 0  # host Python frames would only enlarge the file
with tempfile.TemporaryDirectory() as scratch:
    with jax.profiler.trace(scratch, profiler_options=profile_options):
        for number in range(2):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                parameters, value = jax.block_until_ready(train_step(parameters, images, labels))
    (recorded,) = pathlib.Path(scratch).rglob("*.xplane.pb")
    data = sanitise.xplane(recorded.read_bytes())

options.out.mkdir(parents=True, exist_ok=True)
target = options.out / "jax_step.xplane.pb"
target.write_bytes(data)
print(f"{target} {len(data)} bytes; jax {jax.__version__}, {jax.devices()[0].device_kind}")
