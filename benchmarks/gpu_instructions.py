#!/usr/bin/env python3
# gpu_instructions.py - what kernels of GPUs execute, beside those of Triton.
#
# SPDX-License-Identifier: Apache-2.0
#
# In: a build of pp and the virtual environment that scripts/install-frameworks makes, whose
# Triton brings ptxas and nvdisasm. Out: a table on stdout, and exit code 1 if an
# op takes more than 1.2 times the instructions. Ours are the kernels of a step of
# GPT, Triton's the fewest of several numbers of warps; both go through the same
# ptxas, and one thread goes through the machine code (gpu/machine_code.py). No
# GPU is needed, and nothing is timed, so other work may run.
"""Compares instructions for each element with Triton's."""

import argparse
import collections
import dataclasses
import os
import pathlib
import re
import subprocess
import sys
import tempfile

MOST = 1.2
ROWS, HIDDEN, INNER, VOCABULARY, SEQUENCE, HEADS, BATCH = 4096, 768, 3072, 50304, 1024, 12, 4
MODEL = (f"gpt --layers=2 --hidden={HIDDEN} --heads={HEADS} --seq={SEQUENCE} "
         f"--batch={BATCH} --vocab={VOCABULARY}")
KEYS = "optimizer=adamw clip=1 epilogues=kernels"


@dataclasses.dataclass
class Op:
    name: str
    ours: str  # in the line above a kernel, after "; "
    elements: int  # 0: as many as are stored
    function: str
    types: str  # of its pointers: E the model's, f f32, i i32
    constants: dict
    of_program: int  # elements


SCORES = rf"{BATCH}x{HEADS}x{SEQUENCE}x{SEQUENCE}x\w+"
STATE, STATISTIC = rf"{BATCH}x{SEQUENCE}x{HIDDEN}x\w+", rf"{BATCH}x{SEQUENCE}x\w+"
LOGITS, WIDE = rf"{BATCH}x{SEQUENCE}x{VOCABULARY}x\w+", rf"{BATCH}x{SEQUENCE}x{INNER}x\w+"
ROW, FLAT = dict(N=HIDDEN, BLOCK=1024), dict(BLOCK=1024)
LABELLED = dict(N=VOCABULARY, BLOCK=4096)
OPS = [
    Op("softmax", f"{SCORES} from {SCORES}$", BATCH * HEADS * SEQUENCE**2, "softmax", "EE",
       dict(N=SEQUENCE, BLOCK=1024), SEQUENCE),
    Op("softmax, gradient", f"{SCORES} from {SCORES} {SCORES}$", BATCH * HEADS * SEQUENCE**2,
       "softmax_backward", "EEE", dict(N=SEQUENCE, BLOCK=1024), SEQUENCE),
    Op("cross entropy", f"({STATISTIC} ?)+ from {STATISTIC} {LOGITS}$", ROWS * VOCABULARY,
       "cross_entropy", "fffEi", LABELLED, VOCABULARY),
    Op("cross entropy, gradient", f"{LOGITS} from ", ROWS * VOCABULARY, "cross_entropy_backward",
       "EiEff", LABELLED, VOCABULARY),
    Op("bias, residual and norm", f"{STATE} {STATISTIC} {STATISTIC} {STATE} from {HIDDEN}x.* {STATE} "
       f"{STATE}$", ROWS * HIDDEN, "residual_norm", "EffEEEEEE", ROW, HIDDEN),
    Op("norm, gradient", f"{STATE} {STATE} from {HIDDEN}x\\w+ {STATE} {STATISTIC} {STATISTIC} "
       f"{STATE} {STATE}$", ROWS * HIDDEN, "layer_norm_backward", "EEEEffEE", ROW, HIDDEN),
    Op("norm's weight, gradient", rf"{HIDDEN}x\w+ {HIDDEN}x\w+ from {STATE} {STATE}$",
       ROWS * HIDDEN, "weight_gradient", "EEEE", dict(M=ROWS, N=HIDDEN, ROWS=32, BLOCK=128),
       ROWS * 128),
    Op("bias and GELU", rf"{WIDE} {WIDE} from {INNER}x\w+ {WIDE}$", ROWS * INNER, "bias_gelu",
       "EEEE", dict(N=INNER, BLOCK=1024), 1024),
    Op("GELU, gradient", f"{WIDE} from {WIDE} {WIDE}$", ROWS * INNER, "gelu_backward", "EEE", FLAT,
       1024),
    Op("AdamW", rf"{VOCABULARY}x{HIDDEN}x\w+ {VOCABULARY}x{HIDDEN}x\w+ {VOCABULARY}x", 0, "adamw",
       "EffEffff", FLAT, 1024),
]


def run(*command):
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE,
                          text=True).stdout


@dataclasses.dataclass
class Count:
    """Of one element."""
    instructions: float
    special: float
    loaded: float
    stored: float
    narrowest: int  # bits of the narrowest of the frequent accesses


def count(issued, elements):
    """Of a thread's lines."""
    ops = collections.Counter(line.op[0] for line in issued)
    moved, widths = collections.Counter(), collections.Counter()
    for line in issued:
        if line.op[0] in ("LDG", "STG"):
            width = next((int(word) for word in line.op if word in ("64", "128")),
                         16 if "U16" in line.op else 32)
            moved[line.op[0]] += width // 8
            widths[width] += 1
    many = [width for width, number in widths.items() if number > 0.1 * widths.total()]
    return Count(len(issued) / elements, ops["MUFU"] / elements, moved["LDG"] / elements,
                 moved["STG"] / elements, min(many, default=0))


