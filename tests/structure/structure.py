"""Checks rules that the compiler does not know; prints a line for each place that breaks one.

  structure.py CHECK ROOT      CHECK: one of the names below; ROOT: the repository

layers   No source includes upward, generated headers included: ROOT/tests/structure/layers.txt has
         the order of folders. No source but a test includes the header of a test helper.
jobs     A package with a millrace_job and examples/ depend on public targets alone.
helpers  A library for tests alone (testonly) has a name that ends in _testing or _conformance. A
         target of such a name, or with such a file, is testonly; no other library or program
         depends on it. tests/, examples/ and third_party/ are exempt.
classes  bazel/precompiled/classes.bzl has the class of each target that its includes ask for.
private  A header among the `srcs` of a library is private: only sources of its folder include it.
closure  The libraries of ROOT/tests/structure/closures.txt need none of the folders that it names.
columns  Lines of .h and .cc files have at most 100 characters, but for raw strings.
format   .h and .cc files are as clang-format writes them. MILLRACE_CLANG_FORMAT names the program.

Exits with 1 if something was printed. A check that finds no file to check prints so.
"""
import concurrent.futures
import fnmatch
import os
import re
import subprocess
import sys

COLUMNS = 100
RAW_STRING = re.compile(r'R"([^(\s]*)\(.*?\)\1"', re.DOTALL)
HELPER = re.compile(r"_(test|testing|conformance)\.(h|cc)$")
HELPER_TARGET = re.compile(r"_(testing|conformance)$")
HELPER_FILE = re.compile(r"_(testing|conformance)\.(h|cc)$")
PUBLIC = "//visibility:public"
OWN_REPOSITORY = "@millrace//"
FREE_FOLDERS = ("tests", "examples", "third_party")


class NothingToCheck(Exception):
  """The repository has no file that a check is about, so the root is likely a wrong one."""


def files_with(root, endings):
  """Paths relative to the root, sorted; not those in hidden folders and in Bazel's links.

  Raises NothingToCheck if there is none.
  """
  found = []
  for folder, folders, names in os.walk(root):
    folders[:] = [f for f in folders if f[0] != "." and not os.path.islink(os.path.join(folder, f))]
    found += [os.path.relpath(os.path.join(folder, n), root) for n in names if n.endswith(endings)]
  if not found:
    raise NothingToCheck("%s: there is no %s file" % (root, " or ".join(endings)))
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
    """Returns the layer of a file; None if its folder has none."""
    stem = os.path.splitext(path)[0]
    for pattern, layer in self.patterns.items():
      if fnmatch.fnmatchcase(stem, pattern):
        return layer
    return self.folders.get(os.path.dirname(path))


def check_layers(root):
  sources = files_with(root, (".h", ".cc"))
  layers = Layers(read(root, "tests/structure/layers.txt"))
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
      # A header of a known folder that is no file is generated.
      if header not in known and os.path.dirname(header) not in layers.folders:
        continue
      if HELPER.search(header):
        yield "%s: includes %s, which is for tests alone" % (path, header)
        continue
      other = layers.of(header)
      same = os.path.dirname(header) == os.path.dirname(path)
      if other is None or other > own or (other == own and not same):
        yield "%s: includes %s, which is no lower layer" % (path, header)


def strings_in(value):
  """Returns all strings in a value of a BUILD file: in lists and dictionaries, however deep."""
  if isinstance(value, str):
    return [value]
  if isinstance(value, dict):
    value = value.values()
  elif not isinstance(value, (list, tuple)):
    return []
  return [text for part in value for text in strings_in(part)]


class Target:
  """A call of a rule or macro in a BUILD file: a target, or files that it exports."""

  def __init__(self, rule, arguments, words):
    self.rule = rule
    self.name = words.get("name", "")
    self.words = words
    self.visibility = words.get("visibility")  # None: that of the package
    self.provides = [self.name]
    if rule == "exports_files":
      self.provides = strings_in(arguments)
      self.visibility = self.visibility or [PUBLIC]
    # Every argument of a macro may become a label of a target.
    words = {word: value for word, value in words.items() if word not in ("name", "visibility")}
    labels = strings_in([arguments, words]) if rule != "package" else []
    self.labels = sorted(text for text in set(labels) if self.is_label(text))

  @staticmethod
  def is_label(text):
    return re.match(r"(//|:|@)[\w./:@+-]+$", text) is not None

  def files(self):
    return strings_in([self.words.get("srcs", []), self.words.get("hdrs", [])])


class Package:
  """The targets of a BUILD file, which is run as Python: loops and nested calls are seen.

  Targets that a macro makes of one call have the visibility of the package.
  """

  def __init__(self, text):
    self.targets = []
    package = self

    class Names(dict):

      def __missing__(self, name):
        return Recorder(package, name)

    names = Names(__builtins__={"len": len, "range": range, "sorted": sorted, "str": str})
    names.update(load=lambda *_, **__: None, glob=lambda *_, **__: [])
    names.update(select=lambda choice: [choice])
    exec(compile(text, "BUILD.bazel", "exec"), names)  # pylint: disable=exec-used
    self.default = self.package_word("default_visibility", [])
    self.testonly = self.package_word("default_testonly", False)
    self.public = {}
    for target in self.targets:
      visibility = self.default if target.visibility is None else target.visibility
      self.public.update((name, PUBLIC in visibility) for name in target.provides)

  def package_word(self, word, default):
    for target in self.targets:
      if target.rule == "package":
        default = target.words.get(word, default)
    return default

  def is_public(self, name):
    return self.public.get(name, PUBLIC in self.default)

  def is_testonly(self, target):
    return target.words.get("testonly", self.testonly)


