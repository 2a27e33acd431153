# SPDX-License-Identifier: MIT
"""Claims of a publication as arithmetic on measured points, answered with an interval.

    value    = TERM { (* | /) TERM }          evaluated from left to right
    TERM     = [EXPERIMENT:]SERIES[COLUMN=WORD, ...].COLUMN
    holds    = (< | <= | > | >=) NUMBER { and ... }
    testable = COLUMN (< | <= | > | >= | ==) NUMBER { and ... }

The part in brackets picks the point (`threads=max`, `threads=1`, `threads=all`, `threads=socket`; `readers` likewise), .COLUMN what is
read there (ops_per_s if left out).
With `each = allocator` there is one answer for each allocator. Never an answer from fewer facts than needed: what cannot be
told says why."""

import operator
import re
from dataclasses import dataclass

from lib import rows as table
from lib import stats
from lib.command import UserError

TERM = re.compile(r"(?:(?P<experiment>[\w-]+):)?(?P<series>[\w-]+)(?:\[(?P<where>[^\]]*)\])?(?:\.(?P<column>\w+))?")
COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq}
KEYS = {"says", "value", "holds", "source", "testable", "each"}

# Options whose value may be a word, which the driver turns into a number; by the machine that a row comes from, those of a claim
# are all units, or those of one socket of several alike.
COUNTED = ("threads", "readers")
SHAPES = {
    "all": lambda row, column: int(row[column]) == int(row["units"]),
    "socket": lambda row, column: int(row[column]) * int(row["sockets"]) == int(row["units"]),
}

HOLDS, FAILS, UNTESTED = "holds", "does not hold", "cannot be tested here"


@dataclass
class Term:
    text: str
    experiment: str
    series: str
    where: dict
    column: str
    above: bool  # in the numerator


@dataclass
class Claim:
    name: str
    says: str
    terms: list
    value: str
    holds: list  # [(operator, number)]
    holds_text: str
    testable: list  # [(column, operator, number)]
    testable_text: str
    each: list
    source: str


@dataclass
class Verdict:
    claim: Claim
    group: dict
    answer: str
    reason: str
    value: float = None
    low: float = None
    high: float = None
    samples: int = 0


def parse(name, section, path):
    unknown = set(section) - KEYS
    missing = {"says", "value", "holds"} - set(section)
    if unknown or missing:
        raise UserError(f"wanted the keys {', '.join(sorted(KEYS))} in [claim {name}], found "
                        f"{'unknown ' + min(unknown) if unknown else 'no ' + min(missing)}: correct {path}")
    try:
        return Claim(name, " ".join(section["says"].split()), _terms(section["value"]), section["value"],
                     _conditions(section["holds"], subject=False), section["holds"],
                     _conditions(section.get("testable", ""), subject=True), section.get("testable", ""),
                     section.get("each", "").split(), section.get("source", ""))
    except ValueError as error:
        raise UserError(f"wanted the grammar of docs/experiments.md in [claim {name}], found '{error}': "
                        f"correct {path}") from None


def _terms(text):
    terms, above = [], True
    for word in re.split(r"\s*([*/])\s*", text.strip()):
        if word in "*/" and word:
            above = word == "*"
            continue
        match = TERM.fullmatch(word)
        if not match:
            raise ValueError(word)
        where = [pair.strip().partition("=") for pair in (match["where"] or "").split(",") if pair.strip()]
        if not all(column and value for column, _, value in where):
            raise ValueError(word)
        terms.append(Term(word, match["experiment"], match["series"], {c.strip(): v.strip() for c, _, v in where},
                          match["column"] or "ops_per_s", above))
    return terms


def _conditions(text, subject):
    found = []
    for part in filter(None, re.split(r"\s+and\s+", text.strip())):
        words = part.split()
        if len(words) != 2 + subject or words[-2] not in COMPARE:
            raise ValueError(part)
        found.append((*words[:subject], words[-2], float(words[-1])))
    return found


def groups(claim, rows):
    """One dict of column → word for each combination of the claim's `each` columns that was planned."""
    if not claim.each:
        return [{}]
    seen = {tuple(row[column] for column in claim.each) for row in rows}
    ordered = sorted(seen, key=lambda words: [table.natural(word) for word in words])
    return [dict(zip(claim.each, words)) for words in ordered]


def select(term, rows, group):
    """Rows, failed ones too, of the point that a term names."""
    found = [row for row in rows if row["series"] == term.series]
    for column, word in {**group, **term.where}.items():
        if found and column not in found[0]:
            raise UserError(f"wanted a column of the results in '{term.text}', found {column}: correct the claim")
        if word in ("max", "min"):
            # Of all that was planned: a failed trial must not make the next smaller point the largest.
            numbers = [n for n in (table.number(row, column) for row in found) if n is not None]
            extreme = (max if word == "max" else min)(numbers, default=None)
            found = [row for row in found if table.number(row, column) == extreme]
        elif column in COUNTED and word in SHAPES:
            found = [row for row in found if row[column] and SHAPES[word](row, column)]
        else:
            found = [row for row in found if table.same(row[column], word)]
    points = {row["trial"] for row in found}
    if len(points) > 1:
        raise UserError(f"wanted one point for '{term.text}', found {len(points)} ({'; '.join(sorted(points)[:2])}; ...): "
                        "say more in the brackets, or use `each`")
    return found


