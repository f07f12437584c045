# _walk.py - walks the graph of torch.export.
#
# SPDX-License-Identifier: Apache-2.0
#
# A node becomes a value of _text.py if it depends on an argument, and else the
# tensor that PyTorch computes for it.
"""From the nodes of an FX graph to the lines of a module."""

import math
import operator
import re
from dataclasses import dataclass

import torch

from ._elements import FLOATS, NAMES
from ._gradients import NOT_THE_USERS
from ._known import print_known
from ._layout import ImageGraph
from ._model import ExportError
from ._text import Value, number, quote

ELEMENTS = {getattr(torch, its): name for name, (its, _) in NAMES.items()}
ADVICE = {"_local_scalar_dense.default": "leave out .item(), a number that depends on data stays a tensor"}
SAMPLE = 1 << 16  # elements
# Ops whose results have elements of their operands, or a constant.
MOVES = """view.default slice.Tensor select.int squeeze.dims unsqueeze.default permute.default expand.default
           clone.default alias.default _to_copy.default constant_pad_nd.default cat.default""".split()
# Checks that torch.export made while it traced.
CHECKS = ("_assert_tensor_metadata", "_assert_async", "_assert_scalar", "sym_constrain_range")


@dataclass(frozen=True)
class Type:
    """The type of a node's result."""
    shape: tuple
    element: str


def element_of(tensor):
    """pp's name of a tensor's element type, or None."""
    return ELEMENTS.get(tensor.dtype)


def tensor_bytes(tensor):
    """Its memory, if it is on the host and in order, else a copy."""
    return memoryview(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())


