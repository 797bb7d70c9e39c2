#include "io/window/window_source_registry.h"

#include "io/window/directory_window_source.h"
#include "io/window/list_window_source.h"
#include "io/window/time_window_source.h"

namespace millrace {
namespace {

std::vector<WindowSourceRegistry::Kind> window_source_kinds() {
  return {
      {WindowsConfig::kList,
       [](const auto&, const auto& input, int64_t) {
         return ListWindowSource::create(*input.files, input.data, input.count_rows);
       }},
      {WindowsConfig::kDirectory,
       [](const auto& windows, const auto& input, int64_t taken_names) {
         return std::make_unique<DirectoryWindowSource>(*input.files, windows, input.count_rows,
                                                        taken_names);
       }},
      {WindowsConfig::kTime,
       [](const auto& windows, const auto& input, int64_t) {
         return std::make_unique<TimeWindowSource>(*input.files, windows.time());
       }},
  };
}

}  // namespace

MILLRACE_PART_FAMILY(window_source, WindowSourceRegistry, "window source",
                     "windows { custom { name: \"NAME\" } }", "source", window_source_kinds(),
                     WindowsConfig::kList);

}  // namespace millrace
