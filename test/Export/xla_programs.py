#!/usr/bin/env python3
"""Runs random programs that were partitioned and exported with XLA.

SPDX-License-Identifier: Apache-2.0

WriteExports draws the programs, which have all ops and types, and evaluates
them before they are partitioned. Needs JAX and NumPy of this Python or of
.venv-peers; without them the test is skipped.

  xla_programs.py --writer=build/test/WriteExports [--first=0] [--count=60]
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import on_devices

DEVICES = 12
BOUND = 1e-10  # of the largest element


def distance(ours, theirs):
    """As the judge of random partitions has it."""
    import numpy as np
    ours, theirs = (np.ravel(np.asarray(value, np.float64)) for value in (ours, theirs))
    if not np.array_equal(np.isnan(ours), np.isnan(theirs)):
        return float("inf")
    same = (ours == theirs) | np.isnan(ours)
    largest = max(1e-4, np.max(np.abs(theirs[~np.isnan(theirs)]), initial=0))
    return float(np.max(np.abs(ours[~same] - theirs[~same]), initial=0) / largest)


def run(path):
    """The largest distance of a result from what it should be."""
    import jax
    import numpy as np
    from pp.exported import Interface
    from pp.xla import Program
    interface = Interface(path)
    values = json.loads(path.with_suffix(".values.json").read_text())
    program = Program(path.read_text(), jax.local_devices()[:interface.replicas])
    arguments = []
    for tensor, given in zip(interface.arguments, values["inputs"]):
        whole = tensor.padded(np.array(given).reshape(tensor.unpadded_shape))
        arguments.append(program.array(
            [tensor.split(whole, index) for index in range(interface.replicas)]))
    worst = 0.0
    for tensor, parts, expected in zip(interface.results, program(arguments), values["results"]):
        whole = tensor.join(map(np.asarray, parts))
        worst = max(worst, distance(whole[tuple(map(slice, tensor.unpadded_shape))], expected))
    return worst


def main():
    on_devices.start(DEVICES)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--writer", required=True)
    parser.add_argument("--first", default="0")
    parser.add_argument("--count", default="60")
    args = parser.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([args.writer, f"--folder={folder}", f"--devices={DEVICES}",
                        f"--first={args.first}", f"--count={args.count}"], check=True, timeout=300)
        paths = sorted(pathlib.Path(folder).glob("*.mlir"), key=lambda path: int(path.stem))
        for path in paths:
            try:
                worst = run(path)
            except Exception as error:  # pylint: disable=broad-except
                worst = f"{type(error).__name__}: {str(error)[:500]}"
            if not isinstance(worst, float) or worst > BOUND:
                failures += 1
                print(f"program {path.stem}: {worst}", flush=True)
    print(f"{len(paths)} programs, {failures} with a fault")
    return 1 if failures or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
