# torch.py - the door of PyTorch.
#
# SPDX-License-Identifier: Apache-2.0
#
# torch.export traces the module with its loss; run_decompositions leaves few
# kinds of ops, and _aten.py and _nn.py print each. What depends on no input, no
# parameter and no state is computed here and printed as a constant.
"""pp.torch.export(module, loss, example_batch) makes a model of pp."""

import contextlib
import inspect
import io
import logging
import sys
import warnings

from . import _images, _indexing, _nn  # noqa: F401 (fill the table)
from ._aten import OPS
from ._attention import batch_first
from ._elements import FLOATS, SAFETENSORS
from ._experts import on_all_tokens
from ._gradients import NOT_THE_USERS, keep_stops, no_own_gradients
from ._model import Model, unwrapped
from ._text import quote
from ._walk import ExportError, Walker, element_of, tensor_bytes

import torch  # after the package's own: its absence is the user's to see

# Ops that stay whole: their decompositions merge the batch with other
# dimensions, or spread one idea over many ops.
KEPT = """
    linear.default matmul.default scaled_dot_product_attention.default
    layer_norm.default rms_norm.default group_norm.default
    cross_entropy_loss.default mse_loss.default
    hardswish.default hardsigmoid.default linalg_vector_norm.default std.correction
    silu.default softplus.default leaky_relu.default elu.default
    max_pool1d.default max_pool2d.default max_pool3d.default avg_pool1d.default
    adaptive_avg_pool1d.default _adaptive_avg_pool2d.default _adaptive_avg_pool3d.default
    upsample_nearest1d.vec upsample_nearest2d.vec upsample_nearest3d.vec
    upsample_linear1d.vec upsample_bilinear2d.vec upsample_trilinear3d.vec upsample_bicubic2d.vec
    index_add.default unbind.int stack.default sinc.default""".split()


def export(module, loss=None, example_batch=(), *, labels=1, dims=None):
    """The training loss of `module` as a pp.Model.

    `example_batch` is a batch as it is trained on, of the same shapes:
      a dict     its entries are the module's keyword arguments. With `loss`, those
                 whose names begin with "label" are the labels and go to it
                 instead;
      a tuple    the module's arguments and, with `loss`, behind them `labels`
                 labels.
    `loss` is called as loss(output of the module, *labels). Without it the module
    returns its loss: a scalar, or an object with one as its `loss`, like those of
    transformers.
    `dims` names the dimensions of inputs for plans, as pp.dims does:
    {"x": ("sequence", "batch", "")}. By default the first is the batch, and the
    second of a table of tokens the sequence.

    Whether the module trains (dropout, batch norm) is as module.train() or eval()
    left it. If labels of the example batch are ignored (-100), any may be;
    otherwise none but those that the model itself pads.
    """
    module = unwrapped(module)
    batch = _Batch(module, loss, example_batch, labels)
    if unknown := [name for name in dims or () if name not in batch.names]:
        raise ExportError(f"expects dims of tensors of the batch, {batch.names}, got {unknown}")
    step = _Step(module, loss, batch)
    program, has_gradient = _trace(step, batch)
    walker = Walker(type(module).__name__, OPS)
    tensors = _declare(walker, program, step, batch, dims or {})
    outputs = walker.run(program.graph_module)
    _declare_results(walker, program, batch, outputs)
    if not has_gradient:
        raise ExportError("expects a loss with a gradient, got one that no trained parameter reaches: look for detach(), "
                          "torch.no_grad(), argmax, and parameters with requires_grad=False")
    walker.finish()
    used = {walker.names[value] for value in walker.graph.used() if value in walker.names}
    text = walker.graph.print(f"{type(module).__name__}, by pp.torch.export of PyTorch {torch.__version__}")
    return Model(text, {name: (SAFETENSORS[element_of(t)], tuple(t.shape), tensor_bytes(t))
                        for name, t in tensors.items() if name in used},
                 {name: tuple(t.shape) for name, t in zip(batch.names, batch.tensors) if name in used},
                 sorted(set(tensors) - used), given=[name for name, _ in batch.given], framework="torch")


