#!/usr/bin/python3 -B
"""Tests what makes the packages and what starts the program in them."""
import base64
import contextlib
import csv
import fnmatch
import hashlib
import importlib.util
import io
import os
import re
import runpy
import subprocess
import sys
import tarfile
import tempfile
import time
import types
import unittest
import unittest.mock
import zipfile

FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(FOLDER, "..", "..")
sys.path[:0] = [FOLDER, os.path.join(ROOT, "tests", "structure")]
# pylint: disable=wrong-import-position
import carried_libraries
import developer
import licences
import package_parts
import structure
import tarball
import wheel
from elf_file import ElfError, ElfFile
from package_parts import Entry, PackageError, Parts


def run(*command, **environment):
  return subprocess.run(command, env=environment or None, check=True, stdout=subprocess.PIPE,
                        universal_newlines=True).stdout


class FolderTest(unittest.TestCase):
  """A test with a folder of its own."""

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.folder = os.path.realpath(folder.name)

  def path(self, name):
    return os.path.join(self.folder, name)

  def write(self, name, text):
    os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
    with open(self.path(name), "w", encoding="utf-8") as file:
      file.write(text)
    return self.path(name)

  def compile(self, name, source, *flags):
    os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
    text = self.write(name + ".cc", source)
    run("g++", "-o", self.path(name), text, *flags)
    return self.path(name)

  def library(self, name, value, *flags):
    """A library whose function NAME returns a number."""
    source = "int %s() { return %s; }" % (name, value)
    return self.compile("built/lib%s.so" % name, source, "-shared", "-fPIC",
                        "-Wl,-soname,lib%s.so" % name, *flags)

  def program(self, links="outer inner", inner=()):
    """A program that prints the number of library `outer`, which takes it from `inner`."""
    self.library("inner", 7, *inner)
    self.compile("built/libouter.so", "int inner(); int outer() { return inner(); }", "-shared",
                 "-fPIC", "-Wl,-soname,libouter.so", "-L" + self.path("built"), "-linner")
    return self.compile(
        "program", '#include <cstdio>\nint outer(); int main() { std::printf("%d", outer()); }',
        "-L" + self.path("built"), "-Wl,-rpath-link," + self.path("built"), "-Wl,--no-as-needed",
        "-Wl,--enable-new-dtags,-rpath,%s/a/long/path:$ORIGIN/built" % self.folder,
        *["-l" + name for name in links.split()])


