# _aten.py - what the ops of ATen are in pp: elements, shapes, indexing.
#
# SPDX-License-Identifier: Apache-2.0
#
# A function per op: (exporter, type of the result, arguments of the op). Tensors
# arrive as values of _text.py. Elementwise ops convert and repeat their operands
# to the result's type first, as PyTorch does.
"""The table from ATen ops to functions that print them."""

import math

from ._text import FLOATS, Value

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
                   "cos": "cos", "sign": "sign", "detach": "stop_gradient", "bitwise_not": "not"}.items():
    OPS[f"{_name}.default"] = lambda x, out, a, _op=_op: x.graph.unary(_op, operand(x, out, a))

for _name, _op in {"mul": "mul", "maximum": "max", "minimum": "min",
                   "bitwise_and": "and", "bitwise_or": "or"}.items():
    for _overload in "Tensor", "Scalar", "default":
        OPS[f"{_name}.{_overload}"] = lambda x, out, a, b, _op=_op: x.graph.binary(
            _op, operand(x, out, a), operand(x, out, b))

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
    element = common_element(a, b)
    return x.graph.compare(direction, operand(x, out, a, element), operand(x, out, b, element))


def common_element(a, b):
    """The element type in which PyTorch compares."""
    order = ("i1", "i8", "i32", "i64", "bf16", "f16", "f32", "f64")
    if isinstance(a, Value) and isinstance(b, Value):
        return max(a.element, b.element, key=order.index)
    tensor, number = (a, b) if isinstance(a, Value) else (b, a)
    if isinstance(number, float) and tensor.element not in FLOATS:
        return "f32"
    return "i64" if tensor.element == "i1" and not isinstance(number, bool) else tensor.element


@op("add.Tensor", "add.Scalar")
def add(x, out, a, b, alpha=1):
    return x.graph.binary("add", operand(x, out, a), scaled(x, operand(x, out, b), alpha))


@op("sub.Tensor", "sub.Scalar")
def sub(x, out, a, b, alpha=1):
    return x.graph.binary("sub", operand(x, out, a), scaled(x, operand(x, out, b), alpha))


@op("rsub.Scalar", "rsub.Tensor")
def rsub(x, out, a, b, alpha=1):
    return x.graph.binary("sub", operand(x, out, b), scaled(x, operand(x, out, a), alpha))


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
    return g.binary("pow", a, operand(x, out, exponent))


@op("pow.Tensor_Tensor", "pow.Scalar")
def power_of_tensors(x, out, a, b):
    return x.graph.binary("pow", operand(x, out, a), operand(x, out, b))


@op("relu.default")
def relu(x, out, a):
    """By select, since the gradient of PyTorch at 0 is 0."""
    zero = operand(x, out, 0)
    return x.graph.select(x.graph.compare("gt", a, zero), a, zero)


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


@op("clamp.default", "hardtanh.default")
def clamp(x, out, a, low=None, high=None):
    """By select: at a bound the whole gradient passes, as in PyTorch."""
    g, a = x.graph, operand(x, out, a)
    for direction, bound in ("ge", low), ("le", high):
        if bound is not None:
            limit = operand(x, out, bound)
            a = g.select(g.compare(direction, a, limit), a, limit)
    return a


@op("clamp_min.default")
def clamp_min(x, out, a, low):
    return clamp(x, out, a, low=low)


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


@op("where.self", "where.ScalarOther", "where.ScalarSelf", "where.Scalar")
def where(x, out, mask, a, b):
    return x.graph.select(operand(x, out, mask, "i1"), operand(x, out, a), operand(x, out, b))


