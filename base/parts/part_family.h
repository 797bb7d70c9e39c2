// Names of the parts that a job can choose from.
#ifndef MILLRACE_BASE_PARTS_PART_FAMILY_H_
#define MILLRACE_BASE_PARTS_PART_FAMILY_H_

#include <functional>
#include <map>
#include <source_location>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace millrace {

// One part of a family.
struct PartEntry {
  std::string name;
  std::string description;  // one line; may be empty
  // The text that configures a kind with a separate field, such as "sgd { … }". Such a kind cannot
  // be named in `custom`. Empty for all other parts.
  std::string field;
  // Places that register the part, such as "my_parts.cc:42". Several places make the name
  // ambiguous, and no part can be created by the name. For a kind with a field: the places of parts
  // of the same name, which cannot be created.
  std::vector<std::string> places;
};

// The names of one family: hooks, models, row optimizers, … Filled during static initialization
// and constant afterwards, so that reading from several threads is safe. PartRegistry adds the
// factories.
class PartFamily {
 public:
  // A kind with a field of its own. See add_field().
  struct Field {
    std::string name;
    std::string field;
    std::function<std::string()> describe;
  };

  // `name` is the singular, such as "row optimizer". `usage` shows how a configuration names a part
  // of this family, such as `sparse_optimizer { custom { name: "NAME" } }`. `fields` are added. The
  // family is in all() from then on. REQUIRES: the object lives until the program ends.
  PartFamily(absl::string_view name, absl::string_view usage,
             const std::vector<Field>& fields = {});
  PartFamily(const PartFamily&) = delete;
  PartFamily& operator=(const PartFamily&) = delete;

  const std::string& name() const { return name_; }
  const std::string& usage() const { return usage_; }

  // Returns all parts, sorted by name.
  std::vector<PartEntry> parts() const;
  // Returns the names of all parts, sorted.
  std::vector<std::string> names() const;

  // Returns the part of that name, without the description of a kind with a field; null if there is
  // none. Lives as long as the family.
  const PartEntry* find(absl::string_view name) const;

  // Adds a kind with a separate field, which is written as `field`. `describe` returns the
  // description of the kind, or ""; parts() calls it, not this function.
  void add_field(absl::string_view name, absl::string_view field,
                 std::function<std::string()> describe);

  // Checks that `name` can be written as the name of a part. Errors: InvalidArgument
  // - for no name;
  // - for an unknown name: the nearest, all that are linked in, and how to link another;
  // - for a kind with a field: how to write it;
  // - for a name that is registered twice: both places.
  absl::Status check(absl::string_view name) const;

  // Does the same in the family named `family`, or as in an empty family if the program has none of
  // this name. For code without the interface of the family.
  static absl::Status check(absl::string_view family, absl::string_view name);

  // Returns every family of this program, sorted by name.
  static std::vector<const PartFamily*> all();

 protected:
  // Adds a part. Returns false if the name is taken; check() then fails for it.
  bool add_part(absl::string_view name, absl::string_view description,
                const std::source_location& place);

 private:
  std::string name_;
  std::string usage_;
  std::map<std::string, PartEntry, std::less<>> parts_;
  std::map<std::string, std::function<std::string()>> descriptions_;  // of kinds with a field
};

}  // namespace millrace

#endif  // MILLRACE_BASE_PARTS_PART_FAMILY_H_
