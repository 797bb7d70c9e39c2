// Admissions by their configuration.
#ifndef MILLRACE_EMBEDDING_POLICIES_ADMISSION_REGISTRY_H_
#define MILLRACE_EMBEDDING_POLICIES_ADMISSION_REGISTRY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "embedding/policies/admission.h"
#include "proto/config.pb.h"
#include "proto/parts/kind_registry.h"

namespace millrace {

// Values that an admission is made with.
struct AdmissionInput {
  std::string table;
  uint64_t seed = 1;  // train.seed
};

// Makes the admission of one table. `config` has the extension that the part reads.
using AdmissionFactory = std::function<absl::StatusOr<std::unique_ptr<Admission>>(
    const CustomConfig& config, const AdmissionInput& input)>;

using AdmissionRegistry = KindRegistry<AdmissionConfig, AdmissionFactory>;

// Returns the registry of admissions, which also has the built-in kinds.
AdmissionRegistry& admission_registry();

}  // namespace millrace

// At namespace scope in a .cc whose cc_library says `alwayslink = True`:
//   MILLRACE_REGISTER_ADMISSION(even_ids, "ids that are even", &EvenIds::create);
#define MILLRACE_REGISTER_ADMISSION(name, description, factory) \
  MILLRACE_REGISTER_PART(admission, name, #name, description, factory)

#endif  // MILLRACE_EMBEDDING_POLICIES_ADMISSION_REGISTRY_H_
