# SPDX-License-Identifier: MIT
"""From an experiment file to the list of trials: sweeps multiplied out, words resolved by the driver, order drawn.

A point is one set of option values, a trial is a point and a repeat. The identity of a point is the text of its options
after thread words became numbers, so `socket` and `all` are one point on a machine with one socket."""

import hashlib
import itertools
import json
import random
from dataclasses import dataclass

from lib import claims
from lib import rows as table
from lib import trace
from lib.command import UserError

# What the runner sets itself.
OWN = ("csv", "repeat-index", "check")


@dataclass
class Point:
    series: str
    options: dict
    text: str  # identity: "allocator=glibc keys=1000 threads=2"
    row: dict  # effective values, from the driver


@dataclass
class Trial:
    point: Point
    repeat: int


@dataclass
class Plan:
    points: list
    trials: list
    left_out: list  # lines: what was asked for and will not run, and why
    columns: list  # the driver's header

    def fingerprint(self):
        """Changes whenever other trials would be run. Questions, claims and figures may be edited after measuring."""
        text = json.dumps([(trial.point.series, trial.point.text, trial.repeat) for trial in self.trials])
        return hashlib.sha256(text.encode()).hexdigest()

    def rows(self):
        """What the trials would look like if each had been left unmeasured."""
        return [{**dict.fromkeys(trace.DERIVED, ""), **point.row, "series": point.series, "trial": point.text, "status": ""} for point in self.points]


def make(experiment, binary):
    points, left_out = {}, {}
    for series, options in experiment.series.items():
        _check_names(experiment, series, options, binary)
        for chosen in _sweep(options, binary):
            point = _resolve(series, chosen, binary)
            threads, units = int(point.row["threads"]), int(point.row["units"])
            if threads > units and "oversubscribe" not in point.options:
                left_out.setdefault(units, set()).add(threads)
            else:
                points.setdefault((series, point.text), point)
    lines = [f"{', '.join(map(str, sorted(threads)))} threads: this machine lets us have {units} processing units"
             for units, threads in left_out.items()]
    if not points:
        do = "run without --paper" if experiment.mode == "paper" else "add smaller thread counts, or oversubscribe = yes"
        raise UserError(f"wanted a point of {experiment.path} that fits this machine, found none ({'; '.join(lines)}): {do}")
    ordered = list(points.values())
    plan = Plan(ordered, _order(ordered, experiment), lines, list(ordered[0].row))
    for claim in experiment.claims:
        claims.validate(claim, plan.rows(), table.RUNNER_COLUMNS + plan.columns + trace.DERIVED, experiment.series)
    return plan


def _check_names(experiment, series, options, binary):
    for name in options:
        if name in OWN or name not in binary.options:
            hint = "the runner sets it" if name in OWN else "`reclaimbench --help` lists them"
            raise UserError(f"wanted an option of the driver in [{series}] of {experiment.path}, found {name}: {hint}")


def _sweep(options, binary):
    """Every combination of the words of a series."""
    options = dict(options)
    if "installed" in options.get("allocator", []):
        installed = binary.installed_allocators()
        words = options["allocator"]
        at = words.index("installed")
        options["allocator"] = words[:at] + [name for name in installed if name not in words] + words[at + 1:]
    for words in itertools.product(*options.values()):
        yield dict(zip(options, words))


def _resolve(series, options, binary):
    """The point of one set of words.

    `oversubscribe = yes` is permission: the driver gets the option only where there are more threads than units, and
    without it such points are left out by our caller, as an experiment file is written for machines of every size."""
    options = dict(options)
    allowed = options.pop("oversubscribe", "no")
    if allowed not in ("yes", "no"):
        raise UserError(f"wanted yes or no for oversubscribe in [{series}], found {allowed}: correct the file")
    row = binary.check({**options, "oversubscribe": "yes"})
    if "threads" in options:
        options["threads"] = row["threads"]
    if allowed == "yes" and int(row["threads"]) > int(row["units"]):
        options["oversubscribe"] = "yes"
    text = " ".join(f"{name}={value}" for name, value in sorted(options.items()))
    return Point(series, options, text, row)


def _order(points, experiment):
    """Rounds: each repeat runs every point once, in an order of its own, so that what changes while a sweep runs (a clock, a
    neighbour) meets all points alike."""
    chance = random.Random(experiment.order_seed)
    trials = []
    for repeat in range(experiment.repeats):
        round_ = list(points)
        chance.shuffle(round_)
        trials += [Trial(point, repeat) for point in round_]
    return trials
