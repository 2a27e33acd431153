# SPDX-License-Identifier: MIT
"""Tells how far a sweep is and how long it will still take: a bar on a terminal, now and then a line elsewhere."""

import sys
import time

import tqdm

from lib import rows as table

LINE_EVERY = 10.0


def spoken(seconds):
    """'0:07', '12:30', '3:05:00'."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


class Estimate:
    """Seconds that trials take: what the same point took before, else what trials took so far, else what the file says."""

    def __init__(self, default, rows=()):
        self.default = default
        self.seen = {}
        for row in rows:
            self.add(row)

    def add(self, row):
        wall = table.number(row, "wall_s")
        if wall is not None:
            self.seen.setdefault(row["trial"], []).append(wall)

    def of(self, points):
        everything = [wall for walls in self.seen.values() for wall in walls]
        other = sum(everything) / len(everything) if everything else self.default
        means = {point: sum(walls) / len(walls) for point, walls in self.seen.items()}
        return sum(means.get(point, other) for point in points)


class Progress:
    def __init__(self, experiment, todo, done, total, later=0.0):
        """later: seconds of other sweeps after this one."""
        self.name, self.todo, self.total = experiment.name, list(todo), total
        self.later = later
        self.estimate = Estimate(experiment.trial_seconds, done)
        self.failed = sum(not table.is_ok(row) for row in done)
        self.at = total - len(self.todo)
        self.spoke = time.monotonic()
        self.bar = None

    def __enter__(self):
        if sys.stderr.isatty():
            self.bar = tqdm.tqdm(total=self.total, initial=self.at, desc=self.name, leave=False, dynamic_ncols=True,
                                 bar_format="{desc} {bar} {n_fmt}/{total_fmt}, {elapsed} gone{postfix}")
        self._show()
        return self

    def __exit__(self, *_):
        if self.bar is not None:
            self.bar.close()

    def step(self, row):
        self.todo.pop(0)
        self.at += 1
        self.estimate.add(row)
        if not table.is_ok(row):
            self.failed += 1
            self._write(f"{self.name}: {row['status']}: {row['trial']}: {row['message']}")
        if self.bar is not None:
            self.bar.update()
            self._show()
        elif self.todo and time.monotonic() - self.spoke >= LINE_EVERY:
            self.spoke = time.monotonic()
            self._show()

    def _write(self, line):
        if self.bar is not None:
            self.bar.write(line, file=sys.stderr)
        else:
            print(line, file=sys.stderr, flush=True)

    def _show(self):
        failed = f", {self.failed} failed" if self.failed else ""
        here = self.estimate.of(self.todo)
        left = f"{spoken(here)} left" + (f" (all files: {spoken(here + self.later)})" if self.later else "") + failed
        if self.bar is not None:
            self.bar.set_postfix_str(left)
        else:
            self._write(f"{self.name}: {self.at} of {self.total} trials, {left}")
