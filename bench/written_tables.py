r"""Tables as people of many fields write them, one line each, with their true values; bench.table_corpus runs them.

`T` and `R` hold the times (seconds) and rates that most of them print.  A line names the table, its ending, its text,
what it must be read as (None: only a refusal that names one of the words is right), and what a refusal has to name.
"""

# ruff: noqa: E501 (one line each)
from __future__ import annotations

from dataclasses import dataclass

T = {1: 120.0, 2: 62.5, 4: 34.0, 8: 20.5}
R = {1: 100.0, 2: 190.0, 4: 350.0, 8: 600.0}
Truth = dict[int, float]


@dataclass(frozen=True)
class Written:
    """One table as somebody wrote it; `curves` holds the truth by the name of the curve."""

    name: str
    ending: str
    text: str
    curves: dict[str, Truth] | None
    mention: tuple[str, ...]
    rate: bool = False
    encoding: str = "utf-8"


def _table(
    name: str, ending: str, text: str, truth: Truth | dict[str, Truth] | None, *mention: str, encoding: str = "utf-8"
) -> Written:
    curves = truth if truth is None or isinstance(next(iter(truth.values())), dict) else {"": truth}
    rate = truth in (R, R_GIGA)
    return Written(name, ending, text, curves, mention, rate, encoding)  # type: ignore[arg-type]


T_TWICE = {k: [v, v] for k, v in T.items()}
R_GIGA = {k: 1e9 * value for k, value in R.items()}
TOO_LARGE = {k: value for k, value in T.items() if k < 8}
ON_NODES = {8 * k: value for k, value in T.items()}

_plain = "1,120\n2,62.5\n4,34\n8,20.5\n"
_rates = "1,100\n2,190\n4,350\n8,600\n"

