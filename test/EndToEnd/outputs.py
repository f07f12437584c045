#!/usr/bin/env python3
"""Takes away what the tools write to, and ends them by signals.

SPDX-License-Identifier: Apache-2.0

A full disk, a limit on the size of files, a reader that goes away, a terminal
that hangs up: each ends with the documented exit code and a message. No file
appears under its name unless it is whole, and nothing is left beside it.

  outputs.py --bin=build/bin
"""
import fcntl
import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import scratch

MESH = "dp=2 optimizer=sgd lr=0.1"
# Each tool with all that it writes; {} stands for the folder to write to.
WRITERS = [
    ("pp-model", "mlp", "-o", "{}/out.mlir"),
    ("pp-opt", "mlp.mlir", f"--pp-parallelize={MESH}", "-o", "{}/out.mlir"),
    ("pp-opt", "mlp.mlir", f"--pp-parallelize={MESH}", "--emit=ppx", "-o", "{}/out.ppx"),
    ("pp-opt", "mlp.mlir", f"--pp-parallelize={MESH}", "--remarks-filter=.*",
     "--remark-format=yaml", "--remarks-output-file={}/out.yaml", "-o", "/dev/null"),
    ("pp-run", "mlp.mlir", "--quiet", "--steps=1", "--save={}/out.safetensors"),
    ("pp-run", "mlp.mlir", "--quiet", "--steps=1", "--report={}/out.json"),
    ("pp-run", "mlp.mlir", "--quiet", "--steps=1", "--trace={}/out.trace"),
    ("pp-run", "mlp.mlir", "--quiet", "--steps=1", "--plot={}/out.svg"),
    ("pp-run", "mlp.mlir", "--quiet", "--steps=1", "--draw={}/out.svg"),
]
TO_STANDARD_OUTPUT = [
    ("pp-model", "mlp"), ("pp-model", "--help"), ("pp-opt", "mlp.mlir"), ("pp-opt", "--help"),
    ("pp-run", "mlp.mlir", "--steps=2"), ("pp-run", "--help"), ("pp-run", "mlp.mlir", "--verify"),
]


class Judge:
    """Counts what is wrong, and says it."""

    def __init__(self, folder):
        self.folder, self.failures = folder, 0

    def expect(self, condition, what, done=None):
        if not condition:
            self.failures += 1
            print(f"FAILED: {what}")
            if done is not None:
                print(f"  exit {done.returncode}: {done.stderr.strip()}")

    def refused(self, what, done, path=""):
        """A write that failed: code 14, one line that names the file."""
        self.expect(done.returncode == 14, f"{what}: expects exit 14", done)
        self.expect("error:" in done.stderr and path in done.stderr and
                    len(done.stderr.splitlines()) == 1, f"{what}: expects one line", done)


def limit_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, resource.RLIM_INFINITY))


def check_full_disk(run, judge):
    """Neither a half file nor the one before is lost."""
    target = run.folder / "target"
    target.mkdir()
    for tool, *arguments in WRITERS:
        arguments = [a.format(target) for a in arguments]
        name = next(a for a in reversed(arguments) if str(target) in a).rpartition("/")[2]
        what = f"{tool} {name} beyond the limit"
        done = subprocess.run([run.tools / tool, *arguments], cwd=run.folder, text=True,
                              capture_output=True, timeout=60, preexec_fn=limit_files)
        judge.refused(what, done, "" if name == "out.yaml" else "cannot write")
        judge.expect(not list(target.iterdir()), f"{what}: expects no file, got "
                     f"{[f.name for f in target.iterdir()]}")
        # The same on a device that is full.
        arguments = [a.replace(f"{target}/{name}", "/dev/full") for a in arguments]
        judge.refused(f"{tool} {name} on /dev/full", run.call(tool, *arguments),
                      "" if name == "out.yaml" else "/dev/full")
        judge.expect(os.stat("/dev/full").st_mode & 0o170000 == 0o020000,
                     f"{tool} {name}: expects /dev/full to stay a device")
    # What was there before stays.
    (target / "out.mlir").write_text("old")
    done = subprocess.run([run.tools / "pp-model", "mlp", "-o", target / "out.mlir"], text=True,
                          capture_output=True, preexec_fn=limit_files)
    judge.refused("over an older file", done)
    judge.expect((target / "out.mlir").read_text() == "old", "expects the older file to stay")


