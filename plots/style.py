# SPDX-License-Identifier: MIT
"""The one place for how figures look: colour and marker of each scheme, units from column names, and files whose bytes
depend on nothing but the data."""

import math
import os
import re
import zlib

import matplotlib

matplotlib.use("Agg")
from matplotlib import figure, ticker  # noqa: E402

# Of each reclaimer, as most variants differ in it: Paul Tol's "muted" and "bright" sets, in an order whose neighbours stay apart for every kind of colour blindness. Colours
# may repeat, pairs of colour and marker never do, and the marker alone tells schemes apart in print without colour.
SCHEMES = {
    "leak": ("#777777", "x"),
    "immediate": ("#882255", "s"),
    "ebr": ("#332288", "o"),
    "debra": ("#0077bb", "^"),
    "token_naive": ("#999933", "<"),
    "token_pass_first": ("#ddaa33", ">"),
    "token_periodic": ("#117733", "v"),
    "qsbr": ("#44aa99", "D"),
    "rcu": ("#88ccee", "p"),
    "hp": ("#cc3311", "P"),
    "he": ("#ee7733", "X"),
    "ibr": ("#aa4499", "h"),
    "wfe": ("#cc6677", "d"),
    "nbr": ("#661100", "*"),
    "nbr_plus": ("#aa3377", "H"),
}
# Blocks differ in how readers and writers of an element get along, which for most of them is in the structure: locks are pink,
# readers that write nothing green. What is left of plain markers that are filled is stars.
BLOCKS = {
    "rwlock_block": ("#c51b7d", (4, 1, 0)),
    "pthread_rwlock_block": ("#e9a3c9", (5, 0, 180)),
    "mutex_block": ("#8e0152", (3, 1, 90)),
    "seqlock_block": ("#a1d76a", (3, 1, 0)),
    "left_right_block": ("#4d9221", (4, 1, 45)),
    "arc_swap_block": ("#bf812d", (6, 1, 0)),
    "locked_swap_block": ("#9e9ac8", (3, 1, 180)),
    "plain_block": ("#aaaaaa", (8, 1, 0)),
}
# For names without an entry: colours of their own, as bars and bands show no marker.
MORE_COLOURS = ("#e41a1c", "#377eb8", "#ff7f00", "#00868b", "#6a3d9a", "#8b6914", "#006d2c", "#ff69b4", "#08306b", "#66cd00")
POLICIES = {"batch": "-", "amortized": "--", "pooled": ":"}
HATCHES = {"batch": "", "amortized": "////", "pooled": "...."}
WARNING_COLOUR = "#cc0000"
EPOCH_COLOUR = "#0000ee"
SOURCE_COLOUR = "#999999"

SETTINGS = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "lines.markersize": 5,
    "legend.frameon": False,
    "savefig.dpi": 150,
    "svg.hashsalt": "reclaimbench",
    "svg.fonttype": "path",
}


def variant(row):
    """(structure, reclaimer) of a row; the structure only of a block, as sets look like their reclaimer. (Only rows of blocks have
    a length of the block.)"""
    return (row["structure"] if row.get("block") else "", row["reclaimer"])


def schemes(variants):
    """{variant: word} for what stands in one panel: the word decides colour and marker. A block looks like its structure, but where
    it stands under several reclaimers, or has no entry and a reclaimer that does anything, like its reclaimer. If two blocks would
    look like one reclaimer, the first keeps that look."""
    reclaimers = {}
    for structure, reclaimer in variants:
        reclaimers.setdefault(structure, set()).add(reclaimer)
    found = {}
    for structure, reclaimer in dict.fromkeys(variants):
        several = len(reclaimers[structure]) > 1
        own = structure and not several and (structure in BLOCKS or reclaimer == "immediate")
        word = structure if own else reclaimer
        if word in found.values():
            word = f"{structure} {reclaimer}" if several else structure
        found[structure, reclaimer] = word
    return found


def scheme(row):
    """The word of a row that stands alone."""
    return schemes([variant(row)])[variant(row)]


def look(scheme_, policy, among=()):
    """Keyword arguments of plot() for a scheme. One without an entry gets a pair that its name decides, and the other names `among`
    which it stands where they would get the same."""
    colour, marker = SCHEMES.get(scheme_) or BLOCKS.get(scheme_) or _derived({*among, scheme_})[scheme_]
    dashes = POLICIES.get(policy.partition(":")[0], "-.")
    return {"color": colour, "marker": marker, "linestyle": dashes}


def fill(scheme_, policy, among=()):
    """Keyword arguments of bar() for a scheme: the colour is the scheme's, the hatch the policy's."""
    hatch = HATCHES.get(policy.partition(":")[0], "xx")
    return {"facecolor": look(scheme_, policy, among)["color"], "hatch": hatch, "edgecolor": "white", "linewidth": 0}


