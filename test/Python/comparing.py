# comparing.py - what the comparisons with JAX, and the tests of errors, share.
#
# SPDX-License-Identifier: Apache-2.0
"""Runs cases from the command line, and judges errors."""
import argparse
import os
import re
import tempfile

import pp


def worst_difference(ours, theirs, least=1e-6):
    """The largest |ours - theirs| / max(|theirs|, least |all|) of the leaves of JAX's trees, as --verify has it, with
    its place."""
    import jax
    import numpy as np
    norm = lambda value: float(np.linalg.norm(np.ravel(np.asarray(value, float))))
    ours, theirs = (jax.tree_util.tree_leaves_with_path(tree) for tree in (ours, theirs))
    least *= sum(norm(value)**2 for _, value in theirs)**0.5
    difference = lambda a, b: norm(np.asarray(a, float) - np.asarray(b, float))
    return max((difference(a, b) / max(norm(b), least, 1e-300), jax.tree_util.keystr(path))
               for (path, b), (_, a) in zip(theirs, ours))


class JaxCase:
    """A case that is judged by a bound, with the files of a folder."""

    def __init__(self, precision, bound, args, folder):
        self.precision, self.bound, self.args, self.folder = precision, bound, args, folder
        self.problems = []

    def path(self, name):
        return os.path.join(self.folder, name)

    def judge(self, what, error, name=""):
        print(f"  {what:24} {error:.1e} {'ok' if error <= self.bound else 'DIFFERS ' + name}", flush=True)
        if not error <= self.bound:
            self.problems.append(what)


def run_cases(description, cases, make):
    """`cases` are pairs of a function and a precision; `make` makes a JaxCase of them, the arguments and a folder.
    Returns the exit code."""
    import jax
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder of pp's tools")
    parser.add_argument("--case", help="run these cases only, separated by commas")
    args = parser.parse_args()
    os.environ["PP_BIN"] = os.path.abspath(args.bin)
    failed = []
    for build, precision in cases:
        if args.case and build.__name__ not in args.case.split(","):
            continue
        name = f"{build.__name__} in {precision}"
        print(name, flush=True)
        with tempfile.TemporaryDirectory() as folder, jax.enable_x64(precision == "f64"):
            case = make(build, precision, args, folder)
            try:
                case.check()
            except pp.ExportError as error:
                case.problems.append(str(error))
            if case.problems:
                print(*case.problems, sep="\n")
                failed.append(name)
    print(f"failed: {', '.join(failed)}" if failed else "all agree")
    return 1 if failed else 0


def judge_errors(cases):
    """Pairs of an export, and what its error, one line, matches. Returns the exit code."""
    failed = 0
    for index, (export, expected) in enumerate(cases):
        try:
            export()
            got = "no error"
        except pp.ExportError as error:
            got = str(error)
        if "\n" in got or not re.search(expected, got):
            failed += 1
            print(f"case {index}: expects {expected!r}, got {got!r}")
    print(f"{failed} errors say something else" if failed else "all errors as expected")
    return 1 if failed else 0
