// The options of an embedding collection. Independent of LibTorch.
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
  // The number of ids of each list to look up, from the start of the list; 0: all. At least 1 with
  // FIRST_N.
  int64_t max_ids = 0;
};

// The seed, tables and features decide results; threads and instruction_set do not.
struct EmbeddingCollectionOptions {
  uint64_t seed = 1;
  std::vector<TableConfig> tables;  // names are unique
  // The number of columns that the model has added to the configured dim of each table. They are
  // the last columns, and TableConfig.dim includes them here. See EmbeddingTableOptions.
  int64_t added_columns = 0;
  // The features in the order of the KeyedJagged of forward(). Each names one of the tables.
  std::vector<EmbeddingFeature> features;
  // Threads that share the work of one call, including the calling thread. Default: 1.
  int threads = 1;
  // The instruction set of the arithmetic of tables; the machine must support it. Default: the best
  // supported.
  InstructionSet instruction_set = best_instruction_set();
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_COLLECTION_OPTIONS_H_
