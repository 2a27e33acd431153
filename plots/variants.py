# SPDX-License-Identifier: MIT
"""kind = variants: a horizontal bar for each scheme of each series, with its name beside it and its value at its end: many schemes
at one point, where groups of bars would need a legend to be read. With `baseline`, also the ratio to that series."""

import statistics

from plots import series, style

REQUIRED = {"y"}
OPTIONAL = {"panels", "baseline", "log"}
BAR = 0.7  # of the distance between bars


def table_of(*_):
    return None


def draw(rows, spec, experiment, notes):
    series.check_one_fence(rows)
    y, column = spec["y"], spec.get("panels")
    panels = [(title, _lines(part, y, experiment.series)) for title, part in series.panels(rows, column)]
    every = [line for _, found in panels for line in found]
    samples = [value for line in every for values in line.samples for value in values]
    divisor, prefix = style.scale(max(samples, default=1))
    ratios = [f"×: median over that of {spec['baseline']}"] if "baseline" in spec else []
    notes = series.notes(every, rows, (None, y, column), ratios + notes, "bars: medians; whiskers and dots")

    labels = max((len(line.label) for line in every), default=0)
    left, below = 0.25 + 0.068 * labels, 0.3 + 0.17 * len(notes)
    bars = max(len(found) for _, found in panels)
    width = max(left + 3.4 * len(panels) + 0.15, 6.0, style.title_width(series.title(spec, experiment)))
    height = 1.1 + 0.24 * bars + below
    drawn = style.canvas(width, height)
    axes = drawn.subplots(1, len(panels), squeeze=False)[0]
    for ax, (title, found) in zip(axes, panels):
        ax.set_title(title)
        _bars(ax, found, divisor, _baseline(found, spec))
        ax.tick_params(labelleft=ax is axes[0], length=0, axis="y")
        ax.set_xlabel(style.axis(y, prefix))
        _limits(ax, [value / divisor for value in samples if value > 0], spec.get("log") == "yes")
    drawn.suptitle(series.title(spec, experiment), fontsize=10, y=1 - 0.08 / height, va="top", wrap=True)
    drawn.subplots_adjust(left=left / width, right=1 - 0.15 / width, top=1 - 0.55 / height, bottom=(below + 0.4) / height, wspace=0.06)
    drawn.text(0.01, 0.06 / height, "\n".join(notes), fontsize=7, va="bottom", linespacing=1.4)
    return drawn


def _lines(rows, y, names):
    found = series.lines(rows, "series", y, names)
    for line, mine in series.schemes(rows, names):
        series.check_one_point(mine, line.label)
    return found


def _baseline(found, spec):
    """Its median in this panel, None without."""
    for line in found:
        if line.label == spec.get("baseline") and line.samples[0]:
            return statistics.median(line.samples[0])
    return None


def _bars(ax, found, divisor, baseline):
    for place, line in enumerate(found):
        values = [value / divisor for value in line.samples[0]]
        if not values:
            ax.annotate("failed", (0, place), xycoords=("axes fraction", "data"), xytext=(3, 0), textcoords="offset points",
                        va="center", fontsize=7, color=line.look["color"])
            continue
        middle = statistics.median(values)
        unsound = {"alpha": 0.5} if line.label.endswith(series.UNSOUND) else {}
        ax.barh(place, middle, BAR, **style.fill(*line.scheme), **unsound)
        ax.hlines(place, min(values), max(values), color="black", linewidth=0.9)
        ax.scatter(values, [place] * len(values), s=6, color="white", edgecolors="black", linewidths=0.5, zorder=3)
        ratio = f"  {middle * divisor / baseline:.2f}×" if baseline else ""
        ax.annotate(f"{middle:.3g}{ratio}", (max(values), place), xytext=(4, 0), textcoords="offset points", va="center", fontsize=7)
    ax.set_yticks(range(len(found)), [line.label for line in found])
    ax.set_ylim(max(len(found), 1) - 0.4, -0.6)
    ax.grid(False, axis="y")


def _limits(ax, positive, log):
    """With room for the value behind the longest bar."""
    if log and positive:
        ax.set_xscale("log")
        low, high = min(positive) / 2, max(positive)
        ax.set_xlim(low, high * (high / low) ** 0.25)
        style.decades(ax.xaxis)
    else:
        ax.set_xlim(0, 1.3 * max(positive, default=1))
