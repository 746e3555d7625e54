"""Fake commands of batch systems, answering as their manuals say; jobs run here, in the background.

Like them they deliver the output of a job after its end (PBS, Torque, LSF, whose report stands before it), and may not
answer for a while: `folder`/outage holds how often `status` still fails.

Sources of the answers: PBS Professional and Torque `qsub`, `qstat -f`; IBM LSF `bsub`, `bjobs -o stat`; Grid Engine
`qsub -terse`, `qstat -j`; Flux `flux batch`, `flux jobs -o {state}`; Kubernetes `kubectl create|get|logs|delete`.
"""

from __future__ import annotations

import stat
import sys
from pathlib import Path

PROGRAM = """#!{python}
import json, os, signal, subprocess, sys
home = {home!r}
name = os.path.basename(sys.argv[0])
words = sys.argv[1:]
with open(home + "/asked", "a") as file:
    file.write(json.dumps([name, *words]) + "\\n")


def after(*flags):
    for flag in flags:
        if flag in words:
            return words[words.index(flag) + 1]
        for word in words:
            if word.startswith(flag + "="):
                return word.partition("=")[2]


SPOOL = (
    'f=$(mktemp -d); /bin/bash "$1" > $f/out 2> $f/err; sleep 0.2; '
    '{{ printf "$4"; cat $f/out; }} > "$2"; mv $f/err "$3"'
)
REPORT = "Sender: LSF System\\nSubject: Job 1: <x> Done\\nRun time : 7 sec.\\nThe output (if any) follows:\\n"


def start(script, out, err):
    argv = ["/bin/sh", "-c", SPOOL, "sh", script, out, err, REPORT if kind == "lsf" else ""]
    if kind not in ("pbs", "torque", "lsf"):
        argv = ["/bin/sh", "-c", '/bin/bash "$1" > "$2" 2> "$3"', "sh", script, out, err]
    nothing = subprocess.DEVNULL
    return subprocess.Popen(argv, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True).pid


def outage():
    try:
        left = int(open(home + "/outage").read())
    except OSError:
        return
    if left > 0:
        open(home + "/outage", "w").write(str(left - 1))
        sys.exit("cannot connect to server head (errno=111) Connection refused")


def running(pid):
    try:
        return open("/proc/%s/stat" % int(pid)).read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def end(pid):
    try:
        os.killpg(int(pid), signal.SIGKILL)
    except ProcessLookupError:
        pass


kind = {kind!r}
if words[:1] in (["-B"], ["-g"], ["resource"], ["auth"]) or name == "bqueues":
    sys.exit(0)  # whether the system answers at all
if name in ("qstat", "bjobs") or words[:1] in (["jobs"], ["get"]):
    outage()
number = words[-1].partition(".")[0] if words else ""
if kind == "kubernetes":
    job = home + "/" + words[1].rpartition("/")[2]
    kinds = {{"Job": "job.batch", "JobSet": "jobset.jobset.x-k8s.io", "PyTorchJob": "pytorchjob.kubeflow.org",
             "MPIJob": "mpijob.kubeflow.org"}}
    if words[0] in ("get", "delete") and words[1].partition("/")[0] not in kinds.values():
        sys.exit("error: there is no need to specify a resource type as a separate argument")
    if words[0] == "create":
        manifest = json.load(open(words[2]))
        spec, name = manifest["spec"], manifest["metadata"]["name"]
        if manifest["kind"] == "JobSet":
            spec = spec["replicatedJobs"][0]["template"]["spec"]
        rank = "JOB_COMPLETION_INDEX"
        sets = [(spec.get("completions"), spec.get("template"))]
        if manifest["kind"] == "PyTorchJob":
            rank, sets = "RANK", [(own["replicas"], own["template"]) for own in spec["pytorchReplicaSpecs"].values()]
        if manifest["kind"] == "MPIJob":
            rank, sets = "NO_RANK", [(1, spec["mpiReplicaSpecs"]["Launcher"]["template"])]
        pods, pids = [template for count, template in sets for _ in range(count)], []
        for index, template in enumerate(pods):
            pod = template["spec"]["containers"][0]
            env = dict(os.environ, **{{rank: str(index)}}, **{{e["name"]: e["value"] for e in pod["env"]}})
            log = open(home + "/" + template["metadata"]["labels"]["scalecurve"] + ".log", "a")
            pids.append(subprocess.Popen(pod["command"], env=env, stdout=log, stderr=log, start_new_session=True).pid)
        open(home + "/" + name, "w").write(" ".join(map(str, pids)))
        print(kinds[manifest["kind"]] + "/" + name)
    elif words[0] == "get":
        if "{{{{" in words[-1]:
            sys.exit("error: error parsing jsonpath, unclosed action")
        pids = open(job).read().split()
        end = {{"Job": "SuccessCriteriaMet Complete", "JobSet": "StartupPolicyCompleted Completed"}}
        kind = next(kind for kind, own in kinds.items() if words[1].startswith(own + "/"))
        print("StartupPolicyCompleted" if any(map(running, pids)) else end.get(kind, "Created Succeeded"))
    elif words[0] == "logs":
        print(open(home + "/" + after("--selector").partition("=")[2] + ".log").read(), end="")
    elif words[0] == "delete":
        for pid in open(job).read().split():
            end(pid)
elif name in ("qsub", "bsub") or words[:1] == ["batch"]:
    pid = start(words[-1], after("-o", "--output"), after("-e", "--error"))
    print({{"pbs": "%d.server.site", "torque": "%d.server.site", "sge": "%d", "template": "accepted as number %d",
           "lsf": "Job <%d> is submitted to default queue <normal>.", "flux": "%d"}}[kind] % pid)
elif name in ("qdel", "bkill") or words[:1] == ["cancel"]:
    end(number)
elif kind in ("pbs", "torque"):
    if not running(number):
        sys.exit("qstat: Unknown Job Id " + number)
    print("Job Id: %s.server.site\\n    Job_Name = x\\n    job_state = R\\n    queue = workq" % number)
elif kind == "lsf":
    print("RUN" if running(number) else "DONE")
elif kind == "flux":
    print("RUN" if running(number) else "INACTIVE")
else:
    if not running(number):
        sys.exit("Following jobs do not exist: " + number)
    print("==============================================================\\njob_number:                 " + number)
"""
COMMANDS = {
    "pbs": ("qsub", "qstat", "qdel"),
    "torque": ("qsub", "qstat", "qdel"),
    "sge": ("qsub", "qstat", "qdel"),
    "template": ("qsub", "qstat", "qdel"),
    "lsf": ("bsub", "bjobs", "bkill", "bqueues"),
    "flux": ("flux",),
    "kubernetes": ("kubectl",),
}


def install(kind: str, folder: Path) -> Path:
    """Put the commands of a system into `folder`/bin; what they were asked is in `folder`/asked."""
    bin_folder = folder / "bin"
    bin_folder.mkdir(parents=True, exist_ok=True)
    for name in COMMANDS[kind]:
        path = bin_folder / name
        path.write_text(PROGRAM.format(python=sys.executable, home=str(folder), kind=kind))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    mpirun = bin_folder / "mpirun"
    mpirun.write_text('#!/bin/sh\nshift 2\nexec "$@"\n')
    mpirun.chmod(0o700)
    return bin_folder
