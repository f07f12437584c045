# peers.py - a Python that has the packages that a test needs.
#
# SPDX-License-Identifier: Apache-2.0
#
# Tests of other frameworks run with the Python that starts them or, if that has
# not what they need, with .venv-peers (scripts/install-frameworks), and are skipped
# without. pp itself comes from this tree.
"""Imports what is optional."""
import importlib.util
import os
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")


def need(*packages):
    """Returns if the packages are there; else starts anew where they are, or ends."""
    sys.path.insert(0, os.path.join(ROOT, "python"))
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    other = os.path.join(ROOT, ".venv-peers/bin/python")
    if not missing:
        return
    if os.path.exists(other) and not os.environ.get("PP_IN_PEERS"):
        os.execve(other, [other, *sys.argv], os.environ | {"PP_IN_PEERS": "1"})
    print(f"skipped: no {missing[0]}")
    sys.exit(0)
