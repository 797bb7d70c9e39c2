#include "framework/ranks/commit_exchange.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/catch_exceptions.h"
#include "base/clock.h"
#include "base/failure_kind.h"
#include "base/finite.h"
#include "base/status_macros.h"
#include "framework/ranks/rank_figures.h"

namespace millrace {
namespace {

bool is_finite(const at::Tensor& tensor) {
  if (tensor.device().is_cpu() && tensor.scalar_type() == at::kFloat && tensor.is_contiguous()) {
    return all_finite(tensor.const_data_ptr<float>(), tensor.numel());
  }
  return tensor.isfinite().all().item<bool>();
}

}  // namespace

// Values that ranks sum in addition to gradients.
struct CommitExchange::Sums {
  int64_t failed = 0;         // ranks
  int64_t non_finite = 0;     // ranks
  int64_t with_examples = 0;  // ranks
  int64_t with_targets = 0;   // ranks
  double targets = 0;
  at::Tensor loss;
  std::vector<double> tables;  // TableExchange::totals()
};

CommitExchange::CommitExchange(Agreement& agreement, absl::Span<const NamedParameter> parameters,
                               TableExchange* tables)
    : agreement_(agreement),
      parameters_(parameters),
      tables_(tables),
      buckets_(agreement.collectives(), parameters) {}

void CommitExchange::begin_step(int64_t step, size_t losses) {
  step_ = step;
  losses_ = losses;
  decided_ = false;
}

void CommitExchange::enter(RankPhase phase) { agreement_.collectives().set_phase(phase, step_); }

absl::StatusOr<CommitDecision> CommitExchange::run(const CommitInput& input) {
  enter(RankPhase::kCommit);
  RETURN_IF_ERROR(agreement_.verify());
  const auto losses = static_cast<int64_t>(std::max<size_t>(losses_, 1));
  if (input.loss.defined() && input.loss.numel() != losses) {
    return wrong_result(
        absl::StrCat("the train step gave ", input.loss.numel(), " losses; must be ", losses));
  }
  // Copies loss and targets to the CPU once, since they are read several times.
  CommitInput checked = input;
  if (checked.loss.defined()) checked.loss = checked.loss.to(at::kCPU);
  if (checked.targets.defined()) checked.targets = checked.targets.to(at::kCPU);
  std::string& own = checked.non_finite;
  if (own.empty() && checked.loss.defined() && !is_finite(checked.loss)) own = "the loss";
  std::vector<double> totals;
  if (tables_ != nullptr) {
    RETURN_IF_ERROR(tables_->exchange_sums());
    totals = tables_->totals();
    RETURN_IF_ERROR(tables_->check_own_rows());
  }
  ASSIGN_OR_RETURN(Sums sums, sum(checked, totals, absl::OkStatus()));
  if (sums.failed > 0) return agreement_.gather_failures(absl::OkStatus());
  if (!sums.tables.empty()) RETURN_IF_ERROR(tables_->set_totals(sums.tables));
  CommitDecision decision;
  decision.loss = sums.loss;
  if (sums.non_finite > 0) {
    ASSIGN_OR_RETURN(decision.refused, first_reason(own, sums.non_finite));
    return decision;
  }
  // No rank reported a non-finite gradient, so the sums are not finite. The owner of the row did
  // not cause that, so the message names no rank.
  if (!sums.tables.empty()) {
    const std::string table = tables_->not_finite();
    if (!table.empty()) {
      decision.refused = absl::StrCat("the gradient of ", table);
      return decision;
    }
  }
  if (sums.with_targets > 0) {
    if (sums.with_targets != sums.with_examples) {
      return wrong_result("the model gave targets on some ranks of a step and not on others");
    }
    if (!(sums.targets > 0)) {
      return wrong_result(absl::StrCat("the model's targets add up to ", sums.targets,
                                       " in this step; they must be positive"));
    }
    decision.targets = sums.targets;
    decision.gradient_scale = static_cast<double>(input.examples) / sums.targets;
    decision.loss = decision.loss * decision.gradient_scale;
  }
  decision.gradient_scale /= input.loss_scale;
  if (sums.with_targets > 0 || input.loss_scale != 1) {
    for (const NamedParameter& parameter : parameters_) {
      at::Tensor gradient = parameter.value.grad();
      if (gradient.defined()) gradient.mul_(decision.gradient_scale);
    }
  }
  // Sums are equal to the last bit on every rank, so all ranks find the same gradient.
  decision.refused = non_finite_gradient();
  decision.apply = decision.refused.empty();
  return decision;
}

absl::Status CommitExchange::fail(const absl::Status& failure) {
  if (agreement_.over()) return failure;
  const absl::Status verified = agreement_.verify();
  if (!verified.ok() || agreement_.collectives().world_size() == 1) return failure;
  if (tables_ != nullptr && tables_->due()) {
    tables_->fail(failure).IgnoreError();
    return failure;
  }
  const std::vector<double> none =
      tables_ != nullptr ? tables_->empty_totals() : std::vector<double>();
  const absl::StatusOr<Sums> sums = sum(CommitInput(), none, failure);
  if (sums.ok()) agreement_.gather_failures(failure).IgnoreError();
  return failure;
}

absl::StatusOr<CommitExchange::Sums> CommitExchange::sum(const CommitInput& input,
                                                         absl::Span<const double> tables,
                                                         const absl::Status& failure) {
  decided_ = true;
  Collectives& collectives = agreement_.collectives();
  Sums sums;
  if (collectives.world_size() == 1) {
    sums.non_finite = input.non_finite.empty() ? 0 : 1;
    sums.with_examples = 1;
    sums.with_targets = input.targets.defined() ? 1 : 0;
    if (input.targets.defined()) sums.targets = input.targets.item<double>();
    sums.loss = input.loss;
    return sums;
  }
  constexpr int64_t kFirstLoss = 5;
  const auto losses = static_cast<int64_t>(std::max<size_t>(losses_, 1));
  std::vector<double> vector;
  const absl::Status status = catch_exceptions("summing gradients over ranks", [&] {
    const double targets = input.targets.defined() ? input.targets.item<double>() : 0.0;
    // A flag marks a non-finite value, since its effect on a sum is unreliable.
    vector = {failure.ok() ? 0.0 : 1.0, input.non_finite.empty() ? 0.0 : 1.0,
              input.loss.defined() ? 1.0 : 0.0, input.targets.defined() ? 1.0 : 0.0, targets};
    vector.resize(kFirstLoss + losses);
    if (input.loss.defined()) {
      const at::Tensor losses = input.loss.to(at::kCPU, at::kDouble).contiguous();
      std::copy_n(losses.const_data_ptr<double>(), losses.numel(), vector.begin() + kFirstLoss);
    }
    vector.insert(vector.end(), tables.begin(), tables.end());
    buckets_.start(/*contribute=*/failure.ok());
    RankFigures& figures = agreement_.figures();
    absl::Duration& decision =
        tables_ != nullptr && tables_->active() ? figures.owners : figures.other_ranks;
    const absl::Duration start = Clock::real().elapsed();
    absl::Status summed = collectives.start_sum(absl::MakeSpan(vector))->wait();
    const absl::Duration decided = Clock::real().elapsed();
    decision += decided - start;
    summed.Update(buckets_.finish());
    figures.gradients += Clock::real().elapsed() - decided;
    return summed;
  });
  if (!status.ok()) {
    // Unless a peer failed, no other rank knows the failure.
    collectives.fail(status);
    return agreement_.give_up(status);
  }
  sums.failed = static_cast<int64_t>(vector[0]);
  sums.non_finite = static_cast<int64_t>(vector[1]);
  sums.with_examples = static_cast<int64_t>(vector[2]);
  sums.with_targets = static_cast<int64_t>(vector[3]);
  sums.targets = vector[4];
  const auto first_loss = vector.begin() + kFirstLoss;
  sums.loss = losses_ > 0
                  ? at::tensor(std::vector<double>(first_loss, first_loss + losses)).to(at::kFloat)
                  : at::scalar_tensor(*first_loss, at::kFloat);
  sums.tables.assign(first_loss + losses, vector.end());
  return sums;
}

// Returns the reason of the lowest rank that has one.
absl::StatusOr<std::string> CommitExchange::first_reason(const std::string& own, int64_t ranks) {
  Collectives& collectives = agreement_.collectives();
  if (collectives.world_size() == 1) return own;
  const absl::StatusOr<std::vector<std::string>> all = collectives.all_gather(own);
  if (!all.ok()) return agreement_.give_up(all.status());
  for (size_t rank = 0; rank < all->size(); ++rank) {
    if ((*all)[rank].empty()) continue;
    const std::string more = ranks > 1 ? absl::StrCat(", and on ", ranks - 1, " more") : "";
    return absl::StrCat((*all)[rank], " (on rank ", rank, more, ")");
  }
  return absl::InternalError("a rank saw a value that is not finite, but none says which");
}

// Returns true if all gradients are float32 on one CUDA device, and finite. The host waits once for
// all gradients. False: unknown; the caller must check each gradient.
bool CommitExchange::device_gradients_are_finite() const {
  std::vector<at::Tensor> gradients;
  for (const NamedParameter& parameter : parameters_) {
    const at::Tensor gradient = parameter.value.grad();
    if (!gradient.defined()) continue;
    if (!gradient.is_cuda() || gradient.scalar_type() != at::kFloat ||
        gradient.layout() != at::kStrided) {
      return false;
    }
    if (!gradients.empty() && gradient.device() != gradients[0].device()) return false;
    gradients.push_back(gradient);
  }
  if (gradients.empty()) return false;
  at::Tensor found = at::zeros({}, gradients[0].options());
  // Multiplies by 1, which preserves all bits of a number.
  at::_amp_foreach_non_finite_check_and_unscale_(gradients, found, at::ones_like(found));
  return found.item<float>() == 0;
}

// Returns a text such as "the gradient of fc.weight"; "" if all gradients are finite.
std::string CommitExchange::non_finite_gradient() const {
  if (device_gradients_are_finite()) return "";
  for (const NamedParameter& parameter : parameters_) {
    const at::Tensor gradient = parameter.value.grad();
    if (gradient.defined() && !is_finite(gradient)) {
      return absl::StrCat("the gradient of ", parameter.name);
    }
  }
  return "";
}

}  // namespace millrace
