"""Writes millrace-dev-VERSION-linux-x86_64.tar.gz, against which programs of other repositories build.

  developer.py --output FOLDER --manifest FILE --version_header FILE --files FILE...

The package is a repository for Bazel with the labels of this one. `--files` stand in it as they stand here;
each target of the manifest (developer.bzl) becomes one with its headers, its archive and its dependences.
The same inputs give the same bytes.
"""
import argparse
import collections
import json
import os
import sys

from package_parts import Entry, PackageError, read_version
from tarball import write_tarball

# What BUILD files load for rules of these kinds.
LOADS = {
    "cc_binary": ("@rules_cc//cc:defs.bzl", "cc_binary"),
    "cc_library": ("@rules_cc//cc:defs.bzl", "cc_library"),
    "exported_symbols": ("//plugin:plugin_rules.bzl", "exported_symbols"),
}
INSIDE = ["//:__subpackages__"]
PUBLIC = ["//visibility:public"]
PROTOS = '''exports_files(
    glob(["*.proto"]),
    visibility = ["//visibility:public"],
)

filegroup(
    name = "config_imports",
    srcs = glob(["*.proto"]),
    visibility = ["//visibility:public"],
)
'''
NOT_COMPILED = ("//bazel/",)  # precompiled headers, which a compiled library no longer needs


def in_package(names, package):
  """Returns the names of files of the package relative to it. Raises PackageError for one of another."""
  prefix = package + "/" if package else ""
  strangers = [name for name in names if not name.startswith(prefix)]
  if strangers:
    raise PackageError("//%s has the file %s of another package" % (package, strangers[0]))
  return sorted(name[len(prefix):] for name in names)


def rule_of(part, package, name):
  """Returns the text of the target in the BUILD file of the package."""
  words = {"name": name}
  if part["testonly"]:
    words["testonly"] = True
  if part["kind"] == "exported_symbols":
    words["list"] = in_package(part["sources"], package)[0]
  elif part["kind"] == "cc_binary":
    words["srcs"] = in_package(part["sources"], package)
  else:
    words["srcs"] = in_package(part["archives"], package)
    words["hdrs"] = in_package(part["headers"], package)
    words["alwayslink"] = part["always"]
    words["linkopts"] = part["linkopts"]
  words["visibility"] = PUBLIC if part["public"] else INSIDE
  if part["kind"] != "exported_symbols":
    words["deps"] = sorted(dep for dep in part["deps"] if not dep.startswith(NOT_COMPILED))
  lines = ["    %s = %s,\n" % (word, json.dumps(value) if isinstance(value, (str, list)) else value)
           for word, value in words.items() if value not in ([], False)]
  return "%s(\n%s)\n" % (part["kind"], "".join(lines))


def build_file(package, parts, files):
  """Returns the text of the BUILD file of a package; `files` are those that stand in it."""
  loads = {LOADS[part["kind"]] for part in parts}
  text = ["load(\"%s\", \"%s\")\n" % load for load in sorted(loads)]
  exported = [name for name in in_package(files, package) if not name.endswith(".proto")]
  if exported:
    text.append("exports_files(%s, visibility = %s)\n" % (json.dumps(exported), json.dumps(PUBLIC)))
  if package == "proto":
    text.append(PROTOS)
  text += [rule_of(part, package, part["label"].rpartition(":")[2]) for part in parts]
  return "\n".join(text)


def entries_of(parts, files):
  """Returns the entries of the package. `files`: paths by names in the repository."""
  entries = {name: path for name, path in files.items()}
  packages = collections.defaultdict(list)
  for part in parts:
    if part["kind"] not in LOADS:
      raise PackageError("%s is of a rule that the package cannot hold: %s" % (part["label"], part["kind"]))
    packages[part["label"][len("//"):].partition(":")[0]].append(part)
    for kind in ("headers", "archives", "sources"):
      entries.update(part[kind])
  for package, own in packages.items():
    build = os.path.join(package, "BUILD.bazel")
    if build in files:
      continue  # stands as it is
    stand = [name for name in files if os.path.dirname(name) == package]
    entries[build] = build_file(package, sorted(own, key=lambda part: part["label"]), stand).encode()
  return [Entry(name, data, name == "bazelw" or name == "bazel/show_progress")
          for name, data in sorted(entries.items())]


def main():
  parser = argparse.ArgumentParser(allow_abbrev=False)
  for flag in ("output", "manifest", "version_header"):
    parser.add_argument("--" + flag, required=True)
  parser.add_argument("--files", nargs="+", required=True)
  flags = parser.parse_args()
  with open(flags.manifest, encoding="utf-8") as file:
    parts = json.load(file)
  name = "millrace-dev-%s-linux-x86_64" % read_version(flags.version_header)
  files = {path: path for path in flags.files}
  write_tarball(os.path.join(flags.output, name + ".tar.gz"), name, entries_of(parts, files))


if __name__ == "__main__":
  try:
    main()
  except (PackageError, OSError) as error:
    sys.exit("developer package: %s" % error)
