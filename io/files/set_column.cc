#include "io/files/set_column.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "io/time_type.h"

namespace millrace {
namespace {

constexpr size_t kMaxTypeNames = 4;  // in one text

absl::string_view content(bool supported, ValueType type) {
  return supported ? describe(type) : "values that are not read";
}

// Returns the type that holds the values of both. REQUIRES: is_number(a) and is_number(b).
ValueType wider(ValueType a, ValueType b) {
  if (a == ValueType::kDouble || b == ValueType::kDouble) return ValueType::kDouble;
  return a == b ? a : ValueType::kUint64;
}

}  // namespace

absl::Status SetColumn::check(const std::string& path, const FileColumn& column) const {
  if (column.is_empty || path_.empty()) return absl::OkStatus();
  const bool fits = column.type == type_ || (is_number(column.type) && is_number(type_));
  const bool one_meaning =
      have_one_meaning(parse_time_type(column.type_name), parse_time_type(time_type_name_));
  if (!one_meaning) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ", column \"", column.name, "\" holds ", column.type_name, ", but ",
                     time_type_name_, " in ", time_path_,
                     "; write all files with one of them: with a zone or without, and times "
                     "of the day apart"));
  }
  if (column.supported == supported_ && (fits || !supported_)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      path, ", column \"", column.name, "\" holds ", content(column.supported, column.type), " (",
      column.type_name, "), but ", content(supported_, type_), " (", path_type_name_, ") in ",
      path_, "; give files in which it is numbers everywhere, or text everywhere"));
}

void SetColumn::add(const std::string& path, const FileColumn& column) {
  const auto named = std::find_if(type_names_.begin(), type_names_.end(), [&](const auto& known) {
    return known.first == column.type_name;
  });
  if (named == type_names_.end()) {
    type_names_.emplace_back(column.type_name, 1);
  } else {
    ++named->second;
  }
  if (column.is_empty) return;
  if (time_type_name_.empty() && parse_time_type(column.type_name) != TimeType()) {
    time_path_ = path;
    time_type_name_ = column.type_name;
  }
  has_integers_ |= is_number(column.type) && column.type != ValueType::kDouble;
  type_ = path_.empty() || !is_number(column.type) ? column.type : wider(type_, column.type);
  if (!path_.empty()) return;
  path_ = path;
  path_type_name_ = column.type_name;
  supported_ = column.supported;
}

std::string SetColumn::type_name() const {
  if (type_names_.size() == 1) return type_names_.front().first;
  std::string text;
  for (size_t i = 0; i < std::min(type_names_.size(), kMaxTypeNames); ++i) {
    const auto& [name, files] = type_names_[i];
    absl::StrAppend(&text, i == 0 ? "" : ", ", name, " in ", files,
                    i > 0        ? ""
                    : files == 1 ? " file"
                                 : " files");
  }
  if (type_names_.size() <= kMaxTypeNames) return text;
  return absl::StrCat(text, " and ", type_names_.size() - kMaxTypeNames, " more types");
}

}  // namespace millrace
