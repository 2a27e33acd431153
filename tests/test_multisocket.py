# SPDX-License-Identifier: MIT
"""The emulated four-socket machine (multisocket/run), one test a check; and the judge itself, which must notice what is wrong."""
import functools
import pathlib
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).resolve().parent / "multisocket"
sys.path.insert(0, str(FOLDER))
import judge  # noqa: E402  (lies beside the script that uses it)


@functools.lru_cache(maxsize=None)
def verdicts(siblings):
    """One boot for all checks of a machine; (reason for a skip, {name: why or empty})."""
    done = subprocess.run([FOLDER / "run", f"--siblings={siblings}"], capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    if done.returncode == 77:
        return lines[-1].removeprefix("skip: "), {}
    assert lines, done.stderr
    words = {}
    for line in lines:
        name, _, why = line.removeprefix("not ").removeprefix("ok ").partition(": ")
        words[name] = why if line.startswith("not ok ") else ""
    return None, words


def all_checks():
    for siblings, shape in ((1, "4x4x1"), (2, "4x2x2")):
        for name, *_ in judge.checks(siblings):
            yield pytest.param(siblings, name, id=f"{shape}-{name}")


@pytest.mark.parametrize("siblings, name", all_checks())
def test_emulated(siblings, name):
    reason, words = verdicts(siblings)
    if reason:
        pytest.skip(reason)
    assert words[name] == ""


# ---- the judge ----

ROW = ["row status,placement,allocator,allocator_path,membind", 'row ok,"4,5",jemalloc,/lib/libjemalloc.so.2,interleave']
TASKS = [(100, "15", 15), (101, "4", 4), (102, "5", 5)]
MAP = ["map 7f00-7f01 r-xp 0 0:0 1 /lib/libjemalloc.so.2"]
NUMA = ["numa 7f00 interleave:0-3 anon=4000 N0=1000 N1=1010 N2=990 N3=1000 kernelpagesize_kB=4"]


def section(row=tuple(ROW), tasks=tuple(TASKS), maps=tuple(MAP), numa=tuple(NUMA), status=0, error=()):
    lines = [*row, *maps, *numa, *(f"error {line}" for line in error)]
    for task, allowed, processor in tasks:
        lines.append(f"task /proc/100/task/{task}/status:Cpus_allowed_list:\t{allowed}")
        lines.append(f"task /proc/100/task/{task}/stat:{task} (re) bench) R " + "0 " * 35 + f"{processor} 0 0")
    return status, lines


SOUND = [(judge.check_bound, [4, 5]), (judge.check_helpers_apart, [4, 5]), (judge.check_allocator, "jemalloc"),
         (judge.check_spread, [0, 1, 2, 3])]


@pytest.mark.parametrize("check, argument", SOUND)
def test_judge_accepts_what_is_right(check, argument):
    assert check(section(), argument) is None


@pytest.mark.parametrize("check, argument, wrong", [
    (judge.check_bound, [4, 6], {}),
    (judge.check_bound, [4, 5], {"tasks": [(100, "15", 15), (101, "5", 5), (102, "4", 4)]}),
    (judge.check_bound, [4, 5], {"tasks": [(100, "15", 15), (101, "4-5", 4), (102, "5", 5)]}),
    (judge.check_bound, [4, 5], {"tasks": [(100, "15", 15), (101, "4", 4), (102, "5", 4)]}),
    (judge.check_bound, [4, 5], {"tasks": []}),
    (judge.check_bound, [4, 5], {"status": 1}),
    (judge.check_bound, [4, 5], {"row": [ROW[0], ROW[1].replace("ok", "bind_failed")]}),
    (judge.check_helpers_apart, [4, 5], {"tasks": [(100, "4", 4), *TASKS[1:]]}),
    (judge.check_helpers_apart, [4, 5], {"tasks": [(100, "0-15", 15), *TASKS[1:]]}),
    (judge.check_allocator, "tcmalloc", {}),
    (judge.check_allocator, "jemalloc", {"maps": []}),
    (judge.check_allocator, "jemalloc", {"maps": [*MAP, MAP[0].replace("jemalloc", "mimalloc")]}),
    (judge.check_spread, [0, 1, 2, 3], {"numa": [NUMA[0].replace("N1=1010", "N1=2000")]}),
    (judge.check_spread, [0, 1, 2, 3], {"numa": [NUMA[0].replace(" N1=1010", "")]}),
    (judge.check_spread, [0, 2], {}),
    (judge.check_local, 2, {}),
    (judge.check_unbound, 2, {}),
])
def test_judge_notices(check, argument, wrong):
    assert check(section(**wrong), argument)


def test_judge_wants_no_figure_from_a_vanishing_unit():
    error = ["reclaimbench: bind_failed: thread 1 was put on unit 13"]
    names, empty, measured = "row status,ops_per_s", "row bind_failed,", "row bind_failed,123"
    assert judge.check_bind_failed(section(row=[], status=1, error=error)) is None
    assert judge.check_bind_failed(section(row=[names, empty], status=1, error=error)) is None
    assert judge.check_bind_failed(section(row=[names, measured], status=1, error=error))
    assert judge.check_bind_failed(section(row=[names, "row ok,123"], status=1, error=error))
    assert judge.check_bind_failed(section(row=[names, empty], status=1))
    assert judge.check_bind_failed(section(row=[names, empty], status=0, error=error))


def test_judge_knows_the_orders():
    assert judge.expected_order("scatter", 1)[:5] == [0, 4, 8, 12, 1]
    assert judge.expected_order("scatter", 2)[:9] == [0, 4, 8, 12, 2, 6, 10, 14, 1]
    assert judge.expected_order("cores", 2)[:9] == [0, 2, 4, 6, 8, 10, 12, 14, 1]
    assert judge.expected_order("scatter", 2, [1, 2, 3, 9]) == [1, 9, 2, 3]


def test_a_section_never_finished_is_a_failure():
    assert all(why for _, why in judge.verdicts({}, 1))