class Recorder(list):
  """A name that a BUILD file does not define: a rule or macro, or a list, taken as empty."""

  def __init__(self, package, rule):
    super().__init__()
    self.package = package
    self.rule = rule

  def __call__(self, *arguments, **words):
    self.package.targets.append(Target(self.rule, arguments, words))


def packages_of(root):
  """Returns what the BUILD files say, by package."""
  builds = files_with(root, ("BUILD.bazel",))
  return {os.path.dirname(path): Package(read(root, path)) for path in builds}


def absolute(label, package):
  """(package, name) of a label that names a target of this repository or a file, or None."""
  if label.startswith(OWN_REPOSITORY):
    label = label[len(OWN_REPOSITORY) - 2:]
  if label.startswith("@"):
    return None
  if not label.startswith("//"):
    return package, label.lstrip(":")
  package, _, name = label[2:].partition(":")
  return package, name or package.split("/")[-1]


def is_example(package):
  return package.split("/")[0] == "examples"


def check_jobs(root):
  packages = packages_of(root)
  for name, package in sorted(packages.items()):
    if not is_example(name) and all(target.rule != "millrace_job" for target in package.targets):
      continue
    for target in package.targets:
      for label in target.labels:
        other = absolute(label, name)
        if other is None or other[0] == name or is_example(other[0]):
          continue
        if other[0] not in packages or not packages[other[0]].is_public(other[1]):
          yield "//%s:%s depends on %s, which is not public" % (name, target.name, label)


def check_helpers(root):
  for name, package in sorted(packages_of(root).items()):
    if name.split("/")[0] in FREE_FOLDERS:
      continue
    for target in package.targets:
      if target.rule not in ("cc_library", "cc_binary"):
        continue
      where = "//%s:%s" % (name, target.name)
      is_helper = HELPER_TARGET.search(target.name) is not None
      if package.is_testonly(target):
        if target.rule == "cc_library" and not is_helper:
          yield "%s is testonly, but its name ends neither in _testing nor in _conformance" % where
        continue
      if is_helper:
        yield "%s is a helper of tests by its name, but not testonly" % where
      for file in filter(HELPER_FILE.search, target.files()):
        yield "%s has %s, a helper of tests, but is not testonly" % (where, file)
      for label in target.labels:
        other = absolute(label, name)
        if other is not None and HELPER_TARGET.search(other[1]):
          yield "%s is not testonly and depends on %s, a helper of tests" % (where, label)


def check_private(root):
  private = {}  # header -> its target
  public = set()
  for name, package in packages_of(root).items():
    for target in package.targets:
      if target.rule == "cc_library":
        for file in strings_in(target.words.get("srcs", [])):
          if file.endswith(".h"):
            private[os.path.join(name, file)] = "//%s:%s" % (name, target.name)
        public.update(os.path.join(name, file) for file in strings_in(target.words.get("hdrs", [])))
  for path in files_with(root, (".h", ".cc", ".cu")):
    for header in re.findall(r'^\s*#\s*include "([^"]+)"', read(root, path), re.MULTILINE):
      if header in private and header not in public and os.path.dirname(header) != os.path.dirname(path):
        yield "%s: includes %s, which is private to %s" % (path, header, private[header])


def check_closure(root):
  packages = packages_of(root)
  targets = {(name, target.name): target for name, package in packages.items()
             for target in package.targets if target.rule == "cc_library"}
  for line in read(root, "tests/structure/closures.txt").splitlines():
    if not line or line.startswith("#"):
      continue
    start, _, forbidden = line.partition(":: ")
    start = absolute(start, "")
    if start not in targets:
      yield "tests/structure/closures.txt: there is no //%s:%s" % start
      continue
    forbidden = forbidden.split()
    way = {start: None}  # target -> the one that needs it
    left = [start]
    while left:
      at = left.pop()
      if any(fnmatch.fnmatch("%s:%s" % at, pattern) for pattern in forbidden):
        names = []
        while at is not None:
          names.insert(0, "//%s:%s" % at)
          at = way[at]
        yield " needs ".join(names)
        continue
      for label in strings_in(targets[at].words.get("deps", [])) if at in targets else []:
        other = absolute(label, at[0])
        if other is not None and other not in way:
          way[other] = at
          left.append(other)


def check_classes(root):
  result = subprocess.run([sys.executable, "-B", os.path.join(root, "bazel/precompiled/classify")],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
  if result.returncode != 0:
    yield result.stdout.strip()


def check_columns(root):
  for path in files_with(root, (".h", ".cc")):
    text = RAW_STRING.sub(lambda raw: re.sub(r"[^\n]", "", raw.group()), read(root, path))
    for number, line in enumerate(text.split("\n"), 1):
      if len(line) > COLUMNS:
        yield "%s:%d: %d characters" % (path, number, len(line))


def check_format(root):
  paths = files_with(root, (".h", ".cc"))
  program = os.environ["MILLRACE_CLANG_FORMAT"]

  def check(first):
    return subprocess.run(
        [program, "--dry-run", "--ferror-limit=1", "-Werror"] + paths[first:first + 50],
        cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)

  with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
    for result in threads.map(check, range(0, len(paths), 50)):
      if result.returncode != 0:
        yield result.stdout.strip()


CHECKS = {
    "layers": check_layers,
    "closure": check_closure,
    "jobs": check_jobs,
    "helpers": check_helpers,
    "classes": check_classes,
    "private": check_private,
    "columns": check_columns,
    "format": check_format,
}


def main():
  try:
    broken = list(CHECKS[sys.argv[1]](sys.argv[2]))
  except NothingToCheck as nothing:
    broken = [str(nothing)]
  for line in broken:
    print(line)
  return 1 if broken else 0


if __name__ == "__main__":
  sys.exit(main())
