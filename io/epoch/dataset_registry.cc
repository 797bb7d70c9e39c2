#include "io/epoch/dataset_registry.h"

namespace millrace {

MILLRACE_PART_FAMILY(dataset, CustomRegistry<DatasetFactory>, "dataset",
                     "train_data { custom_dataset { name: \"NAME\" } }");

}  // namespace millrace
