#include "optim/schedule/schedule_registry.h"

#include <google/protobuf/descriptor.h>

namespace millrace {
namespace {

// Lists the built-in kinds also in a program that registers no other.
[[maybe_unused]] const PartFamily& kScheduleFamily = schedule_registry();

}  // namespace

CustomRegistry<ScheduleFactory>& schedule_registry() {
  static auto* const registry =
      new CustomRegistry<ScheduleFactory>("schedule", "schedule { custom { name: \"NAME\" } }",
                                          *ScheduleConfig::descriptor()->FindOneofByName("kind"));
  return *registry;
}

}  // namespace millrace
