// What an embedding collection is made of. Knows no LibTorch.
#ifndef MILLRACE_EMBEDDING_COLLECTION_OPTIONS_H_
#define MILLRACE_EMBEDDING_COLLECTION_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/isa/instruction_set.h"
#include "proto/config.pb.h"

namespace millrace {

// One input of a collection: a list of ids per example, looked up in one table.
struct EmbeddingFeature {
  std::string name;
  std::string table;
  Pooling pooling = SUM;
  // Only so many ids of a list are looked up, the first ones; 0: all. With FIRST_N at least 1.
  int64_t max_ids = 0;
};

// Decides the result: seed, tables, features. Does not: threads, instruction set.
struct EmbeddingCollectionOptions {
  uint64_t seed = 1;
  std::vector<TableConfig> tables;  // names are unique
  // How many columns of each table, the last ones, the model has added to its configured dim; part
  // of TableConfig.dim here. See EmbeddingTableOptions.
  int64_t added_columns = 0;
  // In the order of the KeyedJagged that forward gets. Each names one of the tables.
  std::vector<EmbeddingFeature> features;
  // Threads that share the work of one call; the caller's is one of them. Default: one.
  int threads = 1;
  // What the arithmetic of tables may use. One that this machine has. Default: the best.
  InstructionSet instruction_set = best_instruction_set();
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_COLLECTION_OPTIONS_H_
