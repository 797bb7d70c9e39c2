// Registries of part families that a configuration names by CustomConfig.
#ifndef MILLRACE_PROTO_PARTS_CUSTOM_REGISTRY_H_
#define MILLRACE_PROTO_PARTS_CUSTOM_REGISTRY_H_

#include <utility>

#include "base/parts/part_registry.h"
#include "proto/custom.pb.h"

namespace millrace {

// A registry whose parts a configuration names by a field of type CustomConfig. The first argument
// of a `Factory` is this field.
template <typename Factory>
class CustomRegistry : public PartRegistry<Factory> {
 public:
  using PartRegistry<Factory>::PartRegistry;

  // Returns the part that `config` names. Errors: the errors of PartRegistry::create.
  template <typename... Arguments>
  typename PartRegistry<Factory>::Result create(const CustomConfig& config,
                                                Arguments&&... arguments) const {
    return PartRegistry<Factory>::create(config.name(), config,
                                         std::forward<Arguments>(arguments)...);
  }
};

}  // namespace millrace

#endif  // MILLRACE_PROTO_PARTS_CUSTOM_REGISTRY_H_
