// Environments for tests of functions that read environment variables.
#ifndef MILLRACE_DISTRIBUTED_ENVIRONMENT_VARIABLES_TESTING_H_
#define MILLRACE_DISTRIBUTED_ENVIRONMENT_VARIABLES_TESTING_H_

#include <map>
#include <optional>
#include <string>

#include "distributed/environment/environment_variables.h"

namespace millrace {

// Name → value of the variables that are set.
using Variables = std::map<std::string, std::string>;

// A bad environment, the name of its test, and a part of the error.
struct BadVariables {
  const char* test;
  Variables variables;
  std::string message;
};

inline GetVariable getter(const Variables& variables) {
  return [variables](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
}

inline Variables with(Variables variables, const std::string& name, const std::string& value) {
  variables[name] = value;
  return variables;
}

inline Variables without(Variables variables, const std::string& name) {
  variables.erase(name);
  return variables;
}

// Returns the variables that Kubeflow Trainer sets in the pod of node 3 of a TrainJob with four
// nodes of two ranks.
inline Variables train_job_pod() {
  return {{"PET_NNODES", "4"},
          {"PET_NPROC_PER_NODE", "2"},
          {"PET_NODE_RANK", "3"},
          {"PET_MASTER_ADDR", "train-node-0-0.train"},
          {"PET_MASTER_PORT", "29500"}};
}

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_ENVIRONMENT_VARIABLES_TESTING_H_
