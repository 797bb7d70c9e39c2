#include "tools/doctor/version_text.h"

#include <arrow/config.h>
#include <torch/version.h>

#include "absl/strings/str_cat.h"
#include "base/isa/instruction_set.h"
#include "base/version.h"

namespace millrace {
namespace {

#ifdef NDEBUG
constexpr char kBuild[] = "optimized";
#else
constexpr char kBuild[] = "with checks of the debug build";
#endif

#ifdef __clang__
constexpr char kCompiler[] = "Clang " __clang_version__;
#else
constexpr char kCompiler[] = "GCC " __VERSION__;
#endif

}  // namespace

std::string version_text() {
  return absl::StrCat("millrace ", kVersion, "\nbuild: ", kBuild, ", ", kCompiler,
                      "\ninstruction set: ", name_of(best_instruction_set()),
                      "\nLibTorch: ", TORCH_VERSION,
                      "\nArrow: ", arrow::GetBuildInfo().version_string);
}

}  // namespace millrace
