# SPDX-License-Identifier: MIT
"""scripts/run, scripts/compare and scripts/host-check against a scripted stand-in for the driver."""

import csv
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FAKE = os.path.join(ROOT, "tests", "fake_reclaimbench")
sys.path[:0] = [ROOT, os.path.join(ROOT, "scripts")]

from lib import experiment, plan  # noqa: E402
from lib.binary import Binary  # noqa: E402

BASIC = """
[experiment]
question = Does it scale?
expected = Yes.
repeats = 5
timeout = 2

[all]
ops = 1000
threads = 1 2 4 all socket
allocator = installed

[lock]
structure = rwlock_bptree
reclaimer = immediate

[olc]
structure = olc_bptree
reclaimer = ebr

[quick]
repeats = 3
threads = 1 all
allocator = glibc

[figure throughput]
kind = lines
x = threads
y = ops_per_s
panels = allocator

[claim scales]
says = more threads do more
value = olc[threads=max] / olc[threads=1]
holds = > 1
source = 4.77 at 8
testable = units >= 2
each = allocator
"""


@pytest.fixture(name="site")
def make_site(tmp_path):
    return Site(tmp_path)


class Site:
    """A folder with an experiment file and its results, and the runner set to the stand-in."""

    def __init__(self, folder):
        self.folder = folder
        self.file = folder / "basic.ini"
        self.file.write_text(BASIC)
        self.out = folder / "results" / "basic"
        self.environment = {**os.environ, "FAKE_JOURNAL": str(folder / "journal")}

    def command(self, *arguments):
        return [os.path.join(ROOT, "scripts", "run"), str(self.file), "--binary", FAKE, "--results",
                str(self.folder / "results"), *arguments]

    def run(self, *arguments, rules=(), **environment):
        environment = {**self.environment, "FAKE_RULES": json.dumps(list(rules)), **environment}
        return subprocess.run(self.command(*arguments), capture_output=True, text=True, env=environment, check=False)

    def rows(self):
        with open(self.out / "trials.csv", newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def started(self):
        journal = self.folder / "journal"
        return journal.read_text().splitlines() if journal.exists() else []

    def replace(self, old, new):
        text = self.file.read_text()
        assert old in text
        self.file.write_text(text.replace(old, new))

    def plan(self, mode="full"):
        return plan.make(experiment.load(str(self.file), mode), Binary(FAKE))


def test_sweep_is_the_product_of_the_words_with_equal_thread_counts_merged(site):
    points = site.plan().points
    seen = {(point.series, point.options["allocator"], point.options["threads"]) for point in points}
    # 4 units in one socket: `4`, `all` and `socket` are one point; tcmalloc is not installed.
    assert seen == {(s, a, t) for s in ("lock", "olc") for a in ("glibc", "jemalloc") for t in ("1", "2", "4")}
    assert len(points) == 12


def test_quick_overrides_every_series(site):
    trials = site.plan("quick").trials
    assert len(trials) == 2 * 2 * 3
    assert {trial.point.options["allocator"] for trial in trials} == {"glibc"}


def test_an_empty_value_takes_an_inherited_option_away(site):
    site.replace("[quick]\n", "[quick]\nops =\nseconds = 0.5\n")
    assert all("ops" not in p.options and p.options["seconds"] == "0.5" for p in site.plan("quick").points)


def test_repeats_are_interleaved_in_an_order_that_the_seed_decides(site):
    first = site.plan().trials
    for repeat in range(5):
        part = first[repeat * 12: repeat * 12 + 12]
        assert {trial.repeat for trial in part} == {repeat}
        assert len({(trial.point.series, trial.point.text) for trial in part}) == 12

    def order(trials):
        return [(trial.point.text, trial.repeat) for trial in trials]

    assert order(first) == order(site.plan().trials)
    assert order(first)[:12] != [(text, 0) for text, _ in order(first)[12:24]]
    site.replace("repeats = 5", "repeats = 5\norder-seed = 2")
    assert order(first) != order(site.plan().trials)


def test_threads_beyond_the_units_need_the_files_permission(site):
    site.replace("threads = 1 2 4 all socket", "threads = 1 16")
    left_out = site.plan()
    assert {point.options["threads"] for point in left_out.points} == {"1"}
    assert left_out.left_out == ["16 threads: this machine lets us have 4 processing units"]
    site.replace("ops = 1000", "ops = 1000\noversubscribe = yes")
    both = {point.options["threads"]: point.options.get("oversubscribe") for point in site.plan().points}
    assert both == {"1": None, "16": "yes"}


BLOCKS = """
[experiment]
question = Does it lock?
expected = Yes.

[all]
readers = 1 2 50 all
write-rate = 500 1000000
policy = batch

[rwlock]
structure = rwlock_block
reclaimer = immediate

[swap]
structure = swap_block
reclaimer = every

[quick]
repeats = 3
readers = all

[figure latency]
kind = percentiles
panels = readers write_rate

[claim faster]
says = swap is faster
value = swap[reclaimer=ebr, readers=all, write_rate=1000000].reads_per_s / rwlock[readers=all, write_rate=1000000].reads_per_s
holds = > 1
"""


def test_readers_take_the_words_of_threads_and_writers_do_not_count(site):
    site.file.write_text(BLOCKS)
    planned = site.plan()
    # 4 units: `all` is 4, and a writer beside 4 readers needs no permission.
    assert {point.options["readers"] for point in planned.points} == {"1", "2", "4"}
    assert planned.left_out == ["50 readers: this machine lets us have 4 processing units"]
    assert all("oversubscribe" not in point.options and "threads" not in point.options for point in planned.points)
    site.replace("readers = 1 2 50 all", "readers = 50 all\noversubscribe = yes")
    both = {point.options["readers"]: point.options.get("oversubscribe") for point in site.plan().points}
    assert both == {"50": "yes", "4": None}
    site.replace("readers = 50 all\noversubscribe = yes", "readers = 50")
    done = site.run()
    assert done.returncode == 2 and "found none (50 readers: this machine lets us have 4 processing units)" in done.stderr


def test_every_reclaimer_is_each_that_the_driver_has_for_the_structure(site):
    site.file.write_text(BLOCKS)
    seen = {(point.series, point.options["reclaimer"]) for point in site.plan().points}
    assert seen == {("rwlock", "immediate")} | {("swap", name) for name in ("leak", "ebr", "debra", "token_periodic")}
    site.replace("structure = rwlock_block\nreclaimer = immediate", "structure = oak\nreclaimer = every")
    done = site.run()
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and "runs oak with batch, found none" in done.stderr


def test_blocks_are_run_drawn_and_answered(site):
    site.file.write_text(BLOCKS)
    done = site.run("--quick")
    assert done.returncode == 0, done.stderr
    assert re.search(r"faster +1[34]\S* .* holds", done.stdout) and "no figure" not in done.stdout
    # As the driver prints a rate and as a file does are one number.
    assert {row["write_rate"] for row in site.rows()} == {"500", "1e+06"}
    assert (site.out / "latency.png").exists()


def test_a_run_leaves_rows_machine_figures_and_a_report_that_stands_alone(site):
    done = site.run("--quick")
    assert done.returncode == 0, done.stderr
    rows = site.rows()
    assert len(rows) == 12 and {row["status"] for row in rows} == {"ok"}
    assert [int(row["position"]) for row in rows] == list(range(12))
    names = set(os.listdir(site.out))
    assert {"trials.csv", "machine.json", "sweep.json", "report.html", "throughput.png", "throughput.svg"} <= names
    assert "kernel" in json.loads((site.out / "machine.json").read_text())["facts"]
    report = (site.out / "report.html").read_text()
    assert "Does it scale?" in report and "Yes." in report and "holds" in report and "data:image/svg+xml" in report
    assert not re.search(r'(src|href)="(?!data:)', report)
    assert "report.html" in done.stdout and "throughput.png" in done.stdout
    assert "left" in done.stderr


def test_plan_prints_the_commands_and_the_minutes_and_runs_nothing(site):
    done = site.run("--plan")
    lines = done.stdout.splitlines()
    assert len([line for line in lines if "--repeat-index=" in line]) == 60
    assert lines[-1] == "# 60 trials, about 2.0 minutes (at 2 s a trial, as the file says)"
    assert not site.started() and not site.out.exists()


def test_minutes_come_from_trials_of_the_same_mode_or_from_the_file(site):
    assert site.run("--quick").returncode == 0
    assert site.run("--plan").stdout.splitlines()[-1] == "# 60 trials, about 2.0 minutes (at 2 s a trial, as the file says)"
    assert site.run("--plan", "--quick").stdout.splitlines()[-1].endswith("(from 12 trials measured here)")


def test_check_runs_nothing(site):
    done = site.run("--check")
    assert done.returncode == 0 and "12 points, 60 trials" in done.stdout
    assert not site.started() and not site.out.exists()


@pytest.mark.parametrize("old, new, said", [
    ("repeats = 5", "repeats = 4", "at least 5 repeats"),
    ("expected = Yes.", "", "expected"),
    ("ops = 1000", "opps = 1000", "found opps"),
    ("ops = 1000", "csv = x", "the runner sets it"),
    ("structure = olc_bptree", "structure = oak", "found oak"),
    ("threads = 1 2 4 all socket", "threads = 99", "found none"),
    ("allocator = installed", "allocator = tcmalloc", "do install it"),
    ("kind = lines", "kind = pies", "'pies'"),
    ("kind = lines", "kind = style", "'style'"),
    ("y = ops_per_s", "y = ops_per_year", "ops_per_year"),
    ("panels = allocator", "pannels = allocator", "pannels"),
    ("panels = allocator\n", "", "found 2"),
    ("holds = > 1", "holds = about 1", "about 1"),
    ("value = olc[threads=max]", "value = oak[threads=max]", "found oak"),
    ("value = olc[threads=max]", "value = olc[threads=max].opps", "found opps"),
    ("value = olc[threads=max]", "value = olc", "found 3"),
    ("testable = units >= 2", "testable = moons >= 2", "found moons"),
    ("[lock]", "[source]\nlabel = x\nx = threads\ncolumn = ops_per_s\nthreads = 1\nwhere = units=2\n[lock]", "`where` in a [source NAME] only"),
    ("[lock]", "[source s]\nlabel = x\nx = threads\ncolumn = ops_per_s\nthreads = 1\nwhere = units\n[lock]", "[source s]"),
    ("[lock]", "[lo ck]", "lo ck"),
    ("[lock]", "[olc]", "olc"),
])
def test_mistakes_in_a_file_are_one_line_and_exit_2_before_anything_runs(site, old, new, said):
    site.replace(old, new)
    if "each" in site.file.read_text() and said == "found 2":
        site.replace("each = allocator\n", "")
    done = site.run()
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1 and said in done.stderr, done.stderr
    assert not site.started() and not site.out.exists()


def test_every_ending_of_a_trial_becomes_one_row(site):
    site.replace("timeout = 2", "timeout = 0.6")
    site.replace("[quick]\nrepeats = 3\nthreads = 1 all", "[quick]\nrepeats = 3\nthreads = 1 2 3 4")
    rules = [
        {"when": {"structure": "olc_bptree", "threads": "2"}, "do": "crash"},
        {"when": {"structure": "olc_bptree", "threads": "3", "repeat-index": "1"}, "do": "hang"},
        {"when": {"structure": "olc_bptree", "threads": "4"}, "do": "wrong"},
        {"when": {"structure": "rwlock_bptree", "threads": "2"}, "do": "oom"},
        {"when": {"structure": "rwlock_bptree", "threads": "3"}, "do": "mute"},
    ]
    done = site.run("--quick", rules=rules)
    assert done.returncode == 1
    rows = site.rows()
    assert len(rows) == 24
    statuses = {(row["series"], row["threads"], row["repeat_index"]): row["status"] for row in rows}
    assert statuses["olc", "2", "0"] == "crash:SIGSEGV"
    assert statuses["olc", "3", "1"] == "timeout" and statuses["olc", "3", "0"] == "ok"
    assert statuses["olc", "4", "2"] == "invariant"
    assert statuses["lock", "2", "0"] == "oom"
    assert statuses["lock", "3", "0"] == "invariant"
    for row in rows:
        assert (row["ops_per_s"] == "") == (row["status"] != "ok")
    assert "killed after 0.6 s with 0." in [row["message"] for row in rows if row["status"] == "timeout"][0]
    assert "wanted 9 GB" in [row["message"] for row in rows if row["status"] == "oom"][0]
    report = (site.out / "report.html").read_text()
    assert "crash:SIGSEGV" in report and "timeout" in report
    assert "cannot be tested here: olc[threads=max]: invariant" in report


def test_each_traced_trial_has_a_file_of_its_own_and_is_not_drawn(site):
    site.replace("[quick]\n", "[quick]\ntrace = yes\n")
    done = site.run("--quick")
    assert done.returncode == 0, done.stderr
    traces = [row["trace"] for row in site.rows()]
    assert traces == [str(site.out / "traces" / f"{row['position']}.trace") for row in site.rows()]
    assert "olc[threads=max]: no ops_per_s in these trials" in done.stdout
    assert os.path.isdir(site.out / "traces")


def test_failed_trials_stay_failed_until_they_are_retried(site):
    rules = [{"when": {"structure": "olc_bptree"}, "do": "oom"}]
    assert site.run("--quick", rules=rules).returncode == 1
    before = len(site.started())
    assert site.run("--quick").returncode == 1 and len(site.started()) == before
    assert site.run("--quick", "--retry").returncode == 0
    assert len(site.started()) == before + 6 and len(site.rows()) == 12


def test_a_killed_sweep_goes_on_where_it_was(site):
    environment = {**site.environment, "FAKE_SLEEP": "0.1"}
    with subprocess.Popen(site.command("--quick"), env=environment, stderr=subprocess.DEVNULL) as process:
        while len(site.started()) < 5:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    with open(site.out / "trials.csv", "ab") as file:
        file.write(b"olc,a row that was cut")
    before = site.rows()[:-1]
    started = len(site.started())
    assert 4 <= len(before) < 12
    assert site.run("--quick").returncode == 0
    rows = site.rows()
    assert rows[: len(before)] == before and len(rows) == 12
    assert len({(row["series"], row["trial"], row["repeat_index"]) for row in rows}) == 12
    assert len(site.started()) == started + 12 - len(before)
    assert [int(row["position"]) for row in rows] == list(range(12))


def test_a_killed_runner_leaves_no_trial_behind(site):
    site.replace("timeout = 2", "timeout = 60")
    environment = {**site.environment, "FAKE_RULES": '[{"when": {}, "do": "hang"}]'}
    with subprocess.Popen(site.command("--quick"), env=environment, stderr=subprocess.DEVNULL) as process:
        while not site.started():
            time.sleep(0.02)
        process.kill()
    time.sleep(0.3)
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                assert str(site.folder) not in file.read()
        except OSError:
            pass  # it has ended, or belongs to somebody else


def test_two_runners_do_not_share_a_folder(site):
    environment = {**site.environment, "FAKE_SLEEP": "0.3"}
    with subprocess.Popen(site.command("--quick"), env=environment, stderr=subprocess.DEVNULL) as process:
        while not site.started():
            time.sleep(0.02)
        second = site.run("--quick")
        process.terminate()
    assert second.returncode == 2 and "another runner" in second.stderr


def test_a_driver_that_is_rebuilt_in_the_middle_stops_the_sweep(site):
    copy = site.folder / "driver"
    shutil.copy(FAKE, copy)
    command = [str(copy) if word == FAKE else word for word in site.command("--quick")]
    with subprocess.Popen(command, env={**site.environment, "FAKE_SLEEP": "0.2"}, stderr=subprocess.PIPE) as process:
        while not site.started():
            time.sleep(0.02)
        shutil.copy(FAKE, site.folder / "new")
        os.replace(site.folder / "new", copy)
        said = process.communicate()[1].decode()
    assert process.returncode == 2 and "has changed since it began" in said and len(site.rows()) < 12


def test_sweeps_are_not_mixed(site):
    assert site.run("--quick").returncode == 0
    site.replace("ops = 1000", "ops = 2000")
    refused = site.run("--quick")
    assert refused.returncode == 2 and "--fresh" in refused.stderr and len(refused.stderr.splitlines()) == 1
    assert len(site.rows()) == 12
    fresh = site.run("--quick", "--fresh")
    assert fresh.returncode == 0 and {row["ops"] for row in site.rows()} == {"2000"}
    assert len((site.folder / "results" / "basic.1" / "trials.csv").read_text().splitlines()) == 13


def test_questions_claims_and_figures_may_be_edited_after_measuring(site):
    assert site.run("--quick").returncode == 0
    site.replace("question = Does it scale?", "question = Does it really?")
    site.replace("holds = > 1", "holds = > 100")
    again = site.run("--quick")
    assert again.returncode == 0 and "does not hold" in again.stdout and len(site.started()) == 12
    assert "does not hold" in site.run("--quick", "--draw").stdout


def test_the_full_sweep_may_follow_the_quick_one_but_not_the_other_way_round(site):
    assert site.run("--quick").returncode == 0
    assert site.run().returncode == 0 and len(site.rows()) == 60
    assert (site.folder / "results" / "basic.1").exists()
    assert site.run("--quick").returncode == 2


def test_the_papers_parameters_are_a_mode_of_their_own(site):
    assert site.run("--paper").returncode == 2 and not site.started()
    site.replace("[quick]\n", "[paper]\nthreads = 3\n\n[quick]\n")
    assert site.run("--quick").returncode == 0
    done = site.run("--paper")
    assert done.returncode == 0 and {row["threads"] for row in site.rows()} == {"3"}
    assert json.loads((site.out / "sweep.json").read_text())["mode"] == "paper"
    assert "<h1>basic (paper)</h1>" in (site.out / "report.html").read_text()
    assert (site.folder / "results" / "basic.1").exists()
    refused = site.run()
    assert refused.returncode == 2 and "the mode" in refused.stderr and "--fresh" in refused.stderr
    assert site.run("--quick", "--paper").returncode == 2


def test_several_files_run_one_after_the_other_and_do_not_hide_each_other(site):
    second, broken = site.folder / "second.ini", site.folder / "broken.ini"
    second.write_text(BASIC.replace("ops = 1000", "ops = 7"))
    broken.write_text(BASIC.replace("ops = 1000", "opps = 1000"))
    done = site.run("--quick", str(broken), str(second), rules=[{"when": {"ops": "1000", "threads": "1"}, "do": "oom"}])
    assert done.returncode == 2
    said = done.stdout.split("All files")[1]
    assert "basic.ini: 6 of 12 trials ok" in said and "broken.ini: wanted an option" in said
    assert "second.ini: 12 of 12 trials ok; claims: 1 holds" in said
    assert len(site.rows()) == 12 and (site.folder / "results" / "second" / "throughput.png").exists()
    assert re.search(r"basic: 0 of 12 trials, \d:\d\d left \(all files: \d:\d\d\)", done.stderr)
    assert site.run("--quick", str(second)).returncode == 1
    planned = site.run("--plan", str(second)).stdout.splitlines()
    assert planned[-1].startswith("# in all 120 trials")
    (site.folder / "more").mkdir()
    twin = site.folder / "more" / "basic.ini"
    twin.write_text(BASIC)
    assert "share a folder" in site.run("--quick", str(twin)).stderr


def test_traces_are_found_where_the_folder_is(site):
    site.replace("[quick]\n", "[quick]\ntrace = yes\n")
    site.file.write_text(site.file.read_text() + """
[figure timeline]
kind = timeline
garbage = yes

[claim turns]
says = one at a time
value = olc[threads=max].batch_free_overlap
holds = < 1.001

[claim busy]
says = half of all time
value = olc[threads=max].batch_free_share
holds = > 0.15 and < 0.25
""")
    assert site.run("--quick").returncode == 0
    moved = site.folder / "elsewhere" / "basic"
    moved.parent.mkdir()
    shutil.move(site.out, moved)
    done = site.run("--quick", "--draw", "--results", str(moved.parent))
    assert done.returncode == 0, done.stderr
    assert re.search(r"turns +1 .* holds", done.stdout) and re.search(r"busy +0.2 .* holds", done.stdout)
    assert "no figure" not in done.stdout
    (moved / "traces" / "0.trace").write_text("cut off")
    done = site.run("--quick", "--draw", "--results", str(moved.parent))
    assert re.search(r"1 of \d+ traces are missing or not whole", done.stdout)


def test_claims_across_experiments_need_both_results(site):
    site.replace("value = olc[threads=max] / olc[threads=1]", "value = olc[threads=max] / twin:olc[threads=max]")
    assert "needs the results of twin" in site.run("--quick").stdout
    (site.folder / "twin.ini").write_text(site.file.read_text())
    site.file, first = site.folder / "twin.ini", site.file
    assert site.run("--quick").returncode == 0
    site.file = first
    assert "needs the results" not in site.run("--quick").stdout
    site.file = site.folder / "twin.ini"
    assert site.run().returncode == 0
    site.file = first
    assert "in another mode" in site.run("--quick").stdout


def compare(*arguments):
    return subprocess.run([os.path.join(ROOT, "scripts", "compare"), *map(str, arguments)], capture_output=True, text=True,
                          check=False)


def test_compare_tells_a_difference_from_noise(site):
    site.replace("allocator = installed", "allocator = glibc")
    assert site.run().returncode == 0
    assert site.run("--fresh", rules=[{"when": {"structure": "rwlock_bptree", "threads": "4"},
                                       "do": {"ops_per_s": "9e9"}}]).returncode == 0
    done = compare(site.folder / "results/basic.1/trials.csv", site.out / "trials.csv")
    assert done.returncode == 0, done.stderr
    lines = {line.split()[0] + line.split()[3]: line for line in done.stdout.splitlines() if "threads=" in line}
    assert len(lines) == 6
    changed = [line for line in lines.values() if "B is larger" in line]
    assert len(changed) == 1 and "rwlock_bptree threads=4" in changed[0]
    assert sum("no difference shown" in line for line in lines.values()) == 5
    assert compare(site.out / "trials.csv", site.file).returncode == 2


def test_host_check_reads_and_advises():
    done = subprocess.run([os.path.join(ROOT, "scripts", "host-check")], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert len(lines) >= 8
    for line in lines:
        assert re.match(r"(ok   |look |\?    ) [\w ]+: ", line), line
        assert line.startswith("ok") or "; try: " in line
