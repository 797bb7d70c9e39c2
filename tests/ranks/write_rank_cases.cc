// Writes docs/rank_cases.md.
#include <cstdlib>
#include <fstream>
#include <iostream>

#include "tests/ranks/rank_cases.h"

int main() {
  const char* workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  if (workspace == nullptr) {
    std::cerr << "run it with ./bazelw run\n";
    return 64;
  }
  const std::string path = std::string(workspace) + "/docs/rank_cases.md";
  std::ofstream file(path);
  file << millrace::rank_cases_page();
  file.close();
  if (!file) {
    std::cerr << "cannot write " << path << "\n";
    return 73;
  }
  std::cerr << "wrote " << path << "\n";
  return 0;
}
