# SPDX-License-Identifier: MIT
"""A lib.tables.Table as a figure. (No kind of its own: the kinds that make tables call it.)"""

from plots import style

LETTER, LINE = 0.082, 0.21  # inches
RULE = 0.3  # of a line


def draw(found, notes):
    widths = [width + 2 for width in found.widths()]
    across = max(sum(widths) * LETTER + 0.3, len(found.caption) * 0.075 + 0.3)
    lines = sum(1 if row else RULE for row in found.rows)
    height = 0.8 + LINE * lines + 0.17 * len(notes)
    drawn = style.canvas(across, height)
    ax = drawn.add_axes((0, 0, 1, 1))
    ax.set_axis_off()
    ax.set_xlim(0, across)
    ax.set_ylim(0, height)
    ends = [0.15 + LETTER * sum(widths[: i + 1]) for i in range(len(widths))]
    ax.text(0.15, height - 0.25, found.caption, fontsize=10)
    y = height - 0.6
    for row in [found.header] + found.rows:
        if row is None:
            ax.plot([0.15, across - 0.15], [y + 0.14] * 2, color=style.SOURCE_COLOUR, linewidth=0.5)
            y += (1 - RULE) * LINE
        else:
            weight = "bold" if row is found.header else "normal"
            for i, word in enumerate(row):
                at, align = (ends[i] - LETTER * widths[i], "left") if i in found.prose else (ends[i], "right")
                ax.text(at, y, word, fontsize=8, ha=align, weight=weight)
            if row is found.header:
                ax.plot([0.15, across - 0.15], [y - 0.07] * 2, color="black", linewidth=0.8)
        y -= LINE
    ax.text(0.15, 0.06, "\n".join(notes), fontsize=7, va="bottom")
    return drawn
