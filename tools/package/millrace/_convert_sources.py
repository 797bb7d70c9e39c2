"""Reads the tensors of checkpoints that other programs wrote: DCP directories, safetensors files and torch.save files.

No code of a file is run: pickles may hold tensors and plain values alone. Tensors are read one by one.
"""
from __future__ import annotations

import functools
import importlib
import io
import json
import os
import pickle
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from millrace._checkpoint_writer import SIZES, Array, count_of

UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
_TORCH_TYPES = {"bool": "BOOL", "uint8": "U8", "int8": "I8", "int16": "I16", "uint16": "U16", "float16": "F16",
                "bfloat16": "BF16", "int32": "I32", "uint32": "U32", "float32": "F32", "int64": "I64", "uint64": "U64",
                "float64": "F64"}
_MOST_HEADER_BYTES = 100 << 20
# Names in the metadata of DCP checkpoints. Objects of type _Record take their place, so that no code is run.
_DCP_CLASSES = {
    "torch.distributed.checkpoint.metadata": (
        "BytesStorageMetadata", "ChunkStorageMetadata", "Metadata", "MetadataIndex", "StorageMeta", "TensorProperties",
        "TensorStorageMetadata", "_MEM_FORMAT_ENCODING"),
    "torch.distributed.checkpoint.filesystem": ("_StorageInfo", "_StoragePrefix"),
    "torch.serialization": ("_get_layout",),
    "builtins": ("getattr",),  # how Python 3.11 and later refer to members of an enumeration
    "pathlib": ("PosixPath", "PurePosixPath"),
}


class ConvertError(Exception):
  """A failure that the user can mend, with its exit code (docs/exit_codes.md)."""

  def __init__(self, code: int, text: str) -> None:
    super().__init__(text)
    self.code = code


USAGE, DATA, MISSING, CANNOT_RUN, OUTPUT = 64, 65, 66, 71, 73


class SourceTensor(NamedTuple):
  """A tensor of a source. `dtype` is in SIZES, or the name of a type that Millrace lacks.

  `load` returns the numbers as unsigned integers of the same size. It raises ConvertError.
  """
  name: str
  dtype: str
  shape: tuple[int, ...]
  load: Callable[[], Array]

  def describe(self) -> str:
    return "%s [%s]" % (self.dtype, ", ".join(map(str, self.shape)))


class Source(NamedTuple):
  """A checkpoint to convert: its tensors by name, and the names of entries that are no tensors."""
  kind: str
  tensors: dict[str, SourceTensor]
  others: list[str]


def open_source(path: str) -> Source:
  """Reads the names, types and shapes of a source. Raises ConvertError."""
  if os.path.isdir(path):
    if os.path.exists(os.path.join(path, ".metadata")):
      return _open_dcp(path)
    names = sorted(name for name in os.listdir(path) if name.endswith(".safetensors"))
    if names:
      return _open_safetensors_folder(path, names)
    shards = any(name.endswith(".distcp") for name in os.listdir(path))
    raise ConvertError(MISSING, "%s has no .metadata: %s" % (
        path, "the save was not finished; name another DCP checkpoint" if shards else
        "it is no DCP checkpoint, and it holds no .safetensors file; name the directory that has one of them"))
  if not os.path.exists(path):
    raise ConvertError(MISSING, "%s does not exist; name a DCP directory, a .safetensors or a .pt file" % path)
  if path.endswith(".safetensors"):
    return Source("safetensors", _open_safetensors(path), [])
  return _open_torch(path)


def import_torch() -> Any:
  """Imports torch. Raises ConvertError if it is missing."""
  try:
    return importlib.import_module("torch")
  except ImportError as error:
    raise ConvertError(CANNOT_RUN, "DCP checkpoints and .pt files need torch (%s): pip install torch" % error) from None


def _damaged(path: str, what: object) -> ConvertError:
  text = " ".join(str(what).split()) or type(what).__name__
  return ConvertError(DATA, "%s is damaged: %s; copy or save it again" % (path, text[:300]))


