# _layout.py - images with channels last.
#
# SPDX-License-Identifier: Apache-2.0
#
# PyTorch's images are [batch, channels, height, width]. Kernels of convolutions
# and what follows them read a pixel's channels together, which is faster where
# these are neighbours. So convolutions compute [batch, height, width, channels],
# and the transpose that makes PyTorch's shape of a result moves behind the ops
# that read it, up to the next convolution, whose own transpose undoes it.
"""A graph that moves transposes of images behind their readers."""

from ._text import Graph


def inverse(permutation):
    return [permutation.index(i) for i in range(len(permutation))]


class ImageGraph(Graph):
    def channels_last(self, x):
        """[batch, ..., channels] of [batch, channels, ...]."""
        return self.transpose(x, [0, *range(2, x.rank), 1])

    def channels_first(self, x):
        """[batch, channels, ...] of [batch, ..., channels], which moves."""
        return self._moved(x, [0, x.rank - 1, *range(1, x.rank - 1)])

    def _moved(self, x, permutation):
        y = self.transpose(x, permutation)
        if y is not x:
            y.facts["moves"] = True
        return y

    @staticmethod
    def _moves(x):
        return x.op == "transpose" and "moves" in x.facts

    def _behind(self, xs):
        """The values without a transpose that they share, and its permutation; values
        that repeat others are repeated in that order. None if they share none."""
        first = next((x for x in xs if self._moves(x)), None)
        if first is None:
            return None
        permutation, inner = first.facts["permutation"], []
        for x in xs:
            if self._moves(x) and x.facts["permutation"] == permutation:
                inner.append(x.operands[0])
            elif x.op == "broadcast" and x.shape == first.shape:
                places = [permutation[d] for d in x.facts["dimensions"]]
                order = sorted(range(len(places)), key=places.__getitem__)
                inner.append(super().broadcast(self.transpose(x.operands[0], order), sorted(places),
                                               first.operands[0].shape))
            else:
                return None
        return inner, permutation

    def _elementwise(self, function, *xs):
        behind = self._behind(xs)
        return function(*xs) if behind is None else self._moved(function(*behind[0]), behind[1])

    def unary(self, op, x):
        return self._elementwise(lambda x: Graph.unary(self, op, x), x)

    def binary(self, op, x, y):
        return self._elementwise(lambda x, y: Graph.binary(self, op, x, y), x, y)

    def compare(self, direction, x, y):
        return self._elementwise(lambda x, y: Graph.compare(self, direction, x, y), x, y)

    def select(self, predicate, x, y):
        return self._elementwise(lambda p, x, y: Graph.select(self, p, x, y), predicate, x, y)

    def convert(self, x, element):
        return self._elementwise(lambda x: Graph.convert(self, x, element), x)

    def if_training(self, training, evaluation):
        return self._elementwise(lambda t, e: Graph.if_training(self, t, e), training, evaluation)

    def reduce(self, reduction, x, dimensions, keep=False):
        if keep or not self._moves(x):
            return super().reduce(reduction, x, dimensions, keep)
        permutation = x.facts["permutation"]
        y = super().reduce(reduction, x.operands[0], [permutation[d] for d in dimensions])
        left = [permutation[d] for d in range(x.rank) if d not in dimensions]
        return self._moved(y, [sorted(left).index(place) for place in left])

    def reduce_window(self, reduction, x, shape, dimensions, *numbers):
        if not self._moves(x):
            return super().reduce_window(reduction, x, shape, dimensions, *numbers)
        permutation = x.facts["permutation"]
        y = super().reduce_window(reduction, x.operands[0], [shape[i] for i in inverse(permutation)],
                                  [permutation[d] for d in dimensions], *numbers)
        return self._moved(y, permutation)

    def slice(self, x, starts, limits, strides=None):
        if not self._moves(x):
            return super().slice(x, starts, limits, strides)
        order = inverse(x.facts["permutation"])
        y = super().slice(x.operands[0], *([n[i] for i in order] for n in (starts, limits, strides or [1] * x.rank)))
        return self._moved(y, x.facts["permutation"])

    def pad(self, x, value, low, high):
        if not self._moves(x):
            return super().pad(x, value, low, high)
        order = inverse(x.facts["permutation"])
        return self._moved(super().pad(x.operands[0], value, [low[i] for i in order], [high[i] for i in order]),
                           x.facts["permutation"])

    def concatenate(self, xs, dimension):
        behind = self._behind(xs) if all(self._moves(x) for x in xs) else None
        if behind is None:
            return super().concatenate(xs, dimension)
        inner, permutation = behind
        return self._moved(super().concatenate(inner, permutation[dimension]), permutation)

    def broadcast(self, x, dimensions, shape):
        """New dimensions stay behind the one that they follow."""
        if not self._moves(x) or x.shape == tuple(shape):
            return super().broadcast(x, dimensions, shape)
        last = [max([d for d in dimensions if d <= place], default=None) for place in range(len(shape))]
        permutation = x.facts["permutation"]
        order = [place for place in range(len(shape)) if last[place] is None]
        for i in inverse(permutation):
            order += [place for place in range(len(shape)) if last[place] == dimensions[i]]
        y = super().broadcast(x.operands[0], [order.index(dimensions[i]) for i in inverse(permutation)],
                              [shape[place] for place in order])
        return self._moved(y, inverse(order))

    def reshape(self, x, shape):
        """Splits and merges of neighbours."""
        parts = split_and_merged(x.shape, shape) if self._moves(x) else None
        if parts is None:
            return super().reshape(x, shape)
        permutation = x.facts["permutation"]
        places = [[permutation[d] for d in before] for before, _ in parts]
        if any(list(range(p[0], p[0] + len(p))) != p for p in places):
            return super().reshape(x, shape)
        order = [d for _, after in sorted(zip(places, (after for _, after in parts))) for d in after]
        y = super().reshape(x.operands[0], [shape[d] for d in order])
        return self._moved(y, inverse(order))


def split_and_merged(before, after):
    """Pairs of the dimensions that become others; None if sizes of 1 or 0 leave that
    open."""
    if 0 in before or 1 in before or 1 in after:
        return None
    parts, i, j = [], 0, 0
    while i < len(before):
        first, second, left, right = [i], [j], before[i], after[j]
        while left != right:
            if left < right:
                i += 1
                first.append(i)
                left *= before[i]
            else:
                j += 1
                second.append(j)
                right *= after[j]
        parts.append((first, second))
        i, j = i + 1, j + 1
    return parts
