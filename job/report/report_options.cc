#include "job/report/report_options.h"

#include <utility>

#include "base/status_macros.h"

namespace millrace {

absl::StatusOr<std::vector<SliceOptions>> slice_options(const TrainConfig& train,
                                                        const FeatureSchema& schema) {
  std::vector<SliceOptions> slices;
  for (const SliceConfig& config : train.slice()) {
    SliceOptions options{.name = config.feature(), .max_ids = config.max_ids()};
    ASSIGN_OR_RETURN(options.feature, schema.sparse_index(config.feature()), "train.slice");
    options.ids = {config.id().begin(), config.id().end()};
    options.metrics = {config.metric().begin(), config.metric().end()};
    slices.push_back(std::move(options));
  }
  return slices;
}

SpanOptions span_options(const ReportConfig& report) {
  SpanOptions options{.moving_reports = report.moving_reports()};
  for (const int span : report.span()) {
    options.spans.push_back(static_cast<ReportConfig::Span>(span));
  }
  return options;
}

Cadence report_cadence(const ReportConfig& report, const Cadence& otherwise) {
  Cadence cadence = Cadence::from_config_or(report.has_when(), report.when(), otherwise);
  for (const int span : report.span()) {
    if (span == ReportConfig::WINDOW) cadence.every_windows = 1;
    if (span == ReportConfig::EPOCH) cadence.every_epochs = 1;
  }
  return cadence;
}

}  // namespace millrace
