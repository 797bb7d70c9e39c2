// A configuration as parameters of MLflow.
#ifndef MILLRACE_SINKS_MLFLOW_CONFIG_PARAMS_H_
#define MILLRACE_SINKS_MLFLOW_CONFIG_PARAMS_H_

#include <google/protobuf/message.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace millrace {

inline constexpr size_t kMostParamCharacters = 500;  // of a text

// Returns config_values() as texts, path → text. A text is cut at kMostParamCharacters.
std::vector<std::pair<std::string, std::string>> config_params(
    const google::protobuf::Message& config, size_t most);

}  // namespace millrace

#endif  // MILLRACE_SINKS_MLFLOW_CONFIG_PARAMS_H_
