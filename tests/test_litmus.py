# SPDX-License-Identifier: MIT
"""The reclaimers alone: their logic under random interleavings, and their fences on this machine's store buffers."""
import pytest

import build

SEEDS = 40


def protecting(choose=lambda combination: True):
    """The list retires what others are reading: whatever may run under it protects readers."""
    found = [each for each in build.combinations(build.binary("build")) if each.structure == "hm_list" and choose(each)]
    return pytest.mark.parametrize("pair", found, ids=lambda each: f"{each.reclaimer}-{each.policy}")


def freed_by(done):
    assert done.returncode == 0, done.stderr
    return int(done.stdout.removeprefix("freed "))


@protecting()
def test_interleavings(pair, tmp_path):
    program = build.program("litmus/interleave.c", tmp_path / "interleave", *pair.defines())
    freed = [freed_by(build.run([program, str(seed)])) for seed in range(SEEDS)]
    assert pair.reclaimer == "leak" or min(freed) > 100


@pytest.mark.skipif(build.CPUS < 2, reason="a store buffer is seen by another processor only; this machine gives one")
@pytest.mark.parametrize("fence", ["full", "auto"])
@pytest.mark.parametrize("test", ["announce", "unlink"])
@protecting(lambda each: each.reclaimer != "leak" and each.policy == "batch")
def test_store_buffer(pair, test, fence, tmp_path):
    """Announcements are the same under every policy, and leak makes none."""
    program = build.program("litmus/store_buffer.c", tmp_path / "store_buffer", *pair.defines())
    assert freed_by(build.run([program, test, "2", fence])) > 1000