class _Batch:
    """The tensors of the example batch, with names, and how to call with them."""

    def __init__(self, module, loss, example, label_count):
        if isinstance(example, dict):
            given = list(example.items())
            is_label = [str(name).startswith("label") for name, _ in given]
        else:
            example = tuple(example) if isinstance(example, (tuple, list)) else (example,)
            parameters = list(inspect.signature(module.forward).parameters)
            count = len(example) - (label_count if loss else 0)
            names = parameters[:count] + [f"inputs.{i}" for i in range(len(parameters), count)]
            names += ["labels"] if label_count == 1 else [f"labels.{i}" for i in range(label_count)]
            given = list(zip(names, example))
            is_label = [i >= count or name.startswith("label") for i, (name, _) in enumerate(given)]
        if loss and not any(is_label):
            raise ExportError('expects labels in the example batch, for the loss: entries named "label...", '
                              f"got {[name for name, _ in given]}")
        for name, value in given:
            if not isinstance(value, torch.Tensor) and any(
                    isinstance(leaf, torch.Tensor) for leaf in torch.utils._pytree.tree_leaves(value)):
                raise ExportError(f"expects tensors in the example batch, got {type(value).__name__} of tensors for "
                                  f"{quote(name)}: pass each tensor by itself")
        self.by_name = isinstance(example, dict)
        self.given = given
        self.for_loss = [bool(loss) and label for label in is_label]
        self.places = [i for i, (_, value) in enumerate(given) if isinstance(value, torch.Tensor)]
        self.names = [given[i][0] for i in self.places]
        # Copies, so that one tensor as two inputs is two inputs.
        self.tensors = [given[i][1].detach().clone() for i in self.places]
        self.is_label = [is_label[i] for i in self.places]

    def call(self, module, loss, tensors):
        values = [value for _, value in self.given]
        for place, tensor in zip(self.places, tensors):
            values[place] = tensor
        inputs = [(name, value) for (name, _), value, label in zip(self.given, values, self.for_loss) if not label]
        output = module(**dict(inputs)) if self.by_name else module(*[value for _, value in inputs])
        if loss:
            return loss(output, *[value for value, label in zip(values, self.for_loss) if label])
        value = output.get("loss") if isinstance(output, dict) else getattr(output, "loss", output)
        if not isinstance(value, torch.Tensor):
            raise ExportError(f"expects the module to return its loss, got {type(output).__name__} without one: "
                              "pass loss=, or labels in the example batch")
        return value


class _Step(torch.nn.Module):
    """A module whose forward pass is the loss."""

    def __init__(self, module, loss, batch):
        super().__init__()
        self.model = module
        self.training = module.training
        self.call = lambda tensors: batch.call(module, loss, tensors)

    def forward(self, *tensors):
        return self.call(tensors)


def _trace(step, batch):
    told, said = logging.root.manager.disable, io.StringIO()
    try:
        logging.disable(logging.ERROR)  # what it logs and prints comes as the exception, too
        with torch.enable_grad(), on_all_tokens(step), batch_first(), no_own_gradients(step), \
                warnings.catch_warnings(), contextlib.redirect_stderr(said):
            warnings.simplefilter("ignore")  # about weights that an LSTM keeps in a list
            program = torch.export.export(step, tuple(batch.tensors), strict=False)
        table = torch.export.default_decompositions()
        for name in KEPT:
            packet, overload = name.split(".")
            table.pop(getattr(getattr(torch.ops.aten, packet), overload), None)
        sys.stderr.write(said.getvalue())
        has_gradient = keep_stops(program)
        return program.run_decompositions(table), has_gradient
    except ExportError:
        raise
    except Exception as error:
        raise ExportError(_refusal(error)) from error
    finally:
        logging.disable(told)


