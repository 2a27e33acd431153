# SPDX-License-Identifier: MIT
"""Each structure's histories under contention, some thousands of short ones: is there an order that explains every answer?

What is asked lies with the structure, so each is asked under two reclaimers that free, and not under all."""
import re

import pytest

import build

UNDER = ("ebr-batch", "debra-amortized")
ROUNDS, THREADS, SEED, SECONDS = "1500", "4", "1", "2"


def structures():
    return [each for each in build.combinations(build.binary("build")) if each.has_nodes and f"{each.reclaimer}-{each.policy}" in UNDER]


@pytest.mark.parametrize("pair", structures(), ids=str)
def test_linearizable(pair, tmp_path):
    program = build.program("linearize/linearize.c", tmp_path / "linearize", *pair.defines(), *build.SMALL)
    done = build.run([program, ROUNDS, THREADS, SEED, SECONDS])
    assert done.returncode == 0, done.stderr
    rounds, calls = map(int, re.match(r"(\d+) rounds, (\d+) calls", done.stdout).groups())
    assert calls > rounds * 24 > 0, "too few calls to find anything"
