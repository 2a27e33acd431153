# SPDX-License-Identifier: MIT
"""kind = bars: a group of bars at each x, a bar a series: the median, with the range and all samples on it."""

from lib import rows as table
from plots import series, style

REQUIRED = {"x", "y"}
OPTIONAL = {"panels", "source", "log"}
GROUP = 0.84  # of the distance between groups


def table_of(*_):
    return None


def draw(rows, spec, experiment, notes):
    series.check_one_fence(rows)
    x, y, column = spec["x"], spec["y"], spec.get("panels")
    panels = [(title, series.lines(part, x, y, experiment.series)) for title, part in series.panels(rows, column)]
    every = [line for _, found in panels for line in found]
    notes = series.notes(every, rows, (x, y, column), notes, "bars: medians; whiskers and dots")
    sources = _sources(panels, spec, experiment)
    largest = max((value for line in every for values in line.samples for value in values), default=1)
    divisor, prefix = style.scale(max([largest] + [max(line.medians()) for _, found in sources for line in found]))

    count = len(panels) + len(sources)
    # The publication's panels below ours, where there are as many; beside them otherwise.
    across = len(panels) if 1 < len(panels) == len(sources) <= 4 else min(count, 4)
    down = -(-count // across)
    groups = max((len(line.xs) for _, found in panels + sources for line in found), default=1)
    bars = max((len(found) for _, found in panels), default=1)
    wide = min(max(2.6, 0.5 + groups * (0.16 * bars + 0.15)), 7.0)
    below = 0.3 + 0.17 * len(notes)
    height = 0.95 + 2.5 * down + below
    drawn = style.canvas(max(0.8 + wide * across, 6.0, style.title_width(series.title(spec, experiment))), height)
    axes = list(drawn.subplots(down, across, squeeze=False).flat)
    log = spec.get("log") == "yes"
    for place, (ax, (title, found)) in enumerate(zip(axes, panels)):
        ax.set_title(title)
        _groups(ax, found, divisor, log)
        _limits(ax, largest / divisor, every, divisor, log)
        ax.set_xlabel(style.axis(x))
        if place % across == 0:
            ax.set_ylabel(style.axis(y, prefix))
        else:
            ax.tick_params(labelleft=False)
    theirs = max((max(line.medians()) for _, found in sources for line in found), default=1)
    for place, (ax, (title, found)) in enumerate(zip(axes[len(panels):], sources), len(panels)):
        ax.set_title(title, fontstyle="italic")
        ax.set_facecolor("#f6f6f6")
        _groups(ax, found, divisor, log)
        _limits(ax, theirs / divisor, [line for _, lines in sources for line in lines], divisor, log)
        ax.set_xlabel(style.axis(x))
        if place % across:
            ax.yaxis.tick_right()
            ax.tick_params(labelright=place % across == across - 1)
        else:
            ax.set_ylabel(style.axis(y, prefix))
    for spare in axes[count:]:
        spare.set_visible(False)
    handles = _handles(axes)
    drawn.suptitle(series.title(spec, experiment), fontsize=10, y=1 - 0.08 / height, va="top", wrap=True)
    if handles:
        drawn.legend(handles.values(), handles.keys(), ncols=min(len(handles), 5), loc="upper center",
                     bbox_to_anchor=(0.5, 1 - 0.3 / height))
    drawn.subplots_adjust(left=0.75 / drawn.get_figwidth(), right=1 - (0.5 if sources else 0.15) / drawn.get_figwidth(),
                          top=1 - 0.9 / height, bottom=(below + 0.3) / height, wspace=0.08, hspace=0.45)
    drawn.text(0.01, 0.06 / height, "\n".join(notes), fontsize=7, va="bottom", linespacing=1.4)
    return drawn


def _handles(axes):
    """{label: handle}; what looks the same, as it stands in panels of its own, is one entry."""
    looks = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels()):
            bar = handle.patches[0] if handle.patches else None
            key = (bar.get_facecolor(), bar.get_hatch()) if bar else label
            looks.setdefault(key, ({}, handle))[0][label] = None
    return {", ".join(labels): handle for labels, handle in looks.values()}


def _sources(panels, spec, experiment):
    """[(title, lines)] of the publication, one for each set of series that stands in a panel of ours."""
    source = experiment.source
    if spec.get("source") != "panel" or not source or (source.x, source.column) != (spec["x"], spec["y"]):
        return []
    found = []
    for title, lines in panels:
        names = [line.label.removesuffix(" " + series.UNSOUND) for line in lines]
        drawn = [series.Line(line.label, line.look, [float(word) for word in source.at], [[v] for v in source.values[name]],
                             line.scheme) for name, line in zip(names, lines) if name in source.values]
        if drawn and names not in [set_ for set_, _ in found]:
            found.append((names, (f"{source.label}{', ' + title if title and len(panels) > 1 else ''}", drawn)))
    same = all(names == found[0][0] for names, _ in found)
    return [(source.label if same else title, drawn) for _, (title, drawn) in found]


def _groups(ax, found, divisor, log):
    """Bars at 0, 1, 2 ...: x is a list of words here, as thread counts are not spaced evenly."""
    xs = sorted({value for line in found for value in line.xs}, key=table.natural)
    width = GROUP / max(len(found), 1)
    if log:
        ax.set_yscale("log")
    for place, line in enumerate(found):
        at = [xs.index(value) + (place + 0.5) * width - GROUP / 2 for value in line.xs]
        medians = [median / divisor for median in line.medians()]
        unsound = {"alpha": 0.5} if line.label.endswith(series.UNSOUND) else {}
        ax.bar(at, medians, width * 0.94, label=line.label, **style.fill(*line.scheme), **unsound)
        for centre, values in zip(at, line.samples):
            _spread(ax, centre, [value / divisor for value in values], line.look["color"])
    ax.set_xticks(range(len(xs)), [value if isinstance(value, str) else style.number(value) for value in xs])
    ax.set_xlim(-0.6, max(len(xs), 1) - 0.4)
    ax.grid(False, axis="x")


def _spread(ax, at, values, colour):
    if not values:
        ax.annotate("failed", (at, 0.02), xycoords=("data", "axes fraction"), ha="center", va="bottom", fontsize=7,
                    color=colour, rotation=90)
    elif len(values) > 1:
        ax.vlines(at, min(values), max(values), color="black", linewidth=0.9)
        ax.scatter([at] * len(values), values, s=6, color="white", edgecolors="black", linewidths=0.5, zorder=3)


def _limits(ax, top, every, divisor, log):
    positive = [value / divisor for line in every for values in line.samples for value in values if value > 0]
    if log and positive:
        # A bar on a logarithmic axis has no natural foot: a decade's fraction below the smallest sample, the same everywhere.
        ax.set_ylim(min(positive) / 2, 1.3 * top)
        style.decades(ax.yaxis)
    elif not log:
        ax.set_ylim(0, 1.08 * top)