def _refusal(error):
    """One line for what torch.export does not take."""
    where, frame = "", error.__traceback__
    while frame:
        file = frame.tb_frame.f_code.co_filename
        if not file.startswith((*NOT_THE_USERS, "<")):
            where = f"{file}:{frame.tb_lineno}: "
        frame = frame.tb_next
    reason = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    if "data-dependent" in str(error) or "GuardOnDataDependent" in type(error).__name__:
        return f"{where}control flow depends on data, which one fixed graph cannot: use torch.where ({reason})"
    return f"{where}torch.export refuses the model: {reason}"


def _declare(walker, program, step, batch, dims):
    """Arguments of @main. Returns parameters and states by name."""
    kinds = torch.export.graph_signature.InputKind
    signature = program.graph_signature
    given = dict(step.named_parameters(remove_duplicate=False)) | dict(step.named_buffers(remove_duplicate=False))
    first, tensors, memory = {}, {}, {}  # of a tensor with two names the first
    for name, tensor in given.items():
        first.setdefault(id(tensor), name.removeprefix("model."))
    inputs = iter(zip(batch.names, batch.tensors, batch.is_label))
    for node, spec in zip((n for n in program.graph.nodes if n.op == "placeholder"), signature.input_specs):
        if spec.kind == kinds.USER_INPUT:
            name, tensor, is_label = next(inputs)
            walker.declare_input(node, name, tensor, "label" if is_label else "input", dims.get(name))
            continue
        if spec.kind not in (kinds.PARAMETER, kinds.BUFFER, kinds.CONSTANT_TENSOR):
            raise ExportError(f"expects parameters, buffers and tensors as inputs, got {spec.kind} {spec.target}: an op "
                              "that may fail, such as linear algebra, or effects outside tensors have no form in pp")
        tensor = given[spec.target] if spec.target in given else program.constants[spec.target]
        name = first.get(id(tensor), spec.target)
        is_trained = spec.kind == kinds.PARAMETER and tensor.requires_grad
        if not is_trained and spec.target not in signature.buffers_to_mutate.values() and \
                (spec.kind != kinds.PARAMETER or tensor.numel() <= 4096):
            walker.declare_known(node, tensor)
            continue
        other = memory.setdefault(tensor.data_ptr(), name) if tensor.numel() else name
        if other != name:
            raise ExportError(f"expects parameters with memory of their own, got {name} that is a part or view of "
                              f"{other}: make one of them in forward, or tie the whole parameter")
        if name not in tensors:
            tensors[name] = tensor
        walker.declare_kept(node, spec.target, name, tensor, "param" if is_trained else "state")
    return tensors


def _declare_results(walker, program, batch, outputs):
    names = dict(zip(program.graph_signature.user_inputs, batch.names))
    kinds = torch.export.graph_signature.OutputKind
    losses = [value for spec, value in zip(program.graph_signature.output_specs, outputs)
              if spec.kind == kinds.USER_OUTPUT]
    if len(losses) != 1:
        raise ExportError(f"expects one loss, got {len(losses)} values: return the loss alone")
    loss = walker.value(losses[0])
    if loss.shape or loss.element not in FLOATS:
        raise ExportError(f"expects a loss that is one floating-point number, got {loss.type}: "
                          "reduce it, for example by .mean()")
    walker.graph.result(loss, '{pp.name = "loss", pp.role = #pp.role<loss>}')
    for spec, value in zip(program.graph_signature.output_specs, outputs):
        if spec.kind == kinds.BUFFER_MUTATION:
            walker.declare_new_state(spec.target, walker.value(value))
        elif spec.kind != kinds.USER_OUTPUT:
            name = names.get(spec.target, str(spec.target))
            raise ExportError(f"expects inputs that stay as they are, got a change of {quote(name)} in place: "
                              "change a copy of it, its clone()")
