# SPDX-License-Identifier: MIT
"""Plans as the driver prints them: `--topology=... --pin=... --threads=... --plan-pinning` against the golden files, and the
errors of a wrong placement."""
import csv
import io
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = pathlib.Path(os.environ.get("RECLAIMBENCH", ROOT / "build" / "reclaimbench"))
MACHINES = ROOT / "tests" / "topologies"
TRIAL = ["--structure=noop", "--reclaimer=leak", "--policy=batch", "--allocator=glibc", "--keys=16", "--seconds=0.1", "--csv=-"]


def run(*options):
    return subprocess.run([BINARY, *options], capture_output=True, text=True, timeout=60, check=False)


def golden_cases():
    for line in (MACHINES / "cases").read_text().splitlines():
        if not line.startswith("#"):
            golden, machine, order, threads, *oversubscribe = line.split()
            yield pytest.param(golden, machine, order, threads, oversubscribe, id=golden)


def description(machine):
    synthetic = MACHINES / f"{machine}.synthetic"
    return synthetic.read_text().strip() if synthetic.exists() else str(MACHINES / f"{machine}.xml")


@pytest.mark.parametrize("golden, machine, order, threads, oversubscribe", golden_cases())
def test_golden(golden, machine, order, threads, oversubscribe):
    found = run(f"--topology={description(machine)}", f"--threads={threads}", f"--pin={order}", "--plan-pinning",
                *[f"--{word}" for word in oversubscribe])
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout == (MACHINES / golden).read_text()


def test_each_golden_file_has_a_case():
    named = {case.id for case in golden_cases()}
    assert named == {path.name for path in MACHINES.glob("*.plan")}


@pytest.mark.parametrize("options, says", [
    (["--topology=pack:4 core:24 pu:2", "--threads=193", "--pin=fill", "--plan-pinning"], "wanted 193 threads on the units of --pin=fill, found 192 units"),
    (["--topology=pack:4 core:24 pu:2", "--threads=2x", "--pin=none", "--plan-pinning"], "wanted 384 threads on the units of --pin=none, found 192 units"),
    (["--topology=pu:4", "--threads=2", "--pin=list:0,0", "--plan-pinning"], "found unit 0 twice"),
    (["--topology=pu:4", "--threads=1", "--pin=list:4", "--plan-pinning"], "allowed 0-3"),
    (["--topology=pu:4", "--threads=1", "--pin=list:3-1", "--plan-pinning"], "found 'list:3-1'"),
    (["--topology=pu:4", "--threads=1", "--pin=sideways", "--plan-pinning"], "wanted fill, cores, scatter, none or list:UNITS"),
    (["--topology=pu:4", "--threads=few", "--pin=fill", "--plan-pinning"], "found 'few'"),
    (["--topology=no-such-machine", "--threads=1", "--pin=fill", "--plan-pinning"], "found 'no-such-machine'"),
    (["--topology=pu:4", "--threads=1", "--pin=fill", *TRIAL], "--plan-pinning"),
    (["--threads=1", "--pin=fill", "--membind=everywhere", *TRIAL], "wanted interleave, local or none"),
])
def test_refused_with_one_line_and_no_row(options, says):
    found = run(*options)
    assert found.returncode == 2
    assert found.stdout == ""
    assert len(found.stderr.splitlines()) == 1
    assert says in found.stderr


def units_of(plan):
    return [int(line.split()[4]) for line in plan.splitlines() if line.startswith("thread ")]


def test_this_machine_plans_exactly_the_allowed_units():
    plan = run("--threads=all", "--pin=fill", "--plan-pinning").stdout
    assert sorted(units_of(plan)) == sorted(os.sched_getaffinity(0))


def test_taskset_is_respected():
    last = max(os.sched_getaffinity(0))
    plan = subprocess.run([BINARY, "--threads=all", "--pin=scatter", "--plan-pinning"], capture_output=True, text=True, check=True,
                          preexec_fn=lambda: os.sched_setaffinity(0, {last})).stdout
    assert units_of(plan) == [last]


def row(*options):
    found = run(*TRIAL, *options)
    assert found.returncode == 0, found.stderr
    return next(csv.DictReader(io.StringIO(found.stdout)))


def test_row_records_the_plan_and_it_can_be_given_back():
    allowed = sorted(os.sched_getaffinity(0))
    first = row("--threads=2x", "--oversubscribe", "--pin=scatter")
    again = row("--threads=2x", "--oversubscribe", f"--pin=list:{first['placement']}")
    assert first["status"] == again["status"] == "ok"
    assert first["placement"] == again["placement"]
    assert len(allowed) == 1 or first["placement"] != "any"
    assert row("--threads=1", "--pin=none")["placement"] == "any"


def test_interleave_is_read_back():
    found = run(*TRIAL, "--threads=1", "--pin=fill", "--membind=interleave")
    if found.returncode == 2 and ": unsupported: " in found.stderr:
        pytest.skip(found.stderr.strip())
    assert next(csv.DictReader(io.StringIO(found.stdout)))["membind"] == "interleave"
