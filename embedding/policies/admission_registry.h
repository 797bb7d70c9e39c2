// The registry of admissions.
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

// The inputs of an admission.
struct AdmissionInput {
  std::string table;
  uint64_t seed = 1;  // train.seed
};

// Creates the admission of one table. `config` has the extension of the part.
using AdmissionFactory = std::function<absl::StatusOr<std::unique_ptr<Admission>>(
    const CustomConfig& config, const AdmissionInput& input)>;

using AdmissionRegistry = KindRegistry<AdmissionConfig, AdmissionFactory>;

// Returns the registry of admissions, including the built-in kinds.
AdmissionRegistry& admission_registry();

}  // namespace millrace

// Registers an admission. Used at namespace scope in a .cc whose cc_library has `alwayslink =
// True`:
//   MILLRACE_REGISTER_ADMISSION(even_ids, "ids that are even", &EvenIds::create);
#define MILLRACE_REGISTER_ADMISSION(name, description, factory) \
  MILLRACE_REGISTER_PART(admission, name, #name, description, factory)

#endif  // MILLRACE_EMBEDDING_POLICIES_ADMISSION_REGISTRY_H_
