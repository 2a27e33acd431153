# SPDX-License-Identifier: MIT
"""The reclaimers alone: their logic under random interleavings, and their fences on this machine's store buffers. And lock-freedom:
threads that are stopped within an SCX."""
import re

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


two_processors = pytest.mark.skipif(build.CPUS < 2, reason="a store buffer is seen by another processor only; this machine gives one")


def has_token(each):
    return each.reclaimer.startswith("token_") and each.policy == "batch"


def store_buffer(pair, test, fence, tmp_path):
    program = build.program("litmus/store_buffer.c", tmp_path / "store_buffer", *pair.defines())
    assert freed_by(build.run([program, test, "2", fence])) > 1000


@two_processors
@pytest.mark.parametrize("fence", ["full", "auto"])
@pytest.mark.parametrize("test", ["announce", "unlink"])
@protecting(lambda each: each.reclaimer != "leak" and each.policy == "batch" and not has_token(each))
def test_store_buffer(pair, test, fence, tmp_path):
    """Announcements are the same under every policy, and leak makes none."""
    store_buffer(pair, test, fence, tmp_path)


@two_processors
@pytest.mark.parametrize("test", ["announce", "unlink", "arrive"])
@protecting(has_token)
def test_store_buffer_without_fences(pair, test, tmp_path):
    store_buffer(pair, test, "auto", tmp_path)


@two_processors
@pytest.mark.parametrize("structure", ["arc_swap_block", "left_right_block"])
def test_late_stores(structure, tmp_path):
    """A matter of the structure: readers announce themselves to writers, whatever the reclaimer."""
    program = build.program("litmus/late_stores.c", tmp_path / "late_stores", *build.Combination(structure, "immediate", "batch").defines())
    done = build.run([program, "1"])
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.removeprefix("scans ")) > 1000


@pytest.mark.parametrize("variant", ["check", "tsan"])
@protecting(has_token)
def test_ring_survives_who_comes_and_goes(pair, variant, tmp_path):
    program = build.program("litmus/ring.c", tmp_path / "ring", *pair.defines(), variant=variant)
    for seed in range(2):
        done = build.run([program, str(seed)])
        assert freed_by(done) > 1000
        assert done.stderr == ""


# Of a receipt with 1000 safe nodes and 50 more that become safe meanwhile: pieces, the largest, nodes, passes before the last piece.
RECEIPTS = {"token_naive": "1 1000 1000 0", "token_pass_first": "1 1000 1000 1", "token_periodic": "11 100 1050 11"}


@protecting(has_token)
def test_what_is_done_on_receipt(pair, tmp_path):
    program = build.program("litmus/receipt.c", tmp_path / "receipt", *pair.defines())
    done = build.run([program, *RECEIPTS[pair.reclaimer].split()])
    assert done.returncode == 0, done.stderr


def stoppable():
    """A matter of the structure: schemes that let a stopped thread hold on to what it has read."""
    found = [each for each in build.combinations(build.binary("build"))
             if each.structure == "abtree" and each.policy == "batch" and each.reclaimer in ("ebr", "debra")]
    return pytest.mark.parametrize("each", found, ids=str)


@stoppable()
def test_scx_steps(each, tmp_path):
    """Before each step owners and helpers were stopped, and the others' operations ended all the same."""
    program = build.program("litmus/scx_steps.c", tmp_path / "scx_steps", *each.defines(), *build.SMALL)
    done = build.run([program, "1"])
    assert done.returncode == 0, done.stderr
    stops = {int(step): (int(owner), int(helper)) for step, owner, helper in re.findall(r"step (\d): owner (\d+), helper (\d+)", done.stdout)}
    assert all(stops[step][0] > 0 for step in (1, 2, 3, 4, 5, 6, 7)), done.stdout
    assert all(stops[step][1] > 0 for step in (1, 2, 3, 4, 5, 8)), done.stdout
    assert int(re.search(r"helped (\d+)", done.stdout)[1]) > 0


@pytest.mark.parametrize("scheme", ["epoch", "restartable"])
def test_schedules(scheme, tmp_path):
    """The structure's part of the contract with a reclaimer, with reclaimers that forgive nothing; it does not depend on which are there."""
    program = build.program("litmus/schedule.c", tmp_path / "schedule", *build.Combination("abtree", "ebr", "batch").defines(), *build.SMALL)
    done = build.run([program, "1", scheme, "500"])
    assert done.returncode == 0, done.stderr
    freed, again = map(int, re.fullmatch(r"freed (\d+), begun again (\d+)\n", done.stdout).groups())
    assert freed > 10000 and (again > 1000) == (scheme == "restartable")
