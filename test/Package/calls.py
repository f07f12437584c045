"""Commands, for the tests beside this file.

SPDX-License-Identifier: Apache-2.0
"""
import subprocess
import sys


def call(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=250, **options)


def make(*command, **options):
    """What a command prints that must succeed."""
    done = call(*command, **options)
    if done.returncode:
        print(done.stdout + done.stderr, file=sys.stderr)
    done.check_returncode()
    return done.stdout
