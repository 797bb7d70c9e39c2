// Names of metrics as MLflow accepts them.
#ifndef MILLRACE_SINKS_MLFLOW_MLFLOW_NAMES_H_
#define MILLRACE_SINKS_MLFLOW_MLFLOW_NAMES_H_

#include <map>
#include <set>
#include <string>

#include "absl/strings/string_view.h"

namespace millrace {

// Returns a name with the characters that MLflow accepts: letters and digits of ASCII, "_", "-",
// ".", " ", ":" and "/". Other characters become "_"; "=" becomes ":". Empty parts of the path, "."
// and ".." become "_". A name of more than 250 bytes is cut and gets a hash at its end.
std::string mlflow_name(absl::string_view name);

// Assigns a different metric to each name. Not thread-safe.
class MlflowNames {
 public:
  // Returns mlflow_name(name), followed by a hash of `name` if another name has the same result.
  // The result stays the same for the life of this object.
  const std::string& of(const std::string& name);

 private:
  std::map<std::string, std::string> names_;  // name → its metric
  std::set<std::string> taken_;               // the metrics
};

}  // namespace millrace

#endif  // MILLRACE_SINKS_MLFLOW_MLFLOW_NAMES_H_
