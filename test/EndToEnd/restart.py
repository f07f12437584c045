#!/usr/bin/env python3
"""Ends jobs that start again.

SPDX-License-Identifier: Apache-2.0

A job under --restart is killed at steps that are drawn: as threads, one process of
mpirun, mpirun itself. It ends as one that nobody disturbed, to the bit. A launcher
that only ends, with each code, shows which of them starts a job again, how often,
and on what: with --elastic it gets fewer processes, and the losses stay those of
the whole up to rounding. A signal to the supervisor reaches the job once, ends it
for good and saves; a killed supervisor leaves no job.

  restart.py --bin=build/bin
"""
import fcntl
import json
import os
import pty
import random
import shutil
import signal
import subprocess
import threading
import time

import scratch

MPIRUN = "mpirun --allow-run-as-root --oversubscribe --bind-to none --host localhost:4 -n"
PLAN = "--parallelize=dp=2 optimizer=adamw lr=1e-3"
STEPS, EVERY = 2500, 100
# Notes each start, then does what it is made for.
LAUNCHER = """#!/bin/sh
printf '%s|' "$@" >> NAME.starts; echo >> NAME.starts
start=$(wc -l < NAME.starts)
ACTION
"""


class Judge(scratch.Judge):
    def path(self, name):
        return self.place.folder / name

    def launcher(self, name, action):
        """Makes a launcher NAME, whose starts are in NAME.starts."""
        self.path(f"{name}.starts").unlink(missing_ok=True)
        self.path(name).write_text(LAUNCHER.replace("NAME", name).replace("ACTION", action))
        self.path(name).chmod(0o755)

    def starts(self, name):
        """The words of each start."""
        return [line.split("|")[:-1] for line in self.path(f"{name}.starts").read_text().splitlines()]

    def start(self, *options, model="m.mlir", plan=PLAN):
        return subprocess.Popen([self.place.tools / "pp-run", model, "--quiet", *([plan] if plan else []), *options],
                                cwd=self.place.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, start_new_session=True)

    def end(self, process, code, words, what):
        """The end of a job; the words, separated by |, are in its errors."""
        try:
            output, errors = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            self.expect(False, f"{what}: expects an end, got none")
            return ""
        self.expect(process.returncode == code and all(word in errors for word in words.split("|")),
                    f"{what}: expects {code} and {words}, got {process.returncode} and {errors}")
        return errors

    def run(self, code, words, *options, **how):
        return self.end(self.start(*options, **how), code, words, options)

    def steps(self, folder):
        return sorted(int(path.parent.name[5:]) for path in self.path(folder).glob("step-*/index.json"))

    def results(self, name):
        lines = [json.loads(line) for line in self.path(f"{name}.jsonl").read_text().splitlines()]
        return [(line["step"], line["loss"]) for line in lines], self.path(f"{name}.safetensors").read_bytes()


def files(name):
    return [f"--metrics={name}.jsonl", f"--save={name}.safetensors"]


def job(name, steps=STEPS, restarts=3):
    return [f"--steps={steps}", f"--checkpoint={name}", f"--save-every={EVERY}", f"--restart={restarts}", *files(name)]


def children(pid):
    try:
        return [int(word) for word in open(f"/proc/{pid}/task/{pid}/children").read().split()]
    except FileNotFoundError:
        return []


def wait_for(holds, seconds=30):
    end = time.time() + seconds
    while not holds() and time.time() < end:
        time.sleep(0.01)
    return holds()


def wait_for_step(judge, name, step):
    metrics = judge.path(f"{name}.jsonl")
    return wait_for(lambda: metrics.exists() and metrics.read_bytes().count(b"\n") >= step)


def kill_at(judge, process, name, step, victims):
    """Kills one of the victims after a step."""
    judge.expect(wait_for_step(judge, name, step), f"{name}: expects step {step}")
    for pid in victims(process.pid)[-1:]:
        os.kill(pid, signal.SIGKILL)
    # The next start writes another one.
    judge.path(f"{name}.jsonl").unlink()


def ranks(pid):
    return [rank for child in children(pid) for rank in children(child)]


