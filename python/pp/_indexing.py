# _indexing.py - what the ops of ATen are in pp: indexing.
#
# SPDX-License-Identifier: Apache-2.0
#
# pp has one gather, of rows behind batch dimensions, and its transpose, an
# addition. So dimensions are moved until they fit.
"""Ops that read and write places, in the table of _aten.py."""

import math

from ._aten import op, operand
from ._elements import FLOATS
from ._layout import inverse


def counting(g, a):
    """A tensor that has an order: pp orders no truth values."""
    return g.convert(a, "i32") if a.element == "i1" else a


@op("topk.default")
def topk(x, out, a, count, dimension=-1, largest=True, sorted=True):
    """Indices by top_k, values by a gather, which has the gradient. The smallest are the
    last of all: NaN is the largest, and the smallest integer has no negative."""
    g, dimension = x.graph, dimension % a.rank
    ordered = counting(g, a)
    if largest:
        indices = g.top_k(ordered, dimension, count)
    else:
        size = a.shape[dimension]
        indices = g.reverse(g.top_k(g.reverse(ordered, [dimension]), dimension, size), [dimension])
        indices = g.shift(g.unary("neg", g.slice_along(indices, dimension, 0, count)), size - 1)
    return [gather(x, out[0], a, dimension, indices), x.graph.convert(indices, out[1].element)]


def run_of(indices):
    """The first index and that behind the last, if they are known and follow one
    another, as positions do; else None."""
    known = indices.facts.get("known")
    if known is None or known.numel() == 0 or known.numel() != known.shape[-1]:
        return None
    first, count = int(known.reshape(-1)[0]), known.numel()
    return (first, first + count) if known.reshape(-1).tolist() == list(range(first, first + count)) else None


@op("embedding.default")
def embedding(x, out, table, indices, padding=-1, scale_grad_by_freq=False, sparse=False):
    """The row of the padding has no gradient."""
    g = x.graph
    if scale_grad_by_freq:
        x.fail("scale_grad_by_freq divides gradients by counts, which has no form in pp: leave it out")
    x.bound(indices, table.shape[0])
    rows = g.gather(table, indices, 0) if run_of(indices) is None else \
        g.reshape(g.slice_along(table, 0, *run_of(indices)), out.shape)
    if indices in x.inputs:
        rows = x.name("embedded", rows, [*x.dims_of(indices), ""])
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
    return g.transpose(g.gather(g.transpose(a, last), g.transpose(indices, last), a.rank - 1), inverse(last))


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
    sizes, back = [shape[d] for d in outer], inverse(outer + inner)
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


@op("sort.default")
def sort(x, out, a, dimension=-1, descending=False):
    return topk(x, out, a, a.shape[dimension], dimension, descending)


@op("max.dim")
def max_along(x, out, a, dimension, keep=False):
    """The gradient goes to the element whose index is returned, as in PyTorch."""
    return extreme(x, out, a, counting(x.graph, a), dimension)


@op("min.dim")
def min_along(x, out, a, dimension, keep=False):
    g = x.graph
    if a.element in FLOATS:
        return extreme(x, out, a, g.unary("neg", a), dimension)
    # The smallest integer has no negative.
    return extreme(x, out, a, g.shift(g.unary("neg", counting(g, a)), -1), dimension)


def extreme(x, out, a, ordered, dimension):
    g, dimension = x.graph, dimension % a.rank
    found = g.argmax(g.unary("stop_gradient", ordered) if a.element in FLOATS else ordered, dimension)
    row = a.shape[:dimension] + (1,) + a.shape[dimension + 1:]
    values = gather(x, out[0], a, dimension, g.reshape(found, row))
    return [g.reshape(values, out[0].shape), g.reshape(g.convert(found, out[1].element), out[1].shape)]


