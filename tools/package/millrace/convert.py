"""Writes a Millrace checkpoint from a checkpoint of TorchRec or PyTorch.

  python3 -m millrace.convert SOURCE OUTPUT [--map FILE] [--allow_non_finite] [--overwrite]
  python3 -m millrace.convert SOURCE --list

SOURCE is a directory of torch.distributed.checkpoint (DCP), a .safetensors file or a folder of them, or a file that
torch.save wrote. OUTPUT becomes a checkpoint of weights, from which a job begins:

  train { initialize_from: "OUTPUT" }

The map says what becomes of each tensor; # begins a comment. * stands for any text, once on both sides or on none:

  table items = sparse.embedding_bags.t_items.weight     rows of a table; ids are the indices of rows
  table users = users.weight ids users.ids               ids from a tensor, int64 [rows]
  table ads = ads.weight ids ads.raw rows ads.remapped   ids, and the row of each; 2^63 - 1 is no id
  dense top.* = over.*                                   a parameter or buffer of the model
  skip optim.*                                           left out; any number of *

`as F32` (or F16, BF16) at the end of a line rounds numbers to this type. Each tensor needs exactly one line. --list
prints the tensors as a map, as far as their names are known; without --map this map is used if nothing is in doubt.
docs/convert.md has more.
"""
from __future__ import annotations

import argparse
import contextlib
import dataclasses
import difflib
import errno
import os
import re
import secrets
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

CANNOT_RUN, IO_FAILED = 71, 74
try:
  import numpy as np
  from millrace._checkpoint_writer import MAX_DIM, ROW_TYPES, SIZES, Array, CheckpointWriter, DenseTensor
  from millrace._convert_sources import (DATA, MISSING, OUTPUT, UNSIGNED, USAGE, ConvertError, Source,
                                         SourceTensor, open_source)
except ImportError as missing:
  if missing.name not in ("numpy", "xxhash"):
    raise
  print("millrace: millrace.convert needs %s, which is not installed: pip install %s" % (missing.name, missing.name),
        file=sys.stderr)
  sys.exit(CANNOT_RUN)

TABLE_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")
# Weights of TorchRec's EmbeddingBagCollection and EmbeddingCollection.
TORCHREC_TABLE = re.compile(r"(?:.*\.)?(?:embedding_bags|embeddings)\.([^.]+)\.weight")
COLLISIONS = re.compile(r"(?:.*\.)?_managed_collision_modules\.([^.]+)\.(_\w+)")
COLLISION_IDS, COLLISION_ROWS = "_mch_sorted_raw_ids", "_mch_remapped_ids_mapping"
NO_ID = np.iinfo(np.int64).max  # of a free row in TorchRec's managed collisions
MODEL_KEYS = ("model.", "state_dict.", "model_state_dict.")  # under which a checkpoint has all of a model
WRAPPERS = re.compile(r"^(?:(?:_dmp_wrapped_module|_fsdp_wrapped_module|module)\.)+")
OPTIMIZER = re.compile(r"(?:^|\.)(?:optim|optimizer|fused_optimizer)s?\.|\.(?:momentum\d?|exp_avg(?:_sq)?)$")
NUMPY_FLOATS = {"F16": np.float16, "F32": np.float32, "F64": np.float64}
BLOCK_NUMBERS = 1 << 20  # that are converted and checked at once
MOST_LISTED = 20


@dataclasses.dataclass(frozen=True)
class Line:
  """A line of the map. `target` is empty for skip; `ids`, `rows` and `dtype` are empty if they are not given."""
  kind: str
  target: str
  source: str
  ids: str = ""
  rows: str = ""
  dtype: str = ""
  place: str = ""  # such as "map.txt:3"

  def text(self) -> str:
    words = [self.kind] + ([self.target, "="] if self.target else []) + [self.source]
    for word, value in (("ids", self.ids), ("rows", self.rows), ("as", self.dtype)):
      words += [word, value] if value else []
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


