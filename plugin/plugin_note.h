// The ELF notes of a plugin: its build and its hooks, readable without running code of the plugin.
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
// refused. Changes of types exchanged by plugins and programs, mainly Hook and HookContext, need no
// new version, since they change the digest of the headers.
inline constexpr uint32_t kPluginAbiVersion = 2;

inline constexpr char kPluginNoteName[] = "Millrace";
inline constexpr char kPluginMagic[8] = {'M', 'R', 'P', 'L', 'U', 'G', '\r', '\n'};
inline constexpr size_t kPluginSizes = 16;

enum PluginNoteType : uint32_t {
  kBuildNote = 1,  // once per plugin
  kHookNote = 2,   // once per hook
};

// The build of a plugin. Texts end with a zero and are padded with zeros.
struct PluginBuild {
  char magic[8];
  uint32_t abi_version;
  uint32_t bytes;  // of this structure
  // Sizes of the exchanged types (plugin/plugin_build.h); 0 after the last.
  uint32_t sizes[kPluginSizes];
  char millrace_version[32];
  char compiler_abi[64];
  char libtorch_version[32];
  char headers_digest[68];  // kBorderDigest

  friend bool operator==(const PluginBuild&, const PluginBuild&) = default;
};

// A hook of a plugin.
struct PluginHookText {
  uint32_t on_error;  // an OnError: handling of errors unless configured otherwise
  char name[64];
  char description[188];
};

// A note in the form of a section `.note.*`.
template <typename Content>
struct PluginNote {
  uint32_t name_bytes = sizeof(kPluginNoteName);  // without the padding of `name`
  uint32_t content_bytes = sizeof(Content);
  uint32_t type = 0;
  char name[12] = {};
  Content content = {};
};

// Copies a text into a field of a note. A text that does not fit is a compile error.
template <size_t kField, size_t kText>
constexpr void set_note_text(char (&field)[kField], const char (&text)[kText]) {
  static_assert(kText <= kField, "the text is too long for the note of a plugin");
  for (size_t i = 0; i < kText; ++i) field[i] = text[i];
}

// The notes of a file.
struct PluginNotes {
  PluginBuild build;
  std::vector<PluginHookText> hooks;  // by name; texts end within their fields
};

// Returns the notes of a file. Errors: InvalidArgument unless there is a single build note and at
// least one hook note, each with the magic, version, sizes and form of texts known to the program.
// check_plugin_build compares texts of the build. The messages do not contain the name of the file.
absl::StatusOr<PluginNotes> read_plugin_notes(const ElfFile& elf);

}  // namespace millrace

#endif  // MILLRACE_PLUGIN_PLUGIN_NOTE_H_
