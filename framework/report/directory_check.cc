#include "framework/report/directory_check.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "proto/field_check.h"

namespace millrace {
namespace {

constexpr char kMllog[] = "mllog.txt";

// Entries of an output directory that Millrace removes, replaces or appends to.
constexpr const char* kOwn[] = {
    "checkpoints",      "best", "logs",          "events.jsonl", "summary.json", "status.json",
    "config.textproto", "lock", "windows.jsonl", kMllog};

// Directories that a run makes with the default configuration.
constexpr const char* kOwnDirectories[] = {"metrics", "tensorboard"};

// Names of files that Millrace writes into `metrics` or into directories of the configuration.
constexpr const char* kOwnNames[] = {"train.jsonl", "eval.jsonl", "train.csv", "eval.csv"};

// Checks a path. `field`: "directory" or "file"; `example`: a good value of the field.
absl::Status check_path(absl::string_view where, const char* field, const std::string& path,
                        const char* example) {
  const std::vector<std::string> parts = absl::StrSplit(path, '/');
  for (const std::string& part : parts) {
    if (!part.empty() && part != "." && part != "..") continue;
    return wrong(where, absl::StrCat(field, " is \"", path,
                                     "\"; it must be a path below output_dir, such as \"", example,
                                     "\", without \".\", \"..\" and double slashes"));
  }
  const auto taken = [&](absl::string_view own) {
    return wrong(where, absl::StrCat(field, " is \"", path, "\", but ", own,
                                     " is Millrace's own; give another ", field));
  };
  for (const char* own : kOwn) {
    if (parts[0] == own) return taken(own);
  }
  for (const std::string& part : parts) {
    for (const char* own : kOwnNames) {
      if (part == own) return taken(own);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status check_directory(absl::string_view where, const std::string& directory) {
  return check_path(where, "directory", directory, "metrics");
}

absl::Status check_file(absl::string_view where, const std::string& file) {
  if (file == kMllog) return absl::OkStatus();
  for (const char* own : kOwnDirectories) {
    if (file == own) {
      return wrong(where, absl::StrCat("file is \"", file, "\", a directory of Millrace; give ",
                                       "another file"));
    }
  }
  return check_path(where, "file", file, kMllog);
}

}  // namespace millrace
