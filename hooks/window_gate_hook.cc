#include "hooks/window_gate_hook.h"

#include <ATen/core/Tensor.h>

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/log.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

constexpr int32_t kWindowGateVersion = 1;

// Returns the number of rows of a column of float32 [rows, columns] for which `is` holds.
template <typename Is>
int64_t count_rows(const at::Tensor& table, int64_t column, Is is) {
  const at::Tensor plain = table.contiguous();
  const float* const values = plain.const_data_ptr<float>();
  int64_t count = 0;
  for (int64_t row = 0; row < plain.size(0); ++row) {
    count += is(values[row * plain.size(1) + column]) ? 1 : 0;
  }
  return count;
}

}  // namespace

absl::Status WindowGateHook::start(HookContext& context) {
  shares_.clear();
  missing_of_.clear();
  if (context.phase() != Phase::kTrain) return absl::OkStatus();
  ASSIGN_OR_RETURN(const FeatureSchema schema, options_.schema());
  for (const auto& limit : options_.config.label()) {
    RETURN_IF_ERROR(add_label(limit, schema), "run.window_gate.label");
  }
  for (const auto& limit : options_.config.present()) {
    RETURN_IF_ERROR(add_present(limit, schema), "run.window_gate.present");
  }
  return absl::OkStatus();
}

absl::Status WindowGateHook::add_label(const WindowGateConfig::Share& limit,
                                       const FeatureSchema& schema) {
  const std::vector<std::string>& labels = schema.labels();
  const auto found = std::find(labels.begin(), labels.end(), limit.feature());
  if (found == labels.end()) {
    return absl::InvalidArgumentError(absl::StrCat(limit.feature(), " is no label"));
  }
  shares_.push_back({.limit = &limit,
                     .is_label = true,
                     .column = found - labels.begin(),
                     .metric = absl::StrCat("positive_", limit.feature())});
  return absl::OkStatus();
}

absl::Status WindowGateHook::add_present(const WindowGateConfig::Share& limit,
                                         const FeatureSchema& schema) {
  const std::string& name = limit.feature();
  for (const FeatureConfig& feature : schema.features()) {
    if (feature.name() != name) continue;
    if (feature.kind() != FeatureConfig::SPARSE && feature.kind() != FeatureConfig::DENSE) break;
    shares_.push_back({.limit = &limit,
                       .column = static_cast<int64_t>(schema.dense().size() + missing_of_.size()),
                       .metric = absl::StrCat("present_", name)});
    missing_of_.push_back(name);
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(name, " is no sparse or dense feature"));
}

absl::Status WindowGateHook::before_window(HookContext& context, const Window& window) {
  if (context.phase() != Phase::kTrain || !window.is_new || !window.damage.empty()) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::vector<int64_t> own, count());
  ASSIGN_OR_RETURN(const std::vector<int64_t> counts, sum_over_ranks(context, own));
  WindowIoState::Finished& figures = *options_.figures;
  figures.Clear();
  figures.set_index(context.progress().window);
  figures.set_name(window.name);
  figures.set_rows(counts[0]);
  context.report("window_rows", static_cast<double>(counts[0]), Reduction::kLast);
  for (size_t i = 0; i < shares_.size(); ++i) {
    WindowIoState::Finished::Share& share = *figures.add_share();
    share.set_name(shares_[i].metric);
    share.set_share(
        counts[0] == 0 ? 0 : static_cast<double>(counts[i + 1]) / static_cast<double>(counts[0]));
    context.report(absl::StrCat("window_", share.name()), share.share(), Reduction::kLast);
  }
  const std::vector<std::string> wrong = faults();
  if (wrong.empty()) return absl::OkStatus();
  const std::string what =
      absl::StrCat("window ", window.name, ": ", absl::StrJoin(wrong, "; "), " (run.window_gate)");
  if (options_.config.action() == WindowGateConfig::STOP) {
    return absl::DataLossError(absl::StrCat(what,
                                            "; correct the data, leave the window out by "
                                            "train_data.windows.skip, or change the limit"));
  }
  if (context.rank() == 0) MILLRACE_LOG(WARNING) << what;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int64_t>> WindowGateHook::count() const {
  std::vector<int64_t> counts(1 + shares_.size());
  ASSIGN_OR_RETURN(const std::unique_ptr<Dataset> data, windows_.open_window_again(missing_of_));
  if (data == nullptr) return counts;  // without rows
  RETURN_IF_ERROR(data->start_epoch(0));
  while (true) {
    ASSIGN_OR_RETURN(const std::optional<Batch> batch, data->next());
    if (!batch.has_value()) return counts;
    count_batch(*batch, &counts);
  }
}

