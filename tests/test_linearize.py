# SPDX-License-Identifier: MIT
"""Each structure's histories under contention, some thousands of short ones: is there an order that explains every answer?

What is asked lies with the structure, so each is asked under two reclaimers that free, and not under all."""
import re

import pytest

import build

UNDER = ("ebr-batch", "debra-amortized")
ROUNDS, THREADS, SEED, SECONDS = "1500", "4", "1", "2"


def structures():
    return [each for each in build.combinations(build.binary("build"))
            if each.kind == "set" and each.has_nodes and f"{each.reclaimer}-{each.policy}" in UNDER]


@pytest.mark.parametrize("pair", structures(), ids=str)
def test_linearizable(pair, tmp_path):
    program = build.program("linearize/linearize.c", tmp_path / "linearize", *pair.defines(), *build.SMALL)
    done = build.run([program, ROUNDS, THREADS, SEED, SECONDS])
    assert done.returncode == 0, done.stderr
    rounds, calls = map(int, re.match(r"(\d+) rounds, (\d+) calls", done.stdout).groups())
    assert calls > rounds * 24 > 0, "too few calls to find anything"


# They wait by backoff.h alone: a coroutine that waited in the kernel would stop all of them.
SWITCHED = [each for each in structures() if each.structure in ("occ_avl", "dgt_bst") and each.reclaimer == "ebr"]


@pytest.mark.parametrize("pair", SWITCHED, ids=str)
def test_linearizable_when_threads_sleep_in_windows(pair, tmp_path):
    program = build.program("linearize/switched.c", tmp_path / "switched", *pair.defines())
    done = build.run([program, ROUNDS, THREADS, SEED, SECONDS])
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("pair", SWITCHED, ids=str)
def test_order_at_rest_after_bursts(pair, tmp_path):
    program = build.program("litmus/rest.c", tmp_path / "rest", *pair.defines())
    for seed in range(2):
        done = build.run([program, "4000", str(seed)])
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("pair", [each for each in SWITCHED if each.structure == "occ_avl"], ids=str)
def test_scan_that_stands_at_a_node_which_is_unlinked(pair, tmp_path):
    done = build.run([build.program("litmus/avl_scan.c", tmp_path / "avl_scan", *pair.defines())])
    assert done.returncode == 0, done.stderr
