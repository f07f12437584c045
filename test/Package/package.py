#!/usr/bin/env python3
"""Installs the runtime, and builds and runs a project that finds it.

SPDX-License-Identifier: Apache-2.0

The project is examples/run: what its programs compute, in C++ and in C, has to
be what pp-run computes from the same artifact and data, to the bit; and so has
what the installed pp-run computes. The library shows what its headers declare
and nothing else, and they all compile there. C needs no FlatBuffers, C++ needs
those of the library. What C is told is the same over threads, MPI and "null".
A backend by the installed headers alone runs a step.

  package.py --build=build --cmake=cmake --generator=Ninja --folder=build/test/package
"""
import argparse
import array
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import time

from calls import call, make

ROOT = pathlib.Path(__file__).resolve().parents[2]
WIDTH, CLASSES, BATCH, STEPS = 48, 16, 32, 4
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", "3"]
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(around LANGUAGES C CXX)
set(CMAKE_CXX_STANDARD 17)
find_package(pprt 0.1 REQUIRED)
add_subdirectory({root}/examples/run run)
add_library(headers OBJECT headers.cpp)
target_link_libraries(headers PRIVATE pprt::pprt)
add_executable(strict strict.c)
set_target_properties(strict PROPERTIES C_STANDARD 99 C_EXTENSIONS OFF)
target_compile_options(strict PRIVATE -Wpedantic)
target_link_libraries(strict PRIVATE pprt::pprt)
add_executable(calls {root}/test/Package/calls.c)
target_link_libraries(calls PRIVATE pprt::pprt)
add_executable(backend {root}/test/Package/backend.cpp)
target_link_libraries(backend PRIVATE pprt::pprt)
add_executable(counted counted.cpp)
target_link_libraries(counted PRIVATE pprt::pprt pprt::counting_malloc)
"""
LANGUAGE = """cmake_minimum_required(VERSION 3.25)
project(one LANGUAGES {languages})
find_package(pprt 0.1 REQUIRED {components})
add_executable(one {root}/examples/run/run-c.c)
target_link_libraries(one PRIVATE pprt::pprt)
"""
STRICT = """#include <pprt/pprt.h>
#include <stdio.h>
int main(void) { return puts(pprt_version()) < 0; }
"""
COUNTED = """#include <pprt/AllocationCounter.h>
#include <cstdlib>
int main() {
  pprt::AllocationCounter counter;
  pprt::attributeAllocations(&counter);
  std::free(std::malloc(1000));
  pprt::attributeAllocations(nullptr);
  return pprt::allocationsAreCounted() && counter.count == 1 && counter.peak >= 1000 ? 0 : 1;
}
"""


def write_batch(folder):
    """One batch for ever, as pp-run and as C read it."""
    for name, kind, values, shape in (
            ("x", "f", [i % 101 / 50 - 1 for i in range(BATCH * WIDTH)], f"({BATCH}, {WIDTH})"),
            ("labels", "i", [i % CLASSES for i in range(BATCH)], f"({BATCH},)")):
        content = array.array(kind, values).tobytes()
        header = f"{{'descr': '<{kind}4', 'fortran_order': False, 'shape': {shape}, }}"
        header += " " * (117 - len(header)) + "\n"
        (folder / f"{name}.raw").write_bytes(content)
        (folder / f"{name}.npy").write_bytes(
            b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + content)


def hidden_and_shown(library, headers):
    """Symbols of the library whose names no header has."""
    names = set(re.findall(r"\w+", "".join(path.read_text() for path in headers)))
    for line in make("nm", "-D", "-C", "--defined-only", library).splitlines():
        symbol = line.split(maxsplit=2)[2]
        name = re.sub(r"\[abi:\w+\]|^(vtable|typeinfo|typeinfo name) for ", "", symbol)
        name = re.sub(r"\(.*", "", name).split("::")[-1].lstrip("~")
        if name not in names and not name.startswith("operator"):
            yield symbol


def build_project(arguments, folder, prefix):
    project = folder / "project"
    project.mkdir()
    public = sorted(path.relative_to(prefix / "include") for path in prefix.rglob("*.h"))
    (project / "headers.cpp").write_text("".join(f"#include <{path}>\n" for path in public))
    (project / "CMakeLists.txt").write_text(PROJECT.format(root=ROOT))
    (project / "strict.c").write_text(STRICT)
    (project / "counted.cpp").write_text(COUNTED)
    make(arguments.cmake, "-G", arguments.generator, "-S", project, "-B", folder / "out",
         f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_C_FLAGS=-Wall -Wextra -Werror",
         "-DCMAKE_CXX_FLAGS=-O0 -Wall -Wextra -Wno-unused-parameter -Werror")
    make(arguments.cmake, "--build", folder / "out", "--parallel", "2")
    return folder / "out"


def check_languages(arguments, folder, prefix):
    """Where there is no FlatBuffers, C is content, and C++ is told what it lacks."""
    for languages, components, is_content in (
            ("C", "", True), ("C CXX", "", False), ("C CXX", "COMPONENTS C", True),
            ("C", "COMPONENTS CXX", False), ("C", "COMPONENTS Fortran", False)):
        project = folder / "language"
        shutil.rmtree(project, ignore_errors=True)
        project.mkdir()
        (project / "CMakeLists.txt").write_text(LANGUAGE.format(
            root=ROOT, languages=languages, components=components))
        done = call(arguments.cmake, "-G", arguments.generator, "-S", project, "-B", project / "out",
                    f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_DISABLE_FIND_PACKAGE_FlatBuffers=ON")
        if is_content:
            make(arguments.cmake, "--build", project / "out")
        lacks = "Fortran" if "Fortran" in components else "FlatBuffers"
        if (done.returncode == 0) != is_content or (not is_content and lacks not in done.stderr):
            yield f"{languages} {components} without FlatBuffers: expects it to " \
                  f"{'be found' if is_content else f'want {lacks}'}, got {done.stderr}"


def check_tools(arguments, folder, prefix):
    """The runtime's pp-run is whole without this tree; the compiler's tools come beside it."""
    tool = prefix / "bin" / "pp-run"
    command = [tool, "mlp.ppx", "--data=npy:.", f"--steps={STEPS}", "--quiet",
               "--save=installed.safetensors"]
    has_mpi = shutil.which("mpirun") and next(prefix.rglob("libpprt_mpi.so"), None)
    for launcher in ([], MPIRUN) if has_mpi else ([],):
        make(*launcher, *command, cwd=folder)
        if (folder / "installed.safetensors").read_bytes() != \
           (folder / "pp-run.safetensors").read_bytes():
            yield f"{launcher} pp-run expects the parameters of pp-run as it was built, got others"
    if "(no compiler)" not in make(tool, "--version"):
        yield "expects the runtime's pp-run to be without the compiler, got one that needs LLVM"
    make(arguments.cmake, "--install", arguments.build, "--component", "pp", "--prefix", prefix)
    make(prefix / "bin" / "pp-model", "mlp", "-o", "installed.mlir", cwd=folder)
    make(prefix / "bin" / "pp-opt", "installed.mlir", "-o", "again.mlir", cwd=folder)
    make(tool, "again.mlir", "--steps=1", "--quiet", cwd=folder)


def check_runs(build, folder, out):
    """Both programs against pp-run: losses, and parameters."""
    tools = build / "bin"
    make(tools / "pp-model", "mlp", "--layers=4", f"--input={WIDTH}", "--hidden=64",
         f"--classes={CLASSES}", f"--batch={BATCH}", "-o", "mlp.mlir", cwd=folder)
    make(tools / "pp-opt", "mlp.mlir", "--pp-parallelize=dp=2 tp=2 pp=2 microbatches=2 "
         "optimizer=adamw lr=0.01", "--emit=ppx", "-o", "mlp.ppx", cwd=folder)
    make(tools / "pp-run", "mlp.ppx", "--data=npy:.", f"--steps={STEPS}", "--quiet",
         "--save=pp-run.safetensors", "--report=report.json", cwd=folder)
    report = json.loads((folder / "report.json").read_text())
    losses = [struct.pack("f", step["loss"]) for step in report["steps"]]
    parameters = (folder / "pp-run.safetensors").read_bytes()
    for name, data in (("run", "npy:."), ("run-c", ".")):
        program = out / "run" / name
        lines = make(program, "mlp.ppx", data, STEPS, f"{name}.safetensors", cwd=folder)
        found = [struct.pack("f", float(line.split()[-1])) for line in lines.splitlines()]
        if len(losses) != STEPS or found != losses:
            yield f"{name} expects the losses of {report['steps']}, got {lines}"
        if (folder / f"{name}.safetensors").read_bytes() != parameters:
            yield f"{name} expects the parameters that pp-run saves, got others"
        yield from check_interrupted(folder, name, [], [program, "mlp.ppx", data], [])
        yield from check_words(folder, name, program, data)
        yield from check_shared(folder, name, [program, "mlp.ppx", data, STEPS], lines, parameters)
        (folder / "bad.ppx").write_bytes((folder / "mlp.ppx").read_bytes()[:-1])
        for artifact, code, text in (("bad.ppx", 3, "bad.ppx"), ("none.ppx", 14, "none.ppx")):
            done = call(program, artifact, data, STEPS, "never.safetensors", cwd=folder)
            if done.returncode != code or text not in done.stderr:
                yield f"{name} {artifact} expects code {code} and '{text}', got {done}"


def check_calls(tools, folder, out):
    """What C is told, over threads, MPI and what only counts; and lack of memory, told once."""
    has_mpi = any(folder.rglob("libpprt_mpi.so")) and shutil.which("mpirun")
    launchers = ((), MPIRUN) if has_mpi else ((),)
    for launcher in launchers:
        for device in ("cpu", "null"):
            done = call(*launcher, out / "calls", "mlp.ppx", device, *(["mpi"] if launcher else []),
                        cwd=folder)
            if done.returncode:
                yield f"calls {launcher} {device} expects success, got {done}"
    done = call(out / "backend", "mlp.ppx", cwd=folder)
    if done.stdout != "launches: some\n":
        yield f"a backend outside of the tree expects launches on each rank, got {done}"
    if not has_mpi:
        return
    make(tools / "pp-model", "mlp", "--layers=3", "--hidden=2048", "-o", "wide.mlir", cwd=folder)
    make(tools / "pp-opt", "wide.mlir", "--pp-parallelize=tp=4 optimizer=sgd", "--emit=ppx", "-o",
         "wide.ppx", cwd=folder)
    done = call(*MPIRUN, out / "calls", "wide.ppx", "memory", "mpi", cwd=folder)
    if done.returncode != 4 or done.stderr.count("out of memory") != 1:
        yield f"calls memory expects code 4 and its cause once, got {done}"


def check_words(folder, name, program, data):
    """What is wrong, told once."""
    for steps in ("0", "-1", "abc", "3x", ""):
        done = call(program, "mlp.ppx", data, steps, "never.safetensors", cwd=folder)
        if done.returncode != 2 or "usage: " not in done.stderr:
            yield f"{name} expects its usage for '{steps}' steps, got {done}"
    if name != "run-c":
        return
    short = folder / "short"
    short.mkdir()
    for file, size, text in (("x.raw", None, "short/x.raw: No such file"),
                             ("x.raw", BATCH * WIDTH * 4, "short/labels.raw: No such file"),
                             ("labels.raw", 8, "short/labels.raw: expects 128 bytes, got fewer"),
                             ("labels.raw", 129, "short/labels.raw: expects 128 bytes, got more")):
        if size is not None:
            (short / file).write_bytes(bytes(size))
        done = call(program, "mlp.ppx", short.name, "1", "never.safetensors", cwd=folder)
        if done.returncode != 14 or done.stderr.count("\n") != 1 or text not in done.stderr:
            yield f"{name} expects code 14 and '{text}' alone, got {done}"


def check_interrupted(folder, name, launcher, command, last):
    """A signal to one process ends all after a step, with parameters; at once, without, where
    another has stopped."""
    # Each tells who it is.
    tells = ["sh", "-c", 'echo $$ > "pid.${OMPI_COMM_WORLD_RANK:-0}" && exec "$0" "$@"']
    for others_stop in (False, True) if launcher else (False,):
        out = folder / "interrupted.safetensors"
        for old in [out, *folder.glob("pid.*")]:
            old.unlink(missing_ok=True)
        line = [*launcher, *tells, *command, 1000000, out.name, *last]
        with subprocess.Popen([str(word) for word in line], cwd=folder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as started:
            started.stdout.readline()
            processes = [int((folder / f"pid.{i}").read_text())
                         for i in range(3 if launcher else 1)]
            if others_stop:
                os.kill(processes[0], signal.SIGSTOP)
                time.sleep(1)  # until the others wait for it
            began = time.monotonic()
            os.kill(processes[-1], signal.SIGINT)
            try:
                errors = started.communicate(timeout=60)[1]
            except subprocess.TimeoutExpired:
                started.kill()
                errors = started.communicate()[1]
            seconds = time.monotonic() - began
        told = "interrupted while waiting|interrupted in step" if others_stop else \
               "interrupted after"
        # Two that notice at the same time that nothing happens may both tell it.
        times = len(re.findall(told, errors))
        if started.returncode != 130 or not 1 <= times <= 1 + others_stop or seconds > 15 or \
           out.exists() == others_stop:
            yield f"{name} {launcher} interrupted, others stopped: {others_stop}, expects 130 " \
                  f"within 15 s and {told}, got {started.returncode} after {seconds:.1f} s, " \
                  f"parameters: {out.exists()}, {errors}"


def check_shared(folder, name, command, lines, parameters):
    """The same in three processes, and what is said of a file that one of them cannot read."""
    if not any(folder.rglob("libpprt_mpi.so")) or not shutil.which("mpirun"):
        return
    shared = folder / f"{name}-mpi.safetensors"
    found = make(*MPIRUN, *command, shared.name, "mpi", cwd=folder)
    if found != lines or shared.read_bytes() != parameters:
        yield f"{name} over MPI expects what threads compute, got {found}"
    yield from check_interrupted(folder, name, MPIRUN, [*command[:3]], ["mpi"])
    done = call(*MPIRUN, command[0], "none.ppx", *command[2:], "never.safetensors", "mpi", cwd=folder)
    if done.returncode != 14 or done.stderr.count("error: ") != 1 or "none.ppx" not in done.stderr:
        yield f"{name} over MPI expects one to say that there is no none.ppx, got {done}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("build", "folder", "cmake", "generator"):
        parser.add_argument(f"--{name}", required=True)
    arguments = parser.parse_args()
    build, folder = (pathlib.Path(path).resolve() for path in (arguments.build, arguments.folder))
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    make(arguments.cmake, "--install", build, "--component", "pprt", "--prefix", folder / "first")
    # A package may be moved.
    prefix = folder / "prefix"
    os.rename(folder / "first", prefix)
    out = build_project(arguments, folder, prefix)
    write_batch(folder)
    errors = [f"expects only what headers declare to be visible, got {symbol}" for symbol in
              hidden_and_shown(next(prefix.rglob("libpprt.so")), prefix.rglob("*.h"))]
    version = make(out / "strict").strip()
    soname = re.search(r"soname: \[(.*)\]", make("readelf", "-d", next(prefix.rglob("libpprt.so"))))
    if not soname or soname[1] != f"libpprt.so.{version.rpartition('.')[0]}":
        errors.append(f"expects a soname with the version {version}, got {soname}")
    if call(out / "counted").returncode:
        errors.append("expects allocations to be counted, got none")
    errors += check_runs(build, folder, out)
    errors += check_calls(build / "bin", folder, out)
    errors += check_languages(arguments, folder, prefix)
    errors += check_tools(arguments, folder, prefix)
    print("\n".join(errors) or "a project of its own computes what pp-run does")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
