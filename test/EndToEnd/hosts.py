#!/usr/bin/env python3
"""Runs the processes of one job on three hosts.

SPDX-License-Identifier: Apache-2.0

The hosts are network namespaces with names of their own, joined by a bridge: so MPI
takes TCP between them, and cannot know that they share memory. mpirun starts them
through an agent where ssh would be. Skipped where no namespaces can be made.

- Every collective leaves what its definition says (PPConformanceTest).
- A training step gives the bits that threads give.
- When a process of another host is killed, all end, and nothing is left running.
- When a host is cut off, a job under --restart goes on without it.

  hosts.py --bin=build/bin
"""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import scratch

HOSTS = 3
NETWORK = "10.77.0"
GPT = "gpt --layers=3 --hidden=48 --heads=4 --seq=16 --batch=12 --vocab=64"
STRATEGIES = ["pp=3 microbatches=3", "dp=3 tp=2 zero=1"]

# mpirun calls it with a host's address and the words of a command.
AGENT = """#!/bin/sh
number=${1##*.}; shift
exec ip netns exec PREFIX$number unshare --uts sh -c "hostname PREFIX$number && $*"
"""


def ip(*arguments):
    return subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True).stdout


class Hosts:
    """Namespaces, which are gone when it is."""

    def __init__(self, folder):
        self.prefix = f"pp{os.getpid()}-"
        self.bridge = self.prefix + "b"
        self.agent = folder / "agent"
        self.made = []

    def name(self, number):
        return f"{self.prefix}{number}"

    def address(self, number):
        return f"{NETWORK}.{number}"

    def make(self):
        def namespace(name):
            ip("netns", "add", name)
            self.made.append(name)
        namespace(self.bridge)
        ip("-n", self.bridge, "link", "add", "switch", "type", "bridge")
        ip("-n", self.bridge, "link", "set", "switch", "up")
        for number in range(1, HOSTS + 1):
            host = self.name(number)
            namespace(host)
            ip("-n", host, "link", "add", "wire", "type", "veth", "peer", "name", f"to{number}",
               "netns", self.bridge)
            ip("-n", self.bridge, "link", "set", f"to{number}", "master", "switch", "up")
            ip("-n", host, "addr", "add", f"{self.address(number)}/24", "dev", "wire")
            for link in ("wire", "lo"):
                ip("-n", host, "link", "set", link, "up")
        self.agent.write_text(AGENT.replace("PREFIX", self.prefix))
        self.agent.chmod(0o755)

    def close(self):
        for name in self.made:
            for pid in ip("netns", "pids", name).split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            ip("netns", "del", name)

    def start(self, folder, *command, per_host=1):
        """mpirun on the first host, for processes on all."""
        hosts = ",".join(f"{self.address(n)}:{per_host}" for n in range(1, HOSTS + 1))
        return self.enter(folder, *self.mpirun(), "--oversubscribe", "--host", hosts,
                          "-n", str(HOSTS * per_host), *command)

    def mpirun(self):
        network = f"{NETWORK}.0/24"
        return ["mpirun", "--allow-run-as-root", "--bind-to", "none", "--mca", "plm_rsh_agent", self.agent,
                "--mca", "oob_tcp_if_include", network, "--mca", "btl_tcp_if_include", network]

    def enter(self, folder, *words):
        """A command on the first host."""
        first = self.name(1)
        return subprocess.Popen(
            ["ip", "netns", "exec", first, "unshare", "--uts", "sh", "-c",
             f'hostname {first} && exec "$@"', "sh", *map(str, words)],
            cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run(self, folder, *command, per_host=1):
        with self.start(folder, *command, per_host=per_host) as job:
            try:
                output, _ = job.communicate(timeout=200)
            except subprocess.TimeoutExpired:
                job.kill()
                sys.exit(f"{command}: not over after 200 s")
        if job.returncode:
            sys.exit(f"{command}: code {job.returncode}\n{output}")
        return output

    def received(self, number):
        """Bytes that came over the wire."""
        told = json.loads(ip("-n", self.name(number), "-s", "-j", "link", "show", "wire"))
        return told[0]["stats64"]["rx"]["bytes"]

    def processes(self, number, name):
        pids = ip("netns", "pids", self.name(number)).split()
        found = []
        for pid in pids:
            with contextlib.suppress(OSError), open(f"/proc/{pid}/comm") as file:
                if file.read().strip() == name[:15]:
                    found.append(int(pid))
        return found


def check_conformance(hosts, place, test):
    hosts.run(place.folder, test, "--launcher=mpi", f"--ranks={HOSTS}", "--gtest_filter=*Any*:*Agree*:*Share*")
    for number in range(1, HOSTS + 1):
        if hosts.received(number) < 1_000_000:
            sys.exit(f"expects messages over the wire of host {number}, got "
                     f"{hosts.received(number)} bytes")


def check_bits(hosts, place):
    place.make("pp-model", *GPT.split(), "-o", "m.mlir")
    for strategy in STRATEGIES:
        options = ["m.mlir", f"--parallelize={strategy} threads=1 optimizer=adamw lr=1e-2",
                   "--steps=3"]
        place.make("pp-run", *options, "--save=threads.st", "--metrics=threads.jsonl")
        hosts.run(place.folder, place.tools / "pp-run", *options, "--launcher=mpi",
                  "--save=hosts.st", "--metrics=hosts.jsonl")

        def result(name):
            lines = (place.folder / f"{name}.jsonl").read_text().splitlines()
            return ([json.loads(line)["loss"] for line in lines],
                    (place.folder / f"{name}.st").read_bytes())

        if result("threads") != result("hosts"):
            sys.exit(f"{strategy}: expects the bits of threads, got others: "
                     f"{result('threads')[0]}, {result('hosts')[0]}")
        print(f"{strategy}: the same bits on {HOSTS} hosts")


def check_death(hosts, place, test):
    """A process of the last host is killed while all wait."""
    job = hosts.start(place.folder, test, "--launcher=mpi", f"--ranks={HOSTS}", "--stall")
    began = time.time()
    while not (victims := hosts.processes(HOSTS, test.name)) and time.time() < began + 30:
        time.sleep(0.1)
    time.sleep(2)
    os.kill(victims[0], signal.SIGKILL)
    began = time.time()
    output, _ = job.communicate(timeout=30)
    seconds = time.time() - began
    if job.returncode == 0 or seconds > 10:
        sys.exit(f"a killed process: code {job.returncode} after {seconds:.1f} s\n{output}")
    time.sleep(0.5)
    for number in range(1, HOSTS + 1):
        if hosts.processes(number, test.name):
            sys.exit(f"a killed process: others were left running on host {number}")
    print(f"a killed process: all over after {seconds:.1f} s, code {job.returncode}")


# On those of the hosts that answer, if only to refuse.
LAUNCH = """#!/bin/bash
for host in HOSTS; do
  timeout 2 bash -c "</dev/tcp/$host/9" 2>/dev/null; [ $? = 124 ] || hosts+=,$host:1
done
exec COMMAND --host ${hosts#,} "$@"
"""


def check_lost_host(hosts, place):
    launch = place.folder / "launch"
    launch.write_text(LAUNCH.replace("HOSTS", " ".join(hosts.address(n) for n in (1, 2)))
                      .replace("COMMAND", " ".join(map(str, hosts.mpirun()))))
    launch.chmod(0o755)
    # What runs on the lost host holds a pipe open.
    job = hosts.enter(place.folder, "sh", "-c", 'exec "$@" 2> lost.txt', "sh", place.tools / "pp-run", "m.mlir", "--parallelize=dp=2", "--steps=100000000",
                      "--save-every=1s", "--hang-timeout=3", "--checkpoint=run", "--restart=2", "--elastic=dp",
                      "--quiet", "--launcher=./launch -n 2")

    def newest():
        return max([int(path.parent.name[5:]) for path in place.folder.glob("run/step-*/index.json")], default=0)

    def wait_for_more_than(step):
        began = time.time()
        while newest() <= step and time.time() < began + 60:
            time.sleep(0.1)
        return time.time() - began
    wait_for_more_than(0)
    time.sleep(2)
    ip("-n", hosts.name(2), "link", "set", "wire", "down")
    time.sleep(1)
    seconds = 1 + wait_for_more_than(newest())
    job.terminate()
    job.wait(timeout=30)
    output = (place.folder / "lost.txt").read_text()
    for words in ("the job has ended, but not its launcher; start 2", "goes on from step",
                  "dp=1 of 2 and 1 of 2 processes"):
        if words not in output:
            sys.exit(f"a lost host: expects '{words}', got {output}")
    print(f"a lost host: the next checkpoint after {seconds:.1f} s")


def main():
    if not shutil.which("mpirun"):
        print("skipped: no MPI")
        return
    with scratch.from_command_line(__doc__) as place:
        hosts = Hosts(place.folder)
        try:
            try:
                hosts.make()
            except (OSError, subprocess.CalledProcessError) as error:
                print(f"skipped: no network namespaces ({error})")
                return
            test = place.tools.parent / "test" / "PPConformanceTest"
            check_conformance(hosts, place, test)
            check_death(hosts, place, test)
            check_bits(hosts, place)
            check_lost_host(hosts, place)
        finally:
            hosts.close()


if __name__ == "__main__":
    main()
