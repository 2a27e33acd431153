# SPDX-License-Identifier: MIT
"""An experiment file as Python objects; docs/experiments.md is the contract of the format.

This module knows sections and words; which options exist and what their values may be is the driver's to say (plan.py)."""

import configparser
import os
import re
from dataclasses import dataclass, field

from lib import claims
from lib import rows as table
from lib.command import UserError

NAME = re.compile(r"[\w-]+")
# full: the file as it stands, for the machine at hand; quick: to see that all works; paper: the publication's own parameters.
MODES = ("full", "quick", "paper")
RESERVED = ("experiment", "all", "source") + MODES[1:]
LEAST_REPEATS = {"full": 5, "quick": 3, "paper": 5}


@dataclass
class Source:
    """What the publication measured: for each series, its value at each x."""

    label: str
    x: str
    column: str
    at: list
    values: dict  # series → list of floats in the column's own unit, one for each x
    where: dict = field(default_factory=dict)  # {column: word}: the rows that may be set against it

    def fits(self, rows):
        return all(table.same(row[column], word) for row in rows for column, word in self.where.items())


@dataclass
class Experiment:
    path: str
    name: str
    mode: str = "full"
    question: str = ""
    expected: str = ""
    repeats: int = 5
    order_seed: int = 1
    timeout: float = 120.0
    trial_seconds: float = 2.0
    series: dict = field(default_factory=dict)  # name → {option: [words]}
    figures: dict = field(default_factory=dict)  # name → {key: value}
    claims: list = field(default_factory=list)
    source: Source = None
    sources: dict = field(default_factory=dict)  # name → Source, for figures of other columns


# Keys of [experiment]; the section of a mode may set those that have a number.
SETTINGS = {
    "question": str,
    "expected": str,
    "repeats": int,
    "order-seed": int,
    "timeout": float,
    "trial-seconds": float,
}


def load(path, mode="full"):
    name = os.path.splitext(os.path.basename(path))[0]
    file = _parse(path)
    found = Experiment(path, name, mode)
    _settings(found, file["experiment"] if "experiment" in file else {})
    if not found.question or not found.expected:
        raise UserError(f"wanted `question` and `expected` in [experiment] of {path}, found them missing: write down "
                        "what is asked and which answer is expected before measuring")
    shared = dict(file["all"]) if "all" in file else {}
    if mode == "paper" and mode not in file:
        raise UserError(f"wanted the parameters of the publication in [paper] of {path}, found no such section: add it, or "
                        "run without --paper")
    overrides = dict(file[mode]) if mode in file else {}
    _settings(found, {key: overrides.pop(key) for key in list(overrides) if key in SETTINGS})
    _check_repeats(found)

    for section in file.sections():
        kind, _, rest = section.partition(" ")
        if kind == "figure" and rest:
            found.figures[_name(path, rest)] = dict(file[section])
        elif kind == "claim" and rest:
            found.claims.append(claims.parse(_name(path, rest), dict(file[section]), path))
        elif kind == "source" and rest:
            continue
        elif section not in RESERVED:
            options = {**shared, **dict(file[section]), **overrides}
            # An empty value takes an inherited option away.
            found.series[_name(path, section)] = {k: v.split() for k, v in options.items() if v.split()}
    if not found.series:
        raise UserError(f"wanted at least one series in {path}, found none: add a section with a name of your choice")
    for section in file.sections():
        kind, _, rest = section.partition(" ")
        if kind == "source" and rest:
            found.sources[_name(path, rest)] = _source(found, section, dict(file[section]))
    if "source" in file:
        found.source = _source(found, "source", dict(file["source"]))
        if found.source.where:
            raise UserError(f"wanted `where` in a [source NAME] only, found it in [source]: correct {path}, whose x says where it is of")
    return found


def _parse(path):
    file = configparser.ConfigParser(interpolation=None, default_section="", delimiters=("=",),
                                     comment_prefixes=("#", ";"), strict=True)
    file.optionxform = str
    try:
        with open(path, encoding="utf-8") as text:
            file.read_file(text)
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"wanted an experiment file, found {path}: {error}: name one of experiments/*.ini") from None
    except configparser.Error as error:
        line = " ".join(str(error).split())
        raise UserError(f"wanted sections of `key = value`, found {line}: correct {path}") from None
    return file


def _name(path, name):
    if not NAME.fullmatch(name):
        raise UserError(f"wanted letters, digits, - and _ in a section's name, found [{name}]: rename it in {path}")
    return name


def _settings(found, section):
    for key, text in section.items():
        if key not in SETTINGS:
            raise UserError(f"wanted one of {', '.join(SETTINGS)} in [experiment], found {key}: correct {found.path}")
        try:
            setattr(found, key.replace("-", "_"), SETTINGS[key](" ".join(text.split())))
        except ValueError:
            raise UserError(f"wanted a number for {key}, found '{text}': correct {found.path}") from None


def _check_repeats(found):
    least = LEAST_REPEATS[found.mode]
    if found.repeats < least:
        raise UserError(f"wanted at least {least} repeats, found {found.repeats} in {found.path}: fewer say nothing "
                        "about spread")


def _source(found, title, section):
    try:
        label, x, column = section.pop("label"), section.pop("x"), section.pop("column")
        scale = float(section.pop("scale", "1"))
        where = dict(pair.split("=") for pair in section.pop("where", "").split())
        at = section.pop(x).split()
        values = {series: [float(word) * scale for word in text.split()] for series, text in section.items()}
    except (KeyError, ValueError) as error:
        raise UserError(f"wanted label, x, column, a line of x values and a line of numbers for each series in [{title}], "
                        f"found {error}: correct {found.path}") from None
    for series, numbers in values.items():
        if series not in found.series or len(numbers) != len(at):
            raise UserError(f"wanted {len(at)} numbers for a series of this file in [{title}], found {series} with "
                            f"{len(numbers)}: correct {found.path}")
    return Source(label, x, column, at, values, where)
