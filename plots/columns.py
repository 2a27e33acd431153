# SPDX-License-Identifier: MIT
"""kind = columns: a table with a line for each combination of the words of `by` and columns of the file's own:

    by = allocator policy threads
    columns =
        M ops/s: ops_per_s / 1000000
        flushes per 1,000 frees: alloc_flushes / freed * 1000

A column is a product or quotient of columns of the row and numbers, from left to right, worked out in each trial; what is
shown is the median. It is read from ordinary trials; only what no ordinary trial can tell is read from traced or timed ones,
and marked. So one line may rest on two series, and no number on both."""

import re
import statistics

from lib import rows as table
from lib import tables
from lib.command import UserError
from plots import series, tabular

REQUIRED = {"by", "columns"}
OPTIONAL = set()
ABSENT, MARK = "–", "†"


def table_of(rows, spec, experiment):
    by = spec["by"].split()
    for column in by:
        if rows and column not in rows[0]:
            raise UserError(f"wanted columns of the results for `by` of a table, found {column}: correct {experiment.path}")
    asked = [_parse(line, rows, experiment) for line in spec["columns"].strip().splitlines()]
    keys = sorted({tuple(row[column] for column in by) for row in rows}, key=lambda key: [table.natural(w) for w in key])
    cells = {key: [_cell([row for row in rows if tuple(row[column] for column in by) == key], formula)
                   for _, formula in asked] for key in keys}
    # A column is of one kind: marked if any of its cells is.
    marked = [any(cells[key][i][1] for key in keys) for i in range(len(asked))]
    header = by + [name + (MARK if mark else "") for (name, _), mark in zip(asked, marked)]
    body = []
    for key in keys:
        if body and body[-1][0] != key[0]:
            body.append(None)
        body.append(list(key) + [text for text, _ in cells[key]])
    return tables.Table(series.title(spec, experiment), header, body, prose=list(range(len(by))))


def _parse(line, rows, experiment):
    """(name, [(above, word)]) of 'NAME: WORD { (* | /) WORD }'."""
    name, colon, text = line.strip().rpartition(":")
    words = re.split(r"\s*([*/])\s*", text.strip())
    factors = [(i == 0 or words[i - 1] == "*", words[i]) for i in range(0, len(words), 2)]
    for _, word in factors:
        if not colon or not (re.fullmatch(r"\d+(\.\d+)?", word) or not rows or word in rows[0]):
            raise UserError(f"wanted NAME: COLUMN {{ (* | /) COLUMN or number }} in `columns` of a table, found '{line.strip()}': "
                            f"correct {experiment.path}")
    return name.strip(), factors


def _value(row, formula):
    value = 1.0
    for above, word in formula:
        number = float(word) if word[0].isdigit() else table.number(row, word)
        if number is None or (number == 0 and not above):
            return None
        value = value * number if above else value / number
    return value


def _cell(rows, formula):
    """(text, from instrumented trials)"""
    names = [word for _, word in formula if not word[0].isdigit()]
    for watched in (False, True):
        mine = [row for row in rows if table.is_ok(row) and table.instrumented(row) == watched]
        for name in names:
            mine = table.usable(mine, name)
        values = [value for value in (_value(row, formula) for row in mine) if value is not None]
        if values:
            return _spoken(values), watched
    return ABSENT, False


def _spoken(values):
    middle = statistics.median(values)
    digits = 0 if middle >= 100 else 1 if middle >= 10 else 2 if middle >= 0.1 or middle == 0 else 4
    return f"{middle:,.{digits}f}" + series.spread(values, f"{{:,.{digits}f}}".format)


def draw(rows, spec, experiment, notes):
    made = table_of(rows, spec, experiment)
    legend = [f"median {series.SPREAD_NOTE}"]
    if any(MARK in word for word in made.header):
        legend.append(f"{MARK} from traced or timed trials, whose speed is another")
    return tabular.draw(made, legend + notes + series.failure_notes(rows, spec["by"].split()[-1], "status")[:6])