class ElfTest(FolderTest):

  def open(self, path):
    with open(path, "rb") as file:
      return ElfFile(file.read(), path)

  def test_reads_what_the_loader_needs(self):
    elf = self.open(self.program())
    self.assertEqual(elf.needed[:2], ["libouter.so", "libinner.so"])
    self.assertEqual(elf.search_path, [self.folder + "/a/long/path", "$ORIGIN/built"])
    self.assertIsNone(elf.soname)
    self.assertEqual(self.open(self.path("built/libinner.so")).soname, "libinner.so")

  def test_floor_is_the_newest_version_of_a_symbol(self):
    # The first version of x86-64, and that of a function that came in glibc 2.36.
    for call, floor in (("1", ()), ('std::getenv("A")', (2, 2, 5)),
                        ("(std::getenv(\"A\"), arc4random())", (2, 36))):
      source = "#include <cstdlib>\nauto value() { return %s; }" % call
      library = self.compile("library.so", source, "-shared", "-fPIC", "-nostartfiles")
      self.assertEqual(self.open(library).glibc_floor(), floor)

  def move_libraries(self, program):
    """Replaces the search path and moves the libraries to where it points."""
    changed = self.open(program).with_rpath("$ORIGIN/../lib")
    os.makedirs(self.path("bin"))
    with open(self.path("bin/program"), "wb") as file:
      file.write(changed)
    os.chmod(self.path("bin/program"), 0o755)
    os.rename(self.path("built"), self.path("lib"))
    return self.path("bin/program")

  def test_a_replaced_path_also_finds_the_libraries_of_libraries(self):
    program = self.move_libraries(self.program(links="outer"))
    self.assertEqual(run(program, PATH="/bin"), "7")
    self.assertEqual(self.open(program).search_path, ["$ORIGIN/../lib"])

  def test_a_replaced_path_goes_before_the_environment(self):
    program = self.move_libraries(self.program())
    self.library("inner", 8)
    self.assertEqual(run(program, LD_LIBRARY_PATH=self.path("built")), "7")

  def test_replaced_names_are_those_of_the_loader_and_of_versions(self):
    script = self.write("map", "V1 { global: *; };")
    program = self.program(inner=["-Wl,--version-script=" + script])
    names = {"libouter.so": "libouter-0123.so", "libinner.so": "libinner-4567.so"}
    for old in (program, self.path("built/libouter.so"), self.path("built/libinner.so")):
      content = self.open(old).with_names(names)
      self.assertEqual(content, self.open(old).with_names(names))
      new = os.path.join(os.path.dirname(old), names.get(os.path.basename(old), "renamed"))
      with open(new, "wb") as file:
        file.write(content)
      os.chmod(new, 0o755)
      os.remove(old)
    self.assertEqual(self.open(self.path("built/libinner-4567.so")).soname, "libinner-4567.so")
    self.assertEqual(self.open(self.path("built/libouter-0123.so")).needed[0], "libinner-4567.so")
    self.assertEqual(run(self.path("renamed"), LD_BIND_NOW="1"), "7")

  def test_without_a_new_name_the_bytes_stay(self):
    with open(self.library("none", 1), "rb") as file:
      content = file.read()
    self.assertEqual(ElfFile(content, "none").with_names({"libother.so": "x"}), content)

  def test_refuses_a_path_that_does_not_fit(self):
    elf = self.open(self.program())
    with self.assertRaisesRegex(ElfError, "program: the search path .* is longer than the"):
      elf.with_rpath("/" + "x" * 500)

  def test_refuses_a_file_without_a_path(self):
    with self.assertRaisesRegex(ElfError, "has 0 search paths"):
      self.open(self.library("none", 1)).with_rpath("x")

  def test_refuses_a_path_that_ends_as_another_name(self):
    # The linker stores a name once that is the end of another one.
    source = 'extern "C" int a_function_name() { return 1; }'
    path = self.compile("tail.so", source, "-shared", "-fPIC", "-Wl,-rpath,/x/a_function_name")
    with self.assertRaisesRegex(ElfError, "shares bytes with another name"):
      self.open(path).with_rpath("x")

  def test_refuses_what_is_no_whole_elf_file(self):
    with self.assertRaisesRegex(ElfError, "text: not an ELF file"):
      ElfFile(b"#!/bin/sh\n" * 10, "text")
    with open(self.program(), "rb") as file:
      content = file.read()
    for length in (0, 5, 30, 100, 600):
      with self.assertRaises(ElfError):
        ElfFile(content[:length], "short")


class LibrariesTest(FolderTest):

  def test_finds_the_libraries_of_libraries(self):
    program = self.program()
    found = carried_libraries.find_libraries(program)
    self.assertEqual({library.name: library.path for library in found if "er.so" in library.name},
                     {name: self.path("built/" + name) for name in ("libinner.so", "libouter.so")})
    self.assertFalse({library.name for library in found} & carried_libraries.GLIBC)

  def test_names_a_library_that_is_missing(self):
    program = self.program()
    os.remove(self.path("built/libinner.so"))
    with self.assertRaisesRegex(carried_libraries.MissingLibraryError,
                                "program: needs libinner.so, which is in none of .*/built"):
      carried_libraries.find_libraries(program)

  def test_floor_is_that_of_all(self):
    library = carried_libraries.Library("a", "a", (2, 99), None)
    self.assertEqual(carried_libraries.glibc_floor(self.program(), [library]), (2, 99))

  def test_knows_files_of_wheels(self):
    self.assertEqual(carried_libraries.wheel_of("/v/site-packages/torch/lib/libc10.so"), "torch")
    self.assertIsNone(carried_libraries.wheel_of("/usr/lib/libz.so.1"))


