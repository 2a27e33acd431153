# SPDX-License-Identifier: MIT
"""What of a results file may be drawn as lines: series with all their samples, gaps where trials failed."""

import statistics
from dataclasses import dataclass

from lib import rows as table
from lib.command import UserError
from plots import style


UNSOUND = "(unsound)"


@dataclass
class Line:
    label: str
    look: dict
    xs: list
    samples: list  # for each x all values, [] where every trial failed
    scheme: tuple = ("", "")  # arguments of style.look and style.fill

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


def panels(rows, columns):
    """[(title, rows)] for each word of a column, or of several; one panel without a title if there is no column."""
    columns = (columns or "").split()
    keys = sorted({tuple(row[column] for column in columns) for row in rows}, key=lambda key: [table.natural(w) for w in key])
    return [(", ".join(map(_title, columns, key)), [row for row in rows if tuple(row[column] for column in columns) == key])
            for key in keys] or [("", rows)]


def _title(column, word):
    """A name tells what it is of, a number does not."""
    value = _number_or_word(word)
    return word if isinstance(value, str) else f"{column.replace('_', ' ')} {style.number(value)}"


def schemes(rows, names):
    """[(Line without points, rows)]: the series of `names`, in that order, that have rows; one that sweeps over several schemes is a
    line for each."""
    found = []
    every = {name: sorted({(*style.variant(row), row["policy"]) for row in rows if row["series"] == name}) for name in names}
    words = style.schemes([key[:2] for keys in every.values() for key in keys])
    among = tuple(sorted(words.values()))
    for name, keys in every.items():
        for key in keys:
            part = [row for row in rows if row["series"] == name and (*style.variant(row), row["policy"]) == key]
            more = [word for i, word in enumerate(key) if len({other[i] for other in keys}) > 1]
            unsound = [UNSOUND] if any(row.get("sound") == "0" for row in part) else []
            scheme = (words[key[:2]], key[2], among)
            found.append((Line(" ".join([name] + more + unsound), style.look(*scheme), [], [], scheme), part))
    looks = [tuple(line.look.values()) for line, _ in found]
    if len(set(looks)) < len(looks):
        raise UserError("wanted series of different schemes in one panel, found two that would look the same: put the "
                        "column in which they differ into `panels`")
    return found


def check_one_point(rows, label):
    points = sorted({row["trial"] for row in rows})
    if len(points) > 1:
        raise UserError(f"wanted one point for {label} in a panel, found {len(points)} ({'; '.join(points[:2])}; ...): put the column "
                        "in which they differ into `panels`")


def lines(rows, x, y, names):
    """A Line for each scheme of the series of `names`."""
    found = schemes(rows, names)
    for line, mine in found:
        xs = table.distinct(mine, x)
        line.xs = [_number_or_word(value) for value in xs]
        line.samples = [table.values([row for row in mine if row[x] == value], y) for value in xs]
    return [line for line, _ in found]


def _number_or_word(text):
    try:
        return float(text)
    except ValueError:
        return text


SPREAD = "all samples and their range"


def sample_note(found, drawn, what=SPREAD):
    """How many samples stand behind a point."""
    counts = sorted({len(values) for line in found for values in line.samples if values})
    if not counts:
        return "no trial succeeded"
    counted = f"n = {counts[0]}" if len(counts) == 1 else f"n = {counts[0]} to {counts[-1]}"
    return f"{drawn}: {what}, {counted}"


SPREAD_NOTE = "± half the range of all samples, or the range itself if that is more than the median"


def spread(values, spoken):
    """What follows a median in a table."""
    middle = statistics.median(values)
    half = (max(values) - min(values)) / 2
    if len(values) < 2 or middle == half == 0:
        return ""
    return f" ±{half / middle:.0%}" if half <= middle else f" ({spoken(min(values))}–{spoken(max(values))})"


NOTES_SHOWN = 8


def notes(found, rows, axes, more, drawn="lines: medians; dots and bars", what=SPREAD):
    """The lines below a figure of `found` over axes (x, y, panel column or None): samples, failures, `more`; not too many."""
    shown = [sample_note(found, drawn, what)] + failure_notes(rows, *axes) + more
    if len(shown) > NOTES_SHOWN:
        return shown[:NOTES_SHOWN] + [f"and {len(shown) - NOTES_SHOWN} more: see report.html"]
    return shown


def failure_notes(rows, x, y, panels_=None):
    """'olc at threads 4, jemalloc: 2 of 5 timeout' for each point with failed trials; x may be None."""
    columns = (panels_ or "").split()
    points = {}
    for row in rows:
        where = (row["series"], row[x] if x else "", *(row[column] for column in columns))
        points.setdefault(where, []).append(row["status"])
    notes = []
    for (name, value, *words), statuses in sorted(points.items(), key=lambda item: [table.natural(w) for w in item[0]]):
        failed = sorted(status for status in statuses if status != "ok")
        if failed:
            places = ([f"{x} {value}"] if x else []) + list(map(_title, columns, words))
            notes.append(f"{name}{' at ' if places else ''}{', '.join(places)}: {len(failed)} of {len(statuses)} "
                         f"{', '.join(sorted(set(failed)))}")
    watched = sum(table.is_ok(row) for row in rows) - len(table.usable(rows, y))
    if watched:
        notes.append(f"{watched} traced or timed trials are not drawn")
    return notes
