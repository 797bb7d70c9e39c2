// The common part of `evaluate` and `predict`: a trainer with the weights of a checkpoint, on all
// ranks of the job.
#ifndef MILLRACE_TOOLS_MODEL_EVALUATOR_H_
#define MILLRACE_TOOLS_MODEL_EVALUATOR_H_

#include <memory>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "distributed/collectives.h"
#include "distributed/rank_environment.h"
#include "framework/report/summary.h"
#include "framework/trainer.h"
#include "job/job.h"
#include "proto/config.pb.h"
#include "tools/cli.h"
#include "tools/model_flags.h"

namespace millrace {

// Joins the other ranks, makes generated data on rank 0, and builds an evaluating trainer with the
// weights of flags.checkpoint. Sets checkpoint, progress and world_size of `summary`. `trainer` is
// set even if a later operation fails. Returns: the trainer's ranks.
// Errors: errors of join_ranks, make_generated_data, build_evaluator and load_model. Errors of
// load_model are also reported to the other ranks.
absl::StatusOr<Collectives*> make_model_evaluator(const ModelFlags& flags, const JobConfig& config,
                                                  const RankEnvironment& ranks,
                                                  const RankListener& listener, FileSystem& files,
                                                  JobResources resources,
                                                  std::unique_ptr<Trainer>& trainer,
                                                  Summary& summary);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_MODEL_EVALUATOR_H_
