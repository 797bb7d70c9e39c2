"""Checks that examples/workspace uses nothing but what this repository gives other ones, and that
docs/extending.md and docs/conformance.md show files of this repository as they are.

  check_workspace.py ROOT [WORKSPACE]      ROOT: this repository; WORKSPACE: ROOT/examples/workspace
  check_workspace.py ROOT --docs DOCS      DOCS: ROOT/docs

Prints a line for each of these that does not hold:

  WORKSPACE and BUILD files load files of ROOT that exist, and names that those define. The
  repository has the name that ROOT's WORKSPACE gives it. Targets depend on public targets.
  Sources include headers of ROOT that exist and belong to a target that their own target names, or
  that a target of ROOT/BUILD.bazel in its deps has. Macros and names of namespace millrace occur in
  these headers or in headers that those include.
  The configuration names parts and extensions that are registered and declared, among them every
  part of the workspace.
  .bazelrc has the flags in FLAGS, as ROOT's has.
  Without an argument WORKSPACE, also: ROOT/.bazelignore has the folder, and extending.md shows the
  files as they are, or names those that it copies.
  Without an argument WORKSPACE, also: an excerpt of the pages that is introduced by the path of a
  file has at most EXCERPT_LINES lines, and the file has these lines, in this order and apart from
  their indentation; empty lines and lines "// …" stand for lines that are omitted. conformance.md
  has a section for each family in the tables of extending.md, in their order. The section names the
  header of the suite and has an excerpt that registers the suite.

Nothing is built. Exits with 1 if something was printed; build_workspace.py builds and runs all.
"""
import argparse
import ast
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "structure"))
import structure  # pylint: disable=wrong-import-position

FOLDER = "examples/workspace"
PAGE = "extending.md"
SECTION = "A workspace of your own"
FAMILIES, SUITES = "Families", "Tests"  # sections of PAGE whose tables have a row for each family
CONFORMANCE_PAGE = "conformance.md"
EXCERPT_LINES = 30
OMITTED = "// …"
COPIED = (".cc", ".log")  # the page has a command that copies such files, and need not show them
OWN_REPOSITORY = structure.OWN_REPOSITORY
# What a build of Millrace needs wherever it is built.
FLAGS = (
    "--cxxopt=-std=c++20",
    "--host_cxxopt=-std=c++20",
    "--copt=-ffp-contract=off",
    "--force_pic",
    "--spawn_strategy=local",
    "--incompatible_strict_action_env",
)
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
MACRO = re.compile(r"\b(MILLRACE_\w+|ASSIGN_OR_RETURN|RETURN_IF_ERROR)\b")
NAME = re.compile(r"\bmillrace::(\w+)")
PART = re.compile(r'\b(?:custom\w*|model|hooks)\s*\{\s*name:\s*"(\w+)"')
REGISTRATION = re.compile(r"^MILLRACE_REGISTER_\w+\(\s*(\w+)", re.MULTILINE)
COMMENT = re.compile(r"//[^\n]*")
GENERATED = ".pb.h"


def absent(label):
  return "%s, which does not exist" % label


def code_of(text):
  return COMMENT.sub("", text)


class Repository:
  """What ROOT gives: targets with their visibility, headers with their targets."""

  def __init__(self, root):
    self.root = root
    self.packages = structure.packages_of(root)
    self.owners = {}  # header -> labels of the targets that have it
    for folder, package in self.packages.items():
      for target in package.targets:
        for file in structure.strings_in(target.words.get("hdrs", [])):
          self._add(folder, file, target)
        source = target.words.get("src", "")
        if target.rule == "millrace_cc_proto":
          self._add(folder, source[:-len(".proto")] + GENERATED, target)
    self.texts = {}  # header -> its code and that of all headers it includes

  def _add(self, folder, file, target):
    self.owners.setdefault(os.path.join(folder, file), set()).add((folder, target.name))

  def has_file(self, path):
    return os.path.isfile(os.path.join(self.root, path))

  def read(self, path):
    return structure.read(self.root, path)

  def state_of(self, label):
    """Returns what is wrong with a dependence on a label, or None."""
    folder, name = structure.absolute(label, "")
    package = self.packages.get(folder)
    if package is None:
      return absent(label)
    known = name in package.public
    if not known and not self.has_file(os.path.join(folder, name)):
      return absent(label)
    return None if known and package.is_public(name) else "%s, which is private" % label

  def targets_behind(self, label):
    """Returns the target of a label and, if it is one of ROOT/BUILD.bazel, those that it names."""
    found, left = set(), [structure.absolute(label, "")]
    while left:
      target = left.pop()
      if target in found:
        continue
      found.add(target)
      if target[0] == "":
        left += self._named_by(target[1])
    return found

  def _named_by(self, name):
    """Returns the targets that a target of ROOT/BUILD.bazel names."""
    return [structure.absolute(label, "") for target in self.packages[""].targets
            if target.name == name for label in target.labels]

  def text_of(self, header):
    """Returns the code of a header and of all headers of ROOT that it includes."""
    if header not in self.texts:
      seen, left = {}, [header]
      while left:
        path = left.pop()
        source = path[:-len(GENERATED)] + ".proto" if path.endswith(GENERATED) else path
        if path in seen or not self.has_file(source):
          continue
        text = self.read(source)
        seen[path] = code_of(text)
        left += INCLUDE.findall(text)
        left += [name[:-len(".proto")] + GENERATED
                 for name in re.findall(r'^import "([^"]+)"', text, re.MULTILINE)]
      self.texts[header] = "\n".join(seen.values())
    return self.texts[header]


