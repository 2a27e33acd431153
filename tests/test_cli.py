# SPDX-License-Identifier: MIT
"""The command line: everything that cannot be run ends with status 2, one line and no row; what can be listed is listed; a
row is appended whole or not at all."""
import os
import random
import re
import signal
import subprocess
import time

import pytest

import driver
from driver import SMALL, checked, combination, combinations, help_options, refused, run

OPTIONS = help_options()
VALUED = sorted(name for name, value in OPTIONS.items() if value and name != "list")
FLAGS = sorted(name for name, value in OPTIONS.items() if not value)
NUMERIC = sorted(name for name, value in OPTIONS.items() if value in ("N", "S", "%", "RATE"))
COMBINATIONS = combinations()
REFUSED = [entry for entry in COMBINATIONS if entry["refused"]]
TOO_MANY = str(driver.units() + 1)


def refused_without_trace(folder, *options, words=()):
    """Also: not one file is left where it ran."""
    where = [] if any(option.startswith("--csv") for option in options) else ["--csv=row.csv"]
    # Wrong options may not even parse, so where they stand last they must stay last.
    refused(run(*where, *options, cwd=folder, timeout=20), *words)
    assert os.listdir(folder) == []


# ---- bad options ----

@pytest.mark.parametrize("name", VALUED)
def test_value_missing(tmp_path, name):
    others = [] if name == "csv" else ["--csv=row.csv"]
    refused(run(*others, f"--{name}", cwd=tmp_path), f"--{name}")
    refused(run(*others, f"--{name}=", cwd=tmp_path), f"--{name}")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", sorted(OPTIONS))
def test_option_misspelt(tmp_path, name):
    for wrong in (name + "x", name[:-1] + "qq"):
        refused_without_trace(tmp_path, f"--{wrong}=1", words=(f"'--{wrong}'",))
    refused_without_trace(tmp_path, f"--{name}x=1", words=(f"do you mean --{name}?",))


@pytest.mark.parametrize("name", sorted(set(OPTIONS) - {"csv"}))
def test_option_given_twice(tmp_path, name):
    default = {"N": "1", "S": "1", "%": "1"}.get(OPTIONS[name], "x")
    flags = {"list": "--list=csv"}
    once = flags.get(name, f"--{name}={default}" if OPTIONS[name] else f"--{name}")
    refused_without_trace(tmp_path, once, once)


@pytest.mark.parametrize("name", FLAGS)
def test_flag_takes_yes_or_no(tmp_path, name):
    for wrong in ("", "1", "true", "YES", "ye"):
        refused_without_trace(tmp_path, f"--{name}={wrong}", words=(f"--{name}",))


@pytest.mark.parametrize("name", NUMERIC)
def test_number_is_one(tmp_path, name):
    for wrong in ("nan", "NAN(1)", "inf", "-inf", "-1", "-0.5", "1e999", "99999999999999999999", "x", "5y", "5 ", "1e", "1kk", "1,000",
                  "--5", "."):
        refused_without_trace(tmp_path, f"--{name}={wrong}", words=(f"--{name}",))


@pytest.mark.parametrize("name", sorted(name for name in NUMERIC if OPTIONS[name] == "N"))
def test_count_is_whole(tmp_path, name):
    for wrong in ("1.5", "1e-3", "0.0005k"):
        refused_without_trace(tmp_path, f"--{name}={wrong}", words=(f"--{name}",))


