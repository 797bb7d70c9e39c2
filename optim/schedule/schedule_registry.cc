#include "optim/schedule/schedule_registry.h"

#include <google/protobuf/descriptor.h>

#include <utility>

namespace millrace {
namespace {

// Lists the built-in kinds also in a program that registers no other.
[[maybe_unused]] const PartFamily& kFamily = schedule_registry();

}  // namespace

CustomRegistry<ScheduleFactory>& schedule_registry() {
  static auto* const registry =
      new CustomRegistry<ScheduleFactory>("schedule", "schedule { custom { name: \"NAME\" } }",
                                          *ScheduleConfig::descriptor()->FindOneofByName("kind"));
  return *registry;
}

bool register_schedule(absl::string_view name, absl::string_view description,
                       ScheduleFactory factory, std::source_location place) {
  return schedule_registry().add(name, description, std::move(factory), place);
}

}  // namespace millrace
