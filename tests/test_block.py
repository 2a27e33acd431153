# SPDX-License-Identifier: MIT
"""Blocks: what readers and writers did adds up, paced writes keep their rate or the row says that they did not, and what means nothing
is refused."""
import math
import os
import subprocess

import pytest

import driver
from driver import checked, combination, refused, row, run

SOUND = [entry for entry in driver.combinations() if entry["kind"] == "block" and not entry["refused"]]
SWAP = ["--structure=swap_block", "--reclaimer=ebr"]
PLAIN = ["--structure=plain_block", "--reclaimer=leak", "--write-rate=0"]
SHORT = ["--warmup=0", "--ops=200"]
CROWD = ["--readers=2", "--oversubscribe"]
PERCENTILES = ["p50", "p75", "p90", "p95", "p99", "p999", "p9999", "max"]


def number(entry, name):
    assert entry[name] != "", f"{name} is empty"
    return float(entry[name])


def numbers(entry, *names):
    return [number(entry, name) for name in names]


def rising(entry, form):
    values = numbers(entry, *(form.format(name) for name in PERCENTILES))
    assert values == sorted(values)
    return values


@pytest.mark.parametrize("entry", [pytest.param(entry, id="-".join(combination(entry)).replace("--", "")) for entry in SOUND])
def test_every_combination_adds_up(entry):
    writes = {"none": ["--write-rate=0"]}.get(entry["writers"], ["--writers=2", "--write-rate=50000"])
    appends = ["--append-rate=5000"] if entry["grows"] == "1" else []
    found = row(*combination(entry), *CROWD, *writes, *appends, "--block=100", "--ops=3001", "--warmup=0", "--batch-size=16")
    assert (found["sound"], found["ops"], found["scans"], found["readers"]) == ("1", "3001", "3001", "2")
    assert number(found, "ops_slowest_thread") == 1500 and number(found, "ops_fastest_thread") == 1501
    assert math.isclose(number(found, "reads_per_s"), 3001 / number(found, "seconds"), rel_tol=1e-5)
    assert found["reads_per_s"] == found["ops_per_s"]
    written, appended = numbers(found, "writes", "appends")
    assert number(found, "final_keys") == 100 + appended
    assert (appended > 0) <= bool(appends) and written <= number(found, "writes_wanted") + 1
    retired, freed, begin, end = numbers(found, "retired", "freed", "backlog_start", "backlog_end")
    assert retired + begin == freed + end
    # Whatever is retired was replaced, and only what is replaced is retired.
    assert retired == written or retired == 0
    if entry["reclaimer"] == "leak":
        assert freed == 0
    rising(found, "{}_ns")
    if written:
        late, response = rising(found, "write_late_{}_ns"), rising(found, "write_{}_ns")
        assert all(after >= before for before, after in zip(late, response))
    else:
        assert found["write_p50_ns"] == found["write_late_p50_ns"] == ""


def test_columns_of_other_kinds_are_empty():
    block, of_set = row(*SWAP, "--block=10", *SHORT), row(*driver.SMALL)
    for name in ("keys", "insert", "prefill", "prefill_threads", "distribution", "scan_length", "sample_every"):
        assert block[name] == "" != of_set[name], name
    for name in ("readers", "writers", "write_rate", "append_rate", "block", "yield", "reads_per_s", "writes", "writes_wanted", "writes_per_s",
                 "appends", "appends_wanted"):
        assert of_set[name] == "" != block[name], name
    assert of_set["write_p50_ns"] == ""


# ---- pace ----

def test_rate_is_kept_or_reported():
    """A machine that is busy may not keep it; then the row must say so."""
    found = row(*SWAP, "--write-rate=500", "--seconds=1", "--warmup=0.1")
    done, wanted = numbers(found, "writes", "writes_wanted")
    assert abs(wanted - 500 * number(found, "write_s")) <= 1.5
    assert done <= wanted + 1
    assert (done < 0.999 * wanted - 1) == ("rate_missed" in found["flags"].split(";"))
    assert math.isclose(number(found, "writes_per_s"), done / number(found, "write_s"), rel_tol=1e-5)
    assert abs(number(found, "write_s") - number(found, "seconds")) < 0.2


def test_rate_beyond_the_machine_is_reported():
    found = row(*SWAP, "--write-rate=1e9", "--seconds=0.3", "--warmup=0", "--block=10")
    assert "rate_missed" in found["flags"].split(";")
    assert number(found, "writes") < number(found, "writes_wanted")
    # Counted from the intended start, a write that waits for all the others before it responds late, and one that was never
    # done has waited all the same: no omission.
    assert number(found, "write_late_p50_ns") > 0.3 * number(found, "seconds") * 1e9


