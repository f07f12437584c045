"""Runs programs of a pack on GPUs, and keeps what was seen.

SPDX-License-Identifier: Apache-2.0

A part calls attempt() for each program, in it run() and check(); what it returns are
its figures. What cannot be done here raises Skipped with the reason: of that program
alone inside of an attempt, of the part outside.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

FEW_SECONDS, MANY_SECONDS = 300, 1200
OUT_OF_MEMORY = 4  # pp-run's exit code


class Skipped(Exception):
    pass


class Failed(Exception):
    pass


class TimedOut(Failed):
    pass


def members(session):
    """Its processes that have not ended. Ranks of mpirun have groups of their own in it."""
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            state, *_, leader = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
        except OSError:  # it has ended
            continue
        if int(leader) == session and state not in "ZX":
            yield int(folder.name)


def end_session(process, patience=5):
    """Who hangs would keep a GPU. The leader is not waited for before, so its number is its own."""
    for number in signal.SIGTERM, signal.SIGKILL:
        for member in members(process.pid):
            try:
                os.kill(member, number)
            except ProcessLookupError:
                pass
        end = time.monotonic() + patience
        while time.monotonic() < end and any(members(process.pid)):
            time.sleep(0.05)
    process.poll()
    process.stdout.close()
    process.stderr.close()


def call(words, seconds, env=None, cwd=None):
    """As subprocess.run, in a session of its own, of which nothing is left after a failure."""
    process = subprocess.Popen(words, cwd=cwd, env=env, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, errors="replace",
                               start_new_session=True)
    try:
        out, error = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        end_session(process)
        raise TimedOut(f"not over after {seconds} s") from None
    except BaseException:  # a signal to this program
        end_session(process)
        raise
    return subprocess.CompletedProcess(words, process.returncode, out, error)


class Bench:
    def __init__(self, tools, build, folder, manifest, gpus, emulated):
        self.tools, self.build, self.folder = tools, build, folder
        self.pack, self.manifest = folder / "pack", manifest
        self.gpus, self.emulated = gpus, emulated
        self.begin_part()

    def begin_part(self):
        self.checks, self.skipped, self.attempts, self.hangs = [], [], 0, 0

    def check(self, name, is_right, **said):
        self.checks.append({"check": name, "ok": bool(is_right), **said})
        return is_right

    def attempt(self, body, **what):
        """What `body` returns. None where it fails or cannot be done here, of which the
        result tells: others are tried all the same."""
        self.attempts += 1
        try:
            return body()
        except Skipped as reason:
            self.skipped.append({**what, "why": str(reason)})
        except Failed as failure:
            self.hangs += isinstance(failure, TimedOut)
            self.check("runs", False, **what, got=str(failure))
        return None

    def environment(self, gpus, processes=1):
        """In which a program sees so many GPUs, the first of those that are seen here."""
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        seen = visible.split(",") if visible else [str(n) for n in range(len(self.gpus))]
        its = {**os.environ, "CUDA_VISIBLE_DEVICES": ",".join(seen[:gpus])}
        if self.emulated:
            its["PP_STANDIN"] = str(self.settings(processes))
        return its

    def settings(self, processes):
        """Those of a GPU that is played, with a folder for what its processes send."""
        given = os.environ.get("PP_STANDIN")
        lines = pathlib.Path(given).read_text().splitlines() if given else []
        lines = [line for line in lines if line.split()[:1] != ["processes"]]
        carried = self.folder / "carried"
        shutil.rmtree(carried, ignore_errors=True)
        if processes > 1:
            carried.mkdir()
            lines.append(f"processes {carried}")
        path = self.folder / "standin"
        path.write_text("".join(f"{line}\n" for line in lines))
        return path

    def run(self, name, *options, gpus=1, processes=1, seconds=FEW_SECONDS):
        """pp-run of an artifact. `gpus`: how many it sees; one is shared by all ranks."""
        start = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n",
                 str(processes)] if processes > 1 else []
        what = " ".join([name, *options])
        try:
            done = call([*start, self.tools / "pp-run", self.pack / f"{name}.ppx", "--device=cuda",
                         *options], seconds, self.environment(gpus, processes), self.folder)
        except TimedOut as late:
            raise TimedOut(f"{what}: {late}") from None
        if done.returncode == OUT_OF_MEMORY:
            raise Skipped(done.stderr.strip())
        if done.returncode:
            raise Failed(f"{what}: exit {done.returncode}: {done.stderr.strip()[-1000:]}")
        return done

    def losses(self, name, *options, saves=None, **how):
        """What --metrics says: losses, and milliseconds of the steps."""
        metrics = self.folder / "metrics.jsonl"
        saving = [f"--save={saves}"] if saves else []
        self.run(name, "--quiet", f"--metrics={metrics}", *saving, *options, **how)
        lines = [json.loads(line) for line in metrics.read_text().splitlines()]
        return [line["loss"] for line in lines], [line["ms"] for line in lines]

    def report(self, name, *options, gpus=1):
        path = self.folder / "report.json"
        self.run(name, "--quiet", f"--report={path}", *options, gpus=gpus, seconds=MANY_SECONDS)
        return json.loads(path.read_text())
