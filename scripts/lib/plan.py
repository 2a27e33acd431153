# SPDX-License-Identifier: MIT
"""From an experiment file to the list of trials: sweeps multiplied out, words resolved by the driver, order drawn.

A point is one set of option values, a trial is a point and a repeat. The identity of a point is the text of its options
after words for numbers of threads or readers became numbers, so `socket` and `all` are one point on a machine with one socket."""

import hashlib
import itertools
import json
import random
from dataclasses import dataclass

from lib import claims, derived
from lib import rows as table
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
        return [{**dict.fromkeys(derived.COLUMNS, ""), **point.row, "series": point.series, "trial": point.text, "status": ""}
                for point in self.points]


def make(experiment, binary):
    points, left_out = {}, {}
    for series, options in experiment.series.items():
        _check_names(experiment, series, options, binary)
        for chosen in _sweep(options, binary):
            point = _resolve(series, chosen, binary)
            kind, many = _busy(point.row)
            if _beyond(point.row) and "oversubscribe" not in point.options:
                left_out.setdefault((kind, point.row["units"]), set()).add(many)
            else:
                points.setdefault((series, point.text), point)
    lines = [f"{', '.join(map(str, sorted(counts)))} {kind}: this machine lets us have {units} processing units"
             for (kind, units), counts in left_out.items()]
    if not points:
        do = "run without --paper" if experiment.mode == "paper" else "add smaller thread counts, or oversubscribe = yes"
        raise UserError(f"wanted a point of {experiment.path} that fits this machine, found none ({'; '.join(lines)}): {do}")
    ordered = list(points.values())
    plan = Plan(ordered, _order(ordered, experiment), lines, list(ordered[0].row))
    for claim in experiment.claims:
        claims.validate(claim, plan.rows(), table.RUNNER_COLUMNS + plan.columns + derived.COLUMNS, experiment.series)
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
        chosen = dict(zip(options, words))
        if chosen.get("reclaimer") == "every":
            names = binary.reclaimers(chosen.get("structure", ""), chosen.get("policy", ""))
            yield from ({**chosen, "reclaimer": name} for name in names)
        else:
            yield chosen


def _busy(row):
    """(what, how many) wants a unit of its own. Writers of a block are paced and sleep in between."""
    kind = "readers" if row.get("readers") else "threads"
    return kind, int(row[kind])


def _beyond(row):
    return _busy(row)[1] > int(row["units"])


def _resolve(series, options, binary):
    """The point of one set of words.

    `oversubscribe = yes` is permission: the driver gets the option only where there are more threads than units, and
    without it such points are left out by our caller, as an experiment file is written for machines of every size."""
    options = dict(options)
    allowed = options.pop("oversubscribe", "no")
    if allowed not in ("yes", "no"):
        raise UserError(f"wanted yes or no for oversubscribe in [{series}], found {allowed}: correct the file")
    row = binary.check({**options, "oversubscribe": "yes"})
    options.update((name, row[name]) for name in claims.COUNTED if name in options)
    if allowed == "yes" and _beyond(row):
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
