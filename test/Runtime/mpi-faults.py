#!/usr/bin/env python3
# mpi-faults.py - how processes end when one of them fails.
# SPDX-License-Identifier: Apache-2.0
"""Each process that was started is gone within ten seconds of the fault, the launcher
says so by its code, and the cause stands there once. Most of the time processes wait, so
several cases run at a time.

  mpi-faults.py MPIRUN PPConformanceTest LIBRARY

The library makes calls of MPI fail (FaultyMpi.cpp).
"""
import concurrent.futures
import os
import signal
import subprocess
import sys
import time
import uuid

MPIRUN, TEST, FAULTY = sys.argv[1:]
LIMIT = 10  # seconds
AT_A_TIME = 4


class Wrong(Exception):
    """A case that did not end as it has to."""


def processes(mark):
    """Those that were started with `mark` in their environment, but the launcher."""
    found = {}
    for entry in os.listdir("/proc"):
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                environment = file.read().split(b"\0")
            with open(f"/proc/{entry}/comm") as file:
                name = file.read().strip()
        except OSError:
            continue
        if f"PP_TEST_MARK={mark}".encode() not in environment:
            continue
        if name != "mpirun":
            rank = next((v for v in environment if v.startswith(b"OMPI_COMM_WORLD_RANK=")), None)
            found[int(entry)] = int(rank.split(b"=")[1]) if rank else None
    return found


class Run:
    def __init__(self, count, *arguments, fault=None):
        self.mark = uuid.uuid4().hex
        self.process = subprocess.Popen(
            [MPIRUN, "--allow-run-as-root", "--oversubscribe", "--bind-to", "none",
             "--host", f"localhost:{count}", "-n", str(count),
             *(["env", f"LD_PRELOAD={FAULTY}", f"PP_MPI_FAULT={fault}"] if fault else []),
             TEST, "--launcher=mpi", *arguments],
            env={**os.environ, "PP_TEST_MARK": self.mark},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.count = count

    def kill_all(self):
        left = processes(self.mark)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        return left

    def rank(self, index):
        """The process of a rank, once all are there and have had time to wait for each other."""
        end = time.time() + LIMIT
        while time.time() < end:
            ranks = {rank: pid for pid, rank in processes(self.mark).items() if rank is not None}
            if len(ranks) == self.count:
                time.sleep(1.5)
                return ranks[index]
            time.sleep(0.1)
        self.process.kill()
        self.kill_all()
        raise Wrong(f"{self.count} processes did not start")

    def expect(self, what, code, text=None, times=(1,)):
        began = time.time()
        try:
            output, _ = self.process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.kill_all()
            raise Wrong(f"{what}: not over after {LIMIT} s") from None
        seconds = time.time() - began
        if self.process.returncode not in code:
            raise Wrong(f"{what}: expects the code {code}, got {self.process.returncode}:\n{output}")
        if text is not None and output.count(text) not in times:
            raise Wrong(f"{what}: expects '{text}' {times} times, got {output.count(text)}:\n{output}")
        time.sleep(0.2)
        if left := self.kill_all():
            raise Wrong(f"{what}: {len(left)} processes were left running")
        return f"{what}: over after {seconds:.1f} s, code {self.process.returncode}"


def check(count, arguments, *expected, fault=None, times=(1,)):
    return lambda: Run(count, *arguments, fault=fault).expect(*expected, times=times)


def kill(victim):
    """A rank is killed while the others wait: the launcher names the signal."""
    run = Run(3, "--ranks=3", "--stall")
    os.kill(run.rank(victim), signal.SIGKILL)
    return run.expect(f"rank {victim} killed", {137}, "exited on signal 9")


def interrupt(number):
    """The launcher is told to end: it takes all processes along."""
    run = Run(2, "--ranks=2", "--stall")
    run.rank(0)
    run.process.send_signal(number)
    return run.expect(f"mpirun received {number.name}", {1, 130, 143, -15, -2})


LAST_WORD = "PPConformanceTest: error: the last word"
# Calls of MPI that fail in process 1: the first of their kind, or a later one.
CALLS = (("MPI_Comm_idup", 1), ("MPI_Comm_idup", 2), ("MPI_Iallgather", 1),
         ("MPI_Igather", 1), ("MPI_Ibcast", 1), ("MPI_Irecv", 1), ("MPI_Irecv", 4),
         ("MPI_Irecv", 9), ("MPI_Isend", 1), ("MPI_Issend", 1), ("MPI_Issend", 5),
         ("MPI_Testsome", 100), ("MPI_Iallreduce", 1), ("MPI_Test", 1), ("MPI_Cancel", 1),
         ("MPI_Comm_free", 1), ("MPI_Comm_rank", 1), ("MPI_Comm_size", 1),
         ("MPI_Comm_set_errhandler", 1), ("MPI_Comm_set_errhandler", 2),
         ("MPI_Comm_set_errhandler", 3))
CASES = [
    # All processes fail at once: one of them says why, and its code is the launcher's.
    *(check(count, [f"--ranks={max(count, 2)}", "--abort"], f"abort of {count}", {14}, LAST_WORD)
      for count in (1, 2, 4)),
    # They also do long after a failure that all know of.
    check(2, ["--ranks=2", "--late"], "late", {14}, LAST_WORD),
    # An old failure does not shorten waits.
    check(2, ["--ranks=2", "--busy"], "busy", {14}, LAST_WORD),
    *(lambda victim=victim: kill(victim) for victim in (0, 1, 2)),
    *(lambda number=number: interrupt(number) for number in (signal.SIGTERM, signal.SIGINT)),
    *(check(2, ["--ranks=2", "--until-fault"], f"{call} {number} fails", {15},
            f"PPConformanceTest: error: {call}: ", fault=f"{call}:{number}")
      for call, number in CALLS),
    # The same when all is done: the launcher tells the other process. The processes no longer agree on which one
    # reports it, and one that still listens may hear of it in time.
    *(check(2, ["--ranks=2", "--gtest_filter=*Agree*"], f"the last {call} fails", {1, 15},
            f"PPConformanceTest: error: {call}: ", fault=f"{call}:1", times=(1, 2))
      for call in ("MPI_Iallreduce", "MPI_Cancel")),
    # The system's messages have few tags.
    check(2, ["--ranks=8", "--until-fault"], "few tags", {2},
          "error: group or edge 3 expects 32 tags for the 4 ranks of a process, got an MPI "
          "whose highest tag is 127; start more processes", fault="MPI_Comm_get_attr:127"),
    # The end of MPI itself hangs.
    check(2, ["--ranks=2", "--silence=2", "--gtest_filter=*Agree*"], "MPI_Finalize hangs", {11},
          "error: MPI_Finalize did not return within 2 s", fault="MPI_Finalize:1"),
    # A process that works for long without serving messages counts as present.
    check(2, ["--ranks=3", "--small-messages", "--silence=1", "--gtest_filter=*LongWork*"],
          "long work", {0}, fault="memcpy:3"),
    # A message arrives broken.
    check(2, ["--ranks=2", "--until-fault"], "a broken message", {15},
          "error: a message between processes: ", fault="MPI_Status:9"),
    # Communicators of sessions are freed; two stay: the world's, and that of a transport that outlives it.
    check(2, ["--ranks=2", "--gtest_filter=*NobodyLeaves*"], "no failure", {0},
          "2 communicators are left", fault="MPI_Comm_free:0"),
]


def main():
    failed = []
    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        for future in [pool.submit(case) for case in CASES]:
            try:
                print(future.result())
            except Wrong as wrong:
                failed.append(wrong)
                print(f"FAILED {wrong}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
