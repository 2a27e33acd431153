# SPDX-License-Identifier: MIT
"""The row: what it counts adds up, what it was asked for is what ran, and what was not measured is empty."""
import math
import os
import subprocess
import time

import pytest

import driver
from driver import combination, row

SOUND = [entry for entry in driver.combinations() if entry["kind"] == "set" and not entry["refused"]]
OPERATIONS = ["finds", "inserts", "removes", "scans"]
CHURN = ["--insert=25", "--remove=25", "--scan=5", "--scan-length=10"]
TWO = ["--threads=2", "--oversubscribe"]
# Updates without end over few keys: nodes are retired all the time.
LIST = ["--structure=hm_list", "--reclaimer=ebr", "--keys=64", "--insert=50", "--remove=50", "--warmup=0"]


def number(entry, name):
    assert entry[name] != "", f"{name} is empty"
    return float(entry[name])


def numbers(entry, *names):
    return [number(entry, name) for name in names]


def adds_up(entry):
    ops, *kinds = numbers(entry, "ops", *OPERATIONS)
    assert sum(kinds) == ops > 0
    retired, freed, begin, end, peak, garbage = numbers(entry, "retired", "freed", "backlog_start", "backlog_end", "backlog_peak",
                                                        "garbage_peak")
    assert retired + begin == freed + end
    assert max(begin, end, garbage) <= peak
    assert math.isclose(number(entry, "frees_per_op"), freed / ops, rel_tol=1e-5)
    assert math.isclose(number(entry, "ops_per_s"), ops / number(entry, "seconds"), rel_tol=1e-5)
    for done, tried in (("finds_hit", "finds"), ("inserts_done", "inserts"), ("removes_done", "removes")):
        assert number(entry, done) <= number(entry, tried)


@pytest.mark.parametrize("entry", [pytest.param(entry, id=f"{entry['structure']}-{entry['reclaimer']}-{entry['policy']}")
                                   for entry in SOUND])
def test_every_combination_adds_up(entry):
    threads = ["--threads=1"] if entry["writers"] == "one" else TWO
    found = row(*combination(entry), *threads, "--keys=512", "--ops=40001", "--warmup=0", "--batch-size=16", *CHURN)
    adds_up(found)
    assert (found["sound"], found["ops"]) == ("1", "40001")
    if entry["structure"] != "noop":
        prefill, inserted, removed = numbers(found, "prefill", "inserts_done", "removes_done")
        assert number(found, "final_keys") == prefill + inserted - removed
        assert number(found, "removes_done") > 0
    if entry["reclaimer"] == "leak":
        retired, begin, end = numbers(found, "retired", "backlog_start", "backlog_end")
        assert found["freed"] == "0" and end == retired + begin


def test_executed_mix_is_the_one_asked_for():
    found = row(*TWO, "--keys=4096", "--ops=400000", "--warmup=0", "--insert=20", "--remove=10", "--scan=2.5", "--scan-length=3")
    for name, share in zip(OPERATIONS, (0.675, 0.2, 0.1, 0.025)):
        deviation = math.sqrt(400000 * share * (1 - share))
        assert abs(number(found, name) - 400000 * share) < 5 * deviation, name


def test_lookups_hit_as_many_keys_as_there_are():
    found = row("--keys=100000", "--prefill=30000", "--ops=200000", "--warmup=0")
    assert abs(number(found, "finds_hit") - 60000) < 5 * math.sqrt(200000 * 0.3 * 0.7)
    assert number(found, "final_keys") == 30000
    everything = row("--keys=1000", "--prefill=all", "--ops=10000", "--warmup=0")
    assert everything["finds_hit"] == everything["finds"] == "10000"


@pytest.mark.parametrize("prefill, keys", [("none", 0), ("half", 500), ("all", 1001), ("77", 77)])
def test_prefill_is_exact(prefill, keys):
    found = row(*TWO, "--keys=1001", f"--prefill={prefill}", "--ops=10", "--warmup=0")
    assert numbers(found, "prefill", "final_keys") == [keys, keys]


@pytest.mark.parametrize("reclaimer", sorted({entry["reclaimer"] for entry in SOUND if entry["structure"] == "abtree"} - {"leak"}))
def test_many_threads_prefill_and_leave_no_garbage(reclaimer):
    """Every insert retires a leaf; some threads are not scheduled most of the time, and none is left out."""
    found = row("--structure=abtree", f"--reclaimer={reclaimer}", "--threads=128", "--oversubscribe", "--keys=20001", "--warmup=0.05",
                "--ops=1000", "--insert=50", "--remove=50")
    assert (found["prefill"], found["prefill_threads"], found["backlog_start"]) == ("10000", "128", "0")
    adds_up(found)


