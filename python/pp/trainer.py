# trainer.py - trains a model in this process.
#
# SPDX-License-Identifier: Apache-2.0
#
# In: an exported model, or the text or file of a module, and a plan. Out: losses
# and trained parameters. The library compiles the model and runs its ranks on
# threads of this process; one thread of ours makes all calls, so that the main
# thread sees Ctrl-C.
"""pp.Trainer(model, plan) trains a model, partitioned by the plan."""

import ctypes
import os
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from ctypes import byref, c_size_t, c_uint32, c_uint64, c_void_p

import numpy as np

from ._arrays import Memory, as_torch
from ._elements import numpy_type
from ._library import ELEMENTS, INTERRUPTED, ROLES, Library, Options, Tensor, TrainerError
from ._model import Model, name_entries, unwrapped

_KEPT = []  # memory that a stuck kernel may still read


class _Argument:
    """A tensor of the program. `stored` is its shape in the framework, and `order` the
    order of dimensions there."""

    def __init__(self, index, its):
        self.index = index
        self.name = its.name.decode()
        self.role, self.element = ROLES[its.role], ELEMENTS[its.element]
        self.shape = tuple(its.shape[i] for i in range(its.dimensions))
        self.stored, self.order = self.shape, None


def _text(text):
    """For C, where a text ends at a byte of 0."""
    data = text if isinstance(text, bytes) else text.encode()
    if b"\0" in data:
        raise ValueError(f"expects a text without bytes of 0, got {text!r}")
    return data


def _path(path):
    return _text(os.fsencode(path))


