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
  table tags = tags.weight slot.sum tags.momentum1       with a slot of the sparse optimizer, [rows] or [rows, size]
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
import errno
import os
import secrets
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

CANNOT_RUN, IO_FAILED = 71, 74
try:
  import numpy as np
  from millrace._checkpoint_writer import SIZES, Array, CheckpointWriter, Column, DenseTensor, count_of
  from millrace._convert_map import Item, apply_map, guess, listing, parse_map, suggestion
  from millrace._convert_sources import (DATA, MISSING, OUTPUT, UNSIGNED, USAGE, ConvertError, Source,
                                         SourceTensor, open_source)
except ImportError as missing:
  if missing.name not in ("numpy", "xxhash"):
    raise
  print("millrace: millrace.convert needs %s, which is not installed: pip install %s" % (missing.name, missing.name),
        file=sys.stderr)
  sys.exit(CANNOT_RUN)

NO_ID = np.iinfo(np.int64).max  # of a free row in TorchRec's managed collisions
NUMPY_FLOATS = {"F16": np.float16, "F32": np.float32, "F64": np.float64}
BLOCK_NUMBERS = 1 << 20  # that are converted and checked at once


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
  """Reads tensors block by block, rounds them, and finds numbers that are not finite."""

  def __init__(self, allow_non_finite: bool) -> None:
    self._allow_non_finite = allow_non_finite
    self.non_finite: set[str] = set()  # names of tensors

  def convert(self, tensor: SourceTensor, dtype: str, bits: Array, place: Callable[[int], str]) -> Array:
    """Returns the bits of numbers in another type. `place` says in errors where the n-th number is."""
    result = round_bits(bits, tensor.dtype, dtype)
    wrong = non_finite(result, dtype)
    if wrong.any():
      if not self._allow_non_finite:
        raise ConvertError(DATA, "%s has a number that is not finite%s at %s; mend the model, or convert it with "
                           "--allow_non_finite" % (tensor.name, " as " + dtype if dtype != tensor.dtype else "",
                                                   place(int(wrong.reshape(-1).argmax()))))
      self.non_finite.add(tensor.name)
    return result

  def dense(self, item: Item) -> DenseTensor:
    def load() -> Array:
      bits = item.tensor.load().reshape(-1)
      result = np.empty(bits.shape, UNSIGNED[SIZES[item.dtype]])
      for at in range(0, len(bits), BLOCK_NUMBERS):
        block = slice(at, at + BLOCK_NUMBERS)
        result[block] = self.convert(item.tensor, item.dtype, bits[block],
                                     lambda n, at=at: "number %d" % (at + n))  # type: ignore[misc]
      return result

    return DenseTensor(item.name, item.dtype, item.tensor.shape, load)

  def write_table(self, item: Item, writer: CheckpointWriter) -> int:
    """Returns the number of rows."""
    ids: Array | int = item.tensor.shape[0]
    row_of: Array | None = None
    if item.ids:
      ids, row_of = self._ids(item, item.ids)

    def column(name: str, tensor: SourceTensor, dtype: str) -> Column:
      size = count_of(tensor.shape[1:])
      numbers = tensor.load().reshape(tensor.shape[0], size)

      def rows(places: Array) -> Array:
        at = places if row_of is None else row_of[places]
        return self.convert(tensor, dtype, numbers[at], lambda n: "row %d" % at[n // size])

      return Column(name, dtype, size, rows)

    writer.write_table(item.name, ids, column("weights", item.tensor, item.dtype),
                       [column(slot, tensor, tensor.dtype) for slot, tensor in item.slots])
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


def say(text: str) -> None:
  """Prints a line. An output without a reader ends no conversion."""
  try:
    print(text, flush=True)
  except OSError:
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # pylint: disable=consider-using-with


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
  try:
    os.mkdir(temporary)
  except OSError as error:
    raise ConvertError(OUTPUT, "%s cannot be written: %s" % (path, error.strerror)) from None
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
    writer = CheckpointWriter(folder, any(item.slots for item in items))
    for item in items:
      if item.kind == "table":
        rows = converter.write_table(item, writer)
        say("table %s: %d rows of %d %s from %s" % (item.name, rows, item.tensor.shape[1], item.dtype,
                                                   item.tensor.name))
        for slot, tensor in item.slots:
          say("table %s: slot %s from %s" % (item.name, slot, tensor.name))
        if rows < item.tensor.shape[0]:
          say("left out: %d rows of %s without an id" % (item.tensor.shape[0] - rows, item.tensor.name))
    dense = [item for item in items if item.kind == "dense"]
    writer.write_dense([converter.dense(item) for item in dense])
    for item in dense:
      say("dense %s: %s %s from %s" % (item.name, item.dtype, list(item.tensor.shape), item.tensor.name))
    writer.finish(producer())


def print_list(path: str, source: Source) -> None:
  say("# %s: %s, %d tensors" % (path, source.kind, len(source.tensors)))
  for doubt in guess(source)[1]:
    say("# In doubt: %s." % doubt)
  for line in suggestion(source, list(source.tensors)) + ["# Left out: " + other for other in source.others]:
    say(line)


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
    say("left out: %s, %s" % (name, source.tensors[name].describe()))
  for other in source.others:
    say("left out: %s" % other)
  for name in sorted(converter.non_finite):
    print("millrace: warning: %s has numbers that are not finite" % name, file=sys.stderr)
  say('wrote %s; a job begins from it with train { initialize_from: "%s" }' % (flags.output, flags.output))


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
  except KeyboardInterrupt:
    return 128 + signal.SIGINT
  except FileNotFoundError as error:
    print("millrace: %s does not exist" % error.filename, file=sys.stderr)
    return MISSING
  except OSError as error:
    print("millrace: %s: %s" % (error.filename or "the output", error.strerror or error), file=sys.stderr)
    return OUTPUT if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG) else IO_FAILED


if __name__ == "__main__":
  sys.exit(main())
