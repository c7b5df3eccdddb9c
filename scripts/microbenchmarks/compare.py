#!/usr/bin/env python3
"""Runs the launch files of FOLDER and prints what their kernels' own clocks say beside rows.csv.

Usage: compare.py FOLDER WARPATH GPU [ROW ...]; scripts/compare-microbenchmarks.sh calls it.

The programs print either the first thread's stop less its start (`first`) or the latest stop less the earliest
start of all threads (`span`). `from` tells where the card's count is from: `cycles` as printed, `rate` worked out
from the rate or latency that was printed with it. Cores, shared memory and L1 are to agree within 5 %, L2 and DRAM
within 15 %. Exits with 1 if a row does not.
"""

import csv
import re
import struct
import subprocess
import sys
from pathlib import Path

TOLERANCE = {"core": 5, "shared": 5, "l1": 5, "l2": 15, "dram": 15}


def clocks(folder, launch, warpath, gpu):
    """Runs a launch file once; the clock counts by their way of counting."""
    source = (folder / f"{launch}.toml").read_text()
    files = {name: folder / f"{launch}.{name}.bin" for name in ("start", "stop")}
    command = [warpath, "run", str(folder / f"{launch}.toml"), "--gpu", gpu]
    for name, file in files.items():
        command += ["--dump", f"{name}={file}"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"error: {launch}: {run.stderr.strip() or run.stdout.strip()}")
    values = {}
    for name, file in files.items():
        kind = re.search(rf'\[buffers\.{name}\]\ntype = "(u32|u64)"', source)
        letter = "<Q" if kind and kind.group(1) == "u64" else "<I"
        values[name] = [value for (value,) in struct.iter_unpack(letter, file.read_bytes())]
        file.unlink()
    first = values["stop"][0] - values["start"][0]
    return {"first": first, "span": max(values["stop"]) - min(values["start"])}


def main():
    folder, warpath, gpu, *wanted = sys.argv[1:]
    with open(Path(__file__).with_name("rows.csv"), encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    unknown = set(wanted) - {row["row"] for row in rows}
    if unknown:
        sys.exit(f"error: no such row: {', '.join(sorted(unknown))}")
    done = {}
    held = missed = 0
    print("| row | kind | card | simulated | difference | |")
    print("|---|---|---:|---:|---:|---|")
    for row in rows:
        if wanted and row["row"] not in wanted:
            continue
        launch = row["launch"]
        if launch not in done:
            done[launch] = clocks(Path(folder), launch, warpath, gpu)
        simulated = done[launch][row["clock"]]
        card, difference, verdict = row["card"], "", ""
        if card and row["kind"] in TOLERANCE:
            share = 100 * (simulated / int(card) - 1)
            difference = f"{share:+.1f} %"
            if abs(share) <= TOLERANCE[row["kind"]]:
                held += 1
            else:
                missed += 1
                verdict = f"beyond {TOLERANCE[row['kind']]} %"
        shown = f"{int(card):,}" if card else ""
        print(f"| {row['row']} | {row['kind']} | {shown} | {simulated:,} | {difference} | {verdict} |", flush=True)
    print(f"\n{held} of {held + missed} rows within their tolerance")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