@op("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(x, out, a, mask, value):
    return where(x, out, mask, value, a)


@op("_to_copy.default", "clone.default", "alias.default", "lift_fresh_copy.default", "contiguous.default",
    "to.dtype", "to.dtype_layout", "convert_element_type.default")
def copy(x, out, a, *_, **__):
    return x.graph.convert(a, out.element)


@op("full_like.default", "ones_like.default", "zeros_like.default", "new_full.default", "new_zeros.default",
    "new_ones.default", "empty_like.default")
def full_like(x, out, a, *args, **_):
    """Its operand gives only the shape; the value is the last number."""
    name = x.node.target.__name__
    value = 1 if "ones" in name else args[-1] if "full" in name else 0
    return operand(x, out, value)


# Shape.


@op("view.default", "_unsafe_view.default", "reshape.default", "unsqueeze.default", "squeeze.dims", "squeeze.dim",
    "squeeze.default", "flatten.using_ints", "unflatten.int")
def reshape(x, out, a, *_):
    return x.graph.reshape(a, out.shape)


@op("expand.default")
def expand(x, out, a, *_, **__):
    return x.graph.expand(a, out.shape)


@op("permute.default")
def permute(x, out, a, dimensions):
    return x.graph.transpose(a, [d % a.rank for d in dimensions])


@op("transpose.int")
def transpose(x, out, a, first, second):
    order = list(range(a.rank))
    order[first], order[second] = order[second], order[first]
    return x.graph.transpose(a, order)


@op("t.default")
def t(x, out, a):
    return x.graph.transpose(a, range(a.rank)[::-1])


@op("slice.Tensor")
def slice_(x, out, a, dimension=0, start=None, end=None, step=1):
    begin, limit, stride = slice(start, end, step).indices(a.shape[dimension])
    return x.graph.slice_along(a, dimension % a.rank, begin, max(begin, limit), stride)


@op("select.int")
def select(x, out, a, dimension, index):
    index %= a.shape[dimension]
    return x.graph.reshape(x.graph.slice_along(a, dimension % a.rank, index, index + 1), out.shape)


@op("narrow.default")
def narrow(x, out, a, dimension, start, length):
    return x.graph.slice_along(a, dimension % a.rank, start, start + length)


@op("split_with_sizes.default")
def split_with_sizes(x, out, a, sizes, dimension=0):
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    return [x.graph.slice_along(a, dimension % a.rank, start, start + size) for start, size in zip(starts, sizes)]


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


@op("roll.default")
def roll(x, out, a, shifts, dimensions=()):
    for shift, d in zip(shifts, dimensions):
        d %= a.rank
        cut = -shift % a.shape[d]
        if cut:
            a = x.graph.concatenate([x.graph.slice_along(a, d, cut, a.shape[d]),
                                     x.graph.slice_along(a, d, 0, cut)], d)
    return a


# Reductions.


def all_or(dimensions, rank):
    if dimensions is None or dimensions == []:
        return list(range(rank))
    dimensions = dimensions if isinstance(dimensions, (list, tuple)) else [dimensions]
    return [d % rank for d in dimensions]


@op("sum.dim_IntList", "sum.default")
def sum_(x, out, a, dimensions=None, keep=False, dtype=None):
    return x.graph.reduce("sum", x.graph.convert(a, out.element), all_or(dimensions, a.rank), keep)


@op("mean.dim", "mean.default")
def mean(x, out, a, dimensions=None, keep=False, dtype=None):
    return x.graph.mean(x.graph.convert(a, out.element), all_or(dimensions, a.rank), keep)


@op("amax.default")
def amax(x, out, a, dimensions=None, keep=False):
    return x.graph.reduce("max", a, all_or(dimensions, a.rank), keep)


@op("amin.default")
def amin(x, out, a, dimensions=None, keep=False):
    return x.graph.reduce("min", a, all_or(dimensions, a.rank), keep)


@op("var.correction", "var.dim")
def var(x, out, a, dimensions=None, correction=1, keepdim=False):
    g, dimensions = x.graph, all_or(dimensions, a.rank)
    centred = g.binary("sub", a, g.expand(g.mean(a, dimensions, keep=True), a.shape))
    total = g.reduce("sum", g.binary("mul", centred, centred), dimensions, keepdim)
    count = 1
    for d in dimensions:
        count *= a.shape[d]
    return g.scale(total, 1.0 / (count - (1 if correction is None else correction)))


@op("any.dim", "any.dims", "any.default")
def any_(x, out, a, dimensions=None, keep=False):
    return x.graph.reduce("or", x.graph.convert(a, "i1"), all_or(dimensions, a.rank), keep)


@op("argmax.default")
def argmax(x, out, a, dimension=None, keep=False):
    if dimension is None:
        a, dimension = x.graph.reshape(a, (-1,)), 0
    found = x.graph.argmax(a, dimension % a.rank)
    return x.graph.reshape(x.graph.convert(found, out.element), out.shape)


@op("topk.default")
def topk(x, out, a, count, dimension=-1, largest=True, sorted=True):
    """Indices by top_k, values by a gather, which has the gradient."""
    dimension %= a.rank
    if not largest:
        x.fail("topk of the smallest has no op in pp: negate its operand")
    indices = x.graph.top_k(a, dimension, count)
    return [gather(x, out[0], a, dimension, indices), x.graph.convert(indices, out[1].element)]


@op("cumsum.default")
def cumsum(x, out, a, dimension, dtype=None):
    return x.graph.cumsum(x.graph.convert(a, out.element), dimension % a.rank)


# Indexing.


@op("embedding.default")
def embedding(x, out, table, indices, padding=-1, *_):
    """The row of the padding has no gradient."""
    g = x.graph
    x.bound(indices, table.shape[0])
    rows = g.gather(table, indices, 0)
    if padding < 0:
        return rows
    is_padding = g.compare("eq", indices, g.splat(padding, indices.shape, indices.element))
    wide = g.broadcast(is_padding, range(indices.rank), rows.shape)
    return g.select(wide, g.unary("stop_gradient", rows), rows)


@op("index_select.default")
def index_select(x, out, a, dimension, indices):
    return take(x, a, dimension % a.rank, indices)


def take(x, a, dimension, indices):
    """The elements at `indices`, of any shape, along one dimension."""
    g = x.graph
    x.bound(indices, a.shape[dimension])
    front = [dimension] + [d for d in range(a.rank) if d != dimension]
    taken = g.gather(g.transpose(a, front), indices, 0)
    k = indices.rank
    order = list(range(k, k + dimension)) + list(range(k)) + list(range(k + dimension, taken.rank))
    return g.transpose(taken, order)


@op("gather.default")
def gather(x, out, a, dimension, indices, sparse_grad=False):
    """The dimension goes last, so that all others are batch dimensions."""
    g, dimension = x.graph, dimension % a.rank
    x.bound(indices, a.shape[dimension])
    limits = list(indices.shape)
    limits[dimension] = a.shape[dimension]
    a = g.slice(a, [0] * a.rank, limits)
    last = [d for d in range(a.rank) if d != dimension] + [dimension]
    back = [last.index(d) for d in range(a.rank)]
    return g.transpose(g.gather(g.transpose(a, last), g.transpose(indices, last), a.rank - 1), back)


@op("index.Tensor")
def index(x, out, a, indices):
    """Indices that count along a dimension of the result make a batch dimension;
    the others become one index into the product of their dimensions."""
    g = x.graph
    places = [d for d, i in enumerate(indices) if i is not None]
    if any(indices[d].element == "i1" for d in places):
        x.fail("indexing by a mask makes a shape that depends on data: use torch.where")
    if places != list(range(places[0], places[-1] + 1)):
        x.fail("indices of dimensions that are not neighbours have no form in pp: transpose first")
    first, last = places[0], places[-1]
    shape = out.shape[first:len(out.shape) - (a.rank - 1 - last)]
    batch = {}  # dimension of a -> dimension of the indices along which it counts
    for d in places:
        along = counted(indices[d], a.shape[d], shape)
        if along is not None and along not in batch.values() and \
                all(varies_not(indices[other], along, shape) for other in places if other != d):
            batch[d] = along
    rest = [d for d in places if d not in batch]
    others = [d for d in range(a.rank) if d not in places]
    table = g.transpose(a, [*batch, *rest, *others])
    outer = list(batch.values())
    inner = [d for d in range(len(shape)) if d not in outer]
    sizes, back = [shape[d] for d in outer], [(outer + inner).index(d) for d in range(len(shape))]
    tail = [a.shape[d] for d in others]
    if rest:
        table = g.reshape(table, [*sizes, math.prod(a.shape[d] for d in rest), *tail])
        flat = flat_index(x, [indices[d] for d in rest], [a.shape[d] for d in rest], shape)
        taken = g.gather(table, g.transpose(flat, outer + inner), len(batch))
    else:
        wide = [*sizes, *(shape[d] for d in inner), *tail]
        kept = [*range(len(outer)), *range(len(shape), len(wide))]
        taken = g.broadcast(table, kept, wide)
    taken = g.transpose(taken, back + list(range(len(shape), taken.rank)))
    # Dimensions of a before the indexed ones come before those of the indices.
    k = len(shape)
    return g.transpose(taken, [*range(k, k + first), *range(k), *range(k + first, taken.rank)])


def counted(i, size, shape):
    """The dimension of the result along which a known index is 0, 1, ..., size - 1."""
    known = i.facts.get("known")
    if known is None or known.numel() != size or [n for n in known.shape if n != 1] != [size]:
        return None
    along = len(shape) - known.dim() + max(d for d, n in enumerate(known.shape) if n == size)
    return along if known.flatten().tolist() == list(range(size)) else None


def varies_not(i, along, shape):
    """Whether an index, repeated to `shape`, is the same along a dimension."""
    d = along - (len(shape) - i.rank)
    return d < 0 or i.shape[d] == 1


def flat_index(x, indices, sizes, shape):
    """One index into the product of dimensions; what is negative counts from the
    end."""
    g, flat = x.graph, None
    for i, size in zip(indices, sizes):
        i = g.expand(g.convert(i, "i64"), shape)
        if not x.bound(i, size):
            i = g.select(g.compare("lt", i, g.splat(0, shape, "i64")), g.shift(i, size), i)
        flat = i if flat is None else g.binary("add", g.scale(flat, size), i)
    return flat


@op("copy.default")
def copied(x, out, a, source, *_):
    return operand(x, out, source)


@op("slice_scatter.default")
def slice_scatter(x, out, a, source, dimension=0, start=None, end=None, step=1):
    """What lies before, the source, what lies behind."""
    g, dimension = x.graph, dimension % a.rank
    begin, limit, stride = slice(start, end, step).indices(a.shape[dimension])
    if stride != 1:
        x.fail("assignment to a slice with a stride has no form in pp: use torch.where")
    parts = [g.slice_along(a, dimension, 0, begin), g.convert(source, out.element),
             g.slice_along(a, dimension, max(begin, limit), a.shape[dimension])]
    return g.concatenate([part for part in parts if part.shape[dimension]], dimension)


@op("select_scatter.default")
def select_scatter(x, out, a, source, dimension, index):
    dimension, index = dimension % a.rank, index % a.shape[dimension]
    row = x.graph.reshape(source, a.shape[:dimension] + (1,) + a.shape[dimension + 1:])
    return slice_scatter(x, out, a, row, dimension, index, index + 1)
