# SPDX-License-Identifier: MIT
"""The driver as the scripts know it: by --list, --help, the CSV header and --check, never by a list of our own."""

import csv
import hashlib
import io
import os
import re
import subprocess

from lib.command import UserError

# A line of --help: "  --threads=N   ...", "  --oversubscribe   ...".
OPTION = re.compile(r"^\s*--([a-z][a-z0-9-]*)", re.MULTILINE)

# "reclaimbench: usage: wanted ..., found ...: do ..."
FAILURE = re.compile(r"^reclaimbench: (\w+): (.*)$", re.MULTILINE)


def failure(stderr):
    """(status, message) of what the driver said; status is None when it said nothing in its own form."""
    said = [m for m in FAILURE.finditer(stderr) if m.group(1) != "note"]
    if said:
        return said[-1].group(1), said[-1].group(2)
    lines = stderr.strip().splitlines()
    return None, lines[-1] if lines else ""


def parse_rows(text):
    return list(csv.DictReader(io.StringIO(text)))


class Binary:
    def __init__(self, path):
        self.path = path
        if not os.access(path, os.X_OK):
            raise UserError(f"wanted the driver at {path}, found none: run `make`")
        self._stamp = self._look()
        self.options = set(OPTION.findall(self._ask("--help")))

    def _ask(self, *arguments):
        done = subprocess.run([self.path, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode:
            raise UserError(f"wanted an answer to `{self.path} {' '.join(arguments)}`, "
                            f"found exit status {done.returncode} ({failure(done.stderr)[1]}): rebuild with `make`")
        return done.stdout

    def installed_allocators(self):
        rows = parse_rows(self._ask("--list=allocators"))
        return [row["allocator"] for row in rows if row["installed"] not in ("", "0", "no")]

    def reclaimers(self, structure, policy):
        """Those that this structure is sound with under this policy."""
        found = [row["reclaimer"] for row in parse_rows(self._ask("--list=csv"))
                 if (row["structure"], row["policy"], row["refused"]) == (structure, policy.partition(":")[0], "")]
        if not found:
            raise UserError(f"wanted a reclaimer that runs {structure} with {policy}, found none: `reclaimbench --list` has "
                            "the combinations")
        return found

    def sha256(self):
        with open(self.path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()

    def _look(self):
        found = os.stat(self.path)
        return found.st_ino, found.st_size, found.st_mtime_ns

    def refuse_if_changed(self):
        """A driver that is rebuilt while a sweep runs would give rows of two drivers."""
        if self._look() != self._stamp:
            raise UserError(f"wanted one driver for the whole sweep, found that {self.path} has changed since it began: "
                            "give --fresh to measure with the new one")

    def command(self, options):
        return [self.path] + [f"--{name}={value}" for name, value in options.items()]

    def check(self, options):
        """The row of effective option values that the driver would use, metrics empty; UserError if it refuses."""
        command = self.command(options) + ["--check"]
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        rows = parse_rows(done.stdout) if done.returncode == 0 else []
        if len(rows) != 1:
            status, message = failure(done.stderr)
            shown = " ".join(command[1:-1])
            raise UserError(f"{message or 'the driver died'} [{status or done.returncode}; options {shown}]")
        return rows[0]
