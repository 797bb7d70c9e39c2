"""Writes checkpoints of weights, and of slots of rows, as docs/checkpoint_format.md describes them."""
from __future__ import annotations

import datetime
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import xxhash

Array = np.ndarray[Any, np.dtype[Any]]

# Bytes of an element of each type of tensors.
SIZES = {"BOOL": 1, "U8": 1, "I8": 1, "I16": 2, "U16": 2, "F16": 2, "BF16": 2, "I32": 4, "U32": 4, "F32": 4, "I64": 8,
         "U64": 8, "F64": 8}
ROW_TYPES = ("F32", "F16", "BF16")
FORMAT_VERSION = 3
MAX_DIM = 4096
_CHUNK_BYTES = 16 << 20
_BLOCK_BYTES = 4 << 20  # of rows that are gathered and digested at once
_TABLE_FILE_BYTES = 2 << 30
_MOST_TABLE_FILES = 1024
_BITS = 1 << 128


class DenseTensor(NamedTuple):
  """A parameter or buffer. `load` returns its numbers as unsigned integers of the same size."""
  name: str
  dtype: str
  shape: tuple[int, ...]
  load: Callable[[], Array]


class Column(NamedTuple):
  """Numbers of the rows of a table: the weights, or a slot. `rows` returns those of the n-th ids.

  They are unsigned integers of the size of `dtype`, [number of ids, size].
  """
  name: str
  dtype: str
  size: int
  rows: Callable[[Array], Array]


class _Entry(NamedTuple):
  """A tensor of a safetensors file."""
  name: str
  dtype: str
  shape: tuple[int, ...]

  def size(self) -> int:
    return SIZES[self.dtype] * count_of(self.shape)


def count_of(shape: Iterable[int]) -> int:
  """Returns the number of elements of a tensor."""
  return math.prod(shape)


def placement_hash(ids: Array) -> Array:
  """Returns the uint64 hashes by which rows of a table are ordered."""
  x = ids.astype(np.uint64)
  x ^= x >> np.uint64(30)
  x *= np.uint64(0xbf58476d1ce4e5b9)
  x ^= x >> np.uint64(27)
  x *= np.uint64(0x94d049bb133111eb)
  x ^= x >> np.uint64(31)
  return x


class DigestedFile:
  """A new file whose chunks are digested while it is written. It is synced at the end of a `with` block."""

  def __init__(self, path: str) -> None:
    self._file = open(path, "xb")
    self._chunk = xxhash.xxh3_128()
    self._room = _CHUNK_BYTES
    self.chunks: list[bytes] = []
    self.size = 0

  def __enter__(self) -> DigestedFile:
    return self

  def __exit__(self, error: object, *_: object) -> None:
    with self._file:
      if error is None:
        if self._room < _CHUNK_BYTES:
          self._end_chunk()
        self._file.flush()
        os.fsync(self._file.fileno())

  def write(self, data: bytes | memoryview) -> None:
    view = memoryview(data)
    self._file.write(view)
    self.size += len(view)
    while len(view) > 0:
      piece = view[:self._room]
      self._chunk.update(piece)
      self._room -= len(piece)
      view = view[len(piece):]
      if self._room == 0:
        self._end_chunk()

  def digest(self) -> str:
    """Returns the digest of the file, after the block."""
    return xxhash.xxh3_128_hexdigest(b"".join(self.chunks))

  def _end_chunk(self) -> None:
    self.chunks.append(self._chunk.digest())
    self._chunk = xxhash.xxh3_128()
    self._room = _CHUNK_BYTES


