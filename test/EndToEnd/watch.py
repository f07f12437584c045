#!/usr/bin/env python3
"""Watches runs in all the ways there are.

SPDX-License-Identifier: Apache-2.0

Lines of --metrics, TensorBoard's own reader, a picture, a scrape as Prometheus
makes it and a terminal show the same numbers, also of a run that goes on from a
checkpoint. What cannot be written is told once, and training goes on.

  watch.py --bin=build/bin [--tensorboard]

With --tensorboard TensorBoard alone is asked, that of this Python or of
.venv-peers; without any the test is skipped.
"""
import json
import math
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
import xml.dom.minidom
from pathlib import Path

import scratch

KEYS = "--parallelize=dp=2 optimizer=adam lr=0.01 warmup=4 clip=1"
READ_EVENTS = """
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0}).Reload()
print(json.dumps({tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}))
"""


def find_tensorboard():
    """A Python that has it, or None."""
    peers = Path(__file__).resolve().parents[2] / ".venv-peers/bin/python"
    for python in sys.executable, str(peers):
        if os.path.exists(python) and subprocess.run([python, "-c", "import tensorboard"],
                                                     capture_output=True).returncode == 0:
            return python
    return None


def read_lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def numbers_of(line):
    """What TensorBoard shows of a line."""
    return {"loss": line["loss"], **line["metrics"],
            **{key: line[key] for key in ("ms", "items_per_s", "rss_bytes")}}


def check_lines(lines, judge):
    judge.expect([line["step"] for line in lines] == list(range(1, len(lines) + 1)),
                 f"expects every step once, got {[line['step'] for line in lines]}")
    for line in lines:
        rate = 0.01 * min(1, line["step"] / 4)
        judge.expect(math.isclose(line["metrics"]["learning_rate"], rate, rel_tol=1e-12),
                     f"expects a learning rate of {rate}, got {line}")
        judge.expect(line["metrics"]["grad_norm"] > 0, f"expects a norm, got {line}")
        # 32 samples; there may be a wait for data beside the step.
        judge.expect(0 < line["items_per_s"] <= 32e3 / line["ms"] * 1.001,
                     f"expects samples per second of the step, got {line}")
        judge.expect(1 << 22 < line["rss_bytes"] < 1 << 40, f"expects the process, got {line}")


def check_events(python, folder, lines, judge):
    """TensorBoard reads what the lines say."""
    done = subprocess.run([python, "-c", READ_EVENTS, folder], capture_output=True, text=True, timeout=120)
    judge.expect(done.returncode == 0, f"expects TensorBoard to read {folder}, got {done.stderr}")
    if done.returncode:
        return
    scalars = json.loads(done.stdout)
    judge.expect(set(scalars) == set(numbers_of(lines[0])), f"expects all numbers, got {set(scalars)}")
    for tag, events in scalars.items():
        wanted = [(line["step"], numbers_of(line)[tag]) for line in lines]
        judge.expect([step for step, _ in events] == [step for step, _ in wanted],
                     f"expects every step of {tag} once, got {events}")
        judge.expect(all(math.isclose(value, its, rel_tol=1e-6)
                         for (_, value), (_, its) in zip(events, wanted)),
                     f"expects {wanted} of {tag}, got {events}")


def check_plot(path, steps, judge):
    picture = xml.dom.minidom.parse(str(path))
    texts = [text.firstChild.data for text in picture.getElementsByTagName("text") if text.firstChild]
    judge.expect("loss of mlp.mlir" in texts and KEYS.partition("=")[2] in texts,
                 f"expects the model and its keys, got {texts}")
    # The line that smooths them has a point for each step.
    points = picture.getElementsByTagName("polyline")[0].getAttribute("points").split()
    judge.expect(len(points) == steps, f"expects {steps} points, got {len(points)}")
    across = [float(point.partition(",")[0]) for point in points]
    judge.expect(across == sorted(set(across)), f"expects steps from left to right, got {across}")