def parse_map(path: str) -> list[Line]:
  """Reads a map. Raises ConvertError."""
  lines = []
  with open(path, encoding="utf-8") as file:
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
  known = ("ids", "rows", "as") if words[0] == "table" else ("as",)
  if set(options) - set(known) or len(options) < len(words[4::2]):
    raise refuse("behind TENSOR only %s may follow, each once, in" % ", ".join("`%s …`" % word for word in known))
  if "rows" in options and "ids" not in options:
    raise refuse("`rows` needs `ids`, the id of each of these rows, in")
  if options.get("as", "F32") not in ROW_TYPES:
    raise refuse("`as` takes F32, F16 or BF16 in")
  ids, rows, dtype = (options.get(word, "") for word in ("ids", "rows", "as"))
  line = Line(words[0], words[1], words[3], ids, rows, dtype, place)
  stars = {name.count("*") for name in (line.target, line.source, line.ids, line.rows) if name}
  if len(stars) > 1 or max(stars) > 1:
    raise refuse("`*` may be once in each name or in none in")
  return line


def matches(pattern: str, name: str) -> str | None:
  """Returns the text that the first `*` of the pattern stands for, None if the pattern does not match."""
  found = re.fullmatch("(.*)".join(map(re.escape, pattern.split("*"))), name, re.DOTALL)
  return None if found is None else (found.groups() or ("",))[0]


def guess(source: Source) -> tuple[list[Line], list[str]]:
  """Returns a line for each tensor by the names of TorchRec, and a sentence for each doubt."""
  lines, doubts = [], []
  models = [name for name in source.tensors if not OPTIMIZER.search(name)]
  key = next((key for key in MODEL_KEYS if models and all(name.startswith(key) for name in models)), "")
  buffers = {found.groups(): name for name in source.tensors if (found := COLLISIONS.fullmatch(name))}
  for name, tensor in source.tensors.items():
    table, buffer = TORCHREC_TABLE.fullmatch(name), COLLISIONS.fullmatch(name)
    if table and len(tensor.shape) == 2:
      ids, rows = (buffers.get((table[1], of), "") for of in (COLLISION_IDS, COLLISION_ROWS))
      dtype = "" if tensor.dtype in ROW_TYPES else "F32"
      lines.append(Line("table", table[1], name, ids if rows else "", rows if ids else "", dtype))
      if dtype:
        doubts.append("%s is %s, and rows are %s" % (name, tensor.dtype, ", ".join(ROW_TYPES)))
    elif OPTIMIZER.search(name) or buffer and buffer[2] not in (COLLISION_IDS, COLLISION_ROWS):
      lines.append(Line("skip", "", name))
    elif not buffer:
      lines.append(Line("dense", WRAPPERS.sub("", name.removeprefix(key)), name))
  if all(line.kind != "table" for line in lines):
    doubts.append("no tensor has a name of TorchRec's tables, such as ebc.embedding_bags.NAME.weight")
  used = {name for line in lines for name in (line.source, line.ids, line.rows)}
  return lines, doubts + ["%s belongs to no table" % name for name in source.tensors if name not in used]


