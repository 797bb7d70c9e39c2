// Registries of part families whose built-in kinds are fields of a configuration.
#ifndef MILLRACE_PROTO_PARTS_KIND_REGISTRY_H_
#define MILLRACE_PROTO_PARTS_KIND_REGISTRY_H_

#include <google/protobuf/descriptor.h>

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "proto/field_check.h"
#include "proto/parts/custom_registry.h"
#include "proto/parts/kind_fields.h"

namespace millrace {

// Checks a message of a built-in kind, whose place in the configuration is `where`. Called with
// configurations of this kind alone. Errors: InvalidArgument with a line for each mistake.
template <typename Config, typename... Inputs>
using KindCheck =
    std::function<absl::Status(absl::string_view where, const Config& config, Inputs... inputs)>;

// The built-in kinds of a family that a message of type `Config` chooses from by a oneof. The oneof
// has a field for each built-in kind, and the field `custom` for registered parts. `Factory` is the
// std::function that makes a registered part: of CustomConfig and further arguments. The factory of
// a built-in kind takes `Config` and the same arguments, then those of `Extra`. `Check` is the
// KindCheck of built-in kinds.
//
// KindRegistry is a registry with its kinds. A family whose registry stands on a lower layer than
// its built-in kinds has a PartKinds besides: sinks (sinks/configured_sinks.cc).
template <typename Config, typename Factory, typename Check = KindCheck<Config>, typename... Extra>
class PartKinds;

template <typename Config, typename Made, typename... Arguments, typename Check, typename... Extra>
class PartKinds<Config, std::function<Made(const CustomConfig&, Arguments...)>, Check, Extra...> {
 public:
  using Registry = CustomRegistry<std::function<Made(const CustomConfig&, Arguments...)>>;

  using Create = std::function<Made(const Config& config, Arguments..., Extra...)>;

  // A built-in kind.
  struct Kind {
    Kind(int field, Create create) : Kind(field, std::move(create), {}) {}
    Kind(int field, Create create, Check check)
        : field(field), create(std::move(create)), check(std::move(check)) {}

    int field;  // its number in `Config`
    Create create;
    Check check;  // may be empty
  };

  // Borrows `registry`, which has the registered parts and the name of the family. `default_kind`
  // is the field of the kind that a message without one gets; 0: none. REQUIRES: `kinds` has every
  // field of `oneof` except `custom`.
  PartKinds(const Registry& registry, const std::string& oneof, const std::vector<Kind>& kinds,
            int default_kind = 0)
      : registry_(registry),
        oneof_(*Config::descriptor()->FindOneofByName(oneof)),
        default_kind_(default_kind) {
    for (const Kind& kind : kinds) kinds_.emplace(kind.field, kind);
    for (int i = 0; i < oneof_.field_count(); ++i) {
      MILLRACE_CHECK(oneof_.field(i)->name() == "custom" ||
                     kinds_.contains(oneof_.field(i)->number()))
          << "the " << registry.name() << " " << oneof_.field(i)->name() << " has no factory";
    }
  }

  // Returns the part that `config` chooses. REQUIRES: check() and check_ranges() (range_check.h)
  // accept the message of a built-in kind. Errors: InvalidArgument if `config` chooses no kind and
  // there is no default; the errors of the built-in kind, or of CustomRegistry::create().
  Made create(const Config& config, Arguments... arguments, Extra... extra) const {
    if (config.has_custom()) {
      return registry_.create(config.custom(), std::forward<Arguments>(arguments)...);
    }
    const Kind* const kind = find_kind(config);
    if (kind == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("a ", registry_.name(), " has no kind"));
    }
    return kind->create(config, std::forward<Arguments>(arguments)...,
                        std::forward<Extra>(extra)...);
  }

  // Returns the name of the field that chooses the part, such as "pairwise" or "custom"; "" if none
  // is set.
  absl::string_view kind(const Config& config) const {
    const auto* const field = config.GetReflection()->GetOneofFieldDescriptor(config, &oneof_);
    return field == nullptr ? absl::string_view() : absl::string_view(field->name());
  }

  // Returns the names of the built-in kinds, in the order of the oneof.
  std::vector<std::string> kinds() const {
    std::vector<std::string> names;
    for (int i = 0; i < oneof_.field_count(); ++i) {
      if (oneof_.field(i)->name() != "custom") names.push_back(oneof_.field(i)->name());
    }
    return names;
  }

  // Checks the message of the kind that is chosen, or the name in `custom`. A missing kind without
  // a default is an error. `where` is the place of `config` in the configuration, `inputs` are
  // those of `Check`. Errors: InvalidArgument.
  template <typename... Inputs>
  absl::Status check(absl::string_view where, const Config& config, const Inputs&... inputs) const {
    if (config.has_custom()) {
      return annotate(registry_.check(config.custom().name()), absl::StrCat(where, ".custom"));
    }
    const Kind* const kind = find_kind(config);
    if (kind == nullptr) {
      return wrong(where, absl::StrCat("has no kind; set one of ", absl::StrJoin(kinds(), ", "),
                                       ", custom"));
    }
    if (kind->check == nullptr) return absl::OkStatus();
    const std::string& field = Config::descriptor()->FindFieldByNumber(kind->field)->name();
    return kind->check(absl::StrCat(where, ".", field), config, inputs...);
  }

 private:
  // Returns the kind that is chosen, or the default; null if there is neither.
  const Kind* find_kind(const Config& config) const {
    const auto* const field = config.GetReflection()->GetOneofFieldDescriptor(config, &oneof_);
    const auto found = kinds_.find(field == nullptr ? default_kind_ : field->number());
    return found == kinds_.end() ? nullptr : &found->second;
  }

  const Registry& registry_;
  const google::protobuf::OneofDescriptor& oneof_;
  const int default_kind_;
  std::map<int, Kind> kinds_;  // by their fields
};

// The registry of a family, with its built-in kinds.
//
//   using LossRegistry = KindRegistry<TaskConfig, LossFactory>;
//   MILLRACE_PART_FAMILY(loss, LossRegistry, "loss", "task { custom { name: \"NAME\" } }", "loss",
//                        {{TaskConfig::kPairwise, &create_pairwise}, …},
//                        TaskConfig::kBinaryCrossEntropy);
//
// Built-in kinds are arguments of the constructor and not static objects in sources of their own,
// so that no linker drops them.
template <typename Config, typename Factory, typename Check = KindCheck<Config>, typename... Extra>
class KindRegistry : public CustomRegistry<Factory>,
                     public PartKinds<Config, Factory, Check, Extra...> {
  using Registry = CustomRegistry<Factory>;
  using Kinds = PartKinds<Config, Factory, Check, Extra...>;

 public:
  using typename Kinds::Kind;

  // `name` and `usage`: see PartFamily. The rest: see PartKinds.
  KindRegistry(absl::string_view name, absl::string_view usage, const std::string& oneof,
               const std::vector<Kind>& kinds, int default_kind = 0)
      : Registry(name, usage, kind_fields(*Config::descriptor()->FindOneofByName(oneof))),
        Kinds(*this, oneof, kinds, default_kind) {}

  using Kinds::check;
  using Kinds::create;
  using Registry::check;
  using Registry::create;
};

}  // namespace millrace

#endif  // MILLRACE_PROTO_PARTS_KIND_REGISTRY_H_