@pytest.mark.parametrize("threads, ops", [(1, 1), (2, 10001), (3, 3), (3, 100000), (4, 2)])
def test_operations_are_exact_and_shared(threads, ops):
    found = row(f"--threads={threads}", "--oversubscribe", "--keys=100", f"--ops={ops}", "--warmup=0")
    assert found["ops"] == found["ops_wanted"] == str(ops)
    assert numbers(found, "ops_slowest_thread", "ops_fastest_thread") == [ops // threads, -(-ops // threads)]
    assert (found["threads"], found["seconds_wanted"]) == (str(threads), "")


def test_timed_window_is_as_long_as_asked():
    found = row("--keys=1000", "--seconds=0.3", "--warmup=0.05")
    seconds = number(found, "seconds")
    # The window counts from the first operation: shorter where a busy machine starts the thread late; longer, and then
    # flagged, where it stops late.
    assert 0.2 <= seconds and (seconds <= 0.315 or "overrun" in found["flags"])
    assert 0 <= number(found, "stop_lag_ns") / 1e9 < seconds
    assert (found["ops_wanted"], found["seconds_wanted"]) == ("", "0.3")


def test_origin_is_recorded():
    found = row("--keys=1000", "--ops=1000", "--warmup=0", "--seed=42", "--allocator=jemalloc")
    assert found["seed"] == "42"
    for name in ("commit", "compiler", "allocator_version", "allocator_path", "allocator_sha256", "host_kernel", "host_thp", "timestamp"):
        assert found[name], name


def test_same_seed_same_operations():
    def hits(*options):
        found = row("--keys=10000", "--ops=50000", "--warmup=0", *CHURN, *options)
        return numbers(found, *OPERATIONS, "finds_hit", "inserts_done", "removes_done", "scanned_keys", "final_keys")
    first = hits("--seed=7")
    assert hits("--seed=7") == first
    assert hits("--seed=7", "--structure=rwlock_bptree") == first
    assert hits("--seed=8") != first
    assert hits("--seed=7", "--repeat-index=1") != first


@pytest.mark.parametrize("law", ["uniform", "sequential", "zipf:0.99"])
def test_every_distribution_finds_what_is_there(law):
    found = row("--keys=5000", "--prefill=all", "--ops=20000", "--warmup=0", f"--distribution={law}")
    assert found["finds_hit"] == found["finds"] and found["distribution"] == law


def test_drain_decides_who_pays_for_the_warm_up():
    churn = [option for option in LIST if not option.startswith("--warmup")] + ["--warmup=0.05", "--ops=1000", "--batch-size=1e6"]
    assert row(*churn, "--drain=all")["backlog_start"] == "0"
    assert number(row(*churn, "--drain=none"), "backlog_start") > 0


@pytest.mark.parametrize("every", [1, 64, 1024])
def test_samples_are_counted(every):
    found = row(*TWO, "--keys=1000", "--ops=20000", "--warmup=0", f"--sample-every={every}")
    # Distances are uniform in 1 .. 2 * every - 1, so that they do not beat with what a scheme does every so many operations.
    expected = 20000 / every
    assert abs(number(found, "latency_samples") - expected) <= (2 + 5 * math.sqrt(expected / 3) if every > 1 else 0)
    percentiles = numbers(found, "p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns")
    assert percentiles == sorted(percentiles) and 0 <= percentiles[0] < 1e7


def test_fence_is_that_of_the_scheme():
    """What announces nothing is not said to have ordered it."""
    for reclaimer, kind in (("ebr", "full"), ("debra", "full"), ("leak", "none"), ("token_naive", "none")):
        assert row(f"--reclaimer={reclaimer}", "--keys=100", "--ops=10", "--warmup=0", "--fence=full")["fence"] == kind


def test_without_samples_there_are_no_latencies():
    found = row("--keys=1000", "--ops=20000", "--warmup=0", "--sample-every=0")
    assert found["latency_samples"] == "0"
    assert [name for name in ("p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns") if found[name]] == []


def test_time_inside_free_is_measured_on_request():
    asked = row(*LIST, "--ops=200000", "--time-free")
    assert asked["time_free"] == "1" and number(asked, "freed") > 0
    assert 0 < number(asked, "free_ns") < number(asked, "seconds") * 1e9
    assert row(*LIST, "--ops=1000")["free_ns"] == ""


# ---- a trial that went wrong ----

def test_moved_thread_leaves_a_row_without_measurements(tmp_path):
    """A worker that somebody moves during the window: the binding is verified at the end, not only at the start."""
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        pytest.skip(f"needs two units to move a thread, found {len(allowed)}")
    path = tmp_path / "rows.csv"
    process = subprocess.Popen(driver.command("--keys=1000", f"--pin=list:{allowed[0]}", "--seconds=1.5", "--warmup=0", f"--csv={path}"),
                               stderr=subprocess.PIPE, text=True, env=driver.environment())
    time.sleep(0.7)
    for task in os.listdir(f"/proc/{process.pid}/task"):
        os.sched_setaffinity(int(task), {allowed[1]})
    _, said = process.communicate(timeout=30)
    assert process.returncode == 1 and said.startswith("reclaimbench: bind_failed: ") and said.count("\n") == 1
    (found,) = driver.rows_of(path.read_text())
    columns = list(found)
    assert found["status"] == "bind_failed" and found["keys"] == "1000"
    assert [name for name in columns[columns.index("seconds"):columns.index("timestamp")] if found[name]] == []
