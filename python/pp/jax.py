# jax.py - the door of JAX.
#
# SPDX-License-Identifier: Apache-2.0
#
# JAX lowers the loss to StableHLO, and pp-opt imports it. Here is what StableHLO
# does not say: where gradients stop, and which array is which parameter.
"""pp.jax.export(loss, params, example_batch) makes a model of pp.

pp.jax.export_step(step, params, opt_state, example_batch) makes a training step
of pp of one that JAX differentiates and optax updates.
"""

import contextlib
import inspect
import os
import re

import numpy as np

from . import _tools
from ._elements import NAMES
from ._model import ExportError, Model
from ._signature import read_arguments

import jax  # after the package's own: its absence is the user's to see
import jax.extend.core
from jax.interpreters import mlir

# By the names of JAX. pp has no unsigned integers: it gets the bits.
STORED = dict(NAMES.values()) | {"uint32": "I32"}


def export(loss, params, example_batch, *, states=None, labels=None, dims=None, keep_shardings=True):
    """The training loss as a pp.Model.

    `params` is a pytree of arrays. `example_batch` is a batch as it is trained on,
    of the same shapes:
      a dict     for loss(params, example_batch);
      a tuple    for loss(params, *example_batch), its entries called as the
                 arguments of `loss`.
    With `states`, a pytree of what one step passes to the next (running means, the
    key of dropout), it is loss(params, states, ...), which returns the loss and the
    new states.
    `labels` names the entries of the batch that are labels; by default those whose
    names begin with "label" or "target", or of a tuple without such the last.
    `dims` names the dimensions of inputs for plans, as pp.dims does:
    {"tokens": ("batch", "sequence")}. By default the first is the batch, and the
    second of a table of integers the sequence.
    Shardings of Shardy, of arguments and with_sharding_constraint, are the model's,
    and their mesh the plan's, unless `keep_shardings` is false.
    """
    batch = _name_batch(loss, example_batch, 1 if states is None else 2)
    names = list(batch)  # JAX orders a dict by its keys
    roles = _choose_roles(batch, labels, dims or {}, isinstance(example_batch, dict))
    if jax.tree.leaves(states):
        roles["states"] = ["states"]
    given = "" if states is None else "states, "

    def main(params, states, batch):
        first = (params,) if states is None else (params, states)
        entries = [batch] if isinstance(example_batch, dict) else [batch[name] for name in names]
        return _tie(loss(*first, *entries), None, states)

    lowered = _lower(main, params, states, batch, f"loss(params, {given}...)")
    roles = {role: [entry for entry in entries if _reads(lowered, entry)] for role, entries in roles.items()}
    if not roles["inputs"] + roles["labels"] or not _reads(lowered, "params"):
        raise ExportError(f"expects a loss that depends on params and on the batch, {names}, got one that reads "
                          "nothing of " + ("params" if roles["inputs"] + roles["labels"] else "the batch"))
    trees = {"params": params} if states is None else {"params": params, "states": states}
    return _import(lowered, roles, trees, names, keep_shardings)


def export_step(step, params, opt_state, example_batch, *, labels=None, dims=None, keep_shardings=True):
    """A whole training step as a pp.Model, with the gradients and the update of JAX.

    It is step(params, opt_state, *example_batch), or step(params, opt_state,
    example_batch) for a dict, which returns (params, opt_state, loss), and further
    numbers in a dict behind it if there are any. `opt_state` is any pytree of what
    one step passes to the next. `labels`, `dims` and `keep_shardings` are those
    of export().
    """
    batch = _name_batch(step, example_batch, 2)
    names = list(batch)
    roles = _choose_roles(batch, labels, dims or {}, isinstance(example_batch, dict))

    def main(params, opt_state, batch):
        entries = [batch] if isinstance(example_batch, dict) else [batch[name] for name in names]
        return _tie(step(params, opt_state, *entries), params, opt_state)

    try:
        lowered = jax.jit(main, donate_argnums=(0, 1)).lower(params, opt_state, batch)
    except jax.errors.JAXTypeError as error:
        raise ExportError(f"JAX refuses the step: {str(error).splitlines()[0]}") from error
    _check_step(params, opt_state, lowered.out_info)
    lowered = lowered.as_text(debug_info=True)
    roles = {role: [entry for entry in entries if _reads(lowered, entry)] for role, entries in roles.items()}
    return _import(lowered, roles, {"params": params, "opt_state": opt_state}, names, keep_shardings)


