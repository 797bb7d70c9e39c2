// Notes, dependencies and symbols of a shared library, read from its bytes.
#ifndef MILLRACE_PLUGIN_ELF_FILE_H_
#define MILLRACE_PLUGIN_ELF_FILE_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace millrace {

struct ElfNote {
  std::string name;  // owner of the note type, such as "GNU"
  uint32_t type = 0;
  absl::string_view content;  // of the bytes that were parsed
};

struct ElfSymbol {
  std::string name;
  bool defined = false;  // if false, other libraries define the symbol
  bool weak = false;
  bool unique = false;    // of binding GNU_UNIQUE, which RTLD_LOCAL does not hide
  bool indirect = false;  // an IFUNC: the loader calls a function to find the address
  uint64_t address = 0;   // of a defined symbol, relative to the load address
};

// A 64-bit little-endian shared library for the processor of the program. Reads the tables that the
// dynamic loader reads. Refuses a file that the loader might interpret differently, or that would
// make the loader read or write elsewhere: every table is within the file, no segment overlaps
// another, every relocation writes to a writable segment, and every version of a symbol exists.
// Runs no code of the file. A value.
class ElfFile {
 public:
  // Parses a file. `bytes` are borrowed, also by the notes. Errors: InvalidArgument with the
  // problem, without the name of the file.
  static absl::StatusOr<ElfFile> parse(absl::string_view bytes);

  // Notes of all PT_NOTE segments, in order.
  const std::vector<ElfNote>& notes() const { return notes_; }
  // Names of the libraries that the loader loads with the file (DT_NEEDED).
  const std::vector<std::string>& needed() const { return needed_; }
  // Dynamic symbols except local ones.
  const std::vector<ElfSymbol>& symbols() const { return symbols_; }

  // Returns the bytes that the loader maps at an address, before relocations.
  // Errors: InvalidArgument unless the file has all bytes.
  absl::StatusOr<absl::string_view> bytes_at(uint64_t address, uint64_t size) const;
  // Returns the target of the pointer at an address, within the library. Errors: InvalidArgument if
  // no relative relocation creates a pointer at the address.
  absl::StatusOr<uint64_t> pointer_at(uint64_t address) const;

 private:
  friend class ElfParser;
  struct Segment {
    uint64_t address, offset, size;  // part contained in the file
  };
  ElfFile() = default;

  absl::string_view bytes_;
  std::vector<Segment> segments_;
  std::unordered_map<uint64_t, uint64_t> pointers_;  // by address of the pointer
  std::vector<ElfNote> notes_;
  std::vector<std::string> needed_;
  std::vector<ElfSymbol> symbols_;
};

}  // namespace millrace

#endif  // MILLRACE_PLUGIN_ELF_FILE_H_
