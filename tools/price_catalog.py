"""Rebuild the shipped price catalog from a folder of price tables: python tools/price_catalog.py DATA_FOLDER

DATA_FOLDER holds gpu_prices_skypilot.csv (accelerator, provider, n_offers, min/median/max dollars per accelerator-hour,
source).  The rules, in order; each dropped row or field is printed with the rule that dropped it:

  bid-floor    the whole row goes where the price is the floor of an auction and not an offer: providers that sell by
               bid (BY_BID), and any median below 2 % of the accelerator's median over providers
  placeholder  a maximum that is quoted identically for three or more slice sizes of one TPU is no price: the field
               goes (the row's median and minimum stay)
  slice        TPU rows are priced per slice; they become one row per chip and generation.  The number in the name
               counts cores, two to a chip, up to v5p, and chips for v5litepod and v6e
"""

from __future__ import annotations

import csv
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path
from statistics import median

BY_BID = {"mithril"}
FLOOR_SHARE = 0.02
REPEATED = 3
CORES_PER_CHIP = {"v2": 2, "v3": 2, "v4": 2, "v5p": 2, "v5litepod": 1, "v6e": 1}
NAMES = {"v5litepod": "v5e"}
TARGET = Path(__file__).parent.parent / "src/scalecurve/hardware/data/prices.csv"
FIELDS = ("accelerator", "provider", "offers", "low", "median", "high", "currency", "date", "source")


def main(folder: Path, target: Path = TARGET) -> None:
    with (folder / "gpu_prices_skypilot.csv").open(encoding="utf-8", newline="") as file:
        rows = [_parsed(row) for row in csv.DictReader(file)]
    kept = _without_placeholders(_without_bid_floors(rows))
    kept = sorted(
        [*(row for row in kept if not _slice(row)), *_per_chip([row for row in kept if _slice(row)])], key=_key
    )
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept)
    print(f"{len(kept)} rows from {len(rows)} written to {target.name}")


def _parsed(row: dict[str, str]) -> dict:
    place = re.fullmatch(r"seen:(\S+) (\S+) @(\w+) \((\d{4}-\d\d-\d\d)\)", row["source"])
    if place is None:
        raise SystemExit(f"a source without date: {row['source']}")
    prices = {name: float(row[f"{field}_usd_per_accel_hour"]) for name, field in _PRICES.items()}
    source = f"{place[1]}@{place[3]} {place[2]}"
    known = {"accelerator": row["accelerator"], "provider": row["provider"], "offers": int(row["n_offers"])}
    return {**known, **prices, "currency": "USD", "date": place[4], "source": source}


_PRICES = {"low": "min", "median": "median", "high": "max"}


def _without_bid_floors(rows: list[dict]) -> list[dict]:
    usual = defaultdict(list)
    for row in rows:
        usual[row["accelerator"]].append(row["median"])
    kept = []
    for row in rows:
        if row["provider"] in BY_BID or row["median"] < FLOOR_SHARE * median(usual[row["accelerator"]]):
            print(f"bid-floor: {row['accelerator']}@{row['provider']} {row['median']}")
        else:
            kept.append(row)
    return kept


def _without_placeholders(rows: list[dict]) -> list[dict]:
    seen = Counter((row["provider"], found[0], row["high"]) for row in rows if (found := _slice(row)))
    kept = []
    for row in rows:
        found = _slice(row)
        if found and seen[row["provider"], found[0], row["high"]] >= REPEATED:
            print(f"placeholder: maximum {row['high']} of {row['accelerator']}@{row['provider']}")
            row = row | {"high": None}
        kept.append(row)
    return kept


def _slice(row: dict) -> tuple[str, int] | None:
    """Generation and chips of a TPU slice."""
    match = re.fullmatch(r"tpu-(v\w+)-(\d+)", row["accelerator"])
    return None if match is None else (match[1], max(1, int(match[2]) // CORES_PER_CHIP[match[1]]))


def _per_chip(rows: list[dict]) -> list[dict]:
    groups = defaultdict(list)
    for row in rows:
        generation, chips = _slice(row) or ("", 1)
        groups[row["provider"], generation].append(
            {name: None if row[name] is None else row[name] / chips for name in _PRICES}
            | {"offers": row["offers"], "date": row["date"], "source": row["source"]}
        )
    return [_merged(provider, generation, group) for (provider, generation), group in groups.items()]


def _merged(provider: str, generation: str, group: list[dict]) -> dict:
    highs = [row["high"] for row in group if row["high"] is not None]
    return {
        "accelerator": f"TPU-{NAMES.get(generation, generation)}",
        "provider": provider,
        "offers": sum(row["offers"] for row in group),
        "low": round(min(row["low"] for row in group), 4),
        "median": round(median(row["median"] for row in group), 4),
        "high": round(max(highs), 4) if highs else None,
        "currency": "USD",
        "date": group[0]["date"],
        "source": f"{group[0]['source']}, per chip",
    }


def _key(row: dict) -> tuple[str, str]:
    return row["accelerator"], row["provider"]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]))