def _bits(tensor: Any) -> Array:
  """Returns the numbers of a torch tensor as unsigned integers of the same size, without a copy if it is contiguous."""
  torch = import_torch()
  size = tensor.element_size()
  signed = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[size]
  array: Array = tensor.detach().contiguous().view(signed).numpy().view(UNSIGNED[size])
  return array


def _type_name(dtype: object) -> str:
  name = str(dtype).rpartition(".")[2]
  return _TORCH_TYPES.get(name, name)


# Safetensors.


def _open_safetensors_folder(folder: str, names: list[str]) -> Source:
  indexes = [name for name in os.listdir(folder) if name.endswith(".safetensors.index.json")]
  for index in indexes:
    with open(os.path.join(folder, index), encoding="utf-8") as file:
      try:
        needed = set(json.load(file)["weight_map"].values())
      except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _damaged(file.name, error) from None
    for name in sorted(needed - set(names)):
      raise ConvertError(MISSING, "%s lacks %s, which %s names; copy it there" % (folder, name, index))
  tensors: dict[str, SourceTensor] = {}
  for name in names:
    for tensor in _open_safetensors(os.path.join(folder, name)).values():
      if tensor.name in tensors:
        raise ConvertError(DATA, "%s: %s holds the tensor %s of an earlier file again; remove one of the files" %
                           (folder, name, tensor.name))
      tensors[tensor.name] = tensor
  return Source("safetensors", tensors, [])


