// Changes the bytes of a plugin.
#ifndef MILLRACE_TESTS_PLUGINS_ELF_EDITOR_H_
#define MILLRACE_TESTS_PLUGINS_ELF_EDITOR_H_

#include <elf.h>

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "plugin/plugin_note.h"

namespace millrace {

#if defined(__aarch64__)
inline constexpr uint64_t kIndirectRelocation = R_AARCH64_IRELATIVE;
inline constexpr uint64_t kCopyRelocation = R_AARCH64_COPY;
#else
inline constexpr uint64_t kIndirectRelocation = R_X86_64_IRELATIVE;
inline constexpr uint64_t kCopyRelocation = R_X86_64_COPY;
#endif

// Finds parts of a correct plugin, so that a test can change them. Each function fails the test if
// the part does not exist. Pointers refer to `bytes`, which the caller owns and does not resize.
class ElfEditor {
 public:
  explicit ElfEditor(std::string& bytes) : bytes_(bytes) {}

  Elf64_Ehdr& header() { return *at<Elf64_Ehdr>(0); }
  // Returns the n-th segment of a type.
  Elf64_Phdr& segment(uint32_t type, int n = 0);
  // Returns the first entry of the dynamic section with this tag.
  Elf64_Dyn& dynamic(int64_t tag);
  // Returns the symbol of this name.
  Elf64_Sym& symbol(absl::string_view name);
  // Returns the first relocation of the table that the entry `tag` of the dynamic section names.
  Elf64_Rela& relocation(int64_t tag);
  // Returns the first entry of a list of versions, DT_VERDEF or DT_VERNEED.
  template <typename Entry>
  Entry& version(int64_t tag) {
    return *at<Entry>(offset_of(dynamic(tag).d_un.d_val));
  }
  // Returns the version of a symbol, by its index.
  Elf64_Versym& version_of_symbol(int index) {
    return at<Elf64_Versym>(offset_of(dynamic(DT_VERSYM).d_un.d_val))[index];
  }
  // Returns a name in the table of names, which may be overwritten up to its size.
  char* name(absl::string_view name);
  // Returns a note of Millrace, including the header.
  PluginNote<PluginBuild>& build_note();
  PluginNote<PluginHookText>& hook_note();

 private:
  template <typename T>
  T* at(uint64_t offset) {
    return reinterpret_cast<T*>(bytes_.data() + offset);
  }
  // Returns the offset of the bytes that are mapped at an address.
  uint64_t offset_of(uint64_t address);

  std::string& bytes_;
};

}  // namespace millrace

#endif  // MILLRACE_TESTS_PLUGINS_ELF_EDITOR_H_