def suggestion(source: Source, names: Sequence[str]) -> list[str]:
  """Returns the lines of the guessed map for these tensors, with their types and shapes as comments."""
  lines = {line.source: line for line in guess(source)[0]}
  return ["%s  # %s" % (lines.get(name, Line("skip", "", name)).text(), source.tensors[name].describe())
          for name in names if name in lines or not any(name in (line.ids, line.rows) for line in lines.values())]


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
                  use(rows, line) if rows else None)
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
  if item.dtype != tensor.dtype and tensor.dtype not in (*NUMPY_FLOATS, "BF16"):
    raise refuse("%s is %s, and only floating-point numbers can be rounded to %s" %
                 (tensor.name, tensor.dtype, item.dtype))
  if item.kind == "dense":
    if len(tensor.shape) > 8:
      raise refuse("%s has %d dimensions, and at most 8 may be" % (tensor.name, len(tensor.shape)))
    if item.name.startswith(("/", "table/", "optimizer/")) or ".." in item.name or item.name == "__metadata__":
      raise refuse("the name may not begin with /, table/ or optimizer/, or hold ..")
    return
  if not TABLE_NAME.fullmatch(item.name):
    raise refuse("the name of a table has up to 128 letters, digits, _ and -")
  if item.dtype not in ROW_TYPES:
    raise refuse("%s is %s, and rows are F32, F16 or BF16; add `as F32` to round its numbers" %
                 (tensor.name, item.dtype))
  if len(tensor.shape) != 2 or not 1 <= tensor.shape[1] <= MAX_DIM:
    raise refuse("%s has the shape %s, and a table has [rows, 1 to %d]" % (tensor.name, list(tensor.shape), MAX_DIM))
  counted = item.ids if item.ids and item.rows else tensor  # has as many entries as there are ids
  for role in filter(None, (item.ids, item.rows)):
    if len(role.shape) != 1 or role.dtype != "I64" and (role is item.ids or role.dtype != "I32"):
      raise refuse("%s is %s, and ids are I64 [number], rows I64 or I32 [number]" % (role.name, role.describe()))
    if role.shape[0] != counted.shape[0]:
      raise refuse("%s has %d entries, and %s has %d; both need as many" %
                   (role.name, role.shape[0], counted.name, counted.shape[0]))


def non_finite(bits: Array, dtype: str) -> Array:
  """Returns which of the numbers are infinite or not a number."""
  if dtype == "BF16":
    return np.asarray((bits & np.uint16(0x7f80)) == 0x7f80)
  return ~np.isfinite(bits.view(NUMPY_FLOATS[dtype])) if dtype in NUMPY_FLOATS else np.zeros(bits.shape, bool)


