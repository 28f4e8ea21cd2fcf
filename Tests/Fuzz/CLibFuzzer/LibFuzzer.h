// What LLVM's libFuzzer offers to a program with a `main` of its own; the linker finds it with -sanitize=fuzzer.
#pragma once
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*callback)(const uint8_t *bytes, size_t count));
