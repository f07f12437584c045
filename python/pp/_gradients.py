# _gradients.py - keeps what stops gradients.
#
# SPDX-License-Identifier: Apache-2.0
#
# run_decompositions makes an alias of detach() and inlines no_grad(): the forward
# pass is the same, the gradient is not. So before it, each becomes a call of an op
# of our own, which has no decomposition. What no parameter reaches has no gradient,
# and stays.
"""Marks where gradients stop in a graph of torch.export."""

import contextlib
import operator
import os
import traceback

import torch
import torch.nn.modules.module as _global
import torch.utils.checkpoint

from ._model import ExportError

# Files of PyTorch and of this package, which are not the user's lines.
NOT_THE_USERS = os.path.dirname(torch.__file__), os.path.dirname(__file__)

LIBRARY = torch.library.Library("pp", "DEF")
LIBRARY.define("stop_gradient(Tensor x) -> Tensor")
LIBRARY.impl("stop_gradient", lambda x: x.clone(), "CompositeExplicitAutograd")
STOP = torch.ops.pp.stop_gradient.default


def keep_stops(program):
    """Changes the graph of an exported program in place. Returns whether a trained
    parameter reaches its loss."""
    kinds, signature = torch.export.graph_signature, program.graph_signature
    nodes = [node for node in program.graph.nodes if node.op == "placeholder"]
    trained = {node for node, spec in zip(nodes, signature.input_specs)
               if spec.kind == kinds.InputKind.PARAMETER and program.state_dict[spec.target].requires_grad}
    found = _mark(program.graph_module, trained)
    return any(reached for reached, spec in zip(found, signature.output_specs)
               if spec.kind == kinds.OutputKind.USER_OUTPUT)


def _mark(module, reached):
    """`reached`: the placeholders that parameters reach. Returns for each result
    whether one reaches it."""
    graph = module.graph
    for node in list(graph.nodes):
        if node.op == "output":
            results = node.args[0] if isinstance(node.args[0], (list, tuple)) else [node.args[0]]
            module.recompile()
            return [result in reached for result in results]
        if not any(n in reached for n in node.all_input_nodes):
            continue
        name = getattr(node.target, "__name__", "")
        if name == "detach.default":
            node.target = STOP
        elif name.startswith("wrap_with_"):
            _mark_region(module, node, reached)
        elif node.target is operator.getitem and "wrap_with_" in getattr(node.args[0].target, "__name__", ""):
            pass  # _mark_region has said it
        elif node.target is not STOP and _has_floats(node.meta.get("val")):
            reached.add(node)
    raise AssertionError("a graph without results")


def _has_floats(value):
    leaves = torch.utils._pytree.tree_leaves(value)
    return any(not isinstance(leaf, torch.Tensor) or leaf.is_floating_point() for leaf in leaves)


def _mark_region(module, node, reached):
    """A part under no_grad, enable_grad or autocast."""
    place = next(i for i, arg in enumerate(node.args) if isinstance(arg, torch.fx.Node) and arg.op == "get_attr")
    part = getattr(module, node.args[place].target)
    inner = [n for n in part.graph.nodes if n.op == "placeholder"]
    found = _mark(part, {n for n, given in zip(inner, node.args[place + 1:]) if given in reached})
    is_stop = node.target.__name__ == "wrap_with_set_grad_enabled" and not node.args[0]
    for user in list(node.users):
        if user.target is operator.getitem and found[user.args[1]]:
            if is_stop:
                _stop(module.graph, user)
            else:
                reached.add(user)


def _stop(graph, node):
    with graph.inserting_after(node):
        stop = graph.call_function(STOP)
    stop.meta.update(node.meta)
    node.replace_all_uses_with(stop)
    stop.args = (node,)


def _own(name):
    """The module's own name, which is `model` of the step."""
    return name.removeprefix("model").removeprefix(".")


@contextlib.contextmanager
def no_own_gradients(module):
    """Meanwhile, what changes gradients behind the graph is refused; a checkpoint that
    computes its part under no_grad computes it in the graph."""
    for name, part in module.named_modules():
        if part._backward_hooks or part._backward_pre_hooks or _global._global_backward_hooks \
                or _global._global_backward_pre_hooks:
            raise ExportError(f"expects modules without hooks of gradients, got one at {_own(name) or 'the module'}: "
                              "remove it, pp's plan clips and scales gradients")
    for name, parameter in module.named_parameters():
        if parameter._backward_hooks or getattr(parameter, "_post_accumulate_grad_hooks", None):
            raise ExportError(f"expects parameters without hooks, got one of {_own(name)}: remove it")

    def apply(cls, *args, **_):
        if cls is torch.utils.checkpoint.CheckpointFunction:
            function, _, *given = args
            return function(*given)
        raise ExportError(f"{users_line()}{cls.__name__} has a gradient of its own (torch.autograd.Function), which a "
                          "graph of its forward pass does not say: write it with detach() and ops of PyTorch")

    def register_hook(tensor, hook):
        raise ExportError(f"{users_line()}register_hook changes gradients behind the graph: leave it out")

    before = torch.autograd.Function.__dict__["apply"], torch.Tensor.register_hook
    torch.autograd.Function.apply, torch.Tensor.register_hook = classmethod(apply), register_hook
    try:
        yield
    finally:
        torch.autograd.Function.apply, torch.Tensor.register_hook = before


def users_line():
    """The innermost line that is neither PyTorch's nor this package's."""
    for frame in reversed(traceback.extract_stack()):
        if not frame.filename.startswith((*NOT_THE_USERS, "<")):
            return f"{frame.filename}:{frame.lineno}: "
    return ""
