"""The losses of jax_models.py, as users write them in jax.numpy.

SPDX-License-Identifier: Apache-2.0
"""
import dataclasses
from typing import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)  # of which sharded() makes a mesh


@dataclasses.dataclass
class Model:
    loss: Callable
    params: object
    batch: dict  # by the names of the loss's arguments, in their order
    labels: tuple = ("labels",)
    states: object = None  # behind `params` if there are any
    dims: dict = None
    partitions: tuple = ("dp=2", "tp=2", "pp=2 microbatches=2", "dp=2 zero=3")


class Draw:
    """Small random numbers."""

    def __init__(self):
        self.source = np.random.default_rng(7)

    def floats(self, *shape, scale=0.3):
        return jnp.asarray(self.source.normal(size=shape) * scale)

    def integers(self, bound, *shape):
        return jnp.asarray(self.source.integers(bound, size=shape), jnp.int32)


def cross_entropy(logits, labels):
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], axis=-1)
    return -jnp.mean(chosen)


def mlp():
    draw = Draw()
    sizes = [16, 32, 32, 8]
    params = {"layers": [{"w": draw.floats(m, n), "b": jnp.zeros(n)}
                         for m, n in zip(sizes, sizes[1:])]}

    def loss(params, x, y):
        *hidden, head = params["layers"]
        for index, layer in enumerate(hidden):
            with jax.named_scope(f"layers.{index}"):
                x = jax.nn.relu(x @ layer["w"] + layer["b"])
        with jax.named_scope("head"):
            return cross_entropy(x @ head["w"] + head["b"], y)

    # The first row is 0, where relu has no derivative and JAX takes 0.
    batch = {"x": draw.floats(8, 16).at[0].set(0), "y": draw.integers(8, 8)}
    return Model(loss, params, batch, ("y",))


HIDDEN, HEADS, LAYERS, VOCAB, BATCH, SEQ = 16, 2, 2, 24, 4, 8


def layer_norm(p, x):
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + 1e-5) * p["scale"] + p["bias"]


def attention(p, x):
    batch, seq, hidden = x.shape
    query, key, value = (part.reshape(batch, seq, HEADS, -1).transpose(0, 2, 1, 3)
                         for part in jnp.split(x @ p["qkv"], 3, axis=-1))
    scores = jnp.einsum("bhqd,bhkd->bhqk", query, key) / np.sqrt(hidden // HEADS)
    scores = jnp.where(jnp.tril(jnp.ones((seq, seq), bool)), scores, -jnp.inf)
    mixed = jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores, axis=-1), value)
    return mixed.transpose(0, 2, 1, 3).reshape(batch, seq, hidden) @ p["proj"]


def block(p, x):
    with jax.named_scope("attn"):
        x = x + attention(p["attn"], layer_norm(p["ln_1"], x))
    with jax.named_scope("mlp"):
        return x + jax.nn.gelu(layer_norm(p["ln_2"], x) @ p["mlp"]["up"]) @ p["mlp"]["down"]


def draw_norm(draw, *layers):
    return {"scale": 1 + draw.floats(*layers, HIDDEN), "bias": draw.floats(*layers, HIDDEN)}


def draw_block(draw, *layers):
    return {"ln_1": draw_norm(draw, *layers), "ln_2": draw_norm(draw, *layers),
            "attn": {"qkv": draw.floats(*layers, HIDDEN, 3 * HIDDEN),
                     "proj": draw.floats(*layers, HIDDEN, HIDDEN)},
            "mlp": {"up": draw.floats(*layers, HIDDEN, 4 * HIDDEN),
                    "down": draw.floats(*layers, 4 * HIDDEN, HIDDEN)}}


def draw_text(draw, blocks):
    params = {"wte": draw.floats(VOCAB, HIDDEN), "wpe": draw.floats(SEQ, HIDDEN),
              "ln_f": draw_norm(draw), "h": blocks}
    batch = {name: draw.integers(VOCAB, BATCH, SEQ) for name in ("tokens", "labels")}
    return params, batch


def gpt():
    """Tied embeddings, layers in a list."""
    draw = Draw()
    params, batch = draw_text(draw, [draw_block(draw) for _ in range(LAYERS)])

    def loss(params, tokens, labels):
        x = params["wte"][tokens] + params["wpe"]
        for index, p in enumerate(params["h"]):
            with jax.named_scope(f"h.{index}"):
                x = block(p, x)
        return cross_entropy(layer_norm(params["ln_f"], x) @ params["wte"].T, labels)

    return Model(loss, params, batch, partitions=("dp=2", "tp=2", "sp=2", "pp=2 microbatches=2", "dp=2 zero=3"))


