#include "plugin/plugin_note.h"

#include <algorithm>
#include <cstring>

#include "base/status_macros.h"
#include "plugin/bad_plugin.h"

namespace millrace {
namespace {

constexpr char kBuildIt[] = "; build it with millrace_hook_plugin (docs/plugins.md)";

template <size_t kField>
absl::Status check_text(const char (&field)[kField], absl::string_view what) {
  const void* end = std::memchr(field, '\0', kField);
  if (end != nullptr && end != field) return absl::OkStatus();
  return bad_plugin("its note has a ", what, " without ", end == nullptr ? "end" : "text");
}

absl::StatusOr<PluginBuild> read_build(absl::string_view content) {
  constexpr size_t kHead = offsetof(PluginBuild, sizes);
  PluginBuild build = {};
  if (content.size() < kHead) return bad_plugin("its note is too short");
  std::memcpy(&build, content.data(), kHead);
  if (std::memcmp(build.magic, kPluginMagic, sizeof(kPluginMagic)) != 0) {
    return bad_plugin("its note does not begin with the magic of a plugin");
  }
  // The layout of the rest depends on the version.
  if (build.abi_version != kPluginAbiVersion) {
    return bad_plugin("it has version ", build.abi_version,
                      " of the plugin interface; this program has version ", kPluginAbiVersion,
                      ": build it again with this Millrace");
  }
  if (build.bytes != sizeof(build) || content.size() != sizeof(build)) {
    return bad_plugin("its note has ", content.size(), " bytes and says ", build.bytes,
                      "; must be ", sizeof(build));
  }
  std::memcpy(&build, content.data(), sizeof(build));
  RETURN_IF_ERROR(check_text(build.millrace_version, "version of Millrace"));
  RETURN_IF_ERROR(check_text(build.compiler_abi, "compiler"));
  RETURN_IF_ERROR(check_text(build.libtorch_version, "version of LibTorch"));
  RETURN_IF_ERROR(check_text(build.headers_digest, "digest of headers"));
  return build;
}

absl::StatusOr<PluginHookText> read_hook(absl::string_view content) {
  PluginHookText hook = {};
  if (content.size() != sizeof(hook)) {
    return bad_plugin("the note of a hook has ", content.size(), " bytes; must be ", sizeof(hook));
  }
  std::memcpy(&hook, content.data(), sizeof(hook));
  RETURN_IF_ERROR(check_text(hook.name, "name of a hook"));
  RETURN_IF_ERROR(check_text(hook.description, "description of a hook"));
  if (hook.on_error > 2)
    return bad_plugin("the note of a hook has an unknown preference for errors");
  return hook;
}

}  // namespace

absl::StatusOr<PluginNotes> read_plugin_notes(const ElfFile& elf) {
  PluginNotes notes = {};
  int builds = 0;
  for (const ElfNote& note : elf.notes()) {
    if (note.name != kPluginNoteName) continue;
    if (note.type == kBuildNote) {
      if (++builds > 1) return bad_plugin("it has two notes of a plugin; one is expected");
      ASSIGN_OR_RETURN(notes.build, read_build(note.content));
    } else if (note.type == kHookNote) {
      ASSIGN_OR_RETURN(const PluginHookText hook, read_hook(note.content));
      notes.hooks.push_back(hook);
    } else {
      return bad_plugin("it has a note of Millrace of unknown type ", note.type);
    }
  }
  if (builds == 0) return bad_plugin("it has no note of a Millrace plugin", kBuildIt);
  if (notes.hooks.empty()) {
    return bad_plugin(
        "it has no hook: register one with MILLRACE_PLUGIN_HOOK (plugin/hook_plugin.h)");
  }
  // The linker decides the order of notes; the order of hooks must not depend on it.
  const auto by_name = [](const PluginHookText& a, const PluginHookText& b) {
    return std::strcmp(a.name, b.name) < 0;
  };
  std::sort(notes.hooks.begin(), notes.hooks.end(), by_name);
  for (size_t i = 1; i < notes.hooks.size(); ++i) {
    if (std::strcmp(notes.hooks[i - 1].name, notes.hooks[i].name) != 0) continue;
    return bad_plugin("two of its hooks are named \"", notes.hooks[i].name, "\"");
  }
  return notes;
}

}  // namespace millrace
