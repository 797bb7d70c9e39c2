"""The map of millrace.convert: what becomes of each tensor of a source. docs/convert.md describes its lines."""
from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Sequence

from millrace._checkpoint_writer import MAX_DIM, ROW_TYPES, SIZES
from millrace._convert_sources import USAGE, ConvertError, Source, SourceTensor

TABLE_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")
# Weights of TorchRec's EmbeddingBagCollection and EmbeddingCollection.
TORCHREC_TABLE = re.compile(r"(?:.*\.)?(?:embedding_bags|embeddings)\.([^.]+)\.weight")
# What FBGEMM keeps of a table; row-wise Adagrad has momentum1 alone, with a number for each row.
TORCHREC_MOMENTUM = re.compile(r"(?:.*\.)?(?:embedding_bags|embeddings)\.([^.]+)\.weight\.\1\.momentum(\d)")
COLLISIONS = re.compile(r"(?:.*\.)?_managed_collision_modules\.([^.]+)\.(_\w+)")
COLLISION_IDS, COLLISION_ROWS = "_mch_sorted_raw_ids", "_mch_remapped_ids_mapping"
MODEL_KEYS = ("model.", "state_dict.", "model_state_dict.")  # under which a checkpoint has all of a model
WRAPPERS = re.compile(r"^(?:(?:_dmp_wrapped_module|_fsdp_wrapped_module|module)\.)+")
OPTIMIZER = re.compile(r"(?:^|\.)(?:optim|optimizer|fused_optimizer)s?\.|\.(?:momentum\d?|exp_avg(?:_sq)?)$")
FLOATS = ("F16", "BF16", "F32", "F64")
MOST_LISTED = 20


@dataclasses.dataclass(frozen=True)
class Line:
  """A line of the map. `target` is empty for skip; `ids`, `rows` and `dtype` are empty if they are not given.

  `slots` are pairs of a slot and a tensor.
  """
  kind: str
  target: str
  source: str
  ids: str = ""
  rows: str = ""
  dtype: str = ""
  place: str = ""  # such as "map.txt:3"
  slots: tuple[tuple[str, str], ...] = ()

  def text(self) -> str:
    words = [self.kind] + ([self.target, "="] if self.target else []) + [self.source]
    for word, value in (("ids", self.ids), ("rows", self.rows), ("as", self.dtype)):
      words += [word, value] if value else []
    for slot, tensor in self.slots:
      words += ["slot." + slot, tensor]
    return " ".join(words)


@dataclasses.dataclass(frozen=True)
class Item:
  """A table or dense tensor of the output."""
  kind: str
  name: str
  tensor: SourceTensor
  dtype: str
  ids: SourceTensor | None = None
  rows: SourceTensor | None = None
  slots: tuple[tuple[str, SourceTensor], ...] = ()


def parse_map(path: str) -> list[Line]:
  """Reads a map. Raises ConvertError."""
  lines = []
  with open(path, encoding="utf-8", errors="replace") as file:
    for number, text in enumerate(file, 1):
      words = re.sub(r"(^|\s)#.*", "", text).split()
      if words:
        lines.append(parse_line(words, "%s:%d" % (path, number)))
  return lines


def parse_line(words: list[str], place: str) -> Line:
  """Parses the words of a line of the map. Raises ConvertError."""

  def refuse(what: str) -> ConvertError:
    return ConvertError(USAGE, "%s: %s: `%s`" % (place, what, " ".join(words)))

  if words[0] == "skip" and len(words) == 2:
    return Line("skip", "", words[1], place=place)
  if words[0] not in ("table", "dense") or len(words) < 4 or words[2] != "=" or len(words) % 2:
    raise refuse("a line is `table NAME = TENSOR`, `dense NAME = TENSOR` or `skip PATTERN`, and not")
  options = dict(zip(words[4::2], words[5::2]))
  known = ("ids", "rows", "as", "slot.NAME") if words[0] == "table" else ("as",)
  slots = tuple((word[5:], tensor) for word, tensor in options.items() if word.startswith("slot.") and word[5:])
  unknown = set(options) - set(known) - {"slot." + slot for slot, _ in slots if words[0] == "table"}
  if unknown or len(options) < len(words[4::2]):
    raise refuse("behind TENSOR only %s may follow, each once, in" % ", ".join("`%s …`" % word for word in known))
  if "rows" in options and "ids" not in options:
    raise refuse("`rows` needs `ids`, the id of each of these rows, in")
  if options.get("as", "F32") not in ROW_TYPES:
    raise refuse("`as` takes F32, F16 or BF16 in")
  ids, rows, dtype = (options.get(word, "") for word in ("ids", "rows", "as"))
  line = Line(words[0], words[1], words[3], ids, rows, dtype, place, slots)
  stars = {name.count("*") for name in (line.target, line.source, ids, rows, *(tensor for _, tensor in slots)) if name}
  if len(stars) > 1 or max(stars) > 1:
    raise refuse("`*` may be once in each name or in none in")
  return line


