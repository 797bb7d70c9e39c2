#include "sinks/prometheus/metrics_page.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "sinks/number_text.h"
#include "sinks/valid_utf8.h"

namespace millrace {

std::map<std::string, double>& MetricsPage::samples(const MetricFamily& family) {
  return families_.try_emplace(family.name, Samples{family, {}}).first->second.values;
}

void MetricsPage::set(const MetricFamily& family, const std::string& labels, double value) {
  samples(family)[labels] = value;
}

void MetricsPage::add(const MetricFamily& family, const std::string& labels, double more) {
  samples(family)[labels] += more;
}

void MetricsPage::merge(const MetricsPage& other) {
  for (const auto& [name, samples] : other.families_) {
    for (const auto& [labels, value] : samples.values) set(samples.family, labels, value);
  }
}

std::string MetricsPage::text() const {
  std::string text;
  for (const auto& [name, samples] : families_) {
    const bool counter = samples.family.type == MetricFamily::Type::kCounter;
    absl::StrAppend(&text, "# HELP ", name, " ", samples.family.help, "\n# TYPE ", name, " ",
                    counter ? "counter" : "gauge", "\n");
    for (const auto& [labels, value] : samples.values) {
      const std::string braces = labels.empty() ? "" : absl::StrCat("{", labels, "}");
      absl::StrAppend(&text, name, braces, " ", number_text(value, {"NaN", "+Inf", "-Inf"}), "\n");
    }
  }
  return text;
}

std::string prometheus_label(const std::string& name, const std::string& value) {
  return absl::StrCat(
      name, "=\"",
      absl::StrReplaceAll(valid_utf8(value), {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}}),
      "\"");
}

}  // namespace millrace
