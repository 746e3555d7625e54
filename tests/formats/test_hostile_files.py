"""Files that attack: endless devices, damage, entities, names that command a CI job; and one study in six forms."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalecurve as sc
from scalecurve.errors import FormatError

ROWS = [(k, round(10 / k * spread + 0.1, 6)) for k in (1, 2, 4, 8) for spread in (0.99, 1.0, 1.01)]
MEGABYTES_OF_PYTHON = 200


def scalecurve(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "scalecurve", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize(
    "line",
    [
        "straggler --samples /dev/zero", "table /dev/zero --regime strong", "latency summary /dev/zero --unit ms",
        "workdepth /dev/zero", "plan /dev/zero", "collective fit /dev/zero --op allreduce --ranks 8",
    ],
)  # fmt: skip
def test_a_device_without_an_end_is_refused_in_little_memory(tmp_path: Path, line: str) -> None:
    program = (
        "import sys, pathlib; from scalecurve.cli.main import run; code = run(sys.argv[1:]);"
        "pathlib.Path('peak').write_text(pathlib.Path('/proc/self/status').read_text()); sys.exit(code)"
    )
    command = [sys.executable, "-c", program, *line.split()]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 2
    assert "\n" not in done.stderr.strip().partition(";")[0]
    [peak] = [row for row in (tmp_path / "peak").read_text().splitlines() if row.startswith("VmHWM")]
    assert int(peak.split()[1]) < MEGABYTES_OF_PYTHON * 1024  # of this process, not of the one that started it


def test_a_sparse_file_is_refused_by_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "sparse.csv"
    with path.open("wb") as file:
        file.truncate(3 * 1024**3)
    assert scalecurve("straggler", "--samples", path.name, folder=tmp_path).returncode == 2


@pytest.mark.parametrize("regime", ["strong"])
def test_numbers_of_k6_without_bounds_are_a_format_error(tmp_path: Path, regime: str) -> None:
    path = tmp_path / "k6.json"
    duration = {"avg": 1, "min": 1, "med": 1e308, "max": 1, "p(90)": 1e300, "p(95)": 5}
    metrics = {"http_req_duration": duration, "http_reqs": {"count": 1e308, "rate": 1e308}, "vus_max": {"max": 10**20}}
    path.write_text(json.dumps({"metrics": metrics | {"http_req_failed": {"value": 1e308}}}))
    with pytest.raises(FormatError, match="k6"):
        sc.load(path, regime=regime)


def test_names_cannot_command_a_ci_job(tmp_path: Path) -> None:
    rows = [
        {"bench": name, "threads": k, "seconds": 10 / k}
        for name in ("b\n::error::c", "q\r::warning::d")
        for k in (1, 2, 4)
    ]
    (tmp_path / "names.json").write_text(json.dumps(rows))
    outputs: tuple[tuple[str, ...], ...] = (
        (),
        ("--csv",),
        ("--json",),
        ("-o", "a.md"),
        ("-o", "a.csv"),
        ("-o", "a.txt"),
    )
    for output in outputs:
        done = scalecurve("table", "names.json", "--regime", "strong", *output, folder=tmp_path)
        written = "".join(path.read_text() for path in tmp_path.glob("a.*"))
        assert not [line for line in (done.stdout + written).splitlines() if line.lstrip(" \t|").startswith("::")]


def workbook(path: Path) -> Path:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in [("threads", "seconds"), *ROWS]:
        book.active.append(row)
    book.save(path)
    return path


def test_a_damaged_workbook_says_so(tmp_path: Path) -> None:
    whole = workbook(tmp_path / "whole.xlsx").read_bytes()
    place = whole.index(b"xl/worksheets/sheet1.xml") + 60
    damaged = {
        "cut.xlsx": (whole[: len(whole) // 2], "cut short"),
        "damaged.xlsx": (whole[:place] + b"\x55" * 40 + whole[place + 40 :], "workbook is damaged"),
    }
    for name, (content, what) in damaged.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(FormatError, match=what) as caught:
            sc.load(tmp_path / name, regime="strong")
        assert "\\x0a" not in str(caught.value)


def test_entities_of_a_workbook_are_not_expanded(tmp_path: Path) -> None:
    whole = workbook(tmp_path / "whole.xlsx")
    nested = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10 if n else "lol"}">' for n in range(10))
    for number, (entities, name) in enumerate(((nested, "l9"), ('<!ENTITY e SYSTEM "file:///etc/passwd">', "e"))):
        path = tmp_path / f"{number}.xlsx"
        with zipfile.ZipFile(whole) as old, zipfile.ZipFile(path, "w") as new:
            for item in old.namelist():
                text = old.read(item)
                if item == "xl/worksheets/sheet1.xml":
                    sheet = f"<!DOCTYPE x [{entities}]>".encode() + text.removeprefix(b"<?xml version='1.0'?>")
                    text = sheet.replace(b"<v>2</v>", f"<v>&{name};</v>".encode(), 1)
                new.writestr(item, text)
        with pytest.raises(FormatError, match="workbook is damaged"):
            sc.load(path, regime="strong")


def test_one_study_in_six_forms_gives_the_same_answer(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ROWS, columns=["threads", "seconds"])
    (tmp_path / "s.csv").write_text("threads,seconds\n" + "".join(f"{k},{v!r}\n" for k, v in ROWS))
    (tmp_path / "s.json").write_text(json.dumps([{"threads": k, "seconds": v} for k, v in ROWS]))
    workbook(tmp_path / "s.xlsx")
    forms = ["s.csv", "s.json", "s.xlsx"]
    try:
        frame.to_parquet(tmp_path / "s.parquet")
        forms.append("s.parquet")
    except ImportError:
        pass
    answers = {name: scalecurve("table", name, "--regime", "strong", "--json", folder=tmp_path) for name in forms}
    assert {done.returncode for done in answers.values()} == {0}
    assert len({done.stdout.replace(name, "FILE") for name, done in answers.items()}) == 1
    by_k: dict[int, list[float]] = {}
    for k, value in ROWS:
        by_k.setdefault(k, []).append(value)
    ks, values = zip(*ROWS, strict=True)
    series = pandas.Series(values, index=pandas.Index(ks, name="threads"), name="seconds")
    columns = {"threads": list(ks), "seconds": list(values)}
    objects: list[Any] = [
        tmp_path / "s.csv", tmp_path / "s.json", frame, by_k, ROWS, tuple(ROWS), np.array(ROWS), by_k.items(),
        iter(ROWS), columns, [{"threads": k, "seconds": value} for k, value in ROWS],
        {str(k): own for k, own in by_k.items()},
        series, series.rename_axis(None), series.groupby("threads").apply(list), frame.set_index("threads"),
        frame.to_records(index=False), {k: np.array(own) for k, own in by_k.items()}, pandas.DataFrame(by_k),
    ]  # fmt: skip
    tables = [sc.tabulate(sc.load(one, regime="strong", k_unit="threads")).to_dict() for one in objects]
    assert len({json.dumps(table | {"name": ""}, sort_keys=True) for table in tables}) == 1
