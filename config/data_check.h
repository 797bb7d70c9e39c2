// What a configuration says about data, checked.
#ifndef MILLRACE_CONFIG_DATA_CHECK_H_
#define MILLRACE_CONFIG_DATA_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "proto/config.pb.h"

namespace millrace {

// `train` says which labels there are; `generated`: data without paths is that of
// train.generated_data. Errors: InvalidArgument that begins with `where`, the place of the data in
// the configuration, and names the field.
absl::Status check_data(const std::string& where, const DataConfig& data, const TrainConfig& train,
                        bool generated);

}  // namespace millrace

#endif  // MILLRACE_CONFIG_DATA_CHECK_H_
