# jax_ep.py - peer of ep=2: GPT with experts in JAX, experts over two devices.
#
# SPDX-License-Identifier: Apache-2.0
#
# The same function as `pp-model moe`. Tokens go to experts by products with
# one-hot matrices (GShard); batch and experts are split over the axis "ep",
# and XLA's partitioner adds the collectives. With --collectives it prints
# what they are, and their bytes, instead of times; with --out it writes the
# initial values for pp-run.
"""One process, host devices that share experts, one jitted training step."""

import os
import sys

DEVICES = 2
os.environ["XLA_FLAGS"] = (os.environ.get("XLA_FLAGS", "") +
                           f" --xla_force_host_platform_device_count={DEVICES}")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import json  # noqa: E402 (after what JAX reads when imported)
import math  # noqa: E402
import zlib  # noqa: E402

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import AxisType, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

import hlo  # noqa: E402
import jax_gpt  # noqa: E402
import measure  # noqa: E402
import parameters  # noqa: E402


def shapes(args):
    """Name -> shape: every second block has experts."""
    result = {}
    for name, shape in parameters.shapes(args).items():
        parts = name.split(".")
        if parts[0] != "h" or parts[2] != "mlp" or int(parts[1]) % 2 == 0:
            result[name] = shape
            continue
        prefix = f"h.{parts[1]}.moe"
        result[prefix + ".router.weight"] = (args.hidden, args.experts)
        result[f"{prefix}.experts.{parts[3]}.{parts[4]}"] = (args.experts,
                                                             *shape)
    return result


def initial(args):
    values = {}
    for name, shape in shapes(args).items():
        if ".experts." in name and name.endswith("weight"):
            generator = np.random.default_rng(zlib.crc32(name.encode()))
            deviation = shape[1]**-0.5
            if "c_proj" in name:
                deviation /= (2 * args.layers)**0.5
            values[name] = generator.normal(0, deviation,
                                            shape).astype(np.float32)
        else:
            value = parameters.initial_value(name, shape, args.layers)
            split = jax_gpt.partitions(args).get(name, (shape, None))[0]
            values[name] = value.reshape(split)
    return values


def route(args, p, x):
    """Dispatch (0 or 1) and combine (gates): [batch, seq, experts, places]."""
    seq, experts, k = args.seq, args.experts, args.top_k
    places = math.ceil(k * seq / experts * args.capacity_factor)
    probabilities = jax.nn.softmax(x @ p, axis=-1)
    gates, chosen = jax.lax.top_k(probabilities, k)
    if k > 1:
        gates = gates / gates.sum(-1, keepdims=True)
    taken = jnp.zeros((x.shape[0], 1, experts))
    combine = 0
    for i in range(k):
        hot = jax.nn.one_hot(chosen[..., i], experts)
        if i == 0:
            auxiliary = experts * (hot.mean(1) * probabilities.mean(1)).sum(
                -1).mean()
        place = ((jnp.cumsum(hot, axis=1) + taken) * hot).sum(-1) - 1
        taken = taken + hot.sum(1, keepdims=True)
        slot = jax.nn.one_hot(place.astype(jnp.int32), places)
        combine = combine + (gates[..., i, None, None] * hot[..., None] *
                             slot[..., None, :])
    return (combine > 0).astype(x.dtype), combine, auxiliary


def moe(args, p, name, x, ep, by_expert):
    dispatch, combine, auxiliary = route(args, p[name + ".router.weight"], x)
    y = jnp.einsum("bsec,bsh->ebch", dispatch, x)
    y = jax.lax.with_sharding_constraint(y, by_expert)
    y = jnp.einsum("ebch,ehi->ebci", y, p[name + ".experts.c_fc.weight"])
    y += p[name + ".experts.c_fc.bias"][:, None, None]
    y = jax.nn.gelu(y, approximate=True)
    y = jnp.einsum("ebci,eih->ebch", y, p[name + ".experts.c_proj.weight"])
    y += p[name + ".experts.c_proj.bias"][:, None, None]
    y = jax.lax.with_sharding_constraint(y, ep)
    return jnp.einsum("bsec,ebch->bsh", combine, y), auxiliary


def loss_of(args, p, tokens, labels, by_batch, by_expert):
    mask = jnp.tril(jnp.ones((args.seq, args.seq), bool))
    x, total = p["wte.weight"][tokens] + p["wpe.weight"], 0
    for i in range(args.layers):
        x = x + jax_gpt.attention(p, f"h.{i}.attn", jax_gpt.layer_norm(
            p, f"h.{i}.ln_1", x), mask)
        normal = jax_gpt.layer_norm(p, f"h.{i}.ln_2", x)
        if i % 2:
            y, auxiliary = moe(args, p, f"h.{i}.moe", normal, by_batch,
                               by_expert)
            total += auxiliary
        else:
            y = jax_gpt.mlp(p, f"h.{i}.mlp", normal)
        x = x + y
    logits = jax_gpt.layer_norm(p, "ln_f", x) @ p["wte.weight"].T
    picked = jnp.take_along_axis(logits, labels[..., None], axis=-1)[..., 0]
    loss = (jax.nn.logsumexp(logits, axis=-1) - picked).mean()
    return loss + 0.01 * total


def main():
    parser = measure.options(__doc__)
    parser.add_argument("--experts", type=int, default=8)
    parser.add_argument("--top-k", type=int, default=2)
    parser.add_argument("--capacity-factor", type=float, default=1.25)
    parser.add_argument("--collectives", action="store_true",
                        help="print what the step sends, and end")
    parser.add_argument("--out", help="file for the initial values; and end")
    args = parser.parse_args()
    if args.out:
        import safetensors.numpy
        stored = shapes(args)
        safetensors.numpy.save_file(
            {name: np.ascontiguousarray(value.reshape(stored[name]))
             for name, value in initial(args).items()}, args.out)
        return
    mesh = jax.make_mesh((DEVICES,), ("ep",), axis_types=(AxisType.Auto,))
    sharded = lambda *axes: NamedSharding(mesh, P(*axes))  # noqa: E731
    shardings = {name: sharded("ep" if ".experts." in name else None)
                 for name in shapes(args)}

    def train(p, m, v, t, tokens, labels):
        loss, gradients = jax.value_and_grad(
            lambda p: loss_of(args, p, tokens, labels, sharded(None, "ep"),
                              sharded("ep")))(p)
        return loss, *jax_gpt.adamw(p, gradients, m, v, t, args.lr)

    step_of = jax.jit(train, donate_argnums=(0, 1, 2),
                      out_shardings=(sharded(), shardings, shardings,
                                     shardings))
    values = jax_gpt.start(args, initial(args), shardings, sharded("ep"))
    if args.collectives:
        p, m, v, tokens, labels = values
        compiled = step_of.lower(p, m, v, jnp.float32(1), tokens[0],
                                 labels[0]).compile()
        print(json.dumps(hlo.collectives(compiled.as_text(), DEVICES)))
        return

    jax_gpt.time_training("JAX jit ep=2", args, step_of, *values)


if __name__ == "__main__":
    sys.exit(main())
