#include "framework/loop/best_score.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace millrace {

bool BestScore::observe(const std::map<std::string, double>& metrics, int64_t step) {
  if (options_.terms.empty()) return false;
  double sum = 0, weights = 0;
  for (const BestScoreOptions::Term& term : options_.terms) {
    const auto metric = metrics.find(term.monitor);
    if (metric == metrics.end()) return false;
    sum += term.weight * metric->second;
    weights += term.weight;
  }
  const double value = sum / weights;
  if (!std::isfinite(value)) return false;
  const bool better = !best_.has_value() ||
                      (options_.higher_is_better ? value > best_->value : value < best_->value);
  if (better) best_ = Best{value, step};
  return better;
}

std::string BestScore::name() const {
  const bool weighted = options_.terms.size() > 1;
  const std::string terms = absl::StrJoin(
      options_.terms, " + ", [weighted](std::string* out, const BestScoreOptions::Term& term) {
        absl::StrAppend(out, weighted ? absl::StrCat(term.weight, " ") : "", term.monitor);
      });
  return absl::StrCat(weighted ? "mean of " : "", terms, ", ",
                      options_.higher_is_better ? "higher" : "lower", " is better");
}

void BestScore::save(SharedState* state) const {
  if (!best_.has_value()) return;
  CheckpointManifest::BestScore& best = *state->mutable_best();
  best.set_score(name());
  best.set_value(best_->value);
  best.set_step(best_->step);
}

void BestScore::restore(const SharedState& state, std::vector<std::string>* notes) {
  best_.reset();
  if (!state.has_best()) return;
  if (options_.terms.empty()) {
    notes->push_back(
        absl::StrCat("the best score of the checkpoint is dropped, since the job keeps "
                     "none; the checkpoint of step ",
                     state.best().step(), " is no longer retained for it"));
    return;
  }
  if (state.best().score() == name()) {
    best_ = Best{state.best().value(), state.best().step()};
    return;
  }
  notes->push_back(absl::StrCat("the best score is reset: it was of ", state.best().score(),
                                "; it is of ", name(), ". The checkpoint of step ",
                                state.best().step(), " is no longer retained for it"));
}

}  // namespace millrace
