// The build of this translation unit: in a plugin the content of the note, in a program what the
// note of a plugin must say.
#ifndef MILLRACE_PLUGIN_PLUGIN_BUILD_H_
#define MILLRACE_PLUGIN_PLUGIN_BUILD_H_

#include <torch/version.h>

#include <string>

#include "absl/status/status.h"
#include "base/version.h"
#include "framework/hook.h"
#include "framework/hook_registry.h"
#include "plugin/border_digest.h"
#include "plugin/plugin_note.h"

#define MILLRACE_TEXT_OF_(x) #x
#define MILLRACE_TEXT_OF(x) MILLRACE_TEXT_OF_(x)

#if defined(__clang__)
#define MILLRACE_COMPILER "clang " MILLRACE_TEXT_OF(__clang_major__)
#else
#define MILLRACE_COMPILER "gcc " MILLRACE_TEXT_OF(__GNUC__)
#endif

#if defined(__SANITIZE_ADDRESS__)
#define MILLRACE_SANITIZER ", address sanitizer"
#elif defined(__SANITIZE_THREAD__)
#define MILLRACE_SANITIZER ", thread sanitizer"
#else
#define MILLRACE_SANITIZER ""
#endif

namespace millrace {

// The types whose objects a plugin gets or makes.
struct PluginType {
  const char* name;
  uint32_t size;
};
inline constexpr PluginType kPluginTypes[] = {
    {"Hook", sizeof(Hook)},
    {"HookContext", sizeof(HookContext)},
    {"HookResources", sizeof(HookResources)},
    {"Batch", sizeof(Batch)},
    {"Window", sizeof(Window)},
    {"Gradients", sizeof(Gradients)},
    {"StepResult", sizeof(StepResult)},
    {"Report", sizeof(Report)},
    {"EvaluationResult", sizeof(EvaluationResult)},
    {"CheckpointInfo", sizeof(CheckpointInfo)},
    {"HookState", sizeof(HookState)},
    {"Progress", sizeof(Progress)},
    {"Requests", sizeof(Requests)},
    {"Status", sizeof(absl::Status)},
    {"HookConfig", sizeof(HookConfig)},
};

constexpr PluginBuild this_plugin_build() {
  static_assert(std::size(kPluginTypes) <= kPluginSizes);
  PluginBuild build = {};
  for (size_t i = 0; i < sizeof(kPluginMagic); ++i) build.magic[i] = kPluginMagic[i];
  build.abi_version = kPluginAbiVersion;
  build.bytes = sizeof(PluginBuild);
  for (size_t i = 0; i < std::size(kPluginTypes); ++i) build.sizes[i] = kPluginTypes[i].size;
  set_note_text(build.millrace_version, kVersion);
  set_note_text(build.compiler_abi, MILLRACE_COMPILER
                ", c++abi " MILLRACE_TEXT_OF(__GXX_ABI_VERSION) ", cxx11 " MILLRACE_TEXT_OF(
                    _GLIBCXX_USE_CXX11_ABI) MILLRACE_SANITIZER);
  set_note_text(build.libtorch_version, TORCH_VERSION);
  set_note_text(build.headers_digest, kBorderDigest);
  return build;
}

// Returns OK if a plugin of this build and this program understand each other.
// Errors: InvalidArgument naming the first difference and what to do. The message does not name the
// file.
absl::Status check_plugin_build(const PluginBuild& build);

}  // namespace millrace

#endif  // MILLRACE_PLUGIN_PLUGIN_BUILD_H_
