#!/usr/bin/env python3
"""Installs what is built, moves it, and builds and runs projects that find it there.

SPDX-License-Identifier: Apache-2.0

A row of PROJECTS is a folder of examples/ and commands with what they print. A project of this
script's own compiles every installed header, takes attributes apart in C, and trains. Others ask
for what there is not, and are told so.

  projects.py --build=build --cmake=cmake --generator=Ninja --folder=build/test/projects \\
    --llvm=/usr/lib/llvm-22/bin
"""
import argparse
import os
import pathlib
import re
import shutil
import sys

from calls import call, make

ROOT = pathlib.Path(__file__).resolve().parents[2]
PARALLELIZE = "--pass-pipeline=builtin.module(pp-parallelize{dp=2 tp=2 pp=2 microbatches=2})"
PARTITION = "--pass-pipeline=builtin.module(pp-annotate-shardings,pp-propagate-shardings," \
            "pp-pad-dimensions,pp-partition,pp-optimize-collectives)"

# A folder of examples/, a program of it with its arguments, and a regular expression for what it
# prints; or "pp-opt", for what pp-opt prints with PARALLELIZE.
PROJECTS = (
    ("opt", ["my-opt", "gpt.mlir", PARALLELIZE], "pp-opt"),
    ("opt", ["my-opt", ROOT / "examples/opt/seeds.mlir", PARTITION],
     r"all_reduce sum %2 over @mesh \[\"tp\"\] : \(tensor<4x16xf32>\)"),
    ("pass", ["pass", "gpt.mlir", "--pass-pipeline=builtin.module(func.func(count-flops))",
              "--mlir-print-op-on-diagnostic=false"],
     r"remark: [1-9]\d+ operations, [1-9]\d+ of them in products"),
    ("capi", ["capi", "gpt.mlir", "dp=2 tp=2 pp=2 microbatches=2"], "pp-opt"),
    ("capi", ["capi", "gpt.mlir", "dq=2"], "unknown key 'dq'; did you mean 'dp'"),
    ("planner", ["planner", "3", "6"],
     r"stage 0: ops 0 to 5\nstage 1: ops 6 to 10\nstage 2: ops 11 to 13\n(stage.*\n){3}"
     r"step: 480.0 ms, bubble: 36.4%\nkeeps 4096 bytes, computes 10 FLOPs again"),
    ("planner", ["planner", "100", "1"], "expects at most 14 stages"),
    ("planner", ["planner", "2", "0"], "expects at least 1 stage and 1 micro-batch, got 2 and 0"),
)

# find_package's arguments, and what CMake says of them; nothing if all is there.
QUESTIONS = (
    ("PP 0.1 REQUIRED", None),
    ("PP 0.1 REQUIRED COMPONENTS Runtime", None),
    ("PP 0.1 REQUIRED COMPONENTS Planner Nothing",
     r"expects the components\s+Planner,\s+Runtime,\s+IR\s+and\s+Passes,\s+got\s+Nothing"),
    ("PP 0.2 REQUIRED", r"compatible\s+with\s+requested\s+version\s+\"0.2\""),
)
HEADERS = """cmake_minimum_required(VERSION 3.25)
project(headers LANGUAGES C CXX)
set(CMAKE_CXX_STANDARD 17)
find_package(PP 0.1 REQUIRED)
add_executable(headers headers.cpp)
target_link_libraries(headers PRIVATE PP::Passes PP::Planner PP::Runtime PP::StableHLOReader)
add_executable(attributes {root}/test/Package/attributes.c)
set_target_properties(attributes PROPERTIES C_STANDARD 11 C_EXTENSIONS OFF)
target_compile_options(attributes PRIVATE -Wall -Wextra -Wpedantic -Werror)
target_link_libraries(attributes PRIVATE PP::CAPI)
add_executable(embed {root}/examples/embed/embed.cpp)
target_link_libraries(embed PRIVATE PP::Models PP::Passes)
"""
MAIN = """int main() {
  mlir::DialectRegistry registry;
  pp::registerAllDialects(registry);
  pp::registerStableHLOReader(registry);
  pp::registerAllPasses();
}
"""
QUESTION = """cmake_minimum_required(VERSION 3.25)
project(question LANGUAGES C CXX)
find_package({})
"""


