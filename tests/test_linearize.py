# SPDX-License-Identifier: MIT
"""Each structure's histories under contention, some thousands of short ones: is there an order that explains every answer?

What is asked lies with the structure, so each is asked under two reclaimers that free, and not under all."""
import re

import pytest

import build

UNDER = ("ebr-batch", "debra-amortized")
ROUNDS, THREADS, SEED, SCANS = "1500", "4", "1", "any"


def structures():
    return [each for each in build.combinations(build.binary("build")) if each.has_nodes and f"{each.reclaimer}-{each.policy}" in UNDER]


@pytest.mark.parametrize("pair", structures(), ids=str)
def test_linearizable(pair, tmp_path):
    small = build.SMALL_NODES.partition("=")[2].split()
    program = build.program("linearize/linearize.c", tmp_path / "linearize", *pair.defines(), *small)
    done = build.run([program, ROUNDS, THREADS, SEED, SCANS])
    assert done.returncode == 0, done.stderr
    calls = int(re.match(r"(\d+) calls", done.stdout)[1])
    assert calls > int(ROUNDS) * 24, "too few calls to find anything"
