# SPDX-License-Identifier: MIT
"""Runs the trials of a plan, each in a fresh process, and leaves exactly one row for each in trials.csv."""

import ctypes
import fcntl
import json
import os
import resource
import signal
import subprocess
import time

from lib import binary as driver
from lib import derived
from lib import rows as table
from lib.command import UserError
from lib.progress import Progress

PR_SET_PDEATHSIG = 1


class Results:
    """The folder of one experiment's results, locked against a second runner."""

    def __init__(self, folder):
        self.folder = folder
        self.trials = os.path.join(folder, "trials.csv")

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def lock(self):
        os.makedirs(self.folder, exist_ok=True)
        self._lock = open(self.path(".lock"), "w", encoding="utf-8")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(f"wanted {self.folder} for this sweep alone, found another runner at work in it: wait for it "
                            "or choose --results DIR") from None

    def rows(self):
        return table.read(self.trials)

    def measured(self):
        """The rows as figures and claims read them: with the columns of derived.py, wherever the folder has gone since."""
        found = self.rows()
        for row in found:
            if row.get("trace"):
                row["trace"] = self.path("traces", f"{row['position']}.trace")
        return derived.fill(found)

    def state(self):
        return self._load("sweep.json")

    def machine(self):
        return self._load("machine.json")

    def _load(self, name):
        try:
            with open(self.path(name), encoding="utf-8") as file:
                return json.load(file)
        except FileNotFoundError:
            return None

    def write(self, name, value):
        """Whole or not at all, like everything here."""
        with open(self.path(name + ".new"), "w", encoding="utf-8") as file:
            json.dump(value, file, indent=1)
            file.write("\n")
        os.replace(self.path(name + ".new"), self.path(name))

    def set_aside(self):
        """Moves an old sweep out of the way, if there is one; samples are never deleted. Gives its new place."""
        if self.state() is None and not os.path.exists(self.trials):
            return None
        number = 1
        while os.path.exists(f"{self.folder}.{number}"):
            number += 1
        os.rename(self.folder, f"{self.folder}.{number}")
        self.lock()
        return f"{self.folder}.{number}"

    def claim(self, state):
        """Makes the folder belong to the sweep `state`, or refuses to mix two sweeps in one file."""
        old = self.state()
        if old is None and not os.path.exists(self.trials):
            self.write("sweep.json", state)
            return
        for key, what in (("mode", "the mode (quick, full or paper)"), ("binary_sha256", "the driver"),
                          ("fingerprint", "the experiment")):
            if old is None or old.get(key) != state[key]:
                was = old["commit"] if old else "unknown"
                raise UserError(f"wanted to go on with {self.folder}, found that {what} has changed since (driver then "
                                f"{was or 'unknown'}, now {state['commit'] or 'unknown'}): give --fresh to set those "
                                "results aside")


def sweep_state(experiment, plan, binary):
    with open(experiment.path, encoding="utf-8") as file:
        text = file.read()
    order = [[trial.point.series, trial.point.text, trial.repeat] for trial in plan.trials]
    return {"fingerprint": plan.fingerprint(), "binary_sha256": binary.sha256(), "mode": experiment.mode,
            "commit": plan.points[0].row.get("commit", ""), "order_seed": experiment.order_seed, "order": order,
            "experiment": text, "left_out": plan.left_out}


def identity(row):
    return row["series"], row["trial"], row["repeat_index"]


def drop_failed(results):
    """Forgets the rows that are not ok, so that their trials run again."""
    rows = results.rows()
    if all(table.is_ok(row) for row in rows):
        return
    log = table.Log(results.trials + ".new", list(rows[0]))
    for row in filter(table.is_ok, rows):
        log.append(row)
    os.replace(results.trials + ".new", results.trials)


def open_trials(plan, rows):
    """[(position, trial)] of the plan that have no row yet."""
    done = {identity(row) for row in rows}
    return [(position, trial) for position, trial in enumerate(plan.trials)
            if (trial.point.series, trial.point.text, str(trial.repeat)) not in done]


def run(experiment, plan, binary, results, later=0.0):
    """Runs what is not in trials.csv yet. later: seconds that other sweeps will take after this one."""
    done = results.rows()
    log = table.Log(results.trials, table.RUNNER_COLUMNS + plan.columns)
    todo = open_trials(plan, done)
    progress = Progress(experiment, [trial.point.text for _, trial in todo], done, len(plan.trials), later)
    with progress:
        for position, trial in todo:
            binary.refuse_if_changed()
            row = run_trial(trial, binary, experiment.timeout, results.path("traces", f"{position}.trace"))
            row["position"] = position
            log.append(row)
            progress.step(row)


def run_trial(trial, binary, timeout, trace_file):
    """The driver's row, or one of our own that says how it ended. trace_file: where the point's trace goes, if it wants one."""
    options = {**trial.point.options, "repeat-index": str(trial.repeat)}
    if "trace" in options:
        options["trace"] = trace_file
        os.makedirs(os.path.dirname(trace_file), exist_ok=True)
    command = binary.command(options)
    started = time.monotonic()
    status, stdout, stderr, cpu = _process(command + ["--csv=-"], timeout)
    said, message = driver.failure(stderr)
    parsed = driver.parse_rows(stdout)
    # Unless all went well the metrics stay empty, whatever the driver may have printed before it died.
    row = dict(trial.point.row)
    if status == 0 and len(parsed) == 1 and table.is_ok(parsed[0]):
        row = parsed[0]
    elif status is None:
        # Much CPU time means a loop that does not end or too much work, little means a wait.
        row["status"], message = "timeout", f"killed after {timeout:g} s with {cpu:.1f} s of CPU time"
    elif status < 0:
        row["status"] = f"crash:{_signal_name(-status)}"
    elif status == 0:
        row["status"], message = "invariant", "exit status 0 without a row that says ok"
    else:
        row["status"] = said or (parsed[0]["status"] if parsed else f"exit:{status}")
    row.update(series=trial.point.series, trial=trial.point.text, repeat_index=str(trial.repeat),
               wall_s=f"{time.monotonic() - started:.3f}",
               message="" if table.is_ok(row) else " ".join(message.split()))
    return row


def _process(command, timeout):
    """(exit status or None after the timeout, stdout, stderr, CPU seconds)."""
    # Own session: the whole group can be killed, and a ctrl-C at the terminal reaches us alone.
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, errors="replace", start_new_session=True, preexec_fn=_die_with_parent)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    status = None
    try:
        stdout, stderr = process.communicate(timeout=timeout)
        status = process.returncode
    except subprocess.TimeoutExpired:
        _kill_group(process)
        stdout, stderr = process.communicate()
    except BaseException:
        _kill_group(process)
        raise
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return status, stdout, stderr, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _signal_name(number):
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"


LIBC = ctypes.CDLL(None)


def _die_with_parent():
    # A runner that is killed must not leave a trial behind that disturbs the ones of the next runner.
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _kill_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
