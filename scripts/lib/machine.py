# SPDX-License-Identifier: MIT
"""What a machine says about itself, read only, and what of it can falsify a measurement.

facts() goes into machine.json and the report; advice() turns facts into lines for scripts/host-check and for the report's
warnings. What a machine does not tell is None."""

import glob
import os
import platform
import re
import shutil
import subprocess
import time
from dataclasses import dataclass

CPU = "/sys/devices/system/cpu"


def _read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return None


def _chosen(path):
    """The word in brackets of 'always [madvise] never'."""
    found = re.search(r"\[(\w+)\]", _read(path) or "")
    return found.group(1) if found else None


def _every(pattern):
    """The distinct contents of the files of a pattern, None if there are none."""
    words = sorted({text for text in map(_read, glob.glob(pattern)) if text is not None})
    return " ".join(words) or None


def _field(text, name):
    found = re.search(rf"^{name}\s*:\s*(.*)$", text or "", re.MULTILINE)
    return found.group(1) if found else None


def _kilobytes(text, name):
    value = _field(text, name)
    return int(value.split()[0]) * 1024 if value else None


def _cgroup():
    for line in (_read("/proc/self/cgroup") or "").splitlines():
        if line.startswith("0::"):
            return "/sys/fs/cgroup" + line[3:].rstrip("/")
    return None


def _quota():
    """The tightest CPU quota from our cgroup upwards, in CPUs; None if there is none."""
    found, folder = [], _cgroup()
    while folder and folder.startswith("/sys/fs/cgroup"):
        words = (_read(os.path.join(folder, "cpu.max")) or "max").split()
        if len(words) == 2 and words[0] != "max":
            found.append(int(words[0]) / int(words[1]))
        folder = os.path.dirname(folder)
    return min(found, default=None)


def _turbo():
    no_turbo, boost = _read(f"{CPU}/intel_pstate/no_turbo"), _read(f"{CPU}/cpufreq/boost")
    if no_turbo is not None:
        return "on" if no_turbo == "0" else "off"
    return {"1": "on", "0": "off"}.get(boost)


def _hypervisor():
    if "hypervisor" in (_field(_read("/proc/cpuinfo"), "flags") or "").split():
        return _read("/sys/class/dmi/id/sys_vendor") or "yes"
    return None


def counters():
    """Counts of which a sweep wants the difference: what others, the hypervisor and the throttles took."""
    cpu = [int(text) / os.sysconf("SC_CLK_TCK") for text in (_read("/proc/stat") or "").split("\n")[0].split()[1:]]
    ours = os.times()
    folder = _cgroup()
    throttled = re.search(r"nr_throttled (\d+)", _read(os.path.join(folder, "cpu.stat")) or "") if folder else None
    heat = [int(text) for text in map(_read, glob.glob(f"{CPU}/cpu*/thermal_throttle/*_throttle_count")) if text]
    return {
        "time": time.time(),
        # user, nice, system, idle, iowait, irq, softirq, steal; ours: with the children that have ended
        "busy_s": sum(cpu[:3]) + sum(cpu[5:7]) if len(cpu) > 7 else None,
        "ours_s": sum(ours[:4]),
        "steal_s": cpu[7] if len(cpu) > 7 else None,
        "cgroup_throttled": int(throttled.group(1)) if throttled else None,
        "thermal_throttled": sum(heat) if heat else None,
    }


def facts():
    cpuinfo, memory = _read("/proc/cpuinfo"), _read("/proc/meminfo")
    release = _read("/etc/os-release") or ""
    name = re.search(r'^PRETTY_NAME="?([^"\n]*)', release, re.MULTILINE)
    vulnerable = {os.path.basename(path): _read(path) for path in sorted(glob.glob(f"{CPU}/vulnerabilities/*"))}
    return {
        "cpu": _field(cpuinfo, "model name") or _field(cpuinfo, "CPU part") or platform.machine(),
        "architecture": platform.machine(),
        "cpus_online": _read(f"{CPU}/online"),
        "cpus_allowed": _field(_read("/proc/self/status"), "Cpus_allowed_list"),
        "cpu_quota": _quota(),
        "smt": {"1": "on", "0": "off"}.get(_read(f"{CPU}/smt/active")),
        "governor": _every(f"{CPU}/cpu[0-9]*/cpufreq/scaling_governor"),
        "frequency_driver": _every(f"{CPU}/cpu[0-9]*/cpufreq/scaling_driver"),
        "turbo": _turbo(),
        "numa_nodes": _read("/sys/devices/system/node/online"),
        "numa_balancing": _read("/proc/sys/kernel/numa_balancing"),
        "memory_bytes": _kilobytes(memory, "MemTotal"),
        "swap_used_bytes": (_kilobytes(memory, "SwapTotal") or 0) - (_kilobytes(memory, "SwapFree") or 0),
        "transparent_huge_pages": _chosen("/sys/kernel/mm/transparent_hugepage/enabled"),
        "aslr": _read("/proc/sys/kernel/randomize_va_space"),
        "clock_source": _read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "hypervisor": _hypervisor(),
        "kernel": platform.release(),
        "distribution": name.group(1) if name else None,
        "load_1min": os.getloadavg()[0],
        "mitigations": {name: text for name, text in vulnerable.items() if text != "Not affected"},
    }


