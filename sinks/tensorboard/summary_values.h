// Values of TensorBoard's summaries.
#ifndef MILLRACE_SINKS_TENSORBOARD_SUMMARY_VALUES_H_
#define MILLRACE_SINKS_TENSORBOARD_SUMMARY_VALUES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "hook/reported_value.h"
#include "metrics/threshold_weights.h"
#include "sinks/config_values.h"
#include "sinks/tensorboard/event.pb.h"

namespace millrace {

// Returns Markdown for the plugin "text".
tensorboard::Summary::Value text_value(absl::string_view tag, absl::string_view markdown);

// Returns a histogram for the plugins "histograms" and "distributions".
tensorboard::Summary::Value histogram_value(absl::string_view tag,
                                            const Distribution& distribution);

// Returns a curve for the plugin "pr_curves". Precision and recall of no example are 1.
tensorboard::Summary::Value curve_value(absl::string_view tag, const ThresholdWeights& weights);

// Returns the beginning of a run with these hyper-parameters, for the plugin "hparams".
// `start_time`: seconds since 1970.
tensorboard::Summary::Value hyper_parameters_value(const std::vector<ConfigValue>& values,
                                                   double start_time);

}  // namespace millrace

#endif  // MILLRACE_SINKS_TENSORBOARD_SUMMARY_VALUES_H_
