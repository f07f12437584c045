#!/usr/bin/env python3
"""Judges the kernels of GPUs by what ptxas makes of them, without a GPU.

SPDX-License-Identifier: Apache-2.0

Of small models of each family and of each architecture: a line per kernel with its
registers, spills, local and shared memory, the occupancy that they allow, and how many of
its accesses to global memory move 128 bits. It fails for a kernel with spills or local
memory; of most models, for one with sums that lanes do not share, too, and for one whose rows
are whole vectors that has narrower accesses beside those of its gate, of scalars and of what
a row has one of.

Numbers are read from the machine code (nvdisasm); where that is missing, from the PTX.

  static.py --bin=build/bin --ptxas=PATH [--nvdisasm=PATH] [--model=NAME]
"""
import collections
import math
import pathlib
import re
import sys
import tempfile

from commands import run

# Of one multiprocessor (CUDA C++ Programming Guide, "Technical Specifications per Compute
# Capability"). Registers are given to warps in units, shared memory to blocks, each of which
# has some of the system's besides.
Limits = collections.namedtuple(
    "Limits", "warps blocks registers register_unit shared shared_unit shared_of_system")
LIMITS = {
    "sm_80": Limits(64, 32, 65536, 256, 164 << 10, 128, 1 << 10),
    "sm_90": Limits(64, 32, 65536, 256, 228 << 10, 128, 1 << 10),
    "sm_100": Limits(64, 32, 65536, 256, 228 << 10, 128, 1 << 10),
}
# Rows that vectors divide and, in some models, rows that they do not; rows that are too long
# for few lanes, of numbers that take two registers, too.
SIZES = "--layers=1 --hidden=64 --heads=4 --seq=32 --batch=4 --vocab="
NARROW = "--hidden=64 --heads=4 --seq=32 --batch=4 --vocab=96"
TRAIN = "microbatches=2 optimizer=adamw clip=1"
ONCE = "optimizer=adamw clip=1"
MODELS = {
    "mlp": ("mlp --layers=2 --hidden=64 --input=32 --batch=8", TRAIN),
    "gpt": ("gpt " + SIZES + "96", TRAIN),
    "gpt-bf16": ("gpt --dtype=bf16 " + SIZES + "96", TRAIN),
    "gpt-odd": ("gpt --layers=1 --hidden=36 --heads=2 --seq=17 --batch=2 --vocab=51", TRAIN),
    "gpt-768": ("gpt --layers=1 --hidden=768 --heads=12 --seq=128 --batch=1 --vocab=8192", ONCE),
    "gpt-f64": ("gpt --dtype=f64 --layers=1 --hidden=1024 --heads=16 --seq=128 --batch=1 "
                "--vocab=32768", ONCE),
    "moe": ("moe --experts=4 --moe-every=1 " + SIZES + "96", TRAIN),
    # A fault of depth shows at any width.
    "deep-48": ("gpt --layers=48 " + NARROW, "tp=2 sequence=true optimizer=adamw clip=1"),
    "readme": ("gpt --layers=4 --hidden=64 --heads=4 --seq=32 --batch=8 --vocab=96",
               "dp=2 tp=2 pp=2 microbatches=4 schedule=1f1b optimizer=adamw"),
    "resnet-64": ("resnet --image=64 --batch=32", "optimizer=momentum"),
    "unet-default": ("unet", "optimizer=momentum"),
    "resnet": ("resnet --norm=group --groups=2 --width=4 --batch=2 --image=16 --classes=8",
               "optimizer=momentum"),
    "unet": ("unet --groups=2 --width=4 --batch=2 --image=16 --depth=1", "optimizer=momentum"),
}
# Judged by spills and local memory alone: statistics of a channel are rows of elements that lie
# far apart.
FOR_SPILLS = ("resnet-64", "unet-default")
# What moves elements along, or makes them of neighbours in the row: each vector read is one
# stored. Other ops may read or write elements that do not lie side by side.
SIDE_BY_SIDE = set("""
    abs add and argmax axis_index broadcast compare constant convert cos div erf exp iota log
    logistic max min mul neg not or pow random_bits reduce reshape rsqrt select sign sin sqrt
    stop_gradient sub tanh
    """.split())
