"""Checks every command line of README.md and docs/*.md.

  check_command_lines.py ROOT MILLRACE [PAGE...]    ROOT: this repository; MILLRACE: its program

Command lines are those of fenced blocks (command_lines.py says which) and the spans of code that
begin as one. A line is one of KINDS:

  millrace   Runs in a folder that holds nothing but job.textproto, a job whose data is missing.
             Exit code 0 or 66, a missing input, means that flags and configuration are right.
             Benchmarks and `generate` would do their work: they get one flag more that nothing
             knows, and must fail because of that flag alone, which is the last check of a command
             line. Of `launch` both are done: the flag, and the command behind "--". A configuration
             of the repository is given to `config check` with the flags that change it.
  span       `millrace COMMAND` within a sentence, which may be incomplete: the command and its flags
             exist.
  bazelw     ./bazelw COMMAND TARGET...: flags and targets exist; what is behind "--" is checked as
             a command of the program, or as a span for programs of other jobs.
  built      bazel-bin/PATH: the target exists.
  script     A file of the repository: it can be executed.
  launcher   torchrun, srun: programs.py has the flags; the command behind them is a command line.
  tool       Other programs: programs.py has the flags.
  shell      Commands of every shell: known by their names.

Prints a line for each mistake, and how many lines of each kind there are. Exits with 1 after a
mistake, and if there is no line of a kind.
"""
import argparse
import concurrent.futures
import functools
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

import command_lines
import programs

HERE = os.path.dirname(os.path.abspath(__file__))
KINDS = ("millrace", "span", "bazelw", "built", "script", "launcher", "tool", "shell")
PROGRAM = re.compile(r"(?:\S+/)?(?:bin|tools)/millrace|millrace")
PROGRAM_TARGET = "//tools:millrace"
# Commands that need no input and take long or write files.
WORKING = ("bench", "generate")
READ_CONFIG = ("train", "evaluate", "predict", "export")
# Flags with a value that decide whether a configuration is valid; `config check` has them too.
CONFIG_FLAGS = ("--set", "--train_data", "--eval_data")
UNKNOWN = "--no_flag_has_this_name"
MISSING_INPUT = 66
LIMIT_SECONDS = 20
WORKSPACE = "examples/workspace"  # targets of its own are those of pages without a target in ROOT
PLACEHOLDER = re.compile(r"[\[\]…]|\|\S*")


class Mistake(Exception):
  """What is wrong with a command line."""


class Program:
  """The millrace program, with the results of command lines that it has already run."""

  def __init__(self, path, root):
    self._path, self._root = path, root

  @functools.lru_cache(maxsize=None)
  def run(self, *arguments):
    """Returns the exit code and the last line of the errors, or the output if there are none."""
    with tempfile.TemporaryDirectory() as folder:
      shutil.copy(os.path.join(HERE, "job.textproto"), folder)
      try:
        done = subprocess.run([self._path, *arguments], cwd=folder, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=LIMIT_SECONDS, check=False)
      except subprocess.TimeoutExpired:
        return None, f"runs longer than {LIMIT_SECONDS} s"
    errors = done.stderr.strip()
    return done.returncode, errors.splitlines()[-1] if errors else done.stdout

  def check(self, words):
    if words[:1] == ["launch"]:
      end = words.index("--") if "--" in words else len(words)
      flags, command = words[:end], words[end + 1:]
      self._check_flags(flags, ["--"] + command)
      if command[:1] != ["python3"]:  # another program
        self.check(command)
    elif words[:1] and words[0] in WORKING:
      self._check_flags(words, [])
    else:
      config = os.path.join(self._root, words[1]) if len(words) > 1 else ""
      if words[:1] and words[0] in READ_CONFIG and os.path.isfile(config):
        self._check_config(config, words)
      else:
        self._check_run(words)

  def _check_flags(self, words, rest):
    _, message = self.run(*words, UNKNOWN, *rest)
    if f"there is no flag {UNKNOWN};" not in message:
      raise Mistake(message)

  def _check_run(self, words):
    code, message = self.run(*words)
    if code not in (0, MISSING_INPUT):
      raise Mistake(f"exit code {code}: {message}")

  def _check_config(self, config, words):
    options = [word for at, word in enumerate(words)
               if word in CONFIG_FLAGS or words[at - 1] in CONFIG_FLAGS]
    self._check_run(["config", "check", config] + options)
    # The program runs elsewhere, where the configuration is missing.
    if len(options) < len(words[2:]):
      self._check_run(words)

  def check_span(self, text):
    """Checks the names in a command line that may be incomplete."""
    path = ()
    for word in PLACEHOLDER.sub("", text).split():
      name = word.partition("=")[0]
      if word == "--":
        path = ()
      elif path + (word,) in self._names:
        path += (word,)
      elif name.startswith("-"):
        if not self._has_flag(path, name):
          raise Mistake(f"{' '.join(('millrace',) + path)} has no flag {name}")
      elif self._needs_command(path) and not word.isupper():
        raise Mistake(f"there is no command {' '.join(path + (word,))}")

  def _needs_command(self, path):
    return any(not name.startswith("-") for name in self._names[path])

  @functools.cached_property
  def _names(self):
    """The commands and long flags behind each command, from the completion for bash: one start of
    the program in place of one for each command."""
    code, text = self.run("completion", "bash")
    entries = re.findall(r'^ *"([\w ]*)"\) words="([^"]*)"', text, re.MULTILINE)
    if code or not entries:
      raise Mistake(f"completion bash does not list commands: {text}")
    return {tuple(path.split()): set(words.split()) for path, words in entries}

  def _has_flag(self, path, name):
    if name.startswith("--"):
      return name in self._names[path]
    _, text = self.run(*path, "--help")
    return re.search(rf"^  {re.escape(name)}\b", text, re.MULTILINE)


