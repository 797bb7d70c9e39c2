#include "tools/model_evaluator.h"

#include <iostream>
#include <utility>

#include "base/status_macros.h"
#include "job/generated_data.h"
#include "job/job_checkpoints.h"
#include "job/ranks.h"
#include "tools/device/cuda_devices.h"
#include "tools/device/device_flag.h"
#include "tools/model_flags.h"

namespace millrace {

absl::StatusOr<Collectives*> make_model_evaluator(const ModelFlags& flags, const JobConfig& config,
                                                  const RankEnvironment& ranks,
                                                  const RankListener& listener, FileSystem& files,
                                                  JobResources resources,
                                                  std::unique_ptr<Trainer>& trainer,
                                                  Summary& summary) {
  ASSIGN_OR_RETURN(resources.cuda_device, device_of_rank(flags.device, cuda_devices, ranks));
  ASSIGN_OR_RETURN(std::unique_ptr<Collectives> collectives,
                   join_ranks(ranks, config, listener, resources.cuda_device));
  RETURN_IF_ERROR(on_rank_0(*collectives, [&] {
    return make_generated_data(files, config.train(), flags.overwrite).status();
  }));
  resources.log = &std::cerr;
  resources.time_types = read_saved_data_rules(files, flags.checkpoint).time_types;
  resources.local_world_size = ranks.local_world_size;
  Collectives& others = *collectives;  // the trainer's from here on
  absl::StatusOr<std::unique_ptr<Trainer>> built =
      build_evaluator(config, resources, std::move(collectives));
  RETURN_IF_ERROR(name_file_of_parts(built.status(), flags.config));
  trainer = *std::move(built);
  const absl::StatusOr<LoadedModel> loaded =
      load_model(config.train(), files, flags.checkpoint,
                 chosen_weights(flags.weights, config.train()), *trainer,
                 /*print=*/ranks.rank == 0, &others, resources.data);
  if (!loaded.ok()) {
    const absl::Status status = annotate(loaded.status(), "--checkpoint");
    others.fail(status);
    return status;
  }
  summary.checkpoint = loaded->path;
  summary.world_size = ranks.world_size;
  summary.progress = loaded->progress;
  return &others;
}

}  // namespace millrace
