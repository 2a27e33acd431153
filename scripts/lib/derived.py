# SPDX-License-Identifier: MIT
"""Columns that the scripts work out from a trial's row or its trace, beside the driver's own. Figures and claims may name them."""

from lib import rows as table
from lib import trace

# Of a block: what a scan takes depends on how much it reads, this only on where the elements lie.
ELEMENTS = "elements_per_s"
COLUMNS = trace.DERIVED + [ELEMENTS]


def fill(rows):
    for row in trace.derive(rows):
        scans, elements = table.number(row, "reads_per_s"), table.number(row, "block")
        row[ELEMENTS] = "" if scans is None or elements is None else f"{scans * elements:.7g}"
    return rows
