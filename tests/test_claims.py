# SPDX-License-Identifier: MIT
"""Answers to claims and the statistics behind them, on rows made up here."""

import os
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "scripts")]

from lib import claims, machine, stats  # noqa: E402
from lib import rows as table  # noqa: E402


def judged(value, holds, samples, **more):
    section = {"says": "s", "value": value, "holds": holds, **more}
    rows = [{"series": name, "trial": f"threads={threads}", "threads": str(threads), "status": status, "units": "4",
             "sockets": "2",
             "ops_per_s": str(number)}
            for (name, threads), found in samples.items() for status, number in found]
    return claims.answer(claims.parse("c", section, "f"), rows, lambda name: f"needs {name}")[0]


def ok(*numbers):
    return [("ok", number) for number in numbers]


def test_claims_are_answered_with_an_interval():
    samples = {("a", 1): ok(10, 10.1, 9.9), ("a", 4): ok(39, 40, 41), ("b", 1): ok(8, 10, 12)}
    holds = judged("a[threads=max] / a[threads=1]", "> 3", samples)
    assert holds.answer == "holds" and holds.low < 4 < holds.high and holds.samples == 3
    assert abs(holds.value - 4) < 0.02
    assert judged("a[threads=max] / a[threads=1]", "> 5", samples).answer == "does not hold"
    assert judged("a[threads=max] / a[threads=1]", "> 3 and < 3.5", samples).answer == "does not hold"
    unsure = judged("b[threads=1] / a[threads=1]", "> 1", samples)
    assert unsure.answer == "cannot be tested here" and "more repeats" in unsure.reason
    efficiency = judged("a[threads=max] / a[threads=1] / a[threads=max].threads", "> 0.9", samples)
    assert abs(efficiency.value - 1) < 0.01


def test_threads_may_be_named_by_the_machine():
    samples = {("a", 1): ok(10, 10.1, 9.9), ("a", 2): ok(20, 20.1, 19.9), ("a", 4): ok(30, 30, 30.1), ("a", 8): ok(5, 5, 5.1)}
    assert abs(judged("a[threads=all] / a[threads=1]", "> 1", samples).value - 3) < 0.02
    assert abs(judged("a[threads=socket] / a[threads=1]", "> 1", samples).value - 2) < 0.02
    assert abs(judged("a[threads=max] / a[threads=1]", "> 0", samples).value - 0.5) < 0.02
    del samples["a", 4]
    assert judged("a[threads=all]", "> 1", samples).reason == "a[threads=all]: not measured in this sweep"


def test_readers_may_be_named_by_the_machine_as_threads_are():
    rows = [{"series": "a", "trial": f"readers={readers} write-rate={rate}", "readers": str(readers), "threads": str(readers + 1),
             "status": "ok", "units": "4", "sockets": "2", "write_rate": rate, "reads_per_s": str(readers * 10)}
            for readers in (1, 2, 4, 50) for rate in ("1e+06", "500")]
    for word, found in (("all", 40), ("socket", 20), ("max", 500), ("min", 10)):
        section = {"says": "s", "value": f"a[readers={word}, write_rate=1000000].reads_per_s", "holds": "> 1"}
        assert claims.answer(claims.parse("c", section, "f"), rows, None)[0].value == found
    # A set has no readers.
    rows = [{**row, "readers": ""} for row in rows]
    section = {"says": "s", "value": "a[readers=all].reads_per_s", "holds": "> 1"}
    assert claims.answer(claims.parse("c", section, "f"), rows, None)[0].answer == "cannot be tested here"


def test_quotients_of_columns_compare_what_each_node_costs():
    rows = [{"series": name, "trial": name, "status": "ok", "freed": str(freed), "alloc_flushes": str(flushes)}
            for name, freed, flushes in (("batch", 1000, 500), ("batch", 1010, 505), ("af", 4000, 400), ("af", 4040, 404))]
    section = {"says": "s", "value": "batch.alloc_flushes / batch.freed / af.alloc_flushes * af.freed", "holds": ">= 3"}
    (found,) = claims.answer(claims.parse("c", section, "f"), rows, None)
    # Flushes vary with frees from trial to trial, what a free costs does not: columns are divided within the trial.
    assert found.value == pytest.approx(5) and found.low == pytest.approx(5) and found.answer == "holds"