def _import(lowered, roles, trees, names, keep_shardings):
    """The model of StableHLO whose arguments are `trees` and entries of the batch called `names`."""
    text, said = _tools.call("pp-opt", "-", "--import=stablehlo", "--mlir-print-debuginfo", "-o", "-",
                             f"--keep-shardings={str(bool(keep_shardings)).lower()}",
                             *(f"--{role}={','.join(entries)}" for role, entries in roles.items() if entries),
                             given=lowered)
    arguments = read_arguments(text)
    kept = {name for name, argument in arguments.items() if argument.role in ("param", "state")}
    trees = _Trees(trees, kept)
    shapes = {name: argument.shape for name, argument in arguments.items() if name not in kept}
    order = [name for entry in names for name in shapes if re.fullmatch(rf"(batch\.)?{re.escape(entry)}(\..*)?", name)]
    model = Model(text, trees.tensors(), {name: shapes[name] for name in order}, trees.unused(), given=names)
    model.warnings = said.strip()
    model.to_trees = trees.fill
    return model


def _name_batch(loss, example, skipped):
    """The entries by name."""
    if isinstance(example, dict):
        names, batch = list(example), example
    elif isinstance(example, (tuple, list)):
        try:
            names = [p.name for p in inspect.signature(loss).parameters.values()
                     if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][skipped:]
        except (TypeError, ValueError):
            names = []
        names += [f"batch{i}" for i in range(len(names), len(example))]
        batch = dict(zip(names, example))
    else:
        raise ExportError(f"expects a batch that is a dict or a tuple of arrays, got {type(example).__name__}: "
                          "one array is (array,)")
    for name in batch:
        if not isinstance(name, str) or not re.fullmatch(r"[\w.-]+", name):
            raise ExportError(f"expects entries of the batch called by letters, digits, _, - and ., got {name!r}")
    return batch


def _choose_roles(batch, labels, dims, is_dict):
    """The options of pp-opt that tell arguments apart."""
    if labels is None:
        labels = [name for name in batch if name.startswith(("label", "target"))]
        labels = labels or ([] if is_dict else list(batch)[1:][-1:])
    labels = [labels] if isinstance(labels, str) else labels
    for what, names in ("labels", labels), ("dims", dims):
        if unknown := [name for name in names if name not in batch]:
            raise ExportError(f"expects {what} of entries of the batch, {list(batch)}, got {unknown}")
    roles = {"inputs": [], "labels": []}
    for name, value in batch.items():
        is_table = getattr(value, "ndim", 0) == 2 and np.issubdtype(getattr(value, "dtype", None), np.integer)
        named = dims.get(name) or (("batch", "sequence") if is_table else ())
        roles["labels" if name in labels else "inputs"].append(":".join([f"batch.{name}", *named]))
    return roles


def _reads(lowered, entry):
    """Whether the loss reads an argument; JAX drops others."""
    root, _, name = entry.split(":")[0].partition(".")
    return f"loc(\"{root}['{name}']" in lowered if name else f'loc("{root}' in lowered


