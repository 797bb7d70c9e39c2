#!/usr/bin/env python3
"""Trains eleven jobs with the programs of two checkouts and compares their checkpoints and metrics.

    ./bazelw build //tools:millrace //examples/movielens    # in both checkouts
    tests/campaigns/compare_programs.py OLD_ROOT NEW_ROOT [DATA]

OLD_ROOT and NEW_ROOT are the checkouts. DATA is the folder of real data (default: MILLRACE_DATA); jobs that
need it are skipped, saying so, without it. Each job runs in a folder of its own under $TMPDIR. Exits with 1
if a job differs or fails.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile

WITHOUT_TIME = ("elapsed", "seconds", "per_second", "process", "share", "time", "waiting")


class Program:
    def __init__(self, root, folder):
        self.root = os.path.abspath(root)
        self.folder = folder

    def example(self, name):
        return os.path.join(self.root, "examples", name)

    def command(self, arguments, program="tools/millrace"):
        return [os.path.join(self.root, "bazel-bin", program), *arguments]

    def run(self, *arguments, program="tools/millrace", codes=(0,)):
        done = subprocess.run(self.command(arguments, program), cwd=self.folder, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode not in codes:
            raise RuntimeError("exit %d of %s:\n%s" % (done.returncode, arguments, done.stdout[-2000:]))
        return done.stdout

    def kill_after(self, marker, *arguments):
        """Starts a run and kills it once it has printed `marker`."""
        child = subprocess.Popen(self.command(arguments), cwd=self.folder, text=True,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for line in child.stdout:
            if marker in line:
                child.send_signal(signal.SIGKILL)
                break
        child.stdout.close()
        child.wait()
        if child.returncode != -signal.SIGKILL:
            raise RuntimeError("%s was to be killed, but ended with %d" % (arguments, child.returncode))


def timeless(value):
    """A line of metrics without what depends on time."""
    if isinstance(value, dict):
        return {k: timeless(v) for k, v in value.items() if not any(w in k for w in WITHOUT_TIME)}
    return value


def result(program, out="out"):
    """What two runs must have in common: the content of the newest checkpoint, and all metrics."""
    shown = json.loads(program.run("checkpoint", "show", out, "--json"))
    metrics = []
    for name in ("train", "eval"):
        path = os.path.join(program.folder, out, "metrics", name + ".jsonl")
        if os.path.exists(path):
            with open(path) as file:
                metrics += [timeless(json.loads(line)) for line in file]
    return {"content": shown["content_digest"], "metrics": metrics}


def quickstart(program, *more, steps=200):
    return ("train", program.example("quickstart.textproto"), "--output_dir", "out", "--max_steps", str(steps),
            *more)


def job_quickstart(program):
    program.run(*quickstart(program))


def job_dense(program):
    program.run("train", program.example("dense.textproto"), "--output_dir", "out", "--max_steps", "200")


def job_two_ranks(program):
    program.run("launch", "-n", "2", "--", "train", program.example("dense.textproto"), "--output_dir", "out",
                "--max_steps", "100")


def job_resumed(program):
    program.run(*quickstart(program, steps=70))
    program.run(*quickstart(program, steps=200))


def job_narrow_rows(program):
    table = "train.table[0].%s"
    program.run(*quickstart(
        program, "--set", table % "row_dtype=BFLOAT16",
        "--set", table % "admission={ count { min_count: 2 } }",
        "--set", table % "eviction={ idle_steps: 50 }",
        "--set", 'train.hooks={ name: "evict_rows" [millrace.evict_rows] { when { every_steps: 20 } } }'))


def job_mixed(program):
    program.run("train", program.example("quickstart.textproto"), "--output_dir", "first", "--max_steps", "1")
    data = "out/quickstart-data"
    sources = " ".join(
        'source { name: "%s" proportion: %d data { path: "%s/%s" shuffle_rows: 5000 } repeat: %s }'
        % (name, proportion, data, file, repeat)
        for name, proportion, file, repeat in (("log", 3, "part-*.parquet", "false"),
                                               ("survey", 1, "eval.parquet", "true")))
    config = open(program.example("quickstart.textproto")).read()
    begin, end = config.index("  generated_data"), config.index("  eval_data")
    config = (config[:begin] + "  train_data { batch_size: 512 mix { %s } }\n" % sources + config[end:]).replace(
        "data { batch_size: 4096 }", 'data { path: "%s/%s" batch_size: 4096 }' % (data, "eval.parquet"))
    with open(os.path.join(program.folder, "mixed.textproto"), "w") as file:
        file.write(config)
    program.run("train", "mixed.textproto", "--output_dir", "second", "--max_steps", "100")


def write_clicks(program):
    folder = os.path.join(program.folder, "out", "streaming-data")
    os.makedirs(folder)
    number = 1
    for window in range(12):
        with open(os.path.join(folder, "clicks-%03d.csv" % window), "w") as file:
            file.write("click,hour,user,item,event\n")
            for row in range(3000):
                number = number * 6364136223846793005 + 1442695040888963407 & 2**64 - 1
                file.write("%d,%d,%d,%d,%d\n" % (number >> 60 == 1, (number >> 40) % 24, (number >> 20) % 5000,
                                                 (number >> 8) % 900, window * 3000 + row))


def stream(program):
    return ("train", program.example("streaming/streaming.textproto"), "--output_dir", "out/streaming",
            "--set", "train.max_windows=12")


def job_streaming(program):
    write_clicks(program)
    program.run(*stream(program))


def job_streaming_killed(program):
    write_clicks(program)
    program.kill_after("step-00000018", *stream(program), "--set", "run.report.when={ every_steps: 1 }")
    program.run(*stream(program))


def job_criteo(program, name):
    program.run("train", program.example("criteo/%s.textproto" % name), "--output_dir", "out",
                "--train_data", DATA + "/criteo_orc/part-[01].orc",
                "--eval_data", DATA + "/criteo_orc/part-5.orc", "--max_steps", "30")


def job_deepfm(program):
    job_criteo(program, "deepfm")


def job_dlrm(program):
    job_criteo(program, "dlrm")


def job_movielens(program):
    file = DATA + "/ml-100k/ml-100k.inter"
    program.run("train", "--train_data", file, "--eval_data", file, "--output_dir", "out", "--max_steps", "100",
                program="examples/movielens/movielens")


JOBS = {  # name → (what runs it, its output directory, whether it needs real data)
    "quick start": (job_quickstart, "out", False),
    "dense quick start": (job_dense, "out", False),
    "two dense ranks": (job_two_ranks, "out", False),
    "resumed": (job_resumed, "out", False),
    "16-bit rows, admission, eviction": (job_narrow_rows, "out", False),
    "mixed": (job_mixed, "second", False),
    "streaming": (job_streaming, "out/streaming", False),
    "streaming, killed": (job_streaming_killed, "out/streaming", False),
    "Criteo DeepFM": (job_deepfm, "out", True),
    "Criteo DLRM": (job_dlrm, "out", True),
    "MovieLens": (job_movielens, "out", True),
}


def main():
    global DATA
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    DATA = os.path.abspath(sys.argv[3] if len(sys.argv) > 3 else os.environ.get("MILLRACE_DATA", "none"))
    failed = 0
    for name, (job, out, real) in JOBS.items():
        if real and not os.path.exists(DATA):
            print("%-34s skipped: no real data in MILLRACE_DATA" % name)
            continue
        results = []
        for root in sys.argv[1:3]:
            with tempfile.TemporaryDirectory() as folder:
                program = Program(root, folder)
                try:
                    job(program)
                    results.append(result(program, out))
                except (RuntimeError, OSError, ValueError) as error:
                    results.append({"content": "failed", "error": str(error)})
        same = results[0] == results[1] and results[0]["content"] != "failed"
        failed += not same
        print("%-34s %s" % (name, "equal " + results[0]["content"] if same else "DIFFERS"), flush=True)
        for one in results if not same else ():
            print("   ", json.dumps(one)[:1500])
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
