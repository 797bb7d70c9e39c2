// The best score of a run.
#ifndef MILLRACE_FRAMEWORK_LOOP_BEST_SCORE_H_
#define MILLRACE_FRAMEWORK_LOOP_BEST_SCORE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "proto/checkpoint_state.pb.h"

namespace millrace {

struct BestScoreOptions {
  struct Term {
    std::string monitor;  // SET/METRIC of an evaluation
    double weight = 1;    // above 0
  };
  // The score is the weighted mean of these. None: no score is kept.
  std::vector<Term> terms = {};
  bool higher_is_better = true;
};

// Keeps the best score of all evaluations of a run and its step, over resumes. A step has a score
// if the sets of all terms were evaluated at this step and the score is finite. Of equal scores the
// first is the best. Used on the trainer's thread; alike on all ranks, since metrics are.
class BestScore {
 public:
  struct Best {
    double value = 0;
    int64_t step = 0;
  };

  explicit BestScore(BestScoreOptions options = {}) : options_(std::move(options)) {}

  // Takes the metrics of evaluations made at `step`, by "SET/METRIC". Returns: true if the step has
  // a score that is better than the best so far, and so is the best now.
  bool observe(const std::map<std::string, double>& metrics, int64_t step);

  // None: no step has had a score.
  const std::optional<Best>& best() const { return best_; }
  // What the score is, such as "eval/auc, higher is better".
  std::string name() const;

  void save(SharedState* state) const;
  // Takes over the best of a checkpoint. That of another score is dropped, with a note; if no score
  // is kept, without one.
  void restore(const SharedState& state, std::vector<std::string>* notes);

 private:
  const BestScoreOptions options_;
  std::optional<Best> best_;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_LOOP_BEST_SCORE_H_
