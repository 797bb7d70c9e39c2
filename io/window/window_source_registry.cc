#include "io/window/window_source_registry.h"

#include <google/protobuf/descriptor.h>

namespace millrace {
namespace {

// Lists the built-in kinds also in a program that registers no other.
[[maybe_unused]] const PartFamily& kWindowSourceFamily = window_source_registry();

}  // namespace

CustomRegistry<WindowSourceFactory>& window_source_registry() {
  static auto* const registry = new CustomRegistry<WindowSourceFactory>(
      "window source", "windows { custom { name: \"NAME\" } }",
      *WindowsConfig::descriptor()->FindOneofByName("source"));
  return *registry;
}

}  // namespace millrace
