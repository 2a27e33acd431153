# SPDX-License-Identifier: MIT
"""kind = lines: one line a series over x, every sample a dot, the median joined up, one panel a word of `panels`. `log = x` and
`log = x y` are logarithmic axes."""

import math

from matplotlib import ticker

from plots import series, style

REQUIRED = {"x", "y"}
OPTIONAL = {"panels", "source", "log"}
LABELS = 0.06  # of an axis: the least distance of two labels


def table_of(*_):
    return None


def draw(rows, spec, experiment, notes):
    series.check_one_fence(rows)
    x, y, column = spec["x"], spec["y"], spec.get("panels")
    divided = [(title, series.lines(part, x, y, experiment.series)) for title, part in series.panels(rows, column)]
    samples = [value for _, found in divided for line in found for values in line.samples for value in values]
    smallest, largest = min((value for value in samples if value > 0), default=1), max(samples, default=1)
    log = spec.get("log", "").split()
    source = experiment.source if spec.get("source") == "panel" else None
    divisor, prefix, name, spoken = *style.scale(largest), y, "{:g}".format
    if "y" in log:
        # Over decades no one unit is right for all.
        divisor, prefix = 1, ""
        name, spoken = (y.removesuffix("_ns"), style.duration) if y.endswith("_ns") else (y, style.quantity)

    notes = series.notes([line for _, found in divided for line in found], rows, (x, y, column), notes)
    count = len(divided) + bool(source)
    across = min(count, 5)
    down = -(-count // across)
    below = 0.35 + 0.17 * len(notes)
    height = 0.9 + 2.4 * down + below
    drawn = style.canvas(max(2.0 + 2.3 * across, 5.5, style.title_width(series.title(spec, experiment))), height)
    axes = drawn.subplots(down, across, squeeze=False).flat
    for place, (ax, (title, found)) in enumerate(zip(axes, divided)):
        ax.set_title(title)
        _heights(ax, smallest / divisor, largest / divisor, "y" in log, spoken)
        ax.tick_params(labelleft=place % across == 0, which="both")
        for line in found:
            _line(ax, line, divisor)
        _ticks(ax, sorted({value for line in found for value in line.xs}), x, "x" in log)
    if source:
        _source(axes[len(divided)], source, divided, divisor, experiment)
    for spare in list(axes)[count:]:
        spare.set_visible(False)
    for first in range(0, count, across):
        axes[first].set_ylabel(style.axis(name, prefix))
    handles = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels())}
    drawn.suptitle(series.title(spec, experiment), fontsize=10, y=1 - 0.08 / height, va="top", wrap=True)
    drawn.legend(handles.values(), handles.keys(), ncols=len(handles), loc="upper center",
                 bbox_to_anchor=(0.5, 1 - 0.3 / height))
    drawn.subplots_adjust(left=(0.85 if "y" in log else 0.6) / drawn.get_figwidth(), right=1 - (0.45 if source else 0.15) / drawn.get_figwidth(), top=1 - 0.85 / height,
                          bottom=(below + 0.3) / height, wspace=0.08, hspace=0.4)
    drawn.text(0.01, 0.06 / height, "\n".join(notes), fontsize=7, va="bottom", linespacing=1.4)
    return drawn


def _line(ax, line, divisor):
    look = dict(line.look)
    hollow = {"markerfacecolor": "white"} if line.label.endswith(series.UNSOUND) else {}
    ax.plot(line.xs, [median / divisor for median in line.medians()], label=line.label, **look, **hollow)
    dots = [(at, value / divisor) for at, values in zip(line.xs, line.samples) for value in values]
    ax.scatter([at for at, _ in dots], [value for _, value in dots], s=8, color="white", edgecolors=look["color"],
               linewidths=0.6, zorder=3)
    for at, values in zip(line.xs, line.samples):
        if values:
            ax.vlines(at, min(values) / divisor, max(values) / divisor, color=look["color"], linewidth=3, alpha=0.4)
        else:
            ax.annotate("failed", (at, 0), xycoords=("data", "axes fraction"), xytext=(0, 2), textcoords="offset points", ha="center", fontsize=7,
                        color=look["color"], rotation=90)


def _source(ax, source, divided, divisor, experiment):
    """The publication's own curve in the same colours, on an axis of its own: its machine is another, shapes can be compared."""
    looks = {line.label: line.look for _, found in divided for line in found}
    xs = [float(word) for word in source.at]
    for name in experiment.series:
        if name in source.values:
            look = looks.get(name, {"color": style.SOURCE_COLOUR, "marker": "."})
            ax.plot(xs, [value / divisor for value in source.values[name]], **look)
    ax.set_title(source.label, fontstyle="italic")
    ax.set_facecolor("#f6f6f6")
    ax.set_ylim(bottom=0)
    ax.yaxis.tick_right()
    _ticks(ax, xs, source.x, False)


def _heights(ax, smallest, largest, log, spoken):
    if log:
        ax.set_yscale("log", nonpositive="mask")
        ax.set_ylim(smallest / 1.5, 1.5 * largest)
        style.decades(ax.yaxis, spoken)
    else:
        ax.set_ylim(0, 1.05 * largest)


def _ticks(ax, xs, column, log):
    """Labels at the measured points, leaving out those that would run into their neighbour."""
    ax.set_xlabel(style.axis(column))
    if not xs:
        return
    place, value_at = (math.log10, lambda at: 10 ** at) if log else (float, float)
    if log:
        ax.set_xscale("log")
        ax.xaxis.set_minor_locator(ticker.NullLocator())
    reach = place(xs[-1]) - place(xs[0]) or 1.0
    shown = []
    for value in reversed(xs):
        if not shown or place(shown[-1]) - place(value) >= LABELS * reach:
            shown.append(value)
    ax.set_xticks(shown, [style.number(value) for value in shown])
    ax.set_xlim(value_at(place(xs[0]) - 0.08 * reach), value_at(place(xs[-1]) + 0.08 * reach))
