# SPDX-License-Identifier: MIT
"""What the harness itself occupies, and that what a trial retires comes back."""
from driver import row

MB = 1 << 20
MANY = ["--threads=192", "--oversubscribe", "--structure=noop", "--keys=1000000", "--prefill=none", "--warmup=0.05"]
# Every second remove retires a node. One thread: no grace period waits for one that is not scheduled.
CHURN = ["--structure=hm_list", "--keys=16", "--insert=50", "--remove=50", "--warmup=0"]


def resident(entry):
    return max(int(entry[name]) for name in ("rss_baseline_bytes", "rss_prefill_bytes", "rss_peak_bytes", "rss_end_bytes"))


def test_harness_of_192_threads_is_small():
    """Everything on: bags of a reclaimer, histograms of every thread, operations that write."""
    for reclaimer in ("ebr", "debra"):
        entry = row(*MANY, f"--reclaimer={reclaimer}", "--seconds=0.3", "--sample-every=16", "--insert=25", "--remove=25")
        assert entry["threads"] == "192" and int(entry["latency_samples"]) > 192
        assert resident(entry) < 16 * MB, f"{reclaimer}: {resident(entry) / MB:.1f} MB"


def test_a_thread_costs_little():
    def of(threads):
        return resident(row(*MANY[1:], f"--threads={threads}", "--seconds=0.2"))
    assert (of(192) - of(2)) / 190 < 64 * 1024


def test_retired_nodes_come_back():
    """Ten times the churn, the same memory: nodes, bags and blocks are all used again."""
    def of(ops, policy):
        entry = row(*CHURN, "--reclaimer=ebr", f"--policy={policy}", "--batch-size=64", f"--ops={ops}")
        assert int(entry["retired"]) > ops / 10
        return int(entry["rss_peak_bytes"])
    for policy in ("batch", "amortized", "pooled"):
        assert of(5000000, policy) < of(500000, policy) + 2 * MB, policy


def test_leak_keeps_every_node():
    """The control: the same column shows it when nothing comes back."""
    entry = row(*CHURN, "--reclaimer=leak", "--ops=2000000")
    assert int(entry["freed"]) == 0 and int(entry["backlog_end"]) == int(entry["retired"]) > 100000
    assert int(entry["rss_peak_bytes"]) - int(entry["rss_prefill_bytes"]) > int(entry["retired"]) * int(entry["node_bytes"]) * 0.9


def test_padding_reaches_malloc():
    """Ten times the node, ten times the memory of what leaks; and a pad below the node's own size changes nothing."""
    def of(pad):
        return row(*CHURN, "--reclaimer=leak", f"--pad-nodes={pad}", "--ops=200000")
    plain, same, padded = of(0), of(8), of(320)
    assert plain["node_bytes"] == same["node_bytes"] == "24" and padded["node_bytes"] == "320"
    assert int(padded["rss_end_bytes"]) - int(padded["rss_prefill_bytes"]) > int(padded["retired"]) * 320 * 0.9