def round_bits(bits: Array, dtype: str, to: str) -> Array:
  """Rounds numbers to the nearest of another type, F64 to BF16 by way of F32; both as unsigned integers."""
  if dtype == to:
    return bits
  if dtype == "BF16":
    wide: Array = (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)
  else:
    wide = bits.view(NUMPY_FLOATS[dtype])
  with np.errstate(over="ignore", invalid="ignore"):
    if to != "BF16":
      return wide.astype(np.float16 if to == "F16" else np.float32).view(UNSIGNED[SIZES[to]])
    single = wide.astype(np.float32)
  raw = single.view(np.uint32)
  rounded = (raw + np.uint32(0x7fff) + ((raw >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
  return np.where(np.isnan(single), np.uint32(0x7fc0), rounded).astype(np.uint16)


class Converter:
  """Reads tensors block by block, rounds them, and counts numbers that are not finite."""

  def __init__(self, allow_non_finite: bool) -> None:
    self._allow_non_finite = allow_non_finite
    self.warnings: dict[str, int] = {}

  def convert(self, item: Item, bits: Array, first: Callable[[int], str]) -> Array:
    """Returns the bits in the type of the item. `first` names the place of the n-th number in errors."""
    result = round_bits(bits, item.tensor.dtype, item.dtype)
    wrong = non_finite(result, item.dtype)
    if wrong.any():
      if not self._allow_non_finite:
        raise ConvertError(DATA, "%s has a number that is not finite%s at %s; mend the model, or convert it with "
                           "--allow_non_finite" % (item.tensor.name, " as " + item.dtype if item.dtype !=
                                                   item.tensor.dtype else "", first(int(wrong.reshape(-1).argmax()))))
      self.warnings[item.tensor.name] = self.warnings.get(item.tensor.name, 0) + int(wrong.sum())
    return result

  def dense(self, item: Item) -> DenseTensor:
    def load() -> Array:
      bits = item.tensor.load().reshape(-1)
      result = np.empty(bits.shape, UNSIGNED[SIZES[item.dtype]])
      for at in range(0, len(bits), BLOCK_NUMBERS):
        block = slice(at, at + BLOCK_NUMBERS)
        result[block] = self.convert(item, bits[block], lambda n, at=at: "number %d" % (at + n))  # type: ignore
      return result

    return DenseTensor(item.name, item.dtype, item.tensor.shape, load)

  def write_table(self, item: Item, writer: CheckpointWriter) -> int:
    """Returns the number of rows."""
    weights = item.tensor.load()
    dim = item.tensor.shape[1]
    ids: Array | int = item.tensor.shape[0]
    row_of: Array | None = None
    if item.ids:
      ids, row_of = self._ids(item, item.ids)

    def rows(places: Array) -> Array:
      at = places if row_of is None else row_of[places]
      return self.convert(item, weights[at], lambda n: "row %d" % at[n // dim])

    writer.write_table(item.name, item.dtype, dim, ids, rows)
    return ids if isinstance(ids, int) else len(ids)

  def _ids(self, item: Item, tensor: SourceTensor) -> tuple[Array, Array | None]:
    """Returns the ids, and the row of each, None if they have the order of the rows."""
    ids = tensor.load().view(np.int64)
    row_of = None
    if item.rows:
      row_of = item.rows.load().view(np.int64 if item.rows.dtype == "I64" else np.int32)
      taken = ids != NO_ID
      ids, row_of = ids[taken], row_of[taken]
      if len(row_of) and not 0 <= row_of.min() <= row_of.max() < item.tensor.shape[0]:
        raise ConvertError(DATA, "%s names rows %d to %d, and %s has %d rows; take the map of this table" %
                           (item.rows.name, row_of.min(), row_of.max(), item.tensor.name, item.tensor.shape[0]))
    values, counts = np.unique(ids, return_counts=True)
    if len(values) < len(ids):
      raise ConvertError(DATA, "%s has the id %d %d times, and an id has one row; remove the others" %
                         (tensor.name, values[counts.argmax()], counts.max()))
    return ids, row_of


def producer() -> str:
  try:
    from millrace import _build  # type: ignore  # pylint: disable=import-outside-toplevel
    return "millrace.convert %s" % _build.VERSION
  except ImportError:  # the sources without a wheel
    return "millrace.convert"


def check_output(path: str, overwrite: bool) -> None:
  """Checks that the output may be written. Raises ConvertError."""
  parent = os.path.dirname(os.path.abspath(path))
  if not os.path.isdir(parent):
    raise ConvertError(OUTPUT, "%s is no directory; make it, or name another output" % parent)
  if not os.path.lexists(path):
    return
  if not overwrite:
    raise ConvertError(OUTPUT, "%s exists; name another output, or replace it with --overwrite" % path)
  try:
    with open(os.path.join(path, "manifest.json"), "rb") as file:
      ours = b'"producer": "millrace.convert' in file.read(1 << 10)
  except OSError:
    ours = False
  if not ours or os.path.islink(path):
    raise ConvertError(OUTPUT, "%s is no checkpoint of millrace.convert, and --overwrite replaces nothing else; name "
                       "another output" % path)


@contextlib.contextmanager
def new_directory(path: str) -> Iterator[str]:
  """Gives a temporary directory that becomes `path` at the end of the block, and is removed after an exception."""
  path = os.path.abspath(path)
  temporary, old = (path + suffix + secrets.token_hex(8) for suffix in (".tmp-", ".old-"))
  os.mkdir(temporary)
  try:
    yield temporary
    sync_directory(temporary)
    if os.path.lexists(path):
      os.rename(path, old)
    os.rename(temporary, path)
    sync_directory(os.path.dirname(path))
  except BaseException:
    shutil.rmtree(temporary, ignore_errors=True)
    raise
  finally:
    if os.path.lexists(old):
      if os.path.lexists(path):
        shutil.rmtree(old)
      else:
        os.rename(old, path)


def sync_directory(path: str) -> None:
  file = os.open(path, os.O_RDONLY)
  try:
    os.fsync(file)
  finally:
    os.close(file)


def write(path: str, items: Sequence[Item], converter: Converter) -> None:
  """Writes the checkpoint and prints a line for each part of it. Raises ConvertError."""
  with new_directory(path) as folder:
    writer = CheckpointWriter(folder)
    for item in items:
      if item.kind == "table":
        rows = converter.write_table(item, writer)
        print("table %s: %d rows of %d %s from %s" % (item.name, rows, item.tensor.shape[1], item.dtype,
                                                     item.tensor.name))
        if rows < item.tensor.shape[0]:
          print("left out: %d rows of %s without an id" % (item.tensor.shape[0] - rows, item.tensor.name))
    dense = [item for item in items if item.kind == "dense"]
    writer.write_dense([converter.dense(item) for item in dense])
    for item in dense:
      print("dense %s: %s %s from %s" % (item.name, item.dtype, list(item.tensor.shape), item.tensor.name))
    writer.finish(producer())


def print_list(path: str, source: Source) -> None:
  print("# %s: %s, %d tensors" % (path, source.kind, len(source.tensors)))
  for doubt in guess(source)[1]:
    print("# In doubt: %s." % doubt)
  for line in suggestion(source, list(source.tensors)) + ["# Left out: " + other for other in source.others]:
    print(line)


def run(flags: argparse.Namespace) -> None:
  """Does what the command line says. Raises ConvertError and OSError."""
  if flags.output is not None:
    check_output(flags.output, flags.overwrite)
  source = open_source(flags.source)
  if flags.list:
    print_list(flags.source, source)
    return
  if flags.map:
    lines, where = parse_map(flags.map), flags.map
  else:
    lines, doubts = guess(source)
    where = "the map of TorchRec's names"
    lines = [dataclasses.replace(line, place=where) for line in lines]
    if doubts:
      raise ConvertError(USAGE, listing("%s needs a --map, since its names leave doubts; --list prints a map to begin "
                                        "with:" % flags.source, doubts))
  items, skipped = apply_map(source, lines, where)
  converter = Converter(flags.allow_non_finite)
  write(flags.output, items, converter)
  for name in skipped:
    print("left out: %s, %s" % (name, source.tensors[name].describe()))
  for other in source.others:
    print("left out: %s" % other)
  for name, count in converter.warnings.items():
    print("millrace: warning: %s has %d numbers that are not finite" % (name, count), file=sys.stderr)
  print('wrote %s; a job begins from it with train { initialize_from: "%s" }' % (flags.output, flags.output))


class Parser(argparse.ArgumentParser):
  """A parser whose errors are one line with the code of wrong usage."""

  def error(self, message: str) -> Any:
    print("millrace: %s; see python3 -m millrace.convert --help" % message, file=sys.stderr)
    sys.exit(USAGE)


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
  parser = Parser(prog="python3 -m millrace.convert", description=__doc__, allow_abbrev=False,
                  formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("source", metavar="SOURCE")
  parser.add_argument("output", metavar="OUTPUT", nargs="?")
  parser.add_argument("--map", metavar="FILE", help="what becomes of each tensor")
  parser.add_argument("--list", action="store_true", help="print the tensors as a map, and write nothing")
  parser.add_argument("--allow_non_finite", action="store_true", help="keep infinities and not-a-numbers")
  parser.add_argument("--overwrite", action="store_true", help="replace an OUTPUT that this program wrote")
  flags = parser.parse_args(arguments)
  if flags.list == (flags.output is not None):
    parser.error("name an OUTPUT, or give --list without one")
  return flags


def main(arguments: Sequence[str] | None = None) -> int:
  """Returns the exit code."""
  signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # so that the temporary directory is removed
  try:
    run(parse_arguments(arguments))
    return 0
  except ConvertError as error:
    print("millrace: %s" % error, file=sys.stderr)
    return error.code
  except MemoryError:
    print("millrace: out of memory; a table needs room for its weights and 32 bytes a row", file=sys.stderr)
    return CANNOT_RUN
  except FileNotFoundError as error:
    print("millrace: %s does not exist" % error.filename, file=sys.stderr)
    return MISSING
  except OSError as error:
    print("millrace: %s: %s" % (error.filename or "the output", error.strerror or error), file=sys.stderr)
    return OUTPUT if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EFBIG) else IO_FAILED


if __name__ == "__main__":
  sys.exit(main())
