"""docs/reference/formats.md: every format that is read, from the table of readers."""

from __future__ import annotations

from scalecurve.formats.detection import READERS
from scalecurve.formats.reading import FormatNote, Reader

REAL = {True: "by the tool", False: "by its format"}
# Readers that came before notes; samples/README.md says how each sample was made.
EARLIER = {
    "hyperfine": FormatNote(
        tried="1.15 (Debian)", real=True, k="a parameter (-L threads 1,2)", value="wall time", keeps="failed runs"
    ),
    "pyperf": FormatNote(
        tried="2.10", real=True, k="a name or parameter", value="mean of each process", keeps="machine"
    ),
    "pytest-benchmark": FormatNote(
        tried="5.3.1", real=True, k="a parameter", value="seconds of each round", keeps="machine"
    ),
    "asv": FormatNote(
        tried="version not recorded; results version 2",
        real=True,
        k="a parameter",
        value="samples or median",
        keeps="commit",
    ),
    "ramble": FormatNote(
        tried="no version run; written from its documented results JSON",
        real=False,
        k="n_ranks, n_nodes",
        value="a figure of merit",
        keeps="",
    ),
    "talp": FormatNote(
        tried="no version run; written from the documented JSON of DLB 3.6",
        real=False,
        k="ranks",
        value="elapsed time",
        keeps="useful and MPI time by rank",
    ),
    "torch-trace": FormatNote(
        tried="torch 2.13", real=True, k="world size", value="time of a step", keeps="phases by rank"
    ),
    "kineto": FormatNote(tried="torch 2.13", real=True, k="world size", value="time of a step", keeps="phases by rank"),
    "extra-p-json": FormatNote(
        tried="4.2.5 (a saved experiment); JSON and the older JSON from their documented form",
        real=True,
        k="a parameter",
        value="a metric",
        keeps="",
    ),
    "extra-p-lines": FormatNote(
        tried="no version run; written from its documented form",
        real=False,
        k="a parameter",
        value="a metric",
        keeps="",
    ),
    "extra-p-text": FormatNote(
        tried="no version run; written from its documented form",
        real=False,
        k="a parameter",
        value="a metric",
        keeps="",
    ),
    "osu": FormatNote(
        tried="no version run; written from its documented output",
        real=False,
        k="--k-from or --ranks",
        value="average latency",
        keeps="",
    ),
    "imb": FormatNote(tried="2021.11", real=True, k="#processes", value="t_avg", keeps=""),
    "nccl-tests": FormatNote(
        tried="no version run; written from its documented text and JSON",
        real=False,
        k="GPUs",
        value="time of one collective",
        keeps="",
    ),
    "nccl": FormatNote(
        tried="no version run; written from its documented text and JSON",
        real=False,
        k="GPUs",
        value="time of one collective",
        keeps="",
    ),
    "rccl-tests": FormatNote(
        tried="no version run; written from its documented JSON",
        real=False,
        k="GPUs",
        value="time of one collective",
        keeps="",
    ),
    "rccl": FormatNote(
        tried="no version run; written from its documented JSON",
        real=False,
        k="GPUs",
        value="time of one collective",
        keeps="",
    ),
    "mllog": FormatNote(
        tried="mlperf_logging 4.1",
        real=True,
        k="accelerators, or --k-from",
        value="run_start to run_stop",
        keeps="batch, samples",
    ),
    "cilkscale": FormatNote(
        tried="no version run; written from its documented CSV",
        real=False,
        k="columns 1c, 2c ...",
        value="time",
        keeps="",
    ),
    "caliper": FormatNote(
        tried="no version run; written from the documented CSV of Caliper and Thicket",
        real=False,
        k="jobsize",
        value="a metric of a region",
        keeps="",
    ),
    "sacct": FormatNote(
        tried="Slurm 22.05, -P and columns; --json not run, from its documented form",
        real=True,
        k="NTasks, AllocCPUS, GPUs",
        value="elapsed time of the job",
        keeps="failed jobs",
    ),
    "access-log": FormatNote(
        tried="nginx 1.22.1 (Debian); Apache and Traefik not run",
        real=True,
        k="-",
        value="time of a request",
        keeps="status, skipped lines",
    ),
    "access-log-json": FormatNote(
        tried="nginx 1.22.1 (Debian); Caddy, Traefik and Envoy not run",
        real=True,
        k="-",
        value="time of a request",
        keeps="status",
    ),
    "hdr-log": FormatNote(
        tried="published logs of jHiccup and YCSB, V1 and V2", real=True, k="-", value="latency", keeps="tags"
    ),
}


def formats_page() -> str:
    """The tables, one for each kind of thing that comes out of a file."""
    parts = [
        "# Formats that are read",
        "A file is recognised by its content.  *Sample* says whether the file in the tests was written by the tool "
        "itself or by hand from its documented format; *tried* names only versions that were run.  "
        "`scalecurve import FILES --explain` shows what was understood; "
        "[adding a reader](../guide/adding-a-reader.md) says how to add one.",
    ]
    for kind, entries in READERS.items():
        rows = [_row(entry.load()) for entry in entries]
        head = "| format | tried | sample | K | observations | also kept |\n|---|---|---|---|---|---|"
        parts.append(f"## {str(kind)[0].upper()}{str(kind)[1:]}\n\n{head}\n" + "\n".join(dict.fromkeys(rows)))
    return "\n\n".join(parts) + "\n"


def _row(reader: Reader[object]) -> str:
    note = reader.note or EARLIER.get(reader.name)
    if note is None:
        return f"| {reader.title} | | | | | |"
    cells = (reader.title, note.tried, REAL[note.real], note.k, note.value, note.keeps)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
