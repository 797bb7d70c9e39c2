// Registries of part families that a configuration names by CustomConfig.
#ifndef MILLRACE_PROTO_PARTS_CUSTOM_REGISTRY_H_
#define MILLRACE_PROTO_PARTS_CUSTOM_REGISTRY_H_

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/parts/part_registry.h"
#include "proto/config_variables.h"
#include "proto/custom.pb.h"

namespace millrace {

// A registry whose parts a configuration names by a field of type CustomConfig. The first argument
// of a `Factory` is this field.
template <typename Factory>
class CustomRegistry : public PartRegistry<Factory> {
 public:
  using PartRegistry<Factory>::PartRegistry;

  // Returns the part that `config` names, with its secrets (config_variables.h). Errors: the errors
  // of PartRegistry::create and with_secrets.
  template <typename... Arguments>
  typename PartRegistry<Factory>::Result create(const CustomConfig& config,
                                                Arguments&&... arguments) const {
    const absl::StatusOr<CustomConfig> resolved =
        with_secrets(absl::StrCat(this->name(), " \"", config.name(), "\""), config);
    if (!resolved.ok()) return resolved.status();
    return PartRegistry<Factory>::create(resolved->name(), *resolved,
                                         std::forward<Arguments>(arguments)...);
  }
};

}  // namespace millrace

#endif  // MILLRACE_PROTO_PARTS_CUSTOM_REGISTRY_H_
