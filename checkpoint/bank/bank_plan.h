// Assigns the items of a model to the sources of a model bank.
#ifndef MILLRACE_CHECKPOINT_BANK_BANK_PLAN_H_
#define MILLRACE_CHECKPOINT_BANK_BANK_PLAN_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/config.pb.h"

namespace millrace {

// A named item that a source has or the model needs.
struct BankItem {
  enum Kind {
    kDense,      // a parameter or buffer
    kOptimizer,  // "PARAMETER@WHAT"
    kTable,      // its rows
    kSlot,       // "TABLE@SLOT"
    kAdmission   // "TABLE@admission": counts of ids without rows
  };
  Kind kind = kDense;
  std::string name;
  // Type and shape: "F32 [3, 2]", "F32 rows of 16". Two items match if their texts are equal.
  std::string shape;
};

struct BankPlan {
  struct Load {
    int source = 0;    // number of the source
    std::string from;  // the item's name in the source
    BankItem to;
    bool clear = false;  // for a table: if true, its earlier rows are removed
  };
  // Sorted by source, then in the order of the source's items.
  std::vector<Load> loads;
  // Items of the model that no source gives, in the model's order.
  std::vector<BankItem> fresh;

  // Returns a table for people, with a line per item.
  std::string to_string(const ModelBankConfig& config) const;
};

// The items of each source. None: the source does not exist (an optional source), or is not needed.
using SourceItems = std::vector<std::optional<std::vector<BankItem>>>;

// Plans a load of the sources that exist. `model`: all items of the model except optimizer state,
// which belongs to its parameter. `all`: if true, an item without a source is an error unless the
// configuration allows it to be missing; if false (a reload), such an item stays unchanged.
// Errors: InvalidArgument with a line per pattern without a match, per item that the model does not
// have or has in another shape, and per missing item.
absl::StatusOr<BankPlan> plan_bank(const ModelBankConfig& config, const SourceItems& sources,
                                   const std::vector<BankItem>& model, bool all);

// Returns the owner in an item's name: "items" of "items@exp_avg". A name without @ is its own
// owner.
absl::string_view owner_of(absl::string_view name);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_BANK_BANK_PLAN_H_
