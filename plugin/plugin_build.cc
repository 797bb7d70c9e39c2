#include "plugin/plugin_build.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

absl::Status equal(absl::string_view what, absl::string_view its, absl::string_view ours) {
  if (its == ours) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("it was built with ", what, " ", its,
                                                 "; this program was built with ", ours,
                                                 ": build it again with the same"));
}

// Types of equal sizes may differ in the order of their functions or members.
absl::Status check_headers(absl::string_view its, absl::string_view ours) {
  constexpr size_t kShown = 12;  // digits that distinguish them
  if (its == ours) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "it was built against other headers of Millrace (digest ", its.substr(0, kShown),
      "…; this program's is ", ours.substr(0, kShown),
      "…): build it again in the checkout of Millrace that this program was built from"));
}

}  // namespace

absl::Status check_plugin_build(const PluginBuild& build) {
  const PluginBuild ours = this_plugin_build();
  RETURN_IF_ERROR(equal("Millrace", build.millrace_version, ours.millrace_version));
  RETURN_IF_ERROR(equal("the compiler", build.compiler_abi, ours.compiler_abi));
  RETURN_IF_ERROR(equal("LibTorch", build.libtorch_version, ours.libtorch_version));
  for (size_t i = 0; i < kPluginSizes; ++i) {
    if (build.sizes[i] == ours.sizes[i]) continue;
    const char* type = i < std::size(kPluginTypes) ? kPluginTypes[i].name : "a type";
    return absl::InvalidArgumentError(
        absl::StrCat(type, " has ", build.sizes[i], " bytes in it and ", ours.sizes[i],
                     " in this program: build it again with the headers of this program"));
  }
  return check_headers(build.headers_digest, ours.headers_digest);
}

}  // namespace millrace
