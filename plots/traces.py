# SPDX-License-Identifier: MIT
"""What the kinds that draw traces share: which trial stands for a point, the garbage of an epoch, and how events become few
enough to be drawn without changing the picture. (No kind of its own.)"""

import re
from dataclasses import dataclass

import numpy

from lib import rows as table
from lib import trace
from lib.command import UserError
from plots import style


@dataclass
class Point:
    title: str
    look: dict
    found: trace.Trace  # None where there is nothing to draw
    notes: list


def points(rows, experiment):
    """A Point for each traced point, series by series; of its repeats the first that is ok."""
    ordered = sorted(rows, key=lambda row: (list(experiment.series).index(row["series"]), _natural(row["trial"]),
                                            int(row.get("repeat_index") or 0)))
    groups = {}
    for row in ordered:
        groups.setdefault((row["series"], row["trial"]), []).append(row)
    titles = _titles(groups)
    return [_point(titles[key], repeats) for key, repeats in groups.items()]


def _options(text):
    """The words of a trial, but for the permission that only its thread count needs."""
    return [word for word in text.split() if not word.startswith("oversubscribe=")]


def _natural(text):
    return [table.natural(word) for option in _options(text) for word in option.split("=", 1)]


def _titles(groups):
    """The series, and the options that its points do not have in common."""
    titles = {}
    for name, text in groups:
        siblings = [set(_options(other)) for series, other in groups if series == name]
        # The number of threads always stands there: without it a timeline says little.
        common = {word for word in set.intersection(*siblings) if not word.startswith("threads=")}
        words = [word for word in _options(text) if word not in common]
        titles[name, text] = ", ".join([name] + [_counted(word) for word in words])
    return titles


def _counted(word):
    found = re.fullmatch(r"threads=(\d+)", word)
    return f"{found[1]} thread{'s'[:found[1] != '1']}" if found else word


def _point(title, repeats):
    look = style.look(style.scheme(repeats[0]), repeats[0]["policy"])
    good = [row for row in repeats if table.is_ok(row) and row.get("trace")]
    if not good:
        statuses = sorted({row["status"] for row in repeats} - {"ok"})
        return Point(title, look, None, [f"{title}: {', '.join(statuses) if any(statuses) else 'no traced trial'}"])
    try:
        found = trace.read(good[0]["trace"])
    except UserError:
        return Point(title, look, None, [f"{title}: the trace of repeat_index {good[0]['repeat_index']} is missing or not whole"])
    single = f", single frees from {_spoken(found.threshold)} on" if found.threshold else ""
    note = f"{title}: repeat_index {good[0]['repeat_index']} of {len(repeats)} repeats, {len(found.table)} events, {found.dropped} dropped{single}"
    return Point(title, look, found, [note])


def _spoken(seconds):
    return f"{seconds * 1e3:g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:g} µs"


def lost(point):
    """The warning that must not be overlooked, or nothing."""
    if not point.found or not point.found.dropped:
        return ""
    return f"{point.found.dropped} events were dropped: there are holes"


def garbage(found):
    """(epoch numbers, times, nodes): at the end of each epoch, that is when the next one is announced or the window ends, the
    nodes that all threads had in limbo, each as it last told on seeing a new epoch. A thread that has told nothing yet
    counts as nothing. Epochs are counted from when the last thread has begun: before that, those that have run alone and
    rush through hundreds."""
    told, begins = found.events("garbage"), found.events("epoch").begin
    begins = begins[begins >= found.begin]
    if not len(begins):
        return numpy.array([], int), numpy.array([]), numpy.array([])
    ends = numpy.append(begins[1:], found.end)
    totals = numpy.zeros(len(ends))
    for thread in range(found.threads):
        mine = told.thread == thread
        heard = numpy.searchsorted(told.begin[mine], ends)
        totals += numpy.append(0, told.value[mine])[heard]
    return numpy.arange(1, len(ends) + 1), begins, totals


def merged(events, gap):
    """(thread, begin, end, part, count) of the events with those of a thread that lie less than `gap` apart joined: what a
    pixel cannot tell apart is one box, so the number of boxes is bounded by the width of the figure. part: of the box's
    length that lies within events; count: how many they are."""
    order = numpy.lexsort((events.begin, events.thread))
    thread, begin, end = events.thread[order], events.begin[order], events.end[order]
    if not len(thread):
        return thread, begin, end, begin, thread
    # Within a thread events do not overlap, so each is compared with the one before it.
    first = numpy.append(True, (thread[1:] != thread[:-1]) | (begin[1:] - end[:-1] >= gap))
    starts = numpy.flatnonzero(first)
    first, last = begin[starts], numpy.maximum.reduceat(end, starts)
    within = numpy.add.reduceat(end - begin, starts)
    part = numpy.divide(within, last - first, out=numpy.ones_like(within), where=last > first)
    return thread[starts], first, last, part.clip(0, 1), numpy.diff(numpy.append(starts, len(thread)))


def busy(events, start, stop, columns):
    """(edges, threads): how many threads are within an event, on average over each of so many columns."""
    edges = numpy.linspace(start, stop, columns + 1)
    # Time spent until each edge = sum over events of the part that lies before it.
    begins, ends = numpy.sort(events.begin), numpy.sort(events.end)
    spent = _elapsed(begins, edges) - _elapsed(ends, edges)
    return edges, numpy.diff(spent) / numpy.diff(edges)


def _elapsed(times, edges):
    """For each edge the sum of (edge - time) over the times before it."""
    sums = numpy.append(0.0, numpy.cumsum(times))
    before = numpy.searchsorted(times, edges)
    return before * edges - sums[before]
