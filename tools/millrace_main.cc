#include "tools/cli.h"
#include "tools/openmp.h"

int main(int argc, char** argv) {
  millrace::limit_openmp_spinning(argv);
  return millrace::run_program(argc, argv);
}