BYTES = {"f64": 8, "i64": 8, "f32": 4, "i32": 4, "bf16": 2, "f16": 2, "i8": 1, "i1": 1}
VECTOR = 16

Kernel = collections.namedtuple("Kernel", "symbol form ops written read block")


def parse_type(text):
    *shape, element = text.split("x")
    return [int(size) for size in shape], BYTES[element]


def kernels_of(ptx):
    """What the compiler wrote above each kernel."""
    found = {}
    for symbol, form, ops, written, read in re.findall(
            r"^// (\w+): ([^:]+): ([^;]*); (.*) from ?(.*)$", ptx, re.M):
        block = re.search(rf"\.entry {symbol}\(.*?\.reqntid (\d+)", ptx, re.S)
        found[symbol] = Kernel(symbol, form, ops.split(), [parse_type(t) for t in written.split()],
                               [parse_type(t) for t in read.split()], int(block.group(1)))
    entries = set(re.findall(r"\.entry (\w+)\(", ptx))
    if entries != set(found):
        sys.exit(f"static.py: expects a line above each kernel, got none for "
                 f"{sorted(entries - set(found))}")
    return found


def resources_of(text):
    """By symbol, what `ptxas -v` says."""
    found = {}
    for part in re.split(r"Compiling entry function '", text)[1:]:
        number = lambda pattern: int((re.search(pattern, part) or [0, 0])[1])
        found[part.partition("'")[0]] = {
            "registers": number(r"Used (\d+) registers"),
            "spilled": number(r"(\d+) bytes spill stores") + number(r"(\d+) bytes spill loads"),
            "local": number(r"(\d+) bytes stack frame"),
            "shared": number(r"(\d+) bytes smem"),
        }
    return found


def accesses_in_code(text):
    """By symbol, (of 128 bits or more, narrower) in what nvdisasm printed."""
    found = {}
    for part in re.split(r"^\s*\.section\s+\.text\.", text, flags=re.M)[1:]:
        symbol = re.match(r"\w+", part).group()
        words = re.findall(r"\b(?:LDG|STG|LD|ST|RED|ATOMG?)\.(\S+)", part)
        wide = sum("128" in word or "256" in word for word in words)
        found[symbol] = (wide, len(words) - wide)
    return found


def accesses_in_ptx(ptx):
    found = {}
    for part in re.split(r"\.entry ", ptx)[1:]:
        words = re.findall(r"\b(?:ld|st|red|atom)\.global\.(\S+)", part)
        wide = sum(bool(re.search(r"v4\.\w32|v2\.\w64", word)) for word in words)
        found[part.partition("(")[0]] = (wide, len(words) - wide)
    return found