def check_kills(judge, draw):
    judge.run(0, "", "--seed=5", "--steps=0", "--save=begin.safetensors")
    begin = "--parameters=begin.safetensors"
    judge.run(0, "", begin, f"--steps={STEPS}", *files("whole"))
    expected = judge.results("whole")
    # Later starts must not read the parameters again.
    cases = [("threads", [], children, 2)]
    if shutil.which("mpirun"):
        launcher = f"--launcher={MPIRUN} 2"
        cases += [("rank", [launcher], ranks, 1), ("mpirun", [launcher], children, 1)]
    for name, options, victims, kills in cases:
        # Each start saves, before it is killed.
        steps = [EVERY * (4 * kill + 2) + draw.randrange(EVERY) for kill in range(kills)]
        process = judge.start(begin, *job(name), *options)
        for step in steps:
            kill_at(judge, process, name, step, victims)
        errors = judge.end(process, 0, "", name)
        told = errors.count("was ended by signal 9 (Killed); start")
        judge.expect(told == kills and f"start {kills + 1} of at most 4 goes on from step " in errors,
                     f"{name}, killed at {steps}: expects a line of each start, got {errors}")
        judge.expect(judge.results(name) == expected, f"{name}, killed at {steps}: expects the results of a whole run")


def check_codes(judge):
    """Which ends start a job again. One that never saves is started twice."""
    for code in (0, 1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 14, 15, 126, 127, 130, 134, 137, 143, 255):
        again = code in (11, 14, 15) or code > 130
        judge.launcher("ends", f"exit {code}")
        errors = judge.run(code, "", *job("none", restarts=9), "--launcher=./ends")
        judge.expect(len(judge.starts("ends")) == 1 + again, f"code {code}: got {judge.starts('ends')}")
        judge.expect(("gives up after start 2, the second in a row that has saved nothing" in errors) == again
                     and (errors == "") != again, f"code {code}: got {errors}")
    judge.launcher("ends", "kill -9 $$")
    judge.run(137, "signal 9 (Killed), and nothing new is saved; start 2 of at most 2 begins as the first one|"
              "gives up after start 2, as --restart=1 says", *job("none", restarts=1), "--launcher=./ends")
    # mpirun ends with 1 where it cannot start processes, which it could before.
    judge.launcher("ends", "[ $start = 2 ] && exit 1; [ $start = 3 ] && exit 7; exit 137")
    judge.run(7, "was ended by its launcher (code 1)", *job("none", restarts=9), "--elastic=dp", "--launcher=./ends -n 2")
    # A loss that is not finite is the same the next time.
    judge.launcher("runs", 'exec "$@"')
    judge.run(12, "expects a finite loss", *job("spoiled", steps=2), "--launcher=./runs",
              plan="--parallelize=optimizer=sgd lr=1e39")
    judge.expect(len(judge.starts("runs")) == 1, "code 12: expects no other start")


def check_words(judge):
    """What a launcher is given, on the first start and on later ones."""
    program = str((judge.place.tools / "pp-run").resolve())
    words = ["m.mlir", "--quiet", PLAN, "--steps=1", "--checkpoint=words"]
    judge.launcher("ends", "exit 5")
    judge.run(5, "", *words[3:], "--launcher=./ends 'a b' -x\"\" ''")
    judge.expect(judge.starts("ends") == [["a b", "-x", "", program, *words]], f"got {judge.starts('ends')}")
    # What lies in the folder is of another run until this one has saved.
    judge.run(0, "", "--steps=1", "--checkpoint=words")
    judge.launcher("ends", 'if [ $start = 1 ]; then exit 137; fi; exec "$@"')
    judge.run(2, "begins as the first one|checkpoints of another run", *words[3:], "--restart=2", "--launcher=./ends")
    judge.launcher("ends", 'touch words/step-1/index.json; if [ $start = 1 ]; then exit 137; fi; exit 5')
    judge.run(5, "goes on from step 1", *words[3:], "--restart=2", "--parameters=begin.safetensors",
              "--launcher=./ends")
    judge.expect(judge.starts("ends")[1:] == [[program, *words, "--resume"]], f"got {judge.starts('ends')}")