class Assembler:

    def __init__(self, arch, folder):
        import triton
        tools = pathlib.Path(triton.__file__).parent / "backends/nvidia/bin"
        self.arch, self.folder = arch, folder
        self.ptxas, self.nvdisasm = tools / "ptxas", tools / "nvdisasm"

    def functions(self, ptx):
        from gpu import machine_code
        text, code = self.folder / "code.ptx", self.folder / "code.cubin"
        text.write_text(ptx.replace(f"sm_{self.arch}a", f"sm_{self.arch}"))
        run(self.ptxas, f"-arch=sm_{self.arch}", text, "-o", code)
        return machine_code.functions(run(self.nvdisasm, "-c", code))


def compile_triton(op, element, warps, arch):
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from gpu import triton_ops
    function = getattr(triton_ops, op.function)
    names = [parameter.name for parameter in function.params]
    types = {"E": {"f32": "*fp32", "bf16": "*bf16"}[element], "f": "*fp32", "i": "*i32"}
    pointers = iter(op.types)
    signature = {name: "constexpr" if name in op.constants else types[next(pointers)]
                 for name in names}
    aligned = {(index,): [["tt.divisibility", 16]]
               for index, name in enumerate(names) if signature[name] != "constexpr"}
    constants = {(names.index(name),): value for name, value in op.constants.items()}
    source = ASTSource(function, signature, constants, aligned)
    return triton.compile(source, target=GPUTarget("cuda", arch, 32),
                          options={"num_warps": warps, "num_stages": 1, "ptx_version": 83}
                          ).asm["ptx"]


def triton_counts(op, element, assembler):
    from gpu import machine_code
    for warps in (1, 2, 4, 8):
        ptx = compile_triton(op, element, warps, assembler.arch)
        (function,) = assembler.functions(ptx).values()
        try:
            issued = machine_code.walk(function, lambda offset: None)
        except RuntimeError as error:
            print(f"{op.name}, {warps} warps: left out, {error}", file=sys.stderr)
            continue
        yield count(issued, op.of_program / (32 * warps))


class Ours:
    """The kernels of a step."""

    def __init__(self, args, element, assembler):
        folder, target = assembler.folder, f"sm_{assembler.arch}"
        model, artifact, code = (folder / f"step.{end}" for end in ("mlir", "ppx", "ptx"))
        tool = lambda name: pathlib.Path(args.bin) / name
        run(tool("pp-model"), *MODEL.split(), f"--dtype={element}", "-o", model)
        run(tool("pp-opt"), model, f"--pp-parallelize={KEYS}", "--emit=ppx",
            f"--targets={target}", "-o", artifact)
        run(tool("pp-run"), artifact, f"--target={target}", "--dry-run", "--quiet",
            f"--code={code}")
        self.element, self.arch, self.ptx = element, assembler.arch, code.read_text()
        self.functions = assembler.functions(self.ptx)
        self.kernels = re.findall(r"^// (\w+): [^;]*; (.*)\n// (\d+) blocks of (\d+)$", self.ptx,
                                  re.M)

    def count(self, op):
        from gpu import machine_code
        found = [kernel for kernel in self.kernels if re.match(op.ours, kernel[1])]
        if not found:
            sys.exit(f"gpu_instructions.py: expects a kernel of {op.name}, got none")
        symbol, _, blocks, threads = found[0]
        parameters = re.search(rf"\.entry {symbol}\((.*?)\)", self.ptx, re.S).group(1).count(",")
        gate = (0x210 if self.arch >= 90 else 0x160) + 8 * parameters  # there is none
        issued = machine_code.walk(self.functions[symbol],
                                   lambda offset: 0 if gate <= offset < gate + 8 else None,
                                   block=1 if op.elements else int(blocks) // 2)
        if op.elements:
            return count(issued, op.elements / (int(blocks) * int(threads)))
        # One of several tensors, with two averages of f32.
        stored = count(issued, 1).stored
        return count(issued, stored / (12 if self.element == "f32" else 10))


def table(args, folder):
    print("| op | type | target | ours | Triton | ratio | special | Triton's | bytes read | "
          "Triton's | written | Triton's | accesses, bits |")
    print("|" + "---|" * 13)
    over = 0
    for arch in args.archs:
        assembler = Assembler(arch, folder)
        for element in ("f32", "bf16"):
            ours = Ours(args, element, assembler)
            for op in OPS:
                we = ours.count(op)
                they = min(triton_counts(op, element, assembler), default=None,
                           key=lambda each: each.instructions)
                if they is None:
                    sys.exit(f"gpu_instructions.py: expects loops that can be followed, got "
                             f"none of Triton's {op.name}")
                ratio = we.instructions / they.instructions
                over += ratio > MOST
                print(f"| {op.name} | {element} | sm_{arch} | {we.instructions:.1f} | "
                      f"{they.instructions:.1f} | {ratio:.2f} | {we.special:.2f} | "
                      f"{they.special:.2f} | {we.loaded:.1f} | {they.loaded:.1f} | "
                      f"{we.stored:.1f} | {they.stored:.1f} | {we.narrowest} |", flush=True)
    return over


def main():
    root = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", default=root.parent / "build/bin")
    parser.add_argument("--venv", default=root.parent / ".venv-peers")
    parser.add_argument("--archs", type=lambda text: [int(word) for word in text.split(",")],
                        default=[80, 90], help="such as 80,90")
    args = parser.parse_args()
    python = pathlib.Path(args.venv) / "bin/python"
    if pathlib.Path(sys.prefix).resolve() != pathlib.Path(args.venv).resolve():
        os.execv(python, [str(python), *sys.argv])
    with tempfile.TemporaryDirectory() as folder:
        over = table(args, pathlib.Path(folder))
    print(f"\n{over} over {MOST}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
