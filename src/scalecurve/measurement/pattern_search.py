"""Searches texts for patterns in a process of its own, which can be ended: a pattern may take longer than the universe.

`python -I -S pattern_search.py` reads one JSON object, {"patterns": [...], "texts": [...]}, and writes one line for
each pair: the first groups of all matches.  Standard library only, and no imports of this package.
"""

from __future__ import annotations

import json
import re
import sys

MOST_MATCHES = 100_000


def main() -> None:
    asked = json.load(sys.stdin)
    for pattern, text in zip(asked["patterns"], asked["texts"], strict=True):
        groups = []
        for match in re.finditer(pattern, text, re.MULTILINE):
            groups.append(match[1] or "")
            if len(groups) >= MOST_MATCHES:
                break
        sys.stdout.write(json.dumps(groups) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
