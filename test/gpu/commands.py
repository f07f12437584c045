"""Commands that tests of GPUs run, over emulated libraries, and what is wrong with their ends."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import subprocess
import sys
import tempfile


def run(*command):
    """What a command prints; the end of the test where it fails."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, timeout=200)
    if done.returncode:
        sys.exit(f"{pathlib.Path(sys.argv[0]).name}: {' '.join(words)}: code {done.returncode}\n"
                 f"{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


class Runs:
    """Commands in a folder of their own; what is wrong with them is kept for the end."""

    def __init__(self, folder, arguments):
        self.folder, self.arguments, self.errors = folder, arguments, []
        self.tools, self.emulators = (pathlib.Path(arguments[name]).resolve()
                                      for name in ("bin", "emulators"))

    def call(self, tool, *words, emulated="seed 1\n", timeout=120, **how):
        """`emulated`: settings of the emulated libraries (test/gpu/cuda/Emulator.h)."""
        settings = self.folder / "emulated"
        settings.write_text(emulated)
        return subprocess.run([self.tools / tool, *words], cwd=self.folder, timeout=timeout,
                              capture_output=True, text=True, **how,
                              env={**os.environ, "PP_EMULATED": str(settings),
                                   "LD_LIBRARY_PATH": str(self.emulators)})

    def make(self, tool, *words):
        self.call(tool, *words).check_returncode()

    def load(self, name):
        return json.loads((self.folder / name).read_text())

    def expect(self, what, got, wanted):
        if got != wanted:
            self.errors.append(f"{what}: expects {wanted}, got {got}")

    def expect_end(self, what, is_right, done):
        if not is_right:
            self.errors.append(f"{what}: code {done.returncode}\n{done.stdout}{done.stderr}")


def main(kind, check):
    """The exit code of a test: `check` takes a `kind` of Runs."""
    arguments = dict(word.lstrip("-").split("=", 1) for word in sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        runs = kind(pathlib.Path(folder), arguments)
        check(runs)
    print("\n".join(runs.errors))
    return 1 if runs.errors else 0