class LicencesTest(FolderTest):

  def test_of_debian_packages_with_the_texts_they_name(self):
    path = os.path.realpath("/usr/lib/x86_64-linux-gnu/libstdc++.so.6")
    library = carried_libraries.Library("libstdc++.so.6", path, (), None)
    found, missing = licences.find_licences([library])
    self.assertEqual(missing, [])
    self.assertEqual(found["libstdc++6/copyright"], "/usr/share/doc/libstdc++6/copyright")
    self.assertIn("common-licenses/GPL-3", found)

  def test_of_code_in_the_program(self):
    found, missing = licences.licences_of_parts()
    self.assertEqual(missing, [])
    self.assertEqual(found["libssl-dev/copyright"], "/usr/share/doc/libssl-dev/copyright")
    self.assertIn("libboost1.74-dev/copyright", found)
    self.assertIn("nlohmann-json3-dev/copyright", found)
    self.assertIn("common-licenses/Apache-2.0", found)
    self.assertEqual(licences.licences_of_parts(["no-such-package"]), ({}, ["no-such-package"]))

  def test_of_wheels(self):
    licence = self.write("site-packages/torch-2.0+cpu.dist-info/licenses/a/LICENSE", "a")
    path = self.write("site-packages/torch/lib/libc10.so", "")
    library = carried_libraries.Library("libc10.so", path, (), "torch")
    self.assertEqual(licences.find_licences([library]), ({"torch/a/LICENSE": licence}, []))

  def test_of_libraries_beside_a_wheel(self):
    licence = self.write("site-packages/some_client-2.0.dist-info/licenses/LICENSE", "a")
    path = self.write("site-packages/some_client.libs/libsome-12.so.1", "")
    library = carried_libraries.Library("libsome.so.1", path, (), carried_libraries.wheel_of(path))
    self.assertEqual(licences.find_licences([library]), ({"some_client/LICENSE": licence}, []))

  def test_names_libraries_without_one(self):
    library = carried_libraries.Library("liba.so", self.write("liba.so", ""), (), None)
    self.assertEqual(licences.find_licences([library]), ({}, ["liba.so"]))


class PartsTest(FolderTest):

  def test_version_and_pins_are_those_of_the_repository(self):
    version = package_parts.read_version(os.path.join(ROOT, "base/version.h"))
    self.assertRegex(version, r"^\d+\.\d+\.\d+$")
    pins = package_parts.read_pins(os.path.join(ROOT, "third_party/requirements.txt"))
    self.assertLessEqual(set(wheel.PACKAGES), set(pins))

  def test_a_header_without_a_version_is_an_error(self):
    with self.assertRaisesRegex(PackageError, "version.h: defines no kVersion"):
      package_parts.read_version(self.write("version.h", "namespace {}"))

  def test_a_template_with_an_unknown_name_is_an_error(self):
    template = self.write("a.md", "@VERSION@ @OTHER@")
    with self.assertRaisesRegex(PackageError, "a.md: @OTHER@ has no value"):
      package_parts.with_values(template, {"VERSION": "1"})

  def test_a_wheel_of_a_build_without_wheels_is_an_error(self):
    with self.assertRaisesRegex(PackageError, "uses no library of the wheel of pyarrow, torch"):
      package_parts.collect_parts(self.program(), "1", "$ORIGIN", ["torch", "pyarrow"])

  def test_carries_all_libraries_but_those_of_the_given_wheels(self):
    self.program()
    os.makedirs(self.path("env/site-packages/torch/lib"))
    os.rename(self.path("built/libinner.so"), self.path("env/site-packages/torch/lib/libinner.so"))
    os.symlink(self.path("env/site-packages/torch/lib/libinner.so"), self.path("built/libinner.so"))
    for wheels, carried in (([], {"libinner.so", "libouter.so"}), (["torch"], {"libouter.so"})):
      with contextlib.redirect_stderr(io.StringIO()) as said:
        parts = package_parts.collect_parts(self.path("program"), "1", "$ORIGIN", wheels)
      self.assertEqual({each.name for each in parts.libraries if "er.so" in each.name}, carried)
      self.assertIn("no licence found of %s" % ", ".join(sorted(carried)), said.getvalue())
      self.assertEqual(ElfFile(parts.program, "program").search_path, ["$ORIGIN"])


