// ThreadSanitizer asks every program for this (see --config=tsan); linked into all tests.
// Named here are libraries that are not compiled with it and synchronise in ways that it cannot
// see. Nothing of ours belongs here.
extern "C" const char* __tsan_default_suppressions() {
  return "race:libtorch_cpu.so\n"
         "race:libc10.so\n"
         "race:libgomp.so\n"
         "race:libarrow.so.\n"  // not ours, whose name ends so
         "race:libparquet.so\n"
         "race:librdkafka.so\n"
         "called_from_lib:libarrow.so.\n"
         "called_from_lib:libparquet.so\n"
         "called_from_lib:librdkafka.so\n"
         // Arrow's allocator gives up its mutex when the program has ended.
         "mutex:_dl_call_fini\n";
}
