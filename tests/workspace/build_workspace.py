#!/usr/bin/env python3
"""Builds examples/workspace as a user would: elsewhere, with this checkout as the repository @millrace.

    ./bazelw run //tests/workspace:build_workspace -- [--package FILE] [--directory DIR] [--jobs N] [--analyse] [--keep]

Copies the workspace to DIR/visits, where DIR is a new folder under $TMPDIR unless it is given, and makes
DIR/millrace a link to this checkout, or with --package the folder of that package for developers. There it does,
by the workspace's own ./bazelw:

    analyse   loads and analyses all targets; with --analyse, nothing else
    build     compiles the workspace, and Millrace unless it is a package, from nothing but the disk cache
    train     //:visits -- train, which must end at the loss that the hook stops at and leave a checkpoint
    edit      a new function in the model, and //:visits -- train again
    list      //:visits -- list, which must have every part of the workspace
    test      the conformance test
    macros    adds a millrace_job and a millrace_hook_plugin to the copy; runs the job's list and
              `plugin inspect`

Prints for each of these the seconds that it took, and what it found. --jobs limits Bazel, and is that of
user.bazelrc of this checkout if it has one. Bazel's output goes to DIR/bazel.log. At the end stops Bazel and
deletes its outputs and, unless it is given, DIR; with --keep nothing is deleted. A DIR that has a copy already
gets a new one; what Bazel built there is used again. Exits with 1 at the first step that fails, with the end of
its output.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
WORKSPACE = os.path.join(ROOT, "examples", "workspace")
REGISTRATION = re.compile(r"^MILLRACE_REGISTER_\w+\(\s*(\w+)", re.MULTILINE)
LOADS = """load("@millrace//:millrace_hook_plugin.bzl", "millrace_hook_plugin")
load("@millrace//:millrace_job.bzl", "millrace_job")
"""
MACROS = """
millrace_job(
    name = "job",
    config = "visits.textproto",
    deps = [":parts"],
)

