"""Checks the configurations of docs/how_do_i.md.

  check_configurations.py PAGE JOB MILLRACE OWN_JOB     MILLRACE, OWN_JOB: the programs

A question of the page has at most one configuration, which shows the fields to set in a job. The
fields are set in JOB, and `config check` of the program must accept the result: OWN_JOB in the
section OWN_PARTS, MILLRACE elsewhere. Prints a line for each that is refused and how many there
are. Exits with 1 after a mistake, and if there is no configuration for one of the programs.
"""
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

import command_lines

OWN_PARTS = "Own parts"
LIMIT_SECONDS = 20
TOKEN = re.compile(r"""\s+|\#[^\n]*|("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|[{}\[\]:,;]|[\w.+*/-]+)""")
# Entries of these lists have the same name in a job and in what is set there.
NAMED = ("feature", "table", "eval_data")
# Fields of train_data and train that exclude others: "*" excludes all.
EXCLUDED = {
    "mix": ("train_data", "*"),
    "windows": ("train_data", "path"),
    "global_batch_size": ("train_data", "batch_size"),
}


def tokens_of(text):
  at = 0
  tokens = []
  while at < len(text):
    match = TOKEN.match(text, at)
    if not match:
      raise ValueError(f"unexpected {text[at:at + 20]!r}")
    if match[1]:
      tokens.append(match[1])
    at = match.end()
  return tokens


def parse(text):
  """Returns a message in text format as a list of (name, value), where a value is a text or a list
  of the same kind. A list of values is one pair for each value.

  Errors: ValueError.
  """
  tokens = tokens_of(text)
  message = _fields(tokens)
  if tokens:
    raise ValueError(f"unexpected {tokens[0]}")
  return message


def _fields(tokens):
  fields = []
  while tokens and tokens[0] != "}":
    name = tokens.pop(0)
    if name in (",", ";"):
      continue
    if name == "[":
      name = f"[{tokens.pop(0)}]"
      _expect(tokens, "]")
    if tokens[:1] == [":"]:
      tokens.pop(0)
    elif tokens[:1] != ["{"]:
      raise ValueError(f"{name} has no value")
    if tokens[:1] == ["["]:
      tokens.pop(0)
      while tokens[:1] != ["]"]:
        fields.append((name, _value(tokens)))
        if tokens[:1] == [","]:
          tokens.pop(0)
      _expect(tokens, "]")
    else:
      fields.append((name, _value(tokens)))
  return fields


def _value(tokens):
  if tokens[:1] != ["{"]:
    if not tokens:
      raise ValueError("the last value is missing")
    return tokens.pop(0)
  tokens.pop(0)
  fields = _fields(tokens)
  _expect(tokens, "}")
  return fields


def _expect(tokens, token):
  if tokens[:1] != [token]:
    raise ValueError(f"{token} is missing")
  tokens.pop(0)


def names_in(message):
  """Returns the names of all fields of a message and of those within."""
  names = set()
  for name, value in message:
    names |= {name} | (names_in(value) if isinstance(value, list) else set())
  return names


def without(message, parent, name):
  """Returns `message` without the field of this name, or "*", of messages `parent`."""
  return [(field, [entry for entry in value if name not in ("*", entry[0])]
           if field == parent else without(value, parent, name)
           if isinstance(value, list) else value) for field, value in message]


def merged(job, setting):
  """Returns `job` with the fields of `setting`. A field of values replaces that of `job`, messages
  are merged; lists of messages grow unless NAMED has them and an entry has the same name."""
  plain = {name for name, value in setting if not isinstance(value, list)}
  result = [field for field in job if field[0] not in plain]
  for name, value in setting:
    at = _place(result, name, value) if name not in plain else None
    if at is None or sum(field[0] == name for field in setting) > 1 and name not in NAMED:
      result.append((name, value))
    else:
      result[at] = (name, merged(result[at][1], value))
  return result


def _place(message, name, value):
  for at, (field, old) in enumerate(message):
    if field == name and (name not in NAMED or _name_of(old) == _name_of(value)):
      return at
  return None


def _name_of(message):
  return dict((name, value) for name, value in message if name == "name")


def text_of(message, indent=""):
  lines = []
  for name, value in message:
    if isinstance(value, list):
      lines += [f"{indent}{name} {{", text_of(value, indent + "  "), f"{indent}}}"]
    else:
      lines.append(f"{indent}{name}: {value}")
  return "\n".join(line for line in lines if line)


def settings_of(page):
  """Yields (section, number of the first line, text) of each configuration of a page."""
  sections = [(page.count("\n", 0, match.start()) + 1, match[1])
              for match in re.finditer(r"^## (.*)$", page, re.MULTILINE)]
  for number, language, content in command_lines.blocks(page):
    if not language and not command_lines.is_shell(language, content):
      yield ([""] + [name for line, name in sections if line < number])[-1], number, content


def mistake_in(program, job, setting):
  """Returns what `config check` says of `job` with the fields of `setting`, or None."""
  try:
    fields = parse(setting)
    base = parse(job)
  except ValueError as error:
    return str(error)
  for name in names_in(fields) & set(EXCLUDED):
    base = without(base, *EXCLUDED[name])
  with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "job.textproto")
    with open(path, "w", encoding="utf-8") as file:
      file.write(text_of(merged(base, fields)) + "\n")
    done = subprocess.run([program, "config", "check", path], cwd=folder, capture_output=True,
                          text=True, timeout=LIMIT_SECONDS, check=False)
  return done.stderr.replace(folder + "/", "").strip() if done.returncode else None


def main(page, job, millrace, own_job):
  with open(page, encoding="utf-8") as file:
    settings = list(settings_of(file.read()))
  with open(job, encoding="utf-8") as file:
    base = file.read()
  programs = [os.path.abspath(own_job if section == OWN_PARTS else millrace)
              for section, _, _ in settings]
  with concurrent.futures.ThreadPoolExecutor(2) as pool:
    mistakes = list(pool.map(mistake_in, programs, [base] * len(settings),
                             [text for _, _, text in settings]))
  found = [f"{page}:{number}: {mistake}" for (_, number, _), mistake in zip(settings, mistakes)
           if mistake]
  own = sum(section == OWN_PARTS for section, _, _ in settings)
  counts = {"millrace": len(settings) - own, "own_job": own}
  found += [f"no configuration for {name}" for name in counts if not counts[name]]
  print("\n".join(found + [", ".join(f"{name}: {count}" for name, count in counts.items())]))
  return 1 if found else 0


if __name__ == "__main__":
  if len(sys.argv) != 5:
    sys.exit(__doc__)
  sys.exit(main(*sys.argv[1:]))
