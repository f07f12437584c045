# _nn.py - what the ops of ATen are in pp: products, losses, norms.
#
# SPDX-License-Identifier: Apache-2.0
#
# These ops arrive whole where their decomposition in PyTorch would merge the
# batch with other dimensions, or hide what they are. They are written as pp's
# own models write them (lib/Models), which passes and kernels know.
"""Layers and losses, in the table of _aten.py."""

import math

from torch.fx import Node

from ._aten import op, operand
from ._experts import columns_of
from ._text import Value

# Products.


@op("linear.default")
def linear(x, out, a, weight, bias=None):
    y = x.graph.dot(a, weight, ([], []), ([a.rank - 1], [1]))
    return y if bias is None else x.graph.binary("add", y, x.graph.expand(bias, y.shape))


@op("mm.default")
def mm(x, out, a, b):
    """The rows of a may be merged dimensions: they stay apart up to the result."""
    whole = unmerged(a)
    return x.graph.reshape(x.graph.dot(whole, b, ([], []), ([whole.rank - 1], [0])), out.shape)


@op("addmm.default")
def addmm(x, out, bias, a, b, beta=1, alpha=1):
    g, whole = x.graph, unmerged(a)
    y = g.dot(whole, b, ([], []), ([whole.rank - 1], [0]))
    y = y if alpha == 1 else g.scale(y, alpha)
    bias = bias if beta == 1 else g.scale(bias, beta)
    if bias.rank > 1:
        return g.binary("add", g.reshape(y, out.shape), g.expand(bias, out.shape))
    return g.reshape(g.binary("add", y, g.expand(bias, y.shape)), out.shape)


@op("split_with_sizes.default")
def split_with_sizes(x, out, a, sizes, dimension=0):
    """Of a product whose columns are several in one (query, key and value), each
    part is a row of a new dimension: devices can then split every part alike."""
    g, dimension = x.graph, dimension % a.rank
    if dimension == a.rank - 1 and len(sizes) > 1 and len(set(sizes)) == 1:
        apart = regrouped(x, a, len(sizes))
        if apart is not None:
            last = apart.rank - 2
            rows = [g.slice_along(apart, last, i, i + 1) for i in range(len(sizes))]
            return [g.reshape(row, type_.shape) for row, type_ in zip(rows, out)]
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    return [g.slice_along(a, dimension, start, start + size) for start, size in zip(starts, sizes)]


def regrouped(x, a, groups):
    """The product `a`, with its last dimension as [groups, columns]; None if it is
    something else, or is or has what is used elsewhere, too."""
    g, node = x.graph, x.node.args[0]
    while node.target.__name__.startswith("view.") and len(node.users) == 1:
        node = node.args[0]
    if len(node.users) == 1 and node.target.__name__.startswith("expert_columns."):
        return columns_of(x, *(x.values.get(arg) if isinstance(arg, Node) else arg for arg in node.args), groups)
    if len(node.users) != 1 or not node.target.__name__.startswith(("linear.", "addmm.")):
        return None
    product = a.operands[0] if a.op == "reshape" else a
    bias = None
    if product.op == "add":
        product, bias = product.operands
        bias = bias.operands[0] if bias.op == "broadcast" else bias
    if product.op != "dot_general" or product.shape[-1] != a.shape[-1]:
        return None
    rows, weight = product.operands
    column = 1 - product.facts["contract"][1][0]
    if weight.rank != 2 or not all(x.is_used_once(v) for v in (weight, bias) if v is not None):
        return None
    x.store_as(weight, split(weight.shape, column, groups))
    y = g.dot(rows, weight, ([], []), (product.facts["contract"][0], [0 if column else 2]))
    if bias is not None:
        x.store_as(bias, split(bias.shape, 0, groups))
        y = g.binary("add", y, g.broadcast(bias, [y.rank - 2, y.rank - 1], y.shape))
    return y


