// The best score of a run, and the checks of its configuration.
#ifndef MILLRACE_FRAMEWORK_LOOP_BEST_SCORE_H_
#define MILLRACE_FRAMEWORK_LOOP_BEST_SCORE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/checkpoint_state.pb.h"
#include "proto/config.pb.h"

namespace millrace {

struct BestScoreOptions {
  struct Term {
    std::string monitor;  // SET/METRIC of an evaluation
    double weight = 1;    // above 0
  };
  // Metrics whose weighted mean is the score. Empty: no score is kept.
  std::vector<Term> terms = {};
  bool higher_is_better = true;
};

// Keeps the best score of all evaluations of a run, with its step, over resumes. A step has a score
// if the sets of all terms were evaluated at the step and the score is finite. Of equal scores the
// first is the best. Used on the trainer's thread. Equal on all ranks, as metrics are.
class BestScore {
 public:
  struct Best {
    double value = 0;
    int64_t step = 0;
  };

  explicit BestScore(BestScoreOptions options = {}) : options_(std::move(options)) {}

  // Takes the metrics of evaluations at `step`, by "SET/METRIC". Returns true if the step has a
  // score better than the best so far, which the score then replaces.
  bool observe(const std::map<std::string, double>& metrics, int64_t step);

  // Returns the best score; none: no step has a score.
  const std::optional<Best>& best() const { return best_; }
  // Returns a description of the score, such as "eval/auc, higher is better".
  std::string name() const;

  void save(SharedState* state) const;
  // Restores the best score of a checkpoint. Drops the value of a different score, with a note if a
  // score is kept.
  void restore(const SharedState& state, std::vector<std::string>* notes);

 private:
  const BestScoreOptions options_;
  std::optional<Best> best_;
};

// Returns true if higher scores are better, according to the field of this name or to the metrics
// of all terms. None: the field is missing, and a metric has no direction or the directions differ.
std::optional<bool> higher_is_better(const BestScoreConfig& config);

// Checks the fields of `config`, which is at `where`. Does not check that a job evaluates the
// monitors. Errors: InvalidArgument with one line for each wrong field.
absl::Status check_best_score(absl::string_view where, const BestScoreConfig& config);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_LOOP_BEST_SCORE_H_
