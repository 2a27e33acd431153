# SPDX-License-Identifier: MIT
"""The driver as the tests meet it: one process a trial, with an environment that sets nothing."""
import csv
import io
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = pathlib.Path(os.environ.get("RECLAIMBENCH", ROOT / "build" / "reclaimbench"))
# What must not leak in: allocator settings, and a preload that somebody left behind.
FOREIGN = re.compile("LD_|MALLOC_|MIMALLOC_|TCMALLOC_|GLIBC_TUNABLES")
SMALL = ["--keys=256", "--ops=1000", "--warmup=0"]


def environment():
    return {name: value for name, value in os.environ.items() if not FOREIGN.match(name)}


def ensure_built():
    if not BINARY.exists():
        subprocess.run(["make", "-C", ROOT, f"-j{os.cpu_count()}"], check=True, stdout=subprocess.DEVNULL)


def command(*options):
    ensure_built()
    return [BINARY, *options]


def run(*options, timeout=60, **settings):
    settings = {"capture_output": True, **settings}
    return subprocess.run(command(*options), text=True, timeout=timeout, check=False, env=environment(),
                          stdin=subprocess.DEVNULL, **settings)


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def row(*options, **settings):
    """The one row of a trial that must succeed."""
    found = run(*options, "--csv=-", **settings)
    assert (found.returncode, found.stderr) == (0, "")
    rows = rows_of(found.stdout)
    assert len(rows) == 1 and rows[0]["status"] == "ok"
    return rows[0]


def checked(*options):
    """The row of --check: options resolved, nothing run."""
    found = run(*options, "--check")
    assert (found.returncode, found.stderr) == (0, "")
    (only,) = rows_of(found.stdout)
    return only


def combinations():
    return rows_of(run("--list=csv").stdout)


def combination(entry):
    return [f"--{part}={entry[part]}" for part in ("structure", "reclaimer", "policy")]


def help_options():
    """{name: what --help calls its value, None for a flag}; the one place that tests learn options from."""
    found = re.findall(r"^  --([a-z-]+)(?:(\[?)=([^\s\]]+)\]?)?\s", run("--help").stdout, re.MULTILINE)
    return {name: value or None for name, _, value in found}


def units():
    return len(os.sched_getaffinity(0))


def refused(found, *words):
    """Exit status 2, one line that says what was wanted, found and is to be done, and no row."""
    assert found.returncode == 2, found
    assert found.stdout == "", "something was printed for a trial that was refused"
    lines = found.stderr.splitlines()
    assert len(lines) == 1, found.stderr
    assert re.fullmatch(r"reclaimbench: (usage|oom|unsupported|preload_failed): wanted .+, found .+: .+", lines[0])
    for word in words:
        assert word in lines[0]
