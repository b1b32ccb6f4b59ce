"""A long run: memory, file handles, threads and temporary files of processes that work for hours.

    python benchmarks/soak.py run RECORD --until 22:00    run, and add to RECORD as it goes
    python benchmarks/soak.py page RECORD                 figure and entry of robust.json

Two processes live as long as the run: one measures, corrects and profiles through the Python API in
a loop, the other is ``isoscope explore``, which is asked some hundred questions per cycle. Beside
them the command line is called. Every few seconds a line of RECORD gets what the processes hold,
and the end of every cycle gets the same numbers at rest, together with a checksum of everything
that was computed: it must never change. The run pauses, so that it takes a third of a core. It may
be stopped (SIGSTOP) at any time: gaps between samples are kept and counted.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import IO, Any

import numpy as np
import psutil

EVERY = 5.0
"""Seconds between samples."""
SHARE = 0.33
"""Of a core, at most, over a cycle and the pause after it."""
QUESTIONS = 200
"""Of the explore server, per cycle."""
PATIENCE = 1_800.0
"""Seconds to wait for an answer: the run may be stopped meanwhile."""

Sample = dict[str, Any]


def make_inputs(folder: Path) -> None:
    """Write the small files that every cycle reads."""
    import pyarrow
    from pyarrow import parquet

    random = np.random.default_rng(0)
    vectors = (random.standard_normal((4_000, 48)) * np.geomspace(1, 0.1, 48) + 0.2).astype("f4")
    np.save(folder / "a.npy", vectors)
    np.save(folder / "b.npy", vectors[::-1] * 2)
    np.savez_compressed(folder / "c.npz", v=vectors.astype("f2"))
    column = pyarrow.array(list(vectors), pyarrow.list_(pyarrow.float32(), 48))
    parquet.write_table(pyarrow.table({"v": column}), folder / "d.parquet", row_group_size=500)
    lines = (f"w{k} " + " ".join(f"{x:.4f}" for x in row) for k, row in enumerate(vectors[:500]))
    (folder / "e.txt").write_text("\n".join(lines) + "\n")
    (folder / "broken.npy").write_bytes((folder / "a.npy").read_bytes()[:5_000])
    texts = (f"Sentence {k} of a small text says that rivers run to the sea.\n" for k in range(16))
    (folder / "texts.txt").write_text("".join(texts))


def work(folder: Path) -> None:
    """Do one cycle for every line of the standard input, and answer each with a line of JSON."""
    import isoscope

    inputs = [folder / name for name in ("a.npy", "c.npz", "d.parquet", "e.txt")]
    for line in sys.stdin:
        cycle = int(line)
        out = folder / "out.json"
        results = []
        for source in inputs:
            results.append(isoscope.measure(source, out=out))
            results.append(isoscope.measure(source, out=out, workers=2, shard_rows=700))
        results.append(isoscope.measure(folder / "a.npy", neighbours=True, neighbour_sample=500))
        results.append(
            isoscope.measure(folder / "a.npy", corrections="clip,whiten:n_components=8", sample=900)
        )
        refused = 0
        with contextlib.suppress(isoscope.IsoscopeError):
            isoscope.measure(folder / "broken.npy", out=out)
            refused -= 1
        fitted, moved = folder / "whiten.safetensors", folder / "moved.npy"
        isoscope.fit_correction(str(folder / "a.npy"), "whiten", fitted)
        isoscope.refresh_correction(fitted, str(folder / "b.npy"), folder / "again.safetensors")
        isoscope.apply_correction(fitted, str(folder / "b.npy"), moved)
        texts = folder / "texts.txt"
        profile: dict[str, Any] = {
            "corrections": "none",
            "layers": ["block 1", "block 6"],
            "out": out,
            "shard_texts": 4,
        }
        results.append(isoscope.profile("package:minilm", texts, workers=2, **profile))
        if cycle % 4 == 0:
            results.append(isoscope.profile("package:minilm", texts, workers=1, **profile))
            results.pop()  # the same numbers as before, which every cycle must have alike
        summed = hashlib.sha256()
        for result in results:
            summed.update(json.dumps(json.loads(result.to_json())["rows"], sort_keys=True).encode())
        summed.update(moved.read_bytes())
        print(
            json.dumps({"cycle": cycle, "sum": summed.hexdigest(), "refused": refused}), flush=True
        )


class Run:
    """The processes of a run and the record of what they hold."""

    def __init__(self, record: Path, folder: Path) -> None:
        self.folder, self.temporary = folder / "work", folder / "temporary"
        for made in (self.folder, self.temporary):
            made.mkdir()
        make_inputs(self.folder)
        self.environment = {
            **os.environ, "TMPDIR": str(self.temporary), "OMP_NUM_THREADS": "1",
            "TOKENIZERS_PARALLELISM": "false",
        }  # fmt: skip
        self.file: IO[str] = record.open("a", buffering=1)
        self.lock = threading.Lock()
        self.began = time.time()
        self.errors = record.with_suffix(".stderr").open("ab")
        self.worker = self.start([sys.executable, __file__, "work", str(self.folder)])
        tool = str(Path(sys.executable).with_name("isoscope"))
        self.tool = tool
        self.server = self.start([tool, "explore", str(self.folder / "a.npy"), "--sample", "500"])
        assert self.server.stdout is not None
        self.address = self.server.stdout.readline().decode().strip()
        self.random = np.random.default_rng(1)
        self.files: set[str] = set()
        self.calls = {"cycles": 0, "questions": 0, "commands": 0}

    def start(self, command: list[str]) -> subprocess.Popen[bytes]:
        """Start a process that lives as long as the run."""
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
            env=self.environment,
        )  # fmt: skip

    def write(self, kind: str, **fields: Any) -> None:
        """Add a line to the record."""
        line = json.dumps({"kind": kind, "t": round(time.time() - self.began, 1), **fields})
        with self.lock:
            self.file.write(line + "\n")

    def held(self) -> Sample:
        """Return what the processes hold: megabytes, file handles, threads, children, files."""
        found: Sample = {}
        for name, process in (("api", self.worker), ("explore", self.server)):
            one = psutil.Process(process.pid)
            with one.oneshot():
                memory = one.memory_full_info()
                found[name] = {
                    "rss": round(memory.rss / 2**20, 3),
                    "uss": round(memory.uss / 2**20, 3),
                    "handles": one.num_fds(),
                    "threads": one.num_threads(),
                    "children": len(one.children(recursive=True)),
                }
        found["temporary"] = sum(1 for _ in self.temporary.rglob("*"))
        found["files"] = sum(1 for _ in self.folder.rglob("*"))
        return found

    def sample_for_ever(self, ended: threading.Event) -> None:
        """Add a sample every few seconds."""
        while not ended.wait(EVERY):
            with contextlib.suppress(psutil.Error):
                self.write("sample", **self.held())

    def used(self) -> float:
        """Return seconds of processor time of this process and all that it started."""
        own = os.times()
        total = own.user + own.system + own.children_user + own.children_system
        for process in (self.worker, self.server):
            times = psutil.Process(process.pid).cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
        return total

    def ask(self, path: str) -> int:
        """Ask the server; return the status."""
        try:
            with urllib.request.urlopen(self.address + path, timeout=PATIENCE) as answer:
                answer.read()
                return int(answer.status)
        except urllib.error.HTTPError as error:
            with error:
                error.read()
                return error.code

    def explore(self) -> list[int]:
        """Ask the server many things, some of them wrong; return how often each status came."""
        statuses: dict[int, int] = {}
        corrections = ["none", "center", "all-but-the-top", "whiten", "nonsense"]
        for _ in range(QUESTIONS):
            what = str(self.random.choice(["about", "points", "neighbours", "measures", "no"]))
            query = urllib.parse.urlencode(
                {
                    "correction": str(self.random.choice(corrections)),
                    "row": int(self.random.integers(-5, 4_005)),
                    "k": int(self.random.integers(0, 60)),
                    "colour": str(self.random.choice(["nothing", "length", "x"])),
                }
            )
            status = self.ask(f"api/{what}?{query}")
            statuses[status] = statuses.get(status, 0) + 1
        return [statuses.get(code, 0) for code in (200, 404, 422, 500)]

    def command(self, cycle: int) -> str:
        """Run one command; return its exit code and a checksum of its rows."""
        sources = ["a.npy", "d.parquet", "broken.npy"]
        source = self.folder / sources[cycle % len(sources)]
        done = subprocess.run(
            [self.tool, "measure", str(source), "--json"], env=self.environment,
            capture_output=True, check=False,
        )  # fmt: skip
        rows = json.loads(done.stdout)["rows"] if done.returncode == 0 else done.stderr.decode()
        summed = hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()
        return f"{source.name} {done.returncode} {summed[:16]}"

    def cycle(self, number: int) -> None:
        """Let every process work once, and record what they hold at rest."""
        before, began = self.used(), time.monotonic()
        assert self.worker.stdin is not None
        assert self.worker.stdout is not None
        self.worker.stdin.write(b"%d\n" % number)
        self.worker.stdin.flush()
        said = self.worker.stdout.readline()
        if not said:
            raise SystemExit("the process that measures ended")
        done = json.loads(said)
        statuses = self.explore()
        command = self.command(number)
        time.sleep(2)  # threads of a pool that was just closed end
        self.write(
            "cycle", number=number, sum=done["sum"], statuses=statuses, command=command,
            seconds=round(self.used() - before, 2), **self.held(),
        )  # fmt: skip
        pause = (self.used() - before) / SHARE - (time.monotonic() - began)
        time.sleep(max(pause, 0))

    def close(self) -> None:
        """End both processes as a person would; the folders must be as before."""
        assert self.worker.stdin is not None
        self.worker.stdin.close()
        self.server.send_signal(2)
        codes = [self.worker.wait(PATIENCE), self.server.wait(PATIENCE)]
        left = sorted(str(path) for path in self.temporary.rglob("*"))
        self.write("end", codes=codes, left=left)


def run(record: Path, until: float) -> None:
    """Run cycles until a time; goes on in the same record after a restart, as a new run."""
    with tempfile.TemporaryDirectory(prefix="soak-") as name:
        running = Run(record, Path(name))
        running.write(
            "start", at=datetime.datetime.now().isoformat(timespec="seconds"),
            python=sys.version.split()[0], every=EVERY, share=SHARE, questions=QUESTIONS,
        )  # fmt: skip
        ended = threading.Event()
        sampler = threading.Thread(target=running.sample_for_ever, args=(ended,), daemon=True)
        sampler.start()
        number = 0
        try:
            while time.time() < until:
                running.cycle(number)
                number += 1
        finally:
            ended.set()
            sampler.join()
            running.close()


def lines_of(record: Path) -> list[Sample]:
    """Return the lines of the last run of a record."""
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    begins = [k for k, line in enumerate(lines) if line["kind"] == "start"]
    return lines[begins[-1] :]


def trend(hours: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """Return the slope per hour and the half width of its 95 % interval.

    Samples next to each other are alike, and their residuals say too little: the interval is that
    of the means over ten stretches of equal length, which are nearly independent.
    """
    from scipy.stats import linregress, t

    stretches = [part for part in np.array_split(np.arange(len(hours)), 10) if len(part)]
    x = np.array([hours[part].mean() for part in stretches])
    y = np.array([values[part].mean() for part in stretches])
    if len(x) < 4:
        return 0.0, float("inf")
    if np.ptp(y) == 0:
        return 0.0, 0.0
    fit = linregress(x, y)
    return float(fit.slope), float(t.ppf(0.975, len(x) - 2) * fit.stderr)


WARM_UP = 0.25
"""Share of the samples that is not counted: libraries are loaded and caches filled."""


def values_of(sample: Sample) -> dict[str, float]:
    """Return all that must stay flat."""
    found = {
        f"{part} {name}": float(sample[part][name])
        for part in ("api", "explore")
        for name in ("uss", "rss", "handles", "threads")
    }
    return {**found, "temporary files": sample["temporary"], "files": sample["files"]}  # fmt: skip


def summary(lines: list[Sample]) -> Sample:
    """Return what the page says of a run."""
    samples = [line for line in lines if line["kind"] == "sample"]
    cycles = [line for line in lines if line["kind"] == "cycle"]
    kept = samples[int(len(samples) * WARM_UP) :]
    hours = np.array([one["t"] for one in kept]) / 3_600
    trends = {}
    for name in values_of(kept[0]):
        values = np.array([values_of(one)[name] for one in kept])
        slope, half = trend(hours, values)
        trends[name] = {"mean": round(float(values.mean()), 2), "per_hour": round(slope, 3),
                        "half_width": round(half, 3)}  # fmt: skip
    gaps = np.diff([one["t"] for one in samples])
    rest = [values_of(one) for one in cycles]
    return {
        "started": lines[0]["at"], "minutes": round(samples[-1]["t"] / 60, 1),
        "samples": len(samples),
        "stopped_minutes": round(float(gaps[gaps > 3 * EVERY].sum()) / 60, 1),
        "cycles": len(cycles), "processor_seconds": round(sum(one["seconds"] for one in cycles)),
        "same_numbers": len({one["sum"] for one in cycles}) == 1,
        "server_errors": sum(one["statuses"][3] for one in cycles),
        "trends": trends, "at_rest_first": rest[0] if rest else None,
        "at_rest_last": rest[-1] if rest else None,
        "ended": next((line for line in lines if line["kind"] == "end"), None),
    }  # fmt: skip


def figure(lines: list[Sample]) -> Sample:
    """Return the chart: memory above, handles, threads and temporary files below."""
    from isoscope.results.charts.vega import SCHEMA, name, number, themed

    samples = [line for line in lines if line["kind"] == "sample"]
    thinned = samples[:: max(len(samples) // 600, 1)]
    marks = [
        {"minutes": round(one["t"] / 60, 2), "what": what, "value": value}
        for one in thinned for what, value in values_of(one).items()
    ]  # fmt: skip

    def panel(title: str, wanted: tuple[str, ...]) -> Sample:
        return {
            "data": {"values": [one for one in marks if one["what"] in wanted]}, "mark": "line",
            "encoding": {"x": number("minutes", "minutes"), "y": number("value", title),
                         "color": name("what", "")},
        }  # fmt: skip

    memory = panel("unique resident memory (MB)", ("api uss", "explore uss"))
    counts = panel("number", ("api handles", "api threads", "explore handles", "explore threads",
                              "temporary files"))  # fmt: skip
    return themed({"$schema": SCHEMA, "vconcat": [memory, counts],
                   "resolve": {"scale": {"color": "independent"}}})  # fmt: skip


ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results"


def write_results(record: Path) -> None:
    """Put the summary into robust.json, and draw the figure beside it."""
    import vl_convert

    lines = lines_of(record)
    path = RESULTS / "robust.json"
    kept = json.loads(path.read_text()) if path.exists() else {}
    kept["soak"] = {**summary(lines), "command": "python benchmarks/soak.py run RECORD --until …"}
    path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
    (RESULTS / "soak.svg").write_text(vl_convert.vegalite_to_svg(figure(lines)))


def at(clock: str) -> float:
    """Return the time of today at which a clock shows this, such as 22:00."""
    hour, minute = map(int, clock.split(":"))
    now = datetime.datetime.now().replace(hour=hour, minute=minute, second=0)
    return now.timestamp()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parts = parser.add_subparsers(dest="part", required=True)
    running = parts.add_parser("run")
    running.add_argument("record", type=Path)
    running.add_argument("--until", type=at, required=True, help="time of day, such as 22:00")
    parts.add_parser("work").add_argument("folder", type=Path)
    parts.add_parser("page").add_argument("record", type=Path)
    given = parser.parse_args()
    if given.part == "page":
        write_results(given.record)
        return
    if given.part == "work":
        work(given.folder)
    else:
        run(given.record, given.until)


if __name__ == "__main__":
    main()
