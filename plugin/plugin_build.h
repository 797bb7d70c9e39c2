// The build of this translation unit: the content of a plugin's note, or in a program the expected
// content.
#ifndef MILLRACE_PLUGIN_PLUGIN_BUILD_H_
#define MILLRACE_PLUGIN_PLUGIN_BUILD_H_

#include <torch/version.h>

#include <string>

#include "absl/status/status.h"
#include "base/version.h"
#include "hook/hook.h"
#include "hook/hook_registry.h"
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

// Types whose objects a plugin receives or creates.
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

// Returns OK if a plugin of this build is compatible with the program. Errors: InvalidArgument with
// the first difference and a remedy, without the name of the file.
absl::Status check_plugin_build(const PluginBuild& build);

}  // namespace millrace

#endif  // MILLRACE_PLUGIN_PLUGIN_BUILD_H_
