# SPDX-License-Identifier: MIT
"""A table once, shown three ways: text for the terminal, HTML for the report, a figure (plots/)."""

import html
from dataclasses import dataclass, field


@dataclass
class Table:
    caption: str
    header: list
    rows: list  # lists of words as long as the header; None is a rule between blocks
    prose: list = field(default_factory=lambda: [0])  # columns that are read, not compared: set to the left

    def widths(self):
        lines = [self.header] + [row for row in self.rows if row]
        return [max(len(line[i]) for line in lines) for i in range(len(self.header))]

    def text(self):
        widths = self.widths()
        rule = "  ".join("-" * width for width in widths)

        def line(words):
            return "  ".join(word.ljust(width) if i in self.prose else word.rjust(width)
                             for i, (word, width) in enumerate(zip(words, widths))).rstrip()

        return "\n".join([self.caption, line(self.header), rule] + [line(row) if row else rule for row in self.rows])

    def html(self):
        def line(words, tag):
            cells = [f'<{tag}{" class=prose" if i in self.prose else ""}>{html.escape(word)}</{tag}>'
                     for i, word in enumerate(words)]
            return "<tr>" + "".join(cells) + "</tr>"

        bodies, block = [], []
        for row in self.rows + [None]:
            if row:
                block.append(line(row, "td"))
            elif block:
                bodies.append("<tbody>" + "\n".join(block) + "</tbody>")
                block = []
        return (f"<table><caption>{html.escape(self.caption)}</caption>\n<thead>{line(self.header, 'th')}</thead>\n"
                + "\n".join(bodies) + "</table>")
