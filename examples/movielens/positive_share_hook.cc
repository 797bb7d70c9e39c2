// A hook of an example: reports the share of positive labels in training.
#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "examples/movielens/positive_share.pb.h"
#include "hook/hook_registry.h"

namespace millrace {

// Reports "positive_share", the mean label of the training examples, of all ranks and tasks. A
// change of the share shows that the data changed, or that files are read in an unlucky order.
// `calibration` is meaningful only relative to this share.
//
// Labels are summed on their device and read every `every_steps` steps, so that other steps do not
// wait for the device. Steps after the last multiple count with the next multiple, also after a
// resume; the remainder of the last run is not reported.
class PositiveShareHook : public Hook {
 public:
  explicit PositiveShareHook(int64_t every_steps) : cadence_{.every_steps = every_steps} {}

  static absl::StatusOr<std::unique_ptr<Hook>> create(const HookConfig& config,
                                                      const HookResources&) {
    const int64_t every_steps = config.GetExtension(positive_share).every_steps();
    if (every_steps < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("every_steps is ", every_steps, "; must be at least 1"));
    }
    return std::make_unique<PositiveShareHook>(every_steps);
  }

  absl::string_view name() const override { return "positive_share"; }

  // Assigns the sums of a checkpoint to this rank, which load_state() cannot do because it does not
  // know the rank. With another number of ranks, rank 0 continues the sums of all ranks.
  absl::Status start(HookContext& context) override {
    if (loaded_.empty()) return absl::OkStatus();
    const bool same_ranks = static_cast<int>(loaded_.size()) == context.world_size();
    Sums total;
    for (const Sums& sums : loaded_) {
      total.positives += sums.positives;
      total.labels += sums.labels;
    }
    set_sums(same_ranks ? loaded_[context.rank()] : context.rank() == 0 ? total : Sums());
    loaded_.clear();
    return absl::OkStatus();
  }

  absl::Status after_step(HookContext& context, const StepResult& result) override {
    if (context.phase() != Phase::kTrain || !result.applied) return absl::OkStatus();
    if (result.labels.defined()) {
      const at::Tensor sum = result.labels.sum(at::kDouble);
      positives_ = positives_.defined() ? positives_ + sum : sum;
      labels_ += result.labels.numel();
    }
    if (!context.due(cadence_) || labels_ == 0) return absl::OkStatus();
    context.report("positive_share", positives_.item<double>() / static_cast<double>(labels_));
    set_sums(Sums());
    return absl::OkStatus();
  }

  absl::Status save_state(HookState& state) const override {
    const double positives = positives_.defined() ? positives_.item<double>() : 0;
    state = {kVersion, absl::StrFormat("%.17g %d", positives, labels_)};
    return absl::OkStatus();
  }

  absl::Status load_state(absl::Span<const HookState> per_rank) override {
    std::vector<Sums> loaded;
    for (const HookState& state : per_rank) {
      const std::vector<absl::string_view> parts = absl::StrSplit(state.bytes, ' ');
      Sums& sums = loaded.emplace_back();
      if (state.version != kVersion || parts.size() != 2 ||
          !absl::SimpleAtod(parts[0], &sums.positives) ||
          !absl::SimpleAtoi(parts[1], &sums.labels) || sums.labels < 0) {
        return absl::InvalidArgumentError(
            "the state of hook positive_share is damaged or of another version");
      }
    }
    set_sums(loaded.empty() ? Sums() : loaded[0]);
    loaded_ = std::move(loaded);
    return absl::OkStatus();
  }

 private:
  static constexpr int kVersion = 1;
  struct Sums {
    double positives = 0;
    int64_t labels = 0;
  };

  void set_sums(const Sums& sums) {
    positives_ = sums.labels > 0 ? at::scalar_tensor(sums.positives, at::kDouble) : at::Tensor();
    labels_ = sums.labels;
  }

  const Cadence cadence_;
  at::Tensor positives_;  // float64 []; undefined before the first step
  int64_t labels_ = 0;
  std::vector<Sums> loaded_;  // of the ranks of a checkpoint, until `start`
};
MILLRACE_REGISTER_HOOK(positive_share, "reports the mean label of the training examples",
                       &PositiveShareHook::create);

}  // namespace millrace
