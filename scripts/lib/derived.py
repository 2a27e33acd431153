# SPDX-License-Identifier: MIT
"""Columns that the scripts work out from a trial's row or its trace, beside the driver's own. Figures and claims may name them."""

from lib import rows as table
from lib import trace

# Of a block: what a scan takes depends on how much it reads, this only on where the elements lie. Of a block that grew nobody knows
# how many elements its scans had.
ELEMENTS = "elements_per_s"
# Of a block: how much of what was due was done.
DONE = "writes_done_share"
COLUMNS = trace.DERIVED + [ELEMENTS, DONE]


def fill(rows):
    for row in trace.derive(rows):
        scans, elements, final = (table.number(row, column) for column in ("reads_per_s", "block", "final_keys"))
        row[ELEMENTS] = "" if scans is None or elements is None or final != elements else f"{scans * elements:.7g}"
        done, wanted = table.number(row, "writes"), table.number(row, "writes_wanted")
        row[DONE] = "" if done is None or not wanted else f"{done / wanted:.7g}"
    return rows
