// The registry of initializers.
#ifndef MILLRACE_EMBEDDING_ROWS_INITIALIZER_REGISTRY_H_
#define MILLRACE_EMBEDDING_ROWS_INITIALIZER_REGISTRY_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/isa/instruction_set.h"
#include "embedding/rows/row_initializer.h"
#include "proto/config.pb.h"
#include "proto/parts/kind_registry.h"

namespace millrace {

// Creates the initializer of one table. `config` has the extension of the part.
using RowInitializerFactory = std::function<absl::StatusOr<std::unique_ptr<RowInitializer>>(
    const CustomConfig& config, const RowInitializerInput& input)>;

// Factories of built-in kinds also get the instruction set.
using InitializerRegistry = KindRegistry<InitializerConfig, RowInitializerFactory,
                                         KindCheck<InitializerConfig>, InstructionSet>;

// Returns the registry of initializers, including the built-in kinds.
InitializerRegistry& initializer_registry();

// Checks the numbers or the name of the kind that is chosen. Errors: InvalidArgument that begins
// with `where`, the place of the message in the configuration, and names the field that is out of
// range. Tables compute in float32, so that numbers must be finite in it.
absl::Status check_initializer(absl::string_view where, const InitializerConfig& config);

}  // namespace millrace

// Registers an initializer. Used at namespace scope in a .cc whose cc_library has `alwayslink =
// True`:
//   MILLRACE_REGISTER_INITIALIZER(spread, "evenly spread values", &SpreadInitializer::create);
#define MILLRACE_REGISTER_INITIALIZER(name, description, factory) \
  MILLRACE_REGISTER_PART(initializer, name, #name, description, factory)

#endif  // MILLRACE_EMBEDDING_ROWS_INITIALIZER_REGISTRY_H_