def check_elastic(judge):
    plan = "--parallelize=microbatches=2 dp=4 zero=1 optimizer=adamw lr=1e-3"
    for words in "-n 4", "-np 4", "--n=4", "--ntasks=4":
        judge.launcher("ends", "exit 137")
        judge.run(137, "with dp=2 of 4 and 2 of 4 processes|with dp=1 of 4 and 1 of 4 processes|gives up after start 4",
                  *job("none", restarts=9), "--elastic=dp", f"--launcher=./ends {words}", plan=plan)
        got = [" ".join(start[:len(words.split())]) for start in judge.starts("ends")]
        judge.expect(got == [words.replace("4", n) for n in "4211"], f"{words}: got {got}")
    # All divisors, and as many processes as there are ranks for.
    judge.launcher("ends", "exit 137")
    judge.run(137, "", *job("none", restarts=9), "--elastic=dp", "--launcher=./ends -n 4", plan="--parallelize=dp=6")
    got = [(start[1], start[5]) for start in judge.starts("ends")]
    judge.expect(got == [(n, f"--parallelize=dp={dp}") for n, dp in zip("42111", "63211")], f"dp=6: got {got}")
    process = judge.start(f"--steps={STEPS}", "--checkpoint=less", "--metrics=less.jsonl", "--restart=1", "--elastic=dp")
    kill_at(judge, process, "less", 3, children)
    judge.end(process, 0, "and nothing new is saved; start 2 of at most 2 begins as the first one, with dp=1 of 2", "less")
    if not shutil.which("mpirun"):
        return
    judge.run(0, "", f"--steps={STEPS}", *files("dp4"), model="m64.mlir", plan=plan)
    # A host that is gone: mpirun does not start as many processes again.
    judge.launcher("gone", f'if [ $start -gt 1 ] && [ $2 = 4 ]; then exit 1; fi\nexec {MPIRUN[:-3]} "$@"')
    process = judge.start(*job("elastic"), "--elastic=dp", "--launcher=./gone -n 4", model="m64.mlir", plan=plan)
    kill_at(judge, process, "elastic", 2 * EVERY + 7, ranks)
    judge.end(process, 0, "start 2 of at most 4 goes on|start 3 of at most 4 goes on from step |"
              ", with dp=2 of 4 and 2 of 4 processes", "elastic")
    whole, its = judge.results("dp4")[0], judge.results("elastic")[0]
    judge.expect(len(its) == STEPS and all(abs(a[1] - b[1]) <= 1e-10 * abs(b[1]) for a, b in zip(its, whole)),
                 "elastic: expects the losses of a whole run, up to rounding")
    judge.expect(its != whole, "elastic: expects sums of another order")


def check_overdue(judge):
    """A launcher that does not see that the job has ended, as mpirun does not without one of its hosts."""
    judge.launcher("waits", '"$@"; exec sleep 1000')
    process = judge.start("--steps=30000", "--checkpoint=overdue", "--save-every=5000", "--restart=1",
                          "--metrics=overdue.jsonl", "--launcher=./waits")
    wait_for_step(judge, "overdue", 1)
    time.sleep(2.5)
    kill_at(judge, process, "overdue", 5001, ranks)
    # The job that is done then is done, whatever becomes of its launcher.
    judge.end(process, 0, "the job has ended, but not its launcher; start 2 of at most 2 goes on from step|"
              "all steps are saved, but the launcher had to be ended", "overdue")
    judge.expect(judge.steps("overdue")[-1] == 30000, f"overdue: expects the last step, got {judge.steps('overdue')}")


def check_signals(judge):
    endless = ["--steps=100000000", "--save-every=1h", "--restart=3"]
    for name, send in (("one", lambda process: process.terminate()),
                       ("all", lambda process: os.killpg(process.pid, signal.SIGTERM)),
                       ("hangup", lambda process: os.killpg(process.pid, signal.SIGHUP))):
        process = judge.start(*endless, f"--checkpoint={name}", f"--metrics={name}.jsonl")
        wait_for_step(judge, name, 1)
        send(process)
        errors = judge.end(process, 130, f"go on with --resume={name}", f"signal to {name}")
        judge.expect("start 2" not in errors and len(judge.steps(name)) == 1,
                     f"signal to {name}: expects a save and no other start, got {errors}")
    # A launcher need not end with 130. mpirun does with 1, which means something else here.
    for name, action, code in (("ends", "exec sleep 1000", 143), ("fails", "trap 'exit 1' TERM; sleep 1000 & wait", 130)):
        judge.launcher(name, action)
        process = judge.start(*endless, "--checkpoint=none", f"--launcher=./{name}")
        wait_for(lambda: judge.path(f"{name}.starts").exists())
        time.sleep(0.2)
        process.terminate()
        judge.end(process, code, "", f"signal to a launcher that {name}")
        judge.expect(len(judge.starts(name)) == 1, f"signal to a launcher that {name}: expects no other start")
    process = judge.start(*endless, "--checkpoint=orphan", "--metrics=orphan.jsonl")
    wait_for_step(judge, "orphan", 1)
    process.kill()
    lock = open(judge.path("orphan/.lock"), "r+")

    def is_free():
        try:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            return False
    judge.expect(wait_for(is_free, 10) and len(judge.steps("orphan")) == 1,
                 f"a killed supervisor: expects its job to save and end, got {judge.steps('orphan')}")
    process.communicate(timeout=60)


