# _images.py - what the ops of ATen are in pp: windows and sizes of images.
#
# SPDX-License-Identifier: Apache-2.0
#
# Images are [batch, channels, ...], of any number of dimensions; _layout.py puts
# channels last.
"""Convolutions, pooling and resizing, in the table of _aten.py."""

import math

import torch

from ._aten import op
from ._layout import inverse
from ._nn import affine


@op("convolution.default")
def convolution(x, out, a, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    g, kernel = x.graph, weight.shape[2:]
    ones = [1] * len(kernel)
    stride, padding, dilation, output_padding = (
        (list(v) * len(kernel))[:len(kernel)] for v in (stride, padding, dilation, output_padding))
    images, last = g.channels_last(a), a.rank - 1
    weight = channels_last_kernel(x, weight, transposed)
    shape = (out.shape[0], *out.shape[2:], out.shape[1])
    if transposed:
        if groups != 1:
            x.fail("a transposed convolution of groups has no form in the exporter: use groups=1")
        low = [d * (k - 1) - p for d, k, p in zip(dilation, kernel, padding)]
        high = [n + extra for n, extra in zip(low, output_padding)]
        y = g.convolution(images, weight, shape, ones, low, high, stride, dilation, reverse=True)
    elif groups == 1:
        y = g.convolution(images, weight, shape, stride, padding, padding, ones, dilation)
    else:
        each = out.shape[1] // groups
        images = g.reshape(images, (*images.shape[:-1], groups, a.shape[1] // groups))
        kernels = g.reshape(weight, (*weight.shape[:-1], groups, each))
        kernels = g.transpose(kernels, [*range(last - 1), last, last - 1, last + 1])
        y = g.convolution(images, kernels, (groups, *shape[:-1], each), stride, padding, padding, ones, dilation,
                          grouped=True)
        y = g.reshape(g.transpose(y, [*range(1, last + 1), 0, last + 1]), shape)
    return affine(g, g.channels_first(y), None, bias, [1])


def channels_last_kernel(x, weight, transposed):
    """[..., in, out] of [out, in, ...], or of [in, out, ...] of a transposed
    convolution. A parameter gets that shape, and its file keeps its own."""
    order = [*range(2, weight.rank), *((0, 1) if transposed else (1, 0))]
    if not x.is_used_once(weight):
        return x.graph.transpose(weight, order)
    x.store_as(weight, tuple(weight.shape[d] for d in order), inverse(order))
    return weight


def window(value, count, default=None):
    """A number per dimension."""
    value = list(value) if isinstance(value, (list, tuple)) else [value]
    value = value or list(default)
    return value * count if len(value) == 1 else value


@op("max_pool2d_with_indices.default", "max_pool3d_with_indices.default", "max_pool1d.default",
    "max_pool2d.default", "max_pool3d.default")
def max_pool(x, out, a, sizes, stride=(), padding=0, dilation=1, ceil_mode=False):
    type_ = out[0] if isinstance(out, list) else out
    y = pool(x, "max", a, type_.shape, sizes, stride, padding, dilation)
    return [y, None] if isinstance(out, list) else y


def pool(x, reduction, a, shape, sizes, stride, padding, dilation=1):
    """How sizes were rounded shows in the result's shape: windows may end behind
    the padding, or before the end."""
    count = len(sizes) if isinstance(sizes, (list, tuple)) and len(sizes) > 1 else a.rank - 2
    dimensions = list(range(a.rank - count, a.rank))
    sizes = window(sizes, count)
    stride, padding, dilation = window(stride, count, sizes), window(padding, count), window(dilation, count)
    high = [(shape[d] - 1) * s + (k - 1) * step + 1 - a.shape[d] - p
            for d, s, k, step, p in zip(dimensions, stride, sizes, dilation, padding)]
    limits = [size + min(0, h) for size, h in zip(a.shape, [0] * (a.rank - count) + high)]
    a = x.graph.slice(a, [0] * a.rank, limits)
    return x.graph.reduce_window(reduction, a, shape, dimensions, sizes, stride, dilation, padding,
                                 [max(0, h) for h in high])


@op("avg_pool1d.default", "avg_pool2d.default", "avg_pool3d.default")
def avg_pool(x, out, a, sizes, stride=(), padding=0, ceil_mode=False, count_include_pad=True, divisor=None):
    """Windows at a border may count fewer elements: a known tensor."""
    g, count = x.graph, a.rank - 2
    total = pool(x, "sum", a, out.shape, sizes, stride, padding)
    if divisor or (not ceil_mode and (count_include_pad or not any(window(padding, count)))):
        return g.scale(total, 1.0 / (divisor or math.prod(window(sizes, count))))
    # What a window counts is a product of what it counts along each dimension.
    sizes = window(sizes, count)
    shares = torch.ones((), dtype=torch.float64)
    for size, before, after, step, low in zip(sizes, a.shape[2:], out.shape[2:], window(stride, count, sizes),
                                              window(padding, count)):
        first = torch.arange(after) * step - low
        last = torch.clamp(first + size, max=before + low)
        if not count_include_pad:
            first, last = first.clamp(min=0), last.clamp(max=before)
        shares = shares[..., None] / (last - first)
    factors = x.value(shares.reshape(1, 1, *shares.shape).to(x.node.meta["val"].dtype))
    return g.binary("mul", total, g.expand(factors, total.shape))


def resize(x, out, a, method, keeps_sizes=True):
    """A linear map along each dimension: what `method`, a function of PyTorch,
    makes of unit vectors. It gets them as [unit, 1, ..., elements, ...] and the
    sizes of its result. With `keeps_sizes` it changes nothing where these are equal."""
    g, count = x.graph, a.rank - 2
    for d in range(2, a.rank):
        before, after = a.shape[d], out.shape[d]
        if before == after and keeps_sizes:
            continue
        ones = [1] * count
        unit = torch.eye(before, dtype=torch.float64).reshape(
            before, 1, *ones[:d - 2], before, *ones[d - 1:])
        sizes = ones[:d - 2] + [after] + ones[d - 1:]
        matrix = method(unit, sizes, d - 2).reshape(before, after)
        weights = x.value(matrix.to(x.node.meta["val"].dtype))
        y = g.dot(a, weights, ([], []), ([d], [0]))
        a = g.transpose(y, [*range(d), a.rank - 1, *range(d, a.rank - 1)])
    return a


@op("_adaptive_avg_pool2d.default", "_adaptive_avg_pool3d.default", "adaptive_avg_pool1d.default")
def adaptive_avg_pool(x, out, a, sizes):
    images = list(range(2, a.rank))
    if all(out.shape[d] == 1 for d in images):
        return x.graph.mean(a, images, keep=True)
    if any(a.shape[d] % out.shape[d] for d in images):
        method = getattr(torch.nn.functional, f"adaptive_avg_pool{len(images)}d")
        return resize(x, out, a, lambda unit, sizes, d: method(unit, sizes))
    kernel = [a.shape[d] // out.shape[d] for d in images]
    return x.graph.scale(pool(x, "sum", a, out.shape, kernel, kernel, 0), 1.0 / math.prod(kernel))


@op("upsample_nearest1d.vec", "upsample_nearest2d.vec", "upsample_nearest3d.vec")
def upsample_nearest(x, out, a, size, factors=None):
    """By a whole factor a repetition, else a map of a 1 per element."""
    g, images = x.graph, range(2, a.rank)
    if any(out.shape[d] != a.shape[d] * (factors[d - 2] if factors else out.shape[d] // a.shape[d]) for d in images):
        return resize_by(x, out, a, factors)
    apart, kept = list(a.shape[:2]), [0, 1]
    for d in images:
        kept.append(len(apart))
        apart += [a.shape[d], out.shape[d] // a.shape[d]]
    return g.reshape(g.broadcast(a, kept, apart), out.shape)


@op("upsample_linear1d.vec", "upsample_bilinear2d.vec", "upsample_trilinear3d.vec", "upsample_bicubic2d.vec")
def upsample_linear(x, out, a, size, align, factors=None):
    """With factors their reciprocals are the steps, else the ratio of sizes."""
    mode = x.node.target.__name__.split("upsample_")[1].split(".")[0][:-2]  # "upsample_bilinear2d.vec"
    return resize_by(x, out, a, factors, mode=mode, align_corners=align)


def resize_by(x, out, a, factors, **options):
    """As torch.nn.functional.interpolate does."""
    def method(unit, sizes, d):
        if factors is None:
            return torch.nn.functional.interpolate(unit, sizes, **options)
        steps = [1.0] * len(sizes)
        steps[d] = factors[d]
        return torch.nn.functional.interpolate(unit, scale_factor=steps, **options)
    return resize(x, out, a, method, keeps_sizes=factors is None)
