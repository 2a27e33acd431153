# SPDX-License-Identifier: MIT
"""What the emulated machine must have done. Expectations come from its shape alone (unit // 4 is its socket and node), never from
the binary's own plan. Each check is a function of the sections; its docstring is what a failure means."""
import csv
import re

from guest import SOCKETS, UNITS_PER_SOCKET

UNITS = list(range(SOCKETS * UNITS_PER_SOCKET))
LIBRARY = {"glibc": "libc.so", "jemalloc": "libjemalloc.so", "tcmalloc": "libtcmalloc", "mimalloc": "libmimalloc.so"}


def expected_order(order, siblings, units=UNITS):
    """The units in the order's own words: siblings and sockets have neighbouring numbers here."""
    if order == "fill":
        return list(units)
    sibling = {unit: sum(1 for other in units if other < unit and other // siblings == unit // siblings) for unit in units}
    if order == "cores":
        return sorted(units, key=lambda unit: (sibling[unit], unit))
    socket = {unit: unit // UNITS_PER_SOCKET for unit in units}
    turn = {unit: sum(1 for other in units if other < unit and (socket[other], sibling[other]) == (socket[unit], sibling[unit]))
            for unit in units}
    return sorted(units, key=lambda unit: (sibling[unit], turn[unit], socket[unit]))


def expand(ranges):
    units = []
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        units += range(int(first), int(last or first) + 1)
    return units


def planned(lines):
    return [int(match[1]) for match in (re.match(r"thread \d+ -> unit (\d+) ", line) for line in lines) if match]


class Trial:
    """A section of init's `trial`, taken apart."""

    def __init__(self, section):
        self.status, lines = section
        self.part = {word: [line[len(word) + 1:] for line in lines if line.startswith(word + " ")]
                     for word in ("row", "error", "task", "numa", "map")}
        rows = list(csv.DictReader(self.part["row"]))
        self.row = rows[0] if rows else None
        self.allowed, self.processor = {}, {}
        for line in self.part["task"]:
            if match := re.match(r"/proc/(\d+)/task/(\d+)/status:Cpus_allowed_list:\s*(\S+)", line):
                self.main = int(match[1])
                self.allowed[int(match[2])] = expand(match[3])
            elif match := re.match(r"/proc/\d+/task/(\d+)/stat:.*\) (.*)", line):
                self.processor[int(match[1])] = int(match[2].split()[36])

    def why_no_row(self):
        return f"exit status {self.status}, no ok row: {' '.join(self.part['error']) or self.row}"

    def ok(self):
        return self.status == 0 and self.row is not None and self.row["status"] == "ok"

    def places(self):
        """Affinities of all tasks but the main one, in the order of their creation."""
        return [self.allowed[task] for task in sorted(self.allowed) if task != self.main]

    def pages(self):
        """Anonymous pages by node, of the mappings that are not the program's and its libraries' own."""
        pages = {}
        for line in self.part["numa"]:
            if " file=" not in line and " stack " not in line:
                for node, count in re.findall(r" N(\d+)=(\d+)", line):
                    pages[int(node)] = pages.get(int(node), 0) + int(count)
        return pages


def check_plan(section, wanted):
    status, lines = section
    if status != 0 or planned(lines) != wanted:
        return f"wanted {wanted}, exit status {status} and {lines}"
    return None


def check_refused(section, says):
    status, lines = section
    if status != 2 or len(lines) != 1 or says not in lines[0]:
        return f"wanted exit status 2 and one line with '{says}', found {status} and {lines}"
    return None


def contains(sequence, part):
    return any(sequence[at:at + len(part)] == part for at in range(len(sequence) - len(part) + 1))


def check_bound(section, wanted):
    """The row's own list, what the kernel allows each task, and where each one was last seen: all three as planned."""
    trial = Trial(section)
    if not trial.ok():
        return trial.why_no_row()
    if expand(trial.row["placement"]) != wanted:
        return f"the row says {trial.row['placement']}, wanted {wanted}"
    if not contains(trial.places(), [[unit] for unit in wanted]):
        return f"wanted tasks on {wanted} one after the other, /proc says {trial.places()}"
    for task, units in trial.allowed.items():
        if trial.processor[task] not in units:
            return f"task {task} may run on {units} and runs on {trial.processor[task]}"
    return None


def check_unbound(section, count):
    trial = Trial(section)
    if not trial.ok():
        return trial.why_no_row()
    whole = [units for units in trial.places() if units == UNITS]
    return None if len(whole) >= count else f"wanted {count} tasks on all units, /proc says {trial.places()}"


def check_helpers_apart(section, workers):
    """Main and sampler must have a place, and none that a worker has."""
    trial = Trial(section)
    others = [trial.allowed[trial.main]] + [units for units in trial.places() if len(units) != 1 or units[0] not in workers]
    if not trial.allowed or any(len(units) != 1 or units[0] in workers for units in others):
        return f"wanted helpers on one unit outside {workers}, /proc says {others}"
    return None


def check_allocator(section, allocator):
    """Named in the row and mapped, and none of the others mapped."""
    trial = Trial(section)
    if not trial.ok():
        return trial.why_no_row()
    if trial.row["allocator"] != allocator or LIBRARY[allocator] not in trial.row["allocator_path"]:
        return f"the row says {trial.row['allocator']} from {trial.row['allocator_path']}"
    mapped = {name for name, library in LIBRARY.items() if name != "glibc" and any(library in line for line in trial.part["map"])}
    wanted = {allocator} - {"glibc"}
    return None if mapped == wanted else f"wanted {wanted or 'none'} in /proc/PID/maps, found {mapped or 'none'}"


def check_spread(section, nodes):
    """Interleaved: within a quarter of equal shares; every thread goes round on its own, and what was touched before the policy was
    set lies elsewhere."""
    trial = Trial(section)
    if not trial.ok():
        return trial.why_no_row()
    pages = trial.pages()
    share = sum(pages.values()) / len(nodes)
    uneven = set(pages) != set(nodes) or any(abs(count - share) > share / 4 for count in pages.values())
    if trial.row["membind"] != "interleave" or uneven or share < 512:
        return f"the row says {trial.row['membind']}, wanted equal shares on nodes {nodes}, found pages {pages}"
    return None


def check_local(section, node):
    trial = Trial(section)
    if not trial.ok():
        return trial.why_no_row()
    pages = trial.pages()
    if trial.row["membind"] != "local" or pages.get(node, 0) < 0.9 * sum(pages.values()):
        return f"the row says {trial.row['membind']}, wanted nine in ten pages on node {node}, found {pages}"
    return None


def check_bind_failed(section):
    """A unit that went offline under a worker falsifies the trial: it must say so, and give no figure."""
    trial = Trial(section)
    said = any(": bind_failed: " in line for line in trial.part["error"])
    figure = trial.row and (trial.row["status"] != "bind_failed" or trial.row["ops_per_s"])
    if trial.status != 1 or not said or figure:
        return f"wanted exit status 1, bind_failed and no figure, found {trial.status}, {trial.part['error']}, {trial.row}"
    return None


def checks(siblings):
    """(name, section, function, arguments...) of all that must hold."""
    online, part = [unit for unit in UNITS if unit not in (1, 6)], [1, 2, 3, 9]
    for order in ("fill", "cores", "scatter"):
        yield f"plan-{order}", f"plan-{order}", check_plan, expected_order(order, siblings)
        yield f"threads-{order}", order, check_bound, expected_order(order, siblings)
    yield "threads-none", "none", check_unbound, len(UNITS)
    yield "threads-oversubscribed", "twice", check_bound, expected_order("scatter", siblings) * 2
    for section, allocator in (("fill", "glibc"), ("cores", "jemalloc"), ("scatter", "tcmalloc"), ("none", "mimalloc")):
        yield f"allocator-{allocator}", section, check_allocator, allocator
    yield "interleave", "interleave", check_spread, list(range(SOCKETS))
    yield "interleave-threads", "interleave", check_bound, expand("8-11")
    yield "local", "local", check_local, 2
    yield "helpers", "local", check_helpers_apart, expand("8-11")
    yield "cpuset-plan", "plan-cpuset", check_plan, expected_order("scatter", siblings, part)
    yield "cpuset-refused", "refused-cpuset", check_refused, "found unit 0"
    yield "cpuset-threads", "cpuset", check_bound, expected_order("scatter", siblings, part)
    yield "cpuset-interleave", "cpuset-interleave", check_spread, [0, 2]
    yield "taskset", "plan-taskset", check_plan, [1, 15]
    yield "offline-plan", "plan-offline", check_plan, online
    yield "offline-refused", "refused-offline", check_refused, "found unit 6"
    yield "offline-threads", "offline", check_bound, online
    yield "offline-meanwhile", "vanishing", check_bind_failed


def verdicts(sections, siblings):
    """(name, None or why not) of each check."""
    for name, section, check, *arguments in checks(siblings):
        if section not in sections:
            yield name, f"the machine never finished section '{section}'"
            continue
        try:
            yield name, check(sections[section], *arguments)
        except (AttributeError, KeyError, ValueError, IndexError) as error:
            yield name, f"cannot read section '{section}': {error!r}"
