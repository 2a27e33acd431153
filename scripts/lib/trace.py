# SPDX-License-Identifier: MIT
"""A trace file (--trace=FILE) as arrays, and the columns that claims and tables read from it.

Events are known by their names only: a name that nobody asks for costs nothing. Times are seconds since the window began;
what lies outside the window is cut off."""

import re
import warnings
from dataclasses import dataclass

import numpy

from lib import rows as table
from lib.command import UserError

FIELDS = numpy.dtype([("thread", "i4"), ("begin", "i8"), ("duration", "i8"), ("event", "S16"), ("value", "u8")])
# Of thread time, between 0 and 1; empty where events were dropped, as they would be too small.
SHARES = {"batch_free_share": "batch_free", "long_free_share": "long_free"}
# How many threads free a batch together, on average over the time in which any does: 1 if they take turns.
OVERLAP = "batch_free_overlap"
DERIVED = [*SHARES, OVERLAP, "trace_dropped"]


@dataclass
class Events:
    """Of one name, by begin."""

    thread: numpy.ndarray
    begin: numpy.ndarray
    end: numpy.ndarray
    value: numpy.ndarray

    def __len__(self):
        return len(self.thread)


@dataclass
class Trace:
    threads: int
    dropped: int
    threshold: float  # seconds from which a single free is an event; 0: single frees were not timed
    begin: float  # of the last thread's window: from here on all run
    end: float  # of the last thread's window
    thread_time: float  # the windows of all threads, added up
    table: numpy.ndarray

    def events(self, name):
        found = self.table[self.table["event"] == name.encode()]
        begin = found["begin"] / 1e9
        end = begin + found["duration"] / 1e9
        inside = (end >= 0) & (begin <= self.end)
        found, begin, end = found[inside], begin[inside].clip(0, self.end), end[inside].clip(0, self.end)
        order = numpy.lexsort((found["thread"], begin))
        return Events(found["thread"][order], begin[order], end[order], found["value"][order])

    def share(self, name):
        """Of thread time that lies within events of this name."""
        found = self.events(name)
        return float((found.end - found.begin).sum()) / self.thread_time if self.thread_time else 0.0

    def overlap(self, name):
        """Time within events of this name, threads added up, over the time in which at least one is. None without any."""
        found = self.events(name)
        if not len(found):
            return None
        # By begin: what an event adds to the union begins where the earlier ones have ended.
        reached = numpy.append(0.0, numpy.maximum.accumulate(found.end)[:-1])
        union = (found.end - numpy.maximum(found.begin, reached)).clip(0).sum()
        return float((found.end - found.begin).sum() / union) if union else None


def read(path):
    facts = {}
    try:
        with open(path, encoding="ascii") as file:
            for line in file:
                if not line.startswith("#"):
                    break
                facts.update(re.findall(r"(\w+)=(\S+)", line))
        with warnings.catch_warnings():
            # A trace without events is a fact, not a mistake.
            warnings.simplefilter("ignore", UserWarning)
            events = numpy.loadtxt(path, FIELDS, comments="#", ndmin=1)
        # The driver's own marks of what the trial did are of no thread.
        events = events[events["thread"] >= 0]
        window = events[events["event"] == b"window"]
        return Trace(int(facts["threads"]), int(facts["dropped"]), int(facts["long_free_threshold_ns"]) / 1e9,
                     float(window["begin"].max(initial=0)) / 1e9,
                     float((window["begin"] + window["duration"]).max(initial=0)) / 1e9,
                     float(window["duration"].sum()) / 1e9, events)
    except (OSError, KeyError, ValueError) as error:
        raise UserError(f"wanted a trace of reclaimbench, found {path}: {error}: measure again with --fresh") from None


def derive(rows):
    """Fills the columns of DERIVED; they stay empty in rows without a trace that can be read."""
    for row in rows:
        row.update(dict.fromkeys(DERIVED, ""))
        if not row.get("trace") or not table.is_ok(row):
            continue
        try:
            found = read(row["trace"])
        except UserError:
            continue
        row["trace_dropped"] = str(found.dropped)
        if not found.dropped:
            row.update((column, f"{found.share(name):.6g}") for column, name in SHARES.items()
                       if name != "long_free" or found.threshold)
            overlap = found.overlap("batch_free")
            row[OVERLAP] = "" if overlap is None else f"{overlap:.6g}"
    return rows