class Walker:
    """What functions of the table know about: the graph, and where they are."""

    def __init__(self, module_name, table):
        self.graph = ImageGraph()
        self.module_name = module_name
        self.table = table
        self.node = None
        self.values = {}  # node -> Value, tensor, or a list of them
        self.names = {}  # value of an argument -> its name
        self.trained = set()  # values that are parameters
        self.inputs = {}  # value -> facts of the batch
        self.examples = {}  # node of an input -> its example
        self.after_labels = set()  # nodes that depend on labels
        self.states = {}  # name -> (old value, new value)
        self.targets = {}  # name in the program -> that in the model
        self.printed = {}  # id of a known tensor -> (tensor, its value)
        self.streams = 0
        self.dropout = None
        self.has_logits = False
        self.called = {}  # name of a value -> how often it was given

    # Arguments and results of @main.

    def declare(self, name, shape, element, attributes):
        if name in self.names.values():
            raise ExportError(f"expects one argument of each name, got two of {quote(name)}: "
                              "rename the input, or the parameter")
        value = self.graph.argument(shape, element, attributes)
        self.names[value] = name
        return value

    def declare_input(self, node, name, tensor, role, dims):
        if element_of(tensor) is None:
            raise ExportError(f"input {quote(name)}: {unknown_type(tensor.dtype)}")
        if dims and len(dims) != tensor.ndim:
            raise ExportError(f"expects a name in dims for each of {tensor.ndim} dimensions of {quote(name)}, "
                              f"got {list(dims)}")
        attributes = {"pp.name": quote(name), "pp.role": f"#pp.role<{role}>"}
        value = self.declare(name, tensor.shape, element_of(tensor), attributes)
        self.inputs[value] = {"attributes": attributes, "dims": dims}
        self.examples[node] = tensor
        self.values[node] = value
        if role == "label":
            self.after_labels.add(node)

    def declare_known(self, node, tensor):
        self.values[node] = tensor.detach()

    def declare_kept(self, node, target, name, tensor, role):
        """A parameter or state; under a second name the same."""
        self.targets[target] = name
        known = next((value for value, other in self.names.items() if other == name), None)
        if known is None:
            if element_of(tensor) is None:
                raise ExportError(f"parameter {quote(name)}: {unknown_type(tensor.dtype)}")
            known = self.declare(name, tensor.shape, element_of(tensor), {
                "pp.name": quote(name), "pp.role": f"#pp.role<{role}>", "pp.init": initial(tensor)})
            if role == "param":
                self.trained.add(known)
            else:
                self.states[name] = known, known
        self.values[node] = known

    def declare_new_state(self, target, value):
        name = self.targets[target]
        self.states[name] = self.states[name][0], value

    def finish(self):
        """Adds the new values of states, and what was found out about inputs."""
        for name, (old, new) in self.states.items():
            if old is not new:
                self.graph.roots.append(old)  # also where a step does not read it
                self.graph.result(new, f"{{pp.name = {quote(name)}, pp.role = #pp.role<state>}}")
        for value, facts in self.inputs.items():
            bound = self.bound_of(value)
            dims = self.dims_of(value) if self.is_sequence(value) else facts["dims"]
            if dims:
                self.name_dims(value, dims)
            if bound:
                facts["attributes"]["pp.bound"] = str(bound)

    # The walk.

    def run(self, graph_module):
        """The values of the graph's results."""
        for node in graph_module.graph.nodes:
            self.node = node
            if any(n in self.after_labels for n in node.all_input_nodes):
                self.after_labels.add(node)
            if node.op == "output":
                results = node.args[0] if isinstance(node.args[0], (list, tuple)) else [node.args[0]]
                return [self.values[n] if isinstance(n, torch.fx.Node) else n for n in results]
            if node.op == "get_attr":
                self.values[node] = operator.attrgetter(node.target)(graph_module)
            elif node.op == "call_function":
                self.values[node] = self.call(node)
        raise AssertionError("a graph without results")

    def call(self, node):
        name = getattr(node.target, "__name__", str(node.target))
        args = torch.fx.node.map_arg(node.args, self.values.__getitem__)
        kwargs = torch.fx.node.map_arg(node.kwargs, self.values.__getitem__)
        if node.target is operator.getitem:
            part = args[0][args[1]]
            if part is None and node.users:
                self.fail(f"result {args[1]} of {node.args[0].target} has no form in pp: do without it")
            return part
        if name.split(".")[0] in CHECKS:
            return None
        leaves = torch.utils._pytree.tree_leaves((args, kwargs))
        is_random = torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())
        if is_random and name not in self.table:
            self.fail(f"{node.target}: pp has random numbers in dropout alone: use torch.nn.Dropout")
        if not any(isinstance(leaf, Value) for leaf in leaves) and not is_random:
            return node.target(*args, **kwargs)
        out = self.type_of(node.meta["val"])
        function = self.table.get(name)
        if function is None:
            self.fail(f"{node.target} has no form in pp: {ADVICE.get(name, 'write it with other ops')}")
        self.graph.location = self.locate()
        kwargs = {key: value for key, value in kwargs.items()
                  if key not in ("layout", "device", "pin_memory", "memory_format", "implicit", "non_blocking")}
        args, kwargs = torch.utils._pytree.tree_map(
            lambda leaf: self.value(leaf) if isinstance(leaf, torch.Tensor) else leaf, (tuple(args), kwargs))
        try:
            result = function(self, out, *args, **kwargs)
        except ExportError:
            raise
        except Exception as error:
            types = ", ".join(leaf.type for leaf in leaves if isinstance(leaf, Value))
            try:
                self.fail(f"{node.target} of {types} has no form in pp with these arguments: write it with other ops")
            except ExportError as refusal:
                raise refusal from error
        self.check(result, out)
        return result

    def check(self, result, out):
        """The printed type is the one that PyTorch found."""
        for value, type_ in zip(*((v if isinstance(v, list) else [v]) for v in (result, out))):
            if value is not None and (value.shape, value.element) != (type_.shape, type_.element):
                self.fail(f"internal error: {self.node.target} should have {type_}, got {value.type}")

    def type_of(self, value):
        if isinstance(value, (list, tuple)):
            return [self.type_of(v) for v in value]
        if not isinstance(value, torch.Tensor):
            return None
        if any(not isinstance(size, int) for size in value.shape):
            self.fail(f"{self.node.target} has a shape that depends on data, {list(value.shape)}: "
                      "use a mask of fixed shape")
        if element_of(value) is None:
            self.fail(f"{self.node.target}: {unknown_type(value.dtype)}")
        return Type(tuple(value.shape), element_of(value))

    # Where we are.

    def locate(self):
        """Path of the module, and the user's line."""
        stack = list((self.node.meta.get("nn_module_stack") or {}).values())
        path = stack[-1][0].removeprefix("model").removeprefix(".") if stack else ""
        if not path:  # the outermost module, or the loss
            path = "loss" if self.node in self.after_labels else self.module_name
        return (path, *self.source())

    def source(self):
        frames = re.findall(r'File "([^"]+)", line (\d+)', self.node.meta.get("stack_trace") or "")
        for file, line in reversed(frames):
            if not file.startswith(NOT_THE_USERS):
                return file, int(line)
        return (None, 0)

    def fail(self, message):
        path, file, line = self.locate()
        raise ExportError(f"{f'{file}:{line}: ' if file else ''}at {path}: {message}")

    # Services for the functions of the table.

    def value(self, value):
        """A known tensor as a value."""
        if isinstance(value, Value):
            return value
        tensor, printed = self.printed.get(id(value), (None, None))
        if tensor is None:
            if element_of(value) is None:
                self.fail(unknown_type(value.dtype))
            array = value.detach().cpu()
            array = array.float() if value.dtype in (torch.bfloat16, torch.float16) else array
            printed = print_known(self.graph, array.numpy(), element_of(value), lambda i: tensor_bytes(value[i]))
            printed.facts["known"] = value
            self.printed[id(value)] = value, printed
        return printed

    def common_element(self):
        """The type in which PyTorch computes with the two arguments of the node."""
        a, b = (arg.meta["val"] if isinstance(arg, torch.fx.Node) else arg for arg in self.node.args[:2])
        return ELEMENTS[torch.result_type(a, b)]

    def known(self, array):
        return self.value(torch.from_numpy(array))

    def bound(self, value, size, use="whole"):
        """Notes that inputs behind `value` are indices below `size`. Returns
        whether they alone make it. What a select guards may be anything."""
        if value in self.inputs and value.element not in FLOATS:
            self.inputs[value].setdefault(use, []).append(size)
            return True
        if value.op in ("reshape", "transpose", "broadcast", "convert", "stop_gradient"):
            return self.bound(value.operands[0], size, use)
        if value.op == "slice":
            return self.bound(value.operands[0], size, "part")
        if value.op in ("pad", "concatenate"):
            return all([self.bound(v, size, use) for v in value.operands])
        return value.op == "iota"

    def bound_of(self, value):
        """Columns of one input may be indices of different tables."""
        facts = self.inputs[value]
        return min(facts["whole"]) if "whole" in facts else max(facts.get("part", [0]))

    def ignored_labels(self, ignore, classes):
        """Of a loss, which labels are `ignore` in every batch, as a numpy array;
        None if that depends on the batch: `ignore` may be a class of some label, or
        labels are computed from others by more than moving them."""
        target = self.node.args[1]
        if 0 <= ignore < classes or not self.is_moved(target):
            return None
        first, second, example = (self.evaluate(target, fill, {}) for fill in (0, 1, None))
        always = (first == ignore) & (second == ignore)
        is_given = (first == 0) & (second == 1)
        if not (always | is_given).all() or ((example == ignore) & ~always).any():
            return None
        return always.numpy()

    def is_moved(self, node):
        """Whether the elements of a node are those of inputs and known tensors."""
        pending, seen = [node], set()
        while pending:
            node = pending.pop()
            if node in seen or isinstance(self.values.get(node), torch.Tensor) or node in self.examples:
                continue
            seen.add(node)
            if node.op != "call_function" or node.target.__name__ not in MOVES:
                return False
            pending += node.all_input_nodes
        return True

    def evaluate(self, node, fill, found):
        """The tensor of a node that is_moved(), for inputs that are all `fill`, or the
        examples. `found` keeps those of other nodes."""
        if node not in found:
            found[node] = self.evaluate_anew(node, fill, found)
        return found[node]

    def evaluate_anew(self, node, fill, found):
        value = self.values.get(node)
        if isinstance(value, torch.Tensor):
            return value
        if node in self.examples:
            example = self.examples[node]
            return example if fill is None else torch.full_like(example, fill)
        for operand in node.all_input_nodes:
            self.evaluate(operand, fill, found)
        return node.target(*torch.fx.node.map_arg(node.args, found.__getitem__),
                           **torch.fx.node.map_arg(node.kwargs, found.__getitem__))

    def is_used_once(self, value):
        """Whether a value is a trained parameter that one node reads."""
        places = [node for node, v in self.values.items() if v is value]
        return value in self.trained and len(places) == 1 and len(places[0].users) == 1

    def attributes_of(self, value):
        """Those of an argument, or none that count."""
        return next((attributes for v, attributes in self.graph.arguments if v is value), {})

    def name_dims(self, value, dims):
        self.attributes_of(value)["pp.dims"] = f"[{', '.join(map(quote, dims))}]"

    def store_as(self, value, shape, order=None):
        """Gives a parameter another shape than its file's, whose dimensions are those of
        `order`; its reader prints anew."""
        attributes = self.attributes_of(value)
        if order is None:
            attributes["pp.stored_shape"] = f"array<i64: {', '.join(map(str, value.shape))}>"
        else:
            attributes["pp.stored_order"] = f"array<i64: {', '.join(map(str, order))}>"
        value.shape = shape

    def name(self, name, value, dims):
        """A name for plans: the module's path and what the value is; if the module is
        called again, with a number."""
        name = f"{self.graph.location[0]}.{name}"
        calls = self.called[name] = self.called.get(name, 0) + 1
        return self.graph.name(value, name if calls == 1 else f"{name}.{calls - 1}", dims)

    def name_logits(self, value):
        """Names what the first loss compares with labels, for --predict: nothing
        has to read it."""
        self.has_logits = True
        self.graph.roots.append(self.graph.name(value, "logits", ["batch"] + [""] * (value.rank - 1)))

    def is_sequence(self, value):
        """Whether an input is [batch, sequence]: indices, of which each or each of
        another input of its shape looks up the same table."""
        tables = [other.shape for other, facts in self.inputs.items() if "whole" in facts]
        return value.rank == 2 and value.shape in tables and self.bound_of(value) > 0

    def dims_of(self, value):
        """Names of an input's dimensions."""
        given = self.inputs[value]["dims"]
        return given or (("batch", "sequence") if value.rank == 2 else ("batch",) + ("",) * (value.rank - 1))

    def dropout_states(self):
        """Seed and step, which counts up."""
        if self.dropout is None:
            seed = self.declare("dropout.seed", (), "i64", {
                "pp.name": '"dropout.seed"', "pp.role": "#pp.role<state>",
                "pp.init": f"#pp.init<uniform, 0.0, {number(2**62, 'f64')}>"})
            step = self.declare("dropout.step", (), "i32", {
                "pp.name": '"dropout.step"', "pp.role": "#pp.role<state>", "pp.init": "#pp.init<zeros>"})
            self.states["dropout.seed"] = seed, seed
            self.states["dropout.step"] = step, self.graph.shift(step, 1)
            self.dropout = seed, step
        return self.dropout

    def next_stream(self):
        self.streams += 1
        return self.streams - 1


def unknown_type(dtype):
    if dtype.is_complex:
        return f"pp has no complex numbers, got {dtype}: compute with real and imaginary parts, " \
               "for rotary positions with cos and sin"
    return f"expects one of {', '.join(str(d).removeprefix('torch.') for d in ELEMENTS)}, got {dtype}: convert it"


def initial(tensor):
    """How a run without a file of parameters begins: with values like these, of
    which a sample tells enough."""
    values = tensor.detach().reshape(-1)
    values = values[::max(1, len(values) // SAMPLE)].double()
    mean = values.mean().item() if values.numel() else 0.0
    deviation = values.std(correction=0).item() if values.numel() else 0.0
    if not math.isfinite(mean + deviation) or deviation == 0:
        return "#pp.init<zeros>" if mean == 0 or not math.isfinite(mean) else \
            f"#pp.init<constant, {number(mean, 'f64')}>"
    return f"#pp.init<normal, {number(mean, 'f64')}, {number(deviation, 'f64')}>"