def topology_xml(path):
    """Writes hwloc's view of the machine; the reason if it cannot."""
    tool = shutil.which("lstopo-no-graphics") or shutil.which("lstopo")
    if not tool:
        return "no topology.xml: lstopo is not installed (package hwloc)"
    done = subprocess.run([tool, "--of", "xml", "--force", path], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else f"no topology.xml: {tool} says {done.stderr.strip()}"


def busy_processes(seconds=0.5, least=0.05):
    """[(share of a CPU, command)] of the other processes that run right now."""
    before, start = _cpu_times(), time.monotonic()
    time.sleep(seconds)
    after, ticks = _cpu_times(), os.sysconf("SC_CLK_TCK") * (time.monotonic() - start)
    shares = [((used - before[pid][0]) / ticks, name) for pid, (used, name) in after.items()
              if pid in before and pid != os.getpid()]
    return sorted((share, name) for share, name in shares if share >= least)[::-1]


def _cpu_times():
    times = {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        # The command may contain blanks and parentheses: fields count from the last one.
        head, _, tail = (_read(path) or "").rpartition(")")
        if head:
            fields = tail.split()
            pid, _, name = head.partition(" (")
            times[int(pid)] = (int(fields[11]) + int(fields[12]), name)
    return times


@dataclass
class Advice:
    topic: str
    seen: str
    why: str
    do: str
    good: bool = False
    known: bool = True

    def mark(self):
        return "ok" if self.good else "look" if self.known else "?"

    def line(self):
        return f"{self.topic}: {self.seen}" + ("" if self.good else f"; {self.why}; try: {self.do}")


def _unseen(topic, why):
    return Advice(topic, "cannot be read here", why, "look at the host of the virtual machine, or at the firmware", known=False)


def advice(seen):
    """One Advice for each thing that matters, good ones too; seen: what facts() gave."""
    quota = seen["cpu_quota"]
    settings = [
        ("governor", seen["governor"], ("performance",),
         "any other than performance changes the clock while a trial runs",
         "sudo cpupower frequency-set -g performance"),
        ("turbo", seen["turbo"], ("off",),
         "one busy core clocks higher than all, so scaling looks worse than it is",
         f"switch it off in {CPU} (intel_pstate/no_turbo or cpufreq/boost)"),
        ("SMT", seen["smt"], ("off",),
         "two threads share a core, so twice the threads is not twice the cores",
         "compare --pin=cores with --pin=fill, and name the order with the figure"),
        ("huge pages", seen["transparent_huge_pages"], ("madvise", "never"),
         "khugepaged may copy memory in the middle of a trial, and resident memory jumps",
         "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"),
        ("clock", seen["clock_source"], ("tsc", "kvm-clock", "arch_sys_counter"),
         "reading any other than the CPU's own counter is a slow call into the kernel",
         "search the kernel's log for why it was given up"),
    ]
    return [Advice(topic, value, why, do, value in good) if value else _unseen(topic, why)
            for topic, value, good, why, do in settings] + [
        Advice("NUMA balancing", {"0": "off", None: "not in this kernel"}.get(seen["numa_balancing"], "on"),
               "the kernel unmaps and moves pages between nodes while trials run",
               "sudo sysctl kernel.numa_balancing=0", seen["numa_balancing"] in ("0", None)),
        Advice("CPU quota", f"{quota:g} CPUs" if quota else "none",
               "threads beyond it are stopped for parts of each 100 ms",
               "raise cpu.max of the cgroup, or do not use more threads than it gives", quota is None),
        Advice("virtual machine", seen["hypervisor"] or "no",
               "its CPUs may be taken away or share a core without our seeing it",
               "prefer real hardware; else watch the steal time in the report", seen["hypervisor"] is None),
        Advice("swap", f"{seen['swap_used_bytes'] >> 20} MB in use",
               "a node that was swapped out costs milliseconds",
               "sudo swapoff -a, or free memory", seen["swap_used_bytes"] == 0),
    ]


def disturbances(before, after, cpus):
    """Lines on what happened to the machine between two counters()."""
    lines = []
    available = (after["time"] - before["time"]) * cpus
    # The counters move in steps of 10 ms: of a moment they say nothing.
    if available < 1:
        return lines
    if after["steal_s"] is not None:
        others = after["busy_s"] - before["busy_s"] - (after["ours_s"] - before["ours_s"])
        if others / available > 0.02:
            lines.append(f"other processes took {others / available:.1%} of the CPU time during the sweep: the trials lost "
                         "time and cache to them; stop them (scripts/host-check names some) and measure again")
        stolen = after["steal_s"] - before["steal_s"]
        if stolen / available > 0.005:
            lines.append(f"the hypervisor took {stolen / available:.1%} of the CPU time during the sweep: repeat on a quiet "
                         "host")
    for key, what in (("cgroup_throttled", "the cgroup's CPU quota stopped threads"),
                      ("thermal_throttled", "CPUs lowered their clock because of heat or power")):
        if before[key] is not None and after[key] is not None and after[key] > before[key]:
            lines.append(f"{what} {after[key] - before[key]} times during the sweep: the affected trials are too slow")
    return lines