WRITTEN = (
    # Other languages
    _table("Spanish", "csv", "Hilos;Tiempo (s)\n1;120,0\n2;62,5\n4;34,0\n8;20,5\n", T, "Hilos", "Tiempo"),
    _table("Spanish long", "csv", "Número de procesos;Tiempo de ejecución [s]\n1;120,0\n2;62,5\n4;34,0\n8;20,5\n", T, "procesos"),
    _table("German", "csv", "Anzahl Kerne;Laufzeit [s]\n1;120,0\n2;62,5\n4;34,0\n8;20,5\n", T, "Kerne"),
    _table("German milliseconds", "csv", "Prozesse;Zeit in ms\n1;120000\n2;62500\n4;34000\n8;20500\n", T, "Prozesse", "Zeit"),
    _table("German mean and deviation", "csv", "Kerne;Mittelwert (s);Standardabweichung (s);Anzahl\n1;120,0;1,1;5\n2;62,5;0,5;5\n4;34,0;0,3;5\n8;20,5;0,2;5\n", T, "Mittelwert"),
    _table("French", "csv", "Nombre de cœurs;Temps (s)\n1;120,0\n2;62,5\n4;34,0\n8;20,5\n", T, "Temps"),
    _table("French nodes", "csv", "nœuds;durée (min)\n1;2\n2;1,0416666666666667\n4;0,5666666666666667\n8;0,3416666666666667\n", T, "durée"),
    _table("French throughput", "csv", "processus;débit (images/s)\n" + _rates.replace(",", ";"), R, "débit"),
    _table("Italian", "csv", "nodi;tempo (s)\n" + _plain.replace(",", ";"), T, "nodi"),
    _table("Portuguese", "csv", "Núcleos;Tempo de execução (s)\n" + _plain.replace(",", ";"), T, "Núcleos"),
    _table("Chinese", "csv", "线程数,运行时间(秒)\n" + _plain, T, "线程数"),
    _table("Chinese milliseconds", "csv", "进程数,耗时（毫秒）\n1,120000\n2,62500\n4,34000\n8,20500\n", T, "进程数"),
    _table("Chinese with speedup", "csv", "GPU数量,训练时间(s),加速比\n1,120,1.00\n2,62.5,1.92\n4,34,3.53\n8,20.5,5.85\n", T, "GPU"),
    _table("Chinese throughput", "csv", "卡数,吞吐量(images/s)\n" + _rates, R, "卡数"),
    _table("Japanese", "csv", "スレッド数,実行時間 [秒]\n" + _plain, T, "スレッド"),
    _table("Japanese nodes", "csv", "ノード数,経過時間(ミリ秒),並列化効率\n1,120000,1.00\n2,62500,0.96\n4,34000,0.88\n8,20500,0.73\n", T, "ノード"),
    _table("Russian", "csv", "Потоки;Время, с\n1;120,0\n2;62,5\n4;34,0\n8;20,5\n", T, "Потоки"),
    _table("Korean", "csv", "스레드 수,실행 시간 (초)\n" + _plain, T, "스레드"),
    # Spreadsheets
    _table("title and blank rows", "csv", "Scaling of the solver,\n,\nThreads,Time (s)\n" + _plain, T, "Threads"),
    _table("title with commas", "csv", "Scaling of the solver, March 2024,,\n,,\nthreads,time (s),node\n1,120,a\n2,62.5,a\n4,34,a\n8,20.5,a\n", T, "threads"),
    _table("facts above the header", "csv", "Machine,Epyc,,\nDate,2024-03-05,,\n,,,\ncores,run 1 [s],run 2 [s],note\n1,120,120,\n2,62.5,62.5,\n4,34,34,\n8,20.5,20.5,\n", T_TWICE, "cores"),
    _table("total row", "csv", "ranks,time (s)\n" + _plain + "Total,237\n", T, "ranks", "Total"),
    _table("mean row", "csv", "ranks,speed (img/s),speedup\n1,100,1\n2,190,1.9\n4,350,3.5\n8,600,6\nAverage,310,3.1\n", R, "Average"),
    _table("footnote below", "csv", "ranks,time (s)\n" + _plain + "\n* measured with hyper-threading off\n", T, "ranks"),
    _table("source line", "csv", "ranks,time (s)\n" + _plain + "Source: own measurement\n", T, "Source"),
    _table("units in a second row", "csv", "threads,time,memory\n-,ms,MB\n1,120000,800\n2,62500,810\n4,34000,820\n8,20500,840\n", T, "time"),
    _table("units in a second row in brackets", "csv", "threads,time\n,[ms]\n1,120000\n2,62500\n4,34000\n8,20500\n", T, "time"),
    _table("two header rows", "csv", ",Machine A,Machine B\nthreads,time (s),time (s)\n1,120,60\n2,62.5,31\n4,34,17\n8,20.5,10\n", None, "Machine A"),
    _table("two header rows, one value", "csv", "Setup,Result,\nthreads,time (s),speedup\n1,120,1\n2,62.5,1.92\n4,34,3.53\n8,20.5,5.85\n", T, "time"),
    _table("empty first column", "csv", ",threads,time (s)\n,1,120\n,2,62.5\n,4,34\n,8,20.5\n", T, "threads"),
    _table("empty last columns", "csv", "threads,time (s),,\n1,120,,\n2,62.5,,\n4,34,,\n8,20.5,,\n", T, "threads"),
    _table("row numbers first", "csv", ",threads,time (s)\n0,1,120\n1,2,62.5\n2,4,34\n3,8,20.5\n", T, "threads"),
    _table("quoted cells", "csv", '"Threads","Time (s)"\n"1","120"\n"2","62.5"\n"4","34"\n"8","20.5"\n', T, "Threads"),
    _table("UTF-16 with BOM", "txt", "Threads\tTime (s)\r\n1\t120\r\n2\t62.5\r\n4\t34\r\n8\t20.5\r\n", T, "UTF", encoding="utf-16"),
    _table("Windows code page", "csv", "Kerne;Zeit [µs]\r\n1;120000000\r\n2;62500000\r\n4;34000000\r\n8;20500000\r\n", T, "UTF-8", encoding="cp1252"),
    _table("old Mac line ends", "csv", "threads,time (s)\n".replace("\n", "\r") + _plain.replace("\n", "\r"), T, "threads"),
    _table("Excel's separator line", "csv", "sep=;\r\nthreads;time (s)\r\n1;120\r\n2;62,5\r\n4;34\r\n8;20,5\r\n", T, "threads"),
    _table("apostrophes as thousands", "csv", "threads;time (ms)\n1;120'000\n2;62'500\n4;34'000\n8;20'500\n", T, "time"),
    _table("transposed", "csv", "threads,1,2,4,8\ntime (s),120,62.5,34,20.5\n", T, "threads"),
    _table("transposed with speedup", "csv", "Threads,1,2,4,8\nTime [s],120,62.5,34,20.5\nSpeedup,1.00,1.92,3.53,5.85\n", T, "Threads"),
    _table("transposed Markdown", "md", "| GPUs | 1 | 2 | 4 | 8 |\n|---|---|---|---|---|\n| img/s | 100 | 190 | 350 | 600 |\n", R, "GPUs"),
    # How K is written
    _table("K as 4 nodes", "csv", "config,time (s)\n1 node,120\n2 nodes,62.5\n4 nodes,34\n8 nodes,20.5\n", T, "config"),
    _table("K as np=4", "csv", "run,time (s)\nnp=1,120\nnp=2,62.5\nnp=4,34\nnp=8,20.5\n", T, "run"),
    _table("K as 2 x 8", "csv", "nodes x gpus,time (s)\n1 x 8,120\n2 x 8,62.5\n4 x 8,34\n8 x 8,20.5\n", ON_NODES, "nodes x gpus"),
    _table("K as 2×8", "csv", "GPUs,time (s)\n1×8,120\n2×8,62.5\n4×8,34\n8×8,20.5\n", ON_NODES, "GPUs"),
    _table("K as 1N8G", "csv", "setup,time (s)\n1N8G,120\n2N8G,62.5\n4N8G,34\n8N8G,20.5\n", ON_NODES, "setup"),
    _table("K as 16 (2 nodes)", "csv", "GPUs,time (s)\n8 (1 node),120\n16 (2 nodes),62.5\n32 (4 nodes),34\n64 (8 nodes),20.5\n", ON_NODES, "GPUs"),
    _table("K as a power", "csv", "ranks,time (s)\n2^0,120\n2^1,62.5\n2^2,34\n2^3,20.5\n", T, "ranks"),
    _table("K with k", "csv", "GPUs,time (s)\n128,120\n256,62.5\n512,34\n1k,20.5\n", {128: 120.0, 256: 62.5, 512: 34.0, 1024: 20.5}, "GPUs"),
    _table("K of two readings", "csv", "GPUs,time (s)\n100,120\n300,62.5\n1k,34\n3k,20.5\n", {100: 120.0, 300: 62.5, 1000: 34.0, 3000: 20.5}, "1k", "GPUs"),
    _table("K with a footnote", "csv", "GPUs,time (s)\n1,120\n2,62.5\n4*,34\n8†,20.5\n", T, "GPUs"),
    _table("K with decimals", "csv", "cores,time (s)\n1.0,120\n2.0,62.5\n4.0,34\n8.0,20.5\n", T, "cores"),
    _table("serial as K", "csv", "threads,time (s)\nserial,119\n1,120\n2,62.5\n4,34\n8,20.5\n", None, "serial"),
    # LaTeX and Markdown
    _table("LaTeX multirow and siunitx", "tex", "\\begin{tabular}{lS[table-format=3.1]}\n\\toprule\n{Threads} & {Time (\\si{\\second})} \\\\\n\\midrule\n\\num{1} & 120.0 \\\\\n\\num{2} & 62.5 \\\\\n\\num{4} & 34.0 \\\\\n\\num{8} & 20.5 \\\\\n\\bottomrule\n\\end{tabular}\n", T, "Threads"),
    _table("LaTeX bold and footnotes", "tex", "\\begin{tabular}{rr}\nGPUs & Time [ms]\\\\ \\hline\n1 & 120\\,000 \\\\\n2 & 62\\,500 \\\\\n4 & 34\\,000$^{*}$ \\\\\n8 & \\textbf{20\\,500} \\\\\n\\end{tabular}\n", T, "GPUs"),
    _table("LaTeX with multicolumn", "tex", "\\begin{tabular}{|c|c|c|}\n\\hline\n\\multicolumn{3}{|c|}{Strong scaling} \\\\ \\hline\nNodes & Time (s) & Efficiency (\\%) \\\\ \\hline\n1 & 120 & 100 \\\\ \\hline\n2 & 62.5 & 96 \\\\ \\hline\n4 & 34 & 88 \\\\ \\hline\n8 & 20.5 & 73 \\\\ \\hline\n\\end{tabular}\n", T, "Nodes"),
    _table("LaTeX multirow curves", "tex", "\\begin{tabular}{lrr}\nsolver & ranks & time (s) \\\\\n\\midrule\n\\multirow{2}{*}{CG} & 1 & 120 \\\\\n & 2 & 62.5 \\\\\n\\midrule\n\\multirow{2}{*}{MG} & 1 & 34 \\\\\n & 2 & 20.5 \\\\\n\\end{tabular}\n", {"CG": {1: 120.0, 2: 62.5}, "MG": {1: 34.0, 2: 20.5}}, "solver"),
    _table("Markdown with bold", "md", "# Results\n\nMeasured on two nodes.\n\n| **GPUs** | **Time (s)** |\n|:--:|--:|\n| 1 | 120 |\n| 2 | 62.5 |\n| 4 | 34 |\n| 8 | **20.5** |\n\n*lower is better*\n", T, "GPUs"),
    _table("Markdown with units and speedup", "md", "| Threads | Time | Speedup |\n|---|---|---|\n| 1 | 2m0s | 1.0x |\n| 2 | 62.5 s | 1.9x |\n| 4 | 34 s | 3.5x |\n| 8 | 20.5 s | 5.9x |\n", T, "Time"),
    _table("HTML table", "html", "<table><tr><th>threads</th><th>time (s)</th></tr><tr><td>1</td><td>120</td></tr><tr><td>2</td><td>62.5</td></tr><tr><td>4</td><td>34</td></tr><tr><td>8</td><td>20.5</td></tr></table>\n", T, "HTML", "CSV"),
    _table("reStructuredText", "rst", "=======  ========\nthreads  time (s)\n=======  ========\n1        120\n2        62.5\n4        34\n8        20.5\n=======  ========\n", T, "threads"),
    # Cells
    _table("footnote markers", "csv", "threads,time (s)\n1,120*\n2,62.5\n4,34†\n8,20.5 ‡\n", T, "time"),
    _table("out of memory", "csv", "gpus,time (s)\n0,OOM\n1,120\n2,62.5\n4,34\n8,20.5\n".replace("0,OOM\n", "") + "16,OOM\n", T, "OOM"),
    _table("did not finish", "csv", "gpus,time (s)\n1,120\n2,62.5\n4,34\n8,DNF\n", TOO_LARGE, "DNF"),
    _table("not available", "csv", "gpus,time (s)\n1,120\n2,62.5\n4,34\n8,n/a\n", TOO_LARGE, "n/a"),
    _table("a bound", "csv", "cores,time (s)\n1,>3600\n2,62.5\n4,34\n8,20.5\n", {k: v for k, v in T.items() if k > 1}, ">3600"),
    _table("approximate", "csv", "cores,time (s)\n1,~120\n2,62.5\n4,34\n8,≈20.5\n", T, "~120"),
    _table("Fortran exponents", "dat", "# NPROC  TIME\n 1  1.200D+02\n 2  0.625D+02\n 4  3.400D+01\n 8  2.050D+01\n", T, "TIME"),
    _table("ISO 8601 durations", "csv", "threads,duration\n1,PT2M\n2,PT1M2.5S\n4,PT34S\n8,PT20.5S\n", T, "duration"),
    _table("minutes and seconds", "csv", "threads,time\n1,2:00.0\n2,1:02.5\n4,0:34.0\n8,0:20.5\n", T, "time"),
    _table("header says mm:ss", "csv", "threads,time (mm:ss)\n1,02:00\n2,01:02\n4,00:34\n8,00:20\n", {1: 120.0, 2: 62.0, 4: 34.0, 8: 20.0}, "mm:ss"),
    _table("header says min:sec", "csv", "threads,Wall time (min:sec)\n1,2:00\n2,1:02\n4,0:34\n8,0:20\n", {1: 120.0, 2: 62.0, 4: 34.0, 8: 20.0}, "min:sec"),
    _table("header says h:mm", "csv", "threads,time [h:mm]\n1,2:00\n2,1:02\n4,0:34\n8,0:20\n", {1: 7200.0, 2: 3720.0, 4: 2040.0, 8: 1200.0}, "h:mm"),
    _table("header says hh:mm:ss", "csv", "nodes,Elapsed (hh:mm:ss)\n1,00:02:00\n2,00:01:02\n4,00:00:34\n8,00:00:20\n", {1: 120.0, 2: 62.0, 4: 34.0, 8: 20.0}, "hh:mm:ss"),
    _table("clock without a header's help", "csv", "threads,time\n1,2:00\n2,1:02\n4,0:34\n8,0:20\n", None, "time"),
    _table("clock of a day's fraction", "csv", "threads,time (hh:mm:ss)\n1,0.00138\n2,0.00072\n4,0.00039\n8,0.00023\n", None, "hh:mm:ss"),
    _table("time and speedup", "csv", "threads,speedup,time (s)\n1,1,120\n2,1.92,62.5\n4,3.53,34\n8,5.85,20.5\n", T, "time"),
    _table("speedup with a cross", "csv", "threads,time (s),gain\n1,120,1.0×\n2,62.5,1.9×\n4,34,3.5×\n8,20.5,5.9×\n", T, "time"),
    _table("only speedups", "csv", "threads,speedup\n1,1\n2,1.92\n4,3.53\n8,5.85\n", None, "audit"),
    _table("only S and E", "csv", "K,S,E\n1,1,1\n2,1.92,0.96\n4,3.53,0.88\n8,5.85,0.73\n", None, "audit"),
    _table("only efficiencies in percent", "csv", "nodes,parallel efficiency\n1,100%\n2,96%\n4,88%\n8,73%\n", None, "audit"),
    _table("mean ± deviation", "csv", "threads,time (s)\n1,120 ± 2\n2,62.5 ± 1\n4,34 ± 0.4\n8,20.5 ± 0.3\n", T, "time"),
    _table("deviation in brackets", "csv", "threads,time (s)\n1,120.0(20)\n2,62.5(10)\n4,34.0(4)\n8,20.5(3)\n", T, "time"),
    _table("deviation in spaced brackets", "csv", "threads,time (s)\n1,120 (2.0)\n2,62.5 (1.0)\n4,34 (0.4)\n8,20.5 (0.3)\n", T, "time"),
    _table("percentile of latency", "csv", "clients,p99 ms\n1,120000\n2,62500\n4,34000\n8,20500\n", T, "p99"),
    _table("median and percentiles", "csv", "clients,p50 (ms),p95 (ms),p99 (ms)\n1,120000,130000,150000\n2,62500,70000,80000\n4,34000,36000,40000\n8,20500,25000,30000\n", T, "p50"),
    # Units of the fields
    _table("images a second", "csv", "GPUs,img/s\n" + _rates, R, "img/s"),
    _table("iterations a second", "csv", "threads,it/s\n" + _rates, R, "it/s"),
    _table("nanoseconds a day", "csv", "cores,ns/day\n" + _rates, R, "ns/day"),
    _table("days a nanosecond", "csv", "cores,days/ns\n1,0.001388888888888889\n2,0.0007233796296296297\n4,0.00039351851851851854\n8,0.00023726851851851852\n", T, "days/ns"),
    _table("hours a nanosecond", "csv", "cores,hour/ns\n1,0.03333333333333333\n2,0.017361111111111112\n4,0.009444444444444445\n8,0.005694444444444444\n", T, "hour/ns"),
    _table("seconds a step", "csv", "ranks,s/step\n" + _plain, T, "s/step"),
    _table("simulated years a day", "csv", "cores,SYPD\n" + _rates, R, "SYPD"),
    _table("gigabytes a second", "csv", "threads,Triad (GB/s)\n" + _rates, R, "Triad"),
    _table("rates with suffixes", "csv", "threads,throughput (ops/s)\n1,100G\n2,190G\n4,350G\n8,600G\n", R_GIGA, "throughput"),
    _table("transactions a minute", "csv", "warehouses,clients,tpmC\n10,1,100\n10,2,190\n10,4,350\n10,8,600\n", R, "tpmC"),
    _table("MLUPS", "csv", "cores,MLUPS\n" + _rates, R, "MLUPS"),
    _table("DOF a second", "csv", "MPI tasks,DoF/s\n" + _rates, R, "DoF/s"),
    _table("edges a second", "csv", "nodes,GTEPS\n" + _rates, R, "GTEPS"),
    _table("cell updates a second", "csv", "ranks,cell updates per second\n" + _rates, R, "cell updates"),
    _table("events a second", "csv", "threads,Events/sec\n" + _rates, R, "Events"),
    _table("requests a second", "csv", "connections,Requests/sec\n" + _rates, R, "Requests"),
    _table("a blank table", "txt", "Threads   Time[s]   Speedup\n-------   -------   -------\n      1     120.0      1.00\n      2      62.5      1.92\n      4      34.0      3.53\n      8      20.5      5.85\n", T, "Threads"),
    _table("numbers without a header", "csv", _plain, None, "header", "column"),
    _table("repeats without a name", "csv", "threads,x,time (s)\n1,1,120\n1,2,121\n2,1,62.5\n2,2,62.7\n4,1,34\n4,2,34.1\n", None, "x"),
    _table("trial column in German", "csv", "Kerne;Wiederholung;Zeit (s)\n1;1;120\n2;1;62,5\n4;1;34\n8;1;20,5\n", T, "Wiederholung"),
    _table("curves side by side", "csv", "threads,gcc time (s),clang time (s)\n1,120,100\n2,62.5,52\n4,34,28\n8,20.5,16\n", None, "gcc"),
    _table("sections", "csv", "threads,time (s)\nMachine A,\n1,120\n2,62.5\nMachine B,\n1,60\n2,31\n", None, "Machine A"),
    _table("size grows with K", "csv", "nodes,cells,time (s)\n1,100,120\n2,200,122\n4,400,125\n8,800,130\n", {1: 120.0, 2: 122.0, 4: 125.0, 8: 130.0}, "cells"),
)  # fmt: skip

PER_WORKER = (
    _table("tokens per GPU", "csv", "GPUs,tokens/sec/GPU\n" + _rates, R, "tokens"),
    _table("per GPU in words", "csv", "GPUs,throughput per GPU (samples/s)\n" + _rates, R, "throughput"),
    _table("per-core rate", "csv", "cores,MLUPS/core\n" + _rates, R, "MLUPS"),
    _table("TFLOP/s per GPU", "csv", "GPUs,TFLOP/s/GPU\n" + _rates, R, "TFLOP"),
    _table("TFLOPs a GPU, Megatron", "csv", "GPUs,TFLOPs per GPU\n" + _rates, R, "TFLOPs"),
)