def test_instrumented_trials_tell_everything_but_speed():
    columns = {"ops_per_s": "5", "p99_ns": "5", "write_max_ns": "5", "write_late_p999_ns": "5", "epochs": "5"}
    rows = [{"series": "a", "trial": "t", "status": "ok", "trace": "", "time_free": "1", **columns},
            {"series": "a", "trial": "t", "status": "ok", "trace": "0.trace", "time_free": "0", **columns}]
    assert [table.values(rows, column) for column in columns] == [[], [], [], [], [5, 5]]


def test_claims_say_what_is_missing():
    samples = {("a", 1): ok(10, 10.1, 9.9), ("a", 4): [("timeout", ""), ("timeout", "")], ("z", 1): ok(0, 0, 0)}
    ratio = "a[threads=max] / a[threads=1]"
    # The point of most threads is the failed one, not the next smaller.
    assert judged(ratio, "> 1", samples).reason == "a[threads=max]: timeout"
    assert judged("a[threads=8] / a[threads=1]", "> 1", samples).reason == "a[threads=8]: not measured in this sweep"
    assert judged(ratio, "> 1", samples, testable="units >= 8").reason == "needs units >= 8, here: 4"
    assert judged("a[threads=1] / other:a[threads=1]", "> 1", samples).reason == "needs other"
    # Zeros are taken as ones where that cannot make a claim hold that does not.
    assert judged("a[threads=1] / z[threads=1]", "> 9", samples).reason == "with 0 taken as 1"
    assert judged("z[threads=1] / a[threads=1]", "< 0.2", samples).answer == "holds"
    for value, limit in (("a / z", "> 11"), ("a / z", "< 11"), ("a / z", "> 1 and < 11"), ("z / a", "> 0"), ("z / z", "> 0")):
        value = value.replace("a", "a[threads=1]").replace("z", "z[threads=1]")
        assert judged(value, limit, samples).answer == "cannot be tested here", value
    assert judged("a[threads=1] / z[threads=1]", "> 11", samples).reason == "a divisor was 0"
    assert judged("z[threads=1] / a[threads=1]", "> 0", samples).reason == "a factor was 0"
    assert judged("z[threads=1]", "> 1", samples).answer == "does not hold"
    alone = judged("a[threads=1].ops_per_s", "> 9", samples)
    assert alone.answer == "holds" and alone.value == pytest.approx(10) and alone.low == pytest.approx(10 - 0.2484, abs=1e-3)


def test_statistics_agree_with_tables():
    for p, freedom, wanted in ((0.975, 2, 4.30265), (0.975, 4, 2.77645), (0.975, 10, 2.22814), (0.95, 1, 6.31375)):
        assert abs(stats.student_quantile(p, freedom) / wanted - 1) < 1e-4
    assert stats.mann_whitney([1, 2, 3], [4, 5, 6]) == pytest.approx(0.1)
    assert stats.mann_whitney([1, 2, 3, 4, 5], [6, 7, 8, 9, 10]) == pytest.approx(2 / 252)
    assert stats.mann_whitney([1, 3, 5, 7], [2, 4, 6, 8]) == pytest.approx(0.685714, abs=1e-6)
    assert stats.mann_whitney([5, 5, 5], [5, 5, 5]) == 1
    assert stats.least_p(3, 3) == pytest.approx(0.1)
    ratio, low, high = stats.median_ratio([10, 11, 12, 13, 14], [20, 22, 24, 26, 28])
    assert ratio == 2 and 1.5 < low <= 2 <= high < 2.6
    assert stats.median_ratio([1, 2, 3], [2, 3, 4]) == stats.median_ratio([1, 2, 3], [2, 3, 4])


def test_what_others_took_from_a_sweep_is_told():
    before = {"time": 0.0, "busy_s": 100.0, "ours_s": 1.0, "steal_s": 5.0, "cgroup_throttled": 3, "thermal_throttled": None}
    quiet = {**before, "time": 10.0, "busy_s": 115.1, "ours_s": 16.0}
    assert machine.disturbances(before, quiet, 2) == []
    loud = {**quiet, "busy_s": 119.0, "steal_s": 7.0, "cgroup_throttled": 9}
    lines = machine.disturbances(before, loud, 2)
    assert len(lines) == 3
    assert "other processes took 20.0%" in lines[0] and "hypervisor took 10.0%" in lines[1] and "6 times" in lines[2]


def test_advice_covers_what_a_machine_does_not_tell():
    facts = machine.facts()
    assert {item.mark() for item in machine.advice({**facts, "governor": None, "turbo": "on", "swap_used_bytes": 0})} == {
        "?", "look", "ok"}
    assert machine.counters()["busy_s"] > 0
