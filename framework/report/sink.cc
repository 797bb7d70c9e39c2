#include "framework/report/sink.h"

#include <google/protobuf/descriptor.h>

#include "proto/config.pb.h"
#include "proto/parts/kind_fields.h"

namespace millrace {
bool SinkStart::comes_again(int64_t step, const std::string& name) const {
  if (step != first_step) return step > first_step;
  return written.has_value() && !written->contains(name);
}

absl::Status Sink::start(const SinkStart&) { return absl::OkStatus(); }
absl::Status Sink::flush() { return absl::OkStatus(); }

// sinks/configured_sinks.cc makes the built-in kinds, a layer above.
MILLRACE_PART_FAMILY(sink, CustomRegistry<SinkFactory>, "sink",
                     "sink { custom { name: \"NAME\" } }",
                     kind_fields(*SinkConfig::descriptor()->FindOneofByName("kind")));

}  // namespace millrace
