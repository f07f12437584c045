# _library.py - libpp.so, by ctypes.
#
# SPDX-License-Identifier: Apache-2.0
#
# The functions are those of include/pp-c/pp.h and runtime/include/pprt/pprt.h.
# A failed call raises, with the library's text.
"""Finds and calls the library of pp."""

import ctypes
import glob
import os
import shutil
import sys
from ctypes import POINTER, c_char_p, c_double, c_int, c_size_t, c_uint32, c_uint64, c_void_p

VERSION = "0.1"  # of the library; before 1.0 another one has another interface
ROLES = "parameter", "state", "input", "label", "loss", "metric", "gradient", "prediction"
ELEMENTS = "f32", "f64", "bf16", "i32", "i64", "i1", "f16", "i8"


class TrainerError(RuntimeError):
    """A failure of the compiler or the runtime. `code` is the exit code that the tools have for it."""

    def __init__(self, text, code=2):
        super().__init__(text)
        self.code = code


class CompileError(TrainerError):
    """A model that does not compile, or not under this plan; the text has FILE:LINE:COLUMN."""


class Tensor(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("role", c_int), ("element", c_int), ("dimensions", c_uint32),
                ("shape", POINTER(c_uint64)), ("bytes", c_uint64), ("bound", c_uint64)]


INTERRUPTED = ctypes.CFUNCTYPE(c_int, c_void_p)


class Options(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("threads_per_rank", c_uint32), ("hang_timeout_seconds", c_double),
                ("device", c_char_p), ("world", c_void_p), ("is_interrupted", INTERRUPTED), ("user", c_void_p),
                ("no_graph", c_int)]


# Name: result, arguments. A result of c_int is a code.
FUNCTIONS = {
    "pp_parse": (c_int, c_char_p, c_char_p, c_size_t, POINTER(c_void_p)),
    "pp_read": (c_int, c_char_p, POINTER(c_void_p)),
    "pp_free_model": (None, c_void_p),
    "pp_compile": (c_int, c_void_p, c_char_p, POINTER(c_void_p)),
    "pp_free_program": (None, c_void_p),
    "pp_plan": (c_char_p, c_void_p),
    "pp_warnings": (c_char_p, c_void_p),
    "pp_open": (c_int, c_void_p, POINTER(Options), POINTER(c_void_p)),
    "pp_make_artifact": (c_int, c_void_p, c_char_p, POINTER(c_void_p), POINTER(c_size_t)),
    "pp_explain": (c_int, c_void_p, c_char_p, POINTER(c_void_p)),
    "pp_verify": (c_int, c_void_p, c_char_p, c_void_p, POINTER(c_void_p), POINTER(c_void_p)),
    "pp_free": (None, c_void_p),
    "pprt_version": (c_char_p,),
    "pprt_error": (c_char_p,),
    "pprt_close": (None, c_void_p),
    "pprt_is_stuck": (c_uint32, c_void_p),
    "pprt_rank_count": (c_uint32, c_void_p),
    "pprt_argument_count": (c_uint32, c_void_p),
    "pprt_output_count": (c_uint32, c_void_p),
    "pprt_argument": (c_int, c_void_p, c_uint32, POINTER(Tensor)),
    "pprt_output": (c_int, c_void_p, c_uint32, POINTER(Tensor)),
    "pprt_stored": (c_int, c_void_p, c_uint32, POINTER(c_uint32), POINTER(POINTER(c_uint64)),
                    POINTER(POINTER(c_uint32))),
    "pprt_initialize": (c_int, c_void_p, c_uint64),
    "pprt_load": (c_int, c_void_p, c_char_p),
    "pprt_set": (c_int, c_void_p, c_uint32, c_void_p, c_uint64),
    "pprt_lend": (c_int, c_void_p, c_uint32, c_void_p, c_uint64),
    "pprt_begin": (c_int, c_void_p),
    "pprt_step": (c_int, c_void_p),
    "pprt_get_output": (c_int, c_void_p, c_uint32, c_void_p, c_uint64),
    "pprt_get": (c_int, c_void_p, c_uint32, c_void_p, c_uint64),
    "pprt_save": (c_int, c_void_p, c_char_p),
    "pprt_steps": (c_uint64, c_void_p),
    "pprt_save_checkpoint": (c_int, c_void_p, c_char_p),
    "pprt_resume": (c_int, c_void_p, c_char_p),
    "pprt_warning": (c_char_p, c_void_p),
}


def candidates():
    """Paths of the library, the likeliest first."""
    package = os.path.dirname(os.path.abspath(__file__))
    root = os.path.dirname(os.path.dirname(package))
    folders = [package, *(os.path.join(root, build, "lib") for build in ("build", "build-dev")),
               os.path.join(sys.prefix, "lib")]
    tool = shutil.which("pp-run")
    if tool:
        folders.append(os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(tool))), "lib"))
    for folder in folders:
        yield from glob.glob(os.path.join(folder, f"libpp.so.{VERSION}"))
        yield from glob.glob(os.path.join(folder, "*-linux-gnu", f"libpp.so.{VERSION}"))


def _open():
    told = os.environ.get("PP_LIBRARY")
    paths = [told] if told else [*candidates(), f"libpp.so.{VERSION}"]
    problem = None
    for path in paths:
        try:
            return ctypes.CDLL(path), path
        except OSError as error:
            problem = problem or error
    where = f"PP_LIBRARY={told}" if told else "beside the package, in build/lib, beside pp-run, and in the system's paths"
    raise TrainerError(f"expects the library libpp.so.{VERSION}, got none: {problem}; looked {'at ' if told else ''}"
                       f"{where}. Build it with `ninja -C build pp_shared`, or set PP_LIBRARY to its path")


class Library:
    """The functions, as attributes. Those that return a code raise."""

    _loaded = None

    @classmethod
    def load(cls):
        if cls._loaded is None:
            cls._loaded = cls()
        return cls._loaded

    def __init__(self):
        library, self.path = _open()
        for name, (result, *arguments) in FUNCTIONS.items():
            try:
                function = getattr(library, name)
            except AttributeError:
                raise TrainerError(f"{self.path}: expects a library of pp {VERSION}, got one without {name}") from None
            function.restype, function.argtypes = result, arguments
            setattr(self, name, self._raising(function) if result is c_int else function)
        version = self.pprt_version().decode()
        if version.rsplit(".", 1)[0] != VERSION:
            raise TrainerError(f"{self.path}: expects a library of pp {VERSION}, got {version}")

    def _raising(self, function):
        def call(*arguments):
            code = function(*arguments)
            if code:
                text = self.pprt_error().decode(errors="replace")
                raise (CompileError if code == 1 else TrainerError)(text, code)
        return call