class ArchivesTest(FolderTest):

  def setUp(self):
    super().setUp()
    path = self.write("liba.so.1.2", "library")
    library = carried_libraries.Library("liba.so.1", path, (2, 36), None)
    free = {"a/copyright": self.write("copyright", "free")}
    self.parts = Parts("1.2.3", b"program", [library], free, (2, 36), {"liba.so.1"})
    self.licence = self.write("LICENSE", "mine")
    self.example = self.write("job.textproto", "train {}")
    self.module = self.write("python/ray.py", "import ray")

  def tarball_entries(self):
    return tarball.entries_of(self.parts, self.licence, os.path.join(FOLDER, "start.sh"),
                              os.path.join(FOLDER, "tarball_readme.md"), [self.example])

  def wheel_entries(self):
    pins = {"torch": "2.1.0", "pyarrow": "9.0", "other": "1"}
    return wheel.entries_of(self.parts, pins, self.licence, os.path.join(FOLDER, "launcher.py"),
                            os.path.join(FOLDER, "wheel_readme.md"), [self.module], [self.example])

  def test_tarball_has_all_files_in_one_folder(self):
    path = self.path("a.tar.gz")
    tarball.write_tarball(path, tarball.folder_of("1.2.3"), self.tarball_entries())
    with tarfile.open(path) as archive:
      files = {member.name: member.mode for member in archive if member.isfile()}
      self.assertEqual({(each.mtime, each.uid, each.uname) for each in archive.getmembers()},
                       {(tarball.MODIFIED, 0, "")})
      start = archive.extractfile("millrace-1.2.3-linux-x86_64/bin/millrace").read().decode()
    self.assertEqual(files, {
        "millrace-1.2.3-linux-x86_64/" + name: mode for name, mode in (
            ("LICENSE", 0o644), ("README.md", 0o644), ("bin/millrace", 0o755),
            ("examples/job.textproto", 0o644), ("lib/liba.so.1", 0o755),
            ("libexec/millrace", 0o755), ("licenses/a/copyright", 0o644))})
    self.assertIn("floor=2.36\n", start)

  def test_archives_have_the_same_bytes_again(self):
    for write, arguments, entries in (
        (tarball.write_tarball, ["folder"], self.tarball_entries),
        (wheel.write_wheel, ["millrace-1.2.3.dist-info/RECORD"], self.wheel_entries)):
      written = []
      for name, order in (("first", 1), ("second", -1)):
        write(self.path(name), *arguments, entries()[::order])
        with open(self.path(name), "rb") as file:
          written.append(file.read())
        os.utime(self.example, (1, 1))
        os.chmod(self.example, 0o600)
        time.sleep(1.1)  # gzip and zip have times in seconds
      self.assertEqual(*written)

  def test_wheel_names_every_file_with_its_hash(self):
    record = "millrace-1.2.3.dist-info/RECORD"
    wheel.write_wheel(self.path("a.whl"), record, self.wheel_entries())
    with zipfile.ZipFile(self.path("a.whl")) as archive:
      rows = list(csv.reader(archive.read(record).decode().splitlines()))
      self.assertEqual([row[0] for row in rows], archive.namelist())
      for name, digest, size in rows[:-1]:
        content = archive.read(name)
        encoded = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
        self.assertEqual((digest, size), ("sha256=" + encoded, str(len(content))))
      self.assertEqual(archive.getinfo("millrace/bin/millrace").external_attr >> 16, 0o100755)
      self.assertEqual(archive.read("millrace/ray.py"), b"import ray")
    self.assertEqual(rows[-1], [record, "", ""])

  def test_wheel_requires_the_pins_of_the_packages_it_does_not_carry(self):
    metadata = {entry.name: entry.data for entry in self.wheel_entries()}[
        "millrace-1.2.3.dist-info/METADATA"].decode()
    self.assertEqual(re.findall("^Requires-Dist: (.*)$", metadata, re.MULTILINE),
                     ["torch==2.1.0", "pyarrow==9.0", "numpy; extra == 'convert'", "xxhash; extra == 'convert'",
                      "confluent-kafka>=2.3; extra == 'kafka'", "ray>=2.40; extra == 'ray'"])
    self.assertIn("Provides-Extra: ray\n", metadata)
    self.assertEqual(wheel.tag_of((2, 36)), "py3-none-manylinux_2_36_x86_64")
    with self.assertRaisesRegex(PackageError, "does not pin pyarrow"):
      wheel.requires_of({"torch": "2.1.0"})

  def test_wheel_carries_libraries_with_the_hash_of_their_content(self):
    path = self.library("a", 1)
    library = carried_libraries.Library("libstdc++-a.so.1.2", path, (2, 36), None)
    with open(path, "rb") as file:
      name = "libstdc++-a-%s.so.1.2" % hashlib.sha256(file.read()).hexdigest()[:8]
    parts = self.parts._replace(libraries=[library], shared=set())
    self.assertEqual(wheel.hashed_names(parts), {library.name: name})
    entry = wheel.library_entry(library, {"liba.so": "libother.so"})
    self.assertEqual(entry.name, "lib/libstdc++-a.so.1.2")
    self.assertEqual(ElfFile(entry.data, "a").soname, "libother.so")
    self.assertEqual(wheel.hashed_names(parts._replace(shared={library.name})), {})

  def test_dockerfile_takes_what_the_tarball_has(self):
    with open(os.path.join(ROOT, "deploy/Dockerfile"), encoding="utf-8") as file:
      lines = [line.split(maxsplit=1) for line in file if line.strip() and line[0] != "#"]
    steps = {}
    for instruction, rest in lines:
      steps.setdefault(instruction, []).append(rest.strip())
    self.assertEqual(steps["FROM"], ["debian:12-slim"])
    source, destination = steps["ADD"][0].split()
    folder = tarball.folder_of("1.2.3")
    self.assertTrue(fnmatch.fnmatchcase(folder + ".tar.gz", source))
    linked = re.search(r"ln -s (\S+) /usr/local/bin/millrace", " ".join(steps["RUN"]))[1]
    programs = [destination + folder + "/" + entry.name
                for entry in self.tarball_entries() if entry.executable]
    self.assertEqual(fnmatch.filter(programs, linked), [destination + folder + "/bin/millrace"])
    self.assertEqual(steps["USER"], ["1000:1000"])
    self.assertEqual(steps["ENTRYPOINT"], ['["millrace"]'])


