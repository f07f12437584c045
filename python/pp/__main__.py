# __main__.py - the tools, from Python's command line.
#
# SPDX-License-Identifier: Apache-2.0
"""python -m pp run|opt|model ARGUMENTS... starts pp-run, pp-opt or pp-model."""

import os
import sys

from ._tools import advise, find

TOOLS = "run", "opt", "model"


def main(arguments):
    if not arguments or arguments[0] not in TOOLS:
        got = f"got {arguments[0]!r}" if arguments else "got none"
        print(f"pp: error: expects a tool, {', '.join(TOOLS)}, {got}\nusage: {__doc__}", file=sys.stderr)
        return 2
    name = f"pp-{arguments[0]}"
    tool = find(name)
    if not tool:
        print(f"pp: error: {advise(name)}", file=sys.stderr)
        return 2
    os.execv(tool, [tool, *arguments[1:]])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