class Checker:
  """Checks the lines of pages and counts them."""

  def __init__(self, root, program):
    self._root, self._program = root, program
    self.counts = dict.fromkeys(KINDS, 0)

  def check_line(self, text, variables):
    for command in command_lines.commands_of(text, variables):
      self.check(command)

  def check(self, words):
    """Checks one command."""
    name = words[0].rpartition("/")[2] if "/bin/" in words[0] else words[0]
    if PROGRAM.fullmatch(words[0]):
      self._count("millrace")
      self._program.check(words[1:])
    elif name == "./bazelw":
      self._count("bazelw")
      self._check_bazelw(words[1:])
    elif name.startswith("bazel-bin/"):
      self._count("built")
      folder, _, target = name[len("bazel-bin/"):].rpartition("/")
      self._check_target(f"//{folder}:{target}")
    elif name in programs.LAUNCHERS:
      self._count("launcher")
      self._check_rest(programs.parse(programs.LAUNCHERS[name], words[1:]))
    elif programs.is_known(name):
      self._count("tool")
      self._check_tool([name] + words[1:])
    elif name in programs.SHELL:
      self._count("shell")
      if name == "alias":
        self._check_rest(command_lines.words_of(words[1].partition("=")[2]))
    elif "/" in name and os.path.isfile(os.path.join(self._root, name)):
      self._count("script")
      if not os.access(os.path.join(self._root, name), os.X_OK):
        raise Mistake(f"{name} cannot be executed")
    else:
      raise Mistake(f"unknown program {words[0]}; add it to tests/docs/programs.py, or name the "
                    "language of a block that has no command lines, such as text")

  def check_span(self, text):
    """Checks a span of code; most are no command line."""
    words = text.split()
    if len(words) < 2 or not re.match(r"[\w\[/-]", words[1]):
      return
    if words[0] == "millrace":
      self._count("span")
      self._program.check_span(text[len("millrace"):])
    elif words[0] == "./bazelw" or words[0] in programs.LAUNCHERS or programs.is_known(words[0]):
      self.check_line(text, {})

  def _count(self, kind):
    self.counts[kind] += 1

  def _check_rest(self, words):
    if not words:
      raise Mistake("the command behind the flags is missing")
    self.check(words)

  def _check_tool(self, words):
    found = programs.find(words)
    if not found:
      raise Mistake(f"tests/docs/programs.py does not have {' '.join(words[:3])}")
    name, rest = found
    if name != "docker run":
      programs.parse_all(programs.PROGRAMS[name], rest)
      return
    rest = programs.parse(programs.PROGRAMS[name], rest)
    if rest and rest[0] in programs.IMAGES:
      self.check(rest)

  def _check_bazelw(self, words):
    if len(words) == 1 and words[0] in programs.SETUP_COMMANDS:
      return
    if len(words) == 2 and words[0] == "test_setup" and words[1] in programs.TEST_FAMILIES:
      return
    if not words or words[0] not in programs.BAZEL_COMMANDS:
      raise Mistake(f"./bazelw has no command {' '.join(words[:1])}")
    end = words.index("--") if "--" in words else len(words)
    targets = programs.parse_all(programs.BAZEL, words[1:end])
    if not targets:
      raise Mistake("no target")
    for target in targets:
      self._check_target(target)
    for config in re.findall(r"--config[= ](\S+)", " ".join(words[:end])):
      if f":{config} " not in self._text(".bazelrc"):
        raise Mistake(f".bazelrc has no configuration {config}")
    rest = words[end + 1:]
    if rest and targets == [PROGRAM_TARGET]:
      self._program.check(rest)
    elif rest:
      self._program.check_span(" ".join(rest))

  def _check_target(self, label):
    if label in programs.OWN_TARGETS:
      return
    match = re.fullmatch(r"//([\w/]*)(?::([\w.-]+)|(/?\.\.\.))?", label)
    if not match:
      raise Mistake(f"{label} is no label of this repository")
    folder, name, pattern = match.groups()
    if pattern:
      if not os.path.isdir(os.path.join(self._root, folder)):
        raise Mistake(f"there is no folder {folder.rstrip('/')} for {label}")
      return
    name = name or folder.rpartition("/")[2]
    texts = [self._text(f"{folder}/BUILD.bazel".lstrip("/"))]
    if not folder:
      texts.append(self._text(f"{WORKSPACE}/BUILD.bazel"))
    if not any(texts):
      raise Mistake(f"there is no {folder}/BUILD.bazel for {label}")
    if name != "all" and not any(self._defines(text, name) for text in texts):
      raise Mistake(f"{folder}/BUILD.bazel has no target {name}")

  @staticmethod
  def _defines(text, name):
    plugin, suffix = os.path.splitext(name)
    if suffix == ".so" and re.search(rf'millrace_hook_plugin\(\s*name = "{plugin}"', text):
      return True
    return re.search(rf'\bname = "{re.escape(name)}"', text)

  @functools.lru_cache(maxsize=None)
  def _text(self, name):
    path = os.path.join(self._root, name)
    if not os.path.isfile(path):
      return ""
    with open(path, encoding="utf-8") as file:
      return file.read()


