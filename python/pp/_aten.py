# _aten.py - what the ops of ATen are in pp: elements, shapes, reductions.
#
# SPDX-License-Identifier: Apache-2.0
#
# A function per op: (exporter, type of the result, arguments of the op). Tensors
# arrive as values of _text.py. Elementwise ops convert and repeat their operands
# to the result's type first, as PyTorch does.
"""The table from ATen ops to functions that print them."""

import functools
import math

from ._elements import FLOATS
from ._layout import split_and_merged
from ._text import Value

OPS = {}  # name of an ATen op, "add.Tensor" -> function


def op(*names):
    def register(function):
        OPS.update((name, function) for name in names)
        return function
    return register


def operand(x, out, value, element=None):
    """A value or number as a tensor of the result's shape."""
    element = element or out.element
    if isinstance(value, Value):
        return x.graph.expand(x.graph.convert(value, element), out.shape)
    return x.graph.splat(value, out.shape, element)


# Elementwise.

for _name, _op in {"neg": "neg", "abs": "abs", "exp": "exp", "log": "log", "log1p": "log1p", "sqrt": "sqrt",
                   "rsqrt": "rsqrt", "tanh": "tanh", "erf": "erf", "sigmoid": "logistic", "sin": "sin",
                   "cos": "cos", "sign": "sign", "stop_gradient": "stop_gradient", "bitwise_not": "not"}.items():
    OPS[f"{_name}.default"] = lambda x, out, a, _op=_op: x.graph.unary(_op, operand(x, out, a))

for _name, _op in {"mul.Tensor": "mul", "mul.Scalar": "mul", "maximum.default": "max", "minimum.default": "min",
                   "bitwise_and.Tensor": "and", "bitwise_and.Scalar": "and",
                   "bitwise_or.Tensor": "or", "bitwise_or.Scalar": "or"}.items():
    OPS[_name] = lambda x, out, a, b, _op=_op: x.graph.binary(_op, operand(x, out, a), operand(x, out, b))

