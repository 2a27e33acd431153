# SPDX-License-Identifier: MIT
"""Every sound combination under load: the binary itself verifies key sum, size, structure and accounting, and ends with 1 if one is wrong.

Checking builds add stamps and poison on each node, wider race windows, and permanent keys that must always be found."""
import csv

import pytest

import build

CROWDED = ["--keys=64", "--insert=30", "--remove=30", "--scan=10", "--scan-length=20", "--sample-every=0"]
# More writes than can be done: the writers never sleep, and readers that yielded would hardly run.
CROWDED_BLOCK = ["--block=64", "--readers=2x", "--oversubscribe", "--yield=none"]
WRITERS = ["--writers=2", "--write-rate=1e8"]
APPENDS = ["--append-rate=2000"]
TINY_BATCHES = ["--batch-size=3", "--epoch-frequency=2"]
LOOKUPS = ["--insert=0", "--remove=0", "--scan=20", "--keys=64", "--warmup=0"]


def crowded(combination):
    """What holds no nodes holds no keys either, and cannot be asked for the permanent ones."""
    if combination.kind == "block":
        return [*CROWDED_BLOCK, *TINY_BATCHES, "--warmup=0", *writes(combination)]
    return [*CROWDED, *TINY_BATCHES, "--warmup=0", *threads(combination), "--prefill=all" if combination.has_nodes else "--prefill=none"]


def writes(combination, many=WRITERS):
    return ["--write-rate=0"] if combination.writers == "none" else [*many, *(APPENDS if combination.grows else [])]


def threads(combination, count="2x"):
    return ["--threads=1"] if combination.writers == "one" else [f"--threads={count}", "--oversubscribe"]


def length(combination, ops):
    """Scans of a block that grows take ever longer on a busy machine, where a writer has to wait for readers that do not run: not
    a number of them."""
    return "--seconds=0.2" if combination.kind == "block" else f"--ops={ops}"


def sound(program, combination, *options, **environment):
    done = build.run([program, *combination.options(), *options], **environment)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_checked(lane, combination, fence):
    sound(lane("check"), combination, *crowded(combination), f"--fence={fence}", "--seconds=0.2")


def test_address_sanitizer(lane, combination, fence):
    """Real frees. Only the scheme that leaks on purpose may leak."""
    leaks = {"ASAN_OPTIONS": "detect_leaks=0"} if combination.reclaimer == "leak" else {}
    sound(lane("asan"), combination, *crowded(combination), f"--fence={fence}", length(combination, 20000), **leaks)


def test_thread_sanitizer(lane, combination):
    """Without suppressions. membarrier is no fence that the sanitizer knows; the accesses are atomic under either."""
    sound(lane("tsan"), combination, *crowded(combination), length(combination, 10000), TSAN_OPTIONS="halt_on_error=1")


GROWTH = [*CROWDED_BLOCK[1:], "--block=1", "--writers=2", "--write-rate=20000", "--append-rate=20000", "--warmup=0", "--seconds=0.3"]


@pytest.mark.parametrize("variant", ["check", "asan", "tsan"])
def test_arrays_move_below_scans(lane, variant):
    """Writers that never keep up would leave few appends: here they do, from a block of one element."""
    growing = [each for each in build.combinations(lane(variant)) if each.grows and each.policy == "batch" and each.reclaimer in ("ebr", "debra")]
    for combination in growing:
        done = build.run([lane(variant), *combination.options(), *GROWTH, "--csv=-"], TSAN_OPTIONS="halt_on_error=1")
        assert done.returncode == 0, done.stderr
        (row,) = csv.DictReader(done.stdout.splitlines())
        assert int(row["appends"]) > 100 and int(row["final_keys"]) == 1 + int(row["appends"])
    assert growing


# Every value of every option here once with each combination: what else could differ is in the lanes above.
SHAPES = {
    "set": [
        (1, ["--keys=100k", "--distribution=zipf:0.99", "--drain=none"]),
        (9, ["--keys=100k", "--distribution=sequential"]),
        (2, ["--keys=20k", "--prefill=none", "--batch-size=1"]),
    ],
    # Writers that keep up and sleep in between; elements that many writers meet at.
    "block": [
        (1, ["--block=100k", "--drain=none", "--yield=none"]),
        (9, ["--block=1", "--batch-size=1"]),
        (2, ["--block=1000", "--pad-nodes=200"]),
    ],
}


@pytest.mark.parametrize("shape", range(3))
def test_full_size(lane, combination, shape):
    """Nodes, key ranges and blocks of real size, one thread, many, and several growth phases; a list is kept short."""
    count, shape = SHAPES[combination.kind][shape]
    if combination.kind == "block":
        paced = writes(combination, ["--write-rate=20000", f"--writers={count}"])
        sound(lane("check"), combination, *shape, *paced, f"--readers={count}", "--oversubscribe", "--warmup=0.05", "--seconds=0.1")
        return
    nodes = "default" if combination.structure in build.SIZED else "small"
    short = ["--keys=200"] + [option for option in shape if not option.startswith("--keys")]
    sound(lane("check", nodes), combination, *(short if combination.structure == "hm_list" else shape), "--insert=30", "--remove=30",
          "--scan=5", "--warmup=0.05", "--seconds=0.1", *threads(combination, count))


def test_many_readers_without_synchronisation(lane):
    unsynchronised = [combination for combination in build.combinations(lane("check")) if combination.writers == "one"]
    for combination in unsynchronised:
        sound(lane("check"), combination, *LOOKUPS, "--threads=2x", "--oversubscribe", "--seconds=0.1")
    assert unsynchronised
