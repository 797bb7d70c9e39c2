// The learning rates of a job over its training, computed without training.
#ifndef MILLRACE_TOOLS_PLOT_RATE_CHART_H_
#define MILLRACE_TOOLS_PLOT_RATE_CHART_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "tools/plot/svg_chart.h"

namespace millrace {

// Returns a chart per unit of the schedules of `train`, with a line per optimizer, named as in
// reports: "dense", "dense1", …, "sparse", and "sparse/NAME" for each table with a separate
// optimizer. The rate of reduce_on_plateau is shown before any reduction. own optimizer. The rate
// of reduce_on_plateau is shown before any reduction. A chart ends after `length` units. With 0 it
// ends at the total of training in its unit, else at the end of the last of its schedules.
// Errors: InvalidArgument if schedules are not valid, or if a chart has no such end.
absl::StatusOr<std::vector<Chart>> rate_charts(const TrainConfig& train, int64_t length);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_PLOT_RATE_CHART_H_