def matches(pattern: str, name: str) -> str | None:
  """Returns the text that the first `*` of the pattern stands for, None if the pattern does not match."""
  found = re.fullmatch("(.*)".join(map(re.escape, pattern.split("*"))), name, re.DOTALL)
  return None if found is None else (found.groups() or ("",))[0]


def names_of(line: Line) -> tuple[str, ...]:
  """Returns the names of tensors in a line; names that are not given are empty."""
  return line.source, line.ids, line.rows, *(tensor for _, tensor in line.slots)


def guess(source: Source) -> tuple[list[Line], list[str]]:
  """Returns a line for each tensor by the names of TorchRec, and a sentence for each doubt."""
  lines, doubts = [], []
  models = [name for name in source.tensors if not OPTIMIZER.search(name)]
  key = next((key for key in MODEL_KEYS if models and all(name.startswith(key) for name in models)), "")
  buffers = {found.groups(): name for name in source.tensors if (found := COLLISIONS.fullmatch(name))}
  momentum = {found.groups(): name for name in source.tensors if (found := TORCHREC_MOMENTUM.fullmatch(name))}
  for name, tensor in source.tensors.items():
    table, buffer = TORCHREC_TABLE.fullmatch(name), COLLISIONS.fullmatch(name)
    if table and len(tensor.shape) == 2:
      ids, rows = (buffers.get((table[1], of), "") for of in (COLLISION_IDS, COLLISION_ROWS))
      dtype = "" if tensor.dtype in ROW_TYPES else "F32"
      first = momentum.get((table[1], "1"))
      rowwise = first and (table[1], "2") not in momentum and source.tensors[first].shape == tensor.shape[:1]
      slots = (("sum", first),) if first and rowwise else ()
      lines.append(Line("table", table[1], name, ids if rows else "", rows if ids else "", dtype, slots=slots))
      if dtype:
        doubts.append("%s is %s, and rows are %s" % (name, tensor.dtype, ", ".join(ROW_TYPES)))
    elif name in momentum.values():
      continue  # with its table, or below
    elif OPTIMIZER.search(name) or buffer and buffer[2] not in (COLLISION_IDS, COLLISION_ROWS):
      lines.append(Line("skip", "", name))
    elif not buffer:
      lines.append(Line("dense", WRAPPERS.sub("", name.removeprefix(key)), name))
  if all(line.kind != "table" for line in lines):
    doubts.append("no tensor has a name of TorchRec's tables, such as ebc.embedding_bags.NAME.weight")
  used = {name for line in lines for name in names_of(line)}
  lines += [Line("skip", "", name) for name in momentum.values() if name not in used]
  used.update(momentum.values())
  return lines, doubts + ["%s belongs to no table" % name for name in source.tensors if name not in used]


def suggestion(source: Source, names: Sequence[str]) -> list[str]:
  """Returns the lines of the guessed map for these tensors, with their types and shapes as comments."""
  lines = {line.source: line for line in guess(source)[0]}
  return ["%s  # %s" % (lines.get(name, Line("skip", "", name)).text(), source.tensors[name].describe())
          for name in names if name in lines or not any(name in names_of(line) for line in lines.values())]


