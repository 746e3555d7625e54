"""Accelerators by name: peaks by precision, memory, links, and the ceilings of their roofline.

`data/accelerators.csv` holds the stated dense figures.  Where sources disagree the data sheet decides: B200 has 8 TB/s
(DGX B200: 64 TB/s for eight), MI300X 1307.4 TFLOP/s bf16, A100 80 GB 2.039 TB/s.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from scalecurve.errors import Fault, InputError

if TYPE_CHECKING:
    from scalecurve.laws.roofline import Ceilings

GIB = 2.0**30  # data sheets write GB of memory for 2^30 bytes: an H100 of 80 GB shows 81,559 MiB
PRECISIONS = ("bf16", "fp16", "fp8", "fp4", "fp32", "fp64")
LISTED = 12  # names an error shows at most
NEEDED = ("memory_gb", "memory_tb_s", "node", "inner_gb_s", "outer_gb_s")
USUAL_CORES = 128  # of an accelerator described without them
NUMBERS = (*(f"{name}_tflops" for name in PRECISIONS), *NEEDED, "pair_gb_s", "cores", "ceiling", "watts", "host")
TEXTS = ("name", "aliases", "date", "source", "like")


def hardware_table(name: str) -> str:
    """The text of one data file of the catalogue."""
    return files("scalecurve.hardware").joinpath("data", name).read_text(encoding="utf-8")


def plain_name(name: str) -> str:
    """A name as the catalogues spell it: lower case, with - for _ and space."""
    return name.strip().lower().replace("_", "-").replace(" ", "-")


def unknown_name(kind: str, name: str, names: Iterable[str], *, otherwise: str = "") -> InputError:
    """The error for an unknown name, with the nearest names; `otherwise` says what else may be written."""
    listed = sorted(names)
    near = get_close_matches(plain_name(name), listed, n=3, cutoff=0.4)
    more = f" and {len(listed) - LISTED} more" if len(listed) > LISTED else ""
    mark = "" if otherwise else "?"
    hint = f"did you mean {', '.join(near)}{mark}" if near else f"known: {', '.join(listed[:LISTED])}{more}"
    return InputError(Fault(f"unknown {kind}", value=name, remedy=hint + otherwise))


@dataclass(frozen=True, kw_only=True)
class Accelerator:
    """Published figures of one accelerator, in FLOP/s, bytes and bytes/s; absent is None."""

    name: str
    peaks: Mapping[str, float]  # dense FLOP/s by precision
    capacity: float
    memory_rate: float
    cores: int
    node: int  # accelerators that share the fast link
    inner_rate: float  # of the fast link, one direction
    pair_rate: float | None  # of the wires between two accelerators of a node; None where a switch joins them all
    outer_rate: float  # of its network port
    ceiling: float | None  # share of peak the best matrix product was measured to reach
    watts: float | None
    host: float  # launch cost of its usual host and recipes, relative to an x86 server without graphs
    date: str
    source: str

    def __hash__(self) -> int:
        return hash((self.name, self.capacity))

    @property
    def peak(self) -> float:
        """FLOP/s of the 16-bit matrix units: bf16, or fp16 where there is no bf16."""
        return self.peaks.get("bf16") or self.peaks["fp16"]

    @property
    def fp8_peak(self) -> float | None:
        return self.peaks.get("fp8")

    def ceilings(self, precision: str) -> Ceilings:
        """The roofline: peak FLOP/s at this precision, and bytes/s of memory and network."""
        from scalecurve.laws.roofline import Ceilings

        if precision not in self.peaks:
            hint = f"one of {', '.join(self.peaks)}"
            raise InputError(Fault(f"{self.name} has no peak for it", value=precision, remedy=hint))
        rates = {"memory": self.memory_rate, "network": self.outer_rate}
        return Ceilings(peak=self.peaks[precision], bandwidths=rates)


def describe_accelerator(record: Mapping[str, Any], *, subject: str = "accelerator") -> Accelerator:
    """The accelerator of a record in the schema of the catalogue: `NEEDED`, a 16-bit peak, and what else is known.

    `like` names an accelerator whose figures hold where the record has none.  Raises InputError with every fault.
    """
    values = {key: value for key, value in record.items() if value is not None and value != ""}
    hint = f"known: {', '.join((*TEXTS, *NUMBERS))}"
    faults = [
        Fault("unknown field of an accelerator", key, remedy=hint) for key in values if key not in (*NUMBERS, *TEXTS)
    ]
    numbers = _numbers(values, faults)
    base = _figures(accelerator(str(values["like"]))) if "like" in values else {}
    numbers = base | numbers
    if not faults:
        faults = [
            Fault("missing", key, remedy="give it, or like = an accelerator") for key in NEEDED if key not in numbers
        ]
        if not {"bf16_tflops", "fp16_tflops"} & set(numbers):
            faults.append(Fault("missing", "bf16_tflops", remedy="give bf16_tflops, or fp16_tflops without bf16 units"))
    if faults:
        raise InputError(faults, subject=subject)
    return Accelerator(
        name=plain_name(str(values.get("name", "custom"))),
        peaks={name: numbers[f"{name}_tflops"] * 1e12 for name in PRECISIONS if f"{name}_tflops" in numbers},
        capacity=numbers["memory_gb"] * GIB,
        memory_rate=numbers["memory_tb_s"] * 1e12,
        cores=int(numbers.get("cores", USUAL_CORES)),
        node=int(numbers["node"]),
        inner_rate=numbers["inner_gb_s"] * 1e9,
        pair_rate=numbers["pair_gb_s"] * 1e9 if "pair_gb_s" in numbers else None,
        outer_rate=numbers["outer_gb_s"] * 1e9,
        ceiling=numbers.get("ceiling"),
        watts=numbers.get("watts"),
        host=numbers.get("host", 1.0),
        date=str(values.get("date", "given")),
        source=str(values.get("source", "described by the user")),
    )


def _numbers(values: Mapping[str, Any], faults: list[Fault]) -> dict[str, float]:
    """The numbers of a record; `faults` gets what is wrong with them."""
    numbers: dict[str, float] = {}
    for key in [key for key in NUMBERS if key in values]:
        try:
            number = float(values[key])
        except (TypeError, ValueError):
            number = -1.0
        if number > 0 and math.isfinite(number):
            numbers[key] = number
        else:
            faults.append(Fault("must be a number above 0", key, str(values[key])))
    whole = [key for key in ("node", "cores") if not numbers.get(key, 1.0).is_integer()]
    faults += [Fault("must be a whole number", key, str(values[key])) for key in whole]
    if numbers.get("ceiling", 1.0) > 1.0:
        faults.append(Fault("the share of the peak a product reaches is at most 1", "ceiling", str(values["ceiling"])))
    return numbers


def _figures(chip: Accelerator) -> dict[str, float]:
    """An accelerator as numbers of the schema."""
    figures = {f"{name}_tflops": peak / 1e12 for name, peak in chip.peaks.items()}
    others = {
        "memory_gb": chip.capacity / GIB, "memory_tb_s": chip.memory_rate / 1e12, "cores": chip.cores,
        "node": chip.node, "inner_gb_s": chip.inner_rate / 1e9, "outer_gb_s": chip.outer_rate / 1e9,
        "ceiling": chip.ceiling, "watts": chip.watts, "host": chip.host,
        "pair_gb_s": None if chip.pair_rate is None else chip.pair_rate / 1e9,
    }  # fmt: skip
    return figures | {key: float(value) for key, value in others.items() if value is not None}


@cache
def accelerators() -> Mapping[str, Accelerator]:
    """Every accelerator under its name and its aliases."""
    catalogue: dict[str, Accelerator] = {}
    for row in csv.DictReader(hardware_table("accelerators.csv").splitlines()):
        chip = describe_accelerator(row, subject=row["name"])
        catalogue |= dict.fromkeys([chip.name, *row["aliases"].split()], chip)
    return catalogue


def accelerator(name: str, *, otherwise: str = "") -> Accelerator:
    """The accelerator of this name or alias, or of a .toml that describes one; `otherwise` is added to the error for an
    unknown one."""
    if name.endswith(".toml"):
        from scalecurve.hardware.networks import read_machine_file

        machine = read_machine_file(name)  # what a cluster says of its links holds for its accelerators
        bare = machine.accelerator
        chip = replace(bare, node=machine.node, inner_rate=machine.inner_rate, outer_rate=machine.outer_rate)
        return chip if chip == bare else replace(chip, source=f"{bare.source}; links as in {name}")
    named = accelerator_called(name)
    if named is None:
        hint = otherwise or "; or write a .toml with its peak, memory and links"
        raise unknown_name("accelerator", name, accelerators(), otherwise=hint)
    return named


BESIDE_THE_NAME = re.compile(r"nvidia|amd|intel|aws|google|cloud|geforce|instinct|habana|tesla|gpu|oam|sxm\d?|hbm\d?e?")
FORMS = ("pcie", "nvl", "gcd")  # words that say more of an accelerator than the size of its memory


def words_of(text: str) -> list[str]:
    """The words of a name, 80 GiB and 80G as 80gb, TPUv5p as tpu v5p."""
    bare = re.sub(r"\((r|tm|c)\)|[®™]", " ", text.lower())
    bare = re.sub(r"tpu(?=v?\d)", "tpu ", re.sub(r"(\d+) ?g(i?b)?\b", r"\1gb", bare))
    return re.findall(r"[a-z0-9]+", bare)


@cache
def spellings() -> tuple[tuple[frozenset[str], Accelerator], ...]:
    """The words of every name and alias of the catalogue, the most telling first."""
    named = [(frozenset(words_of(name)), chip) for name, chip in accelerators().items()]
    return tuple(sorted(named, key=lambda one: (-sum(word in FORMS for word in one[0]), -len("".join(one[0])))))


def accelerator_in(text: str) -> Accelerator | None:
    """The accelerator that a table's words mean, such as `NVIDIA H100 80GB SXM5` or `8x mi300x`; None for none."""
    words = words_of(text)
    phrases = {*words, *(one + other for one, other in pairwise(words)), *(re.sub(r"^\d+x", "", one) for one in words)}
    return next((chip for names, chip in spellings() if names <= phrases), None)


def accelerator_called(name: str) -> Accelerator | None:
    """The accelerator of this name or alias, alone or with its maker, memory and form; None where a word is left."""
    exact = accelerators().get(plain_name(name))
    if exact is not None:
        return exact
    bare = "".join(word for word in words_of(name) if not re.fullmatch(rf"{BESIDE_THE_NAME.pattern}|\d+gb", word))
    return accelerator_in(name) if bare in {"".join(words_of(entry)) for entry in accelerators()} else None
