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
  std::string name;  // of who defines it, such as "GNU"
  uint32_t type = 0;
  absl::string_view content;  // of the bytes that were parsed
};

struct ElfSymbol {
  std::string name;
  bool defined = false;  // or else looked up in other libraries
  bool weak = false;
  bool unique = false;    // of binding GNU_UNIQUE, which RTLD_LOCAL does not hide
  bool indirect = false;  // an IFUNC, whose function the loader calls to find the symbol
  uint64_t address = 0;   // of a defined one, relative to where the library is loaded
};

// A 64-bit little-endian shared library for the processor of this program. Reads what the dynamic
// loader reads and refuses a file in which the loader might see something else than this class, or
// which would make the loader read or write elsewhere: every table is within the file, no segment
// covers another, every relocation writes to a writable segment, and every version of a symbol
// exists. Runs nothing. A value.
class ElfFile {
 public:
  // `bytes` are borrowed, also by the notes.
  // Errors: InvalidArgument saying what is wrong with the file; it does not name the file.
  static absl::StatusOr<ElfFile> parse(absl::string_view bytes);

  // Notes of all PT_NOTE segments, in their order.
  const std::vector<ElfNote>& notes() const { return notes_; }
  // Names of the libraries that the loader loads with this one (DT_NEEDED).
  const std::vector<std::string>& needed() const { return needed_; }
  // The dynamic symbols except local ones.
  const std::vector<ElfSymbol>& symbols() const { return symbols_; }

  // Returns the bytes that the loader maps at an address, before relocations.
  // Errors: InvalidArgument if the file does not have all of them.
  absl::StatusOr<absl::string_view> bytes_at(uint64_t address, uint64_t size) const;
  // Returns the address to which the pointer at an address points, within the library.
  // Errors: InvalidArgument if no relative relocation makes a pointer there.
  absl::StatusOr<uint64_t> pointer_at(uint64_t address) const;

 private:
  friend class ElfParser;
  struct Segment {
    uint64_t address, offset, size;  // of the part that the file has
  };
  ElfFile() = default;

  absl::string_view bytes_;
  std::vector<Segment> segments_;
  std::unordered_map<uint64_t, uint64_t> pointers_;  // by their addresses
  std::vector<ElfNote> notes_;
  std::vector<std::string> needed_;
  std::vector<ElfSymbol> symbols_;
};

}  // namespace millrace

#endif  // MILLRACE_PLUGIN_ELF_FILE_H_
