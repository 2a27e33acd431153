# SPDX-License-Identifier: MIT
"""Figures from results files. `kind = NAME` in a [figure ...] section is the module plots/NAME.py, which has

    REQUIRED, OPTIONAL                     the keys of its section besides COMMON
    draw(rows, spec, experiment, notes)    a matplotlib Figure
    table_of(rows, spec, experiment)        a lib.tables.Table for the terminal and the report, or None

`rows` are the rows of trials.csv that the figure is about, in any order, failed ones too, `trace` being the place of the
trial's trace; `notes` are lines to print below. A figure depends on nothing else, so the same files give the same bytes.
Needs scripts/ on sys.path (lib)."""

import importlib
import os
import re

from lib import rows as table
from lib.command import UserError


COMMON = {"kind", "title", "series"}
# Of the key `series`.
CHOSEN = re.compile(r"(?P<name>[\w-]+)(\[(?P<where>\w+=[^],=]+(,\w+=[^],=]+)*)\])?")


def load(experiment):
    """{figure name: module}, the keys of every [figure NAME] section checked."""
    return {name: _module(name, spec, experiment) for name, spec in experiment.figures.items()}


def _module(name, spec, experiment):
    folder = os.path.dirname(os.path.abspath(__file__))
    where, wanted = f"[figure {name}] of {experiment.path}", spec.get("kind", "")
    module = None
    if wanted.isidentifier() and os.path.exists(os.path.join(folder, wanted + ".py")):
        module = importlib.import_module("plots." + wanted)
    if not hasattr(module, "draw"):
        raise UserError(f"wanted a kind of figure from plots/ in {where}, found '{wanted}': correct it")
    keys = set(spec) - COMMON
    wrong = (module.REQUIRED - keys) | (keys - module.REQUIRED - module.OPTIONAL)
    if wrong:
        raise UserError(f"wanted the keys {', '.join(sorted(module.REQUIRED | module.OPTIONAL | COMMON))} in {where}, found "
                        f"{', '.join(sorted(wrong))} missing or unknown: correct it")
    for name, _ in _chosen(spec, where):
        if name not in experiment.series:
            raise UserError(f"wanted series of the file in {where}, found {name}: correct it")
    return module


def _chosen(spec, where="a figure"):
    """[(series, {column: word})] of `series = NAME NAME[COLUMN=WORD]`."""
    found = []
    for word in spec.get("series", "").split():
        match = CHOSEN.fullmatch(word)
        if not match:
            raise UserError(f"wanted NAME or NAME[COLUMN=WORD] for series in {where}, found {word}: correct it")
        found.append((match["name"], dict(pair.split("=") for pair in match["where"].split(",")) if match["where"] else {}))
    return found


def rows_of(spec, rows):
    """Those of the series that the figure names, or of some of their points; of all, if it names none."""
    wanted = _chosen(spec)
    return [row for row in rows if not wanted or any(
        row["series"] == name and all(table.same(row[column], word) for column, word in where.items()) for name, where in wanted)]


def rehearse(experiment, planned):
    """Draws every figure from rows without results, so that a mistake in it shows before the hours of measuring."""
    for name, module in load(experiment).items():
        spec = experiment.figures[name]
        columns = [(key, word) for key in ("x", "y", "panels") for word in spec.get(key, "").split()]
        columns += [("series", column) for _, where in _chosen(spec) for column in where]
        for key, column in columns:
            if column not in planned[0]:
                raise UserError(f"wanted a column of the results for {key} of [figure {name}], found {column}: "
                                "`reclaimbench --check` prints the header")
        if spec.get("baseline", next(iter(experiment.series))) not in experiment.series:
            raise UserError(f"wanted a series for baseline of [figure {name}], found {spec['baseline']}: correct it")
        rows = rows_of(spec, planned)
        module.table_of(rows, spec, experiment)
        module.draw(rows, spec, experiment, [])