class CheckpointWriter:
  """Writes a checkpoint into an empty directory. It is complete after finish().

  With `row_state` all tables have the part ROW_STATE: slots, and frequencies and last steps of 0.
  """

  def __init__(self, folder: str, row_state: bool = False) -> None:
    self._folder = folder
    self._row_state = row_state
    self._files: list[dict[str, Any]] = []
    self._tables: list[dict[str, Any]] = []
    self._digests: list[dict[str, str]] = []
    self._chunks: dict[str, DigestedFile] = {}

  def write_table(self, name: str, ids: Array | int, weights: Column, slots: Sequence[Column] = ()) -> None:
    """Writes the rows of a table. `ids` is int64 [n], each once; a number n stands for the ids 0 to n - 1."""
    count = ids if isinstance(ids, int) else len(ids)
    hashes = placement_hash(np.arange(count, dtype=np.uint64) if isinstance(ids, int) else ids)
    order = np.argsort(hashes)
    hashes = hashes[order]
    ids_in_order = order if isinstance(ids, int) else ids[order]
    row_bytes = 8 + sum(column.size * SIZES[column.dtype] for column in (weights, *slots)) + 16 * self._row_state
    files = min(max(-(-count * row_bytes // _TABLE_FILE_BYTES), 1), _MOST_TABLE_FILES)
    total = 0
    for index in range(files):
      first = -(-(index << 64) // files)
      last = -(-((index + 1) << 64) // files) - 1
      begin = int(np.searchsorted(hashes, np.uint64(first)))
      end = int(np.searchsorted(hashes, np.uint64(last), side="right"))
      piece = _TablePiece("table/%s/" % name, ids_in_order[begin:end].astype("<i8"), order[begin:end], weights, slots,
                          self._row_state)
      self._write_tensors(
          "table-%s-%05d-of-%05d.safetensors" % (name, index, files), piece.entries(), piece.content,
          {"kind": "TABLE_FILE", "table": name, "first_hash": str(first), "last_hash": str(last)})
      total += piece.digest_sum
    names = [{"name": slot.name, "size": str(slot.size)} for slot in slots]
    self._tables.append({"name": name, "dim": str(weights.size), "dtype": weights.dtype,
                         **({"slots": names} if names else {}), "rows": str(count)})
    self._digests.append({"name": "table/" + name, "digest": "%032x" % (total % _BITS)})

  def write_dense(self, tensors: Sequence[DenseTensor]) -> None:
    """Writes all parameters and buffers; called once. Each is loaded once, and dropped before the next one."""
    by_name = {tensor.name: tensor for tensor in tensors}
    total = 0

    def content(entry: _Entry) -> Iterator[memoryview]:
      nonlocal total
      data = _bytes_of(by_name[entry.name].load())
      digest = xxhash.xxh3_128()
      digest.update(entry.name.encode() + b"\0" + entry.dtype.encode() + b"\0")
      digest.update(np.array([len(entry.shape), *entry.shape], "<i8").tobytes())
      digest.update(data)
      total += digest.intdigest()
      yield data

    if tensors:
      entries = [_Entry(tensor.name, tensor.dtype, tensor.shape) for tensor in tensors]
      self._write_tensors("dense-00000-of-00001.safetensors", entries, content, {"kind": "DENSE_FILE"})
    self._digests.append({"name": "dense", "digest": "%032x" % (total % _BITS)})

  def finish(self, producer: str) -> None:
    """Writes the digests of chunks, and the manifest last."""
    lines = ["millrace chunks 1 %d" % _CHUNK_BYTES]
    for name, written in sorted(self._chunks.items()):
      lines += ["%s %d" % (name, written.size), *(chunk.hex() for chunk in written.chunks)]
    name = "chunks-00000-of-00001.xxh"
    with DigestedFile(os.path.join(self._folder, name)) as file:
      file.write("".join(line + "\n" for line in lines).encode())
    self._files.append({"name": name, "kind": "CHUNKS_FILE", "rank": 0, "size": str(file.size),
                        "digest": file.digest()})
    manifest = {
        "digest": "0" * 32, "format_version": FORMAT_VERSION, "producer": producer,
        "created": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "progress": {"step": "0"}, "world_size": 1, "parts": ["DENSE", "ROWS"] + ["ROW_STATE"] * self._row_state,
        "content_digests": sorted(self._digests, key=lambda digest: digest["name"]),
        "tables": sorted(self._tables, key=lambda table: str(table["name"])),
        "files": sorted(self._files, key=lambda file: str(file["name"]).encode()),
    }
    text = json.dumps({key: value for key, value in manifest.items() if value != []}, indent=1, ensure_ascii=False)
    text = (text + "\n").replace("0" * 32, xxhash.xxh3_128_hexdigest((text + "\n").encode()), 1)
    with DigestedFile(os.path.join(self._folder, "manifest.json")) as file:
      file.write(text.encode())

  def _write_tensors(self, name: str, entries: Sequence[_Entry],
                     content: Callable[[_Entry], Iterable[bytes | memoryview]], fields: dict[str, Any]) -> None:
    entries = sorted(entries, key=lambda entry: (-SIZES[entry.dtype], entry.name.encode()))
    header, offsets = _header(entries)
    with DigestedFile(os.path.join(self._folder, name)) as file:
      file.write(header)
      for entry in entries:
        for data in content(entry):
          file.write(data)
    self._chunks[name] = file
    tensors = [{"name": entry.name, "dtype": entry.dtype,
                **({"shape": [str(size) for size in entry.shape]} if entry.shape else {}),
                "offset": str(len(header) + offset)} for entry, offset in zip(entries, offsets)]
    self._files.append({"name": name, "rank": 0, "size": str(file.size), "digest": file.digest(), **fields,
                        "tensors": tensors})


def _bytes_of(array: Array) -> memoryview:
  return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _header(entries: Sequence[_Entry]) -> tuple[bytes, list[int]]:
  """Returns the beginning of a safetensors file, and the offset of each tensor behind it."""
  fields: dict[str, Any] = {"__metadata__": {"millrace.format": "checkpoint 1"}}
  offsets: list[int] = []
  end = 0
  for entry in entries:
    offsets.append(end)
    end += entry.size()
    fields[entry.name] = {"dtype": entry.dtype, "shape": list(entry.shape), "data_offsets": [offsets[-1], end]}
  text = json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode()
  text += b" " * (-len(text) % 8)
  return len(text).to_bytes(8, "little") + text, offsets


class _TablePiece:
  """The rows of a table file. `places` says which of the ids of the table they are."""

  def __init__(self, prefix: str, ids: Array, places: Array, weights: Column, slots: Sequence[Column],
               row_state: bool) -> None:
    self._prefix = prefix
    self._ids = ids
    self._places = places
    self._columns = {"weights": weights, **{"slot/" + slot.name: slot for slot in slots}}
    self._zeros = ("frequency", "last_step") if row_state else ()
    self.digest_sum = 0  # of all rows, once the weights are written

  def entries(self) -> list[_Entry]:
    count = len(self._ids)
    entries = [_Entry(self._prefix + name, "I64", (count,)) for name in ("ids", *self._zeros)]
    return entries + [_Entry(self._prefix + name, column.dtype, (count, column.size))
                      for name, column in self._columns.items()]

  def content(self, entry: _Entry) -> Iterator[memoryview]:
    """Yields the bytes of a tensor, block by block."""
    name = entry.name.removeprefix(self._prefix)
    if name not in self._columns:
      yield _bytes_of(self._ids if name == "ids" else np.zeros(len(self._ids), np.int64))
      return
    block = max(1, _BLOCK_BYTES // (self._columns[name].size * SIZES[entry.dtype]))
    for begin in range(0, len(self._ids), block):
      here = slice(begin, begin + block)
      numbers = np.ascontiguousarray(self._columns[name].rows(self._places[here]))
      if name == "weights":
        self._digest(self._ids[here], numbers, self._places[here])
      yield _bytes_of(numbers)

  def _digest(self, ids: Array, weights: Array, places: Array) -> None:
    """Adds the digests of rows: id, weights with zeros up to a multiple of 4 bytes, slots, frequency and last step."""
    count = len(ids)
    parts = [ids.view(np.uint8).reshape(count, 8), weights.view(np.uint8).reshape(count, -1)]
    parts.append(np.zeros((count, -parts[1].shape[1] % 4), np.uint8))
    for name, column in self._columns.items():
      if name != "weights":
        parts.append(np.ascontiguousarray(column.rows(places)).view(np.uint8).reshape(count, -1))
    parts.append(np.zeros((count, 8 * len(self._zeros)), np.uint8))
    rows = np.concatenate(parts, 1)
    width, data = rows.shape[1], rows.tobytes()
    digest = xxhash.xxh3_128_intdigest
    self.digest_sum += sum(digest(data[at:at + width]) for at in range(0, len(data), width))