def _open_safetensors(path: str) -> dict[str, SourceTensor]:
  size = os.path.getsize(path)
  with open(path, "rb") as file:
    length = int.from_bytes(file.read(8), "little")
    if size < 8 or length > min(size - 8, _MOST_HEADER_BYTES):
      raise _damaged(path, "its header is longer than the file or than %d MiB" % (_MOST_HEADER_BYTES >> 20))
    try:
      header = json.loads(file.read(length), object_pairs_hook=_unique)
      header.pop("__metadata__", None)
      tensors = {name: _safetensor(path, size, 8 + length, name, entry) for name, entry in header.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
      raise _damaged(path, error) from None
  return tensors


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
  fields = dict(pairs)
  if len(fields) < len(pairs):
    names = [name for name, _ in pairs]
    raise ValueError("its header has the name %s twice" % next(name for name in names if names.count(name) > 1))
  return fields


def _safetensor(path: str, size: int, start: int, name: str, entry: Mapping[str, Any]) -> SourceTensor:
  dtype, shape = str(entry["dtype"]), tuple(int(count) for count in entry["shape"])
  begin, end = (start + int(offset) for offset in entry["data_offsets"])
  if min(shape, default=0) < 0 or not start <= begin <= end:
    raise ValueError("tensor %s has an impossible place or shape" % name)
  if end > size:
    raise ValueError("tensor %s ends at byte %d, but the file has %d bytes" % (name, end, size))
  if dtype in SIZES and end - begin != SIZES[dtype] * count_of(shape):
    raise ValueError("tensor %s has %d bytes, which do not fit its type and shape" % (name, end - begin))

  def load() -> Array:
    unsigned = np.dtype(UNSIGNED[SIZES[dtype]])
    if begin == end:
      return np.empty(shape, unsigned)
    return np.memmap(path, unsigned, "r", begin, (end - begin) // unsigned.itemsize).reshape(shape)

  return SourceTensor(name, dtype, shape, load)


# Files of torch.save.


def _open_torch(path: str) -> Source:
  torch = import_torch()
  with open(path, "rb") as file:
    if file.read(2) not in (b"PK", b"\x80\x02"):  # a zip file; a pickle, as before torch 1.6
      raise ConvertError(DATA, "%s is no file of torch.save; name a DCP directory, a .safetensors or a .pt file" % path)
  try:
    try:
      value = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except RuntimeError:  # not a zip file: the format before torch 1.6
      value = torch.load(path, map_location="cpu", weights_only=True)
  except pickle.UnpicklingError as error:
    raise ConvertError(DATA, "%s holds more than tensors and plain values, and code of a file is not run (%s); save "
                       "the state_dict alone: torch.save(model.state_dict(), FILE)" % (path, _refusal(error))) from None
  except MemoryError:
    raise
  except Exception as error:  # pylint: disable=broad-exception-caught
    raise _damaged(path, error) from None
  tensors: dict[str, SourceTensor] = {}
  others: list[str] = []
  for name, entry in _flatten("", value):
    if name in tensors:
      raise ConvertError(DATA, "%s has two tensors named %s; rename one of them in the state_dict" % (path, name))
    if not isinstance(entry, torch.Tensor):
      others.append("%s (%s)" % (name or "the file", type(entry).__name__))
      continue
    plain = type(entry) in (torch.Tensor, torch.nn.Parameter) and entry.layout == torch.strided
    dtype = _type_name(entry.dtype if plain and not entry.is_quantized else type(entry).__name__)
    tensors[name] = SourceTensor(name, dtype, tuple(entry.shape), lambda entry=entry: _bits(entry))  # type: ignore
  return Source("torch", tensors, others)


def _refusal(error: Exception) -> str:
  """Returns the name of the class or function that torch refused, or the first sentence of its error."""
  text = " ".join(str(error).split())
  _, found, rest = text.partition("Unsupported global: GLOBAL ")
  return "it needs " + rest.split()[0] if found else text[:120]


def _flatten(prefix: str, value: Any) -> Iterator[tuple[str, Any]]:
  """Yields all entries of nested dictionaries and lists, with dots between the keys as DCP names them."""
  if isinstance(value, Mapping):
    items = [(str(key), entry) for key, entry in value.items()]
  elif isinstance(value, (list, tuple)):
    items = [(str(index), entry) for index, entry in enumerate(value)]
  else:
    yield prefix, value
    return
  for key, entry in items:
    yield from _flatten(prefix + "." + key if prefix else key, entry)


# Directories of torch.distributed.checkpoint.


class _Record:
  """An object of the metadata. Its attributes are those of its state, or `state` if the state is no dictionary."""
  state: Any = ()

  def __init__(self, *_: Any) -> None:
    pass

  def __setstate__(self, state: Any) -> None:
    self.__dict__.update(state if isinstance(state, dict) else {"state": state})


class _CodeError(Exception):
  """Metadata that names a class or function of others than DCP."""


class _MetadataUnpickler(pickle.Unpickler):
  """Reads the metadata of DCP without running code."""

  def find_class(self, module: str, name: str) -> Any:
    if module == "torch":
      return tuple if name == "Size" else _TORCH_TYPES.get(name, name)
    if (module, name) == ("collections", "OrderedDict"):
      return dict
    if name not in _DCP_CLASSES.get(module, ()):
      raise _CodeError("it needs %s.%s" % (module, name))
    return type(name, (_Record,), {})


class _Slice(io.RawIOBase):
  """A part of a file, as a file."""

  def __init__(self, path: str, begin: int, size: int) -> None:
    self._file = open(path, "rb")
    self._begin, self._size, self._at = begin, size, 0

  def readable(self) -> bool:
    return True

  def seekable(self) -> bool:
    return True

  def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
    self._at = max(0, offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence])
    return self._at

  def readinto(self, buffer: Any) -> int:
    self._file.seek(self._begin + self._at)
    count = self._file.readinto(memoryview(buffer)[:max(0, self._size - self._at)])
    self._at += count
    return count

  def close(self) -> None:
    self._file.close()
    super().close()


def _open_dcp(path: str) -> Source:
  import_torch()
  place = os.path.join(path, ".metadata")
  try:
    with open(place, "rb") as file:
      metadata = _MetadataUnpickler(file).load()
    return Source("DCP", *_dcp_tensors(path, metadata))
  except _CodeError as error:
    raise ConvertError(DATA, "%s holds more than the metadata of DCP, and code of a file is not run (%s); save the "
                       "checkpoint with torch.distributed.checkpoint.save" % (place, error)) from None
  except (ConvertError, MemoryError, OSError):
    raise
  except Exception as error:  # pylint: disable=broad-exception-caught
    raise _damaged(place, error) from None


def _dcp_tensors(path: str, metadata: Any) -> tuple[dict[str, SourceTensor], list[str]]:
  places: dict[str, dict[tuple[int, ...], Any]] = {}
  for index, place in metadata.storage_data.items():
    places.setdefault(index.fqn, {})[tuple(getattr(index, "offset", None) or ())] = place
  tensors: dict[str, SourceTensor] = {}
  others: list[str] = []
  for name, entry in sorted(metadata.state_dict_metadata.items()):
    if not hasattr(entry, "chunks"):
      others.append(name + " (no tensor)")
      continue
    _check_chunks(path, name, entry, places.get(name, {}))
    state = entry.properties.state
    tensors[name] = SourceTensor(name, state[0] if state else entry.properties.dtype, tuple(entry.size),
                                 functools.partial(_load_dcp, path, name, entry, places.get(name, {})))
  return tensors, others


def _check_chunks(path: str, name: str, entry: Any, places: dict[tuple[int, ...], Any]) -> None:
  """Checks that the chunks of a tensor fill it, and that their files are there in full."""
  metadata = os.path.join(path, ".metadata")
  numbers = sum(count_of(chunk.sizes) for chunk in entry.chunks)
  if numbers != count_of(entry.size):
    raise _damaged(metadata, "the parts of %s have %d numbers instead of %s" % (name, numbers, list(entry.size)))
  for chunk in entry.chunks:
    place = places.get(tuple(chunk.offsets))
    if place is None:
      raise _damaged(metadata, "no file has the part of %s at %s" % (name, list(chunk.offsets)))
    file = os.path.join(path, place.relative_path)
    if os.path.basename(place.relative_path) != place.relative_path or not os.path.isfile(file):
      raise ConvertError(MISSING, "%s has no file %s with a part of %s; copy the whole directory" %
                         (path, place.relative_path, name))
    if os.path.getsize(file) < place.offset + place.length:
      raise _damaged(file, "it has %d bytes, and a part of %s ends at %d" %
                     (os.path.getsize(file), name, place.offset + place.length))
    if getattr(place, "transform_descriptors", None):
      raise ConvertError(USAGE, "%s is compressed (%s); save the checkpoint without extensions of its streams" %
                         (name, ", ".join(map(str, place.transform_descriptors))))


def _load_dcp(path: str, name: str, entry: Any, places: dict[tuple[int, ...], Any]) -> Array:
  """Reads the chunks of a tensor one by one."""
  torch = import_torch()
  result: Array | None = None
  for chunk in entry.chunks:
    place = places[tuple(chunk.offsets)]
    file = os.path.join(path, place.relative_path)
    try:
      with _Slice(file, place.offset, place.length) as data:
        bits = _bits(torch.load(data, map_location="cpu", weights_only=True))
      if bits.shape != tuple(chunk.sizes):
        raise ValueError("it has the shape %s instead of %s" % (list(bits.shape), list(chunk.sizes)))
    except (MemoryError, OSError):
      raise
    except Exception as error:  # pylint: disable=broad-exception-caught
      raise _damaged(file, "the part of %s at %s: %s" % (name, list(chunk.offsets), error)) from None
    if len(entry.chunks) == 1:
      return bits
    if result is None:
      result = np.empty(tuple(entry.size), bits.dtype)
    result[tuple(slice(begin, begin + size) for begin, size in zip(chunk.offsets, chunk.sizes))] = bits
  return result if result is not None else np.empty(tuple(entry.size), np.uint8)
