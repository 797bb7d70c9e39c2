"""Finds the command lines of a page in Markdown and splits them as a shell does.

A fenced block holds command lines if its language is one of SHELL, unless it is a script (#!), or
if it has no language and does not begin as a configuration. If lines of a block begin with "$ ",
the others are output. Other blocks need a language, such as `text` for output.
"""
import re
import shlex

SHELL = ("sh", "bash", "console")
FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
# The first line of a message in text format, of YAML or of JSON.
CONFIGURATION = re.compile(r"\s*(?:[\w.]+|\[[\w.]+\])\s*(?:\{|:(?:\s|$))|\s*[{\"]")
SPAN = re.compile(r"`([^`\n]+)`")
VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
SUBSTITUTION = re.compile(r"\$\(([^()]*)\)")
ASSIGNMENT = re.compile(r"(\w+)=(.*)", re.DOTALL)
KEY = re.compile(r"\^[A-Z](\s|$)")
DIRECTIVE = "#SBATCH "


class Line:
  """A logical line of a page: `number` is that of its first line."""

  def __init__(self, number, text):
    self.number, self.text = number, text


def blocks(text):
  """Yields (number of the line behind the fence, language, content)."""
  for match in FENCE.finditer(text):
    yield text.count("\n", 0, match.start()) + 2, match[2], match[3]


def spans(text):
  """Yields the spans of code outside blocks, as lines."""
  outside = FENCE.sub(lambda match: "\n" * match[0].count("\n"), text)
  for match in SPAN.finditer(outside):
    yield Line(outside.count("\n", 0, match.start()) + 1, match[1])


def is_shell(language, content):
  if language:
    return language in SHELL and not content.startswith("#!")
  lines = [line for line in content.splitlines() if line.strip() and line.strip()[0] != "#"]
  return not lines or not CONFIGURATION.match(lines[0])


def lines_of(first, content):
  """Yields the command lines of a block whose first line has the number `first`."""
  prompts = re.search(r"^\s*\$ ", content, re.MULTILINE)
  number, text = first, ""
  for at, line in enumerate(content.splitlines(), first):
    if not text:
      number = at
      if prompts and not line.lstrip().startswith("$ "):
        continue
      line = re.sub(r"^\s*\$ ", "", line)
    text += line
    if text.endswith("\\"):
      text = text[:-1]
      continue
    text = text.strip()
    if text and not KEY.match(text) and (text[0] != "#" or text.startswith(DIRECTIVE)):
      yield Line(number, text)
    text = ""


def words_of(text):
  lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|<>()")
  lexer.whitespace_split = True
  return list(lexer)


def commands_of(text, variables):
  """Returns the commands of a line, each a list of words. `variables` has those that earlier lines
  of the block set, and receives those that this line sets.

  Errors: ValueError for a quotation that does not end.
  """
  if text.startswith(DIRECTIVE):
    return [["sbatch"] + words_of(text[len(DIRECTIVE):])]
  commands = []
  for inner in SUBSTITUTION.findall(text):
    commands += commands_of(inner, variables)
  text = SUBSTITUTION.sub("VALUE", text)
  value = lambda match: variables.get(match[1] or match[2], match[0])
  words, command = words_of(VARIABLE.sub(value, text)), []
  for word in words + [";"]:
    if not set(word) - set(";&|()<>") and set(word) - set("<>"):
      commands.append(command)
      command = []
    else:
      command.append(word)
  return [rest for rest in (_without_syntax(command, variables) for command in commands) if rest]


def _without_syntax(command, variables):
  """Removes redirections, `for NAME in WORDS`, `do`, `done` and assignments, which it notes."""
  words = []
  for word in command:
    if words and not set(words[-1]) - set("<>"):
      words.pop()  # the file of a redirection
    else:
      words.append(word)
  if words[:1] == ["for"]:
    return []
  if words[:1] in (["do"], ["done"]):
    words = words[1:]
  while words and ASSIGNMENT.fullmatch(words[0]):
    name, value = ASSIGNMENT.fullmatch(words.pop(0)).groups()
    variables[name] = value
  return words
