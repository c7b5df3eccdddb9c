#!/usr/bin/env python3
"""Makes the sparsity pattern of the SpMV launches: row_offsets.bin and columns.bin.

1,024 rows and columns; row lengths follow a skewed distribution (most rows short, a few long,
some empty), so that one-thread-per-row execution diverges.
"""

import random
import struct
from pathlib import Path

ROWS = 1024
COLUMNS = 1024

generator = random.Random(1)
offsets = [0]
columns = []
for row in range(ROWS):
    length = min(int(generator.paretovariate(1.2)) * 3 - 3 + generator.randrange(8), 200)
    columns += sorted(generator.sample(range(COLUMNS), length))
    offsets.append(len(columns))

folder = Path(__file__).parent
folder.joinpath("row_offsets.bin").write_bytes(struct.pack(f"<{len(offsets)}i", *offsets))
folder.joinpath("columns.bin").write_bytes(struct.pack(f"<{len(columns)}i", *columns))
print(f"{ROWS} rows, {len(columns)} entries")