class Trainer:
    """Trains `model` (what pp.torch.export returns, or the path or the text of a
    module) as `plan` says, the text that --parallelize takes: "dp=2 tp=2".

    `optimizer` and further keys (lr=1e-3, betas="0.9,0.95", microbatches=4) are
    words of the plan, too. `parameters`, a dict by name or the path of a
    safetensors file, replace the values that the model comes with; a module
    without values takes its initializers' for `seed`. `threads` of each rank; by
    default the ranks share the cores.

    Close it, or use it in a `with` statement. A trainer is used by one thread at a
    time.
    """

    def __init__(self, model, plan="", *, optimizer=None, seed=0, parameters=None, threads=0, **keys):
        self._session, self._program, self._model = c_void_p(), c_void_p(), c_void_p()
        self._worker, self._last, self._lent, self._metrics, self._has_begun = None, None, {}, {}, False
        self._copied, self._process = 0, os.getpid()
        self._given = getattr(model, "given", ())
        for name, number in ("seed", seed), ("threads", threads):
            if number < 0:
                raise ValueError(f"expects {name} of 0 or more, got {number}")
        self._library = library = Library.load()
        self._framework, self._to_trees = getattr(model, "framework", None), getattr(model, "to_trees", None)
        words = [plan, *(f"{_spell_key(key)}={_spell(value)}" for key, value in {"optimizer": optimizer, **keys}.items()
                         if value is not None)]
        self._keys = " ".join(word for word in words if word)
        self._interrupted = False
        options = Options(size=ctypes.sizeof(Options), threads_per_rank=threads,
                          is_interrupted=INTERRUPTED(lambda _: self._interrupted))
        self._options = options  # the library calls its function
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="pp")
        try:
            self._run(self._parse, model)
            self._run(library.pp_compile, self._model, _text(self._keys), byref(self._program))
            self._run(library.pp_open, self._program, byref(options), byref(self._session))
            self._describe(getattr(model, "batch", None))
            if isinstance(model, Model):
                self._load_exported(model)
            if isinstance(parameters, (str, os.PathLike)):
                self._run(library.pprt_load, self._session, _path(parameters))
            elif parameters is not None:
                self.load(parameters)
            self._run(library.pprt_initialize, self._session, seed)
        except BaseException:
            self.close()
            raise

    # What the program is.

    @property
    def plan(self):
        """The complete plan that the program obeys."""
        self._check_open()
        return self._library.pp_plan(self._program).decode()

    @property
    def warnings(self):
        """What the compiler warned of, a line each."""
        self._check_open()
        return self._library.pp_warnings(self._program).decode().splitlines()

    @property
    def ranks(self):
        self._check_open()
        return self._library.pprt_rank_count(self._session)

    @property
    def inputs(self):
        """Shape and element type of each input and label, by name."""
        return {name: (its.shape, its.element) for name, its in self._inputs.items()}

    def explain(self):
        """Why each collective is there, as pp-opt --pp-explain says it. Compiles anew."""
        text = c_void_p()
        self._run(self._library.pp_explain, self._model, _text(self._keys), byref(text))
        return self._take(text)

    # Training.

    def step(self, batch):
        """Makes a training step, and returns its loss. `batch` is a dict of arrays by
        name, or a sequence in the order of `inputs`. Arrays that are dense and
        row-major are read where they lie; `copied` counts the bytes of others."""
        self._check_open()
        given = self._bind(batch)
        return self._run(self._step, given)

    @property
    def metrics(self):
        """The metrics of the last step, by name."""
        return dict(self._metrics)

    @property
    def steps(self):
        """Steps done, with those before a checkpoint."""
        self._check_open()
        return self._library.pprt_steps(self._session)

    @property
    def copied(self):
        """Bytes of the last batch that had to be copied to be dense and of the model's type."""
        return self._copied

    def verify(self, batch):
        """Compares three steps on `batch`, from the present parameters, with the model
        that is not partitioned. Returns the table of errors; raises if one is out of
        bounds. The parameters stay. Compiles anew."""
        self._check_open()
        given, report = self._bind(batch), c_void_p()
        places = (c_void_p * (1 + max((its.index for its in self._arguments.values()), default=0)))()
        for name, memory in given.items():
            places[self._inputs[name].index] = memory.address
        try:
            self._run(self._library.pp_verify, self._model, _text(self._keys), self._session, places, byref(report))
        finally:
            text = self._take(report)
        return text

    # Parameters.

    def parameters(self):
        """The trained values, whole, by name: arrays of numpy, or tensors if PyTorch's model was exported."""
        return self._values("parameter")

    def states(self):
        """The same of states: the model's, such as running means, and the optimizer's."""
        return self._values("state")

    def load(self, parameters):
        """Sets parameters and states from a dict of arrays by name; those that it lacks stay."""
        self._check_open()
        memories = {}
        for name, value in dict(parameters).items():
            its = self._arguments.get(name)
            if its is None or its.role not in ("parameter", "state"):
                raise ValueError(f"expects names of parameters and states, got {name!r}{_near(name, self._kept())}")
            memories[name] = Memory(name, value, its.element, its.stored)
        for name, memory in memories.items():
            self._set(self._arguments[name], memory.array)

    def copy_to(self, module):
        """Puts the trained values into a PyTorch module, in place: parameters, and the
        buffers that are states. Returns it."""
        self._check_open()
        given, module = module, unwrapped(module)
        if not hasattr(module, "named_parameters"):
            raise TypeError(f"expects a torch.nn.Module, got {type(module).__name__}; of a model of JAX, trees() "
                            "returns params")
        import torch
        values = self.states() | self.parameters()
        named = dict(module.named_parameters(remove_duplicate=False)) | dict(module.named_buffers())
        if not named.keys() & values.keys():
            raise ValueError(f"expects a module with parameters such as {next(iter(self.parameters()))}, got "
                             f"{type(module).__name__} with {', '.join(list(named)[:3]) or 'none'}")
        for name, value in values.items():
            if name in named and named[name].shape != value.shape:
                raise ValueError(f"{name}: expects shape {list(value.shape)}, got {list(named[name].shape)}")
        with torch.no_grad():
            for name, value in values.items():
                if name in named:
                    named[name].copy_(torch.as_tensor(value))
        return given

    def trees(self):
        """The trained values as the pytrees that JAX's model was exported of: params, or params and states."""
        self._check_open()
        if self._to_trees is None:
            raise TypeError("expects a model of pp.jax.export, got another: parameters() returns values by name")
        return self._to_trees(self.states() | self.parameters())

    def save(self, path):
        """Writes the model's parameters and states as a safetensors file."""
        self._run(self._library.pprt_save, self._session, _path(path))

    def save_checkpoint(self, folder):
        """Writes FOLDER/step-N, with the optimizer's states; pp-run reads it, too."""
        self._run(self._library.pprt_save_checkpoint, self._session, _path(folder))

    def resume(self, path):
        """Before the first step: goes on from a checkpoint, or from the newest of a folder, of any plan. If the newest
        is damaged, warns and goes on from an earlier one."""
        if self._has_begun:
            raise TrainerError("expects resume() before the first step, got a trainer that has begun", 2)
        self._run(self._library.pprt_resume, self._session, _path(path))
        if warning := self._library.pprt_warning(self._session).decode():
            warnings.warn(warning, stacklevel=2)

    def save_artifact(self, path):
        """Writes the program as a .ppx file, which pp-run takes. Compiles anew."""
        data, size = c_void_p(), c_size_t()
        self._run(self._library.pp_make_artifact, self._model, _text(self._keys), byref(data), byref(size))
        content = ctypes.string_at(data, size.value)
        self._library.pp_free(data)
        with open(path, "wb") as file:
            file.write(content)

    # Lifetime.

    def close(self):
        """Frees everything. A second call does nothing."""
        worker, self._worker = self._worker, None
        if worker is None:
            return
        if self._library.pprt_is_stuck(self._session):
            _KEPT.extend([self._lent, self._options])
        try:
            worker.submit(_free, self._library, self._session, self._program, self._model)
        except RuntimeError:
            return  # the interpreter ends, and so does the process
        worker.shutdown(wait=not self._interrupted)
        self._lent = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        # Garbage is collected anywhere, within submit() too, whose lock is taken
        # only once: so nothing is submitted here.
        if getattr(self, "_last", None) is None or self._worker is None:
            return
        if sys.is_finalizing() or os.getpid() != self._process:
            return
        if self._library.pprt_is_stuck(self._session):
            _KEPT.extend([self._lent, self._options])
        self._last.add_done_callback(lambda _: _free(self._library, self._session, self._program, self._model))

    # Within.

    def _check_open(self):
        if self._worker is None:
            raise ValueError("expects an open trainer, got a closed one")
        if os.getpid() != self._process:
            raise ValueError("expects the process that made the trainer, got one that was forked from it")

    def _run(self, function, *arguments):
        """Calls in the thread that makes all calls. On Ctrl-C a step goes on to its end,
        or fails soon if it does not proceed."""
        self._check_open()
        self._last = future = self._worker.submit(function, *arguments)
        try:
            return future.result()
        except KeyboardInterrupt:
            self._interrupted = True
            if self._session:
                future.exception()
                self._interrupted = False
            raise

    def _parse(self, model):
        library, text = self._library, getattr(model, "text", model)
        if isinstance(text, os.PathLike) or (isinstance(text, str) and "\n" not in text and
                                             (text.endswith(".mlir") or os.path.exists(text))):
            library.pp_read(_path(text), byref(self._model))
        elif isinstance(text, (str, bytes)):
            content = text.encode() if isinstance(text, str) else text
            library.pp_parse(b"model.mlir", content, len(content), byref(self._model))
        else:
            raise TypeError("expects what pp.torch.export returns, a path or the text of a module, got "
                            f"{type(model).__name__}")

    def _describe(self, given):
        library, its = self._library, Tensor()
        self._arguments, self._outputs = {}, []
        for index in range(library.pprt_argument_count(self._session)):
            library.pprt_argument(self._session, index, byref(its))
            argument = _Argument(index, its)
            count, shape, order = c_uint32(), ctypes.POINTER(c_uint64)(), ctypes.POINTER(c_uint32)()
            library.pprt_stored(self._session, index, byref(count), byref(shape), byref(order))
            argument.stored = tuple(shape[i] for i in range(count.value))
            argument.order = [order[i] for i in range(len(argument.shape))] if order else None
            self._arguments[argument.name] = argument
        for index in range(library.pprt_output_count(self._session)):
            library.pprt_output(self._session, index, byref(its))
            self._outputs.append(_Argument(index, its))
        self._inputs = {name: a for name, a in self._arguments.items() if a.role in ("input", "label")}
        # A sequence of arrays has the order of the example batch, which the program need not have.
        order = list(given) if given else list(self._inputs)
        self._inputs = {name: self._inputs[name] for name in order if name in self._inputs}

    def _kept(self):
        return [name for name in self._arguments if name not in self._inputs]

    def _bind(self, batch):
        """The memory of each input, by name."""
        names = list(self._inputs)
        if not hasattr(batch, "keys"):
            if not isinstance(batch, (tuple, list)):
                raise TypeError(f"expects a batch as a dict by name or a sequence, got {type(batch).__name__}")
            named = name_entries(batch, self._given, names)
            if named is None:
                raise ValueError(f"expects a batch of {len(names)}, {', '.join(names)}, got {len(batch)} arrays")
            batch = named
        for name in batch:
            if name not in self._inputs and name not in self._given:
                raise ValueError(f"expects a batch of {', '.join(names)}, got {name!r}{_near(name, names)}")
        for name in names:
            if name not in batch:
                raise ValueError(f"expects a batch of {', '.join(names)}, got none of {name!r}")
        return {name: Memory(name, batch[name], its.element, its.shape) for name, its in self._inputs.items()}

    def _step(self, given):
        library = self._library
        for name, memory in given.items():
            library.pprt_lend(self._session, self._inputs[name].index, memory.address, memory.bytes)
            self._lent[name] = memory
        self._copied = sum(memory.copied for memory in given.values())
        if not self._has_begun:
            library.pprt_begin(self._session)
            self._has_begun = True
        library.pprt_step(self._session)
        outputs = {its.name: (its.role, self._read_output(its)) for its in self._outputs}
        self._metrics = {name: value for name, (role, value) in outputs.items() if role == "metric"}
        return next(value for role, value in outputs.values() if role == "loss")

    def _read_output(self, its):
        array = np.empty(its.shape, numpy_type(its.element))
        self._library.pprt_get_output(self._session, its.index, array.ctypes.data, array.nbytes)
        if its.element == "bf16":
            array = (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
        return array.item() if array.size == 1 else array

    def _values(self, role):
        self._check_open()
        return self._run(lambda: {name: self._read(its) for name, its in self._arguments.items() if its.role == role})

    def _read(self, its):
        array = np.empty(its.shape, numpy_type(its.element))
        self._library.pprt_get(self._session, its.index, array.ctypes.data, array.nbytes)
        if its.order:
            array = np.ascontiguousarray(array.transpose(its.order))
        array = array.reshape(its.stored)
        return as_torch(array, its.element) if self._framework == "torch" else array

    def _set(self, its, array):
        if its.order:
            array = array.reshape([its.shape[d] for d in its.order]).transpose(np.argsort(its.order))
            array = np.ascontiguousarray(array)
        self._run(self._library.pprt_set, self._session, its.index, array.ctypes.data, array.nbytes)

    def _load_exported(self, model):
        for name, (_, _, content) in model.tensors.items():
            its = self._arguments.get(name)
            if its is not None:
                array = np.frombuffer(content, numpy_type(its.element))
                self._set(its, array.reshape(its.stored))

    def _take(self, text):
        if not text:
            return ""
        value = ctypes.string_at(text).decode()
        self._library.pp_free(text)
        return value


def _free(library, session, program, model):
    library.pprt_close(session)
    library.pp_free_program(program)
    library.pp_free_model(model)


def _spell_key(key):
    """Python's names have no dots and dashes: zero_gather is zero.gather."""
    begins = "zero", "sequence", "precision", "lr"
    first, _, rest = key.partition("_")
    if key == "weight_decay_of":
        return "weight_decay.of"
    if key in ("memory_limit", "stop_after"):
        return key.replace("_", "-")
    return f"{first}.{rest}" if first in begins and rest else key


def _spell(value):
    return ",".join(map(_spell, value)) if isinstance(value, (tuple, list)) else str(value)


def _near(name, names):
    import difflib
    near = difflib.get_close_matches(name, names, 1)
    return f"; did you mean {near[0]!r}?" if near else ""

