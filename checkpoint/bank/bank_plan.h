// What of a model comes from which source.
#ifndef MILLRACE_CHECKPOINT_BANK_BANK_PLAN_H_
#define MILLRACE_CHECKPOINT_BANK_BANK_PLAN_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/config.pb.h"

namespace millrace {

// One thing with a name that a source has or the model needs.
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
  // Type and shape: "F32 [3, 2]", "F32 rows of 16". Equal texts fit.
  std::string shape;
};

struct BankPlan {
  struct Load {
    int source = 0;    // its number
    std::string from;  // its name there
    BankItem to;
    bool clear = false;  // a table: rows from before go
  };
  // By source, then in the order of the source's items.
  std::vector<Load> loads;
  // Items of the model that no source gives, in its order.
  std::vector<BankItem> fresh;

  // A table for people: a line for each item.
  std::string to_string(const ModelBankConfig& config) const;
};

// What each source has; none: it is not there (an optional one), or not asked.
using SourceItems = std::vector<std::optional<std::vector<BankItem>>>;

// Plans a load of the sources that are there. `model`: all it has, without optimizer state, which
// comes and goes with its parameter. `all`: what no source gives must be allowed to be missing;
// without it (a reload) it stays as it is.
// Errors: InvalidArgument with a line for each pattern without a match, each item that the model
// does not have or has in another shape, and each that is missing.
absl::StatusOr<BankPlan> plan_bank(const ModelBankConfig& config, const SourceItems& sources,
                                   const std::vector<BankItem>& model, bool all);

// "items" of "items@exp_avg"; what has no @ is its own.
absl::string_view owner_of(absl::string_view name);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_BANK_BANK_PLAN_H_
