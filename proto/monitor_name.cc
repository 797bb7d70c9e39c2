#include "proto/monitor_name.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "proto/field_check.h"

namespace millrace {

bool names_metric(absl::string_view monitor) {
  const std::vector<std::string> parts = absl::StrSplit(monitor, '/');
  return parts.size() >= 2 && std::find(parts.begin(), parts.end(), "") == parts.end();
}

absl::string_view set_of_monitor(absl::string_view monitor) {
  return monitor.substr(0, monitor.find('/'));
}

absl::Status check_monitor_name(absl::string_view where, absl::string_view monitor) {
  if (names_metric(monitor)) return absl::OkStatus();
  return wrong(where, absl::StrCat(monitor.empty() ? "monitor is missing"
                                                   : absl::StrCat("monitor is \"", monitor, "\""),
                                   "; set it to SET/METRIC with the name of an evaluation set, "
                                   "such as eval/auc, or to train/METRIC"));
}

}  // namespace millrace
