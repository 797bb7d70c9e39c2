// The values of a configuration, by name.
#ifndef MILLRACE_SINKS_CONFIG_VALUES_H_
#define MILLRACE_SINKS_CONFIG_VALUES_H_

#include <google/protobuf/message.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace millrace {

// A field that is set.
struct ConfigValue {
  std::string path;  // "train.train_data.batch_size", "train.table.0.name"
  // Values of enums and bytes are text, and so is a list of scalars: "[64, 32]".
  std::variant<int64_t, double, bool, std::string> value;

  friend bool operator==(const ConfigValue&, const ConfigValue&) = default;
};

// Returns the set scalar fields of a message, at most `most`. Extensions are named by their last
// names. Fields outside of lists of messages precede fields in lists; both are in the order of the
// message.
std::vector<ConfigValue> config_values(const google::protobuf::Message& message, size_t most);

// Returns a value as text: the shortest one of a number, true or false, or the text itself.
std::string to_text(const ConfigValue& value);

}  // namespace millrace

#endif  // MILLRACE_SINKS_CONFIG_VALUES_H_