def occupancy(kernel, resources, limits):
    """Which part of a multiprocessor's warps can be there at once."""
    up = lambda number, unit: -(-number // unit) * unit
    warps = up(kernel.block, 32) // 32
    registers = up(max(resources["registers"], 1) * 32, limits.register_unit)
    shared = up(resources["shared"] + limits.shared_of_system, limits.shared_unit)
    blocks = min(limits.blocks, limits.warps // warps,
                 limits.registers // registers // warps, limits.shared // shared)
    return blocks * warps / limits.warps


def wants_vectors(kernel):
    """Whether all that it reads and stores lies in whole vectors, side by side."""
    tensors = [(shape, size) for shape, size in kernel.written + kernel.read if shape]
    return (set(kernel.ops) <= SIDE_BY_SIDE and tensors and
            all(shape[-1] * size % VECTOR == 0 for shape, size in tensors))


def most_narrow(kernel):
    """Accesses of a kernel of vectors that are none: its gate, scalars, and one of each tensor
    that is smaller than others, such as the statistics of rows, or of a narrower type, of which
    as many elements are fewer bytes; two of one that is overwritten."""
    tensors = [(math.prod(shape), size) for shape, size in 2 * kernel.written + kernel.read]
    largest, widest = (max(values) for values in zip(*tensors))
    return 1 + sum(count < largest or size < widest for count, size in tensors)


def judge(kernel, resources, wide, narrow, is_for_spills):
    if resources["spilled"]:
        yield f"expects no spill, got {resources['spilled']} bytes"
    if resources["local"]:
        yield f"expects no local memory, got {resources['local']} bytes"
    if is_for_spills:
        return
    if "sums apart" in kernel.form:
        yield f"expects sums that lanes share, got {kernel.form}"
    if wants_vectors(kernel):
        if not wide:
            yield "expects accesses of 128 bits, got none"
        if narrow > most_narrow(kernel):
            yield f"expects {most_narrow(kernel)} narrower accesses at most, got {narrow}"


class Table:
    """Kernels of models, line by line; what is wrong with them is kept for the end."""

    def __init__(self, tools, ptxas, nvdisasm, folder):
        self.tools, self.ptxas, self.nvdisasm, self.folder = tools, ptxas, nvdisasm, folder
        self.errors, self.count = [], 0

    def add_model(self, name):
        model, keys = MODELS[name]
        source, artifact = self.folder / "model.mlir", self.folder / "model.ppx"
        run(self.tools / "pp-model", *model.split(), "-o", source)
        run(self.tools / "pp-opt", source, f"--pp-parallelize={keys}", "--emit=ppx",
            f"--targets={','.join(LIMITS)}", "-o", artifact)
        for target in LIMITS:
            path = self.folder / "code.ptx"
            run(self.tools / "pp-run", artifact, f"--target={target}", "--dry-run", "--quiet",
                f"--code={path}")
            self.add_image(name, target, path)

    def add_image(self, name, target, path):
        ptx, cubin = path.read_text(), self.folder / "code.cubin"
        resources = resources_of(run(self.ptxas, "-v", f"-arch={target}", path, "-o", cubin))
        is_for_spills = name in FOR_SPILLS
        accesses = (accesses_in_code(run(self.nvdisasm, "-c", cubin))
                    if self.nvdisasm and not is_for_spills else accesses_in_ptx(ptx))
        print(f"\n{name} {target}\n{'registers':>9} {'spill':>5} {'local':>5} {'shared':>6} "
              f"{'occup.':>6} {'128':>4} {'less':>4}  kernel")
        for symbol, kernel in sorted(kernels_of(ptx).items()):
            of, (wide, narrow) = resources[symbol], accesses[symbol]
            print(f"{of['registers']:9} {of['spilled']:5} {of['local']:5} {of['shared']:6} "
                  f"{occupancy(kernel, of, LIMITS[target]):6.0%} {wide:4} {narrow:4}  "
                  f"{symbol[:12]} {kernel.form}: {' '.join(kernel.ops)[:80]}")
            self.errors += [f"{name} {target} {symbol}: {error}"
                            for error in judge(kernel, of, wide, narrow, is_for_spills)]
            self.count += 1


def main():
    arguments = dict(word.lstrip("-").split("=", 1) for word in sys.argv[1:])
    ptxas, nvdisasm = arguments["ptxas"], arguments.get("nvdisasm")
    if not ptxas:
        print("skipped: no ptxas (scripts/install-dependencies --cuda)")
        return 0
    print(f"accesses as {'nvdisasm shows them' if nvdisasm else 'in PTX: there is no nvdisasm'}")
    with tempfile.TemporaryDirectory() as folder:
        table = Table(pathlib.Path(arguments["bin"]).resolve(), ptxas, nvdisasm,
                      pathlib.Path(folder))
        for name in [arguments["model"]] if "model" in arguments else MODELS:
            table.add_model(name)
    print(f"\n{table.count} kernels")
    for error in table.errors:
        print(error)
    return 1 if table.errors else 0


if __name__ == "__main__":
    sys.exit(main())
