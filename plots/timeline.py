# SPDX-License-Identifier: MIT
"""kind = timeline: a line a thread, a box an event with a duration, a dot an event without; how many threads are within a box
above it; the garbage of each epoch below it, if asked for. Needs trials with `trace = yes`."""

import numpy
from matplotlib import colors
from matplotlib.collections import PolyCollection

from lib.command import UserError
from plots import series, style, traces

REQUIRED = set()
OPTIONAL = {"boxes", "dots", "garbage", "from", "to"}
WORDS = {"batch_free": "batch frees", "long_free": "long single frees", "epoch": "epoch advances", "token": "token passes"}
DOTS = {"epoch": (style.EPOCH_COLOUR, 9), "token": ("#000000", 2)}
COLUMNS = 1400  # about the pixels of the axes: what lies closer together is drawn as one
RASTERISE_FROM = 5000
WIDTH, LEFT, RIGHT = 10.0, 0.75, 0.2  # inches


def table_of(*_):
    return None


def draw(rows, spec, experiment, notes):
    start, stop = _moment(spec, "from"), _moment(spec, "to")
    if start is not None and stop is not None and not start < stop:
        raise UserError(f"wanted `from` before `to` in a timeline, found {start:g} and {stop:g}: correct the figure")
    points = traces.points(rows, experiment)
    boxes, dots = spec.get("boxes", "batch_free"), spec.get("dots", "epoch").split()
    with_garbage = spec.get("garbage") == "yes"
    notes = [line for point in points for line in point.notes] + notes
    shown = [point for point in points if point.found]
    # Inches from the top: title, then for each point a heading, the summary, the threads, the garbage.
    threads = [min(max(0.09 * point.found.threads, 1.0), 4.6) for point in shown]
    parts = [0.3 + 0.35 + high + (0.95 if with_garbage else 0.1) + 0.42 for high in threads]
    below = 0.12 + 0.14 * len(notes)
    height = 0.62 + sum(parts) + below
    drawn = style.canvas(WIDTH, height)
    drawn.suptitle(series.title(spec, experiment), fontsize=10, y=1 - 0.08 / height, va="top", wrap=True)
    top = height - 0.62
    most = max((traces.garbage(point.found)[2].max(initial=0) for point in shown), default=0) if with_garbage else 0
    # One stretch of time for all: what is compared has one scale.
    zoom = start or 0.0, stop or max((point.found.end for point in shown), default=0) or 1.0
    for point, high, part in zip(shown, threads, parts):
        _point(drawn, point, (boxes, dots, with_garbage), zoom, top, high, most)
        top -= part
    drawn.text(0.01, 0.06 / height, "\n".join(notes), fontsize=7, va="bottom", linespacing=1.4)
    _legend(drawn, boxes, dots, height)
    return drawn


def _moment(spec, key):
    try:
        return float(spec[key]) if key in spec else None
    except ValueError:
        raise UserError(f"wanted seconds since the window's begin for `{key}` of a timeline, found {spec[key]}: correct the "
                        "figure") from None


def _legend(drawn, boxes, dots, height):
    words = [f"boxes: {WORDS.get(boxes, boxes)} (pale: many short ones)"] + [
        f"{'blue' if name == 'epoch' else 'black'} dots: {WORDS.get(name, name)}" for name in dots]
    drawn.text(0.5, 1 - 0.42 / height, "; ".join(words) + "; row on top: threads within a box", fontsize=8, ha="center",
               va="center")


