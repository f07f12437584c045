# _text.py - builds the text of a module of level 1.
#
# SPDX-License-Identifier: Apache-2.0
#
# A method of Graph for each op of pp, which derives the result's type and
# leaves out what changes nothing. Lines that nothing reads are not printed.
"""A builder of pp's graph ops that prints them."""

import json
import linecache
import math
from dataclasses import dataclass, field

from ._elements import FLOATS


# What arithmetic with truth values is.
TRUTHS = {"add": "or", "mul": "and", "max": "or", "min": "and"}


@dataclass(eq=False)
class Value:
    """A tensor, and the op that makes it ("argument" for arguments)."""
    name: str
    shape: tuple
    element: str
    op: str
    operands: tuple = ()
    facts: dict = field(default_factory=dict)  # attributes that others look at

    @property
    def rank(self):
        return len(self.shape)

    @property
    def type(self):
        return tensor_type(self.shape, self.element)


def tensor_type(shape, element):
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


def quote(text):
    """A string as MLIR writes it."""
    return json.dumps(text, ensure_ascii=False)


def number(value, element):
    """A literal of an element type; floats have all digits of a double."""
    if element == "i1":
        return "true" if value else "false"
    if element not in FLOATS:
        return str(int(value))
    value = float(value)
    if math.isnan(value) or math.isinf(value):
        sign, rest = math.copysign(1, value) < 0, math.isnan(value)
        exponent, mantissa = {"f64": (11, 52), "f32": (8, 23), "f16": (5, 10), "bf16": (8, 7)}[element]
        bits = (sign << (exponent + mantissa)) | ((1 << exponent) - 1) << mantissa
        return f"0x{bits | (rest << (mantissa - 1)):0{(1 + exponent + mantissa) // 4}X}"
    digits, e, power = repr(value).partition("e")
    return digits + ("" if "." in digits else ".0") + e + power


