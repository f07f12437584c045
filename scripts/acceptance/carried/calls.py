"""Programs that are started, of which nothing is left when they are not over in time.

SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import signal
import subprocess
import time


class TimedOut(Exception):
    pass


def members(session):
    """Its processes that have not ended. Ranks of mpirun have groups of their own in it."""
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            state, _, _, leader = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
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
    for stream in process.stdin, process.stdout, process.stderr:
        if stream:
            stream.close()


def start(words, env=None, cwd=None, stdin=None, stderr=subprocess.PIPE):
    """In a session of its own."""
    return subprocess.Popen([str(word) for word in words], cwd=cwd, env=env, stdin=stdin,
                            stdout=subprocess.PIPE, stderr=stderr, universal_newlines=True,
                            errors="replace", start_new_session=True)


def call(words, seconds, env=None, cwd=None):
    """As subprocess.run."""
    process = start(words, env, cwd)
    try:
        out, error = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        end_session(process)
        raise TimedOut(f"not over after {seconds:.0f} s") from None
    except BaseException:  # a signal to this program
        end_session(process)
        raise
    return subprocess.CompletedProcess(words, process.returncode, out, error)
