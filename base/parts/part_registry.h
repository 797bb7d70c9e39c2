// Parts of a family by name, with their factories.
#ifndef MILLRACE_BASE_PARTS_PART_REGISTRY_H_
#define MILLRACE_BASE_PARTS_PART_REGISTRY_H_

#include <map>
#include <source_location>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/catch_exceptions.h"
#include "base/failure_kind.h"
#include "base/parts/part_family.h"
#include "base/status_macros.h"

namespace millrace {

// The registry of one family. `Factory` is a std::function that returns an absl::StatusOr of a
// pointer. The registry is filled during static initialization and constant afterwards. A family
// has one function that returns its registry, declared in a header and defined by
//
//   MILLRACE_PART_FAMILY(file_system, PartRegistry<FileSystemFactory>, "file system",
//                        "NAME://PATH");
//
// and a macro for registrations, MILLRACE_REGISTER_PART(file_system, scheme, #scheme, description,
// factory).
//
// A family whose built-in kinds have fields of their own uses KindRegistry
// (proto/parts/kind_registry.h).
template <typename Factory>
class PartRegistry : public PartFamily {
 public:
  using PartFamily::PartFamily;
  using Result = typename Factory::result_type;  // absl::StatusOr of a pointer

  // Adds a part. A name that is taken makes the name unusable: create() then fails, naming both
  // places. Returns true, for the definition of a static constant.
  bool add(absl::string_view name, absl::string_view description, Factory factory,
           const std::source_location& place) {
    if (add_part(name, description, place)) factories_.emplace(name, std::move(factory));
    return true;
  }

  // Creates a part by its factory. Errors: as check(); errors and exceptions of the factory, and
  // Internal if the factory returns null, each annotated with family and name and marked by
  // as_part_failure().
  template <typename... Arguments>
  Result create(absl::string_view part, Arguments&&... arguments) const {
    RETURN_IF_ERROR(check(part));
    const Factory& factory = factories_.find(part)->second;
    const std::string what = absl::StrCat(name(), " \"", part, "\"");
    Result result = catch_exceptions(what, [&]() -> Result {
      Result made = factory(std::forward<Arguments>(arguments)...);
      RETURN_IF_ERROR(made.status(), what);
      return made;
    });
    RETURN_IF_ERROR(as_part_failure(result.status()));
    if (*result == nullptr) {
      return as_part_failure(absl::InternalError(absl::StrCat(what, ": its factory made none")));
    }
    return result;
  }

 private:
  std::map<std::string, Factory, std::less<>> factories_;
};

}  // namespace millrace

// Defines FAMILY_registry(), which returns the registry of a family: a `Registry` made of the other
// arguments when it is first used, and never destroyed. The family is listed even in a program that
// registers no part of it. Used in namespace millrace, in the .cc of the header.
#define MILLRACE_PART_FAMILY(family, Registry, ...)                                  \
  Registry& family##_registry() {                                                    \
    static auto* const registry = new Registry(__VA_ARGS__);                         \
    return *registry;                                                                \
  }                                                                                  \
  [[maybe_unused]] static const ::millrace::PartFamily& millrace_##family##_family = \
      family##_registry()

// Adds a part to FAMILY_registry() during static initialization. For the macros of families.
// `text`: the name, as a string.
#define MILLRACE_REGISTER_PART(family, name, text, description, factory)    \
  [[maybe_unused]] static const bool millrace_##family##_##name##_ =        \
      ::millrace::family##_registry().add((text), (description), (factory), \
                                          ::std::source_location::current())

#endif  // MILLRACE_BASE_PARTS_PART_REGISTRY_H_