@op("scatter_add.default")
def scatter_add(x, out, a, dimension, indices, source):
    """The dimension goes last, so that all others are batch dimensions."""
    g, dimension = x.graph, dimension % a.rank
    if any(indices.shape[d] != a.shape[d] for d in range(a.rank) if d != dimension):
        x.fail("scatter_add into a larger tensor has no form in pp: slice the tensor first")
    x.bound(indices, a.shape[dimension])
    source = g.slice(source, [0] * a.rank, indices.shape)
    last = [d for d in range(a.rank) if d != dimension] + [dimension]
    return g.transpose(g.scatter_add(*(g.transpose(v, last) for v in (a, indices, source)), a.rank - 1), inverse(last))


@op("scatter.value")
def scatter_value(x, out, a, dimension, indices, value):
    """Places that an index names are counted, and those with a count have the
    value."""
    g = x.graph
    zeros = g.splat(0, a.shape, "i32")
    counts = scatter_add(x, out, zeros, dimension, indices, g.splat(1, indices.shape, "i32"))
    return g.select(g.compare("gt", counts, zeros), operand(x, out, value), a)


@op("index_add.default")
def index_add(x, out, a, dimension, indices, source, alpha=1):
    g, dimension = x.graph, dimension % a.rank
    x.bound(indices, a.shape[dimension])
    front = [dimension] + [d for d in range(a.rank) if d != dimension]
    source = source if alpha == 1 else g.scale(source, alpha)
    sums = g.scatter_add(g.transpose(a, front), indices, g.transpose(source, front), 0)
    return g.transpose(sums, inverse(front))


@op("index_put.default")
def index_put(x, out, a, indices, values, accumulate=False):
    """Addition at indices of the first dimensions; a mask selects."""
    g = x.graph
    if len(indices) == 1 and indices[0] is not None and indices[0].element == "i1" and not accumulate \
            and math.prod(values.shape) == 1:
        mask = g.reshape(indices[0], indices[0].shape + (1,) * (a.rank - indices[0].rank))
        return g.select(g.expand(mask, a.shape), operand(x, out, g.reshape(values, ())), a)
    if not accumulate:
        x.fail("assignment at indices has no op in pp, which adds: use torch.where, or index_put with accumulate")
    if any(i is None for i in indices):
        x.fail("index_put expects indices of the first dimensions: transpose first")
    if any(i.element == "i1" for i in indices):
        x.fail("addition at a mask has no form in pp: use torch.where")
    k = len(indices)
    shape = out.shape[k:]
    places = [max(sizes) for sizes in zip(*[(1,) * (max(j.rank for j in indices) - i.rank) + i.shape
                                            for i in indices])]
    flat = flat_index(x, indices, a.shape[:k], tuple(places))
    rows = g.reshape(a, (math.prod(a.shape[:k]), *shape))
    added = g.scatter_add(rows, flat, g.expand(g.convert(values, a.element), (*places, *shape)), 0)
    return g.reshape(added, a.shape)


@op("histc.default")
def histc(x, out, a, bins=100, low=0, high=0):
    """How many elements lie in each of equal intervals; the last has its end, too.
    None lies outside: a row of their own is cut off."""
    if low == high:
        x.fail("histc between the least and the largest element has no form in pp: pass min and max")
    g, flat = x.graph, x.graph.reshape(a, (math.prod(a.shape),))
    place = g.convert(g.scale(g.shift(flat, -low), bins / (high - low)), "i32")
    last = g.splat(bins - 1, place.shape, "i32")
    inside = g.binary("and", g.compare("ge", flat, g.splat(low, flat.shape, flat.element)),
                      g.compare("le", flat, g.splat(high, flat.shape, flat.element)))
    place = g.select(inside, g.binary("min", place, last), g.splat(bins, place.shape, "i32"))
    counts = g.scatter_add(g.splat(0, (bins + 1,), out.element), place, g.splat(1, flat.shape, out.element), 0)
    return g.slice_along(counts, 0, 0, bins)
