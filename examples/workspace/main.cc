// The millrace program with the parts of this workspace.
#include "tools/run_job.h"

int main(int argc, char** argv) { return millrace::run_job(argc, argv, "visits/visits.textproto"); }
