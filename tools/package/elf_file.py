"""Reads what a 64-bit x86-64 ELF file asks of the dynamic loader, and replaces its search path.

  file = ElfFile(open("millrace", "rb").read(), "millrace")
  file.needed          ["libtorch.so", …], in the order of the loader
  file.search_path     ["$ORIGIN/../lib"], of DT_RPATH or DT_RUNPATH
  file.glibc_floor()   (2, 36): the newest version of glibc whose symbols the file needs
  file.with_rpath("$ORIGIN/../lib")   the bytes of the file with another search path

ElfError says in one line why a file cannot be read or changed.
"""
import re
import struct

DT_NEEDED, DT_STRTAB, DT_STRSZ, DT_SONAME, DT_RPATH, DT_RUNPATH = 1, 5, 10, 14, 15, 29
DT_VERDEF, DT_VERDEFNUM, DT_VERNEED, DT_VERNEEDNUM = 0x6FFFFFFC, 0x6FFFFFFD, 0x6FFFFFFE, 0x6FFFFFFF
PT_LOAD, PT_DYNAMIC = 1, 2
SHT_DYNSYM = 11
EM_X86_64 = 62
GLIBC_VERSION = re.compile(r"GLIBC_(\d+(?:\.\d+)+)$")


class ElfError(Exception):
  """A file that is no ELF file of x86-64, or whose search path cannot be replaced."""


class ElfFile:
  """The dynamic section of one file. `data` is bytes or an mmap; `name` is for messages."""

  def __init__(self, data, name):
    self.data = data
    self.name = name
    try:
      self._read()
    except struct.error:
      raise ElfError("%s: the file is cut short" % name) from None

  def _unpack(self, form, offset):
    return struct.unpack_from("<" + form, self.data, offset)

  def _read(self):
    if bytes(self.data[:6]) != b"\x7fELF\x02\x01" or self._unpack("H", 18)[0] != EM_X86_64:
      raise ElfError("%s: not an ELF file of x86-64" % self.name)
    start, = self._unpack("Q", 32)
    size, count = self._unpack("HH", 54)
    headers = [self._unpack("IIQQQQ", start + i * size) for i in range(count)]
    self._loaded = [(at, offset, length)
                    for kind, _, offset, at, _, length in headers if kind == PT_LOAD]
    dynamic = [(offset, length) for kind, _, offset, _, _, length in headers if kind == PT_DYNAMIC]
    if not dynamic:
      raise ElfError("%s: not linked dynamically" % self.name)
    self._entries = []  # (tag, value, offset in the file)
    for offset in range(dynamic[0][0], sum(dynamic[0]), 16):
      tag, value = self._unpack("qQ", offset)
      if tag == 0:
        break
      self._entries.append((tag, value, offset))
    self._strings = self._offset(self._value(DT_STRTAB))
    self._strings_size = self._value(DT_STRSZ)
    self.needed = [self._string(value) for tag, value, _ in self._entries if tag == DT_NEEDED]
    names = [self._string(value) for tag, value, _ in self._entries if tag == DT_SONAME]
    self.soname = names[0] if names else None
    paths = [self._string(value) for tag, value, _ in self._entries
             if tag in (DT_RPATH, DT_RUNPATH)]
    self.search_path = [part for path in paths for part in path.split(":") if part]

  def _value(self, tag, default=None):
    for found, value, _ in self._entries:
      if found == tag:
        return value
    if default is None:
      raise ElfError("%s: no entry %#x in the dynamic section" % (self.name, tag))
    return default

  def _offset(self, address):
    for at, offset, length in self._loaded:
      if at <= address < at + length:
        return offset + address - at
    raise ElfError("%s: address %#x is in no segment of the file" % (self.name, address))

  def _string(self, index):
    start = self._strings + index
    return bytes(self.data[start:self.data.find(b"\0", start)]).decode()

  def _needed_versions(self):
    """Yields (string index of a file, [string indices of its versions])."""
    count = self._value(DT_VERNEEDNUM, 0)
    offset = self._offset(self._value(DT_VERNEED)) if count else 0
    for _ in range(count):
      _, versions, file, first, following = self._unpack("HHIII", offset)
      at, names = offset + first, []
      for _ in range(versions):
        _, _, _, name, after = self._unpack("IHHII", at)
        names.append(name)
        at += after
      yield file, names
      offset += following

  def _defined_versions(self):
    """Yields the string indices of the versions that the file defines."""
    count = self._value(DT_VERDEFNUM, 0)
    offset = self._offset(self._value(DT_VERDEF)) if count else 0
    for _ in range(count):
      _, _, _, names, _, first, following = self._unpack("HHHHIII", offset)
      at = offset + first
      for _ in range(names):
        name, after = self._unpack("II", at)
        yield name
        at += after
      offset += following

  def _symbol_names(self):
    """Yields the string indices of all dynamic symbols."""
    start, = self._unpack("Q", 40)
    size, count = self._unpack("HH", 58)
    for i in range(count):
      _, kind, _, _, offset, length, _, _, _, each = self._unpack("IIQQQQIIQQ", start + i * size)
      if kind == SHT_DYNSYM:
        for at in range(offset, offset + length, each):
          yield self._unpack("I", at)[0]
        return
    raise ElfError("%s: no table of dynamic symbols" % self.name)

  def glibc_floor(self):
    """Returns the newest version of glibc that a symbol needs, as (2, 36); () if none does."""
    versions = [self._string(name) for _, names in self._needed_versions() for name in names]
    found = [GLIBC_VERSION.match(version) for version in versions]
    return max((tuple(map(int, match[1].split("."))) for match in found if match), default=())

  def with_rpath(self, path):
    """Returns the bytes of the file with `path` as its only search path, in DT_RPATH.

    DT_RPATH goes before LD_LIBRARY_PATH, and the loader also uses it for the libraries that these
    libraries need: so libraries without a search path of their own stay as they are. The new path
    overwrites the old one. Raises ElfError if it is longer, or if a part of the old one is also a
    name of something else.
    """
    entries = [entry for entry in self._entries if entry[0] in (DT_RPATH, DT_RUNPATH)]
    if len(entries) != 1:
      raise ElfError("%s: has %d search paths, and one can be replaced" % (self.name, len(entries)))
    _, index, offset = entries[0]
    old, new = self._string(index).encode(), path.encode()
    if len(new) > len(old):
      raise ElfError("%s: the search path %s is longer than the %d bytes of the present one" %
                     (self.name, path, len(old)))
    used = {value for tag, value, _ in self._entries if tag in (DT_NEEDED, DT_SONAME)}
    used.update(self._symbol_names(), self._defined_versions())
    for file, names in self._needed_versions():
      used.update([file], names)
    start = self._strings + index
    if self.data[start - 1] != 0 or any(index <= name <= index + len(old) for name in used if name):
      raise ElfError("%s: its search path shares bytes with another name" % self.name)
    changed = bytearray(self.data)
    changed[start:start + len(old)] = new.ljust(len(old), b"\0")
    struct.pack_into("<q", changed, offset, DT_RPATH)
    return bytes(changed)
