# SPDX-License-Identifier: MIT
"""Every file in experiments/ parses, asks and answers something, and is accepted by the driver."""

import glob
import os
import re
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DRIVER = os.path.join(ROOT, "build", "reclaimbench")
EXPERIMENTS = sorted(glob.glob(os.path.join(ROOT, "experiments", "*.ini")))
sys.path[:0] = [os.path.join(ROOT, "scripts")]

from lib import experiment, plan  # noqa: E402
from lib.binary import Binary  # noqa: E402
from lib.command import UserError  # noqa: E402


@pytest.mark.parametrize("quick", [[], ["--quick"]], ids=["full", "quick"])
@pytest.mark.parametrize("path", EXPERIMENTS, ids=os.path.basename)
def test_every_experiment_is_accepted_by_the_driver(path, quick):
    if not os.path.exists(DRIVER):
        pytest.skip("build/reclaimbench is not built: run make")
    done = subprocess.run([os.path.join(ROOT, "scripts", "run"), path, "--check", *quick], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", EXPERIMENTS, ids=os.path.basename)
def test_every_experiment_parses(path):
    for mode in ("full", "quick"):
        found = experiment.load(path, mode)
        assert found.question and found.expected and found.claims and found.figures
        assert all(options["insert"] == ["0"] or options.get("prefill") not in (None, ["none"], ["0"])
                   for options in found.series.values() if "insert" in options)


# Structures, reclaimers and policies, threads: of the publication, figure by figure.
DEBRA = {("abtree", "debra", "batch"), ("abtree", "debra", "amortized")}
SWEEP = [24, 48, 96, 144, 192]
PAPER = {
    "fig01-debra-vs-leak": ({(s, r, "batch") for s in ("abtree", "occ_avl") for r in ("debra", "leak")},
                            [6, 12, 24, 36, 48, 96, 144, 192]),
    "fig02-timeline-batch-free": ({("abtree", "debra", "batch")}, [96, 192]),
    "fig03-timeline-long-frees": (DEBRA, [192]),
    "fig04-garbage-per-epoch": (DEBRA, [192]),
    "fig05-token-naive": ({("abtree", "token_naive", "batch"), ("abtree", "debra", "batch")}, SWEEP),
    "fig06-token-naive-timeline": ({("abtree", "token_naive", "batch")}, [192]),
    "fig07-token-pass-first-timeline": ({("abtree", "token_pass_first", "batch")}, [192]),
    "fig08-token-periodic-timeline": ({("abtree", "token_periodic", "batch")}, [192]),
    "fig09-token-amortized-timeline": ({("abtree", "token_pass_first", "amortized")}, [192]),
    "fig10-token-variants": ({("abtree", r, p) for r, p in (("token_naive", "batch"), ("token_pass_first", "batch"),
                                                           ("token_periodic", "batch"), ("token_pass_first", "amortized"))},
                             SWEEP),
    "table-allocator-overhead": (DEBRA, [48, 96, 192]),
}
FAKE = os.path.join(ROOT, "tests", "fake_reclaimbench")


def run_fake(*arguments, **environment):
    return subprocess.run([os.path.join(ROOT, "scripts", "run"), "--binary", FAKE, *map(str, arguments)], capture_output=True,
                          text=True, check=False, env={**os.environ, **environment})


@pytest.mark.parametrize("name", PAPER)
def test_the_papers_preset_is_the_papers(name, monkeypatch):
    """As planned on a machine of 4 sockets with 192 units, by a stand-in for the driver."""
    monkeypatch.setenv("FAKE_UNITS", "192")
    monkeypatch.setenv("FAKE_SOCKETS", "4")
    planned = plan.make(experiment.load(os.path.join(ROOT, "experiments", name + ".ini"), "paper"), Binary(FAKE))
    assert not planned.left_out and len(planned.trials) == 5 * len(planned.points)
    trials = [point.options for point in planned.points]
    schemes, threads = PAPER[name]
    assert {(t["structure"], t["reclaimer"], t["policy"]) for t in trials} == schemes
    assert sorted({int(t["threads"]) for t in trials}) == threads
    same = {"keys": "20000000", "prefill": "half", "insert": "50", "remove": "50", "seconds": "5", "warmup": "0",
            "membind": "interleave", "pin": "fill", "fence": "full"}
    for trial in trials:
        assert {key: trial[key] for key in same} == same and "oversubscribe" not in trial and "ops" not in trial
        # What the paper does not set is what the driver has: one batch size, a look at another thread every 10 operations.
        assert not {"batch-size", "epoch-frequency", "distribution", "pad-nodes"} & set(trial)
    assert {t["allocator"] for t in trials} >= {"jemalloc"}
    timeline = re.match("fig0[2346789]", name)
    assert all(("trace" in trial) == bool(timeline) for trial in trials)


@pytest.mark.parametrize("name", PAPER)
def test_each_figure_of_the_paper_has_a_quick_form_and_its_schemes(name):
    path = os.path.join(ROOT, "experiments", name + ".ini")
    quick, full = experiment.load(path, "quick"), experiment.load(path)
    assert quick.repeats == 3 and full.repeats == 5
    for options in quick.series.values():
        assert float(options["seconds"][0]) <= 1 and float(options["keys"][0]) <= 1e6
    # The published numbers of a series stand at the published thread counts.
    if full.source:
        assert [int(word) for word in full.source.at] == PAPER[name][1]


def test_the_paper_needs_a_machine_like_its_own(tmp_path):
    done = run_fake(os.path.join(ROOT, "experiments", "fig10-token-variants.ini"), "--paper", "--results", tmp_path)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert "24, 48, 96, 144, 192 threads: this machine lets us have 4 processing units" in done.stderr
    done = run_fake(os.path.join(ROOT, "experiments", "olc-read-scaling.ini"), "--paper", "--results", tmp_path)
    assert done.returncode == 2 and "[paper]" in done.stderr


def test_figures_of_the_paper_in_one_call(tmp_path):
    """One file of each kind of figure against the stand-in: bars, timeline, garbage, table."""
    files = sorted(path for path in EXPERIMENTS if re.search(r"/(fig0[46]|fig10|table).*", path))
    assert len(files) == 4
    done = run_fake(*files, "--quick", "--results", tmp_path, FAKE_UNITS="2")
    assert done.returncode == 0, done.stderr + done.stdout
    for path in files:
        name = os.path.splitext(os.path.basename(path))[0]
        made = set(os.listdir(tmp_path / name))
        assert {"report.html", "trials.csv"} < made and any(file.endswith(".png") for file in made)
        assert f"{name}.ini: " in done.stdout.split("All files")[1]
    assert "no figure" not in done.stdout and "(all files: " in done.stderr


# Of the article on a read-mostly block: series with their structure, reclaimer and rates of replacements and appends.
ARTICLE = {
    "block-read-mostly": {("rwlock", "rwlock_block", "immediate", "500", "0"), ("swap", "swap_block", "ebr", "500", "0")},
    "block-writer-off": {(name, structure, reclaimer, rate, "0") for rate in ("500", "0") for name, structure, reclaimer in (
        ("rwlock", "rwlock_block", "immediate"), ("swap", "swap_block", "ebr"))},
    "block-growing": {("swap", "swap_block", "ebr", "500", "0"), ("locked-swap", "locked_swap_block", "ebr", "500", "1.06")},
    "block-alternatives": {("plain", "plain_block", "immediate", "0", "0"), ("swap-unwritten", "swap_block", "ebr", "0", "0"),
                           ("locked-swap", "locked_swap_block", "ebr", "500", "0"),
                           *((name, name.replace("-", "_") + "_block", "immediate", "500", "0") for name in (
                               "left-right", "seqlock", "arc-swap", "rwlock", "pthread-rwlock", "mutex")),
                           *(("swap", "swap_block", name, "500", "0") for name in ("leak", "ebr", "debra", "token_periodic"))},
}


@pytest.mark.parametrize("name", ARTICLE)
def test_blocks_are_as_in_the_article(name):
    planned = plan.make(experiment.load(os.path.join(ROOT, "experiments", name + ".ini")), Binary(FAKE))
    assert not planned.left_out and len(planned.trials) == 5 * len(planned.points)
    found = {(point.series, *(point.row[key] for key in ("structure", "reclaimer", "write_rate", "append_rate")))
             for point in planned.points}
    assert found == ARTICLE[name]
    same = {"block": "16384", "yield": "scan", "warmup": "2", "seconds": "10", "allocator": "glibc"}
    for point in planned.points:
        assert {key: point.options[key] for key in same} == same and point.row["writers"] in ("0", "1")
    assert {point.options["readers"] for point in planned.points} == {"50", point.row["units"]}


def test_blocks_against_the_stand_in(tmp_path):
    """Two in full; of all six, that figures and claims fit the rows."""
    files = [os.path.join(ROOT, "experiments", f"block-{name}.ini") for name in ("read-mostly", "writer-off")]
    done = run_fake(*files, "--quick", "--results", tmp_path, FAKE_UNITS="2")
    assert done.returncode == 0, done.stderr + done.stdout
    assert "no figure" not in done.stdout and re.search(r"swap-is-faster .* holds", done.stdout)
    assert all((tmp_path / f"block-{name}" / "latency.png").exists() for name in ("read-mostly", "writer-off"))
    files = [path for path in EXPERIMENTS if os.path.basename(path).startswith("block-")]
    done = run_fake(*files, "--quick", "--check", "--results", tmp_path)
    assert len(files) == 6 and done.returncode == 0, done.stderr


def test_there_are_experiments():
    assert len(EXPERIMENTS) >= 2
    with pytest.raises(UserError):
        experiment.load(os.path.join(ROOT, "README"))


def test_readme_has_one_line_for_each_file():
    with open(os.path.join(ROOT, "experiments", "README.md"), encoding="utf-8") as readme:
        named = re.findall(r"^\| `([^`]+\.ini)` \|", readme.read(), re.MULTILINE)
    assert sorted(named) == [os.path.basename(path) for path in EXPERIMENTS]
