"""Runs every pass on a module of every level: it takes one level, and refuses
the others with the pass that comes first.

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import re
import subprocess
import sys

LEVELS = {"graph": None, "spmd": "pp-partition", "pipeline": "pp-split-stages", "program": "pp-lower-to-programs"}


def run(*arguments):
    return subprocess.run(["pp-opt", *map(str, arguments)], capture_output=True, text=True, check=False)


def main(model, folder):
    pathlib.Path(folder).mkdir(exist_ok=True)
    for level in LEVELS:
        run(model, f"--pp-parallelize=pp=2 microbatches=2 stop-after={level}", "-o", f"{folder}/{level}.mlir").check_returncode()
    tables = (pathlib.Path(__file__).parents[3] / "include/pp/Transforms").glob("*Passes.td")
    passes = [name for table in sorted(tables) for name in re.findall(r': \w*Pass<"(pp-[a-z-]+)"', table.read_text())]
    assert len(passes) > 20, passes
    for name in passes:
        taken = []
        for level in LEVELS:
            done = run(f"{folder}/{level}.mlir", f"--{name}", "-o", "/dev/null")
            found = re.search(rf"{name} expects a module of level (\w+), got one of level {level}: (.*)", done.stderr)
            if not found:
                taken.append(level)
                continue
            wanted, why = found.groups()
            order = list(LEVELS)
            is_early = order.index(level) < order.index(wanted)
            expected = f"{LEVELS[wanted]} and the passes before it come first" if is_early else "no pass leads back"
            assert done.returncode == 1 and why.startswith(expected), (name, level, done.stderr)
        assert len(taken) == 1, f"expects {name} to take one level, got {taken}"


main(*sys.argv[1:])
