#include "io/kafka/kafka_library.h"

#include <dlfcn.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

constexpr int kOldest = 0x02000200;  // 2.0.2, in the form of rd_kafka_version()
constexpr char kVariable[] = "MILLRACE_LIBRDKAFKA";
constexpr char kName[] = "librdkafka.so.1";

absl::Status no_library(absl::string_view what) {
  return absl::FailedPreconditionError(absl::StrCat(
      "windows.kafka needs librdkafka 2.0.2 or newer: ", what,
      "; install it (Debian: librdkafka1; for the wheel: pip install 'millrace[kafka]'), or let ",
      kVariable, " name the library"));
}

// Returns the value of an environment variable, "" without one.
std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Errors: what is wrong with the library.
absl::StatusOr<KafkaLibrary> open_library(const std::string& name) {
  KafkaLibrary library;
  library.name = name;
  void* const handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return absl::NotFoundError(::dlerror());
  std::string missing;
#define MILLRACE_KAFKA_LOAD(function)                                                           \
  library.function##_ =                                                                         \
      reinterpret_cast<decltype(&rd_kafka_##function)>(::dlsym(handle, "rd_kafka_" #function)); \
  if (library.function##_ == nullptr) missing = "rd_kafka_" #function;
  MILLRACE_KAFKA_FUNCTIONS(MILLRACE_KAFKA_LOAD)
#undef MILLRACE_KAFKA_LOAD
  if (!missing.empty()) return absl::NotFoundError(absl::StrCat(name, " lacks ", missing));
  if (library.version_() < kOldest) {
    return absl::NotFoundError(absl::StrCat(name, " is version ", library.version_str_()));
  }
  return library;
}

absl::StatusOr<KafkaLibrary> find_library() {
  const std::string given = variable(kVariable), carried = KafkaLibrary::carried();
  absl::StatusOr<KafkaLibrary> library = open_library(given.empty() ? kName : given);
  if (!library.ok() && given.empty() && !carried.empty()) {
    const absl::StatusOr<KafkaLibrary> other = open_library(carried);
    if (other.ok()) return other;
    return no_library(absl::StrCat(library.status().message(), "; ", other.status().message()));
  }
  if (!library.ok()) return no_library(library.status().message());
  return library;
}

}  // namespace

std::string KafkaLibrary::carried() { return variable("MILLRACE_CARRIED_LIBRDKAFKA"); }

absl::StatusOr<const KafkaLibrary*> KafkaLibrary::get() {
  static const auto* const library = new absl::StatusOr<KafkaLibrary>(find_library());
  RETURN_IF_ERROR(library->status());
  return &**library;
}

}  // namespace millrace
