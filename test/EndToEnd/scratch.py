"""A folder to run the tools in, for the tests beside this file.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import contextlib
import pathlib
import subprocess
import sys
import tempfile


class Scratch:
    """An empty folder, and the tools that --bin names, called in it."""

    def __init__(self, folder, tools):
        self.folder, self.tools = folder, tools

    def call(self, tool, *arguments):
        return subprocess.run([self.tools / tool, *arguments], cwd=self.folder, timeout=120,
                              capture_output=True, text=True)

    def make(self, tool, *arguments):
        """What a call prints that must succeed."""
        done = self.call(tool, *arguments)
        if done.returncode:
            print(done.stderr, file=sys.stderr)
        done.check_returncode()
        return done.stdout


class Judge:
    """Counts what does not hold."""

    def __init__(self, place):
        self.place, self.failures = place, 0

    def expect(self, holds, text):
        if not holds:
            self.failures += 1
            print(text)


@contextlib.contextmanager
def from_command_line(description, *switches, **values):
    """`switches` become attributes, as do `values`, which are of these types."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    for switch in switches:
        parser.add_argument(f"--{switch}", action="store_true")
    for name, kind in values.items():
        parser.add_argument(f"--{name}", type=kind, required=True)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Scratch(pathlib.Path(folder), args.bin.resolve())
        for name in (*switches, *values):
            setattr(place, name, getattr(args, name))
        yield place
