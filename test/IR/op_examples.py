#!/usr/bin/env python3
"""Every op's description has an example, and the examples parse.

SPDX-License-Identifier: Apache-2.0

Reads Dialect.md, which the target docs makes from the .td files. An example
is put where its op may stand: a function, whose arguments are the values that
the example leaves open, or a program. The types of these arguments are found
by asking: pp-opt says which type it expected.

  op_examples.py --bin=build/bin --dialect=build/docs/Dialect.md
"""
import argparse
import pathlib
import re
import subprocess
import sys

BLOCK = re.compile(r"```mlir\n(.*?)```", re.DOTALL)
VALUE = re.compile(r"%\w+")
OTHER_TYPE = re.compile(r"use of value '(%\w+)' expects different type than prior uses: "
                        r"'([^']*)' vs '[^']*'")
MESH = '  pp.mesh @mesh = <["dp"=2, "tp"=2]>\n'
KERNEL = """  func.func private @{name}(%x: tensor<4x8xf32>) -> tensor<4x8xf32>
      attributes {{pp.kernel = #pp.kernel<loops>}} {{
    %y = pp.tanh %x : tensor<4x8xf32>
    return %y : tensor<4x8xf32>
  }}
"""
ROUTINE = '    pp.routine "1F" {\n      pp.copy [0, 1] on 0 after [] as forward 1\n    }\n'
SLOT, QUEUE = '    pp.slot "{0}" activation at -1 : tensor<4x8xf32>\n', '    pp.queue "{0}" compute\n'
ROUNDS = 6


def sections(text):
    """Op name and text of each op's section."""
    for part in re.split(r"^#{2,4} ", text, flags=re.MULTILINE)[1:]:
        name = re.match(r"`pp\.(\w+)` \(::pp::\w+\)", part)
        if name:
            yield name.group(1), part


class Example:
    """One example, and what it needs around it."""

    def __init__(self, op, text):
        self.op, self.text = op, text
        defined = set(re.findall(r"^\s*((?:%\w+(?:, )?)+) =", text, re.MULTILINE))
        defined = {value for group in defined for value in VALUE.findall(group)}
        defined |= set(re.findall(r"(%\w+):", text))
        self.types = {value: "tensor<f32>" for value in VALUE.findall(text)
                      if value not in defined}

    def module(self):
        callees = set(re.findall(r"@(\w+)", self.text)) - {"mesh", "main", "stage0"}
        around = "".join(KERNEL.format(name=name) for name in sorted(callees))
        if "@mesh" in self.text and self.op != "mesh":
            around += MESH
        if self.op in ("mesh", "program"):
            return f"module {{\n{around}{self.text}}}\n"
        if self.op in ("slot", "queue", "routine", "call") or " on " in self.text:
            slots, queues, body = SLOT.format("a") * 3, QUEUE.format("b") * 2, ""
            routines = ""
            if self.op == "slot":
                slots += self.text
            elif self.op == "queue":
                queues += self.text
            elif self.op == "routine":
                routines = self.text
            elif self.op == "call":
                routines = ROUTINE
                body = self.text
            else:
                body = self.text
            if self.op != "step":
                body += "    pp.step [] on 0 after []\n"
            return (f"module {{\n{around}  pp.program @stage0 ranks [0] arena 0 slots {{\n{slots}"
                    f"  }} queues {{\n{queues}  }} routines {{\n{routines}"
                    f"  }} setup {{\n  }} body {{\n{body}"
                    f"  }} teardown {{\n  }}\n}}\n")
        arguments = ", ".join(f"{value}: {kind}" for value, kind in self.types.items())
        return (f"module {{\n{around}  func.func @example({arguments}) {{\n{self.text}"
                f"    return\n  }}\n}}\n")


def errors_of(tool, examples):
    """What pp-opt has to say of each example, in their order."""
    source, starts = "", []
    for example in examples:
        starts.append(source.count("\n") + 1)
        source += example.module() + "// -----\n"
    done = subprocess.run([tool, "-", "--split-input-file", "-o", "/dev/null"], input=source,
                          capture_output=True, text=True, timeout=60)
    errors = [""] * len(examples)
    for line in done.stderr.splitlines():
        found = re.match(r"[^:]*:(\d+):\d+: error: (.*)", line)
        if found:
            index = sum(start <= int(found.group(1)) for start in starts) - 1
            errors[index] = errors[index] or found.group(2)
    if done.returncode and not any(errors):
        sys.exit(f"error: expects diagnostics, got\n{done.stderr}")
    return errors


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--dialect", type=pathlib.Path, required=True)
    args = parser.parse_args()
    examples, wrong = [], []
    for op, text in sections(args.dialect.read_text()):
        blocks = [block for block in BLOCK.findall(text) if f"pp.{op}" in block]
        if not blocks:
            wrong.append(f"pp.{op} expects an example in its description, got none")
        examples += [Example(op, block) for block in blocks]
    for _ in range(ROUNDS):
        errors = errors_of(args.bin / "pp-opt", examples)
        guesses = [OTHER_TYPE.match(error) for error in errors]
        if not any(guesses):
            break
        for example, guess in zip(examples, guesses):
            if guess:
                example.types[guess.group(1)] = guess.group(2)
    wrong += [f"the example of pp.{example.op}: {error}\n{example.module()}"
              for example, error in zip(examples, errors) if error]
    print(f"{len(examples)} examples")
    if len(examples) < 50:
        wrong.append(f"expects the examples of 50 ops or more, got {len(examples)}")
    for line in wrong:
        print("error:", line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
