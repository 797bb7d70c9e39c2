#include "embedding/policies/admission_registry.h"

#include <google/protobuf/descriptor.h>

namespace millrace {
namespace {

// Lists the built-in kinds also in a program that registers no other.
[[maybe_unused]] const PartFamily& kAdmissionFamily = admission_registry();

}  // namespace

CustomRegistry<AdmissionFactory>& admission_registry() {
  static auto* const registry =
      new CustomRegistry<AdmissionFactory>("admission", "admission { custom { name: \"NAME\" } }",
                                           *AdmissionConfig::descriptor()->FindOneofByName("kind"));
  return *registry;
}

}  // namespace millrace
