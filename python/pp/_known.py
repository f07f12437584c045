# _known.py - prints tensors that are known when the model is exported.
#
# SPDX-License-Identifier: Apache-2.0
#
# Masks and positions arrive as numbers, since PyTorch computed them. Printed as
# counting and comparing, they stay small, and pp can split them along every
# dimension.
"""The shortest text for a known tensor."""

import numpy as np


def print_known(graph, array, element, data):
    """A value of `graph` with the elements of a numpy array (of bf16, as f32);
    `data(index)` yields the bytes of the part at an index."""
    shape = array.shape
    if array.size == 0:
        return graph.splat(0, shape, element)
    varied = [i for i in range(array.ndim) if (array != array.take([0], axis=i)).any()]
    index = tuple(slice(None) if i in varied else 0 for i in range(array.ndim))
    core = _print_core(graph, array[index], element, lambda: data(index))
    return graph.broadcast(core, varied, shape)


def _print_core(graph, core, element, data):
    """`core` varies along each of its dimensions."""
    if core.ndim == 0:
        return graph.splat(core.item(), (), element)
    low, high = core.min(), core.max()
    if ((core == low) | (core == high)).all():  # of two values: a band, maybe
        band = _print_band(graph, core == high)
        if band is not None:
            return band if element == "i1" else graph.select(
                band, graph.splat(high.item(), core.shape, element), graph.splat(low.item(), core.shape, element))
    if core.ndim == 1:
        steps = np.diff(core.astype(np.float64))
        # Counted in i32, then of the type: exact for integers of that size.
        if (steps == steps[0]).all() and (core == np.rint(core)).all() and abs(core).max() < 2**24:
            counted = graph.iota(core.shape, 0, "i32")
            if steps[0] != 1:
                counted = graph.scale(counted, int(steps[0]))
            if core[0] != 0:
                counted = graph.shift(counted, int(core[0]))
            return graph.convert(counted, element)
    if element == "i1":
        literal = str(core.tolist()).replace("T", "t").replace("F", "f")
    else:
        literal = '"0x' + data().hex().upper() + '"'
    # Layers have equal tables, as of rotary positions: one is enough.
    key = core.shape, element, literal
    if key not in graph.tables:
        graph.tables[key] = graph.constant(literal, core.shape, element)
    return graph.tables[key]


def _print_band(graph, bits):
    """True where i - below <= j <= i + above, for the last two dimensions i and
    j, or where first <= j <= last; None if the bits are none of the two."""
    if bits.ndim > 2:
        return None
    rows = np.atleast_2d(bits)
    size = rows.shape[1]
    if bits.ndim == 1:
        places = np.flatnonzero(bits)
        first, last = places[0], places[-1]
        if last - first + 1 != places.size:
            return None
        column = graph.iota(bits.shape, 0, "i32")
        bounds = []
        if first > 0:
            bounds.append(graph.compare("ge", column, graph.splat(first, bits.shape, "i32")))
        if last < size - 1:
            bounds.append(graph.compare("le", column, graph.splat(last, bits.shape, "i32")))
    else:
        i, j = np.nonzero(bits)
        below, above = (i - j).max(), (j - i).max()
        offsets = np.arange(size)[None, :] - np.arange(rows.shape[0])[:, None]
        if ((offsets >= -below) & (offsets <= above) != bits).any():
            return None
        row, column = graph.iota(bits.shape, 0, "i32"), graph.iota(bits.shape, 1, "i32")
        bounds = []
        if above < size - 1:
            bounds.append(graph.compare("le", column, graph.shift(row, above) if above else row))
        if below < rows.shape[0] - 1:
            bounds.append(graph.compare("ge", column, graph.shift(row, -below) if below else row))
    return bounds[0] if len(bounds) == 1 else graph.binary("and", *bounds)
