#include "embedding/table/table_parts.h"

#include <utility>

#include "base/hash.h"

namespace millrace {

TableParts::TableParts(EmbeddingTableOptions table_options, Initializer row_initializer,
                       std::unique_ptr<Admission> row_admission,
                       std::optional<EvictionRules> eviction_rules)
    : options(std::move(table_options)),
      initializer(row_initializer),
      kernels(millrace::kernels(options.instruction_set)),
      rounding_key(xxh3(options.name + "/rounding", options.seed)),
      eviction(std::move(eviction_rules)),
      weights(options.dim),
      admission(std::move(row_admission)),
      map(options.instruction_set, options.blocks),
      store(options.dim, options.type, options.blocks, options.instruction_set),
      evicted(options.evicted_log_ids) {}

}  // namespace millrace
