#include "tools/plot/rate_chart.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "config/training_size.h"
#include "optim/dense/dense_optimizer.h"
#include "optim/dense/optimizer_schedule.h"
#include "proto/optimizer_list.h"

namespace millrace {
namespace {

constexpr int64_t kPoints = 1000;        // of a line, about
constexpr double kMostPositions = 1e15;  // whole numbers that a double holds

struct NamedSchedule {
  std::string name;
  std::unique_ptr<Schedule> schedule;
  bool configured = false;  // false: the learning rate is constant and has no unit
};

template <typename OptimizerConfig>
absl::Status add(const std::string& name, const OptimizerConfig& config,
                 const ScheduleTotals& totals, std::vector<NamedSchedule>* all) {
  ASSIGN_OR_RETURN(std::unique_ptr<Schedule> schedule,
                   create_optimizer_schedule(config.schedule(), config.learning_rate(), totals),
                   name);
  all->push_back(
      {name, std::move(schedule), config.schedule().kind_case() != ScheduleConfig::KIND_NOT_SET});
  return absl::OkStatus();
}

absl::StatusOr<std::vector<NamedSchedule>> create_schedules(const TrainConfig& train) {
  const ScheduleTotals totals = training_totals(train);
  std::vector<NamedSchedule> all;
  for (const DenseOptimizerConfig& config : dense_optimizers_of(train)) {
    if (config.frozen()) continue;  // reports omit frozen optimizers, too
    RETURN_IF_ERROR(add(dense_rate_name(all.size()), config, totals, &all));
  }
  if (train.table_size() > 0) {
    RETURN_IF_ERROR(add("sparse", train.sparse_optimizer(), totals, &all));
  }
  for (const TableConfig& table : train.table()) {
    if (!table.has_optimizer()) continue;
    RETURN_IF_ERROR(add(absl::StrCat("sparse/", table.name()), table.optimizer(), totals, &all));
  }
  return all;
}

std::string plural(ScheduleConfig::Unit unit) {
  return absl::AsciiStrToLower(ScheduleConfig::Unit_Name(unit));
}

absl::StatusOr<double> chart_end(ScheduleConfig::Unit unit, int64_t length,
                                 const std::vector<NamedSchedule>& schedules,
                                 const ScheduleTotals& totals) {
  if (length > 0) return static_cast<double>(length);
  if (totals.of(unit).has_value()) return static_cast<double>(*totals.of(unit));
  double end = 0;
  for (const NamedSchedule& named : schedules) end = std::max(end, named.schedule->end());
  if (end == 0) return 1;  // all are constant
  if (end <= kMostPositions) return std::ceil(end * 1.1);
  return absl::InvalidArgumentError(
      absl::StrCat("how many ", plural(unit), " training has is not known; give --length"));
}

// Samples whole positions, since training has no others.
ChartLine line_of(const NamedSchedule& named, double end) {
  ChartLine line{named.name, {}};
  const auto last = static_cast<int64_t>(std::ceil(end));
  const int64_t step = std::max<int64_t>(1, last / kPoints);
  for (int64_t position = 0; position < last; position += step) {
    line.points.emplace_back(position, named.schedule->rate_at(static_cast<double>(position)));
  }
  line.points.emplace_back(last, named.schedule->rate_at(static_cast<double>(last)));
  return line;
}

}  // namespace

absl::StatusOr<std::vector<Chart>> rate_charts(const TrainConfig& train, int64_t length) {
  const ScheduleTotals totals = training_totals(train);
  if (static_cast<double>(length) > kMostPositions) {
    return absl::InvalidArgumentError(
        absl::StrCat("--length is ", length, "; must be at most 1e15"));
  }
  ASSIGN_OR_RETURN(std::vector<NamedSchedule> all, create_schedules(train));
  if (all.empty()) {
    return absl::InvalidArgumentError("all parameters are frozen: there is no rate to draw");
  }
  // A constant rate has no unit, so it is drawn with the first schedule that has one.
  const auto first = std::find_if(all.begin(), all.end(),
                                  [](const NamedSchedule& named) { return named.configured; });
  const auto common_unit = first == all.end() ? ScheduleConfig::STEPS : first->schedule->unit();
  std::map<ScheduleConfig::Unit, std::vector<NamedSchedule>> by_unit;
  for (NamedSchedule& named : all) {
    const auto unit = named.configured ? named.schedule->unit() : common_unit;
    by_unit[unit].push_back(std::move(named));
  }
  std::vector<Chart> charts;
  for (const auto& [unit, schedules] : by_unit) {
    ASSIGN_OR_RETURN(const double end, chart_end(unit, length, schedules, totals));
    Chart chart{"Learning rates", plural(unit), "rate", {}};
    for (const NamedSchedule& named : schedules) chart.lines.push_back(line_of(named, end));
    charts.push_back(std::move(chart));
  }
  return charts;
}

}  // namespace millrace