class Workspace:
  """The files of the workspace and what its BUILD file says."""

  def __init__(self, folder):
    self.folder = folder
    self.files = sorted(name for name in os.listdir(folder) if not name.startswith("bazel-"))
    self.package = structure.Package(self.read("BUILD.bazel"))

  def read(self, name):
    return structure.read(self.folder, name)

  def with_ending(self, ending):
    return [name for name in self.files if name.endswith(ending)]

  def labels_behind(self, target):
    """Returns the labels of ROOT that a target names, itself or through targets of its own."""
    found, seen, left = [], set(), [target]
    while left:
      each = left.pop()
      if each.name in seen:
        continue
      seen.add(each.name)
      for label in each.labels:
        if label.startswith(OWN_REPOSITORY):
          found.append(label)
        else:
          left += [other for other in self.package.targets if other.name == label.lstrip(":")]
    return found


def calls_in(text):
  """Returns name and arguments of each call at the top of a BUILD file, keywords among them."""
  for node in ast.parse(text).body:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
      call = node.value
      words = {word.arg: word.value for word in call.keywords}
      yield call.func.id, call.args, words


def check_loads(repository, workspace):
  for name in ("WORKSPACE", "BUILD.bazel"):
    for rule, arguments, _ in calls_in(workspace.read(name)):
      if rule != "load" or not arguments[0].value.startswith(OWN_REPOSITORY):
        continue
      label, loaded = arguments[0].value, [argument.value for argument in arguments[1:]]
      folder, file = structure.absolute(label, "")
      if folder not in repository.packages or not repository.has_file(os.path.join(folder, file)):
        yield "%s loads %s" % (name, absent(label))
        continue
      text = repository.read(os.path.join(folder, file))
      for symbol in loaded:
        if not re.search(r"^(def %s\(|%s = )" % (symbol, symbol), text, re.MULTILINE):
          yield "%s loads %s of %s, which does not define it" % (name, symbol, label)


def check_name(repository, workspace):
  own = [words["name"].value for rule, _, words in calls_in(repository.read("WORKSPACE"))
         if rule == "workspace"]
  names = [words["name"].value for rule, _, words in calls_in(workspace.read("WORKSPACE"))
           if rule.endswith(("local_repository", "http_archive"))]
  if not set(own) & set(names):
    yield "WORKSPACE declares no repository %s" % " ".join(own)


def check_labels(repository, workspace):
  for target in workspace.package.targets:
    for label in target.labels:
      if label.startswith(OWN_REPOSITORY):
        wrong = repository.state_of(label)
        if wrong:
          yield "//:%s depends on %s" % (target.name, wrong)


def own_headers(workspace):
  """Returns the headers that the workspace has, files and generated ones."""
  protos = [name[:-len(".proto")] + GENERATED for name in workspace.with_ending(".proto")]
  return set(workspace.with_ending(".h") + protos)


def check_headers(repository, workspace):
  own = own_headers(workspace)
  for target in workspace.package.targets:
    sources = [file for file in target.files() if file.endswith((".h", ".cc"))]
    reached = set()
    for label in workspace.labels_behind(target) if sources else []:
      reached |= repository.targets_behind(label)
    for source in sources:
      for header in INCLUDE.findall(workspace.read(source)):
        if header in own or header.startswith("absl/"):
          continue
        where = "//:%s: %s includes %s" % (target.name, source, header)
        owners = repository.owners.get(header, set())
        if not owners:
          yield "%s, which %s" % (where, "no target has" if repository.has_file(header)
                                  else "does not exist")
        elif not owners & reached:
          owner = "//%s:%s" % min(owners)
          yield "%s of %s, which no public target in its deps has" % (where, owner)


