"""Checks rules that the compiler does not know; prints a line for each place that breaks one.

  structure.py CHECK ROOT      CHECK: layers, jobs, columns or format; ROOT: the repository

layers   No source includes upward: ROOT/tests/structure/layers.txt has the order of folders.
jobs     A package with a millrace_job and examples/ depend on public targets alone.
columns  Lines of .h and .cc files have at most 100 characters, but for raw strings.
format   .h and .cc files are as clang-format writes them. MILLRACE_CLANG_FORMAT names the program.

Exits with 1 if something was printed.
"""
import ast
import fnmatch
import os
import re
import subprocess
import sys

COLUMNS = 100
RAW_STRING = re.compile(r'R"([^(\s]*)\(.*?\)\1"', re.DOTALL)
HELPER = re.compile(r"_(test|testing|conformance)\.(h|cc)$")
PUBLIC = "//visibility:public"
FREE_FOLDERS = ("tests", "examples", "third_party")


def files_with(root, endings):
  """Paths relative to the root, sorted; not those in hidden folders and in Bazel's links."""
  found = []
  for folder, folders, names in os.walk(root):
    folders[:] = [f for f in folders if f[0] != "." and not os.path.islink(os.path.join(folder, f))]
    found += [os.path.relpath(os.path.join(folder, n), root) for n in names if n.endswith(endings)]
  return sorted(found)


def read(root, path):
  with open(os.path.join(root, path), encoding="utf-8") as file:
    return file.read()


class Layers:
  """Where a file stands in the order of layers.txt."""

  def __init__(self, text):
    self.folders = {}  # folder -> layer
    self.patterns = {}  # folder/pattern of names without ending -> layer
    lines = [line for line in text.split("\n") if line and not line.startswith("#")]
    for layer, line in enumerate(lines):
      folders, _, names = line.partition(":")
      for name in names.split():
        self.patterns[folders + "/" + name] = layer
      if not names:
        for folder in folders.split():
          self.folders[folder] = layer

  def of(self, path):
    """The layer of a file; None if its folder has none."""
    stem = os.path.splitext(path)[0]
    for pattern, layer in self.patterns.items():
      if fnmatch.fnmatchcase(stem, pattern):
        return layer
    return self.folders.get(os.path.dirname(path))


def check_layers(root):
  layers = Layers(read(root, "tests/structure/layers.txt"))
  sources = files_with(root, (".h", ".cc"))
  known = set(sources)
  for folder in sorted(layers.folders):
    if not any(os.path.dirname(path) == folder for path in sources):
      yield "tests/structure/layers.txt: there is no folder %s" % folder
  for pattern in sorted(layers.patterns):
    if not fnmatch.filter(sources, pattern + ".h"):
      yield "tests/structure/layers.txt: there is no %s.h" % pattern
  for path in sources:
    if HELPER.search(path) or path.split("/")[0] in FREE_FOLDERS:
      continue
    own = layers.of(path)
    if own is None:
      yield "%s: its folder is not in tests/structure/layers.txt" % path
      continue
    for header in re.findall(r'^#include "([^"]+)"', read(root, path), re.MULTILINE):
      if header not in known:
        continue
      other = layers.of(header)
      same = os.path.dirname(header) == os.path.dirname(path)
      if other is None or other > own or (other == own and not same):
        yield "%s: includes %s, which is no lower layer" % (path, header)


def strings_in(node):
  nodes = ast.walk(node) if node is not None else []
  return [n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)]


class Call:
  """A call at the top level of a BUILD file: a target, or files that it exports."""

  def __init__(self, node, default_visibility):
    words = {word.arg: word.value for word in node.keywords}
    self.rule = node.func.id
    self.name = "".join(strings_in(words.get("name")))
    self.labels = []
    for word in ("actual", "config", "data", "deps", "hdrs", "proto_deps", "srcs"):
      self.labels += strings_in(words.get(word))
    visibility = strings_in(words.get("visibility")) or default_visibility
    self.provides = [self.name]
    if self.rule == "exports_files":
      visibility = strings_in(words.get("visibility")) or [PUBLIC]
      self.provides = strings_in(node.args[0])
    self.is_public = PUBLIC in visibility


class Package:
  """What a BUILD file says. Targets that a loop makes have the visibility of the package."""

  def __init__(self, text):
    nodes = [s.value for s in ast.parse(text).body if isinstance(s, ast.Expr)]
    nodes = [n for n in nodes if isinstance(n, ast.Call)]
    default = []
    for word in [w for node in nodes if node.func.id == "package" for w in node.keywords]:
      if word.arg == "default_visibility":
        default = strings_in(word.value)
    self.calls = [Call(node, default) for node in nodes]
    self.public = {name: call.is_public for call in self.calls for name in call.provides}
    self.others_are_public = PUBLIC in default

  def is_public(self, name):
    return self.public.get(name, self.others_are_public)


def absolute(label, package):
  """(package, name) of a label that names a target of this repository or a file, or None."""
  if label.startswith("@"):
    return None
  if not label.startswith("//"):
    return package, label.lstrip(":")
  package, _, name = label[2:].partition(":")
  return package, name or package.split("/")[-1]


def is_example(package):
  return package.split("/")[0] == "examples"


def check_jobs(root):
  builds = files_with(root, ("BUILD.bazel",))
  packages = {os.path.dirname(path): Package(read(root, path)) for path in builds}
  for name, package in sorted(packages.items()):
    if not is_example(name) and all(call.rule != "millrace_job" for call in package.calls):
      continue
    for call in package.calls:
      for label in sorted(set(call.labels)):
        other = absolute(label, name)
        if other is None or other[0] == name or is_example(other[0]):
          continue
        if other[0] not in packages or not packages[other[0]].is_public(other[1]):
          yield "//%s:%s depends on %s, which is not public" % (name, call.name, label)


def check_columns(root):
  for path in files_with(root, (".h", ".cc")):
    text = RAW_STRING.sub(lambda raw: re.sub(r"[^\n]", "", raw.group()), read(root, path))
    for number, line in enumerate(text.split("\n"), 1):
      if len(line) > COLUMNS:
        yield "%s:%d: %d characters" % (path, number, len(line))


def check_format(root):
  program = os.environ["MILLRACE_CLANG_FORMAT"]
  paths = files_with(root, (".h", ".cc"))
  for first in range(0, len(paths), 50):
    result = subprocess.run(
        [program, "--dry-run", "--ferror-limit=1", "-Werror"] + paths[first:first + 50],
        cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if result.returncode != 0:
      yield result.stdout.strip()


CHECKS = {
    "layers": check_layers,
    "jobs": check_jobs,
    "columns": check_columns,
    "format": check_format,
}


def main():
  broken = list(CHECKS[sys.argv[1]](sys.argv[2]))
  for line in broken:
    print(line)
  return 1 if broken else 0


if __name__ == "__main__":
  sys.exit(main())