def configure(arguments, source, out, prefix, **options):
    return call(arguments.cmake, "-G", arguments.generator, "-S", source, "-B", out,
                f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_CXX_FLAGS=-O0", **options)


def build(arguments, source, out, prefix):
    done = configure(arguments, source, out, prefix)
    if done.returncode:
        print(done.stdout + done.stderr, file=sys.stderr)
    done.check_returncode()
    make(arguments.cmake, "--build", out, "--parallel", "2")


def check_paths(arguments, folder, prefix):
    """What is installed names neither this tree nor its build, nor where it was first."""
    for path in sorted(prefix.rglob("*")):
        if path.suffix in {".cmake", ".h", ".inc", ".td"}:
            for place in (ROOT, arguments.build.resolve(), folder / "first"):
                if str(place) in path.read_text():
                    yield f"{path} expects no path of the build, got {place}"


def check_headers(arguments, folder, prefix):
    project = folder / "headers"
    project.mkdir()
    names = sorted(path.relative_to(prefix / "include") for path in prefix.glob("include/pp*/**/*.h")
                   if "pprt" not in path.parts)
    (project / "headers.cpp").write_text(
        "".join(f"#include <{name}>\n" for name in names) + MAIN)
    (project / "CMakeLists.txt").write_text(HEADERS.format(root=ROOT))
    build(arguments, project, folder / "headers-out", prefix)
    make(folder / "headers-out" / "headers")
    if "step 3 loss" not in make(folder / "headers-out" / "embed"):
        yield "embed.cpp expects three steps, got fewer"
    if line := call(folder / "headers-out" / "attributes").returncode:
        yield f"attributes.c expects what its line {line} says"
    if len(names) < 50:
        yield f"expects the headers of the compiler, got {names}"


def check_questions(arguments, folder, prefix):
    project = folder / "question"
    project.mkdir()
    for words, answer in QUESTIONS:
        (project / "CMakeLists.txt").write_text(QUESTION.format(words))
        done = configure(arguments, project, folder / "question-out", prefix)
        if (done.returncode == 0) != (answer is None) or (answer and not re.search(answer, done.stderr)):
            yield f"find_package({words}) expects {answer or 'success'}, got {done.stderr}"


def check_projects(arguments, folder, prefix):
    tools = prefix / "bin"
    make(tools / "pp-model", "gpt", "--layers=2", "--hidden=32", "--heads=2", "--seq=8", "--vocab=32", "--batch=4",
         "-o", "gpt.mlir", cwd=folder)
    whole = make(tools / "pp-opt", "gpt.mlir", PARALLELIZE, cwd=folder)
    plugin = next(prefix.rglob("PPPlugin.so"))
    if make(arguments.llvm / "mlir-opt", f"--load-dialect-plugin={plugin}", f"--load-pass-plugin={plugin}",
            "gpt.mlir", PARALLELIZE, cwd=folder) != whole:
        yield "mlir-opt with the plugin expects what pp-opt prints, got something else"
    make(tools / "pp-lsp-server", "--help")
    for name in dict.fromkeys(row[0] for row in PROJECTS):
        build(arguments, ROOT / "examples" / name, folder / name, prefix)
    for name, (program, *words), expected in PROJECTS:
        done = call(folder / name / program, *words, cwd=folder)
        if expected == "pp-opt":
            is_right = done.stdout == whole
        else:
            is_right = re.search(expected, done.stdout + done.stderr)
        if not is_right:
            yield f"{name}: {program} {words} expects {expected}, got {done.stdout[:2000]} {done.stderr[:2000]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("build", "folder", "llvm"):
        parser.add_argument(f"--{name}", required=True, type=pathlib.Path)
    for name in ("cmake", "generator"):
        parser.add_argument(f"--{name}", required=True)
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for component in ("pprt", "pp", "ppdev"):
        make(arguments.cmake, "--install", arguments.build, "--component", component, "--prefix", folder / "first")
    # A package may be moved.
    prefix = folder / "prefix"
    os.rename(folder / "first", prefix)
    errors = [*check_paths(arguments, folder, prefix), *check_questions(arguments, folder, prefix),
              *check_projects(arguments, folder, prefix), *check_headers(arguments, folder, prefix)]
    print("\n".join(errors) or "projects find the package and build with it")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
