# _tools.py - finds and calls the tools of pp.
#
# SPDX-License-Identifier: Apache-2.0
"""The tools are those of $PP_BIN, beside the library, of the tree that the package lies in, or of $PATH."""

import os
import shutil
import subprocess

from ._library import candidates
from ._model import ExportError


def find(tool):
    """The path of pp-opt, pp-run or pp-model; None if there is none."""
    folders = [os.environ.get("PP_BIN")]
    for library in filter(None, [os.environ.get("PP_LIBRARY"), *candidates()]):
        folders += [os.path.join(os.path.dirname(os.path.abspath(library)), up, "bin") for up in ("..", "../..")]
    folders.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build/bin"))
    found = shutil.which(tool, path=os.pathsep.join([*filter(None, folders), os.environ.get("PATH", "")]))
    return found and os.path.normpath(found)


def advise(tool):
    return f"expects {tool} in $PP_BIN, beside the library or in $PATH, got none: build it with scripts/build"


def call(tool, *options, given=""):
    """What the tool prints for the text `given`. Its errors are ExportError."""
    path = find(tool)
    if not path:
        raise ExportError(advise(tool))
    done = subprocess.run([path, *options], input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        # Without the lines of source, and the frames around the innermost.
        errors = [line for line in done.stderr.splitlines()
                  if ": error: " in line or line.endswith("note: called here")]
        raise ExportError("; ".join(errors) or f"{tool} ended with exit code {done.returncode}")
    return done.stdout, done.stderr