def _derived(names):
    """{name: (colour, marker)} of those without an entry: each its own pair, and its own colour while there are any."""
    markers = [marker for _, marker in SCHEMES.values()]
    found = {}
    for name in sorted(set(names) - set(SCHEMES) - set(BLOCKS)):
        start = zlib.crc32(name.encode())
        pairs = [(MORE_COLOURS[(start + i) % len(MORE_COLOURS)], markers[(start + turn) % len(markers)])
                 for turn in range(len(markers)) for i in range(len(MORE_COLOURS))]
        colours = {colour for colour, _ in found.values()}
        free = [pair for pair in pairs if pair[0] not in colours] or [pair for pair in pairs if pair not in found.values()]
        found[name] = (free or pairs)[0]
    return found


# Columns whose name is not what a reader of a figure would call it.
NAMES = {"write_rate": "replacements asked for a second", "append_rate": "appends asked for a second", "block": "elements",
         "reads_per_s": "scans_per_s", "writes_per_s": "replacements_per_s", "writes_done_share": "replacements done of those due"}
UNITS = [
    (re.compile(r"(.*)_per_s$"), "{}/s"),
    (re.compile(r"(.*)_bytes$"), "{} in bytes"),
    (re.compile(r"(.*)_ns$"), "{} in ns"),
    (re.compile(r"(.*)_s$"), "{} in s"),
]
TIMES = {("k", "ns"): "µs", ("M", "ns"): "ms", ("G", "ns"): "s"}
SCALES = [(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")]


def scale(largest):
    """(divisor, prefix) that leaves one to three digits before the point."""
    return next(((divisor, prefix) for divisor, prefix in SCALES if largest >= divisor), (1.0, ""))


def axis(column, prefix=""):
    """'M ops/s' from ops_per_s, 'p99 in µs' from p99_ns: a prefix goes before the unit."""
    column = NAMES.get(column, column)
    for pattern, form in UNITS:
        match = pattern.match(column)
        if match:
            text = form.format(match.group(1).replace("_", " "))
            if prefix and " in " in text:
                what, _, unit = text.rpartition(" in ")
                return f"{what} in {TIMES.get((prefix, unit), f'{prefix} {unit}')}"
            return f"{prefix} {text}".strip()
    return f"{column.replace('_', ' ')}{f' ({prefix})' if prefix else ''}"


def quantity(value):
    """'20 k'."""
    divisor, prefix = scale(value)
    return f"{value / divisor:.3g} {prefix}".strip()


def duration(ns):
    """'20 µs'."""
    divisor, prefix = scale(ns)
    return f"{ns / divisor:.3g} {TIMES.get((prefix, 'ns'), 'ns')}"


def number(value):
    """A word for a measured point: '16 Ki' and '10 k' where that is the whole number, as lines of ticks are short of room."""
    for base, prefixes in ((1024, ("Mi", "Ki")), (1000, ("M", "k"))):
        for power, prefix in zip((2, 1), prefixes):
            if value >= base ** power and value % base ** power == 0:
                return f"{value / base ** power:g} {prefix}"
    return f"{value:g}"


def decades(axis_, spoken="{:g}".format):
    """Labels of a logarithmic axis, set after its limits: at 1, 2, 5, 10 ... over a few decades, at 1, 10 ... over many, so that they
    do not run into each other."""
    low, high = axis_.get_view_interval()
    labelled = (1, 2, 5) if high <= 3000 * low else (1,)
    for each in (axis_.set_major_formatter, axis_.set_minor_formatter):
        each(ticker.FuncFormatter(lambda value, _: spoken(value) if _leading(value) in labelled else ""))


def _leading(value):
    """The first digit, rounded."""
    return round(value / 10 ** math.floor(math.log10(value * 1.0001))) if value > 0 else 0


def title_width(text):
    """Inches that the title of a figure needs on one line."""
    return 0.078 * len(text) + 0.3


def canvas(width, height):
    """A Figure without pyplot, whose state would outlive it."""
    return figure.Figure(figsize=(width, height))


def styled():
    """Context in which every figure is drawn and saved: what stands in a user's matplotlibrc does not reach it."""
    return _Styled()


class _Styled:
    def __enter__(self):
        self._context = matplotlib.rc_context()
        self._context.__enter__()
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS)

    def __exit__(self, *error):
        return self._context.__exit__(*error)


def save(drawn, stem):
    """Writes STEM.png and STEM.svg and returns both paths. No date and no version of the library goes in."""
    # Whatever a backend still takes the time from must agree with the metadata.
    os.environ["SOURCE_DATE_EPOCH"] = "0"
    paths = [stem + ".png", stem + ".svg"]
    drawn.savefig(paths[0], metadata={"Software": None})
    drawn.savefig(paths[1], metadata={"Date": None, "Creator": None})
    return paths