def code_behind(repository, workspace, source):
  """Returns the code of all headers of ROOT that a source reaches."""
  headers, seen = [], set()
  left = [source]
  while left:
    name = left.pop()
    if name in seen:
      continue
    seen.add(name)
    if name.endswith(GENERATED) and name[:-len(GENERATED)] + ".proto" in workspace.files:
      proto = workspace.read(name[:-len(GENERATED)] + ".proto")
      headers += [each[:-len(".proto")] + GENERATED
                  for each in re.findall(r'^import "([^"]+)"', proto, re.MULTILINE)]
    elif name in workspace.files:
      left += INCLUDE.findall(workspace.read(name))
    else:
      headers.append(name)
  return "\n".join(repository.text_of(header) for header in headers)


def check_names(repository, workspace):
  for source in workspace.with_ending((".h", ".cc")):
    text, known = code_of(workspace.read(source)), code_behind(repository, workspace, source)
    for macro in sorted(set(MACRO.findall(text))):
      if not re.search(r"#define %s\b" % macro, known):
        yield "%s uses %s, which no header defines that it includes" % (source, macro)
    for name in sorted(set(NAME.findall(text))):
      if not re.search(r"\b%s\b" % name, known):
        yield "%s uses millrace::%s, which no header has that it includes" % (source, name)


def registered_in(folder, names):
  return {part for name in names for part in REGISTRATION.findall(structure.read(folder, name))}


def is_ready(path):
  """Returns true for a file of Millrace itself, not of its tests and examples."""
  return not structure.HELPER.search(path) and path.split("/")[0] not in structure.FREE_FOLDERS


def extensions_in(text):
  """Returns the extensions that a .proto declares, as PACKAGE.NAME."""
  text = code_of(text)
  package = re.search(r"^package (\S+);", text, re.MULTILINE)
  for body in re.findall(r"^extend [\w.]+ \{(.*?)^\}", text, re.MULTILINE | re.DOTALL):
    for name in re.findall(r"(\w+) = \d+", body):
      yield "%s.%s" % (package.group(1), name)


def check_configurations(repository, workspace):
  sources, protos = [list(filter(is_ready, structure.files_with(repository.root, (ending,))))
                     for ending in (".cc", ".proto")]
  own = registered_in(workspace.folder, workspace.with_ending(".cc"))
  ready = registered_in(repository.root, sources)
  declared = {name for text in list(map(workspace.read, workspace.with_ending(".proto"))) +
              list(map(repository.read, protos)) for name in extensions_in(text)}
  for part in sorted(own & ready):
    yield "the part %s has the name of a part of Millrace" % part
  used = set()
  for name in workspace.with_ending(".textproto"):
    text = re.sub(r"#[^\n]*", "", workspace.read(name))
    parts = set(PART.findall(text))
    used |= parts
    for part in sorted(parts - own - ready):
      yield "%s names the part %s, which nothing registers" % (name, part)
    for extension in sorted(set(re.findall(r"\[([a-z_]\w*\.\w+)\]", text)) - declared):
      yield "%s has [%s], which no .proto declares" % (name, extension)
  for part in sorted(own - used):
    yield "no configuration names the part %s" % part


def flags_of(text):
  return set(re.sub(r"#[^\n]*", "", text).split())


def check_flags(repository, workspace):
  for flag in FLAGS:
    for where, text in (("ROOT/.bazelrc", repository.read(".bazelrc")),
                        (".bazelrc", workspace.read(".bazelrc"))):
      if flag not in flags_of(text):
        yield "%s lacks %s" % (where, flag)


def section_of(text, title):
  """Returns the text of a page below "## TITLE"."""
  return re.split(r"^## ", text.partition("\n## %s\n" % title)[2], flags=re.MULTILINE)[0]


def shown_in(text):
  """Returns name and text of the blocks that show a file: "`NAME`:", an empty line and a block."""
  return re.findall(r"`([\w./]+)`:\n\n```\w*\n(.*?)```\n", text, re.DOTALL)


def is_excerpt(name):
  """Returns true for files of ROOT, which have a folder. Files of the workspace have none."""
  return "/" in name