def _lower(main, params, states, batch, form):
    """StableHLO of the loss."""
    with _marks():
        try:
            lowered = jax.jit(main).lower(params, states, batch)
        except jax.errors.JAXTypeError as error:
            raise ExportError(f"JAX refuses the loss: {str(error).splitlines()[0]}") from error
        results = jax.tree.leaves(lowered.out_info)
        if not results or results[0].shape or not np.issubdtype(results[0].dtype, np.floating):
            got = ", ".join(f"{r.dtype}{list(r.shape)}" for r in results) or "nothing"
            advice = "convert it, for example by .astype(jax.numpy.float32)" if results and not results[0].shape \
                else "reduce it, for example by .mean(); export_step() takes a step"
            raise ExportError(f"expects {form} to return one floating-point number (then new states), got {got}: "
                              f"{advice}")
        if states is not None:
            _check_states(states, lowered.out_info)
        return lowered.as_text(debug_info=True)


def _tie(results, *trees):
    """The results, where each leaf of the tree at the place of one of `trees` also reads
    the leaf that it replaces: JAX drops arguments that nothing reads."""
    if not isinstance(results, (tuple, list)):
        return results

    def tie(old, new):
        if jax.tree.structure(old) != jax.tree.structure(new):
            return new
        return jax.tree.map(lambda before, after: jax.lax.optimization_barrier((before, after))[1], old, new)

    return tuple(tie(old, new) for old, new in zip(trees, results)) + tuple(results[len(trees):])


def _check_states(states, results):
    """New states take the places of the old ones."""
    new = results[1] if isinstance(results, (tuple, list)) and len(results) == 2 else None
    if jax.tree.structure(new) != jax.tree.structure(states):
        raise ExportError("expects the loss and new states, in a pytree as that of states, "
                          f"{jax.tree.structure(states)}, got {jax.tree.structure(results)}")
    _check_types("states", states, new)


def _check_step(params, opt_state, results):
    new = list(results[:2]) if isinstance(results, (tuple, list)) and len(results) > 2 else None
    if jax.tree.structure(new) != jax.tree.structure([params, opt_state]):
        raise ExportError("expects step(params, opt_state, ...) to return (params, opt_state, loss), the first two in "
                          f"pytrees as they came, got {jax.tree.structure(results)}")
    _check_types("params", params, new[0])
    _check_types("opt_state", opt_state, new[1])


def _check_types(name, tree, new):
    for (path, old), fresh in zip(jax.tree_util.tree_leaves_with_path(tree), jax.tree.leaves(new)):
        if (np.shape(old), jax.numpy.result_type(old)) != (fresh.shape, fresh.dtype):
            raise ExportError(f"expects new values of {name} to have the types of the old ones, got "
                              f"{fresh.dtype}{list(fresh.shape)} for {name}{jax.tree_util.keystr(path)}, which is "
                              f"{jax.numpy.result_type(old)}{list(np.shape(old))}: convert one")


@jax.custom_vjp
def _identity(x):
    return x


_identity.defvjp(lambda x: (x, None), lambda _, cotangent: (cotangent,))


def _find_primitive(name, jaxpr):
    """The primitive of that name that a function calls."""
    return next(eqn.primitive for eqn in jaxpr.jaxpr.eqns if eqn.primitive.name == name)


_STOP = _find_primitive("stop_gradient", jax.make_jaxpr(jax.lax.stop_gradient)(1.0))
_OWN_DERIVATIVES = (_find_primitive("custom_jvp_call", jax.make_jaxpr(jax.nn.relu)(1.0)),
                    _find_primitive("custom_vjp_call", jax.make_jaxpr(_identity)(1.0)))
_JAX = os.path.dirname(jax.__file__)
_is_marking = False


@contextlib.contextmanager
def _marks():
    """Meanwhile, lowering leaves traces of what concerns gradients alone."""
    global _is_marking
    _is_marking = True
    try:
        yield
    finally:
        _is_marking = False


def _stopped(x):
    with jax.named_scope("stop_gradient"):
        return jax.lax.optimization_barrier(x)


def _lower_stop(context, x):
    return mlir.lower_fun(_stopped, multiple_results=False)(context, x) if _is_marking else [x]


# Where they bend, their derivatives are 0, and those of maxima and minima halves.
_KINKED = {"relu": lambda x: [jax.numpy.where(x <= 0, 0, x)],
           "relu6": lambda x: [jax.numpy.where((x > 0) & (x < 6), x, jax.lax.stop_gradient(jax.numpy.clip(x, 0, 6)))]}