def test_stopped_process_makes_writes_late_not_fewer():
    """Writes that were due meanwhile are made up for, and their response times say how late."""
    with subprocess.Popen(driver.command(*SWAP, "--write-rate=1000", "--seconds=1.5", "--warmup=0", "--csv=-"), text=True,
                          stdout=subprocess.PIPE, env=driver.environment()) as process:
        subprocess.run(["sleep", "0.5"], check=True)
        process.send_signal(subprocess.signal.SIGSTOP)
        subprocess.run(["sleep", "0.4"], check=True)
        process.send_signal(subprocess.signal.SIGCONT)
        (found,) = driver.rows_of(process.communicate(timeout=60)[0])
    assert number(found, "writes") >= 0.9 * number(found, "writes_wanted")
    assert number(found, "write_max_ns") > 0.3e9 > number(found, "write_p50_ns")


def test_writers_share_the_rate():
    found = row(*SWAP, "--writers=3", "--write-rate=300", "--seconds=0.5", "--warmup=0", "--oversubscribe")
    assert found["threads"] == "4" and abs(number(found, "writes_wanted") - 150) <= 10


def test_what_is_overdue_takes_turns():
    growing = [entry for entry in SOUND if entry["grows"] == "1"]
    found = row(*combination(growing[0]), "--block=1", "--write-rate=1e9", "--append-rate=1e9", "--seconds=0.2", "--warmup=0")
    written, appended = numbers(found, "writes", "appends")
    assert abs(written - appended) <= 1 < written
    assert found["scanned_keys"] == ""


@pytest.mark.parametrize("reclaimer", sorted({entry["reclaimer"] for entry in SOUND if entry["structure"] == "swap_block"} - {"leak"}))
def test_one_thread_that_retires_frees(reclaimer):
    """The others only read: nobody else brings about the epoch in which its garbage is safe."""
    found = row("--structure=swap_block", f"--reclaimer={reclaimer}", "--write-rate=50000", "--batch-size=16", "--seconds=0.5", "--warmup=0")
    assert number(found, "freed") > 0.3 * number(found, "retired") > 100


def test_a_crowd_of_readers_moves_no_intended_start():
    """The writer may have to wait for its first turn: what was due before that is wanted, and late."""
    found = row(*SWAP, "--readers=20", "--oversubscribe", "--yield=none", "--write-rate=1000", "--seconds=0.5", "--warmup=0")
    assert number(found, "writes_wanted") > 0.97 * 1000 * 0.5


def test_readers_that_stop_late_do_not_move_the_end_of_the_writers_window():
    """What was due and how long that took is counted to the same moment."""
    found = row(*SWAP, "--readers=20", "--oversubscribe", "--yield=none", "--write-rate=100000", "--seconds=0.3", "--warmup=0")
    assert abs(number(found, "writes_wanted") - 100000 * number(found, "write_s")) <= 2


def test_a_writer_that_only_sleeps_does_not_stretch_the_readers_window():
    """Two scans of one element last less than it takes to wake a thread."""
    ratios = []
    for _ in range(5):
        with_writer, alone = (row(*SWAP, "--block=1000", f"--write-rate={rate}", "--ops=20", "--warmup=0", "--yield=none") for rate in ("0.001", "0"))
        ratios.append(number(with_writer, "seconds") / number(alone, "seconds"))
    assert sorted(ratios)[2] < 3, ratios


def test_a_block_that_grew_while_it_warmed_up_counts_no_elements():
    growing = [entry for entry in SOUND if entry["grows"] == "1"]
    found = row(*combination(growing[0]), "--block=1", "--append-rate=1000", "--warmup=0.3", "--ops=5", "--write-rate=0")
    assert number(found, "final_keys") > 1 and found["scanned_keys"] == ""


def test_a_row_keeps_the_digits_of_its_options():
    found = checked(*SWAP, "--write-rate=1234567", "--seconds=0.1234567")
    assert (found["write_rate"], found["seconds_wanted"]) == ("1234567", "0.1234567")


def test_rates_too_small_to_come_due():
    found = row(*SWAP, "--write-rate=1e-12", *SHORT)
    assert (found["writes"], found["writes_wanted"], found["flags"]) == ("0", "0", "")


def test_without_a_rate_there_is_no_writer():
    found = row(*SWAP, "--write-rate=0", *SHORT)
    assert (found["readers"], found["writers"], found["threads"], found["writes"], found["writes_wanted"]) == ("1", "0", "1", "0", "0")


def test_appends_alone():
    growing = [entry for entry in SOUND if entry["grows"] == "1"]
    found = row(*combination(growing[0]), "--block=1", "--write-rate=0", "--append-rate=10000", "--seconds=0.3", "--warmup=0")
    assert number(found, "appends") > 0 and found["writes"] == "0" and number(found, "final_keys") == 1 + number(found, "appends")