class Graph:
    """The function @main while it grows."""

    def __init__(self):
        self.arguments = []  # (value, attributes)
        self.lines = []  # (value, text, location)
        self.results = []  # (value, attributes)
        self.roots = []  # values that are printed though nothing reads them
        self.tables = {}  # constants of many numbers, which are printed once
        self.location = None  # (path in the model, file or None, line)

    # What a module consists of.

    def argument(self, shape, element, attributes):
        value = Value(f"%arg{len(self.arguments)}", tuple(shape), element, "argument")
        self.arguments.append((value, attributes))
        return value

    def result(self, value, attributes):
        self.results.append((value, attributes))

    def emit(self, op, operands, shape, element, text, **facts):
        """A line "%n = pp.op text"; `facts` are attributes of use to others."""
        value = Value(f"%{len(self.lines)}", tuple(shape), element, op, tuple(operands), facts)
        self.lines.append((value, f"pp.{op} {text}", self.location))
        return value

    # Elementwise ops.

    def unary(self, op, x):
        return self.emit(op, (x,), x.shape, x.element, f"{x.name} : {x.type}")

    def binary(self, op, x, y):
        assert x.type == y.type, f"{op} of {x.type} and {y.type}"
        op = TRUTHS.get(op, op) if x.element == "i1" else op
        return self.emit(op, (x, y), x.shape, x.element, f"{x.name}, {y.name} : {x.type}")

    def compare(self, direction, x, y):
        assert x.type == y.type, f"compare of {x.type} and {y.type}"
        return self.emit("compare", (x, y), x.shape, "i1",
                         f"{direction} {x.name}, {y.name} : {x.type} -> {tensor_type(x.shape, 'i1')}")

    def select(self, predicate, x, y):
        return self.emit("select", (predicate, x, y), x.shape, x.element,
                         f"{predicate.name}, {x.name}, {y.name} : {predicate.type}, {x.type}")

    def convert(self, x, element):
        if x.element == element:
            return x
        if element == "i1":
            return self.compare("ne", x, self.splat(0, x.shape, x.element))
        return self.emit("convert", (x,), x.shape, element,
                         f"{x.name} : {x.type} -> {tensor_type(x.shape, element)}")

    def if_training(self, training, evaluation):
        return self.emit("if_training", (training, evaluation), training.shape, training.element,
                         f"{training.name} else {evaluation.name} : {training.type}")

    def scale(self, x, factor):
        return self.binary("mul", x, self.splat(factor, x.shape, x.element))

    def shift(self, x, term):
        return self.binary("add", x, self.splat(term, x.shape, x.element))

    # Sources.

    def constant(self, literal, shape, element):
        return self.emit("constant", (), shape, element, f"dense<{literal}> : {tensor_type(shape, element)}")

    def splat(self, value, shape, element):
        return self.broadcast(self.constant(number(value, element), (), element), (), shape)

    def iota(self, shape, dimension, element):
        return self.emit("iota", (), shape, element, f"dim {dimension} : {tensor_type(shape, element)}")

    def random_bits(self, seed, step, stream, shape):
        return self.emit("random_bits", (seed, step), shape, "i32",
                         f"{seed.name}, {step.name} stream {stream} : {seed.type}, {step.type} "
                         f"-> {tensor_type(shape, 'i32')}")

    # Shape.

    def broadcast(self, x, dimensions, shape):
        """Dimension i of x becomes dimension dimensions[i]."""
        if x.shape == tuple(shape):
            return x
        return self.emit("broadcast", (x,), shape, x.element,
                         f"{x.name} dims {list(dimensions)} : {x.type} -> {tensor_type(shape, x.element)}",
                         dimensions=list(dimensions))

    def expand(self, x, shape):
        """Repeats sizes of 1, and in front, as PyTorch does; what was repeated
        before, at once."""
        shape = tuple(shape)
        if x.shape == shape:
            return x
        offset = len(shape) - x.rank
        if x.op == "broadcast":
            places = [offset + d for d in x.facts["dimensions"]]
            if x.operands[0].shape == tuple(shape[place] for place in places):
                return self.broadcast(x.operands[0], places, shape)
        kept = [i for i in range(x.rank) if x.shape[i] == shape[offset + i]]
        squeezed = self.reshape(x, [x.shape[i] for i in kept])
        return self.broadcast(squeezed, [offset + i for i in kept], shape)

    def reshape(self, x, shape):
        """Back to a shape that the tensor had before, that tensor."""
        shape, before = tuple(shape), x
        while before.op == "reshape" and before.shape != shape:
            before = before.operands[0]
        if before.shape == shape:
            return before
        return self.emit("reshape", (x,), shape, x.element,
                         f"{x.name} : {x.type} -> {tensor_type(shape, x.element)}")

    def transpose(self, x, permutation):
        """Of a transpose, the tensor before it."""
        permutation = list(permutation)
        if x.op == "transpose":
            permutation = [x.facts["permutation"][i] for i in permutation]
            x = x.operands[0]
        if permutation == list(range(x.rank)):
            return x
        shape = tuple(x.shape[i] for i in permutation)
        return self.emit("transpose", (x,), shape, x.element,
                         f"{x.name} perm {permutation} : {x.type} -> {tensor_type(shape, x.element)}",
                         permutation=permutation)

    def slice(self, x, starts, limits, strides=None):
        strides = strides or [1] * x.rank
        shape = tuple(max(0, -(-(b - a) // s)) for a, b, s in zip(starts, limits, strides))
        if shape == x.shape:
            return x
        return self.emit("slice", (x,), shape, x.element,
                         f"{x.name} {list(starts)}, {list(limits)}, {list(strides)} : {x.type} "
                         f"-> {tensor_type(shape, x.element)}")

    def slice_along(self, x, dimension, start, limit, stride=1):
        starts, limits, strides = [0] * x.rank, list(x.shape), [1] * x.rank
        starts[dimension], limits[dimension], strides[dimension] = start, limit, stride
        return self.slice(x, starts, limits, strides)

    def pad(self, x, value, low, high):
        scalar = self.splat(value, (), x.element)
        shape = tuple(n + a + b for n, a, b in zip(x.shape, low, high))
        return self.emit("pad", (x, scalar), shape, x.element,
                         f"{x.name}, {scalar.name} low {list(low)} high {list(high)} interior {[0] * x.rank} "
                         f": {x.type}, {scalar.type} -> {tensor_type(shape, x.element)}")

    def reverse(self, x, dimensions):
        return self.emit("reverse", (x,), x.shape, x.element, f"{x.name} dims {list(dimensions)} : {x.type}")

    def concatenate(self, xs, dimension):
        if len(xs) == 1:
            return xs[0]
        shape = list(xs[0].shape)
        shape[dimension] = sum(x.shape[dimension] for x in xs)
        return self.emit("concatenate", xs, shape, xs[0].element,
                         f"{', '.join(x.name for x in xs)} dim {dimension} : "
                         f"{', '.join(x.type for x in xs)} -> {tensor_type(shape, xs[0].element)}")

    # Reductions, contractions, indexing.

    def reduce(self, reduction, x, dimensions, keep=False):
        dimensions = sorted(dimensions)
        reduction = TRUTHS.get(reduction, reduction) if x.element == "i1" else reduction
        shape = tuple(n for i, n in enumerate(x.shape) if i not in dimensions)
        y = x if not dimensions else self.emit(
            "reduce", (x,), shape, x.element,
            f"{reduction} {x.name} dims {dimensions} : {x.type} -> {tensor_type(shape, x.element)}")
        if keep:
            return self.reshape(y, [1 if i in dimensions else n for i, n in enumerate(x.shape)])
        return y

    def mean(self, x, dimensions, keep=False):
        count = math.prod(x.shape[i] for i in dimensions)
        return self.scale(self.reduce("sum", x, dimensions, keep), 1.0 / count)

    def argmax(self, x, dimension):
        shape = x.shape[:dimension] + x.shape[dimension + 1:]
        return self.emit("argmax", (x,), shape, "i32",
                         f"{x.name} dim {dimension} : {x.type} -> {tensor_type(shape, 'i32')}")

    def top_k(self, x, dimension, count):
        shape = x.shape[:dimension] + (count,) + x.shape[dimension + 1:]
        return self.emit("top_k", (x,), shape, "i32",
                         f"{x.name} dim {dimension} : {x.type} -> {tensor_type(shape, 'i32')}")

    def cumsum(self, x, dimension):
        return self.emit("cumsum", (x,), x.shape, x.element, f"{x.name} dim {dimension} : {x.type}")

    def dot(self, x, y, batch, contract):
        """`batch` and `contract` are pairs of lists, of x and of y."""
        shape = [x.shape[i] for i in batch[0]]
        for side, v in enumerate((x, y)):
            shape += [n for i, n in enumerate(v.shape) if i not in batch[side] and i not in contract[side]]
        return self.emit("dot_general", (x, y), shape, x.element,
                         f"{x.name}, {y.name} batch {list(batch[0])} x {list(batch[1])} "
                         f"contract {list(contract[0])} x {list(contract[1])} : {x.type}, {y.type} "
                         f"-> {tensor_type(shape, x.element)}", contract=contract)

    def gather(self, table, indices, batch):
        shape = indices.shape + table.shape[batch + 1:]
        return self.emit("gather", (table, indices), shape, table.element,
                         f"{table.name}[{indices.name}] batch {batch} : {table.type}, {indices.type} "
                         f"-> {tensor_type(shape, table.element)}")

    def scatter_add(self, table, indices, updates, batch):
        return self.emit("scatter_add", (table, indices, updates), table.shape, table.element,
                         f"{table.name}[{indices.name}], {updates.name} batch {batch} : {table.type}, "
                         f"{indices.type}, {updates.type}")

    # Windows.

    def convolution(self, x, kernel, shape, strides, low, high, x_dilation, dilation, grouped=False, reverse=False):
        """x is [batch, ..., in], the kernel [..., in, out]; `grouped`, [batch, ..., group,
        in] and [..., group, in, out], and the result begins with the group."""
        window, last = len(strides), x.rank - 1
        batch = ([last - 1], [window]) if grouped else ([], [])
        sums = [last], [kernel.rank - 2]
        places = list(range(1 + len(batch[0]), 1 + len(batch[0]) + window))
        return self.emit(
            "convolution", (x, kernel), shape, x.element,
            f"{x.name}, {kernel.name} batch {batch[0]} x {batch[1]} contract {sums[0]} x {sums[1]} "
            f"window {list(range(1, 1 + window))} x {list(range(window))} -> {places} "
            f"strides {list(strides)} low {list(low)} high {list(high)} "
            f"dilation {list(x_dilation)} x {list(dilation)} {'reverse ' if reverse else ''}"
            f": {x.type}, {kernel.type} -> {tensor_type(shape, x.element)}")

    def reduce_window(self, reduction, x, shape, dimensions, sizes, strides, dilation, low, high):
        return self.emit("reduce_window", (x,), shape, x.element,
                         f"{reduction} {x.name} dims {list(dimensions)} sizes {list(sizes)} "
                         f"strides {list(strides)} dilation {list(dilation)} low {list(low)} high {list(high)} "
                         f": {x.type} -> {tensor_type(shape, x.element)}")

    def name(self, x, name, dims):
        return self.emit("name", (x,), x.shape, x.element,
                         f"{x.name} {quote(name)} dims [{', '.join(map(quote, dims))}] : {x.type}")

    # The text.

    def used(self):
        """The values that results depend on."""
        todo = [value for value, _ in self.results] + self.roots
        seen = set()
        while todo:
            value = todo.pop()
            if value not in seen:
                seen.add(value)
                todo += value.operands
        return seen

    def print(self, head):
        """The module; `head` is a comment. Arguments that nothing reads are left
        out."""
        used = self.used()
        locations = {}

        def locate(location):
            if location is None:
                return ""
            index = locations.setdefault(location, len(locations))
            return f" loc(#loc{index})"

        arguments = ",\n      ".join(
            f"{value.name}: {value.type} {{{', '.join(f'{key} = {text}' for key, text in attributes.items())}}}"
            for value, attributes in self.arguments if value in used)
        results = ",\n          ".join(f"{value.type} {attributes}" for value, attributes in self.results)
        out = [f"// {head}", "module {", f"  func.func @main(\n      {arguments})\n      -> ({results}) {{"]
        for value, text, location in self.lines:
            if value in used:
                out.append(f"    {value.name} = {text}{locate(location)}")
        out.append(f"    return {', '.join(value.name for value, _ in self.results)} : "
                   f"{', '.join(value.type for value, _ in self.results)}")
        out += ["  }", "}"]
        for (path, file, line), index in locations.items():
            child = f"({quote(file)}:{line}:{_first_column(file, line)})" if file else ""
            out.append(f"#loc{index} = loc({quote(path)}{child})")
        return "\n".join(out) + "\n"


def _first_column(file, line):
    """Where the statement of a line begins."""
    text = linecache.getline(file, line)
    return len(text) - len(text.lstrip()) + 1