millrace_hook_plugin(
    name = "ids_per_example",
    srcs = ["ids_per_example.cc"],
    deps = ["@millrace//:hook"],
)
"""
LAST_LINES = 30


class Failure(Exception):
    """A step failed; the text says which, and why."""


class Build:
    """The copy of the workspace, and what is done in it."""

    def __init__(self, directory):
        self.directory = directory
        self.folder = os.path.join(directory, "visits")
        self.log = os.path.join(directory, "bazel.log")

    def prepare(self, jobs, package):
        os.makedirs(self.directory, exist_ok=True)
        if os.path.isdir(self.folder):
            shutil.rmtree(self.folder)
        shutil.copytree(WORKSPACE, self.folder, symlinks=True,
                        ignore=lambda _, names: [name for name in names if name.startswith("bazel-")])
        link = os.path.join(self.directory, "millrace")
        if os.path.islink(link):
            os.remove(link)
        elif os.path.exists(link):
            raise Failure("%s is no link of an earlier call: name another directory" % link)
        target = ROOT
        if package:
            with tarfile.open(package) as archive:
                archive.extractall(self.directory)
                target = os.path.join(self.directory, archive.getnames()[0].split("/")[0])
        os.symlink(target, link)
        options = ["build --jobs=%d" % jobs] if jobs else []
        own = os.path.join(ROOT, "user.bazelrc")
        if os.path.exists(own):
            with open(own, encoding="utf-8") as file:
                options.insert(0, file.read())
        with open(os.path.join(self.folder, "user.bazelrc"), "w", encoding="utf-8") as file:
            file.write("\n".join(options) + "\n")

    def bazel(self, *arguments):
        """Runs ./bazelw of the copy. Returns what it wrote. Raises Failure."""
        with open(self.log, "a", encoding="utf-8") as log:
            log.write("\n$ ./bazelw %s\n" % " ".join(arguments))
            log.flush()
            begin = log.tell()
            result = subprocess.run(["./bazelw"] + list(arguments), cwd=self.folder, stdin=subprocess.DEVNULL,
                                    stdout=log, stderr=subprocess.STDOUT, check=False)
        with open(self.log, encoding="utf-8", errors="replace") as log:
            log.seek(begin)
            output = log.read()
        if result.returncode != 0:
            last = "\n".join(output.split("\n")[-LAST_LINES:])
            raise Failure("./bazelw %s exited with %d:\n%s" % (" ".join(arguments), result.returncode, last))
        return output

    def run(self, target, *arguments):
        return self.bazel("run", target, "--", *arguments)

    def own_parts(self):
        parts = set()
        for name in sorted(os.listdir(self.folder)):
            if name.endswith(".cc"):
                with open(os.path.join(self.folder, name), encoding="utf-8") as file:
                    parts.update(REGISTRATION.findall(file.read()))
        return sorted(parts)

    def analyse(self):
        self.bazel("build", "--nobuild", "//...")
        return "all labels are found and visible"

    def build(self):
        actions = re.findall(r"(\d+) total actions?", self.bazel("build", "--show_result=1", "//..."))
        return "%s actions" % actions[-1] if actions else ""

    def train(self):
        output = self.run("//:visits", "train")
        checkpoints = os.path.join(self.folder, "out", "checkpoints")
        if not os.path.isdir(checkpoints) or not any(name.startswith("step-") for name in os.listdir(checkpoints)):
            raise Failure("training left no checkpoint in %s" % checkpoints)
        return require(output, r"stopped \(the loss is small enough\)[^\n]*", "the stop of stop_at_loss")

    def edit(self):
        with open(os.path.join(self.folder, "linear_model.cc"), "a", encoding="utf-8") as file:
            file.write("\nint edited_at_%d() { return %d; }\n" % (os.getpid(), os.getpid()))
        shutil.rmtree(os.path.join(self.folder, "out"))  # or the finished run would be resumed
        return self.train()

    def list(self):
        return self.parts_of("//:visits")

    def parts_of(self, program):
        output = self.run(program, "list")
        for part in self.own_parts():
            require(output, r"\b%s\b" % part, "the part %s" % part)
        if "ambiguous" in output:
            raise Failure("two parts have one name:\n%s" % output)
        return "has " + ", ".join(self.own_parts())

    def test(self):
        output = self.bazel("test", "--test_output=all", "//...")
        return require(output, r"\[  PASSED  \] \d+ tests", "the number of passed tests")

    def macros(self):
        shutil.copy(os.path.join(ROOT, "examples", "plugins", "ids_per_example.cc"), self.folder)
        path = os.path.join(self.folder, "BUILD.bazel")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(LOADS + text + MACROS)
        self.bazel("build", "//:job", "//:ids_per_example.so")
        self.parts_of("//:job")
        # A plugin must not lie behind a symbolic link, as bazel-bin is, nor be writable by others.
        plugins = os.path.join(self.folder, "plugins")
        os.makedirs(plugins, mode=0o755, exist_ok=True)
        plugin = os.path.join(plugins, "ids_per_example.so")
        shutil.copy(os.path.join(self.folder, "bazel-bin", "ids_per_example.so"), plugin)
        os.chmod(plugin, 0o644)
        output = self.run("//:job", "plugin", "inspect", plugin)
        require(output, r"\bids_per_example\b", "the hook of the plugin")
        return "a job with these parts, a plugin with its hook"

    def finish(self, keep, is_given):
        if keep:
            self.bazel("shutdown")
            print("kept: %s" % self.directory)
            return
        self.bazel("clean", "--expunge")
        if not is_given:
            shutil.rmtree(self.directory)


def require(output, pattern, what):
    """Returns the last text that matches. Raises Failure."""
    found = [match.group() for match in re.finditer(pattern, output)]
    if not found:
        raise Failure("the output has not %s:\n%s" % (what, "\n".join(output.split("\n")[-LAST_LINES:])))
    return found[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--directory")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--package", type=os.path.abspath)
    parser.add_argument("--analyse", action="store_true")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    directory = os.path.abspath(options.directory or tempfile.mkdtemp(prefix="workspace."))
    build = Build(directory)
    try:
        build.prepare(options.jobs, options.package)
    except Failure as failure:
        print(failure)
        return 1
    print("%s, with %s as @millrace; output of Bazel: %s" %
          (build.folder, options.package or ROOT, build.log), flush=True)
    steps = ["analyse"] if options.analyse else ["analyse", "build", "train", "edit", "list", "test", "macros"]
    step, begin = "", 0
    try:
        for step in steps:
            begin = time.monotonic()
            found = getattr(build, step)()
            print("%-8s %7.1f s  %s" % (step, time.monotonic() - begin, found), flush=True)
    except Failure as failure:
        print("%s failed after %.1f s: %s" % (step, time.monotonic() - begin, failure), flush=True)
        subprocess.run(["./bazelw", "shutdown"], cwd=build.folder, check=False)
        print("kept: %s" % directory)
        return 1
    build.finish(options.keep, options.directory is not None)
    return 0


if __name__ == "__main__":
    sys.exit(main())
