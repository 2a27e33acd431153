# SPDX-License-Identifier: MIT
"""Every sound combination under load: the binary itself verifies key sum, size, structure and accounting, and ends with 1 if one is wrong.

Checking builds add stamps and poison on each node, wider race windows, and permanent keys that must always be found."""
import pytest

import build

CROWDED = ["--keys=64", "--insert=30", "--remove=30", "--scan=10", "--scan-length=20", "--warmup=0", "--sample-every=0"]
TINY_BATCHES = ["--batch-size=3", "--epoch-frequency=2"]
LOOKUPS = ["--insert=0", "--remove=0", "--scan=20", "--keys=64", "--warmup=0"]


def one_writer(combination):
    return combination.structure == "sequential_bptree"


def crowded(combination):
    """What holds no nodes holds no keys either, and cannot be asked for the permanent ones."""
    return [*CROWDED, *TINY_BATCHES, *threads(combination), "--prefill=all" if combination.has_nodes else "--prefill=none"]


def threads(combination, count="2x"):
    return ["--threads=1"] if one_writer(combination) else [f"--threads={count}", "--oversubscribe"]


def sound(program, combination, *options, **environment):
    done = build.run([program, *combination.options(), *options], **environment)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_checked(lane, combination, fence):
    sound(lane("check"), combination, *crowded(combination), f"--fence={fence}", "--seconds=0.2")


def test_address_sanitizer(lane, combination, fence):
    """Real frees. Only the scheme that leaks on purpose may leak."""
    leaks = {"ASAN_OPTIONS": "detect_leaks=0"} if combination.reclaimer == "leak" else {}
    sound(lane("asan"), combination, *crowded(combination), f"--fence={fence}", "--ops=20000", **leaks)


def test_thread_sanitizer(lane, combination):
    """Without suppressions. membarrier is no fence that the sanitizer knows; the accesses are atomic under either."""
    sound(lane("tsan"), combination, *crowded(combination), "--ops=10000", TSAN_OPTIONS="halt_on_error=1")


# Every value of every option here once with each combination: what else could differ is in the lanes above.
SHAPES = [
    (1, ["--keys=100k", "--distribution=zipf:0.99", "--drain=none"]),
    (9, ["--keys=100k", "--distribution=sequential"]),
    (2, ["--keys=20k", "--prefill=none", "--batch-size=1"]),
]


@pytest.mark.parametrize("count, shape", SHAPES, ids=lambda value: str(value[-1] if isinstance(value, list) else value))
def test_full_size(lane, combination, count, shape):
    """Nodes and key ranges of real size, one thread, many, and several growth phases; a list is kept short."""
    nodes = "default" if combination.structure in build.SIZED else "small"
    short = ["--keys=200"] + [option for option in shape if not option.startswith("--keys")]
    sound(lane("check", nodes), combination, *(short if combination.structure == "hm_list" else shape), "--insert=30", "--remove=30",
          "--scan=5", "--warmup=0.05", "--seconds=0.1", *threads(combination, count))


def test_many_readers_without_synchronisation(lane):
    unsynchronised = [combination for combination in build.combinations(lane("check")) if one_writer(combination)]
    for combination in unsynchronised:
        sound(lane("check"), combination, *LOOKUPS, "--threads=2x", "--oversubscribe", "--seconds=0.1")
    assert unsynchronised