BAD = {
    "stray word": ["olc_bptree"],
    "single dash": ["-h"],
    "two dashes": ["--"],
    "no name": ["--=3"],
    "value in its own word for a flag": ["--oversubscribe", "yes"],
    "empty word": [""],
    "no threads": ["--threads=0"],
    "too many threads": ["--threads=65537", "--oversubscribe"],
    "threads beyond the units": [f"--threads={TOO_MANY}"],
    "twice the units": ["--threads=2x"],
    "threads that overflow": ["--threads=99999999999x", "--oversubscribe"],
    "thread word": ["--threads=sockets"],
    "window too short": ["--seconds=0"],
    "window too long": ["--seconds=86401"],
    "two windows": ["--ops=1000", "--seconds=1"],
    "keys: none": ["--keys=0"],
    "keys: too many": ["--keys=1e19"],
    "mix beyond 100 %": ["--insert=40", "--remove=40", "--scan=21"],
    "insert beyond 100 %": ["--insert=100.5"],
    "scan of nothing": ["--scan-length=0"],
    "prefill beyond keys": ["--keys=100", "--prefill=101"],
    "prefill word": ["--prefill=most"],
    "prefill with more threads": ["--prefill-threads=2"],
    "drain word": ["--drain=some"],
    "distribution": ["--distribution=normal"],
    "distribution: part of a word": ["--distribution=uni"],
    "zipf without exponent": ["--distribution=zipf"],
    "zipf with an empty exponent": ["--distribution=zipf:"],
    "zipf 0": ["--distribution=zipf:0"],
    "zipf -1": ["--distribution=zipf:-1"],
    "zipf nan": ["--distribution=zipf:nan"],
    "zipf inf": ["--distribution=zipf:inf"],
    "zipf 11": ["--distribution=zipf:11"],
    "zipf 1x": ["--distribution=zipf:1x"],
    "pin word": ["--pin=filll"],
    "pin list: empty": ["--pin=list:"],
    "pin list: no number": ["--pin=list:a"],
    "pin list: falling": ["--pin=list:1-0"],
    "pin list: not allowed": ["--pin=list:1023"],
    "pin list: a comma too many": ["--pin=list:0,"],
    "membind word": ["--membind=interleaved"],
    "lock kind": ["--rwlock-kind=fair"],
    "fence": ["--fence=light"],
    "batch of nothing": ["--batch-size=0"],
    "policy with a number it does not take": ["--policy=batch:4"],
    "amortized: 0": ["--policy=amortized:0"],
    "amortized: too many": ["--policy=amortized:1000001"],
    "amortized: negative": ["--policy=amortized:-1"],
    "amortized: wraps to 3": ["--policy=amortized:-18446744073709551613"],
    "amortized: signed": ["--policy=amortized:+3"],
    "amortized: blank": ["--policy=amortized: 3"],
    "amortized: no number": ["--policy=amortized:"],
    "amortized: fraction": ["--policy=amortized:1.5"],
    "list form": ["--list=json"],
    "list form: part of a word": ["--list=cs"],
    "topology without plan": ["--topology=pack:2 core:2 pu:1"],
    "topology that is none": ["--plan-pinning", "--topology=pack of wolves"],
    "plan beyond the units": ["--plan-pinning", "--topology=pack:1 core:2 pu:1", "--threads=3"],
    "csv in no folder": ["--csv=absent/row.csv"],
    "csv is a folder": ["--csv=."],
    "trace in no folder": ["--trace=absent/trace", *SMALL],
    "trace is a folder": ["--trace=.", *SMALL],
    "trace keeps nothing": ["--trace-events=0", "--trace=t"],
    "threshold of no trace": ["--trace-threshold=5", *SMALL],
    "room of no trace": ["--trace-events=5", *SMALL],
    "frequency of no samples": ["--sample-hz=5", *SMALL],
    "one writer": ["--structure=sequential_bptree", "--reclaimer=leak", "--threads=2", "--oversubscribe", "--insert=1"],
    "allocator": ["--allocator=jemallok"],
    "allocator file": ["--allocator=./absent.so"],
    "more memory than there is": ["--keys=1e12", "--prefill=all"],
}


@pytest.mark.parametrize("options", [pytest.param(options, id=name) for name, options in BAD.items()])
def test_bad_options(tmp_path, options):
    refused_without_trace(tmp_path, *options)


@pytest.mark.parametrize("part", ["structure", "reclaimer", "policy"])
def test_unknown_name_is_answered_with_the_nearest(tmp_path, part):
    for name in sorted({entry[part] for entry in COMBINATIONS}):
        for wrong in (name + "s", name[1:] if len(name) > 4 else name.upper()):
            refused_without_trace(tmp_path, f"--{part}={wrong}", words=(f"'{wrong}'", f"do you mean {name}?"))


def test_beginning_of_a_name_finds_it(tmp_path):
    refused_without_trace(tmp_path, "--structure=olc", words=("do you mean olc_bptree?",))
    refused_without_trace(tmp_path, "--structure=rwlock_bp", words=("do you mean rwlock_bptree?",))


@pytest.mark.parametrize("entry", [pytest.param(entry, id="-".join(combination(entry)).replace("--", ""))
                                   for entry in REFUSED])
def test_refused_combination(tmp_path, entry):
    refused_without_trace(tmp_path, *combination(entry), words=(entry["refused"],))
    found = run(*combination(entry), "--unsound", "--check")
    if found.returncode:  # it means nothing and was not built
        refused(found, entry["refused"])
        assert "--unsound" not in found.stderr
    else:
        assert driver.rows_of(found.stdout)[0]["sound"] == "0"