# ---- places ----

def test_writers_are_guests():
    """Paced, they need no unit of their own; the row says where they are all the same."""
    found = row(*SWAP, "--readers=all", *SHORT)
    assert (found["readers"], found["writers"]) == (str(driver.units()), "1")
    assert found["oversubscribed"] == "1"
    beyond = f"--readers={driver.units() + 1}"
    refused(run(*SWAP, beyond), "--oversubscribe")
    assert row(*SWAP, beyond, "--oversubscribe", *SHORT)["readers"] == str(driver.units() + 1)


def test_a_free_unit_is_the_writers():
    if driver.units() < 2:
        pytest.skip(f"needs 2 units, found {driver.units()}")
    assert row(*SWAP, "--readers=1", *SHORT)["oversubscribed"] == "0"


def test_plan_shows_readers_and_writers():
    found = run(*SWAP, "--topology=pack:1 core:4 pu:1", "--readers=3", "--writers=2", "--plan-pinning")
    assert found.returncode == 0 and found.stdout.count("\nthread ") == 5, found.stdout
    assert "thread 4 -> unit 0 " in found.stdout


# ---- samples and traces ----

def test_samples_of_a_block(tmp_path):
    found = run(*SWAP, "--seconds=0.5", "--warmup=0", "--write-rate=5000", "--batch-size=64", "--csv=row.csv", "--samples=samples.csv", cwd=tmp_path)
    assert (found.returncode, found.stderr) == (0, "")
    (only,) = driver.rows_of((tmp_path / "row.csv").read_text())
    samples = driver.rows_of((tmp_path / "samples.csv").read_text())
    scans = [int(sample["ops"]) for sample in samples]
    assert len(samples) > 2 and scans == sorted(scans) and 0 < scans[-1] <= int(only["ops"])
    assert all(int(sample["garbage"]) <= int(sample["backlog"]) for sample in samples)
    assert max(int(sample["backlog"]) for sample in samples) > 0


def test_a_writers_frees_are_traced(tmp_path):
    found = row(*SWAP, "--seconds=0.3", "--warmup=0", "--write-rate=20000", "--batch-size=64", f"--trace={tmp_path / 't'}")
    lines = [line.split() for line in (tmp_path / "t").read_text().splitlines() if not line.startswith("#")]
    freed = sum(int(value) for _, _, _, event, value in lines if event == "batch_free")
    assert freed == number(found, "freed") > 0


# ---- what is refused ----

@pytest.mark.parametrize("options, words", [
    ([*SWAP, "--threads=2"], ["--threads", "kind set"]),
    ([*SWAP, "--keys=10"], ["--keys", "kind set"]),
    ([*SWAP, "--insert=1"], ["--insert"]),
    ([*SWAP, "--sample-every=5"], ["--sample-every"]),
    (["--readers=2"], ["--readers", "kind block"]),
    (["--block=2"], ["--block"]),
    ([*SWAP, "--readers=0"], ["--readers"]),
    ([*SWAP, "--readers=some"], ["--readers"]),
    ([*SWAP, "--writers=0"], ["--writers"]),
    ([*SWAP, "--writers=2", "--write-rate=0"], ["--writers", "--write-rate=0"]),
    ([*SWAP, "--write-rate=2e9"], ["--write-rate"]),
    ([*SWAP, "--append-rate=1"], ["--append-rate", "locked_swap_block"]),
    ([*SWAP, "--block=0"], ["--block"]),
    ([*SWAP, "--block=1e12"], ["MB"]),
    ([*SWAP, "--yield=always"], ["--yield"]),
    ([*PLAIN[:2]], ["plain_block", "--write-rate=0"]),
    ([*PLAIN[:1], "--reclaimer=ebr"], ["retires nothing"]),
    (["--structure=rwlock_block", "--reclaimer=immediate", "--policy=pooled"], ["retires nothing"]),
    (["--structure=swap_block", "--reclaimer=immediate"], ["may be reading"]),
])
def test_refused(tmp_path, options, words):
    refused(run(*options, "--csv=row.csv", "--seconds=30", cwd=tmp_path, timeout=20), *words)
    assert os.listdir(tmp_path) == []


def test_check_resolves_words():
    found = checked(*SWAP, "--readers=all", "--block=16k")
    assert (found["readers"], found["writers"], found["block"], found["write_rate"], found["yield"]) == (str(driver.units()), "1", "16000",
                                                                                                           "500", "scan")


@pytest.mark.parametrize("elements", [1, 2, 16, 17, 1000000])
def test_sizes_of_a_block(elements):
    found = row(*SWAP, f"--block={elements}", "--warmup=0", "--ops=50", "--write-rate=10000")
    assert number(found, "final_keys") == elements and found["ops"] == "50"
