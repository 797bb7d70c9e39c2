"""Reads what a 64-bit x86-64 ELF file asks of the dynamic loader, and replaces its search path and names.

  file = ElfFile(open("millrace", "rb").read(), "millrace")
  file.needed          ["libtorch.so", …], in the order of the loader
  file.search_path     ["$ORIGIN/../lib"], of DT_RPATH or DT_RUNPATH
  file.glibc_floor()   (2, 36): the newest version of glibc whose symbols the file needs
  file.with_rpath("$ORIGIN/../lib")   the bytes of the file with another search path
  file.with_names({"libz.so.1": "libz-1a2b3c4d.so.1"})   with other names of libraries

ElfError says in one line why a file cannot be read or changed.
"""
import re
import struct

DT_NEEDED, DT_STRTAB, DT_STRSZ, DT_SONAME, DT_RPATH, DT_RUNPATH = 1, 5, 10, 14, 15, 29
DT_VERDEF, DT_VERDEFNUM, DT_VERNEED, DT_VERNEEDNUM = 0x6FFFFFFC, 0x6FFFFFFD, 0x6FFFFFFE, 0x6FFFFFFF
PT_LOAD, PT_DYNAMIC, PT_NOTE, PT_GNU_PROPERTY = 1, 2, 4, 0x6474E553
SHT_STRTAB, SHT_DYNSYM = 3, 11
PAGE = 4096
PF_R = 4
EM_X86_64 = 62
GLIBC_VERSION = re.compile(r"GLIBC_(\d+(?:\.\d+)+)$")


class ElfError(Exception):
  """A file that is no ELF file of x86-64, or whose search path or names cannot be replaced."""


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
    """Yields (offset of the entry, string index of a file, [string indices of its versions])."""
    count = self._value(DT_VERNEEDNUM, 0)
    offset = self._offset(self._value(DT_VERNEED)) if count else 0
    for _ in range(count):
      _, versions, file, first, following = self._unpack("HHIII", offset)
      at, names = offset + first, []
      for _ in range(versions):
        _, _, _, name, after = self._unpack("IHHII", at)
        names.append(name)
        at += after
      yield offset, file, names
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
    versions = [self._string(name) for _, _, names in self._needed_versions() for name in names]
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
    for _, file, names in self._needed_versions():
      used.update([file], names)
    start = self._strings + index
    if self.data[start - 1] != 0 or any(index <= name <= index + len(old) for name in used if name):
      raise ElfError("%s: its search path shares bytes with another name" % self.name)
    changed = bytearray(self.data)
    changed[start:start + len(old)] = new.ljust(len(old), b"\0")
    struct.pack_into("<q", changed, offset, DT_RPATH)
    return bytes(changed)

  def with_names(self, names):
    """Returns the bytes of the file in which libraries have other names; `names` maps old names to new ones.

    Replaces them in DT_NEEDED, DT_SONAME and the list of needed versions. The new names follow a copy of the
    string table at the end of the file, in a new segment that takes the place of a note in the program headers.
    Raises ElfError if the file has no note.
    """
    references = [(offset + 8, "Q", self._string(value)) for tag, value, offset in self._entries
                  if tag in (DT_NEEDED, DT_SONAME)]
    references += [(offset + 4, "I", self._string(file)) for offset, file, _ in self._needed_versions()]
    strings = bytearray(self.data[self._strings:self._strings + self._strings_size])
    changed = bytearray(self.data)
    places = {}  # of the new names in the string table
    for offset, form, name in references:
      if name not in names:
        continue
      if name not in places:
        places[name] = len(strings)
        strings += names[name].encode() + b"\0"
      struct.pack_into("<" + form, changed, offset, places[name])
    if not places:
      return bytes(changed)
    changed += bytes(-len(changed) % PAGE)
    address = self._add_segment(changed, len(strings))
    self._move_strings(changed, address, len(changed), len(strings))
    return bytes(changed + strings)

  def _add_segment(self, changed, size):
    """Adds a segment of `size` bytes at the end of `changed` to the program headers; returns its address."""
    start, = self._unpack("Q", 32)
    each, count = self._unpack("HH", 54)
    headers = [self._unpack("IIQQQQQQ", start + i * each) for i in range(count)]
    kinds = [header[0] for header in headers]
    # Of x86-64 programs, glibc uses neither. The first note, which often has the build id, stays if there are two.
    notes = [i for kind in (PT_GNU_PROPERTY, PT_NOTE) for i in reversed(range(count)) if kinds[i] == kind]
    if not notes:
      raise ElfError("%s: has no note in its program headers, whose place new names could take" % self.name)
    end = max(header[3] + header[6] for header in headers if header[0] == PT_LOAD)
    address = end + -end % PAGE
    # The loader requires segments in the order of their addresses.
    last = max(i for i in range(count) if kinds[i] == PT_LOAD)
    headers.insert(last + 1, (PT_LOAD, PF_R, len(changed), address, address, size, size, PAGE))
    del headers[notes[0] + (notes[0] > last)]
    for i, header in enumerate(headers):
      struct.pack_into("<IIQQQQQQ", changed, start + i * each, *header)
    return address

  def _move_strings(self, changed, address, offset, size):
    """Sets the place of the string table in the dynamic section and the section headers of `changed`."""
    old = self._value(DT_STRTAB)
    for tag, _, entry in self._entries:
      if tag in (DT_STRTAB, DT_STRSZ):
        struct.pack_into("<Q", changed, entry + 8, address if tag == DT_STRTAB else size)
    start, = self._unpack("Q", 40)
    each, count = self._unpack("HH", 58)
    for section in range(start, start + each * count, each):
      _, kind, _, at = self._unpack("IIQQ", section)
      if kind == SHT_STRTAB and at == old:
        struct.pack_into("<QQQ", changed, section + 16, address, offset, size)
