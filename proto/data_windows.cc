#include "proto/data_windows.h"

#include <algorithm>

namespace millrace {

bool comes_in_windows(const DataConfig& data) {
  const auto& sources = data.mix().source();
  return data.has_windows() || std::any_of(sources.begin(), sources.end(), [](const auto& source) {
           return source.data().has_windows();
         });
}

bool finds_own_files(const WindowsConfig& windows) {
  return windows.has_directory() || windows.has_time() || windows.has_manifest() ||
         windows.has_kafka();
}

bool is_list_of_windows(const DataConfig& data) {
  return data.has_windows() && !data.has_mix() && !data.windows().has_custom() &&
         !finds_own_files(data.windows());
}

bool has_limits(const WindowGateConfig& gate) {
  return gate.min_rows() > 0 || gate.max_rows() > 0 || gate.label_size() > 0 ||
         gate.present_size() > 0;
}

}  // namespace millrace