def validate(claim, planned, columns, series):
    """Finds what is wrong with a claim before anything is measured. planned: a row for each point."""
    for term in claim.terms:
        if term.column not in columns:
            raise UserError(f"wanted a column of the results in [claim {claim.name}], found {term.column}: "
                            "`reclaimbench --check` prints the header")
        if not term.experiment and term.series not in series:
            raise UserError(f"wanted a series of this file in [claim {claim.name}], found {term.series}: correct the claim")
    for column in [column for column, _, _ in claim.testable] + claim.each:
        if column not in columns:
            raise UserError(f"wanted a column of the results in [claim {claim.name}], found {column}: correct the claim")
    for group in groups(claim, planned):
        for term in claim.terms:
            if not term.experiment:
                select(term, planned, group)


def answer(claim, rows, elsewhere):
    """Verdicts, one a group. elsewhere(name) gives the rows of another experiment, or a word on why there are none."""
    return [_answer(claim, rows, elsewhere, group) for group in groups(claim, rows)]


def _answer(claim, rows, elsewhere, group):
    for column, compare, limit in claim.testable:
        here = {table.number(row, column) for row in rows}
        if not all(value is not None and COMPARE[compare](value, limit) for value in here):
            seen = ", ".join("not measured" if value is None else f"{value:g}" for value in here)
            return Verdict(claim, group, UNTESTED, f"needs {column} {compare} {limit:g}, here: {seen}")

    points = {}
    for term in claim.terms:
        source = elsewhere(term.experiment) if term.experiment else rows
        if isinstance(source, str):
            return Verdict(claim, group, UNTESTED, source)
        selected = select(term, source, group)
        if not table.values(selected, term.column):
            why = ", ".join(sorted({row["status"] for row in selected})) if selected else "not measured in this sweep"
            if any(map(table.is_ok, selected)):
                why = f"no {term.column} in these trials"
            return Verdict(claim, group, UNTESTED, f"{term.text}: {why}")
        points.setdefault((term.experiment, term.series, *sorted(term.where.items())), ([], selected))[0].append(term)
    if len(claim.terms) == 1:
        numbers = table.values(selected, term.column)
        value, low, high = stats.mean_interval(numbers)
        return Verdict(claim, group, *_judge(claim, low, high), value, low, high, len(numbers))
    zeros = {"factor": False, "divisor": False}
    samples = [_products(terms, selected, zeros) for terms, selected in points.values()]
    if not all(samples):
        return Verdict(claim, group, UNTESTED, "no trial has all of these columns")
    value, low, high = stats.quotient_interval(samples, [])
    verdict = Verdict(claim, group, *_judge(claim, low, high), value, low, high, min(map(len, samples)))
    if any(zeros.values()):
        _with_zeros(verdict, zeros)
    return verdict


def _products(terms, rows, zeros):
    """For each trial of a point what its columns give together: columns of one trial vary together, and only what is left
    of that is spread. A zero is taken as 1 and noted."""
    samples = []
    for row in rows:
        numbers = [table.number(row, term.column) if table.usable([row], term.column) else None for term in terms]
        if None in numbers:
            continue
        product = 1.0
        for term, number in zip(terms, numbers):
            if number <= 0:
                zeros["factor" if term.above else "divisor"] = True
                number = 1.0
            product = product * number if term.above else product / number
        samples.append(product)
    return sorted(samples)


def _with_zeros(verdict, zeros):
    """Quotients are compared as logarithms. Counts of 0 were taken as 1: that makes the value too small where they divide,
    too large where they multiply, and so it can fulfil a limit from that side and never break one."""
    safe = "><"[zeros["factor"]]
    if all(zeros.values()) or verdict.answer != HOLDS or any(compare[0] != safe for compare, _ in verdict.claim.holds):
        place = "divisor" if zeros["divisor"] else "factor"
        verdict.answer, verdict.reason = UNTESTED, f"a {place} was 0"
        verdict.value = verdict.low = verdict.high = None
    else:
        verdict.reason = "with 0 taken as 1"


def _judge(claim, low, high):
    ends = [all(COMPARE[compare](end, limit) for compare, limit in claim.holds) for end in (low, high)]
    if all(ends):
        return HOLDS, ""
    # A whole interval on the wrong side of any one limit is an answer, one across a limit is not.
    for compare, limit in claim.holds:
        if not COMPARE[compare](low, limit) and not COMPARE[compare](high, limit):
            return FAILS, ""
    return UNTESTED, "the interval reaches over the limit: more repeats"
