#include "config/window_check.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file_system.h"
#include "base/path/path_check.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "proto/data_windows.h"
#include "proto/field_check.h"
#include "proto/field_errors.h"
#include "proto/range_check.h"

namespace millrace {
namespace {

absl::Status check_window_io(const WindowIoConfig& window_io) {
  FieldErrors errors;
  for (const std::string& to : {window_io.move_done_to(), window_io.move_damaged_to()}) {
    if (is_uri(to)) {
      errors.add(wrong("run.window_io", absl::StrCat("cannot move files to ", to,
                                                     ": what is behind URIs is only read")));
    } else {
      errors.add(annotate(check_shell_path(to), "run.window_io"));
    }
  }
  return errors.status();
}

absl::Status check_moves(const JobConfig& config) {
  const DataConfig& data = config.train().train_data();
  const WindowIoConfig& moves = config.run().window_io();
  if (moves.move_done_to().empty() && moves.move_damaged_to().empty()) return absl::OkStatus();
  if (is_list_of_windows(data) && config.train().max_epochs() > 1) {
    return wrong("run.window_io",
                 "move_done_to and move_damaged_to would move files that later epochs read; "
                 "remove them, or set train.max_epochs to 1");
  }
  if (!data.windows().has_kafka() && !data.windows().has_manifest()) return absl::OkStatus();
  return wrong("run.window_io",
               absl::StrCat("move_done_to and move_damaged_to move files, but ",
                            data.windows().has_kafka() ? "the data is a Kafka topic"
                                                       : "those of a manifest belong to others",
                            "; remove them"));
}

absl::Status check_share(const std::string& where, const WindowGateConfig::Share& share,
                         const std::vector<std::string>& names, absl::string_view kind) {
  if (std::find(names.begin(), names.end(), share.feature()) == names.end()) {
    return wrong(where, absl::StrCat("feature is \"", share.feature(), "\", which is no ", kind,
                                     did_you_mean(share.feature(), names)));
  }
  if (share.min() <= share.max()) return absl::OkStatus();
  return wrong(where, absl::StrCat("min is ", share.min(), ", above max, ", share.max()));
}

absl::Status check_window_gate(const JobConfig& config) {
  if (!config.run().has_window_gate()) return absl::OkStatus();
  const WindowGateConfig& gate = config.run().window_gate();
  const std::string where = "run.window_gate";
  FieldErrors errors;
  errors.add(check_ranges(where, gate));
  if (gate.max_rows() > 0 && gate.max_rows() < gate.min_rows()) {
    errors.add(wrong(where, absl::StrCat("min_rows is ", gate.min_rows(), ", above max_rows, ",
                                         gate.max_rows())));
  }
  std::vector<std::string> labels, features;
  for (const FeatureConfig& feature : config.train().feature()) {
    if (feature.kind() == FeatureConfig::LABEL) labels.push_back(feature.name());
    if (feature.kind() == FeatureConfig::SPARSE || feature.kind() == FeatureConfig::DENSE) {
      features.push_back(feature.name());
    }
  }
  for (int i = 0; i < gate.label_size(); ++i) {
    errors.add(check_share(entry(where + ".label", i), gate.label(i), labels, "label"));
  }
  for (int i = 0; i < gate.present_size(); ++i) {
    errors.add(check_share(entry(where + ".present", i), gate.present(i), features,
                           "dense or sparse feature"));
  }
  if (errors.status().ok() && has_limits(gate) && !comes_in_windows(config.train().train_data())) {
    errors.add(wrong(where, "train.train_data does not come in windows; remove it"));
  }
  return errors.status();
}

}  // namespace

absl::Status check_run_windows(const JobConfig& config) {
  FieldErrors errors;
  errors.add(check_window_io(config.run().window_io()));
  errors.add(check_moves(config));
  errors.add(check_window_gate(config));
  return errors.status();
}

}  // namespace millrace
