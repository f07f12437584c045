# _tools.py - finds and calls the tools of pp.
#
# SPDX-License-Identifier: Apache-2.0
"""The tools are those of $PP_BIN, of the tree that this package lies in, or of $PATH."""

import os
import shutil
import subprocess

from ._model import ExportError


def find(tool):
    """The path of pp-opt, pp-run or pp-model."""
    tree = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build/bin")
    folders = [folder for folder in (os.environ.get("PP_BIN"), tree) if folder]
    found = shutil.which(tool, path=os.pathsep.join([*folders, os.environ.get("PATH", "")]))
    if not found:
        raise ExportError(f"expects {tool} in $PP_BIN, {os.path.normpath(tree)} or $PATH, got none: "
                          "build pp (scripts/build), and set PP_BIN to its build/bin")
    return found


def call(tool, *options, given=""):
    """What the tool prints for the text `given`. Its errors are ExportError."""
    done = subprocess.run([find(tool), *options], input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        # Without the lines of source, and the frames around the innermost.
        errors = [line for line in done.stderr.splitlines()
                  if ": error: " in line or line.endswith("note: called here")]
        raise ExportError("; ".join(errors) or f"{tool} ended with exit code {done.returncode}")
    return done.stdout, done.stderr
