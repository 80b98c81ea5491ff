// How the sanitizers behave in these programs. The first report ends a program, with a status that
// faults_test.cpp knows; ThreadSanitizer does not wait a second for other threads when one ends.
extern "C" {
const char* __asan_default_options();
const char* __tsan_default_options();

const char* __asan_default_options() { return "exitcode=12"; }
const char* __tsan_default_options() { return "exitcode=13:halt_on_error=1:atexit_sleep_ms=0"; }
}
