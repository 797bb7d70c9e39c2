#include "tools/output/times_text.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "tools/text_table.h"

namespace millrace {
namespace {

constexpr double kLeastShare = 0.005;

}  // namespace

std::string times_text(const RunTimes& times) {
  const double total = absl::ToDoubleSeconds(times.total());
  if (total < 0.001) return "";
  const std::pair<const char*, absl::Duration> parts[] = {
      {"data wait", times.data_wait},   {"forward", times.forward},
      {"backward", times.backward},     {"exchange", times.exchange},
      {"update", times.update},         {"hooks", times.hooks},
      {"evaluation", times.evaluation}, {"checkpoints", times.checkpoint}};
  TextTable table({{"time"}, {"seconds", TextTable::kRight}, {"share", TextTable::kRight}});
  const auto add = [&](const char* name, double seconds) {
    table.add({name, absl::StrFormat("%.2f", seconds),
               absl::StrFormat("%.1f %%", 100 * seconds / total)});
  };
  double other = absl::ToDoubleSeconds(times.other);
  for (const auto& [name, time] : parts) {
    const double seconds = absl::ToDoubleSeconds(time);
    if (seconds < kLeastShare * total) {
      other += seconds;
    } else {
      add(name, seconds);
    }
  }
  if (other >= kLeastShare * total) add("other", other);
  add("total", total);
  return table.text();
}

}  // namespace millrace
