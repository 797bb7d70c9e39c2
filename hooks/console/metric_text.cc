#include "hooks/console/metric_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace millrace {

bool logloss_repeats_loss(const std::map<std::string, double>& metrics, int decimals) {
  const auto logloss = metrics.find("logloss");
  const auto loss = metrics.find("loss");
  if (logloss == metrics.end() || loss == metrics.end()) return false;
  return absl::StrFormat("%.*f", decimals, logloss->second) ==
         absl::StrFormat("%.*f", decimals, loss->second);
}

std::string metrics_text(absl::string_view title, const std::map<std::string, double>& metrics,
                         absl::string_view ending, int64_t columns) {
  constexpr int kDecimals = 5;
  const bool omits = logloss_repeats_loss(metrics, kDecimals);
  std::string text(title);
  size_t line_begin = 0;
  const auto add = [&](absl::string_view item) {
    const size_t length = text.size() - line_begin + 2 + item.size();
    if (static_cast<int64_t>(length) > columns && text.size() > line_begin) {
      text += '\n';
      line_begin = text.size();
    }
    absl::StrAppend(&text, "  ", item);
  };
  for (const auto& [name, value] : metrics) {
    if (omits && name == "logloss") continue;
    add(absl::StrFormat("%s %.*f", name, kDecimals, value));
  }
  if (!ending.empty()) add(ending);
  return text;
}

}  // namespace millrace
