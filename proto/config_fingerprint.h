// Whether two configurations are those of one job.
#ifndef MILLRACE_PROTO_CONFIG_FINGERPRINT_H_
#define MILLRACE_PROTO_CONFIG_FINGERPRINT_H_

#include <string>
#include <vector>

#include "proto/config.pb.h"

namespace millrace {

// What of a configuration decides what training comes to, step by step: all of it but
//   * how long it goes on: max_steps, max_epochs, max_seconds, max_windows, and of windows
//     idle_seconds and time.end; except the limit of a unit in which a schedule has a share of
//     training, since it decides learning rates;
//   * what it began with: initialize_from, and a model_bank without dynamic sources. A run that
//   goes
//     on does not read them;
//   * where files are: paths of train_data, eval_data and the sources of model_bank, the directory
//     of generated_data. What data there is, is compared by itself (io/data_identity.h);
//   * where plugins of hooks are: plugin.sha256 says which they are;
//   * fields that are set to their default.
TrainConfig identity_of(const TrainConfig& config);

// A text of 32 digits that is equal for configurations of equal identity: XXH3-128 of identity_of()
// in protobuf text format.
std::string config_fingerprint(const TrainConfig& config);

// In what the identities differ, a line for each field, in the order of the fields:
// "table[items].dim: 16 → 32". Entries of lists stand under their names, or else their numbers;
// what is not set shows its default, or "not set". Where either has a global_batch_size, it stands
// for batch_size and micro_batches too.
std::vector<std::string> config_differences(const TrainConfig& before, const TrainConfig& now);

}  // namespace millrace

#endif  // MILLRACE_PROTO_CONFIG_FINGERPRINT_H_