def _lower_own_derivative(context, *args, call_jaxpr, **_):
    function = jax.extend.core.jaxpr_as_fun(call_jaxpr)
    if _is_marking:
        of = call_jaxpr.jaxpr.debug_info
        if not of.func_filename or not of.func_filename.startswith(_JAX):
            raise ExportError(f"{of.func_src_info}: has a derivative of its own (jax.custom_jvp, jax.custom_vjp), "
                              "which StableHLO does not say: write it without, with jax.lax.stop_gradient where "
                              "that serves")
        function = _KINKED.get(of.func_name, function)
    return mlir.lower_fun(function, multiple_results=True)(context, *args)


mlir.register_lowering(_STOP, _lower_stop)
for primitive in _OWN_DERIVATIVES:
    mlir.register_lowering(primitive, _lower_own_derivative)


class _Trees:
    """Pytrees whose leaves have the names that the import gives them."""

    def __init__(self, trees, kept):
        self.paths, self.structure = jax.tree_util.tree_flatten_with_path(trees)
        for path, leaf in self.paths:
            if jax.numpy.issubdtype(getattr(leaf, "dtype", float), jax.dtypes.prng_key):
                raise ExportError(f"expects arrays of numbers, got a key at {jax.tree_util.keystr(path[1:])} of "
                                  f"{path[0].key}: keep jax.random.key_data(key), and use jax.random.wrap_key_data")
        self.rows = {}  # name without a number -> names of the rows of a stack
        for name in kept:
            parts = name.split(".")
            for at, part in enumerate(parts):
                if part.isdigit():
                    self.rows.setdefault(".".join(parts[:at] + parts[at + 1:]), {})[int(part)] = name
        self.kept = kept

    def places(self, path, leaf):
        """Names of a leaf, or of its rows, with the index into it."""
        whole = [str(getattr(key, "key", getattr(key, "idx", getattr(key, "name", None)))) for key in path]
        names = ".".join(whole), ".".join(whole[1:]), ".".join(whole[1:]).removeprefix("params.")
        for name in names:
            if name in self.kept:
                return [(name, ...)]
        for name in names:
            rows = self.rows.get(name, {})
            if np.ndim(leaf) and sorted(rows) == list(range(len(leaf))):
                return [(rows[row], row) for row in range(len(leaf))]
        return []

    def tensors(self):
        """By name: element type, shape and memory, which is that of the leaf if it is on the host."""
        tensors = {}
        for path, leaf in self.paths:
            array = np.asarray(leaf, dtype=jax.numpy.result_type(leaf), order="C")
            for name, index in self.places(path, leaf):
                row = array[index]
                tensors[name] = (STORED[str(array.dtype)], row.shape, memoryview(row.reshape(-1).view(np.uint8)))
        if missing := self.kept - set(tensors):
            raise ExportError(f"expects an array for each parameter of the loss, got none for {sorted(missing)}")
        return tensors

    def unused(self):
        return sorted(jax.tree_util.keystr(path[1:]) for path, leaf in self.paths if not self.places(path, leaf))

    def fill(self, tensors):
        """params, or (params, states or opt_state), with the arrays of `tensors` by name."""
        leaves = []
        for path, leaf in self.paths:
            places = self.places(path, leaf)
            rows = [np.asarray(tensors[name]) for name, _ in places]
            whole = leaf if not places else rows[0] if places[0][1] is ... else np.stack(rows)
            if whole.dtype == np.int32:
                whole = whole.view(np.asarray(leaf).dtype)
            leaves.append(jax.numpy.asarray(whole).reshape(np.shape(leaf)))
        trees = jax.tree_util.tree_unflatten(self.structure, leaves)
        others = [tree for name, tree in trees.items() if name != "params"]
        return (trees["params"], *others) if others else trees["params"]