def apply_map(source: Source, lines: Sequence[Line], where: str) -> tuple[list[Item], list[str]]:
  """Returns what to write, and the names of tensors to leave out. Raises ConvertError."""
  users: dict[str, Line] = {}
  items: dict[tuple[str, str], Item] = {}
  skipped = []

  def use(name: str, line: Line) -> SourceTensor:
    if name not in source.tensors:
      raise ConvertError(USAGE, "%s: the source has no tensor %s%s" % (line.place, name, nearest(name, source)))
    earlier = users.setdefault(name, line)
    if earlier is not line:
      raise ConvertError(USAGE, "%s matches the tensor %s, which %s matches too; each tensor needs exactly one line" %
                         (line.place, name, earlier.place))
    return source.tensors[name]

  for line in lines:
    found = {name: text for name in source.tensors if (text := matches(line.source, name)) is not None}
    if not found:
      raise ConvertError(USAGE, "%s: no tensor of the source has the name %s%s" %
                         (line.place, line.source, nearest(line.source, source)))
    for name, text in found.items():
      tensor = use(name, line)
      if line.kind == "skip":
        skipped.append(name)
        continue
      target, ids, rows = (part.replace("*", text) for part in (line.target, line.ids, line.rows))
      item = Item(line.kind, target, tensor, line.dtype or tensor.dtype, use(ids, line) if ids else None,
                  use(rows, line) if rows else None,
                  tuple((slot, use(of.replace("*", text), line)) for slot, of in line.slots))
      check_item(item, line.place)
      if (line.kind, target) in items:
        raise ConvertError(USAGE, "%s: %s and %s would both become the %s %s; give one of them another name" %
                           (line.place, items[line.kind, target].tensor.name, name, describe(line.kind), target))
      items[line.kind, target] = item
  unmatched = [name for name in source.tensors if name not in users]
  if unmatched:
    raise ConvertError(USAGE, listing("no line of %s matches %d of %d tensors; add lines such as these:" %
                                      (where, len(unmatched), len(source.tensors)), suggestion(source, unmatched)))
  return list(items.values()), skipped


def nearest(name: str, source: Source) -> str:
  close = difflib.get_close_matches(name, source.tensors, 1, 0.5)
  return "; did you mean %s?" % close[0] if close else "; --list prints the names"


def listing(title: str, lines: Sequence[str]) -> str:
  more = ["… and %d more" % (len(lines) - MOST_LISTED)] if len(lines) > MOST_LISTED else []
  return "\n  ".join([title, *lines[:MOST_LISTED], *more])


def describe(kind: str) -> str:
  return "table" if kind == "table" else "dense tensor"


def check_item(item: Item, place: str) -> None:
  """Checks names, types and shapes. Raises ConvertError."""
  where = "%s: %s %s" % (place, describe(item.kind), item.name)
  tensor = item.tensor

  def refuse(what: str) -> ConvertError:
    return ConvertError(USAGE, "%s: %s" % (where, what))

  if tensor.dtype not in SIZES:
    raise refuse("%s is %s, a type that checkpoints lack; convert it before it is saved, or skip it" %
                 (tensor.name, tensor.dtype))
  if item.dtype != tensor.dtype and tensor.dtype not in FLOATS:
    raise refuse("%s is %s, and only floating-point numbers can be rounded to %s" %
                 (tensor.name, tensor.dtype, item.dtype))
  if item.kind == "dense":
    if len(tensor.shape) > 8:
      raise refuse("%s has %d dimensions, and at most 8 may be" % (tensor.name, len(tensor.shape)))
    if (item.name.startswith(("/", "table/", "optimizer/")) or ".." in item.name or "\0" in item.name or
        item.name in ("", "__metadata__")):
      raise refuse("the name may not be empty or begin with /, table/ or optimizer/, or hold ..")
    return
  if not TABLE_NAME.fullmatch(item.name):
    raise refuse("the name of a table has up to 128 letters, digits, _ and -")
  if item.dtype not in ROW_TYPES:
    raise refuse("%s is %s, and rows are F32, F16 or BF16; add `as F32` to round its numbers" %
                 (tensor.name, item.dtype))
  if len(tensor.shape) != 2 or not 1 <= tensor.shape[1] <= MAX_DIM:
    raise refuse("%s has the shape %s, and a table has [rows, 1 to %d]" % (tensor.name, list(tensor.shape), MAX_DIM))
  for slot, of in item.slots:
    if not TABLE_NAME.fullmatch(slot):
      raise refuse("slot %s: a name has up to 128 letters, digits, _ and -" % slot)
    if of.dtype != "F32" or of.shape[:1] != tensor.shape[:1] or len(of.shape) > 2 or 0 in of.shape[1:]:
      raise refuse("slot %s: %s is %s, and a slot of %s is F32 [%d] or [%d, size]" %
                   (slot, of.name, of.describe(), tensor.name, tensor.shape[0], tensor.shape[0]))
  counted = item.ids if item.ids and item.rows else tensor  # has as many entries as there are ids
  for role in filter(None, (item.ids, item.rows)):
    if len(role.shape) != 1 or role.dtype != "I64" and (role is item.ids or role.dtype != "I32"):
      raise refuse("%s is %s, and ids are I64 [number], rows I64 or I32 [number]" % (role.name, role.describe()))
    if role.shape[0] != counted.shape[0]:
      raise refuse("%s has %d entries, and %s has %d; both need as many" %
                   (role.name, role.shape[0], counted.name, counted.shape[0]))