def check_page(repository, workspace, docs):
  if FOLDER not in repository.read(".bazelignore").split("\n"):
    yield ".bazelignore lacks %s" % FOLDER
  section = section_of(structure.read(docs, PAGE), SECTION)
  shown = {name: text for name, text in shown_in(section) if not is_excerpt(name)}
  for name in sorted(set(shown) - set(workspace.files)):
    yield "%s shows %s, which %s does not have" % (PAGE, name, FOLDER)
  for name in workspace.files:
    if name in shown and shown[name] != workspace.read(name):
      yield "%s shows another %s than that of %s" % (PAGE, name, FOLDER)
    elif name not in shown and not name.endswith(COPIED):
      yield "%s does not show %s of %s" % (PAGE, name, FOLDER)
    elif "`%s`" % name not in section:
      yield "%s does not name %s of %s" % (PAGE, name, FOLDER)


def pieces_of(excerpt):
  """Returns the lines of each piece of an excerpt that has no omitted lines."""
  pieces = [[]]
  for line in map(str.strip, excerpt.split("\n")):
    if line in ("", OMITTED):
      pieces.append([])
    else:
      pieces[-1].append(line)
  return [piece for piece in pieces if piece]


def missing_piece(excerpt, text):
  """Returns the first piece of an excerpt that a text does not have behind the others, or None."""
  lines, begin = [line.strip() for line in text.split("\n")], 0
  for piece in pieces_of(excerpt):
    places = [place for place in range(begin, len(lines) - len(piece) + 1)
              if lines[place:place + len(piece)] == piece]
    if not places:
      return piece
    begin = places[0] + len(piece)
  return None


def check_excerpts(repository, docs):
  for page in (PAGE, CONFORMANCE_PAGE):
    for name, excerpt in shown_in(structure.read(docs, page)):
      if not is_excerpt(name):
        continue
      if not repository.has_file(name):
        yield "%s shows %s, which does not exist" % (page, name)
        continue
      missing = missing_piece(excerpt, repository.read(name))
      if missing:
        yield '%s shows lines that %s does not have, from "%s"' % (page, name, missing[0])
      count = excerpt.count("\n")
      if count > EXCERPT_LINES:
        yield "%s shows %d lines of %s; at most %d" % (page, count, name, EXCERPT_LINES)


def rows_of(section):
  """Returns the cells of each row of a table, apart from the head."""
  rows = [line.strip("| ").split(" | ") for line in section.split("\n") if line.startswith("|")]
  return rows[2:]


def check_families(docs):
  extending, conformance = structure.read(docs, PAGE), structure.read(docs, CONFORMANCE_PAGE)
  suites = {family: re.findall(r"`([^`]+)`", suite)
            for family, suite, _ in rows_of(section_of(extending, SUITES))}
  families = [row[0] for row in rows_of(section_of(extending, FAMILIES))]
  if list(suites) != families:
    yield "%s has other families in the table of %s than in that of %s" % (PAGE, SUITES, FAMILIES)
  titles = re.findall(r"^## (.*)$", conformance, re.MULTILINE)
  # A family begins in small letters, unless with a name.
  named = {family.lower(): family for family in families}
  if [named.get(title.lower()) for title in titles] != families:
    yield "%s has the sections %s; they must be the families of %s: %s" % (
        CONFORMANCE_PAGE, ", ".join(titles), PAGE, ", ".join(families))
  for title in titles:
    function, header = suites.get(named.get(title.lower()), ("", ""))
    section = section_of(conformance, title)
    if "`%s`" % header not in section:
      yield "%s does not name %s in the section %s" % (CONFORMANCE_PAGE, header, title)
    if not any(function + "(" in excerpt for _, excerpt in shown_in(section)):
      yield "%s has no excerpt with %s in the section %s" % (CONFORMANCE_PAGE, function, title)


CHECKS = (check_name, check_loads, check_labels, check_headers, check_names, check_configurations,
          check_flags)


def broken_in_docs(repository, workspace, docs):
  yield from check_page(repository, workspace, docs)
  yield from check_excerpts(repository, docs)
  yield from check_families(docs)


def main():
  parser = argparse.ArgumentParser(allow_abbrev=False)
  parser.add_argument("root")
  parser.add_argument("workspace", nargs="?")
  parser.add_argument("--docs")
  arguments = parser.parse_args()
  repository = Repository(arguments.root)
  workspace = Workspace(arguments.workspace or os.path.join(arguments.root, FOLDER))
  broken = [line for check in CHECKS for line in check(repository, workspace)]
  if arguments.workspace is None:
    docs = arguments.docs or os.path.join(arguments.root, "docs")
    broken += broken_in_docs(repository, workspace, docs)
  for line in broken:
    print(line)
  return 1 if broken else 0


if __name__ == "__main__":
  sys.exit(main())