def check_linking(run, judge):
    """No file is made that a signal could leave behind."""
    done = subprocess.run([run.tools / "pp-opt", "mlp.mlir", f"--pp-parallelize={MESH}",
                           "--emit=ppx", "-o", "linked.ppx"], cwd=run.folder, text=True,
                          capture_output=True, timeout=60,
                          env=dict(os.environ, TMPDIR="/proc/nowhere"))
    judge.expect(done.returncode == 0, "expects to link without a folder for temporary files", done)
    done = run.call("pp-run", "linked.ppx", "--steps=1", "--quiet")
    judge.expect(done.returncode == 0, "expects an artifact that runs", done)


def check_standard_output(run, judge):
    for tool, *arguments in TO_STANDARD_OUTPUT:
        with open("/dev/full", "w") as full:
            done = subprocess.run([run.tools / tool, *arguments], cwd=run.folder, text=True,
                                  stdout=full, stderr=subprocess.PIPE, timeout=60)
        judge.refused(f"{tool} {' '.join(arguments)} > /dev/full", done, "standard output")


def check_closed_streams(run, judge):
    """No file takes the number of a stream, and what was meant for it."""
    saved = run.folder / "closed.safetensors"
    for kernels in ("new", "cached"):
        done = subprocess.run(
            ["/bin/sh", "-c", '"$0" "$@" >&-', run.tools / "pp-run", "mlp.mlir", "--steps=2",
             f"--save={saved}"], cwd=run.folder, text=True, stderr=subprocess.PIPE, timeout=60,
            env={"PATH": "", "XDG_CACHE_HOME": str(run.folder / "closed")})
        judge.refused(f"{kernels} kernels, standard output closed", done, "standard output")
        judge.expect(b"step 1" not in saved.read_bytes(), "expects parameters only")


def start(run, *arguments, steps=100000000, **options):
    """A long run that has done its first step."""
    process = subprocess.Popen(
        [run.tools / "pp-run", "mlp.mlir", f"--steps={steps}", *arguments], cwd=run.folder,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    process.stdout.readline()
    return process


def end(process):
    _, stderr = process.communicate(timeout=60)
    return subprocess.CompletedProcess(process.args, process.returncode, "", stderr)


def word_of(process, name):
    """What /proc says of a process that may be gone."""
    try:
        return Path(f"/proc/{process.pid}/{name}").read_text()
    except OSError:
        return ""


def catches(process, which):
    """Whether a process has a handler for a signal of its own."""
    caught = re.search(r"^SigCgt:\s*(\w+)", word_of(process, "status"), re.MULTILINE)
    return caught is not None and int(caught[1], 16) >> (which - 1) & 1


def wait_until(holds):
    """However busy the machine is; what does not come is for the caller to notice."""
    deadline = time.monotonic() + 60
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.01)


def check_signals(run, judge):
    """A signal ends a run after its step: what it learnt is saved, whole."""
    for name in "SIGINT", "SIGTERM", "SIGHUP", "SIGPIPE":
        kept = run.folder / "kept.safetensors"
        process = start(run, f"--save={kept}")
        process.send_signal(signal.Signals[name])
        done = end(process)
        judge.expect(done.returncode == 130 and "interrupted after" in done.stderr,
                     f"{name}: expects exit 130", done)
        again = run.call("pp-run", "mlp.mlir", "--steps=0", f"--parameters={kept}")
        judge.expect(again.returncode == 0, f"{name}: expects parameters that can be read", again)
        kept.unlink(missing_ok=True)
    # As nohup does. A kernel that is kept is a temporary file first, of which LLVM takes care.
    for cache in "warm", "cold":
        process = start(run, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
                        env=dict(os.environ) if cache == "warm" else
                        dict(os.environ, XDG_CACHE_HOME=str(run.folder / "cold")))
        process.send_signal(signal.SIGHUP)
        # Two more lines: the first may have been written before.
        judge.expect(process.stdout.readline() and process.stdout.readline(),
                     f"{cache} cache: expects an ignored SIGHUP to stay ignored")
        process.send_signal(signal.SIGTERM)
        judge.expect(end(process).returncode == 130, "expects SIGTERM to end it still")


