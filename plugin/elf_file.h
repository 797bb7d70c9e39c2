// Notes, dependencies and symbols of a shared library, read from its bytes.
#ifndef MILLRACE_PLUGIN_ELF_FILE_H_
#define MILLRACE_PLUGIN_ELF_FILE_H_

#include <cstdint>
#include <string>
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
};

// A 64-bit little-endian shared library for the processor of this program. Reads what the dynamic
// loader reads and refuses a file in which the loader might see something else than this class:
// every range is within the file, and no segment covers another. Runs nothing. A value.
class ElfFile {
 public:
  // `bytes` are borrowed by the notes.
  // Errors: InvalidArgument saying what is wrong with the file; it does not name the file.
  static absl::StatusOr<ElfFile> parse(absl::string_view bytes);

  // Notes of all PT_NOTE segments, in their order.
  const std::vector<ElfNote>& notes() const { return notes_; }
  // Names of the libraries that the loader loads with this one (DT_NEEDED).
  const std::vector<std::string>& needed() const { return needed_; }
  // The dynamic symbols except local ones.
  const std::vector<ElfSymbol>& symbols() const { return symbols_; }

 private:
  friend class ElfParser;
  ElfFile() = default;

  std::vector<ElfNote> notes_;
  std::vector<std::string> needed_;
  std::vector<ElfSymbol> symbols_;
};

}  // namespace millrace

#endif  // MILLRACE_PLUGIN_ELF_FILE_H_