def check_files(run, judge):
    """All files of a run, and of one that goes on from it."""
    files = ["--metrics=run.jsonl", "--tensorboard=events", "--plot=loss.svg"]
    told = run.make("pp-run", "mlp.mlir", KEYS, "--steps=6", "--checkpoint=saved", "--save=w.safetensors",
                    "--report=r.json", *files)
    events = [f"events/{file.name}" for file in (run.folder / "events").iterdir()]
    wrote = f"wrote w.safetensors (SIZE), r.json, run.jsonl, {events[0]}, loss.svg, saved/step-6"
    last = re.sub(r"\([\d.]+ KiB\)", "(SIZE)", told.splitlines()[-1])
    judge.expect(last == wrote, f"expects {wrote}, got {last}")
    first = (run.folder / "run.jsonl").read_text()
    judge.expect(run.make("pp-run", "mlp.mlir", KEYS, "--steps=9", "--checkpoint=saved", "--resume", "--quiet",
                          *files) == "", "expects a quiet run to say nothing")
    lines = read_lines(run.folder / "run.jsonl")
    judge.expect((run.folder / "run.jsonl").read_text().startswith(first) and len(lines) == 9,
                 f"expects the earlier lines first, got {lines}")
    check_lines(lines, judge)
    check_plot(run.folder / "loss.svg", 9, judge)
    judge.expect(len(list((run.folder / "events").iterdir())) == 2, "expects a file of events for each run")


def check_tensorboard(run, judge):
    """Of a run, and of one that goes on from it in the same folder."""
    python = find_tensorboard()
    if not python:
        print("skipped: no tensorboard; scripts/install-frameworks installs it")
        return
    files = ["--metrics=run.jsonl", "--tensorboard=events", "--checkpoint=saved", "--resume", "--quiet"]
    for steps in 6, 9:
        run.make("pp-run", "mlp.mlir", KEYS, f"--steps={steps}", *files)
    check_events(python, run.folder / "events", read_lines(run.folder / "run.jsonl"), judge)