def check_signal_before_results(run, judge):
    """Who is interrupted before there is anything to save says so."""
    for tool in "pp-opt", "pp-run":  # each waits for its module
        process = subprocess.Popen([run.tools / tool, "-"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: catches(process, signal.SIGTERM))
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)
        judge.expect(process.returncode == 130 and
                     process.stderr.read() == f"{tool}: interrupted: there are no results\n",
                     f"{tool}: expects exit 130 with a word")


def check_second_signal(run, judge):
    """Whoever does not want to wait for the save says so again."""
    os.mkfifo(run.folder / "pipe")
    # Nothing is read of it, and little has room: the save waits for ever.
    reader = os.open(run.folder / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)
    process = start(run, "--save=pipe")
    process.send_signal(signal.SIGTERM)
    # The kernel's name for writing into a full pipe.
    wait_until(lambda: "pipe_w" in word_of(process, "wchan"))
    judge.expect(process.poll() is None, "expects the save to wait")
    process.send_signal(signal.SIGINT)
    judge.expect(end(process).returncode == -signal.SIGINT, "expects the second signal to end it")
    os.close(reader)
    done = run.call("pp-run", "mlp.mlir", "--quiet", "--steps=1", "--metrics=pipe")
    judge.refused("metrics without a reader", done, "expects a pipe with a reader")


def check_reader(run, judge):
    """A reader that goes away is an interrupt, not a lost run."""
    kept = run.folder / "kept.safetensors"
    process = start(run, f"--save={kept}", steps=200000)  # a line follows the first within a second
    process.stdout.close()
    process.wait(timeout=60)
    judge.expect(process.returncode == 130 and "interrupted after" in process.stderr.read(),
                 "head: expects exit 130")
    judge.expect(kept.exists(), "head: expects what was learnt")
    kept.unlink(missing_ok=True)


def check_lost_results(run, judge):
    """That results are lost is worse than that the run was interrupted."""
    target = run.folder / "lost"
    target.mkdir()
    process = start(run, f"--save={target}/out.safetensors", f"--report={target}/out.json",
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, -1)))
    process.send_signal(signal.SIGINT)
    done = end(process)
    judge.refused("an interrupted run that cannot save", done, "out.safetensors: cannot write")
    judge.expect("interrupted after" in done.stderr, "expects the cause as well", done)
    judge.expect(not (target / "out.safetensors").exists(), "expects no half file")
    # One result that cannot be written does not cost the others.
    done = run.call("pp-run", "mlp.mlir", "--quiet", "--steps=1", "--save=/dev/full",
                    f"--report={target}/whole.json")
    judge.refused("a save that fails", done, "/dev/full")
    judge.expect((target / "whole.json").exists(), "expects the report all the same")


def check_unreadable_data(run, judge):
    """Data that end in the middle do not cost what was learnt before."""
    run.call("pp-model", "gpt", "--layers=1", "--hidden=8", "--heads=2", "--seq=8", "--batch=2",
             "--vocab=128", "-o", "gpt.mlir")
    (run.folder / "text").write_bytes(b"a" * 100 + b"\xff" * 50)
    done = run.call("pp-run", "gpt.mlir", "--data=text:text", "--save=kept.safetensors")
    judge.refused("a byte that is no token", done, "text: expects integers from 0 to 127")
    judge.expect((run.folder / "kept.safetensors").exists(), "expects what was learnt before", done)
    done = run.call("pp-run", "gpt.mlir", "--steps=0", "--parameters=kept.safetensors")
    judge.expect(done.returncode == 0, "expects parameters that can be read", done)


def main():
    with scratch.from_command_line(__doc__) as run:
        judge = Judge(run.folder)
        done = run.call("pp-model", "mlp", "-o", "mlp.mlir")
        judge.expect(done.returncode == 0, "expects a model", done)
        check_full_disk(run, judge)
        check_linking(run, judge)
        check_standard_output(run, judge)
        check_closed_streams(run, judge)
        check_signals(run, judge)
        check_signal_before_results(run, judge)
        check_second_signal(run, judge)
        check_reader(run, judge)
        check_lost_results(run, judge)
        check_unreadable_data(run, judge)
        left = [f.name for f in run.folder.rglob("*.tmp*")]
        judge.expect(not left, f"expects nothing beside the files, got {left}")
    print(f"{judge.failures} failures")
    return 1 if judge.failures else 0


if __name__ == "__main__":
    sys.exit(main())
