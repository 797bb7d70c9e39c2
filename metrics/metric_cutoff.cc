#include "metrics/metric_cutoff.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace millrace {
namespace {

constexpr int64_t kMostCutoff = 1000000;

}  // namespace

CutoffName split_cutoff(absl::string_view name) {
  const size_t at = name.find('@');
  CutoffName parts{name.substr(0, at), std::nullopt};
  int64_t cutoff = 0;
  if (at != name.npos && absl::SimpleAtoi(name.substr(at + 1), &cutoff) && cutoff >= 1 &&
      cutoff <= kMostCutoff && absl::StrCat(cutoff) == name.substr(at + 1)) {
    parts.cutoff = cutoff;
  }
  return parts;
}

absl::Status check_cutoff(absl::string_view name, MetricCutoff cutoff) {
  const CutoffName parts = split_cutoff(name);
  const bool has = parts.base.size() < name.size();
  if (has && cutoff == MetricCutoff::kNone) {
    return absl::InvalidArgumentError(absl::StrCat("metric \"", name, "\": ", parts.base,
                                                   " takes no cutoff; remove \"",
                                                   name.substr(parts.base.size()), "\""));
  }
  if (has && !parts.cutoff.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("metric \"", name, "\": the cutoff is \"", name.substr(parts.base.size() + 1),
                     "\"; it must be a whole number from 1 to ", kMostCutoff));
  }
  if (!has && cutoff == MetricCutoff::kRequired) {
    return absl::InvalidArgumentError(absl::StrCat("metric \"", name, "\" needs a cutoff: write ",
                                                   absl::StripSuffix(name, "_at"),
                                                   "@10 for the first 10 examples of each group"));
  }
  return absl::OkStatus();
}

}  // namespace millrace
