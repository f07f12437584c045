# triton_ops.py - ops of a training step as Triton has them.
#
# SPDX-License-Identifier: Apache-2.0
#
# Each op computes the same as the kernel of pp beside it, on the same matrices: elements are read and written in their
# type and computed in f32. A program has one row, as in Triton's tutorials; elementwise ops take `BLOCK`.
"""Kernels in Triton."""

import triton
import triton.language as tl
from triton.language.extra.cuda import libdevice


@triton.jit
def softmax(out, x, N: tl.constexpr, BLOCK: tl.constexpr):
    """Of causal scores."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * N + at, mask=at < N).to(tl.float32)
    value = tl.where(at <= row % N, value, float("-inf"))
    power = tl.exp(value - tl.max(value, 0))
    tl.store(out + row * N + at, (power / tl.sum(power, 0)).to(out.dtype.element_ty), mask=at < N)


@triton.jit
def softmax_backward(dx, p, dp, N: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    y = tl.load(p + row * N + at, mask=at < N).to(tl.float32)
    dy = tl.load(dp + row * N + at, mask=at < N).to(tl.float32)
    product = y * dy
    value = product - y * tl.sum(product, 0)
    value = tl.where(at <= row % N, value * 0.125, 0.0)
    tl.store(dx + row * N + at, value.to(dx.dtype.element_ty), mask=at < N)


@triton.jit
def cross_entropy(loss, largest, total, x, labels, N: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    m = tl.full((BLOCK,), float("-inf"), tl.float32)
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        m = tl.maximum(m, tl.load(x + row * N + at, mask=at < N, other=float("-inf"))
                       .to(tl.float32))
    top = tl.max(m, 0)
    s = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + row * N + at, mask=at < N, other=float("-inf")).to(tl.float32)
        s += tl.exp(value - top)
    sum = tl.sum(s, 0)
    picked = tl.load(x + row * N + tl.load(labels + row)).to(tl.float32)
    tl.store(loss + row, tl.log(sum) - (picked - top))
    tl.store(largest + row, top)
    tl.store(total + row, sum)


@triton.jit
def cross_entropy_backward(dx, labels, x, largest, total, N: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    label = tl.load(labels + row)
    top = tl.load(largest + row).to(tl.float32)
    scale = (1 / 4096) / tl.load(total + row).to(tl.float32)
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + row * N + at, mask=at < N).to(tl.float32)
        value = tl.exp(value - top) * scale - tl.where(at == label, 1 / 4096, 0.0)
        tl.store(dx + row * N + at, value.to(dx.dtype.element_ty), mask=at < N)


@triton.jit
def store_normal(value, mean, inverse, out, weight, bias, row, at, N: tl.constexpr):
    """A row, normalized, and what its gradient needs."""
    average = tl.sum(value, 0) / N
    centred = tl.where(at < N, value - average, 0.0)
    deviation = tl.rsqrt(tl.sum(centred * centred, 0) / N + 1e-5)
    w = tl.load(weight + at, mask=at < N).to(tl.float32)
    b = tl.load(bias + at, mask=at < N).to(tl.float32)
    tl.store(out + row * N + at, (centred * deviation * w + b).to(out.dtype.element_ty),
             mask=at < N)
    tl.store(mean + row, average)
    tl.store(inverse + row, deviation)


@triton.jit
def layer_norm(mean, inverse, out, weight, bias, x, N: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * N + at, mask=at < N, other=0.0).to(tl.float32)
    store_normal(value, mean, inverse, out, weight, bias, row, at, N)


@triton.jit
def residual_norm(sum, mean, inverse, out, x, y, before, weight, bias, N: tl.constexpr,
                  BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * N + at, mask=at < N, other=0.0).to(tl.float32)
    value += tl.load(y + row * N + at, mask=at < N, other=0.0).to(tl.float32)
    value += tl.load(before + at, mask=at < N, other=0.0).to(tl.float32)
    tl.store(sum + row * N + at, value.to(sum.dtype.element_ty), mask=at < N)
    store_normal(value, mean, inverse, out, weight, bias, row, at, N)


@triton.jit
def layer_norm_backward(dx, normal, weight, dy, mean, inverse, x, residual, N: tl.constexpr,
                        BLOCK: tl.constexpr):
    """With what the weight's gradient adds up, and the gradient that goes around the norm."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * N + at, mask=at < N, other=0.0).to(tl.float32)
    g = tl.load(dy + row * N + at, mask=at < N, other=0.0).to(tl.float32)
    w = tl.load(weight + at, mask=at < N, other=0.0).to(tl.float32)
    r = tl.load(residual + row * N + at, mask=at < N, other=0.0).to(tl.float32)
    average = tl.load(mean + row).to(tl.float32)
    deviation = tl.load(inverse + row).to(tl.float32)
    hat = (value - average) * deviation
    wg = w * g
    c1 = tl.sum(hat * wg, 0) / N
    c2 = tl.sum(wg, 0) / N
    tl.store(normal + row * N + at, (hat * g).to(normal.dtype.element_ty), mask=at < N)
    tl.store(dx + row * N + at,
             (r + (wg - (hat * c1 + c2)) * deviation).to(dx.dtype.element_ty), mask=at < N)


