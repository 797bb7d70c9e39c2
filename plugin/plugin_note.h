// The ELF notes of a plugin: what it was built with and which hooks it has, in bytes that can be
// read without running anything of it.
#ifndef MILLRACE_PLUGIN_PLUGIN_NOTE_H_
#define MILLRACE_PLUGIN_PLUGIN_NOTE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "plugin/elf_file.h"

namespace millrace {

// Raised with every change of the notes or of plugin/plugin_abi.h: a plugin of another version is
// refused. Changes of what plugins and programs exchange, Hook and HookContext above all, need no
// new version: the digest of their headers follows from them.
inline constexpr uint32_t kPluginAbiVersion = 2;

inline constexpr char kPluginNoteName[] = "Millrace";
inline constexpr char kPluginMagic[8] = {'M', 'R', 'P', 'L', 'U', 'G', '\r', '\n'};
inline constexpr size_t kPluginSizes = 16;

enum PluginNoteType : uint32_t {
  kBuildNote = 1,  // once in a plugin
  kHookNote = 2,   // once for each hook
};

// The build of a plugin. Texts end with a zero and are filled with zeros.
struct PluginBuild {
  char magic[8];
  uint32_t abi_version;
  uint32_t bytes;  // of this structure
  // Sizes of the types that cross the border (plugin/plugin_build.h); 0 behind the last.
  uint32_t sizes[kPluginSizes];
  char millrace_version[32];
  char compiler_abi[64];
  char libtorch_version[32];
  char headers_digest[68];  // kBorderDigest

  friend bool operator==(const PluginBuild&, const PluginBuild&) = default;
};

// One hook of a plugin.
struct PluginHookText {
  uint32_t on_error;  // an OnError: what its errors lead to unless the configuration says otherwise
  char name[64];
  char description[188];
};

// A note as it lies in a section `.note.*`.
template <typename Content>
struct PluginNote {
  uint32_t name_bytes = sizeof(kPluginNoteName);  // without the padding of `name`
  uint32_t content_bytes = sizeof(Content);
  uint32_t type = 0;
  char name[12] = {};
  Content content = {};
};

// Copies a text into a field of a note; the compiler refuses one that does not fit.
template <size_t kField, size_t kText>
constexpr void set_note_text(char (&field)[kField], const char (&text)[kText]) {
  static_assert(kText <= kField, "the text is too long for the note of a plugin");
  for (size_t i = 0; i < kText; ++i) field[i] = text[i];
}

// The notes of one file.
struct PluginNotes {
  PluginBuild build;
  std::vector<PluginHookText> hooks;  // by name; texts end within their fields
};

// Errors: InvalidArgument unless there is one build note and at least one hook note, each with
// magic, version, sizes and texts as this program knows them. Texts of the build are
// compared by check_plugin_build. The messages do not name the file.
absl::StatusOr<PluginNotes> read_plugin_notes(const ElfFile& elf);

}  // namespace millrace

#endif  // MILLRACE_PLUGIN_PLUGIN_NOTE_H_
