#include "framework/report/sink.h"

#include <google/protobuf/descriptor.h>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/field_check.h"

namespace millrace {
namespace {

// Lists the built-in kinds also in a program that registers no other.
[[maybe_unused]] const PartFamily& kFamily = sink_registry();

}  // namespace

absl::Status Sink::start(int64_t) { return absl::OkStatus(); }
absl::Status Sink::flush() { return absl::OkStatus(); }

CustomRegistry<SinkFactory>& sink_registry() {
  static auto* const registry =
      new CustomRegistry<SinkFactory>("sink", "sink { custom { name: \"NAME\" } }",
                                      *SinkConfig::descriptor()->FindOneofByName("kind"));
  return *registry;
}

absl::Status check_sink(absl::string_view where, const SinkConfig& config) {
  if (!config.has_custom()) return wrong(where, "says not which sink; give custom");
  return annotate(sink_registry().check(config.custom().name()), absl::StrCat(where, ".custom"));
}

absl::StatusOr<std::unique_ptr<Sink>> create_sink(const SinkConfig& config,
                                                  const SinkInput& input) {
  RETURN_IF_ERROR(check_sink("sink", config));
  return sink_registry().create(config.custom(), input);
}

}  // namespace millrace