for _name, _direction in {"eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}.items():
    for _overload in "Tensor", "Scalar":
        OPS[f"{_name}.{_overload}"] = lambda x, out, a, b, _d=_direction: compare(x, out, _d, a, b)


@op("logical_not.default")
def logical_not(x, out, a):
    return x.graph.unary("not", operand(x, out, a))


@op("logical_and.default")
def logical_and(x, out, a, b):
    return x.graph.binary("and", operand(x, out, a), operand(x, out, b))


@op("logical_or.default")
def logical_or(x, out, a, b):
    return x.graph.binary("or", operand(x, out, a), operand(x, out, b))


def compare(x, out, direction, a, b):
    """In the type that PyTorch takes for both, which depends on their ranks, too."""
    element = x.common_element()
    return x.graph.compare(direction, operand(x, out, a, element), operand(x, out, b, element))


@op("add.Tensor", "add.Scalar")
def add(x, out, a, b, alpha=1):
    return x.graph.binary("add", operand(x, out, a), scaled(x, operand(x, out, b), alpha))


@op("sub.Tensor", "sub.Scalar")
def sub(x, out, a, b, alpha=1):
    return x.graph.binary("sub", operand(x, out, a), scaled(x, operand(x, out, b), alpha))


def scaled(x, value, factor):
    return value if factor == 1 else x.graph.scale(value, factor)


@op("div.Tensor", "div.Scalar")
def div(x, out, a, b):
    return x.graph.binary("div", operand(x, out, a), operand(x, out, b))


@op("reciprocal.default")
def reciprocal(x, out, a):
    return x.graph.binary("div", operand(x, out, 1), operand(x, out, a))


@op("pow.Tensor_Scalar")
def power(x, out, a, exponent):
    """Small powers as products and roots, whose gradients are exact at 0."""
    g, a = x.graph, operand(x, out, a)
    if exponent in (2, 3):
        square = g.binary("mul", a, a)
        return square if exponent == 2 else g.binary("mul", square, a)
    if exponent in (0.5, -0.5):
        return g.unary("sqrt" if exponent > 0 else "rsqrt", a)
    if exponent == 1:
        return a
    if out.element not in FLOATS:
        if not 0 <= exponent <= 64:
            x.fail(f"integers to the power of {exponent} have no form in pp: use floats")
        return g.splat(1, a.shape, a.element) if exponent == 0 else functools.reduce(
            lambda y, _: g.binary("mul", y, a), range(exponent - 1), a)
    return g.binary("pow", a, operand(x, out, exponent))


@op("pow.Tensor_Tensor", "pow.Scalar")
def power_of_tensors(x, out, a, b):
    if out.element not in FLOATS:
        x.fail("integers to the power of integers have no form in pp: convert one of them to a float")
    return x.graph.binary("pow", operand(x, out, a), operand(x, out, b))


@op("relu.default")
def relu(x, out, a):
    """By select, since the gradient of PyTorch at 0 is 0; NaN stays."""
    zero = operand(x, out, 0)
    return x.graph.select(x.graph.compare("le", a, zero), zero, a)


@op("leaky_relu.default")
def leaky_relu(x, out, a, slope=0.01):
    return x.graph.select(x.graph.compare("gt", a, operand(x, out, 0)), a, x.graph.scale(a, slope))


@op("elu.default")
def elu(x, out, a, alpha=1.0, scale=1.0, input_scale=1.0):
    """The exponential of what is not positive, so that none overflows."""
    g, zero = x.graph, operand(x, out, 0)
    positive = g.compare("gt", a, zero)
    low = g.unary("exp", g.scale(g.select(positive, zero, a), input_scale))
    return g.select(positive, scaled(x, a, scale), g.scale(g.shift(low, -1), alpha * scale))


@op("hardtanh.default")
def hardtanh(x, out, a, low=-1, high=1):
    return clamp(x, out, a, low, high)


@op("clamp.default")
def clamp(x, out, a, low=None, high=None):
    """By select: at a bound the gradient is 0, as in PyTorch; NaN stays."""
    g, a = x.graph, operand(x, out, a)
    for direction, bound in ("le", low), ("ge", high):
        if bound is not None:
            limit = operand(x, out, bound)
            a = g.select(g.compare(direction, a, limit), limit, a)
    return a


@op("hardsigmoid.default")
def hardsigmoid(x, out, a):
    return x.graph.scale(clamp(x, out, x.graph.shift(a, 3), 0.0, 6.0), 1 / 6)


@op("hardswish.default")
def hardswish(x, out, a):
    g, zero = x.graph, operand(x, out, 0)
    inner = g.scale(g.binary("mul", a, g.shift(a, 3)), 1 / 6)
    low = g.select(g.compare("le", a, operand(x, out, -3)), zero, inner)
    return g.select(g.compare("ge", a, operand(x, out, 3)), a, low)


@op("gelu.default")
def gelu(x, out, a, approximate="none"):
    g = x.graph
    if approximate == "tanh":
        cube = g.binary("mul", g.binary("mul", a, a), a)
        inner = g.binary("add", a, g.scale(cube, 0.044715))
        bent = g.unary("tanh", g.scale(inner, (2 / 3.141592653589793)**0.5))
    else:
        bent = g.unary("erf", g.scale(a, 0.5**0.5))
    return g.binary("mul", g.scale(a, 0.5), g.shift(bent, 1))


@op("silu.default")
def silu(x, out, a):
    return x.graph.binary("mul", a, x.graph.unary("logistic", a))


@op("softplus.default")
def softplus(x, out, a, beta=1, threshold=20):
    g = x.graph
    inner = scaled(x, a, beta)
    direct = g.compare("gt", inner, operand(x, out, threshold))
    soft = g.unary("log1p", g.unary("exp", g.select(direct, operand(x, out, 0), inner)))
    return g.select(direct, a, scaled(x, soft, 1 / beta))


@op("floor.default")
def floor(x, out, a):
    """Converted to an integer, a number loses its fraction; one below it, then, if
    that is larger. Beyond 2^52 all numbers of f64 are whole."""
    g = x.graph
    whole = g.unary("stop_gradient", g.convert(g.convert(a, "i64"), a.element))
    lower = g.select(g.compare("gt", whole, a), g.shift(whole, -1), whole)
    is_small = g.compare("lt", g.unary("abs", a), operand(x, out, 2.0**52))
    return g.unary("stop_gradient", g.select(is_small, lower, a))


@op("ceil.default")
def ceil(x, out, a):
    return x.graph.unary("neg", floor(x, out, x.graph.unary("neg", a)))


@op("round.default")
def round_(x, out, a):
    """Halves go to the even neighbour."""
    g, lower = x.graph, floor(x, out, a)
    fraction, half = g.binary("sub", a, lower), operand(x, out, 0.5)
    is_odd = g.compare("ne", lower, g.scale(floor(x, out, g.scale(lower, 0.5)), 2))
    up = g.binary("or", g.compare("gt", fraction, half), g.binary("and", g.compare("eq", fraction, half), is_odd))
    return g.unary("stop_gradient", g.select(up, g.shift(lower, 1), lower))


@op("trunc.default")
def trunc(x, out, a):
    g = x.graph
    return g.binary("mul", g.unary("sign", a), floor(x, out, g.unary("abs", a)))


@op("remainder.Scalar", "remainder.Tensor")
def remainder(x, out, a, b):
    """It has the sign of the divisor."""
    if out.element in FLOATS:
        x.fail("the remainder of floats has no exact form in pp: use a - torch.floor(a / b) * b, which rounds")
    g, a, b = x.graph, operand(x, out, a), operand(x, out, b)
    rest = g.binary("sub", a, g.binary("mul", g.binary("div", a, b), b))
    zero = operand(x, out, 0)
    is_other = g.compare("lt", g.binary("mul", g.unary("sign", rest), g.unary("sign", b)), zero)
    return g.select(is_other, g.binary("add", rest, b), rest)


@op("div.Tensor_mode", "div.Scalar_mode")
def div_rounded(x, out, a, b, rounding_mode=None):
    g = x.graph
    if rounding_mode is None:
        return div(x, out, a, b)
    if out.element in FLOATS and rounding_mode == "floor":
        x.fail("the floor division of floats has no exact form in pp: use torch.floor(a / b), which rounds")
    if out.element in FLOATS:
        return trunc(x, out, div(x, out, a, b))
    if rounding_mode == "trunc":
        return div(x, out, a, b)
    a, b = operand(x, out, a), operand(x, out, b)
    quotient = g.binary("div", a, b)
    rest = g.binary("sub", a, g.binary("mul", quotient, b))
    is_other = g.compare("lt", g.binary("mul", g.unary("sign", rest), g.unary("sign", b)), operand(x, out, 0))
    return g.select(is_other, g.shift(quotient, -1), quotient)


@op("sinc.default")
def sinc(x, out, a):
    """At 0 it is 1, and its derivative 0."""
    g = x.graph
    is_zero, one = g.compare("eq", a, operand(x, out, 0)), operand(x, out, 1)
    angle = g.select(is_zero, one, g.scale(a, math.pi))
    return g.select(is_zero, one, g.binary("div", g.unary("sin", angle), angle))


@op("isnan.default")
def isnan(x, out, a):
    return x.graph.compare("ne", a, a)


@op("isinf.default")
def isinf(x, out, a):
    g = x.graph
    return g.compare("eq", g.unary("abs", a), g.splat(float("inf"), a.shape, a.element))


@op("bitwise_xor.Tensor", "logical_xor.default")
def xor(x, out, a, b):
    if out.element != "i1":
        x.fail("exclusive or of integers has no op in pp: use bool tensors")
    return x.graph.compare("ne", operand(x, out, a), operand(x, out, b))


@op("log2.default")
def log2(x, out, a):
    return x.graph.scale(x.graph.unary("log", operand(x, out, a)), 1.4426950408889634)


@op("exp2.default")
def exp2(x, out, a):
    return x.graph.unary("exp", x.graph.scale(operand(x, out, a), 0.6931471805599453))


@op("tan.default")
def tan(x, out, a):
    return x.graph.binary("div", x.graph.unary("sin", a), x.graph.unary("cos", a))


@op("expm1.default")
def expm1(x, out, a):
    """exp(a) - 1 as tanh(a / 2) (exp(a) + 1), which is exact for small a, too."""
    g = x.graph
    return g.binary("mul", g.unary("tanh", g.scale(a, 0.5)), g.shift(g.unary("exp", a), 1))


@op("sinh.default")
def sinh(x, out, a):
    """Exact near 0, where tanh is."""
    return x.graph.binary("mul", x.graph.unary("tanh", a), cosh(x, out, a))


@op("cosh.default")
def cosh(x, out, a):
    """By the root of the exponential, which overflows no earlier than the result."""
    g = x.graph
    size = g.unary("abs", a)
    root = g.unary("exp", g.scale(size, 0.5))
    return g.binary("add", g.binary("mul", g.scale(root, 0.5), root),
                    g.scale(g.unary("exp", g.unary("neg", size)), 0.5))


@op("where.self")
def where(x, out, mask, a, b):
    return x.graph.select(operand(x, out, mask, "i1"), operand(x, out, a), operand(x, out, b))


@op("_to_copy.default", "clone.default", "alias.default", "lift_fresh_copy.default")
def copy(x, out, a, *_, **__):
    return x.graph.convert(a, out.element)


@op("full_like.default")
def full_like(x, out, a, *args, **_):
    """Its operand gives only the shape; the value is the last number."""
    name = x.node.target.__name__
    value = 1 if "ones" in name else args[-1] if "full" in name else 0
    return operand(x, out, value)


# Shape.


@op("view.default", "unsqueeze.default", "squeeze.dims")
def reshape(x, out, a, *_):
    """A parameter that is only read with dimensions split is stored so."""
    parts = split_and_merged(a.shape, out.shape) if x.is_used_once(a) else None
    if parts is not None and all(len(before) == 1 for before, _ in parts):
        if a.shape != out.shape:
            x.store_as(a, out.shape)
        return a
    return x.graph.reshape(a, out.shape)


@op("expand.default")
def expand(x, out, a, *_, **__):
    return x.graph.expand(a, out.shape)


@op("permute.default")
def permute(x, out, a, dimensions):
    return x.graph.transpose(a, [d % a.rank for d in dimensions])


@op("slice.Tensor")
def slice_(x, out, a, dimension=0, start=None, end=None, step=1):
    begin, limit, stride = slice(start, end, step).indices(a.shape[dimension])
    return x.graph.slice_along(a, dimension % a.rank, begin, max(begin, limit), stride)


@op("select.int")
def select(x, out, a, dimension, index):
    index %= a.shape[dimension]
    return x.graph.reshape(x.graph.slice_along(a, dimension % a.rank, index, index + 1), out.shape)


@op("unbind.int")
def unbind(x, out, a, dimension=0):
    return [select(x, type_, a, dimension, i) for i, type_ in enumerate(out)]


@op("cat.default")
def cat(x, out, tensors, dimension=0):
    parts = [x.graph.convert(a, out.element) for a in tensors if a.shape != (0,)]
    return x.graph.concatenate(parts, dimension % len(out.shape))


@op("stack.default")
def stack(x, out, tensors, dimension=0):
    dimension %= len(out.shape)
    part = out.shape[:dimension] + (1,) + out.shape[dimension + 1:]
    return x.graph.concatenate([x.graph.reshape(a, part) for a in tensors], dimension)


@op("repeat.default")
def repeat(x, out, a, repeats):
    """[r * n] is [r, n] with a repeated new dimension in front of each."""
    sizes = (1,) * (len(repeats) - a.rank) + a.shape
    apart = [n for pair in zip(repeats, sizes) for n in pair]
    wide = x.graph.expand(x.graph.reshape(a, [n for size in sizes for n in (1, size)]), apart)
    return x.graph.reshape(wide, out.shape)


@op("constant_pad_nd.default")
def constant_pad_nd(x, out, a, padding, value=0):
    """`padding` counts from the last dimension; negative amounts cut off."""
    low, high = [0] * a.rank, [0] * a.rank
    for i in range(len(padding) // 2):
        low[a.rank - 1 - i], high[a.rank - 1 - i] = padding[2 * i:2 * i + 2]
    a = x.graph.slice(a, [max(0, -n) for n in low], [size - max(0, -n) for size, n in zip(a.shape, high)])
    low, high = [max(0, n) for n in low], [max(0, n) for n in high]
    return x.graph.pad(a, value, low, high) if any(low + high) else a


@op("flip.default")
def flip(x, out, a, dimensions):
    return x.graph.reverse(a, sorted(d % a.rank for d in dimensions))


# Reductions.


def all_or(dimensions, rank):
    if dimensions is None or dimensions == [] or rank == 0:
        return list(range(rank))
    dimensions = dimensions if isinstance(dimensions, (list, tuple)) else [dimensions]
    return [d % rank for d in dimensions]


@op("sum.dim_IntList")
def sum_(x, out, a, dimensions=None, keep=False, dtype=None):
    return x.graph.reduce("sum", x.graph.convert(a, out.element), all_or(dimensions, a.rank), keep)


@op("mean.dim", "mean.default")
def mean(x, out, a, dimensions=None, keep=False, dtype=None):
    return x.graph.mean(x.graph.convert(a, out.element), all_or(dimensions, a.rank), keep)


@op("amax.default", "max.default")
def amax(x, out, a, dimensions=None, keep=False):
    return x.graph.reduce("max", a, all_or(dimensions, a.rank), keep)


@op("amin.default", "min.default")
def amin(x, out, a, dimensions=None, keep=False):
    return x.graph.reduce("min", a, all_or(dimensions, a.rank), keep)


@op("var.correction")
def var(x, out, a, dimensions=None, correction=1, keepdim=False):
    g, dimensions = x.graph, all_or(dimensions, a.rank)
    centred = g.binary("sub", a, g.expand(g.mean(a, dimensions, keep=True), a.shape))
    total = g.reduce("sum", g.binary("mul", centred, centred), dimensions, keepdim)
    count = 1
    for d in dimensions:
        count *= a.shape[d]
    return g.scale(total, 1.0 / (count - (1 if correction is None else correction)))


@op("std.correction")
def std(x, out, a, dimensions=None, correction=1, keepdim=False):
    return root(x.graph, var(x, out, a, dimensions, correction, keepdim))


def root(g, a):
    """The square root, whose gradient at 0 is 0."""
    zero = g.splat(0, a.shape, a.element)
    is_zero = g.compare("eq", a, zero)
    return g.select(is_zero, zero, g.unary("sqrt", g.select(is_zero, g.splat(1, a.shape, a.element), a)))


@op("linalg_vector_norm.default")
def vector_norm(x, out, a, order=2, dimensions=None, keepdim=False, dtype=None):
    """The gradient at a vector of zeros is 0."""
    g, a = x.graph, x.graph.convert(a, out.element)
    dimensions = all_or(dimensions, a.rank)
    if order == 2:
        return root(g, g.reduce("sum", g.binary("mul", a, a), dimensions, keepdim))
    size = g.unary("abs", a)
    if order in (math.inf, -math.inf):
        return g.reduce("max" if order > 0 else "min", size, dimensions, keepdim)
    if order == 1:
        return g.reduce("sum", size, dimensions, keepdim)
    zero = g.splat(0, a.shape, a.element)
    is_zero = g.compare("eq", size, zero)
    if order == 0:
        return g.reduce("sum", g.select(is_zero, zero, g.splat(1, a.shape, a.element)), dimensions, keepdim)
    if order < 0:
        x.fail("norms of negative order have no form in pp: write them with pow and sum")
    safe = g.select(is_zero, g.splat(1, a.shape, a.element), size)
    powers = g.select(is_zero, zero, g.binary("pow", safe, g.splat(order, a.shape, a.element)))
    total = g.reduce("sum", powers, dimensions, keepdim)
    none = g.compare("eq", total, g.splat(0, total.shape, total.element))
    whole = g.select(none, g.splat(1, total.shape, total.element), total)
    return g.select(none, g.splat(0, total.shape, total.element),
                    g.binary("pow", whole, g.splat(1 / order, total.shape, total.element)))


@op("any.dim", "any.dims", "any.default")
def any_(x, out, a, dimensions=None, keep=False):
    return x.graph.reduce("or", x.graph.convert(a, "i1"), all_or(dimensions, a.rank), keep)


@op("argmax.default")
def argmax(x, out, a, dimension=None, keep=False):
    if dimension is None:
        a, dimension = x.graph.reshape(a, (math.prod(a.shape),)), 0
    found = x.graph.argmax(a, dimension % a.rank)
    return x.graph.reshape(x.graph.convert(found, out.element), out.shape)


@op("cumsum.default")
def cumsum(x, out, a, dimension, dtype=None):
    return x.graph.cumsum(x.graph.convert(a, out.element), dimension % a.rank)
