#include "tools/cli.h"
#include "tools/process_start.h"

int main(int argc, char** argv) {
  millrace::prepare_process(argv);
  return millrace::run_program(argc, argv);
}
