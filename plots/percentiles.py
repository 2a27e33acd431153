# SPDX-License-Identifier: MIT
"""kind = percentiles: how long the fastest half, nine tenths, ... 99.99 % of the operations took, a line a scheme: the median over
repeats, with their range as a band. Both axes are logarithmic, the one below in the part that is slower: each step to the right
is the slowest tenth of what was left. `prefix = write` is about the columns write_p50_ns, write_p75_ns, ..."""

import re

from matplotlib import ticker

from lib import rows as table
from lib.command import UserError
from plots import series, style

REQUIRED = set()
OPTIONAL = {"panels", "source", "prefix"}
NAMES = {"": "service time", "write": "response time of writes", "write_late": "late start of writes"}
# How many samples stand behind the percentiles of a trial: a sum of columns.
COUNTS = {"": ("latency_samples",), "write": ("writes", "appends"), "write_late": ("writes", "appends")}
LABELLED = (50, 90, 99, 99.9, 99.99)
SOURCE_X, SOURCE_COLUMN = "percentile", "p_ns"


def table_of(*_):
    return None


def draw(rows, spec, experiment, notes):
    series.check_one_fence(rows)
    prefix, column = spec.get("prefix", ""), spec.get("panels")
    if prefix not in NAMES:
        raise UserError(f"wanted one of {', '.join(filter(None, NAMES))} for prefix of a figure, found {prefix}: correct "
                        f"{experiment.path}")
    source = _source(spec, prefix, experiment, rows)
    columns = _columns(rows, prefix)
    panels = [(title, _lines(part, columns, prefix, experiment.series), source if source and source.fits(part) else None)
              for title, part in series.panels(rows, column)]
    every = [line for _, found, _ in panels for line in found]
    source = next((theirs for _, _, theirs in panels if theirs), None)
    first = ([f"hollow: {source.label}"] if source else []) + ["a line ends where a trial has not one sample left that is slower"]
    notes = series.notes(every, rows, (None, next(iter(columns), ""), column), first + notes, "lines: medians; bands",
                         "the range over repeats")
    across = min(len(panels), 4)
    down = -(-len(panels) // across)
    below = 0.35 + 0.17 * len(notes)
    labels = max((len(line.label) for line in every), default=0)
    beside = 0.55 + 0.075 * labels
    left = 0.85
    height = 0.75 + 2.8 * down + below
    width = max(left + 3.0 * across + beside, 6.0, style.title_width(series.title(spec, experiment)))
    drawn = style.canvas(width, height)
    axes = list(drawn.subplots(down, across, squeeze=False, sharey=True).flat)
    for place, (ax, (title, found, theirs)) in enumerate(zip(axes, panels)):
        ax.set_title(title)
        for line in found:
            _curve(ax, line, 0.2 if len(found) <= 4 else 0.1)
            _published(ax, line, theirs)
        _axis(ax, every, source)
        if place % across == 0:
            ax.set_ylabel(NAMES[prefix])
    # Panels share the axis, whose limits are those of the last curve.
    style.decades(axes[0].yaxis, style.duration)
    for spare in axes[len(panels):]:
        spare.set_visible(False)
    handles = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels())}
    drawn.suptitle(series.title(spec, experiment), fontsize=10, y=1 - 0.08 / height, va="top", wrap=True)
    drawn.subplots_adjust(left=left / width, right=1 - beside / width, top=1 - 0.6 / height, bottom=(below + 0.3) / height,
                          wspace=0.1, hspace=0.4)
    if handles:
        drawn.legend(handles.values(), handles.keys(), loc="upper left", bbox_to_anchor=(1 - (beside - 0.02) / width, 1 - 0.55 / height))
    drawn.text(0.01, 0.06 / height, "\n".join(notes), fontsize=7, va="bottom", linespacing=1.4)
    return drawn


def _columns(rows, prefix):
    """{column: percent} of the header, ascending: p999_ns is 99.9."""
    found = {}
    for name in rows[0] if rows else ():
        match = re.fullmatch((prefix + "_" if prefix else "") + r"p(\d\d)(\d*)_ns", name)
        if match:
            found[name] = float(f"{match[1]}.{match[2]}")
    return dict(sorted(found.items(), key=lambda item: item[1]))


def _slower(percent):
    """Of how many operations one is slower: where a percentile stands on the axis."""
    return 100 / (100 - percent)


def _lines(rows, columns, prefix, names):
    found = series.schemes(rows, names)
    for line, mine in found:
        series.check_one_point(mine, line.label)
        for column, percent in columns.items():
            line.xs.append(_slower(percent))
            line.samples.append(table.values([row for row in mine if _samples(row, prefix) >= _slower(percent)], column))
    return [line for line, _ in found]


def _samples(row, prefix):
    return sum(table.number(row, column) or 0 for column in COUNTS[prefix])


def _curve(ax, line, shade):
    shown = [(at, values, median) for at, values, median in zip(line.xs, line.samples, line.medians()) if values]
    xs = [at for at, _, _ in shown]
    ax.fill_between(xs, [min(values) for _, values, _ in shown], [max(values) for _, values, _ in shown],
                    color=line.look["color"], alpha=shade, linewidth=0)
    ax.plot(xs, [median for _, _, median in shown], label=line.label, **line.look)


def _source(spec, prefix, experiment, rows):
    if "source" not in spec:
        return None
    source = experiment.sources.get(spec["source"])
    wanted = SOURCE_X, (prefix + "_" if prefix else "") + SOURCE_COLUMN
    if not source or (source.x, source.column) != wanted:
        raise UserError(f"wanted a section [source {spec['source']}] with x = {wanted[0]} and column = {wanted[1]} in "
                        f"{experiment.path}, found none: correct it")
    for column in source.where:
        if rows and column not in rows[0]:
            raise UserError(f"wanted columns of the results for `where` of [source {spec['source']}] of {experiment.path}, found {column}: "
                            "correct it")
    return source


def _published(ax, line, source):
    """The publication's percentiles of the series: its machine is another, the shape can be compared."""
    name = line.label.removesuffix(" " + series.UNSOUND)
    if source and name in source.values:
        ax.plot([_slower(float(word)) for word in source.at], source.values[name], color=line.look["color"],
                marker=line.look["marker"], markerfacecolor="white", markersize=7, linestyle=(0, (1, 2)), linewidth=0.8)


def _axis(ax, every, source):
    """As far as any panel has a percentile."""
    drawn = [at for line in every for at, values in zip(line.xs, line.samples) if values]
    drawn += [_slower(float(word)) for word in source.at] if source else []
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xticks([_slower(percent) for percent in LABELLED], [f"{percent:g}" for percent in LABELLED])
    ax.xaxis.set_minor_locator(ticker.NullLocator())
    ax.set_xlim(min(drawn, default=_slower(50)) / 1.3, max(drawn, default=_slower(99.99)) * 1.3)
    ax.set_xlabel("percentile (%)")
