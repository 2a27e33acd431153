# SPDX-License-Identifier: MIT
"""What of a results file may be drawn as lines: series with all their samples, gaps where trials failed."""

import statistics
from dataclasses import dataclass

from lib import rows as table
from lib.command import UserError
from plots import style


@dataclass
class Line:
    label: str
    look: dict
    xs: list
    samples: list  # for each x all values, [] where every trial failed
    scheme: tuple = ("", "")  # reclaimer and policy

    def medians(self):
        return [statistics.median(values) if values else float("nan") for values in self.samples]


def title(spec, experiment):
    """Says the mode as well: a quick figure must not be taken for a measurement of the publication's point."""
    return f"{spec.get('title', experiment.question)} ({experiment.mode})"


def check_one_fence(rows):
    """Schemes that were run with another kind of fence do not stand in one figure (P25)."""
    kinds = sorted({row.get("fence") for row in filter(table.is_ok, rows)} - {None, "", "none"})
    if len(kinds) > 1:
        raise UserError(f"wanted one kind of fence in a figure, found {' and '.join(kinds)}: set `fence` in the file, and "
                        "run with --fresh")


def panels(rows, column):
    """[(title, rows)] for each word of a column; one panel without a title if there is no column."""
    if not column:
        return [("", rows)]
    return [(word, [row for row in rows if row[column] == word]) for word in table.distinct(rows, column)]


def lines(rows, x, y, names):
    """A Line for each series of `names`, in that order, that has rows."""
    found = []
    for name in names:
        mine = [row for row in rows if row["series"] == name]
        if not mine:
            continue
        xs = table.distinct(mine, x)
        samples = [table.values([row for row in mine if row[x] == value], y) for value in xs]
        unsound = any(row.get("sound") == "0" for row in mine)
        found.append(Line(name + (" (unsound)" if unsound else ""), style.look(mine[0]["reclaimer"], mine[0]["policy"]),
                          [_number_or_word(value) for value in xs], samples, (mine[0]["reclaimer"], mine[0]["policy"])))
    looks = [tuple(line.look.values()) for line in found]
    if len(set(looks)) < len(looks):
        raise UserError("wanted series of different schemes in one panel, found two that would look the same: put the "
                        "column in which they differ into `panels`")
    return found


def _number_or_word(text):
    try:
        return float(text)
    except ValueError:
        return text


def sample_note(found, drawn):
    """How many samples stand behind a point."""
    counts = sorted({len(values) for line in found for values in line.samples if values})
    if not counts:
        return "no trial succeeded"
    counted = f"n = {counts[0]}" if len(counts) == 1 else f"n = {counts[0]} to {counts[-1]}"
    return f"{drawn}: all samples and their range, {counted}"


NOTES_SHOWN = 8


def notes(found, rows, axes, more, drawn="lines: medians; dots and bars"):
    """The lines below a figure of `found` over axes (x, y, panel column or None): samples, failures, `more`; not too many."""
    shown = [sample_note(found, drawn)] + failure_notes(rows, *axes) + more
    if len(shown) > NOTES_SHOWN:
        return shown[:NOTES_SHOWN] + [f"and {len(shown) - NOTES_SHOWN} more: see report.html"]
    return shown


def failure_notes(rows, x, y, panel=None):
    """'olc at threads 4, jemalloc: 2 of 5 timeout' for each point with failed trials."""
    points = {}
    for row in rows:
        where = (row["series"], row[x], row[panel] if panel else "")
        points.setdefault(where, []).append(row["status"])
    notes = []
    for (name, value, word), statuses in sorted(points.items(), key=lambda item: [table.natural(w) for w in item[0]]):
        failed = sorted(status for status in statuses if status != "ok")
        if failed:
            notes.append(f"{name} at {x} {value}{', ' + word if word else ''}: {len(failed)} of {len(statuses)} "
                         f"{', '.join(sorted(set(failed)))}")
    watched = sum(table.is_ok(row) for row in rows) - len(table.usable(rows, y))
    if watched:
        notes.append(f"{watched} traced or timed trials are not drawn")
    return notes
