# jax_gpt.py - GPT-2 and AdamW in plain JAX, with Megatron's shardings.
#
# SPDX-License-Identifier: Apache-2.0
#
# The same function as gpt.py. Attention splits by heads over the axis "tp",
# the MLP by columns and then rows; XLA's partitioner adds the collectives.
# c_attn is kept as [hidden, 3, heads, head size], so that heads can be split.
"""GPT-2 in JAX: partitions, loss, optimizer, step, and its timing."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import measure
import parameters


def partitions(args):
    """Name -> (shape, partition): heads and the MLP's inner dimension."""
    head_size = args.hidden // args.heads
    split = {
        "attn.c_attn.weight": ((args.hidden, 3, args.heads, head_size),
                               P(None, None, "tp", None)),
        "attn.c_attn.bias": ((3, args.heads, head_size), P(None, "tp", None)),
        "attn.c_proj.weight": ((args.heads, head_size, args.hidden),
                               P("tp", None, None)),
        "mlp.c_fc.weight": ((args.hidden, 4 * args.hidden), P(None, "tp")),
        "mlp.c_fc.bias": ((4 * args.hidden,), P("tp")),
        "mlp.c_proj.weight": ((4 * args.hidden, args.hidden), P("tp", None)),
    }
    result = {}
    for name, shape in parameters.shapes(args).items():
        in_layer = name.split(".", 2)[-1] if name.startswith("h.") else name
        result[name] = split.get(in_layer, (shape, P()))
    return result


def layer_norm(p, name, x):
    stream, x = x.dtype, x.astype(jnp.float32)
    mean = x.mean(-1, keepdims=True)
    centred = x - mean
    variance = (centred * centred).mean(-1, keepdims=True)
    normal = (centred * jax.lax.rsqrt(variance + 1e-5)).astype(stream)
    return normal * p[name + ".weight"] + p[name + ".bias"]


def attention(p, name, x, mask):
    qkv = jnp.einsum("bsh,htnd->bstnd", x, p[name + ".c_attn.weight"])
    qkv += p[name + ".c_attn.bias"]
    q, k, v = qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2]
    scores = jnp.einsum("bqnd,bknd->bnqk", q, k) * (q.shape[-1]**-0.5)
    scores = jnp.where(mask, scores.astype(jnp.float32), -jnp.inf)
    weights = jax.nn.softmax(scores, axis=-1).astype(x.dtype)
    y = jnp.einsum("bnqk,bknd->bqnd", weights, v)
    y = jnp.einsum("bqnd,ndh->bqh", y, p[name + ".c_proj.weight"])
    return y + p[name + ".c_proj.bias"]


def mlp(p, name, x):
    x = x @ p[name + ".c_fc.weight"] + p[name + ".c_fc.bias"]
    x = jax.nn.gelu(x, approximate=True)
    return x @ p[name + ".c_proj.weight"] + p[name + ".c_proj.bias"]


def loss_of(p, tokens, labels, layers, place=lambda x: x, dtype=jnp.float32):
    """`place` says where the residual stream lies. All but norms, softmax and
    the loss is computed in `dtype`."""
    p = jax.tree.map(lambda x: x.astype(dtype), p)
    seq = tokens.shape[1]
    mask = jnp.tril(jnp.ones((seq, seq), bool))
    x = place(p["wte.weight"][tokens] + p["wpe.weight"])
    for i in range(layers):
        x = place(x + attention(p, f"h.{i}.attn",
                                layer_norm(p, f"h.{i}.ln_1", x), mask))
        x = place(x + mlp(p, f"h.{i}.mlp", layer_norm(p, f"h.{i}.ln_2", x)))
    x = layer_norm(p, "ln_f", x)
    logits = (x @ p.get("lm_head.weight", p["wte.weight"]).T).astype(jnp.float32)
    picked = jnp.take_along_axis(logits, labels[..., None], axis=-1)[..., 0]
    return (jax.nn.logsumexp(logits, axis=-1) - picked).mean()


def adamw(p, gradients, m, v, t, lr):
    """torch.optim.AdamW with its defaults, at step t counted from 1."""
    beta1, beta2, eps, decay = 0.9, 0.999, 1e-8, 0.01
    m = jax.tree.map(lambda m, g: beta1 * m + (1 - beta1) * g, m, gradients)
    v = jax.tree.map(lambda v, g: beta2 * v + (1 - beta2) * g * g, v,
                     gradients)
    scale1, scale2 = 1 - beta1**t, 1 - beta2**t
    p = jax.tree.map(
        lambda p, m, v: p * (1 - lr * decay) - lr * (m / scale1) /
        (jnp.sqrt(v / scale2) + eps), p, m, v)
    return p, m, v


def share_out(shape, partition, parts):
    """The first whole dimension that `parts` divides is split over dp, too."""
    axes = [*partition, *[None] * (len(shape) - len(partition))]
    for i, size in enumerate(shape):
        if axes[i] is None and size % parts == 0:
            axes[i] = "dp"
            break
    return P(*axes)


def training_step(args, mesh, splits_sequence=False, shares_out=False):
    """The jitted step (p, m, v, t, tokens, labels) -> (loss, p, m, v), with
    p, m and v donated, and the sharding of each parameter."""
    replicated = NamedSharding(mesh, P())
    shardings = {}
    for name, (shape, partition) in partitions(args).items():
        if shares_out:
            partition = share_out(shape, partition, mesh.shape["dp"])
        shardings[name] = NamedSharding(mesh, partition)

    def place(x):
        if not splits_sequence and not shares_out:
            return x  # as XLA likes it
        sequence = "tp" if splits_sequence else None
        return jax.lax.with_sharding_constraint(
            x, NamedSharding(mesh, P("dp", sequence, None)))

    def train(p, m, v, t, tokens, labels):
        dtype = jnp.bfloat16 if args.autocast else jnp.float32
        loss, gradients = jax.value_and_grad(loss_of)(p, tokens, labels,
                                                      args.layers, place, dtype)
        return loss, *adamw(p, gradients, m, v, t, args.lr)

    step = jax.jit(train, donate_argnums=(0, 1, 2),
                   out_shardings=(replicated, shardings, shardings,
                                  shardings))
    return step, shardings


def matrix_rate():
    a = jax.device_put(np.ones((1024, 1024), np.float32), jax.devices()[0])
    product = jax.jit(jnp.matmul)
    return measure.matrix_rate(lambda: product(a, a).block_until_ready())


def start(args, initial, shardings, batch_sharding):
    """Parameters and both averages, then tokens and labels of every step."""
    values = ({name: jax.device_put(scale * x, shardings[name])
               for name, x in initial.items()} for scale in (1, 0, 0))
    batches = ([jax.device_put(x, batch_sharding) for x in part]
               for part in measure.text_batches(
                   args.data, args.warmup + args.steps, args.batch, args.seq))
    return (*values, *batches)


def time_training(name, args, train, p, m, v, tokens, labels):
    """Times steps of the jitted `train` and prints them."""
    def step(i):
        nonlocal p, m, v
        loss, p, m, v = train(p, m, v, jnp.float32(i + 1), tokens[i],
                              labels[i])
        jax.block_until_ready(p)
        return loss

    milliseconds, loss = measure.time_steps(step, args)
    measure.report(name, "jax " + jax.__version__, milliseconds, loss,
                   matrix_rate())