void WindowGateHook::count_batch(const Batch& batch, std::vector<int64_t>* counts) const {
  (*counts)[0] += batch.size;
  for (size_t i = 0; i < shares_.size(); ++i) {
    const Share& share = shares_[i];
    int64_t& count = (*counts)[i + 1];
    count += share.is_label
                 ? count_rows(batch.labels, share.column, [](float value) { return value > 0; })
                 : count_rows(batch.dense, share.column, [](float value) { return value == 0; });
  }
}

absl::StatusOr<std::vector<int64_t>> WindowGateHook::sum_over_ranks(
    HookContext& context, const std::vector<int64_t>& own) {
  ASSIGN_OR_RETURN(const std::vector<std::string> all, context.gather(absl::StrJoin(own, " ")));
  std::vector<int64_t> sums(own.size());
  for (const std::string& one : all) {
    const std::vector<absl::string_view> counts = absl::StrSplit(one, ' ');
    for (size_t i = 0; i < sums.size(); ++i) {
      int64_t count = 0;
      if (counts.size() != sums.size() || !absl::SimpleAtoi(counts[i], &count)) {
        return absl::InternalError("a rank counts something else");
      }
      sums[i] += count;
    }
  }
  return sums;
}

std::vector<std::string> WindowGateHook::faults() const {
  const WindowGateConfig& config = options_.config;
  const int64_t rows = options_.figures->rows();
  std::vector<std::string> faults;
  if (rows < config.min_rows()) {
    faults.push_back(absl::StrCat(rows, " rows, and min_rows is ", config.min_rows()));
  }
  if (config.max_rows() > 0 && rows > config.max_rows()) {
    faults.push_back(absl::StrCat(rows, " rows, and max_rows is ", config.max_rows()));
  }
  for (size_t i = 0; i < shares_.size() && rows > 0; ++i) {
    const double share = options_.figures->share(static_cast<int>(i)).share();
    const WindowGateConfig::Share& limit = *shares_[i].limit;
    const bool is_low = share < limit.min(), is_label = shares_[i].is_label;
    if (!is_low && share <= limit.max()) continue;
    faults.push_back(absl::StrCat("the share of rows with ", is_label ? "a positive " : "",
                                  limit.feature(), " is ", share, ", and ",
                                  is_label ? "label" : "present", is_low ? ".min" : ".max", " is ",
                                  is_low ? limit.min() : limit.max()));
  }
  return faults;
}

absl::Status WindowGateHook::save_state(HookState& state) const {
  if (!options_.figures->has_index()) return absl::OkStatus();
  state.version = kWindowGateVersion;
  state.bytes = options_.figures->SerializeAsString();
  return absl::OkStatus();
}

absl::Status WindowGateHook::load_state(absl::Span<const HookState> per_rank) {
  WindowIoState::Finished figures;
  for (const HookState& one : per_rank) {
    if (one.empty() || (one.version == kWindowGateVersion && figures.ParseFromString(one.bytes))) {
      continue;
    }
    return absl::InvalidArgumentError(
        "the state of hook window_gate is damaged or of another version");
  }
  *options_.figures = std::move(figures);
  return absl::OkStatus();
}

}  // namespace millrace