def scan():
    """The same with layers stacked, as lax.scan, and with checkpoints."""
    draw = Draw()
    params, batch = draw_text(draw, draw_block(draw, LAYERS))

    def loss(params, tokens, labels):
        x = jnp.take(params["wte"], tokens, axis=0) + params["wpe"]
        with jax.named_scope("h"):
            x, _ = jax.lax.scan(lambda x, p: (jax.checkpoint(block)(p, x), None), x, params["h"])
        return cross_entropy(layer_norm(params["ln_f"], x) @ params["wte"].T, labels)

    return Model(loss, params, batch)


def rotate(x):
    """Rotary positions of [batch, seq, head, size]."""
    half = x.shape[-1] // 2
    angles = jnp.arange(x.shape[1])[:, None] / 100.0 ** (jnp.arange(half) / half)
    sine, cosine = jnp.sin(angles)[:, None], jnp.cos(angles)[:, None]
    low, high = x[..., :half], x[..., half:]
    return jnp.concatenate([low * cosine - high * sine, high * cosine + low * sine], axis=-1)


def llama():
    """Grouped queries, rotary positions, SiLU, RMS norm, weights of losses, one_hot."""
    draw = Draw()
    heads, groups, size = 4, 2, 8

    def draw_layer():
        return {"norm": 1 + draw.floats(2, HIDDEN), "q": draw.floats(HIDDEN, heads, size),
                "k": draw.floats(HIDDEN, groups, size), "v": draw.floats(HIDDEN, groups, size),
                "o": draw.floats(heads, size, HIDDEN), "gate": draw.floats(HIDDEN, 48),
                "up": draw.floats(HIDDEN, 48), "down": draw.floats(48, HIDDEN)}

    params = {"embed": draw.floats(VOCAB, HIDDEN), "layers": [draw_layer() for _ in range(2)],
              "head": draw.floats(HIDDEN, VOCAB)}
    batch = {"tokens": draw.integers(VOCAB, BATCH, SEQ), "labels": draw.integers(VOCAB, BATCH, SEQ),
             "weights": jnp.abs(draw.floats(BATCH, SEQ))}

    def rms(x, scale):
        return x * jax.lax.rsqrt(jnp.mean(jnp.square(x), axis=-1, keepdims=True) + 1e-6) * scale

    def attend(p, x):
        query, key = (rotate(jnp.einsum("bsd,dhk->bshk", x, p[name])) for name in "qk")
        query = query.reshape(BATCH, SEQ, groups, heads // groups, size)
        value = jnp.einsum("bsd,dhk->bshk", x, p["v"])
        scores = jnp.einsum("bqghk,bsgk->bghqs", query, key) * size ** -0.5
        mask = jnp.arange(SEQ)[:, None] >= jnp.arange(SEQ)
        scores = jnp.where(mask, scores, jnp.finfo(scores.dtype).min)
        mixed = jnp.einsum("bghqs,bsgk->bqghk", jax.nn.softmax(scores), value)
        return jnp.einsum("bshk,hkd->bsd", mixed.reshape(BATCH, SEQ, heads, size), p["o"])

    def loss(params, tokens, labels, weights):
        x = jnp.take(params["embed"], tokens, axis=0, mode="clip")
        for index, p in enumerate(params["layers"]):
            with jax.named_scope(f"layers.{index}"):
                x = x + attend(p, rms(x, p["norm"][0]))
                y = rms(x, p["norm"][1])
                x = x + (jax.nn.silu(y @ p["gate"]) * (y @ p["up"])) @ p["down"]
        logits = x @ params["head"]
        chosen = jnp.sum(jax.nn.one_hot(labels, VOCAB) * logits, axis=-1)
        losses = (jax.nn.logsumexp(logits, axis=-1) - chosen) * weights
        return jnp.sum(losses) / (BATCH * SEQ)

    return Model(loss, params, batch, ("labels", "weights"),
                 partitions=("dp=2", "tp=2", "sp=2", "pp=2 microbatches=2", "dp=2 zero=3"))


def convolutions():
    """Strides, groups, pooling, group norm, an exact GELU; images with channels last."""
    draw = Draw()
    params = {"stem": draw.floats(3, 3, 3, 8), "depth": draw.floats(3, 3, 1, 8),
              "point": draw.floats(1, 1, 8, 16), "scale": 1 + draw.floats(16),
              "head": draw.floats(16, 10)}
    batch = {"images": draw.floats(4, 16, 16, 3, scale=1), "labels": draw.integers(10, 4)}

    def convolve(x, kernel, stride, groups=1):
        return jax.lax.conv_general_dilated(x, kernel, (stride, stride), "SAME",
                                            dimension_numbers=("NHWC", "HWIO", "NHWC"),
                                            feature_group_count=groups)

    def loss(params, images, labels):
        x = jax.nn.gelu(convolve(images, params["stem"], 2), approximate=False)
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
        x = jnp.tanh(convolve(convolve(x, params["depth"], 1, groups=8), params["point"], 1))
        parts = x.reshape(4, 4, 4, 4, 4)
        mean = parts.mean((1, 2, 4), keepdims=True)
        parts = (parts - mean) / jnp.sqrt(parts.var((1, 2, 4), keepdims=True) + 1e-5)
        x = parts.reshape(x.shape) * params["scale"]
        pooled = jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return cross_entropy(pooled.mean((1, 2)) @ params["head"], labels)

    return Model(loss, params, batch)


def experts():
    """The two best experts of each token, all computed."""
    draw = Draw()
    params = {"router": draw.floats(HIDDEN, 4), "up": draw.floats(4, HIDDEN, 32),
              "down": draw.floats(4, 32, HIDDEN), "head": draw.floats(HIDDEN, 8)}
    batch = {"x": draw.floats(8, HIDDEN, scale=1), "y": draw.integers(8, 8)}

    def loss(params, x, y):
        chosen, index = jax.lax.top_k(jax.nn.softmax(x @ params["router"]), 2)
        share = jnp.sum(jax.nn.one_hot(index, 4) * (chosen / chosen.sum(-1, keepdims=True))[..., None], 1)
        inner = jnp.expm1(jax.nn.softplus(jnp.einsum("td,edf->etf", x, params["up"])) * 0.1)
        mixed = jnp.einsum("etf,efd,te->td", inner, params["down"], share)
        return cross_entropy(mixed @ params["head"], y)

    return Model(loss, params, batch, ("y",))


def switch():
    """The best expert of each token, with a capacity, by one-hot products; a loss for balance."""
    draw = Draw()
    count, capacity = 4, 3
    params = {"embed": draw.floats(VOCAB, HIDDEN, scale=1), "router": draw.floats(HIDDEN, count),
              "up": draw.floats(count, HIDDEN, 32), "down": draw.floats(count, 32, HIDDEN),
              "head": draw.floats(HIDDEN, VOCAB)}
    batch = {name: draw.integers(VOCAB, BATCH, SEQ) for name in ("tokens", "labels")}

    def loss(params, tokens, labels):
        x = params["embed"][tokens]
        shares = jax.nn.softmax(x @ params["router"])
        chosen = jax.nn.one_hot(jnp.argmax(shares, axis=-1), count, dtype=x.dtype)
        balance = count * jnp.mean(jnp.sum(chosen.mean(1) * shares.mean(1), axis=-1))
        place = (jnp.cumsum(chosen, axis=1) - 1) * chosen
        kept = chosen * (place < capacity)
        slots = jax.nn.one_hot(place.astype(jnp.int32), capacity, dtype=x.dtype) * kept[..., None]
        sent = jnp.einsum("bsec,bsd->becd", slots, x)
        inner = jax.nn.relu(jnp.einsum("becd,edf->becf", sent, params["up"]))
        back = jnp.einsum("becf,efd->becd", inner, params["down"])
        weight = jnp.max(shares, axis=-1, keepdims=True)
        x = x + jnp.einsum("bsec,becd->bsd", slots, back) * weight
        return cross_entropy(x @ params["head"], labels) + 0.01 * balance

    return Model(loss, params, batch, partitions=("tp=2", "pp=2 microbatches=2"))


def ops():
    """Dropout, sorts, sums at indices, a recurrence, a branch on data, a stopped gradient."""
    draw = Draw()
    params = {"w": draw.floats(HIDDEN, 12), "cell": draw.floats(12, 12), "bends": jnp.asarray([0.0, 6.0, 3.0, -1.0])}
    batch = {"x": draw.floats(8, HIDDEN, scale=1), "key": jnp.asarray([1, 2], jnp.uint32),
             "y": draw.integers(6, 8)}

    def loss(params, x, key, y):
        z = x @ params["w"]
        kept = jax.random.bernoulli(jax.random.wrap_key_data(key), 0.7, z.shape)
        z = jnp.where(kept, z / 0.7, 0)
        order = jnp.argsort(z, axis=-1)
        z = z + 0.1 * jnp.take_along_axis(z, order, axis=-1) + 0.1 * jnp.sort(z, axis=-1)
        z = z.at[:, 2].set(1.0).at[:, 4:6].add(0.5)
        z = z + jnp.cumsum(z, axis=-1) * jnp.round(z)
        _, states = jax.lax.scan(lambda h, column: (jnp.tanh(h + column),) * 2, jnp.zeros(8), z.T)
        weights = jax.lax.stop_gradient(jax.nn.sigmoid(states.T))
        groups = jnp.zeros((6, 12)).at[y].add(z * weights @ params["cell"])
        branch = jax.lax.cond(params["w"][0, 0] > 0, jnp.sin, jnp.cos, groups)
        bends = jnp.sum(jax.nn.relu6(params["bends"]))  # at 0 and 6 it has no derivative, and JAX takes 0
        return jnp.sum(jnp.clip(branch, -0.5, 0.9) ** 2) / 8 + jnp.mean(jnp.expm1(z * 0.1)) + bends

    # A sum over the batch, of which more is computed, leaves no micro-batches.
    return Model(loss, params, batch, ("y",), dims={"key": ("word",)}, partitions=("dp=2", "dp=2 zero=3"))


def running():
    """A running mean, and a counter that weighs the loss."""
    draw = Draw()
    params = {"w": draw.floats(HIDDEN, 8)}
    # No step reads what the last one wrote into `seen`.
    states = {"norm": {"mean": draw.floats(HIDDEN)}, "steps": jnp.asarray(3.0), "seen": jnp.zeros(HIDDEN)}
    batch = {"x": draw.floats(8, HIDDEN, scale=1), "y": draw.integers(8, 8)}

    def loss(params, states, x, y):
        mean = states["norm"]["mean"]
        value = cross_entropy((x - mean) @ params["w"], y) / states["steps"]
        return value, {"norm": {"mean": 0.9 * mean + 0.1 * x.mean(0)}, "steps": states["steps"] + 1,
                       "seen": x.sum(0)}

    return Model(loss, params, batch, ("y",), states, partitions=("dp=2", "tp=2"))


def integers():
    """Divisions by 0 and of the smallest integer, shifts of the sign, and which of equal elements is the largest."""
    draw = Draw()
    least, most = -2**31, 2**31 - 1
    params = {"w": draw.floats(9, 8)}
    batch = {"n": jnp.asarray([least, least, -7, -1, 0, 5, 7, most], jnp.int32),
             "d": jnp.asarray([-1, 0, 0, least, 0, -3, -1, 7], jnp.int32)}

    def loss(params, n, d):
        numbers = [jax.lax.div(n, d), jax.lax.rem(n, d), n // 7, n % 7, n >> 31, n >> 4,
                   *(jax.lax.shift_right_logical(n, jnp.int32(places)) for places in (3, 31))]
        features = jnp.stack([(x % 1000).astype(params["w"].dtype) / 1000 for x in numbers], axis=1)
        best = jnp.argmax(jnp.stack([n // 4, d, n // 4], axis=1), axis=1)
        least = jnp.argmin(jnp.stack([n, d], axis=0), axis=0)
        features = jnp.concatenate([features, (best + 3 * least)[:, None].astype(features.dtype)], axis=1)
        return jnp.mean((features @ params["w"]) ** 2)

    return Model(loss, params, batch, ("d",), partitions=("dp=2",))


def sharded():
    """Shardings of arguments, within a scan and of merged columns: the plans have no axes of their own for these."""
    draw = Draw()
    mesh = Mesh(np.array(jax.devices()).reshape(2, 1, 2), ("data", "one", "model"))

    def put(array, *axes):
        return jax.device_put(array, NamedSharding(mesh, PartitionSpec(*axes)))

    params = {"w": put(draw.floats(3, HIDDEN, HIDDEN), None, None, ("one", "model")),
              "qkv": put(draw.floats(HIDDEN, 24), None, "model"), "v": put(draw.floats(8, 8), "data")}
    batch = {"x": put(draw.floats(8, HIDDEN, scale=1), "data"), "y": put(draw.integers(8, 8), "data")}

    def loss(params, x, y):
        def layer(h, w):
            return jax.lax.with_sharding_constraint(jnp.tanh(h @ w), NamedSharding(mesh, PartitionSpec("data"))), None
        h, _ = jax.lax.scan(layer, x, params["w"])
        q, k, v = jnp.split(h @ params["qkv"], 3, axis=1)
        # Gathered before it is used, as FSDP does.
        whole = jax.lax.with_sharding_constraint(params["v"], NamedSharding(mesh, PartitionSpec(None, None)))
        return cross_entropy((q * k + v) @ whole, y)

    return Model(loss, params, batch, ("y",), partitions=("", "microbatches=2", "pp=2 microbatches=2"))


CASES = [mlp, gpt, scan, llama, convolutions, experts, switch, ops, running, integers, sharded]