def split(shape, dimension, groups):
    return (*shape[:dimension], groups, shape[dimension] // groups, *shape[dimension + 1:])


def unmerged(a):
    """The tensor whose leading dimensions a reshape merged into rows, or a."""
    if a.op == "reshape" and a.rank == 2 and a.operands[0].rank > 1 and a.operands[0].shape[-1] == a.shape[-1]:
        return a.operands[0]
    return a


@op("bmm.default", "matmul.default")
def matmul(x, out, a, b):
    g = x.graph
    if b.rank == 1:
        return g.dot(a, b, ([], []), ([a.rank - 1], [0]))
    if b.rank == 2:
        return g.dot(a, b, ([], []), ([a.rank - 1], [0]))
    batch = out.shape[:len(out.shape) - (1 if a.rank == 1 else 2)]
    a = g.expand(a, batch + a.shape[-2:]) if a.rank > 1 else g.expand(a, batch + a.shape)
    b = g.expand(b, batch + b.shape[-2:])
    places = list(range(len(batch)))
    return g.dot(a, b, (places, places), ([a.rank - 1], [b.rank - 2]))


@op("scaled_dot_product_attention.default")
def attention(x, out, q, k, v, mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """Names say what heads and sequence are, for plans that split both."""
    g = x.graph
    if k.shape[-3] != q.shape[-3]:  # grouped queries: heads of a group share a key
        group = q.shape[-3] // k.shape[-3]
        k, v = (g.reshape(g.broadcast(a, [0, 1, 3, 4], a.shape[:2] + (group,) + a.shape[2:]),
                          (a.shape[0], a.shape[1] * group) + a.shape[2:]) for a in (k, v))
    dims = ["batch", "head", "sequence", ""]
    if q.rank == 4:
        q, k, v = (x.name(name, a, dims) for name, a in (("query", q), ("key", k), ("value", v)))
    places, last = list(range(q.rank - 2)), q.rank - 1
    scores = g.dot(q, k, (places, places), ([last], [last]))
    scores = g.scale(scores, 1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    lowest = g.splat(-math.inf, scores.shape, scores.element)
    if is_causal:
        square = scores.shape[-2:]
        seen = g.compare("le", g.iota(square, 1, "i32"), g.iota(square, 0, "i32"))
        scores = g.select(g.expand(seen, scores.shape), scores, lowest)
    if mask is not None and mask.element == "i1":
        scores = g.select(g.expand(mask, scores.shape), scores, lowest)
    elif mask is not None:
        scores = g.binary("add", scores, g.expand(mask, scores.shape))
    weights = softmax_of(g, scores, last)
    if mask is not None and may_hide_rows(mask):
        largest = g.reduce("max", scores, [last])
        hidden = g.compare("eq", largest, g.splat(-math.inf, largest.shape, largest.element))
        # Before softmax, whose gradient is not a number there.
        hidden = along(g, hidden, scores, last)
        zero = g.splat(0, scores.shape, scores.element)
        weights = g.select(hidden, zero, softmax_of(g, g.select(hidden, zero, scores), last))
    if dropout_p:
        weights = drop(x, weights, dropout_p)
    mixed = g.dot(weights, v, (places, places), ([last], [q.rank - 2]))
    return x.name("mixed", mixed, dims) if q.rank == 4 else mixed


def may_hide_rows(mask):
    """Whether a query may see no key at all: its result is 0."""
    known = mask.facts.get("known")
    if known is None:
        return True
    seen = known if mask.element == "i1" else known > -math.inf
    return not bool(seen.any(-1).all())


# Softmax and losses.


def shifted_exponentials(g, a, dimension):
    """a minus its largest along the dimension, the exponential, and their sum,
    which drops it. The largest only guards against overflow: it cancels in the
    result."""
    largest = g.unary("stop_gradient", g.reduce("max", a, [dimension]))
    shifted = g.binary("sub", a, along(g, largest, a, dimension))
    exponential = g.unary("exp", shifted)
    return shifted, exponential, g.reduce("sum", exponential, [dimension])


def along(g, values, a, dimension):
    """Values without the dimension, repeated along it."""
    return g.broadcast(values, [d for d in range(a.rank) if d != dimension], a.shape)


def softmax_of(g, a, dimension):
    _, exponential, total = shifted_exponentials(g, a, dimension)
    return g.binary("div", exponential, along(g, total, a, dimension))


def log_softmax_of(g, a, dimension):
    shifted, _, total = shifted_exponentials(g, a, dimension)
    return g.binary("sub", shifted, along(g, g.unary("log", total), a, dimension))


@op("_softmax.default")
def softmax(x, out, a, dimension, *_, **__):
    if a.rank == 0:
        return x.graph.splat(1, (), out.element)
    return softmax_of(x.graph, x.graph.convert(a, out.element), dimension % a.rank)


@op("_log_softmax.default")
def log_softmax(x, out, a, dimension, *_, **__):
    if a.rank == 0:
        return x.graph.splat(0, (), out.element)
    return log_softmax_of(x.graph, x.graph.convert(a, out.element), dimension % a.rank)


@op("cross_entropy_loss.default")
def cross_entropy(x, out, logits, target, weight=None, reduction=1, ignore=-100, smoothing=0.0):
    g = x.graph
    if target.element.startswith(("f", "b")):
        return cross_entropy_of_shares(x, out, logits, target, weight, reduction, smoothing)
    if logits.rank > 2:  # classes are dimension 1
        logits = g.transpose(logits, [0, *range(2, logits.rank), 1])
    elif unmerged(logits) is not logits:
        logits = unmerged(logits)
    if not x.has_logits:
        x.name_logits(logits)
    classes, shape = logits.shape[-1], logits.shape[:-1]
    target = g.reshape(target, shape)
    seen, count, target = seen_labels(x, target, shape, classes, ignore, logits.element)

    shifted, _, total = shifted_exponentials(g, logits, logits.rank - 1)
    log_total = g.unary("log", total)
    losses = g.binary("sub", log_total, g.gather(shifted, target, len(shape)))
    if smoothing:
        each = g.binary("sub", log_total, g.mean(shifted, [logits.rank - 1]))
        losses = g.binary("add", g.scale(losses, 1 - smoothing), g.scale(each, smoothing))
    if weight is not None:
        if smoothing:
            x.fail("cross_entropy with weights and label smoothing has no form in pp: leave one of them out")
        weights = g.gather(weight, target, 0)
        losses = g.binary("mul", losses, weights)
        count = g.reduce("sum", hide(g, seen, weights), range(len(shape)))
    losses = hide(g, seen, losses)
    if reduction == 0:
        return g.reshape(losses, out.shape)
    loss = g.reduce("sum", losses, range(len(shape)))
    if reduction == 2:
        return loss
    return g.binary("div", loss, count) if isinstance(count, Value) else g.scale(loss, 1.0 / count)


def hide(g, seen, values):
    return values if seen is None else g.select(seen, values, g.splat(0, values.shape, values.element))


def seen_labels(x, target, shape, classes, ignore, element):
    """Which labels count (None: all), their number, and labels that are
    classes. Labels that a shift of the sequence pads are known; whether others
    are ignored, only the batch says, and so only then is their number a sum over
    it, unless the example batch has none."""
    g = x.graph
    known = x.ignored_labels(ignore, classes)
    if known is None:
        seen = g.compare("ne", target, g.splat(ignore, shape, target.element))
        count = g.reduce("sum", g.convert(seen, element), range(len(shape)))
    elif known.any():
        seen = x.known(~known.reshape(shape))
        count = int((~known).sum())
    else:
        seen, count = None, math.prod(shape)
    if known is not None:
        x.bound(target, classes)
    return seen, count, hide(g, seen, target)


def cross_entropy_of_shares(x, out, logits, target, weight, reduction, smoothing):
    """The target is a probability for each class."""
    g = x.graph
    if smoothing:
        target = g.shift(g.scale(target, 1 - smoothing), smoothing / logits.shape[1])
    if weight is not None:
        x.fail("cross_entropy with weights and probabilities has no form in pp: multiply the probabilities")
    losses = g.unary("neg", g.reduce("sum", g.binary("mul", log_softmax_of(g, logits, 1), target), [1]))
    if reduction == 0:
        return losses
    total = g.reduce("sum", losses, range(losses.rank))
    return total if reduction == 2 else g.scale(total, 1.0 / math.prod(losses.shape))


@op("mse_loss.default")
def mse_loss(x, out, a, b, reduction=1):
    g, b = x.graph, operand(x, Value("", a.shape, a.element, ""), b)
    square = g.binary("mul", *[g.binary("sub", a, b)] * 2)
    if reduction == 0:
        return square
    return g.mean(square, range(a.rank)) if reduction == 1 else g.reduce("sum", square, range(a.rank))


# Norms.


def normalize(g, a, dimensions, epsilon):
    """Less its mean, over its deviation; also the mean and the variance."""
    mean = g.mean(a, dimensions)
    kept = [d for d in range(a.rank) if d not in dimensions]
    centred = g.binary("sub", a, g.broadcast(mean, kept, a.shape))
    variance = g.mean(g.binary("mul", centred, centred), dimensions)
    inverse = g.unary("rsqrt", g.shift(variance, epsilon))
    return g.binary("mul", centred, g.broadcast(inverse, kept, a.shape)), mean, variance


def affine(g, a, weight, bias, dimensions):
    """Times weight plus bias, which have these dimensions of a."""
    for function, value in ("mul", weight), ("add", bias):
        if value is not None:
            a = g.binary(function, a, g.broadcast(g.convert(value, a.element), dimensions, a.shape))
    return a


@op("layer_norm.default", "native_layer_norm.default")
def layer_norm(x, out, a, sizes, weight=None, bias=None, epsilon=1e-5, *_):
    dimensions = list(range(a.rank - len(sizes), a.rank))
    y = affine(x.graph, normalize(x.graph, a, dimensions, epsilon)[0], weight, bias, dimensions)
    return [y, None, None] if isinstance(out, list) else y


@op("rms_norm.default")
def rms_norm(x, out, a, sizes, weight=None, epsilon=None):
    g, dimensions = x.graph, list(range(a.rank - len(sizes), a.rank))
    if epsilon is None:
        epsilon = 2.0**-52 if a.element == "f64" else 2.0**-23  # of the type that PyTorch computes in
    square = g.mean(g.binary("mul", a, a), dimensions, keep=True)
    inverse = g.unary("rsqrt", g.shift(square, epsilon))
    return affine(g, g.binary("mul", a, g.expand(inverse, a.shape)), weight, None, dimensions)


@op("group_norm.default")
def group_norm(x, out, a, groups, weight=None, bias=None, epsilon=1e-5, *_):
    """Channels are summed up one by one before they meet in groups, so that
    devices need not have whole groups."""
    g, batch, channels = x.graph, a.shape[0], a.shape[1]
    images, grouped = list(range(2, a.rank)), (batch, groups, channels // groups)
    count = math.prod(a.shape[2:]) * grouped[2]

    def per_channel(values):
        sums = g.reduce("sum", g.reshape(g.reduce("sum", values, images), grouped), [2])
        return g.reshape(g.broadcast(g.scale(sums, 1.0 / count), [0, 1], grouped), (batch, channels))

    centred = g.binary("sub", a, g.broadcast(per_channel(a), [0, 1], a.shape))
    variance = per_channel(g.binary("mul", centred, centred))
    inverse = g.unary("rsqrt", g.shift(variance, epsilon))
    return affine(g, g.binary("mul", centred, g.broadcast(inverse, [0, 1], a.shape)), weight, bias, [1])


@op("_native_batch_norm_legit_functional.default", "_native_batch_norm_legit.default")
def batch_norm(x, out, a, weight, bias, running_mean, running_var, training, momentum, epsilon):
    """In training the batch's own statistics, of which the running ones take
    note; in evaluation the running ones."""
    g, dimensions = x.graph, [0, *range(2, a.rank)]
    count = math.prod(a.shape) // a.shape[1]
    if not training:
        return [running_norm(g, a, weight, bias, running_mean, running_var, epsilon), None, None, None, None]
    mean = g.mean(a, dimensions)
    centred = g.binary("sub", a, g.broadcast(g.if_training(mean, running_mean), [1], a.shape))
    variance = g.mean(g.binary("mul", centred, centred), dimensions)
    inverse = g.unary("rsqrt", g.shift(g.if_training(variance, running_var), epsilon))
    y = by_channel(g, centred, inverse, weight, bias)

    def run(old, fresh):
        return g.binary("add", g.scale(old, 1 - momentum), g.scale(fresh, momentum))

    unbiased = g.scale(variance, count / max(1, count - 1))
    return [y, None, None, run(running_mean, mean), run(running_var, unbiased)]


@op("_native_batch_norm_legit_no_training.default")
def batch_norm_no_training(x, out, a, weight, bias, running_mean, running_var, momentum, epsilon):
    return [running_norm(x.graph, a, weight, bias, running_mean, running_var, epsilon), None, None]


@op("_native_batch_norm_legit.no_stats")
def instance_norm(x, out, a, weight, bias, training, momentum, epsilon):
    y = normalize(x.graph, a, [0, *range(2, a.rank)], epsilon)[0]
    return [affine(x.graph, y, weight, bias, [1]), None, None]


def running_norm(g, a, weight, bias, mean, variance, epsilon):
    centred = g.binary("sub", a, g.broadcast(mean, [1], a.shape))
    return by_channel(g, centred, g.unary("rsqrt", g.shift(variance, epsilon)), weight, bias)


def by_channel(g, centred, inverse, weight, bias):
    """The scale of a channel is one number: its gradient is summed over the batch once."""
    scale = inverse if weight is None else g.binary("mul", inverse, g.convert(weight, inverse.element))
    return affine(g, g.binary("mul", centred, g.broadcast(scale, [1], centred.shape)), None, bias, [1])


# Dropout.


@op("native_dropout.default")
def dropout(x, out, a, probability, training):
    return [drop(x, a, probability) if training and probability else a, None]


def drop(x, a, probability):
    """As pp's own models drop: bits from a seed and a step, which are states. They
    are not PyTorch's bits."""
    g = x.graph
    bits = g.random_bits(*x.dropout_states(), x.next_stream(), a.shape)
    # Words are evenly spread over [-2^31, 2^31).
    least = math.floor(probability * 2**32) - 2**31
    is_kept = g.compare("ge", bits, g.splat(least, a.shape, "i32"))
    kept = g.select(is_kept, g.scale(a, 1 / (1 - probability)), g.splat(0, a.shape, a.element))
    return g.if_training(kept, a)
