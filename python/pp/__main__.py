# __main__.py - the tools, from Python's command line.
#
# SPDX-License-Identifier: Apache-2.0
"""python -m pp run|opt|model ARGUMENTS... starts pp-run, pp-opt or pp-model."""

import os
import shutil
import sys

from ._library import candidates

TOOLS = "run", "opt", "model"


def find(name):
    """The tool in $PP_BIN, beside the library, or on the PATH."""
    told = os.path.join(os.environ.get("PP_BIN", ""), name)
    if "PP_BIN" in os.environ and os.access(told, os.X_OK):
        return told
    for library in [os.environ.get("PP_LIBRARY"), *candidates()]:
        folder = library and os.path.dirname(os.path.abspath(library))
        for up in ("..", "../.."):
            path = folder and os.path.normpath(os.path.join(folder, up, "bin", name))
            if path and os.access(path, os.X_OK):
                return path
    return shutil.which(name)


def main(arguments):
    if not arguments or arguments[0] not in TOOLS:
        got = f"got {arguments[0]!r}" if arguments else "got none"
        print(f"pp: error: expects a tool, {', '.join(TOOLS)}, {got}\nusage: {__doc__}", file=sys.stderr)
        return 2
    name = f"pp-{arguments[0]}"
    tool = find(name)
    if not tool:
        print(f"pp: error: expects {name} beside the library or on PATH: build it with scripts/build", file=sys.stderr)
        return 2
    os.execv(tool, [tool, *arguments[1:]])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
