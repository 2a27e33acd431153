# SPDX-License-Identifier: MIT
"""kind = garbage: nodes in limbo at the end of each epoch, a panel a point, all on the same axes. Needs trials with
`trace = yes`; plots/traces.py says what exactly is added up."""

from lib.command import UserError
from plots import series, style, timeline, traces

REQUIRED = set()
OPTIONAL = {"over"}


def table_of(*_):
    return None


def draw(rows, spec, experiment, notes):
    over = spec.get("over", "epoch")
    if over not in ("epoch", "time"):
        raise UserError(f"wanted epoch or time for `over` of a garbage figure, found {over}: correct it")
    points = traces.points(rows, experiment)
    shown = [point for point in points if point.found]
    notes = [line for point in points for line in point.notes] + notes
    below = 0.2 + 0.17 * len(notes)
    height = 0.7 + 1.45 * max(len(shown), 1) + 0.35 + below
    drawn = style.canvas(7.5, height)
    drawn.suptitle(series.title(spec, experiment), fontsize=10, y=1 - 0.08 / height, va="top", wrap=True)
    panels = drawn.subplots(len(shown), 1, sharex=True, sharey=True, squeeze=False)[:, 0] if shown else []
    garbage = [traces.garbage(point.found)[2] for point in shown]
    most = max((nodes.max(initial=0) for nodes in garbage), default=0)
    for ax, point, nodes in zip(panels, shown, garbage):
        timeline.draw_garbage(ax, point.found, point.look["color"], over, most)
        peak = f", mean {nodes.mean():,.0f}, largest {nodes.max():,.0f} nodes" if len(nodes) else ""
        ax.set_title(f"{point.title}: {len(nodes)} epochs{peak}", fontsize=9, loc="left", pad=3)
        if traces.lost(point):
            # Within the panel: the title beside it may be long.
            ax.text(0.99, 0.94, traces.lost(point), fontsize=8, ha="right", va="top", transform=ax.transAxes,
                    color=style.WARNING_COLOUR, weight="bold")
    if shown:
        panels[-1].set_xlabel("epoch of the window" if over == "epoch" else "seconds in the window")
        panels[-1].set_xlim(left=0)
        drawn.subplots_adjust(left=0.1, right=0.98, top=1 - 0.7 / height, bottom=(below + 0.4) / height, hspace=0.35)
    drawn.text(0.01, 0.06 / height, "\n".join(notes), fontsize=7, va="bottom", linespacing=1.4)
    return drawn