def mistakes_of(page, checker):
  """Returns the lines to print for the command lines and spans of a page."""
  with open(page, encoding="utf-8") as file:
    text = file.read()
  mistakes = []

  def attempt(line, check):
    try:
      check()
    except (Mistake, ValueError) as error:
      mistakes.append(f"{page}:{line.number}: {line.text}: {error}")

  for first, language, content in command_lines.blocks(text):
    variables = {}
    if command_lines.is_shell(language, content):
      for line in command_lines.lines_of(first, content):
        attempt(line, lambda line=line: checker.check_line(line.text, variables))
  for line in command_lines.spans(text):
    attempt(line, lambda line=line: checker.check_span(line.text))
  return mistakes


def main():
  parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
  parser.add_argument("root")
  parser.add_argument("millrace")
  parser.add_argument("pages", nargs="*")
  arguments = parser.parse_args()
  root = os.path.abspath(arguments.root)
  pages = [os.path.abspath(page) for page in arguments.pages]
  millrace = os.path.abspath(arguments.millrace)
  os.chdir(root)
  pages = pages or ["README.md"] + sorted(glob.glob("docs/*.md"))
  program = Program(millrace, root)
  checkers = [Checker(root, program) for _ in pages]
  with concurrent.futures.ThreadPoolExecutor(2) as pool:
    found = sum(pool.map(mistakes_of, pages, checkers), [])
  counts = {kind: sum(checker.counts[kind] for checker in checkers) for kind in KINDS}
  found += [f"no command line of kind {kind}" for kind in KINDS if not counts[kind]]
  print("\n".join(found + [", ".join(f"{kind}: {counts[kind]}" for kind in KINDS)]))
  return 1 if found else 0


if __name__ == "__main__":
  sys.exit(main())
