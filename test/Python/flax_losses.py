"""The losses of jax_models.py whose layers are Flax's.

SPDX-License-Identifier: Apache-2.0
"""
import jax
import jax.numpy as jnp
from flax import linen

from jax_losses import BATCH, HEADS, HIDDEN, LAYERS, SEQ, VOCAB, Draw, Model, cross_entropy


class Block(linen.Module):
    @linen.compact
    def __call__(self, x, _=None):
        y = linen.LayerNorm(param_dtype=x.dtype)(x)
        x = x + linen.MultiHeadDotProductAttention(num_heads=HEADS, param_dtype=x.dtype)(
            y, mask=linen.make_causal_mask(x[..., 0]))
        y = linen.Dense(4 * HIDDEN, param_dtype=x.dtype)(linen.RMSNorm(param_dtype=x.dtype)(x))
        return x + linen.Dense(HIDDEN, param_dtype=x.dtype)(linen.gelu(y)), None


class Transformer(linen.Module):
    stacked: bool

    @linen.compact
    def __call__(self, tokens):
        x = linen.Embed(VOCAB, HIDDEN, param_dtype=jnp.result_type(float), name="embed")(tokens)
        if self.stacked:
            layers = linen.scan(linen.remat(Block), variable_axes={"params": 0},
                                split_rngs={"params": True}, length=LAYERS)
            x, _ = layers(name="layers")(x, None)
        else:
            for index in range(LAYERS):
                x, _ = Block(name=f"h_{index}")(x)
        return linen.Dense(VOCAB, param_dtype=x.dtype, name="head")(x)


def transform(stacked, partitions):
    draw = Draw()
    batch = {name: draw.integers(VOCAB, BATCH, SEQ) for name in ("tokens", "labels")}
    model = Transformer(stacked)
    params = model.init(jax.random.key(0), batch["tokens"])

    def loss(params, tokens, labels):
        return cross_entropy(model.apply(params, tokens), labels)

    return Model(loss, params, batch, partitions=partitions)


def flax_transformer():
    """A transformer, a module a layer."""
    return transform(stacked=False, partitions=("tp=2",))


def flax_scan():
    """The same with layers that nn.scan stacks, and with checkpoints."""
    return transform(stacked=True, partitions=("dp=2", "pp=2 microbatches=2", "dp=2 zero=3"))


class Residual(linen.Module):
    features: int
    stride: int

    @linen.compact
    def __call__(self, x, train):
        def norm(y):
            return linen.BatchNorm(use_running_average=not train, momentum=0.9, param_dtype=x.dtype)(y)

        def convolve(y, kernel, stride):
            return linen.Conv(self.features, (kernel, kernel), stride, use_bias=False, param_dtype=x.dtype)(y)

        y = linen.relu(norm(convolve(x, 3, self.stride)))
        y = norm(convolve(y, 3, 1))
        if x.shape != y.shape:
            x = norm(convolve(x, 1, self.stride))
        return linen.relu(x + y)


class ResNet(linen.Module):
    @linen.compact
    def __call__(self, x, train):
        x = linen.Conv(8, (3, 3), use_bias=False, param_dtype=x.dtype, name="stem")(x)
        x = linen.BatchNorm(use_running_average=not train, param_dtype=x.dtype)(x)
        x = linen.max_pool(linen.relu(x), (3, 3), (2, 2), "SAME")
        for index, (features, stride) in enumerate([(8, 1), (16, 2)]):
            x = Residual(features, stride, name=f"layers_{index}")(x, train)
        return linen.Dense(10, param_dtype=x.dtype, name="head")(x.mean((1, 2)))


def flax_resnet():
    """A ResNet whose batch norms keep running means: batch_stats, which Flax calls mutable."""
    draw = Draw()
    batch = {"images": draw.floats(4, 16, 16, 3, scale=1), "labels": draw.integers(10, 4)}
    model = ResNet()
    variables = model.init(jax.random.key(0), batch["images"], train=True)

    def loss(params, states, images, labels):
        logits, new = model.apply({"params": params, **states}, images, train=True, mutable=["batch_stats"])
        return cross_entropy(logits, labels), new

    # Flax begins with f32, and in f64 continues with f64.
    stats = jax.tree.map(lambda value: value.astype(batch["images"].dtype), variables["batch_stats"])
    # A batch norm of micro-batches is another function, which pp refuses.
    return Model(loss, variables["params"], batch, states={"batch_stats": stats},
                 partitions=("dp=2", "pp=2"))


CASES = [flax_transformer, flax_scan, flax_resnet]
