"""Damaged copies of every kind of file: an answer or a refusal with a message, never anything else."""

from __future__ import annotations

import bz2
import gzip
import lzma
import pickle
import re
from pathlib import Path

import pytest

import scalecurve as sc
from bench.file_fuzz import SAMPLES, fuzz, seeds
from scalecurve.errors import FormatError, InputError
from scalecurve.formats.source import Source

EACH = 4  # the long run is bench/file_fuzz.py
SEEDS = seeds()


@pytest.mark.parametrize("kind", sorted({seed.kind for seed in SEEDS}))
def test_damage_is_refused_or_read(kind: str) -> None:
    own = [seed for seed in SEEDS if seed.kind == kind]

    figures = fuzz(own, EACH * len(own), seed=7)

    assert figures["failures"] == {}


class _Evil:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (Path.touch, (Path("pickle_was_loaded"),))  # type: ignore[return-value]


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_pickles_are_named_and_never_loaded(tmp_path: Path, protocol: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "thicket.pkl").write_bytes(pickle.dumps(_Evil(), protocol=protocol))

    with pytest.raises(FormatError, match="pickle"):
        sc.load("thicket.pkl", regime="strong")
    assert not (tmp_path / "pickle_was_loaded").exists()


def test_a_gzipped_trace_is_read_and_a_bomb_is_not(tmp_path: Path) -> None:
    trace = (SAMPLES / "trace" / "k1_rank0.json").read_bytes()
    (tmp_path / "t.json.gz").write_bytes(gzip.compress(trace))
    (tmp_path / "bomb.json.gz").write_bytes(gzip.compress(b" " * 50_000_000))

    assert sc.load(tmp_path / "t.json.gz", regime="strong").all_k == (1,)
    with pytest.raises(FormatError, match="unpacks to too much"):
        sc.load(tmp_path / "bomb.json.gz", regime="strong")


TABLE = b"gpus,seconds\n" + b"".join(b"%d,%.6f\n" % (k, 100 / k + 0.1) for k in range(1, 3000))
PACKERS = ("gzip", "xz", "bzip2", "zstd")


def packed(packer: str, content: bytes) -> bytes:
    if packer == "zstd":
        whole: bytes = pytest.importorskip("zstandard").ZstdCompressor(write_checksum=True).compress(content)
        return whole
    return {"gzip": gzip.compress, "xz": lzma.compress, "bzip2": bz2.compress}[packer](content)


@pytest.mark.parametrize("packer", PACKERS)
def test_all_members_of_a_packed_file_are_read(packer: str) -> None:
    half = len(TABLE) // 2
    first, second = packed(packer, TABLE[:half]), packed(packer, TABLE[half:])

    for raw in (packed(packer, TABLE), first + second, first + bytes(8) + second, first + second + bytes(512)):
        assert Source("t", raw=raw).content == TABLE


@pytest.mark.parametrize("packer", PACKERS)
def test_a_packed_file_is_read_to_its_end_or_refused(packer: str) -> None:
    whole = packed(packer, TABLE)
    cut = [whole[: len(whole) * part // 10] for part in (1, 3, 6, 9)] + [whole[:-1], whole + whole[:-1]]
    changed = [whole + b"hello", whole + bytes(4) + b"K,seconds", whole[:90] + bytes([whole[90] ^ 255]) + whole[91:]]

    for raw in (*cut, *changed):
        with pytest.raises(FormatError, match=f"the {packer} file is damaged"):
            _ = Source("t", raw=raw).content


@pytest.mark.parametrize("packer", PACKERS)
def test_a_small_file_does_not_unpack_without_end(packer: str) -> None:
    with pytest.raises(FormatError, match="unpacks to too much"):
        _ = Source("t", raw=packed(packer, bytes(50_000_000))).content
    with pytest.raises(FormatError, match="members"):
        _ = Source("t", raw=packed(packer, b"") * 20_001).content


def test_notes_between_the_frames_of_zstd_are_skipped() -> None:
    note = b"\x53*M\x18" + (4).to_bytes(4, "little") + b"note"
    frame = packed("zstd", TABLE)

    for raw in (note + frame, frame + note, note + note + frame):
        assert Source("t", raw=raw).content == TABLE
    with pytest.raises(FormatError, match="is cut short"):
        _ = Source("t", raw=frame + note[:-1]).content


@pytest.mark.parametrize(("magic", "what"), [(b"\x89HDF\r\n", "HDF5"), (b"%PDF-1.7", "PDF"), (b"\xfd7zXZ\x00", "xz")])
def test_other_binaries_are_named(tmp_path: Path, magic: bytes, what: str) -> None:
    (tmp_path / "file").write_bytes(magic + bytes(50))

    with pytest.raises(FormatError, match=what):
        sc.load(tmp_path / "file", regime="strong")


def test_files_of_several_formats_or_machines_are_not_mixed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="several formats"):
        sc.formats.import_results(SAMPLES / "hyperfine.json", SAMPLES / "pyperf.json", regime="strong")

    text = (SAMPLES / "pyperf.json").read_text()
    (tmp_path / "a.json").write_text(text)
    (tmp_path / "b.json").write_text(re.sub(r'"hostname": ?"vm"', '"hostname": "other"', text))
    with pytest.raises(FormatError, match="different machines"):
        sc.formats.import_results(tmp_path, regime="strong")
    mixed = sc.formats.import_results(tmp_path, regime="strong", allow_mixed=True)
    assert "mixed-machines" in {finding.code for finding in mixed.findings}
