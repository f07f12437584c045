#!/usr/bin/env python3
"""Edits a program, so that it would hang or mix up messages or micro-batches.

SPDX-License-Identifier: Apache-2.0

pp-opt and pp-run must refuse the edited program before anything runs, with exit
code 5, and say why: the cycle of instructions that wait for one another, or the
messages that do not match. pp-opt leaves no artifact.

  deadlock.py --bin=build/bin
"""
import re
import sys

import scratch

MODEL = "mlp --layers=4 --input=48 --hidden=64 --classes=16 --batch=32"
GOAL = "pp=2 microbatches=4 schedule=1f1b optimizer=sgd lr=0.1"


def wait_for_the_last_answer(text):
    """The first message to the next stage waits for the last answer to it."""
    return edit(text, r'(pp\.call "0F" for 0) after \[\]', r"\1 after [1, 2, 4]")


def swap_messages(text):
    return edit(text, r'(pp\.call "0F" for )0( .*\n *pp\.call "0F" for )1 ', r"\g<1>1\g<2>0 ")


def forget_a_copy(text):
    """Micro-batches that are held at once take one place; only one queue uses it."""
    return edit(text, r'(pp\.slot "fused_0" activation at )\[(\d+), .*?\]', r"\1\2")


# How the first stage's program is edited, what the tools must say.
EDITS = {
    wait_for_the_last_answer:
        [r"rank 0, body #1 '0F0 run'", "a cycle of waits", r"waits for rank 0, .* recv'",
         "which meets rank 1", r"which comes after rank 1, .*'1B\d send' .*, with \d between\n"],
    swap_messages: ["rank 1", "0F0", "0F1"],
    forget_a_copy:
        [r"rank 0, body #\d+ '0B0 run' .*: reads '\w+'; expects what is written for its own "
         r"micro-batch, got what rank 0, body #\d+ '0F1 run' .* wrote"],
}


def edit(text, pattern, replacement):
    edited, count = re.subn(pattern, replacement, text, count=1)
    assert count == 1, pattern
    return edited


def main():
    errors = []
    with scratch.from_command_line(__doc__) as tools:
        folder, call = tools.folder, tools.call
        call("pp-model", *MODEL.split(), "-o", "mlp.mlir").check_returncode()
        call("pp-opt", "mlp.mlir", f"--pp-parallelize={GOAL}", "-o", "sound.mlir").check_returncode()
        call("pp-run", "sound.mlir", "--steps=1").check_returncode()
        for how, expected in EDITS.items():
            what = how.__name__
            (folder / "edited.mlir").write_text(how((folder / "sound.mlir").read_text()))
            for command in (["pp-run", "edited.mlir", "--steps=1"],
                            ["pp-opt", "edited.mlir", "--pp-verify-programs"],
                            ["pp-opt", "edited.mlir", "--emit=ppx", "-o", "edited.ppx"]):
                done = call(*command)
                print(f"{what}: {' '.join(command)}: exit {done.returncode}\n{done.stderr}")
                if done.returncode != 5:
                    errors.append(f"{what}: {' '.join(command)} expects exit 5, got {done.returncode}")
                for pattern in expected:
                    if not re.search(pattern, done.stderr):
                        errors.append(f"{what}: {' '.join(command)} expects '{pattern}'")
        if (folder / "edited.ppx").exists():
            errors.append("expects no artifact of a refused program")
    print("\n".join(errors))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