def test_bad_options_leave_a_csv_as_it_was(tmp_path):
    path = tmp_path / "rows.csv"
    assert run(*SMALL, f"--csv={path}").returncode == 0
    before = path.read_bytes()
    for options in (["--keys=x"], [f"--threads={TOO_MANY}"], ["--keys=1e12", "--prefill=all"], ["--structure=none"]):
        refused(run(*options, f"--csv={path}"))
        assert path.read_bytes() == before


def test_garbage_that_would_not_fit_is_refused(tmp_path):
    """Only the warm-up shows how much a reclaimer that never frees will leave behind."""
    endless = ["--structure=hm_list", "--reclaimer=leak", "--keys=64", "--insert=50", "--remove=50", "--seconds=86400"]
    refused_without_trace(tmp_path, *endless, words=("oom", "--force"))


# ---- what it prints ----

def test_help_is_the_option_table():
    table = (driver.ROOT / "harness" / "options.c").read_text()
    names = re.findall(r'^    (?:WORD|COUNT|NUMBER|FLAG)\("([a-z-]+)"|^    \{"([a-z-]+)", OPTION_', table, re.MULTILINE)
    assert list(OPTIONS) == [one or other for one, other in names]
    assert len(run("--help").stdout.splitlines()) == len(OPTIONS) + 3


def test_every_option_of_a_trial_is_a_column():
    columns = set(checked())
    # Each option is a column under its own name, or says nothing about the trial.
    silent = {"oversubscribe", "csv", "unsound", "force", "topology", "plan-pinning", "check", "list", "version", "help"}
    assert {name.replace("-", "_") for name in set(OPTIONS) - silent} <= columns | {"seconds", "ops"}
    assert {"oversubscribed", "sound"} <= columns


def test_version_says_what_was_built():
    found = run("--version")
    assert (found.returncode, found.stderr) == (0, "")
    assert re.fullmatch(r"reclaimbench \S+, \w+ build for \S+ by .+\n", found.stdout)


def test_list_forms_agree():
    text = run("--list").stdout.splitlines()
    assert len(text) == len(COMBINATIONS) == len({tuple(combination(entry)) for entry in COMBINATIONS})
    assert list(COMBINATIONS[0]) == ["structure", "kind", "reclaimer", "policy", "node_bytes", "fenced", "writers", "grows", "refused"]
    for line, entry in zip(text, COMBINATIONS):
        assert line.split()[:3] == [entry["structure"], entry["reclaimer"], entry["policy"]]
        assert line.rstrip().endswith(f"refused: {entry['refused']}" if entry["refused"] else entry["policy"])


def test_list_is_the_folders():
    for part, folder in (("structure", "structures"), ("reclaimer", "reclaimers"), ("policy", "reclaimers/policies")):
        assert {entry[part] for entry in COMBINATIONS} == {path.stem for path in (driver.ROOT / folder).glob("*.h")}


def test_list_of_allocators():
    rows = driver.rows_of(run("--list=allocators").stdout)
    assert [row["allocator"] for row in rows][0] == "glibc"
    for entry in rows:
        assert (entry["installed"] == "1") == os.path.isfile(entry["path"]), entry


def test_check_resolves_and_runs_nothing():
    begun = time.monotonic()
    found = checked("--threads=all", "--seconds=3000", "--prefill=half", "--keys=64k", "--policy=amortized:4")
    assert time.monotonic() - begun < 20
    assert found["threads"] == str(driver.units()) == found["units"]
    assert (found["keys"], found["prefill"], found["policy"]) == ("64000", "32000", "amortized:4")
    assert found["seconds_wanted"] == "3000" and found["ops_wanted"] == ""
    columns = list(found)
    metrics = columns[columns.index("seconds"):columns.index("timestamp")]
    assert [name for name in ["status", *metrics] if found[name]] == []


@pytest.mark.parametrize("text, value", [("1e3", 1000), ("64k", 64000), ("2M", 2000000), ("1G", 1000000000)])
def test_counts_may_be_short(text, value):
    found = checked(f"--keys={text}", f"--prefill={text}", f"--ops={text}")
    assert [found[name] for name in ("keys", "prefill", "ops_wanted")] == [str(value)] * 3


def test_value_may_stand_alone():
    assert checked("--keys", "100")["keys"] == "100"


def test_summary_without_csv():
    found = run(*SMALL)
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.startswith("olc_bptree x ebr x batch under glibc")


