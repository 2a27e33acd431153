# SPDX-License-Identifier: MIT
"""kind = scaling: the table of throughput, scaling and ratio against one series, beside the publication's own figures."""

import statistics

from lib import rows as table
from lib import stats, tables
from plots import series, style, tabular

REQUIRED = {"x", "y", "baseline"}
OPTIONAL = {"panels"}
ABSENT = "–"


def table_of(rows, spec, experiment):
    series.check_one_fence(rows)
    x, y = spec["x"], spec["y"]
    names = [name for name in experiment.series if any(row["series"] == name for row in rows)]
    source = experiment.source
    numbers = table.values(rows, y) + [n for line in (source.values.values() if source else ()) for n in line]
    divisor, prefix = style.scale(max(numbers, default=1))
    unit = style.axis(y, prefix)
    others = [name for name in names if name != spec["baseline"]]
    header = ([spec.get("panels") or "", style.axis(x)] + [f"{name} {unit}" for name in names]
              + [f"{name} scaling" for name in names] + [f"{name} ÷ {spec['baseline']}" for name in others])
    body = []
    for title, part in series.panels(rows, spec.get("panels")):
        points = {word: {name: _samples(part, name, x, word, y) for name in names} for word in table.distinct(part, x)}
        body += _block(title, points, names, others, spec["baseline"], divisor) + [None]
    if source:
        points = {word: {name: [source.values[name][i]] if name in source.values else [] for name in names}
                  for i, word in enumerate(source.at)}
        body += _block(source.label, points, names, others, spec["baseline"], divisor) + [None]
    return tables.Table(series.title(spec, experiment), header, body[:-1])


def _samples(rows, name, x, word, y):
    return table.values([row for row in rows if row["series"] == name and row[x] == word], y)


def _block(title, points, names, others, baseline, divisor):
    """Lines of one panel. Scaling is against the first x, medians throughout, with the spread of all samples."""
    first = next(iter(points.values()), {})
    lines = []
    for word, samples in points.items():
        words = [title, word]
        words += [_median(samples[name], divisor) for name in names]
        words += [_scaling(first[name], samples[name]) for name in names]
        words += [_quotient(samples[baseline], samples[name]) for name in others]
        lines.append(words)
    return lines


def _median(samples, divisor):
    if not samples:
        return ABSENT
    spoken = "{:.1f}".format
    scaled = [value / divisor for value in samples]
    return spoken(statistics.median(scaled)) + series.spread(scaled, spoken)


def _scaling(first, samples):
    if not first or not samples:
        return ABSENT
    return f"{statistics.median(samples) / statistics.median(first):.2f}×"


def _quotient(below, above):
    if not below or not above:
        return ABSENT
    ratio, low, high = stats.median_ratio(below, above)
    return _digits(ratio) if len(below) == 1 == len(above) else f"{_digits(ratio)} [{_digits(low)}, {_digits(high)}]"


def _digits(ratio):
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.1f}"


def draw(rows, spec, experiment, notes):
    note = f"median {series.SPREAD_NOTE}; [95 % bootstrap interval]"
    return tabular.draw(table_of(rows, spec, experiment), [note] + notes)
