#include "hooks/metric_text.h"

#include "absl/strings/str_format.h"

namespace millrace {

bool logloss_repeats_loss(const std::map<std::string, double>& metrics, int decimals) {
  const auto logloss = metrics.find("logloss");
  const auto loss = metrics.find("loss");
  if (logloss == metrics.end() || loss == metrics.end()) return false;
  return absl::StrFormat("%.*f", decimals, logloss->second) ==
         absl::StrFormat("%.*f", decimals, loss->second);
}

std::string metrics_text(const std::map<std::string, double>& metrics, RepeatedLogloss repeated) {
  constexpr int kDecimals = 5;
  const bool omits =
      repeated == RepeatedLogloss::kOmitted && logloss_repeats_loss(metrics, kDecimals);
  std::string text;
  for (const auto& [name, value] : metrics) {
    if (omits && name == "logloss") continue;
    absl::StrAppendFormat(&text, "  %s %.*f", name, kDecimals, value);
  }
  return text;
}

}  // namespace millrace