@triton.jit
def weight_gradient(dw, db, x, y, M: tl.constexpr, N: tl.constexpr, ROWS: tl.constexpr,
                    BLOCK: tl.constexpr):
    """Sums of columns, as in Triton's tutorial of layer norm."""
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.zeros((ROWS, BLOCK), tl.float32)
    b = tl.zeros((ROWS, BLOCK), tl.float32)
    for start in range(0, M, ROWS):
        rows = start + tl.arange(0, ROWS)
        at = rows[:, None] * N + columns[None, :]
        a += tl.load(x + at).to(tl.float32)
        b += tl.load(y + at).to(tl.float32)
    tl.store(dw + columns, tl.sum(a, 0).to(dw.dtype.element_ty))
    tl.store(db + columns, tl.sum(b, 0).to(db.dtype.element_ty))


@triton.jit
def gelu(out, x, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at).to(tl.float32)
    inner = 0.7978845608028654 * (value + 0.044715 * value * value * value)
    tl.store(out + at, (0.5 * value * (1 + libdevice.tanh(inner))).to(out.dtype.element_ty))


@triton.jit
def bias_gelu(sum, out, x, bias, N: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at).to(tl.float32) + tl.load(bias + at % N).to(tl.float32)
    tl.store(sum + at, value.to(sum.dtype.element_ty))
    inner = 0.7978845608028654 * (value + 0.044715 * value * value * value)
    tl.store(out + at, (0.5 * value * (1 + libdevice.tanh(inner))).to(out.dtype.element_ty))


@triton.jit
def gelu_backward(dx, x, dy, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at).to(tl.float32)
    g = tl.load(dy + at).to(tl.float32)
    square = value * value
    inner = 0.7978845608028654 * (value + 0.044715 * value * square)
    tanh = libdevice.tanh(inner)
    slope = 0.7978845608028654 * (1 + 3 * 0.044715 * square)
    tl.store(dx + at, (g * (0.5 * (1 + tanh) + 0.5 * value * (1 - tanh * tanh) * slope)
                       ).to(dx.dtype.element_ty))


@triton.jit
def adamw(p, m, v, g, rate, first, second, clip, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    grad = tl.load(g + at).to(tl.float32) * tl.load(clip)
    value = tl.load(p + at).to(tl.float32)
    mean = 0.9 * tl.load(m + at) + 0.1 * grad
    square = 0.999 * tl.load(v + at) + 0.001 * grad * grad
    step = (mean / tl.load(first)) / (tl.sqrt(square / tl.load(second)) + 1e-8)
    value -= 1e-3 * (step + 0.01 * value)
    tl.store(p + at, value.to(p.dtype.element_ty))
    tl.store(m + at, mean)
    tl.store(v + at, square)