def start(run, *arguments):
    """A long run, and the first line it says."""
    process = subprocess.Popen([run.tools / "pp-run", "mlp.mlir", "--steps=100000000", *arguments],
                               cwd=run.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return process, process.stdout.readline()


def get(address):
    with urllib.request.urlopen(address, timeout=30) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def check_server(run, judge):
    """Who asks sees steps go by; the port is taken meanwhile."""
    process, line = start(run, "--listen=0", KEYS)
    address = line.split()[-1]
    judge.expect(re.fullmatch(r"metrics at http://127\.0\.0\.1:\d+/metrics", line.strip()),
                 f"expects an address, got {line}")
    port = address.split(":")[2].partition("/")[0]
    taken = run.call("pp-run", "mlp.mlir", f"--listen={port}", "--metrics=none.jsonl")
    judge.expect(taken.returncode == 2 and f"'--listen' expects a free port of this host, got 127.0.0.1:{port}"
                 in taken.stderr, f"expects a refusal, got {taken}")
    judge.expect(not (run.folder / "none.jsonl").exists(), "expects no training on a port that is taken")
    seen = []
    deadline = time.monotonic() + 60
    while len(seen) < 2 and time.monotonic() < deadline:
        kind, text = get(address)
        values = {name: float(value) for name, value in
                  (line.rsplit(" ", 1) for line in text.splitlines() if line[:1] != "#")}
        if values["pp_step"] > (seen[-1]["pp_step"] if seen else 0):
            seen.append(values)
    judge.expect(len(seen) == 2, f"expects steps to go by, got {seen}")
    judge.expect(kind.startswith("text/plain; version=0.0.4"), f"expects Prometheus' format, got {kind}")
    for name in ("pp_loss", "pp_step_seconds", "pp_samples_per_second", "pp_resident_bytes",
                 'pp_metric{name="grad_norm"}', 'pp_metric{name="learning_rate"}'):
        judge.expect(seen and seen[-1].get(name, 0) > 0, f"expects {name}, got {seen}")
    judge.expect(values["pp_steps_planned"] == 1e8, f"expects the number of steps, got {values}")
    try:
        get(address.replace("/metrics", "/"))
        judge.expect(False, "expects no other page")
    except urllib.error.HTTPError as error:
        judge.expect(error.code == 404, f"expects no other page, got {error}")
    # A reader that leaves in the middle is no broken pipe of the run.
    for _ in range(3):
        reader = subprocess.run(["bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{port}; "
                                 "printf 'GET /metrics HTTP/1.0\\r\\n\\r\\n' >&3"], timeout=30)
        judge.expect(reader.returncode == 0, "expects a connection")
    get(address)
    judge.expect(process.poll() is None, "expects the run to go on")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    judge.expect(process.returncode == 130, f"expects the signal to end it, got {process.returncode}")


def show(run, *arguments, **environment):
    """What a terminal of 100 columns gets."""
    ours, its = pty.openpty()
    process = subprocess.Popen([run.tools / "pp-run", *arguments], cwd=run.folder, stdout=its,
                               stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                               env=dict(os.environ, **environment))
    os.close(its)
    text = b""
    while select.select([ours], [], [], 120)[0]:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        text += part
    os.close(ours)
    _, error = process.communicate(timeout=120)
    return process.returncode, text.decode().replace("\r\n", "\n"), error.decode()


def visible(text):
    """The lines that stay: what is written over is gone."""
    lines = []
    for line in text.split("\n"):
        cells = []
        for part in line.split("\r"):
            cells[:len(part)] = part
        lines.append("".join(cells).rstrip())
    return lines


def check_terminal(run, judge):
    """A line for every so many steps, above the one that is redrawn."""
    code, text, error = show(run, "mlp.mlir", "--steps=6", "--log-every=2", "--save=w.safetensors")
    shown = [re.match(r"(step \d/6|wrote w.safetensors)( \[#+\])?|$", line) for line in visible(text)]
    judge.expect(code == 0 and [line and line[0] for line in shown] ==
                 ["step 2/6", "step 4/6", "step 6/6", "step 6/6 [####################]",
                  "wrote w.safetensors", ""],
                 f"expects a line for each two steps, got {text!r} {error}")
    lines = run.make("pp-run", "mlp.mlir", "--steps=6", "--log-every=4").splitlines()
    judge.expect([line.split()[1] for line in lines] == ["1/6", "4/6", "6/6"],
                 f"expects the first step, the fourth and the last, got {lines}")
    # Compiling takes a second where the model is deep and no kernel is kept.
    run.make("pp-model", "gpt", "--layers=120", "--hidden=32", "--heads=4", "--seq=16", "--batch=8", "--vocab=64",
             "-o", "deep.mlir")
    deep = ["deep.mlir", "--parallelize=dp=2 tp=2 pp=2 microbatches=2", "--dry-run"]
    code, text, error = show(run, *deep)
    judge.expect(code == 0 and text.startswith("\rcompiling ... 1 s"),
                 f"expects a word of compiling, got {text[:200]!r} {error}")
    judge.expect(not any("compiling" in line for line in visible(text)), "expects it to be gone")
    for quiet in show(run, *deep, "--quiet")[1], run.make("pp-run", *deep):
        judge.expect("compiling" not in quiet, f"expects no word of it, got {quiet[:200]!r}")


def check_failures(run, judge):
    """A full disk is told, and costs neither the run nor the other files."""
    done = run.call("pp-run", "mlp.mlir", "--steps=5", "--metrics=/dev/full", "--plot=left.svg",
                    "--save=left.safetensors")
    judge.expect(done.returncode == 14 and "step 5/5" in done.stdout, f"expects training to go on, got {done}")
    error = "/dev/full: cannot write: No space left on device"
    judge.expect(done.stderr.splitlines() ==
                 [f"pp-run: warning: step 1: {error}; training goes on without it", f"pp-run: error: {error}"],
                 f"expects the failure at once, and at the end, got {done.stderr}")
    judge.expect((run.folder / "left.svg").exists() and (run.folder / "left.safetensors").exists(),
                 "expects the other files")
    judge.expect("/dev/full" not in done.stdout and "left.svg" in done.stdout.splitlines()[-1],
                 f"expects the files that are whole, got {done.stdout}")
    # The curve of a run that went wrong is what one wants to see: here a point.
    done = run.call("pp-run", "mlp.mlir", "--steps=200", "--plot=wrong.svg",
                    "--parallelize=optimizer=sgd lr=1e38", "--metrics=wrong.jsonl", "--quiet")
    judge.expect(done.returncode == 12 and "<circle" in (run.folder / "wrong.svg").read_text(),
                 f"expects a picture of what went wrong, got {done}")


def main():
    with scratch.from_command_line(__doc__, "tensorboard") as run:
        judge = scratch.Judge(run.folder)
        run.make("pp-model", "mlp", "-o", "mlp.mlir")
        checks = [check_files, check_server, check_terminal, check_failures]
        for check in [check_tensorboard] if run.tensorboard else checks:
            check(run, judge)
    print(f"{judge.failures} failures")
    return 1 if judge.failures else 0


if __name__ == "__main__":
    sys.exit(main())
