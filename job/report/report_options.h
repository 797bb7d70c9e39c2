// Reports and evaluations of a configuration: checks and options.
#ifndef MILLRACE_JOB_REPORT_REPORT_OPTIONS_H_
#define MILLRACE_JOB_REPORT_REPORT_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file_system.h"
#include "framework/report/slice_metrics.h"
#include "framework/report/span_metrics.h"
#include "hook/cadence.h"
#include "io/feature_schema.h"
#include "proto/config.pb.h"

namespace millrace {

// Returns train.slice, with the ids of its texts. `files` holds vocabularies. `unmade`: if not
// null, a slice whose vocabulary is missing lacks its texts and is named there with the reason.
// Errors: InvalidArgument for a feature that `schema` does not have or that makes no ids of text,
// and for a text that has the id of another slice; NotFound for a text outside the vocabulary;
// errors of TextIds.
absl::StatusOr<std::vector<SliceOptions>> slice_options(const TrainConfig& train,
                                                        const FeatureSchema& schema,
                                                        FileSystem& files,
                                                        std::vector<std::string>* unmade = nullptr);

// Returns run.report.span.
SpanOptions span_options(const ReportConfig& report);

// Returns a warning that names the metrics of train.metric which run.report.span lacks; "": none.
std::string span_warning(const JobConfig& config);

// Returns the cadence of training reports: run.report.when, or `otherwise` if it is not set, and
// the end of each window or epoch that is a span.
Cadence report_cadence(const ReportConfig& report, const Cadence& otherwise);

// Returns the cadence of an evaluation set without windows: its entry in `evaluation.set`, else
// `evaluation.when`, by default at the end.
Cadence evaluation_cadence(const EvaluationConfig& evaluation, absl::string_view set);

// Returns the messages of train.custom_metric whose numbers are in range. validate() reports the
// other messages, so the names of metrics are checked without them.
std::vector<CustomConfig> metric_messages_in_range(const TrainConfig& train);

// Checks train.slice, run.report.span and run.report.moving_reports. Checks that a feature of kind
// GROUP_ID exists if any list has a metric that needs groups. Errors: InvalidArgument with all
// mistakes and their places.
absl::Status check_report(const JobConfig& config);

}  // namespace millrace

#endif  // MILLRACE_JOB_REPORT_REPORT_OPTIONS_H_
