// Waiting times and bytes of a rank in its training steps.
#ifndef MILLRACE_FRAMEWORK_RANKS_RANK_FIGURES_H_
#define MILLRACE_FRAMEWORK_RANKS_RANK_FIGURES_H_

#include <cstdint>

#include "absl/time/time.h"

namespace millrace {

struct RankFigures {
  int64_t steps = 0;  // begun
  // Waiting times of the trainer's thread:
  // - for other ranks to join the step exchange, the exchanges of ids and sums, and, without tables
  //   over ranks, the decision about the step;
  absl::Duration other_ranks = absl::ZeroDuration();
  // - for owners of rows to begin their answers, and to sum gradients before the decision;
  absl::Duration owners = absl::ZeroDuration();
  // - for sums of dense gradients, in addition to the wait for the decision;
  absl::Duration gradients = absl::ZeroDuration();
  // - for the rest of table messages that had begun to arrive.
  absl::Duration transfer = absl::ZeroDuration();
  // Bytes sent to other ranks on the table channel.
  int64_t ids_bytes = 0, rows_bytes = 0, sums_bytes = 0;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_RANKS_RANK_FIGURES_H_