# ---- the file ----

def whole_rows(path):
    """Rows of a file that holds one header and nothing but whole rows."""
    text = path.read_text()
    assert text.endswith("\n") and text.count("status,") == 1
    rows = driver.rows_of(text)
    for entry in rows:
        assert None not in entry and None not in entry.values() and entry["status"] == "ok", entry
    return rows


def test_rows_are_appended_below_one_header(tmp_path):
    path = tmp_path / "rows.csv"
    for seed in (1, 2, 3):
        found = run(*SMALL, f"--seed={seed}", f"--csv={path}")
        assert (found.returncode, found.stdout, found.stderr) == (0, "", "")
    assert [entry["seed"] for entry in whole_rows(path)] == ["1", "2", "3"]


def test_appenders_at_the_same_time_lose_nothing(tmp_path):
    """The hardest moment is when the file is not there yet, one asks whether it could write and another already writes."""
    stagger = random.Random(1)
    for attempt in range(30):
        path = tmp_path / f"rows{attempt}.csv"
        started = []
        for seed in range(8):
            options = ["--structure=noop", *SMALL, f"--seed={seed}", f"--csv={path}"]
            started.append(subprocess.Popen(driver.command(*options), env=driver.environment()))
            time.sleep(stagger.random() * 0.004)
        assert [process.wait(60) for process in started] == [0] * 8
        assert sorted(int(entry["seed"]) for entry in whole_rows(path)) == list(range(8)), f"attempt {attempt}"


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "status\n", "status,structure"])
def test_other_columns_are_left_alone(tmp_path, text):
    path = tmp_path / "rows.csv"
    path.write_text(text)
    refused(run(*SMALL, f"--csv={path}"), "columns")
    assert path.read_text() == text


def test_empty_file_gets_its_header(tmp_path):
    path = tmp_path / "rows.csv"
    path.touch()
    assert run(*SMALL, f"--csv={path}").returncode == 0
    assert len(whole_rows(path)) == 1


def test_full_disk_leaves_whole_rows(tmp_path):
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", tmp_path], capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"needs a small file system: {mounted.stderr.strip()}")
    try:
        path = tmp_path / "rows.csv"
        for written in range(64):
            found = run(*SMALL, f"--csv={path}")
            if found.returncode:
                break
        refused(found, "No space left on device")
        assert len(whole_rows(path)) == written > 0
    finally:
        subprocess.run(["umount", tmp_path], check=True)


def test_half_a_row_is_not_continued(tmp_path):
    path = tmp_path / "rows.csv"
    assert run(*SMALL, f"--csv={path}").returncode == 0
    torn = path.read_bytes()[:-20]
    path.write_bytes(torn)
    refused(run(*SMALL, f"--csv={path}"), "whole row")
    assert path.read_bytes() == torn


def test_devices_and_pipes_are_files_too():
    refused(run(*SMALL, "--csv=/dev/full"), "No space left on device")
    assert run(*SMALL, "--csv=/dev/null").returncode == 0
    found = run(*SMALL, "--csv=/dev/stdout")
    assert (found.returncode, found.stderr) == (0, "") and len(driver.rows_of(found.stdout)) == 1


def test_check_leaves_no_file(tmp_path):
    found = run("--check", "--csv=rows.csv", cwd=tmp_path)
    assert (found.returncode, os.listdir(tmp_path)) == (0, [])


def test_trace_that_cannot_be_written_is_refused_before_the_trial(tmp_path):
    begun = time.monotonic()
    refused_without_trace(tmp_path, "--keys=1000", "--seconds=5", "--trace=absent/trace")
    assert time.monotonic() - begun < 4


@pytest.mark.parametrize("question", [["--list=csv"], ["--list"], ["--list=allocators"], ["--help"], ["--version"], ["--check"],
                                      ["--plan-pinning"], SMALL, [*SMALL, "--csv=-"]], ids=" ".join)
def test_lost_output_is_no_success(question):
    with open("/dev/full", "w", encoding="utf-8") as full:
        found = run(*question, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert found.returncode == 2
    assert re.fullmatch("reclaimbench: usage: wanted .+, found .*No space left on device.*\n", found.stderr)


def test_killed_trial_leaves_no_row(tmp_path):
    path = tmp_path / "rows.csv"
    process = subprocess.Popen(driver.command("--keys=1000", "--seconds=60", "--csv=rows.csv"), cwd=tmp_path)
    time.sleep(1)
    assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not path.exists()
