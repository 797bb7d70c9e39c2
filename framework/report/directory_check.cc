#include "framework/report/directory_check.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "proto/field_check.h"

namespace millrace {
namespace {

// Entries of an output directory that Millrace removes, replaces or appends to.
constexpr const char* kOwn[] = {"checkpoints",  "best",          "logs",
                                "events.jsonl", "summary.json",  "config.textproto",
                                "lock",         "windows.jsonl", "mllog.txt"};

}  // namespace

absl::Status check_directory(absl::string_view where, const std::string& directory) {
  const std::vector<std::string> parts = absl::StrSplit(directory, '/');
  for (const std::string& part : parts) {
    if (!part.empty() && part != "." && part != "..") continue;
    return wrong(where, absl::StrCat("directory is \"", directory,
                                     "\"; it must be a path below output_dir, such as \"metrics\", "
                                     "without \".\", \"..\" and double slashes"));
  }
  for (const char* own : kOwn) {
    if (parts[0] != own) continue;
    return wrong(where, absl::StrCat("directory is \"", directory, "\", but ", own,
                                     " is Millrace's own; give another directory"));
  }
  return absl::OkStatus();
}

}  // namespace millrace