class StartTest(FolderTest):
  """The start of the tarball, with a C library that it is told of."""

  def start(self, getconf):
    """Returns (exit code, stdout, stderr) where `getconf` is a program of this text."""
    for name, text in (("bin/millrace", package_parts.with_values(
        os.path.join(FOLDER, "start.sh"), {"VERSION": "1.2.3", "GLIBC": "2.36"}).decode()),
                       ("libexec/millrace", "#!/bin/sh\necho started \"$@\"\n"),
                       ("path/getconf", "#!/bin/sh\n" + getconf)):
      os.chmod(self.write(name, text), 0o755)
    os.makedirs(self.path("links"), exist_ok=True)
    if not os.path.islink(self.path("links/millrace")):
      os.symlink("../bin/millrace", self.path("links/millrace"))
    done = subprocess.run([self.path("links/millrace"), "a b", "c"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True, check=False,
                          env={"PATH": self.path("path") + ":/usr/bin:/bin"})
    return done.returncode, done.stdout, done.stderr

  def test_starts_the_program_through_a_link(self):
    for version in ("2.36", "2.40", "3.0", "2.36.1"):
      self.assertEqual(self.start("echo glibc " + version), (0, "started a b c\n", ""), version)

  def test_starts_the_program_where_the_version_is_unknown(self):
    self.assertEqual(self.start("exit 127"), (0, "started a b c\n", ""))

  def test_refuses_an_older_glibc_in_one_line(self):
    for version in ("2.35", "2.4", "1.99"):
      self.assertEqual(self.start("echo glibc %s" % version), (
          71, "", "millrace: this machine has glibc %s, and Millrace 1.2.3 needs 2.36 or newer: "
          "use Debian 12, Ubuntu 24.04 or a newer system, or a container of one\n" % version))


class LauncherTest(FolderTest):

  def setUp(self):
    super().setUp()
    build = types.ModuleType("millrace._build")
    build.VERSION, build.GLIBC, build.PINS, build.FILES = "1.2.3", "2.36", {"torch": "2.1.0"}, {}
    package = types.ModuleType("millrace")
    package._build, package._librdkafka = build, None
    modules = {"millrace": package, "millrace._build": build}
    sys.modules.update(modules)
    self.addCleanup(lambda: [sys.modules.pop(name) for name in modules])
    spec = importlib.util.spec_from_file_location("launcher", os.path.join(FOLDER, "launcher.py"))
    self.launcher = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(self.launcher)

  def install(self, version):
    self.write("torch-%s.dist-info/METADATA" % version,
               "Metadata-Version: 2.1\nName: torch\nVersion: %s\n" % version)

  def check_packages(self):
    self.launcher.check_packages({"torch": "2.1.0"}, self.folder)

  def refuses(self, text):
    return self.assertRaisesRegex(self.launcher.CannotStart, text)

  def test_accepts_every_build_of_the_version(self):
    for version in ("2.1.0", "2.1.0+cpu"):
      self.install(version)
      self.check_packages()
      run("rm", "-r", self.path("torch-%s.dist-info" % version))

  def test_refuses_another_version_and_none(self):
    with self.refuses("has no torch, and Millrace 1.2.3 needs 2.1.0 there: .*torch==2.1.0"):
      self.check_packages()
    self.install("2.1.1")
    with self.refuses("has torch 2.1.1, and Millrace 1.2.3 needs 2.1.0: .*torch==2.1.0"):
      self.check_packages()

  def test_refuses_an_old_or_another_c_library(self):
    for version in ("glibc 2.36", "glibc 2.41", "glibc 3.0"):
      self.launcher.check_glibc("2.36", version)
    for version in ("glibc 2.35", "glibc 2.4"):
      with self.refuses("this machine has %s, and Millrace 1.2.3 needs 2.36" % version):
        self.launcher.check_glibc("2.36", version)
    for version in (None, "musl 1.2"):
      with self.refuses("this machine has no glibc"):
        self.launcher.check_glibc("2.36", version)

  def test_refuses_files_that_are_cut_short_or_missing(self):
    self.write("lib/a.so", "1234")
    self.launcher.check_files({"lib/a.so": 4}, self.folder)
    with self.refuses("a.so has 4 bytes instead of 5: make room"):
      self.launcher.check_files({"lib/a.so": 5}, self.folder)
    with self.refuses("b.so: No such file or directory; install the wheel again"):
      self.launcher.check_files({"lib/b.so": 5}, self.folder)

  def test_finds_the_library_of_confluent_kafka(self):
    with open(os.path.join(ROOT, "python/millrace/_librdkafka.py"), encoding="utf-8") as file:
      module = runpy.run_path(self.write("millrace/_librdkafka.py", file.read()))
    with unittest.mock.patch.dict(os.environ):
      os.environ.pop("MILLRACE_CARRIED_LIBRDKAFKA", None)
      module["offer"]()
      self.assertNotIn("MILLRACE_CARRIED_LIBRDKAFKA", os.environ)
      library = self.write("confluent_kafka.libs/librdkafka-12.so.1", "")
      module["offer"]()
      self.assertEqual(os.environ["MILLRACE_CARRIED_LIBRDKAFKA"], library)

  def test_reports_one_line_with_the_exit_code_of_the_machine(self):
    self.launcher.PACKAGES = self.folder
    with contextlib.redirect_stderr(io.StringIO()) as said:
      self.assertEqual(self.launcher.main(), 71)
    self.assertEqual(said.getvalue().count("\n"), 1)
    self.assertTrue(said.getvalue().startswith("millrace: %s has no torch" % self.folder))


class DeveloperPackageTest(unittest.TestCase):

  def part(self, **words):
    return {"label": "//low:part", "kind": "cc_library", "testonly": False, "public": False,
            "headers": {"low/part.h": "out/low/part.h"}, "archives": {"low/libpart.a": "out/low/libpart.a"},
            "always": False, "sources": {}, "deps": ["//bazel/precompiled:base", "//base:base"],
            "linkopts": ["-ldl"], **words}

  def entries(self, *parts):
    return {entry.name: entry.data for entry in developer.entries_of(list(parts), {})}

  def test_a_library_has_headers_and_archive(self):
    entries = self.entries(self.part(public=True, always=True))
    self.assertEqual(entries["low/libpart.a"], "out/low/libpart.a")
    target = structure.Package(entries["low/BUILD.bazel"].decode()).targets[0]
    self.assertEqual(target.words, {"name": "part", "srcs": ["libpart.a"], "hdrs": ["part.h"], "alwayslink": True,
                                    "linkopts": ["-ldl"], "visibility": ["//visibility:public"], "deps": ["//base:base"]})

  def test_what_it_cannot_hold_is_named(self):
    with self.assertRaisesRegex(PackageError, "//low:part is of a rule .*: cc_import"):
      self.entries(self.part(kind="cc_import"))
    with self.assertRaisesRegex(PackageError, "//low has the file high/part.h of another package"):
      self.entries(self.part(headers={"high/part.h": "out/high/part.h"}))

  def test_the_package_has_every_label_that_it_names(self):
    folder = os.path.join(FOLDER, "developer")
    with tarfile.open(os.path.join(folder, os.listdir(folder)[0])) as archive:
      names, builds = set(), {}
      for member in archive:  # in their order, since it is packed
        name = member.name.partition("/")[2]
        names.add(name)
        if os.path.basename(name) == "BUILD.bazel":
          builds[os.path.dirname(name)] = archive.extractfile(member).read().decode()
    packages = {name: structure.Package(text) for name, text in builds.items()}
    known = names | {os.path.join(name, text) for name, package in packages.items()
                for target in package.targets for text in target.provides}
    labels = 0
    for name, package in packages.items():
      for target in package.targets:
        for label in target.labels:
          other = structure.absolute(label, name)
          if other is None or other[1].startswith("__") or "..." in label:
            continue
          labels += 1
          self.assertIn(os.path.join(*other), known, "%s of //%s" % (label, name))
        for file in target.files():
          self.assertTrue(file.startswith((":", "//")) or os.path.join(name, file) in names, file)
    self.assertGreater(labels, 1000)
    for name in ("millrace_job.bzl", "bazelw", "proto/config.proto", "hook/hook.h", "proto/config.pb.h"):
      self.assertIn(name, names)


if __name__ == "__main__":
  unittest.main()
