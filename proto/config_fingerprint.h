// Tests whether two configurations belong to the same job.
#ifndef MILLRACE_PROTO_CONFIG_FINGERPRINT_H_
#define MILLRACE_PROTO_CONFIG_FINGERPRINT_H_

#include <set>
#include <string>
#include <vector>

#include "proto/config.pb.h"
#include "proto/schedule.pb.h"

namespace millrace {

// Returns the units in which a schedule of any optimizer has a share of the total of training.
std::set<ScheduleConfig::Unit> units_of_shares(const TrainConfig& train);

// Returns the part of a configuration that decides the course of training, step by step. Omits:
//   * how long training lasts: max_steps, max_epochs, max_seconds, max_windows, and idle_seconds
//     and time.end of windows. Exception: the limit of a unit in which a schedule has a share of
//     training, since the limit decides learning rates, and max_epochs if it decides such a total;
//   * initial state: initialize_from, and a model_bank without dynamic sources, which a resumed run
//     does not read;
//   * where files are: paths of train_data, eval_data and the sources of model_bank, the directory
//     of generated_data. The data itself is compared separately (io/data_identity.h);
//   * split_rule, which a resumed run takes from its checkpoint;
//   * where plugins of hooks are, since plugin.sha256 identifies them;
//   * fields that are set to their default.
TrainConfig identity_of(const TrainConfig& config);

// Returns a text of 32 digits that is equal for configurations of equal identity: XXH3-128 of
// identity_of() in protobuf text format.
std::string config_fingerprint(const TrainConfig& config);

// Returns the differences of the identities, a line per field, in the order of the fields:
// "table[items].dim: 16 → 32". List entries are denoted by their names, or else their numbers. A
// field that is not set shows its default, or "not set". If either configuration has a
// global_batch_size, the lines of batch_size and micro_batches are omitted.
std::vector<std::string> config_differences(const TrainConfig& before, const TrainConfig& now);

// Returns true if a job in progress can take over the configuration `now`: the identities differ at
// most in
//   * learning_rate, schedule and weight_decay of optimizers, also of single tables; clipping;
//   non_finite;
//   * batch_size, micro_batches, global_batch_size, max_micro_batch_size;
//   * max_steps_per_epoch, max_steps_per_window, max_windows_per_epoch, the limits of evaluations,
//   and the limits of which
//     a schedule has a share.
// Fields of registered optimizers are fixed, whatever their names.
bool can_continue_as(const TrainConfig& before, const TrainConfig& now);

// Returns the differences that can_continue_as() refuses, in the format of config_differences().
// Empty if only the order of entries differs.
std::vector<std::string> fixed_differences(const TrainConfig& before, const TrainConfig& now);

}  // namespace millrace

#endif  // MILLRACE_PROTO_CONFIG_FINGERPRINT_H_
