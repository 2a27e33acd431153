# SPDX-License-Identifier: MIT
"""trials.csv: whole rows only, one a trial; what may be read from them.

Columns of the runner come first (RUNNER_COLUMNS), then the driver's own header. A metric that was not measured is an empty
field, here None, and never 0."""

import csv
import io
import os
import re

RUNNER_COLUMNS = ["series", "trial", "position", "wall_s", "message"]


def number(row, column):
    """The field as a float, None where it is empty or no number."""
    try:
        return float(row.get(column) or "")
    except ValueError:
        return None


def is_ok(row):
    return row["status"] == "ok"


def instrumented(row):
    """Ran with trace points or with a clock around each free, which change what they watch."""
    return bool(row.get("trace")) or row.get("time_free") == "1"


# How fast something was: an instrumented trial cannot say.
SPEED = re.compile(r".*_per_s|(.*_)?(p\d+|max)_ns")


def usable(rows, column):
    """Rows that this column may be read from."""
    return [row for row in rows if is_ok(row) and not (SPEED.fullmatch(column) and instrumented(row))]


def values(rows, column):
    """All samples, ascending: nothing that is made from them depends on the order in which trials ran."""
    found = (number(row, column) for row in usable(rows, column))
    return sorted(value for value in found if value is not None)


def natural(word):
    """Sort key: numbers by value and before names."""
    try:
        return (0, float(word), "")
    except ValueError:
        return (1, 0.0, word)


def same(a, b):
    """One word, or one number: the driver writes 1000000 as 1e+06."""
    return natural(a) == natural(b)


def distinct(rows, column):
    return sorted({row[column] for row in rows}, key=natural)


def read(path):
    """Rows of a results file; a last line without its newline was cut by a kill and does not count."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            text = file.read()
    except FileNotFoundError:
        return []
    return list(csv.DictReader(io.StringIO(text[: text.rfind("\n") + 1])))


class Log:
    """Appends rows. Each is one write to a file opened for appending, so a kill leaves a whole row or a cut last line, and
    the cut line goes when the file is opened again."""

    def __init__(self, path, columns):
        self.columns = columns
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        with open(path, "rb") as file:
            whole = file.read().rfind(b"\n") + 1
        os.ftruncate(self.fd, whole)
        if whole == 0:
            self._write(columns)

    def _write(self, fields):
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow(fields)
        os.write(self.fd, line.getvalue().encode())
        os.fsync(self.fd)

    def append(self, row):
        self._write([row.get(column, "") for column in self.columns])
