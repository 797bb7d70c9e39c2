#include "framework/report/span_metrics.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "metrics/metric_registry.h"

namespace millrace {

std::string span_name(ReportConfig::Span span) {
  return absl::AsciiStrToLower(ReportConfig::Span_Name(span));
}

bool is_span_name(absl::string_view name) {
  ReportConfig::Span span;
  return ReportConfig::Span_Parse(absl::AsciiStrToUpper(name), &span) && span_name(span) == name;
}

absl::StatusOr<SpanMetrics> SpanMetrics::create(const SpanOptions& options,
                                                const std::vector<std::string>& metrics,
                                                const std::vector<std::string>& tasks,
                                                absl::Span<const CustomConfig> configs) {
  SpanMetrics spans;
  spans.options_ = options;
  spans.metrics_ = metrics;
  spans.tasks_ = tasks;
  spans.configs_ = {configs.begin(), configs.end()};
  for (const ReportConfig::Span span : options.spans) {
    RETURN_IF_ERROR(spans.make(span).status());
    spans.entries_.push_back({.span = span});
  }
  spans.clear();
  return spans;
}

absl::StatusOr<MetricSet> SpanMetrics::make(ReportConfig::Span span) const {
  std::vector<std::string> metrics;
  for (const std::string& name : metrics_) {
    const bool bounded = !traits_of_metric(name).keeps_examples;
    if (bounded || span == ReportConfig::MOVING) metrics.push_back(name);
  }
  return MetricSet::create(metrics, tasks_, LossScope::kWholeStep, configs_);
}

// Repeats a call of make() that succeeded in create().
MetricSet SpanMetrics::make_checked(ReportConfig::Span span) const {
  absl::StatusOr<MetricSet> metrics = make(span);
  MILLRACE_CHECK(metrics.ok()) << metrics.status();
  return *std::move(metrics);
}

void SpanMetrics::clear() {
  for (Entry& entry : entries_) {
    entry.number = 0;
    entry.parts.clear();
    if (entry.span != ReportConfig::MOVING) entry.parts.push_back(make_checked(entry.span));
  }
}

bool SpanMetrics::keeps_examples() const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const Entry& entry) { return make_checked(entry.span).keeps_examples(); });
}

void SpanMetrics::add(const MetricSet& report, SpanPosition position) {
  for (Entry& entry : entries_) {
    if (entry.span == ReportConfig::MOVING) {
      if (static_cast<int64_t>(entry.parts.size()) >= options_.moving_reports) {
        entry.parts.erase(entry.parts.begin());
      }
      entry.parts.push_back(make_checked(entry.span));
    }
    const int64_t number = entry.span == ReportConfig::WINDOW  ? position.window
                           : entry.span == ReportConfig::EPOCH ? position.epoch
                                                               : 0;
    if (std::exchange(entry.number, number) != number) entry.parts.back().reset();
    entry.parts.back().merge(report);
  }
}

void SpanMetrics::compute(std::map<std::string, double>& values) const {
  for (const Entry& entry : entries_) {
    const std::string prefix = absl::StrCat(span_name(entry.span), "/");
    const auto add = [&](const MetricSet& metrics) {
      for (const auto& [name, value] : metrics.compute()) values[prefix + name] = value;
    };
    if (entry.parts.size() == 1) {
      add(entry.parts.front());
      continue;
    }
    MetricSet all = make_checked(entry.span);
    for (const MetricSet& part : entry.parts) all.merge(part);
    add(all);
  }
}

void SpanMetrics::save(ReportState& state) const {
  for (const Entry& entry : entries_) {
    SpanState& span = *state.add_span();
    span.set_name(span_name(entry.span));
    span.set_number(entry.number);
    for (const MetricSet& part : entry.parts) span.add_metrics(part.save());
  }
}

absl::Status SpanMetrics::load_entry(const SpanState& state, Entry& entry) const {
  const bool moving = entry.span == ReportConfig::MOVING;
  if (!moving && state.metrics_size() != 1) return absl::DataLossError("malformed");
  entry.number = state.number();
  entry.parts.clear();
  // A run may keep fewer reports than the previous run.
  const int64_t dropped =
      moving ? std::max<int64_t>(0, state.metrics_size() - options_.moving_reports) : 0;
  for (int i = static_cast<int>(dropped); i < state.metrics_size(); ++i) {
    MetricSet& part = entry.parts.emplace_back(make_checked(entry.span));
    const absl::string_view bytes = state.metrics(i);
    RETURN_IF_ERROR(part.load_ranks({bytes}));
  }
  return absl::OkStatus();
}

absl::Status SpanMetrics::load(const ReportState& state) {
  clear();
  for (Entry& entry : entries_) {
    for (const SpanState& saved : state.span()) {
      if (saved.name() != span_name(entry.span)) continue;
      const absl::Status status = load_entry(saved, entry);
      if (status.ok()) continue;
      clear();
      return annotate(status, absl::StrCat("metrics of span ", saved.name()));
    }
  }
  return absl::OkStatus();
}

}  // namespace millrace
