"""Commands that tests of GPUs run: what they print, or the end where one fails."""
# SPDX-License-Identifier: Apache-2.0
import pathlib
import subprocess
import sys


def run(*command):
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, timeout=200)
    if done.returncode:
        sys.exit(f"{pathlib.Path(sys.argv[0]).name}: {' '.join(words)}: code {done.returncode}\n"
                 f"{done.stdout}{done.stderr}")
    return done.stdout + done.stderr