def check_terminal(judge):
    """ctrl-C and ctrl-Z, which a terminal sends to the processes before it."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(judge.place.folder)
        os.execv(judge.place.tools / "pp-run", ["pp-run", "m.mlir", "--steps=100000000", "--save-every=1h",
                 "--restart=3", "--checkpoint=typed", "--metrics=typed.jsonl"])
    shown = []

    def read():
        try:
            while data := os.read(terminal, 4096):
                shown.append(data)
        except OSError:
            pass
    threading.Thread(target=read, daemon=True).start()
    wait_for_step(judge, "typed", 1)
    os.write(terminal, b"\x1a")
    is_stopped = wait_for(lambda: all(open(f"/proc/{p}/stat").read().rsplit(")")[1].split()[0] == "T"
                                      for p in (pid, *children(pid))), 5)
    judge.expect(is_stopped, "ctrl-Z: expects supervisor and job to stop")
    os.kill(pid, signal.SIGCONT)
    lines = judge.path("typed.jsonl").read_bytes().count(b"\n")
    judge.expect(wait_for_step(judge, "typed", lines + 2), "expects a job that is continued to go on")
    os.write(terminal, b"\x03")
    status = os.waitpid(pid, 0)[1]
    judge.expect(os.WIFEXITED(status) and os.WEXITSTATUS(status) == 130 and len(judge.steps("typed")) == 1,
                 f"ctrl-C: expects 130 and a save, got {status} and {b''.join(shown)[-500:]}")


USAGE = [
    ("'--launcher' expects threads, mpi, or a command such as \"mpirun -n 4\", got 'thread': no such program",
     ["--launcher=thread"]),
    ("got './m.mlir': no such program", ["--launcher=./m.mlir"]),
    ("whose quotes end, got 'mpirun \"-n 4'", ["--launcher=mpirun \"-n 4"]),
    ("whose quotes end, got ' '", ["--launcher= "]),
    ("'--restart' needs '--checkpoint'", ["--restart=1"]),
    ("'--restart' needs '--checkpoint'", ["--restart=0"]),
    ("'--restart' expects a number from 0 on, got '-1'", ["--restart=-1", "--checkpoint=c"]),
    ("'--dry-run' runs nothing and so cannot obey '--restart'", ["--restart=1", "--checkpoint=c", "--dry-run"]),
    ("cannot obey '--checkpoint'", ["--restart=1", "--checkpoint=c", "--device=null"]),
    ("'--elastic' needs '--restart'", ["--elastic=dp"]),
    ("'--elastic' needs '--restart' of at least 1", ["--elastic=dp", "--restart=0", "--checkpoint=c"]),
    ("'--elastic' expects dp", ["--elastic=tp", "--restart=1", "--checkpoint=c"]),
    ("expects the number of processes in --launcher", ["--elastic=dp", "--restart=1", "--checkpoint=c",
                                                      "--launcher=sh -n"]),
]


def check_usage(judge):
    for words, options in USAGE:
        judge.run(2, words, *options)
    elastic = ["--elastic=dp", "--restart=1", "--checkpoint=c"]
    for plan in "", "--parallelize=tp=2 dp=1", "--parallelize=plan=dp=2.plan":
        judge.run(2, "'--elastic=dp' expects dp of at least 2 in --parallelize, got '", *elastic, plan=plan)
    judge.run(2, "expects a model, whose plan it can change, got the artifact m.ppx", *elastic, model="m.ppx")
    judge.run(2, "expects inputs that can be read again, got --data '/dev/null'", *elastic[1:], "--data=text:/dev/null")
    judge.run(2, "expects inputs that can be read again, got standard input", *elastic[1:], model="-")
    judge.expect(not judge.path("c").exists(), "usage errors: expects no folder")
    if shutil.which("mpirun"):
        for option, name in (["--restart=1", "--checkpoint=c"], "restart"), (["--launcher=mpirun -n 2"], "launcher"):
            done = subprocess.run([*f"{MPIRUN} 2".split(), judge.place.tools / "pp-run", "m.mlir", *option],
                                  cwd=judge.place.folder, capture_output=True, text=True, timeout=60)
            judge.expect(done.returncode == 2 and done.stderr.count(f"'--{name}' starts the processes") == 1
                         and "got several, of mpirun; give their launcher to pp-run" in done.stderr,
                         f"{option} under mpirun: got {done.returncode} and {done.stderr}")


def main():
    with scratch.from_command_line(__doc__) as place:
        place.make("pp-model", "mlp", "-o", "m.mlir")
        place.make("pp-model", "mlp", "--dtype=f64", "-o", "m64.mlir")
        judge, draw = Judge(place), random.Random(7)
        check_kills(judge, draw)
        for check in check_usage, check_codes, check_words, check_elastic, check_overdue, check_signals, check_terminal:
            check(judge)
        print(f"{judge.failures} failures")
        raise SystemExit(1 if judge.failures else 0)


if __name__ == "__main__":
    main()
