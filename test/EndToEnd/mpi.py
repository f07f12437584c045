#!/usr/bin/env python3
"""Runs programs in the processes that mpirun starts, and as threads.

SPDX-License-Identifier: Apache-2.0

- Under every strategy, losses and saved parameters are the same to the bit,
  however the ranks are spread over processes, from an artifact and from a model.
- The report tells of all ranks, the trace shows them, one process prints.
- What fails in all processes, or in one, is told once, under its code, and leaves
  no file.

  mpi.py --bin=build/bin          # reports, parameters, and failures
  mpi.py --bin=build/bin --all    # all strategies
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import scratch

GPT = "gpt --layers=4 --hidden=32 --heads=4 --seq=16 --batch=16 --vocab=64"
MOE = "moe --layers=2 --hidden=32 --heads=4 --seq=16 --batch=8 --vocab=64 --experts=4"
UNET = "unet --depth=2 --image=8 --width=4 --groups=2 --classes=3 --batch=12"
# Model, strategy, processes.
RUNS = [
    (GPT, "dp=2", 2),
    (GPT, "tp=2", 2),
    (GPT, "pp=2 microbatches=4", 2),
    (GPT, "pp=2 microbatches=4 schedule=gpipe", 2),
    (GPT, "pp=4 microbatches=4 schedule=1f1b", 4),
    (GPT, "dp=4", 4),
    (GPT, "dp=3", 2),
    (GPT, "dp=2 zero=1", 2),
    (GPT, "dp=2 zero=3", 2),
    (GPT, "dp=2 zero=3 pp=2 microbatches=2", 4),
    (GPT, "tp=2 sequence=true", 2),
    (GPT, "dp=2 tp=2", 4),
    (GPT, "dp=2 tp=2 pp=2 microbatches=2", 2),
    (GPT, "dp=2 tp=2 pp=2 microbatches=2", 4),
    (GPT, "dp=2 clip=1 microbatches=2", 2),
    (MOE, "ep=2", 2),
    (MOE, "dp=2 ep=2", 2),
    (GPT, "dp=2 tp=2 pp=2 microbatches=2", 8),
    (GPT, "pp=2 chunks=2 microbatches=4 schedule=interleaved-1f1b", 2),
    (GPT, "pp=4 microbatches=8 schedule=zb-h1", 4),
    (GPT, "pp=3 microbatches=6 schedule=zb-h2 tp=2", 3),
    (MOE, "pp=2 microbatches=4 schedule=zb-v ep=2", 2),
    (UNET, "pp=3 chunks=2 microbatches=3 schedule=interleaved-1f1b", 3),
]
STEPS = 2


def mpirun(count, *arguments):
    return ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none",
            "--host", f"localhost:{count}", "-n", str(count), *map(str, arguments)]


class Judge(scratch.Judge):
    def run(self, count, *arguments):
        """pp-run in so many processes; 0: as threads."""
        command = [self.place.tools / "pp-run", *arguments]
        if count:
            command = mpirun(count, *command, "--launcher=mpi")
        return subprocess.run(command, cwd=self.place.folder, timeout=300, capture_output=True,
                              text=True)


def losses_of(path):
    return [json.loads(line)["loss"] for line in path.read_text().splitlines()]


def check_bits(judge, model, strategy, count, from_model):
    folder = judge.place.folder
    name = f"{model.split()[0]} {strategy} in {count} processes"
    judge.place.make("pp-model", *model.split(), "-o", "m.mlir")
    options = f"{strategy} threads=1 optimizer=adamw lr=1e-2"
    program = ["m.mlir", f"--parallelize={options}"]
    if not from_model:
        judge.place.make("pp-opt", "m.mlir", f"--pp-parallelize={options}", "--emit=ppx",
                         "-o", "m.ppx")
        program = ["m.ppx"]
    results = []
    for processes in (0, count):
        outputs = [folder / f"{processes}.{kind}" for kind in ("st", "jsonl", "json", "trace", "svg")]
        save, metrics, report, trace, picture = outputs
        done = judge.run(processes, *program, f"--steps={STEPS}", f"--save={save}",
                         f"--metrics={metrics}", f"--report={report}", f"--trace={trace}",
                         f"--draw={picture}", "--draw-transfers")
        if done.returncode:
            judge.expect(False, f"{name}: {done.stdout}{done.stderr}")
            return
        judge.expect(done.stdout.count(f"step {STEPS}/{STEPS}") == 1,
                     f"{name}: expects one process to tell, got {done.stdout}")
        told = json.loads(report.read_text())
        judge.expect(all(rank["measured_peak_bytes"] > 0 for rank in told["memory"]),
                     f"{name}: expects measured memory of all ranks, got {told['memory']}")
        spans = {event["pid"] for event in json.loads(trace.read_text())["traceEvents"]
                 if event["ph"] == "X"}
        judge.expect(spans == set(range(told["world"])),
                     f"{name}: expects a trace of all ranks, got {spans}")
        rows = picture.read_text().count(">measured<")
        judge.expect(rows == told["world"], f"{name}: expects a picture of {told['world']} ranks, got {rows}")
        results.append((losses_of(metrics), save.read_bytes()))
        for path in outputs:
            path.unlink()
    judge.expect(results[0][0] == results[1][0],
                 f"{name}: expects losses {results[0][0]}, got {results[1][0]}")
    judge.expect(results[0][1] == results[1][1], f"{name}: expects equal parameters")


def check_failure(judge, what, code, message, count, *arguments):
    done = judge.run(count, *arguments, "--save=failed.st", "--quiet")
    judge.expect(done.returncode == code and done.stderr.count(message) == 1 and
                 "no results" not in done.stderr,
                 f"{what}: expects {code} and once '{message}', got {done.returncode} and "
                 f"{done.stderr}")
    judge.expect(not list(judge.place.folder.glob("failed.st*")), f"{what}: expects no file")


def check_failures(judge):
    judge.place.make("pp-model", *GPT.split(), "-o", "m.mlir")
    program = ["m.mlir", "--parallelize=dp=2 threads=1"]
    check_failure(judge, "too many processes", 2, "expects at most 2 processes", 3, *program)
    check_failure(judge, "far too many processes", 2, "expects at most 2 processes", 5, *program)
    check_failure(judge, "no such model", 14, "none.mlir", 2, "none.mlir")
    check_failure(judge, "no such key", 2, "nothing", 2, "m.mlir", "--parallelize=nothing=2")
    check_failure(judge, "a loss that is not finite", 12, "expects a finite loss", 2, "m.mlir",
                  "--parallelize=dp=2 threads=1 optimizer=sgd lr=1e30", "--steps=20")
    check_failure(judge, "no such parameters", 14, "none.st", 2, *program, "--parameters=none.st")


def check_disagreement(judge):
    """Processes of two builds, of two programs; and all of a command line that is wrong."""
    folder, tools = judge.place.folder, judge.place.tools
    judge.place.make("pp-model", *GPT.split(), "-o", "m.mlir")
    judge.place.make("pp-model", *MOE.split(), "-o", "other.mlir")
    (folder / "bin").mkdir()
    other = folder / "bin" / "pp-run"
    shutil.copy(tools / "pp-run", other)
    with open(other, "ab") as file:
        file.write(b" ")
    (folder / "lib").symlink_to((tools.parent / "lib").resolve())
    options = ["--parallelize=dp=2 threads=1", "--launcher=mpi", "--quiet"]
    for what, code, message, first, second in (
            ("two builds", 6, "the same build of pp-run in all processes", [tools / "pp-run", "m.mlir"],
             [other, "m.mlir"]),
            ("two programs", 6, "the same options in all processes, got 'other.mlir' in process 1 and "
             "'m.mlir' in process 0", [tools / "pp-run", "m.mlir"], [tools / "pp-run", "other.mlir"]),
            ("an option more", 6, "got '--steps=2' in process 1 and '--parallelize=dp=2 threads=1' in "
             "process 0", [tools / "pp-run", "m.mlir"], [tools / "pp-run", "m.mlir", "--steps=2"]),
            ("no such launcher", 2, "threads, mpi, or a command",
             [tools / "pp-run", "m.mlir", "--launcher="], None)):
        command = mpirun(1, *first, *options)
        command[command.index("localhost:1")] = "localhost:2"
        if second:
            command += [":", "--host", "localhost:2", "-n", "1", *map(str, second), *options]
        else:
            command[command.index("-n") + 1] = "2"
        done = subprocess.run(command, cwd=folder, timeout=120, capture_output=True, text=True)
        judge.expect(done.returncode == code and done.stderr.count("pp-run: error: ") == 1 and
                     message in done.stderr,
                     f"{what}: expects {code} and once '{message}', got {done.returncode} and "
                     f"{done.stderr}")
    # Two hosts, with other files under one name.
    text = [folder / name / "text" for name in ("first", "second")]
    for path in text:
        path.parent.mkdir()
        path.write_text(f"{path.parent.name} " * 400)
    options += ["--data=text:text", "--steps=1", str(folder / "m.mlir")]
    command = mpirun(1, "-wdir", text[0].parent, tools / "pp-run", *options)
    command[command.index("localhost:1")] = "localhost:2"
    command += [":", "--host", "localhost:2", "-n", "1", "-wdir", str(text[1].parent),
                str(tools / "pp-run"), *options]
    done = subprocess.run(command, cwd=folder, timeout=120, capture_output=True, text=True)
    judge.expect(done.returncode == 6 and
                 done.stderr.count("the same files of --data in all processes") == 1,
                 f"other data: expects 6, got {done.returncode} and {done.stdout}{done.stderr}")
    # Beside nothing, and on a path without it, there is no library that needs MPI.
    (folder / "lib").unlink()
    done = subprocess.run([other, "m.mlir", "--launcher=mpi"], cwd=folder, timeout=60,
                          capture_output=True, text=True)
    judge.expect(done.returncode == 2 and "install libopenmpi-dev" in done.stderr and
                 all(f"'{folder.resolve()}/{place}/'" in done.stderr for place in ("bin", "lib")) and
                 len(done.stderr.splitlines()) == 1,
                 f"no MPI: expects a line with the places, got {done.returncode} and {done.stderr}")


def check_blocked(judge):
    """One process has stopped; another, or mpirun, is told to end, and all end though the step cannot."""
    command = mpirun(2, judge.place.tools / "pp-run", "m.mlir", "--parallelize=dp=2 threads=1",
                     "--steps=1000000", "--launcher=mpi", "--quiet", "--save=b.st",
                     "--metrics=b.jsonl")
    metrics = judge.place.folder / "b.jsonl"
    for stops, ends in ((1, 0), (0, 1), (1, None)):
        with subprocess.Popen(command, cwd=judge.place.folder, stderr=subprocess.PIPE,
                              text=True) as launched:
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline and not (metrics.exists() and
                                                       metrics.stat().st_size):
                time.sleep(0.05)
            children = sorted(map(int, subprocess.run(
                ["pgrep", "-P", str(launched.pid), "-x", "pp-run"],
                capture_output=True, text=True).stdout.split()))
            os.kill(children[stops], signal.SIGSTOP)
            time.sleep(1)
            began = time.monotonic()
            os.kill(launched.pid if ends is None else children[ends], signal.SIGTERM)
            try:
                errors = launched.communicate(timeout=20)[1]
            except subprocess.TimeoutExpired:
                launched.kill()
                errors = launched.communicate()[1]
            seconds = time.monotonic() - began
        # mpirun has a code of its own. It lets the stopped go on before it tells them to end, so
        # that the step ends; what has not ended, and saved, after a second it kills.
        code, count = (1, 0) if ends is None else (130, 1)
        judge.expect(launched.returncode == code and seconds < 6 and
                     len(re.findall("interrupted (in step|while)", errors)) == count,
                     f"blocked by process {stops}: expects {code} within 6 s, got "
                     f"{launched.returncode} after {seconds:.1f} s and {errors}")
        while left := [child for child in children if pathlib.Path(f"/proc/{child}").exists()]:
            if time.monotonic() > began + 8:
                break
            time.sleep(0.05)
        judge.expect(not left, f"blocked by process {stops}: expects no process, got {left}")
        saved = [path.name for path in judge.place.folder.glob("b.st*")]
        judge.expect(not saved or (ends is None and saved == ["b.st"]),
                     f"blocked by process {stops}: expects no parameters, got {saved}")
        metrics.unlink(missing_ok=True)


def check_verified(judge):
    """Process 0 compares, with the interpreter and a twin that tells gradients."""
    judge.place.make("pp-model", *GPT.split(), "--dtype=f64", "-o", "m64.mlir")
    for strategy, count in (("dp=2 tp=2 pp=2 microbatches=2", 3), ("dp=2 zero=3", 2)):
        done = judge.run(count, "m64.mlir", f"--parallelize={strategy} threads=1", "--verify",
                         f"--steps={STEPS}")
        judge.expect(done.returncode == 0 and done.stdout.count("verify: 2 steps") == 1 and
                     "DIFFERS" not in done.stdout,
                     f"verified {strategy}: {done.stdout}{done.stderr}")


def check_parameters(judge):
    """Each process reads what its ranks hold of a file: nothing is lost or moved, in any layout."""
    folder = judge.place.folder
    judge.run(0, "m.mlir", "--parallelize=dp=2 threads=1", "--steps=1", "--save=whole.st")
    for strategy, count in (("tp=2", 2), ("dp=2 zero=3", 2), ("tp=2 pp=2 microbatches=2", 3)):
        done = judge.run(count, "m.mlir", f"--parallelize={strategy} threads=1 optimizer=sgd lr=0",
                         "--steps=1", "--parameters=whole.st", "--save=again.st")
        judge.expect(done.returncode == 0 and
                     (folder / "again.st").read_bytes() == (folder / "whole.st").read_bytes(),
                     f"parameters over {strategy}: expects those of the file, got {done.stderr}")


def check_launcher(judge):
    """Without --launcher processes of mpirun are one run, not as many runs."""
    command = mpirun(2, judge.place.tools / "pp-run", "m.mlir", "--parallelize=dp=2 threads=1",
                     "--steps=1")
    done = subprocess.run(command, cwd=judge.place.folder, timeout=120, capture_output=True,
                          text=True)
    steps = [line for line in done.stdout.splitlines() if line.startswith("step")]
    judge.expect(done.returncode == 0 and len(steps) == 1 and
                 steps[0].startswith("step 1/1 loss"),
                 f"no launcher: expects one run and no bar, got {done.stdout}{done.stderr}")


def check_other_launchers(judge):
    """Processes that another launcher started, and MPI does not join, do not all run the whole."""
    for rank, size in (("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"), ("PMIX_RANK", "NOBODY_SAYS")):
        for number in (0, 1):
            done = subprocess.run([judge.place.tools / "pp-run", "m.mlir", "--quiet", "--steps=1",
                                   "--save=l.st"], cwd=judge.place.folder, timeout=120,
                                  capture_output=True, text=True,
                                  env={**os.environ, rank: str(number), size: "2"})
            # Of PMIx alone the first cannot know.
            is_refused = number == 1 or rank != "PMIX_RANK"
            tells = is_refused and number == (rank == "PMIX_RANK")
            saved = judge.place.folder / "l.st"
            judge.expect((done.returncode == 2) == is_refused == (not saved.exists()) and
                         ("expects MPI to join" in done.stderr) == tells,
                         f"{rank}={number}: expects {'2' if is_refused else '0'}, got "
                         f"{done.returncode} and {done.stderr}")
            saved.unlink(missing_ok=True)


def check_interruption(judge):
    """One process is told to end: all stop after a step, and save."""
    command = mpirun(2, judge.place.tools / "pp-run", "m.mlir", "--parallelize=dp=2 threads=1",
                     "--steps=1000000", "--launcher=mpi", "--save=i.st", "--metrics=i.jsonl")
    metrics = judge.place.folder / "i.jsonl"
    with subprocess.Popen(command, cwd=judge.place.folder, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True) as launched:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not (metrics.exists() and metrics.stat().st_size):
            time.sleep(0.05)
        children = subprocess.run(["pgrep", "-P", str(launched.pid), "-x", "pp-run"],
                                  capture_output=True, text=True).stdout.split()
        judge.expect(len(children) == 2, f"interrupted: expects two processes, got {children}")
        os.kill(int(children[-1]), signal.SIGTERM)
        try:
            errors = launched.communicate(timeout=30)[1]
        except subprocess.TimeoutExpired:
            launched.kill()
            errors = launched.communicate()[1]
            judge.expect(False, "interrupted: expects an end within 30 s")
    judge.expect(launched.returncode == 130 and errors.count("interrupted after") == 1,
                 f"interrupted: expects 130, got {launched.returncode} and {errors}")
    judge.expect((judge.place.folder / "i.st").exists(), "interrupted: expects parameters")


def main():
    if not shutil.which("mpirun"):
        print("skipped: no MPI")
        return 0
    with scratch.from_command_line(__doc__, "all") as place:
        if not (place.tools.parent / "lib" / "libpprt_mpi.so").exists():
            print("skipped: no MPI")
            return 0
        judge = Judge(place)
        if place.all:
            for number, (model, strategy, count) in enumerate(RUNS):
                check_bits(judge, model, strategy, count, from_model=number % 4 == 0)
        else:
            check_verified(judge)
            check_failures(judge)
            check_parameters(judge)
            check_launcher(judge)
            check_other_launchers(judge)
            check_interruption(judge)
            check_blocked(judge)
            check_disagreement(judge)
    print(f"{judge.failures} failures")
    return 1 if judge.failures else 0


if __name__ == "__main__":
    sys.exit(main())
