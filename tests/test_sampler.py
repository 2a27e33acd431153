# SPDX-License-Identifier: MIT
"""Samples: lines of one trial that agree with its row, on time, from a thread that disturbs no worker, in a file that holds whole
lines or nothing."""
import os
import subprocess
import time

import pytest

import driver
from driver import SMALL, checked, refused, run

CHURN = ["--structure=hm_list", "--keys=64", "--insert=50", "--remove=50", "--warmup=0.05"]
TWO = ["--threads=2", "--oversubscribe"]
OWN = ["t_s", "late_s", "ops", "rss_bytes", "backlog", "garbage", "epochs"]


def sampled(folder, *options):
    """(row, samples)"""
    found = run(*options, "--csv=row.csv", "--samples=samples.csv", cwd=folder)
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")
    (only,) = driver.rows_of((folder / "row.csv").read_text())
    assert only["status"] == "ok"
    return only, driver.rows_of((folder / "samples.csv").read_text())


def column(samples, name, kind=int):
    return [kind(sample[name]) for sample in samples]


def rising(values):
    return values == sorted(values)


@pytest.fixture(scope="module", name="trial")
def fixture_trial(tmp_path_factory):
    return sampled(tmp_path_factory.mktemp("samples"), *CHURN, *TWO, "--seconds=1", "--sample-hz=50", "--sample-every=64", "--batch-size=64")


def test_every_line_names_its_trial(trial):
    found, samples = trial
    columns = list(samples[0])
    assert columns[-len(OWN):] == OWN
    for name in columns[:-len(OWN)]:
        assert {sample[name] for sample in samples} == {found[name]}, name
    assert {"structure", "reclaimer", "policy", "allocator", "threads", "seed", "repeat_index", "commit"} <= set(columns)


def test_samples_lie_in_the_window_and_grow(trial):
    found, samples = trial
    times = column(samples, "t_s", float)
    assert len(times) > 10 and rising(times) and 0 <= times[0] and times[-1] <= float(found["seconds"])
    # Deadlines are absolute: what one sample is late does not move the next.
    due = [at - late for at, late in zip(times, column(samples, "late_s", float))]
    steps = [round((after - before) * 50, 2) for before, after in zip(due, due[1:])]
    assert all(step >= 1 and step == round(step) for step in steps), steps


def test_samples_agree_with_the_row(trial):
    found, samples = trial
    for name, most in (("ops", "ops"), ("epochs", "epochs")):
        values = column(samples, name)
        assert rising(values) and 0 < values[-1] <= int(found[most])
    # The last one came at most some time slices before the end.
    assert column(samples, "ops")[-1] > int(found["ops"]) / 4
    for sample in samples:
        assert 0 <= int(sample["garbage"]) <= int(sample["backlog"])
    assert max(column(samples, "backlog")) <= int(found["backlog_peak"])
    assert 0 < max(column(samples, "garbage")) <= int(found["garbage_peak"])
    # statm and VmHWM are not exact to the page.
    assert all(1 << 16 < bytes_ <= int(found["rss_peak_bytes"]) + (4 << 20) for bytes_ in column(samples, "rss_bytes"))


def test_a_leak_is_seen_growing(tmp_path):
    found, samples = sampled(tmp_path, *CHURN, "--reclaimer=leak", "--seconds=0.4", "--sample-every=16")
    backlog = column(samples, "backlog")
    assert len(samples) >= 3 and rising(backlog) and backlog == column(samples, "garbage")
    assert backlog[0] < backlog[-1] <= int(found["backlog_end"])
    assert column(samples, "rss_bytes")[0] < column(samples, "rss_bytes")[-1]


def test_amortized_backlog_is_more_than_garbage(tmp_path):
    _, samples = sampled(tmp_path, *CHURN, "--policy=amortized", "--seconds=0.4", "--sample-every=16", "--batch-size=4096", "--sample-hz=100")
    assert any(int(sample["backlog"]) > int(sample["garbage"]) for sample in samples)


def test_samples_of_a_number_of_operations(tmp_path):
    found, samples = sampled(tmp_path, "--keys=1000", "--ops=5e6", "--warmup=0", "--sample-hz=100")
    assert all(0 <= at <= float(found["seconds"]) for at in column(samples, "t_s", float))
    assert rising(column(samples, "ops")) and all(ops <= 5e6 for ops in column(samples, "ops"))


def test_row_says_whether_a_sampler_ran(tmp_path):
    assert (checked()["samples"], checked()["sample_hz"]) == ("", "")
    assert (checked()["samples"], checked()["sample_hz"]) == ("", "")
    found = checked(f"--samples={tmp_path / 's'}", "--sample-hz=7")
    assert (found["samples"], found["sample_hz"]) == (str(tmp_path / "s"), "7")
    assert os.listdir(tmp_path) == []


