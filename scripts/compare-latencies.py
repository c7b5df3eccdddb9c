#!/usr/bin/env python3
"""Prints latencies and bandwidths of simulated GPUs beside what machines were measured to have.

Usage: scripts/compare-latencies.py [-w WARPATH] [GPU ...]

  -w     the program to run (default: target/release/warpath)
  GPU    documents of scripts/latencies/rows.csv, as names or files of these names (default: all)

The simulated side is what `warpath probe chase` and `warpath probe bandwidth` find. Latencies are loads of a chain
of them: from L1, from L2 (`far` at 32 MiB) and from DRAM (over twice L2, so that translations are missing). What lies beyond
the SM is compared in nanoseconds where the card's clock is given. Chases are to agree within 5 %, bandwidths
within 15 %. Exits with 1 if a row does not, unless its note tells why.
"""

import argparse
import csv
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOLERANCE = {"latency": 5, "bandwidth": 15}


def probe(warpath, gpu, name):
    command = [warpath, "probe", name, "--gpu", gpu, "--format", "json"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"error: {gpu}: {run.stderr.strip() or run.stdout.strip()}")
    return json.loads(run.stdout)


def found(outcome, name):
    return outcome["findings"][name]["value"]


class Simulated:
    """What the probes find on one GPU; each runs when its first row is asked for."""

    def __init__(self, warpath, gpu):
        self.warpath, self.gpu = warpath, gpu
        self.outcomes = {}

    def outcome(self, name):
        if name not in self.outcomes:
            self.outcomes[name] = probe(self.warpath, self.gpu, name)
        return self.outcomes[name]

    def clock(self):
        """Core clock in MHz."""
        chase = self.outcome("chase")
        return 1000 * found(chase, "l2_hit") / found(chase, "l2_hit_time")

    def latency(self, row):
        """Cycles of a load: the probe's hops have two additions beside it, the measured ones nothing."""
        chase = self.outcome("chase")
        if row == "l2_far_latency":
            rows = chase["tables"]["staircase"]["rows"]
            hop = next(past for bytes_, _, past in rows if bytes_ == 32 << 20)
        else:
            hop = found(chase, {"l1": "l1_hit", "l2": "l2_hit", "dram": "dram_and_translation"}[row.split("_")[0]])
        return hop - found(chase, "loop_adds")

    def bandwidth(self, row, unit):
        rows = self.outcome("bandwidth")["tables"]["bandwidths"]["rows"]
        level, _, *width = row.split("_")
        level = {"shared": "shared", "l1": "L1", "l2": "L2", "dram": "DRAM"}[level]
        rows = [line for line in rows if line[0] == level and (not width or line[1] == int(width[0]))]
        sms = max(line[2] for line in rows)
        column = 5 if unit == "GB/s" else 4
        return max(line[column] for line in rows if line[2] == sms)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("-w", dest="warpath", default=str(ROOT / "target/release/warpath"))
    parser.add_argument("gpus", nargs="*")
    options = parser.parse_args()
    with open(ROOT / "scripts/latencies/rows.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    chosen = {Path(gpu).stem: gpu for gpu in options.gpus} or {row["gpu"]: row["gpu"] for row in rows}
    unknown = set(chosen) - {row["gpu"] for row in rows}
    if unknown:
        sys.exit(f"error: nothing was measured of {', '.join(sorted(unknown))}")
    missed = 0
    print("| GPU | card | row | measured | unit | simulated | difference | |")
    print("|---|---|---|---:|---|---:|---:|---|")
    simulated = {name: Simulated(options.warpath, gpu) for name, gpu in chosen.items()}
    for row in rows:
        if row["gpu"] not in chosen:
            continue
        gpu, name, measured = simulated[row["gpu"]], row["row"], float(row["value"])
        kind = "latency" if name.endswith("latency") else "bandwidth"
        if kind == "latency":
            value, unit = gpu.latency(name), row["unit"]
            if row["clock"] and not name.startswith("l1"):
                value, unit = 1000 * value / gpu.clock(), "ns"
                measured = 1000 * measured / float(row["clock"])
        else:
            value, unit = gpu.bandwidth(name, row["unit"]), row["unit"]
        share = 100 * (value / measured - 1)
        verdict = row["note"]
        if abs(share) > TOLERANCE[kind] and not verdict:
            verdict = f"beyond {TOLERANCE[kind]} %"
            missed += 1
        print(
            f"| {row['gpu']} | {row['card']} | {name} | {measured:,.1f} | {unit} | {value:,.1f} | {share:+.1f} % "
            f"| {verdict} |",
            flush=True,
        )
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
