"""Lists the licences of everything that isoscope depends on, and checks them.

Run by ``make licences``. The exit code is 1 if a licence is unknown or not allowed.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import PackageMetadata

from installed import dependencies

ALLOWED = {
    # permissive
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CNRI-Python",
    "ISC",
    "MIT",
    "PDDL-1.0",
    "PSF-2.0",
    "Zlib",
    # weak copyleft: allowed because isoscope imports these packages and ships none of their code
    "LGPL-3.0-only",
    "MPL-2.0",
}
"""SPDX identifiers of licences that a user of an Apache-2.0 package can accept."""

SPDX = {
    "3-clause bsd license": "BSD-3-Clause",
    "apache": "Apache-2.0",
    "apache 2.0": "Apache-2.0",
    "apache 2.0 license": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "bsd": "BSD-3-Clause",
    "bsd license": "BSD-3-Clause",
    "isc license": "ISC",
    "isc license (iscl)": "ISC",
    "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "psfl": "PSF-2.0",
    "python software foundation license": "PSF-2.0",
}
"""What older metadata call a licence, in lower case."""


def licence(metadata: PackageMetadata) -> str:
    """Return the SPDX expression of a distribution, as far as its metadata tell."""
    expression = metadata.get_all("License-Expression")
    if expression:
        return str(expression[0])
    # The classifiers come before the free text, which may be the whole licence.
    named = [
        entry.rpartition(" :: ")[2]
        for entry in metadata.get_all("Classifier") or []
        if entry.startswith("License :: ")
    ]
    text = "".join(metadata.get_all("License") or []).strip()
    if text and "\n" not in text and len(text) < 60:
        named.append(text)
    known = [SPDX.get(name.lower(), name) for name in named if name.lower() != "dual license"]
    # Several classifiers may be a choice or a sum: only the sum is safe to assume.
    return " AND ".join(dict.fromkeys(known))


def allowed(expression: str) -> bool:
    """Return whether one side of every choice in an expression is allowed in all its parts."""
    signs = {"AND": "and", "OR": "or", "(": "(", ")": ")"}
    tokens = re.findall(r"[()]|[^\s()]+(?: WITH [^\s()]+)?", expression)
    words = " ".join(signs.get(token) or str(token in ALLOWED) for token in tokens)
    try:
        return bool(eval(words))  # of True, False, and, or and parentheses: nothing else is left
    except SyntaxError:  # a name that is no expression
        return False


def main() -> int:
    """Print the table, and return the exit code."""
    core = dependencies("isoscope")
    refused = 0
    for name, found in sorted(dependencies("isoscope[all]").items()):
        if name == "isoscope":
            continue
        expression = licence(found.metadata)
        ok = allowed(expression)
        refused += not ok
        part = "core" if name in core else "extra"
        print(f"{name:<28}{part:<7}{expression or 'unknown'}{'' if ok else '   NOT ALLOWED'}")
    print(f"{len(core) - 1} distributions for the core, {refused} with a licence not allowed")
    return min(refused, 1)


if __name__ == "__main__":
    sys.exit(main())