def test_late_samples_are_flagged(tmp_path):
    """A stopped process samples nothing; the moments that passed are not made up for."""
    process = subprocess.Popen(driver.command("--keys=1000", "--seconds=1.2", "--warmup=0", "--csv=row.csv", "--samples=samples.csv"),
                               cwd=tmp_path, env=driver.environment())
    time.sleep(0.4)
    process.send_signal(subprocess.signal.SIGSTOP)
    time.sleep(0.6)
    process.send_signal(subprocess.signal.SIGCONT)
    assert process.wait(30) == 0
    (found,) = driver.rows_of((tmp_path / "row.csv").read_text())
    times = column(driver.rows_of((tmp_path / "samples.csv").read_text()), "t_s", float)
    assert "samples_late" in found["flags"].split(";")
    assert max(after - before for before, after in zip(times, times[1:])) > 0.4


def test_trials_append_below_one_header(tmp_path):
    for seed in (1, 2, 3):
        found = run("--keys=1000", "--seconds=0.15", "--warmup=0", f"--seed={seed}", "--samples=samples.csv", cwd=tmp_path)
        assert (found.returncode, found.stderr) == (0, "")
    text = (tmp_path / "samples.csv").read_text()
    assert text.endswith("\n") and text.count("t_s") == 1
    samples = driver.rows_of(text)
    assert all(None not in sample and None not in sample.values() for sample in samples)
    assert {sample["seed"] for sample in samples} == {"1", "2", "3"}


def test_traced_trials_are_sampled_too(tmp_path):
    _, samples = sampled(tmp_path, *CHURN, "--seconds=0.3", "--trace=trace")
    assert samples and {sample["trace"] for sample in samples} == {"trace"}


# ---- what it costs the workers ----

def threads_of(process):
    """{name of the allowed set: number of threads that have it}, once the trial has all of its threads."""
    found = {}
    for task in os.listdir(f"/proc/{process.pid}/task"):
        try:
            allowed = frozenset(os.sched_getaffinity(int(task)))
        except ProcessLookupError:
            continue
        found[allowed] = found.get(allowed, 0) + 1
    return found


@pytest.mark.parametrize("options, extra", [([], 0), (["--samples=samples.csv"], 1)])
def test_sampler_is_a_thread_of_its_own_apart_from_the_workers(tmp_path, options, extra):
    units = sorted(os.sched_getaffinity(0))
    if len(units) < 2:
        pytest.skip(f"needs a unit beside the worker's, found {len(units)}")
    with subprocess.Popen(driver.command("--keys=1000", "--seconds=1", "--warmup=0", f"--pin=list:{units[0]}", *options), cwd=tmp_path,
                          stdout=subprocess.DEVNULL, env=driver.environment()) as process:
        time.sleep(0.5)
        places = threads_of(process)
    assert process.returncode == 0
    worker = places.pop(frozenset({units[0]}))
    # The main thread sleeps on the helpers' unit.
    assert worker == 1 and list(places.values()) == [1 + extra]


# ---- what is refused ----

@pytest.mark.parametrize("options, word", [
    (["--sample-hz=0"], "--sample-hz"), (["--sample-hz=101"], "--sample-hz"), (["--sample-hz=1.5"], "--sample-hz"),
    (["--sample-every=0"], "--sample-every"), (["--samples=-"], "file of its own"), (["--samples=row.csv"], "file of its own"),
    (["--samples=absent/samples.csv"], "No such file"), (["--samples=."], "Is a directory")], ids=" ".join)
def test_refused_before_the_trial(tmp_path, options, word):
    if not any(option.startswith("--samples") for option in options):
        options = [*options, "--samples=samples.csv"]
    refused(run(*options, "--csv=row.csv", "--seconds=30", cwd=tmp_path, timeout=20), word)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "structure\n"])
def test_other_columns_are_left_alone(tmp_path, text):
    path = tmp_path / "samples.csv"
    path.write_text(text)
    refused(run(*SMALL, f"--samples={path}", "--csv=row.csv", cwd=tmp_path), "columns")
    assert path.read_text() == text and os.listdir(tmp_path) == ["samples.csv"]


def test_half_a_line_is_not_continued(tmp_path):
    _, samples = sampled(tmp_path, "--keys=1000", "--seconds=0.15", "--warmup=0")
    path = tmp_path / "samples.csv"
    torn = path.read_bytes()[:-3]
    path.write_bytes(torn)
    refused(run(*SMALL, f"--samples={path}"), "whole row")
    assert samples and path.read_bytes() == torn


def test_full_disk_is_one_line_and_no_row(tmp_path):
    refused(run("--keys=1000", "--seconds=0.15", "--samples=/dev/full", "--csv=row.csv", cwd=tmp_path), "No space left on device")
    assert os.listdir(tmp_path) == []
