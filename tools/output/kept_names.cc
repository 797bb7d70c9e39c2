#include "tools/output/kept_names.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace millrace {
namespace {

bool contains(absl::Span<const std::string> names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> kept_names(absl::Span<const std::string> values,
                                                    absl::Span<const std::string> columns) {
  std::vector<std::string> names;
  for (const std::string& value : values) {
    std::vector<std::string> given = {value};
    if (!contains(columns, value)) given = absl::StrSplit(value, ',');
    for (std::string& name : given) {
      if (name.empty()) {
        return absl::InvalidArgumentError(
            absl::StrCat("\"", value, "\" has an empty name; give COLUMN[,COLUMN...]"));
      }
      if (contains(names, name)) {
        return absl::InvalidArgumentError(absl::StrCat("column \"", name, "\" comes twice"));
      }
      names.push_back(std::move(name));
    }
  }
  return names;
}

}  // namespace millrace
