#include "framework/report/sink.h"

#include <google/protobuf/descriptor.h>

#include "proto/config.pb.h"

namespace millrace {
namespace {

// Registers the built-in kinds also in a program without custom sinks.
[[maybe_unused]] const PartFamily& kSinkFamily = sink_registry();

}  // namespace

bool SinkStart::comes_again(int64_t step, const std::string& name) const {
  if (step != first_step) return step > first_step;
  return written.has_value() && !written->contains(name);
}

absl::Status Sink::start(const SinkStart&) { return absl::OkStatus(); }
absl::Status Sink::flush() { return absl::OkStatus(); }

CustomRegistry<SinkFactory>& sink_registry() {
  static auto* const registry =
      new CustomRegistry<SinkFactory>("sink", "sink { custom { name: \"NAME\" } }",
                                      *SinkConfig::descriptor()->FindOneofByName("kind"));
  return *registry;
}

}  // namespace millrace
