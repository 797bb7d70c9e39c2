#include "tools/launch/launcher_output.h"

#include <sys/stat.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace millrace {
namespace {

constexpr char kVariable[] = "MILLRACE_LAUNCHER_OUTPUT";

std::string identity(const struct stat& info) {
  return absl::StrCat(info.st_dev, ":", info.st_ino);
}

// Returns the identity of an open descriptor; "" if not open.
std::string identity_of(int descriptor) {
  struct stat info = {};
  return ::fstat(descriptor, &info) == 0 ? identity(info) : "";
}

}  // namespace

std::string launcher_output_variable(int out, int err) {
  return absl::StrCat(kVariable, "=", identity_of(out), ",", identity_of(err));
}

bool is_launcher_output(const std::string& path) {
  const char* outputs = std::getenv(kVariable);
  struct stat info = {};
  if (outputs == nullptr || ::stat(path.c_str(), &info) != 0) return false;
  for (const absl::string_view output : absl::StrSplit(outputs, ',')) {
    if (output == identity(info)) return true;
  }
  return false;
}

}  // namespace millrace
