#include "optim/schedule/schedule_registry.h"

#include <utility>

#include "proto/parts/part_kinds.h"

namespace millrace {
namespace {

// Lists the built-in kinds also in a program that registers no other.
[[maybe_unused]] const PartFamily& kFamily = schedule_registry();

}  // namespace

PartRegistry<ScheduleFactory>& schedule_registry() {
  static auto* const registry = [] {
    auto* const made =
        new PartRegistry<ScheduleFactory>("schedule", "schedule { custom { name: \"NAME\" } }");
    add_kinds(*ScheduleConfig::descriptor()->FindOneofByName("kind"), made);
    return made;
  }();
  return *registry;
}

bool register_schedule(absl::string_view name, absl::string_view description,
                       ScheduleFactory factory, std::source_location place) {
  return schedule_registry().add(name, description, std::move(factory), place);
}

}  // namespace millrace