def _point(drawn, point, what, zoom, top, high, most):
    """One timeline in the inches below `top`."""
    boxes, dots, with_garbage = what
    found = point.found
    start, stop = zoom
    height = drawn.get_figheight()

    def axes(above, tall, **more):
        return drawn.add_axes((LEFT / WIDTH, (above - tall) / height, 1 - (LEFT + RIGHT) / WIDTH, tall / height), **more)

    bars = found.events(boxes)
    summary = axes(top - 0.3, 0.35)
    spent = f"{100 * found.share(boxes):.2g} % of thread time in {len(bars)}" if len(bars) else "no"
    summary.set_title(f"{point.title}: {spent} {WORDS.get(boxes, boxes)}, {(found.events('epoch').begin >= found.begin).sum()} epochs", fontsize=9,
                      loc="left", pad=3)
    if traces.lost(point):
        summary.set_title(traces.lost(point), fontsize=8, loc="right", pad=3, color=style.WARNING_COLOUR, weight="bold")
    edges, many = traces.busy(bars, start, stop, COLUMNS // 2)
    summary.stairs(many, edges, fill=True, color="#555555")
    summary.set_ylim(0, found.threads)
    summary.set_yticks([found.threads])
    summary.tick_params(labelbottom=False, labelsize=7)

    lanes = axes(top - 0.3 - 0.35 - 0.04, high - 0.04, sharex=summary)
    _boxes(lanes, bars, point.look["color"], start, stop)
    for name in dots:
        _dots(lanes, found.events(name), *DOTS.get(name, ("#333333", 3)), start, stop, found.threads)
    lanes.set_ylim(-0.7, found.threads - 0.3)
    lanes.set_ylabel("thread")
    lanes.yaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
    lanes.grid(False)
    bottom = lanes
    if with_garbage:
        lanes.tick_params(labelbottom=False)
        bottom = axes(top - 0.3 - 0.35 - high - 0.06, 0.8, sharex=summary)
        draw_garbage(bottom, found, point.look["color"], "time", most)
    bottom.set_xlabel("seconds in the window")
    bottom.set_xlim(start, stop)


def _boxes(ax, bars, colour, start, stop):
    pixel = (stop - start) / COLUMNS
    boxes = traces.merged(bars, pixel / 2)
    inside = (boxes[2] >= start) & (boxes[1] <= stop)
    thread, begin, end, part, count = (column[inside] for column in boxes)
    # A box is at least a pixel wide, or it would fade away.
    end = numpy.maximum(end, begin + pixel)
    low, up = thread - 0.42, thread + 0.42
    corners = numpy.stack([numpy.stack([begin, low], 1), numpy.stack([end, low], 1), numpy.stack([end, up], 1),
                           numpy.stack([begin, up], 1)], 1)
    # An edge says that this is one event, where there is room for it; a pale box, that it is many short ones.
    edges = numpy.where((end - begin > 4 * pixel) & (count == 1), 0.4, 0.0)
    faces = numpy.tile(colors.to_rgba(colour), (len(corners), 1))
    if len(faces):
        faces[:, 3] = numpy.round(0.25 + 0.6 * part, 2)
    ax.add_collection(PolyCollection(corners, facecolors=faces, edgecolors="black", linewidths=edges,
                                     rasterized=len(corners) > RASTERISE_FROM))


def _dots(ax, events, colour, size, start, stop, threads):
    inside = (events.begin >= start) & (events.begin <= stop)
    at, thread = events.begin[inside], events.thread[inside]
    # One dot a pixel and thread.
    column = ((at - start) / (stop - start) * COLUMNS).astype(numpy.int64)
    _, first = numpy.unique(column * threads + thread, return_index=True)
    ax.scatter(at[first], thread[first], s=size if threads <= 48 else size / 2, color=colour, linewidths=0, zorder=3,
               rasterized=len(first) > RASTERISE_FROM)


def draw_garbage(ax, found, colour, x, most):
    """Shared with kind = garbage."""
    epochs, times, nodes = traces.garbage(found)
    # The last value holds until the window's end.
    at = numpy.append(times, found.end) if x == "time" else numpy.append(epochs, len(epochs) + 1)
    nodes = numpy.append(nodes, nodes[-1:])
    at = at[:len(nodes)]
    divisor, prefix = style.scale(most or 1)
    if len(at):
        ax.fill_between(at, nodes / divisor, step="post", color=colour, alpha=0.3, linewidth=0)
        ax.step(at, nodes / divisor, where="post", color=colour, linewidth=0.8)
    if 0 < len(at) <= 100:
        ax.plot(at[:-1], nodes[:-1] / divisor, ".", color=colour, markersize=4)
    ax.set_ylim(0, 1.1 * most / divisor if most else 1)
    ax.set_ylabel(f"garbage{f' ({prefix})' if prefix else ''}")
